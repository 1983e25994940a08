/* SHA-256 (FIPS 180-4) of bytes in one piece. GLib's GChecksum lives on the heap, and would be lost
 * when a long jump leaves the guarded gate in the middle of a name; this one owns no memory. */
#pragma once

#include <stdint.h>

enum { VIEW_SHA256_SIZE = 32 };

void view_sha256(const void *data, uint64_t len, uint8_t digest[VIEW_SHA256_SIZE]);
