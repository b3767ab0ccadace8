/* The other unit: really runs something, so that the build is tried and not only linked. */
#include "sbx.h"

int other_unit(void);

int other_unit(void) {
    static const char *const argv[] = {"sh", "-c", "echo out; echo err >&2; exit 7", NULL};
    static sbx_config zero; /* = {0} in C, {} in C++ */
    sbx_config config = zero;
    sbx_result result;
    int ok;
    config.argv = argv;
    config.timeout_ms = 20000;
    ok = sbx_run(&config, &result) == SBX_EXITED && result.exit_code == 7 && result.out.size == 4 &&
         result.err.size == 4;
    sbx_free(&result);
    return ok ? 0 : 2;
}
