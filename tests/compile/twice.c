/* The implementation asked for twice in one unit: harmless, or one clear error. */
#define SBX_IMPLEMENTATION
#include "sbx.h"
#define SBX_IMPLEMENTATION
#include "sbx.h"
