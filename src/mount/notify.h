/* Telling a service manager how the mount is doing: the protocol of sd_notify(3). */
#pragma once

/* Sends lines of NAME=VALUE to the socket that the environment variable NOTIFY_SOCKET names. Does
 * nothing where there is none, or nobody listens. */
void notify_send(const char *lines);
