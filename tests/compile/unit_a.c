/* One of two units that use sbx.h; built with only the API, and with -DSBX_STATIC
 * -DSBX_IMPLEMENTATION, where it leaves most functions unused on purpose. */
#include "sbx.h"
#ifndef SBX_IMPLEMENTATION
#include "sbx.h" /* the API a second time is harmless */
#endif

int other_unit(void);

int main(void) {
    const char *name = sbx_verdict_name(SBX_OK);
    return name[0] == 'o' ? other_unit() : 1;
}
