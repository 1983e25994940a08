/* What is looked at before anything is started: the file, the mount point, the device. Each thing
 * that can be wrong is one sentence. */
#pragma once

#include "mount/error.h"
#include "mount/log.h"

/* The file, open for reading; -1. Never waits, whatever the path is. */
int check_open_file(const char *path, GError **error);

/* Whether file and dir have changed places: false, with the sentence, when they have. */
bool check_order(const char *file, const char *dir, GError **error);

/* The mount point's real path; NULL. Warns of what is in it. */
char *check_mount_point(const char *dir, log_sink *log, GError **error);

/* Whether nothing is mounted there; false, with the sentence, when something is. */
bool check_free(const char *dir, GError **error);

/* Whether it can be seen what is mounted. */
bool check_proc(GError **error);

/* Whether /dev/fuse is there for us. */
bool check_device(GError **error);
