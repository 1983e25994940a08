#include "tree/tree.h"
void tree_free(tree *t)
{
    (void)t;
}
