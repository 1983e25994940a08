/* The list of views. */
#pragma once

#include "view/view.h"

/* View i, from 0; NULL past the last. */
const view *tree_view_at(unsigned i);
unsigned tree_view_count(void);

/* Which views a comma-separated list names: each by its path ("tensors/f32"), the last part of it
 * ("f32"), or a folder above it ("tensors"); "layers" for the links by layer. NULL names all. Fills
 * shown[tree_view_count()]; false with a sentence in error for a name that is none. */
bool tree_views_select(const char *list, bool *shown, bool *layers, GError **error);
