/* Why a mount did not come about: a GError whose code is the exit status, as mount(8) has them. */
#pragma once

#include <glib.h>

#define MOUNT_ERROR mount_error_quark()
GQuark mount_error_quark(void);

typedef enum {
    MOUNT_USAGE = 1, /* a wrong command line, or a permission that is missing */
    MOUNT_SYSTEM = 2,
    MOUNT_FAILURE = 32,
} mount_error;

/* The exit status that belongs to an errno of an open or a mount. */
mount_error mount_error_of(int error);
