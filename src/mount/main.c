/* mount.gguf: shows a GGUF model file as a read-only directory tree. */
#include "mount/log.h"
#include "mount/namespace.h"
#include "mount/options.h"
#include "mount/supervisor.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* No descriptor of ours may ever be 0, 1 or 2: something would write into it. */
static void open_standard_descriptors(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static int say(const char *words)
{
    return fputs(words, stdout) < 0 || fflush(stdout) != 0 ? MOUNT_SYSTEM : 0;
}

int main(int argc, char **argv)
{
    open_standard_descriptors();
    g_auto(options) o;
    g_autoptr(GError) error = NULL;
    if (!options_parse(&o, argc, argv, &error) ||
        (o.mount_namespace != NULL && !namespace_enter(&o, &error))) {
        log_sink log;
        log_begin(&log, LOG_LEVEL_ERROR, false);
        log_say(&log, LOG_LEVEL_ERROR, "%s", error->message);
        return error->code;
    }
    switch (o.action) {
    case ACTION_HELP:
        return say(options_help);
    case ACTION_VERSION:
        return say("mount.gguf " PN_VERSION "\n");
    case ACTION_MOUNT:
    case ACTION_PRINT:
    default:
        return supervisor_run(&o);
    }
}
