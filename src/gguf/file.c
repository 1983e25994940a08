#include <pantheon/gguf.h>
G_DEFINE_QUARK(pn - gguf - error - quark, pn_gguf_error)
