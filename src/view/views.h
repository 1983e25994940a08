/* Every view there is; each lives in the file of its name. */
#pragma once

#include "view/view.h"

extern const view view_readme;
extern const view view_summary;
extern const view view_problems;
extern const view view_metadata;
extern const view view_metadata_raw;
extern const view view_metadata_json;
extern const view view_tensors_tsv;
extern const view view_tensors_json;
extern const view view_raw;
extern const view view_f32;
extern const view view_info;
