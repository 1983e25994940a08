/* The views of text, for tests that look at them without a tree. */
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
extern const view view_info;
