/* The guarded gate: every touch of a mapped source goes through it.
 *
 * A file that is truncated under its mapping, or on a device that fails, answers a touch with
 * SIGBUS. Inside the gate that becomes EIO; anywhere else, and for an address outside the
 * registered mappings, it stays what it is. */
#pragma once

#include <stddef.h>

/* Installs the SIGBUS (and SIGSEGV) handler. Call once before the first guard_run. Returns 0 or an
 * errno. */
int guard_install(void);

/* Registers a mapping whose faults the gate catches. Before any thread but the caller's runs. 0, or
 * ENOSPC. */
int guard_add(const void *data, size_t size);

/* Runs fn(arg) and returns its result; EIO when it touched a page of a registered mapping that
 * cannot be read. fn must hold no lock and own no memory where it touches a mapping. Not reentrant.
 */
int guard_run(int (*fn)(void *arg), void *arg);
