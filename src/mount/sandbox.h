/* Confinement of the worker by the kernel: what it does not need, it cannot do. */
#pragma once

#include <stdbool.h>

/* From here on the process opens nothing, starts nothing, talks to nobody new. Needs no_new_privs.
 * What the kernel lacks is said at -v, and gone without; false when it failed otherwise. */
bool sandbox_enter(void);
