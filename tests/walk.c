/* One run through sbx.h, function by function: walk group|auto|policy|call prints the addresses of
   the header's functions in the order of their first call, by the host and by whatever it starts.
   For walk.sh, which builds it with -finstrument-functions. */
#define SBX_IMPLEMENTATION
#include "../sbx.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define MOST 4096

/* In memory that all processes share: a child adds to the same list, without a system call. */
static struct visits {
    int count;
    void *function[MOST];
} *visits;

#define UNSEEN __attribute__((no_instrument_function))

UNSEEN void __cyg_profile_func_enter(void *function, void *caller);
UNSEEN void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller) {
    int i, count = visits ? visits->count : MOST;
    (void)caller;
    for (i = 0; i < count; i++)
        if (visits->function[i] == function) return;
    if (count < MOST) visits->function[visits->count++] = function;
}

void __cyg_profile_func_exit(void *function, void *caller) { (void)function, (void)caller; }

UNSEEN static int seven(void *arg, void *ret, size_t ret_size) {
    (void)arg;
    memset(ret, 7, ret_size);
    return 0;
}

UNSEEN int main(int argc, char **argv) {
    static const char *const program[] = {"true", NULL};
    const char *which = argc > 1 ? argv[1] : "";
    sbx_config config;
    sbx_policy policy;
    sbx_result result;
    char ret[8];
    int i;
    void *memory =
        mmap(NULL, sizeof *visits, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 2;
    memset(&config, 0, sizeof config);
    memset(&policy, 0, sizeof policy);
    if (strcmp(which, "group") == 0) config.contain = SBX_CONTAIN_GROUP;
    if (strcmp(which, "call") == 0) config.contain = SBX_CONTAIN_GROUP;
    if (strcmp(which, "policy") == 0) config.policy = &policy;
    visits = (struct visits *)memory;
    if (strcmp(which, "call") == 0) {
        sbx_call(&config, seven, NULL, ret, sizeof ret, &result);
    } else {
        config.argv = program;
        sbx_run(&config, &result);
    }
    if (result.verdict == SBX_NOT_STARTED) {
        printf("%s\n", result.message);
        return 3;
    }
    sbx_free(&result);
    for (i = 0; i < visits->count; i++) printf("%p\n", visits->function[i]);
    return 0;
}
