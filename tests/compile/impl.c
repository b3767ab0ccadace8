/* The implementation alone, as a unit of C and of C++. */
#define SBX_IMPLEMENTATION
#include "sbx.h"
