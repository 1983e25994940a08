/* Telling a service manager how the mount is doing: the protocol of sd_notify(3). */
#pragma once

#include <stdbool.h>

/* Sends lines of NAME=VALUE to the socket that the environment variable NOTIFY_SOCKET names. Does
 * nothing where there is none, or nobody listens. Returns false where libsystemd, which the program
 * was built with, cannot be loaded. */
bool notify_send(const char *lines);
