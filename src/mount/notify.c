/* One datagram to a socket: not worth a library, and none of libsystemd's is loaded. */
#include "mount/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

void notify_send(const char *lines)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (name == NULL || (name[0] != '/' && name[0] != '@') ||
        strlen(name) >= sizeof address.sun_path)
        return;
    strcpy(address.sun_path, name);
    if (name[0] == '@')
        address.sun_path[0] = '\0'; /* an abstract one */
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    const struct timeval patience = {.tv_sec = 5}; /* it may be busy, but not keep us for ever */
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (struct sockaddr *)&address, len);
    close(fd);
}
