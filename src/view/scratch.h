/* One thread's working memory, so that nothing is allocated while a view reads. All zero at first.
 */
#pragma once

#include "view/export.h"
#include "view/text.h"
#include "view/view.h"

enum { VIEW_SCRATCH_ELEMS = 4096 }; /* 16 KiB of float32: a share of the L1 cache, whole blocks */

struct view_scratch {
    float elems[VIEW_SCRATCH_ELEMS];        /* blocks on their way to another width */
    float block[PN_QUANT_MAX_BLOCK_ELEMS];  /* the block of which a part is asked for */
    export_place points[EXPORT_MAX_POINTS]; /* of an export's plan in the making */
    text_scratch texts;
};
