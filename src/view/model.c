#include "view/model.h"
void view_model_free(view_model *model)
{
    (void)model;
}
