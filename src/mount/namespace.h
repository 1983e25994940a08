/* mount(8)'s -N: mounting in the mount namespace of others. */
#pragma once

#include "mount/options.h"

/* Goes into o->mount_namespace, where the paths in o, absolute from now on, are looked up. */
bool namespace_enter(options *o, GError **error);
