/* For tests of the sandbox only: src/mount/worker.c, compiled with PN_TEST_FORBIDDEN. */
#pragma once

void forbidden_try(void);
