/* sbx_classify: whatever the evidence, a verdict that goes with it. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sbx_evidence e, copy;
    sbx_verdict verdict;
    int certain = -1;
    memset(&e, 0, sizeof e);
    memcpy(&e, data, size < sizeof e ? size : sizeof e);
    if (size > sizeof e && data[sizeof e] & 1) { /* the usual case: one of the two */
        e.signal &= 63;
        e.exit_code = e.signal ? -1 : e.exit_code & 255;
    }
    copy = e;
    verdict = sbx_classify(&e, &certain);

    PROMISE(memcmp(&e, &copy, sizeof e) == 0);
    PROMISE(certain == 0 || certain == 1);
    PROMISE((int)verdict >= 0 && verdict <= SBX_LOST);
    PROMISE(sbx_classify(&e, NULL) == verdict);
    PROMISE(strcmp(sbx_verdict_name(verdict), "unknown") != 0);
    if (e.saw & SBX_SAW_START_FAILED) PROMISE(verdict == SBX_NOT_STARTED);
    if (verdict == SBX_NOT_STARTED) PROMISE(e.saw & SBX_SAW_START_FAILED);
    if (verdict == SBX_OK) PROMISE(e.exit_code == 0 && e.signal == 0);
    if (verdict == SBX_OK) PROMISE(!(e.saw & (SBX_SAW_NO_RESULT | SBX_SAW_NO_STATUS)));
    if ((e.saw & (SBX_SAW_CANCEL | SBX_SAW_START_FAILED)) == SBX_SAW_CANCEL)
        PROMISE(verdict == SBX_CANCELLED);
    if (e.saw & SBX_SAW_BLIND && (verdict == SBX_OK || verdict == SBX_EXITED)) PROMISE(!certain);
    if (verdict == SBX_CANCELLED) PROMISE(e.saw & SBX_SAW_CANCEL);
    if (verdict == SBX_TIMED_OUT) PROMISE(e.saw & SBX_SAW_DEADLINE);
    if (verdict == SBX_OUTPUT_LIMIT) PROMISE(e.saw & SBX_SAW_OUTPUT_CAP);
    if (verdict == SBX_DENIED) PROMISE(e.saw & SBX_SAW_DENIED);
    if (verdict == SBX_LOST) PROMISE(e.saw & SBX_SAW_NO_STATUS);
    if (verdict == SBX_NO_RESULT) PROMISE(e.saw & SBX_SAW_NO_RESULT);
    if (verdict == SBX_CRASHED) PROMISE(e.signal != 0);
    return 0;
}
