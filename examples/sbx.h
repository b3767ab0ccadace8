/* So that the examples compile where they stand. Copied elsewhere, put the real sbx.h beside them. */
#include "../sbx.h"
