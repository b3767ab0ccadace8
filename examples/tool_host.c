/* tool_host: functions with names, each call in a child of its own.
   What a plug-in host or an agent's tool runner needs, to copy and change.
   Compile: cc -o tool_host tool_host.c

       ./tool_host                               a tour of everything below; prints each reply
       ./tool_host list                          the tools
       ./tool_host off|warn|strict NAME [TEXT]   one call

   Where a tool runs depends on the mode:
       off      on the host, unprotected
       warn     in a child; if no child with the protection asked for can be had, on the host, and
                the reply carries a warning
       strict   in a child or nowhere
   A tool marked as elevated works on the host's own state and runs there in every mode. Errors are
   replies too: nothing a tool does in a child ends the host. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum mode { MODE_OFF, MODE_WARN, MODE_STRICT } mode;
static const char *const mode_names[] = {"off", "warn", "strict"};

typedef struct request { /* what a tool is called with */
    const char *text;
    int on_host;
    char error[128]; /* on the host: what tool_fail said */
} request;

typedef struct answer { /* what it returns */
    char text[256];
} answer;

typedef struct tool {
    const char *name, *about;
    sbx_fn fn; /* gets a request, fills in an answer, returns 0 if that is valid */
    int elevated;
} tool;

typedef struct reply { /* what the caller gets, whatever happened */
    const char *id;    /* the caller's, back again */
    int ok;
    const char *where; /* "child", "host", or "nowhere": it was not run */
    char text[256];    /* the answer, or what went wrong */
    char warning[320]; /* empty = none */
} reply;

/* ---- the tools ------------------------------------------------------------------------------- */

static char title[64] = "untitled"; /* a piece of the host's state */

/* Ends a tool with a text for the caller. Only a child can be ended by sbx_fail. */
static int tool_fail(request *rq, const char *what, const char *text) {
    if (!rq->on_host) sbx_fail("%s '%s'", what, text);
    snprintf(rq->error, sizeof rq->error, "%s '%.80s'", what, text);
    return 1;
}

static int tool_upper(void *arg, void *ret, size_t ret_size) {
    const char *from = ((request *)arg)->text;
    char *to = ((answer *)ret)->text, *last = to + ret_size - 1;

    while (*from && to < last) *to++ = (char)toupper((unsigned char)*from++);
    *to = '\0';
    return 0;
}

static int tool_sum(void *arg, void *ret, size_t ret_size) {
    request *rq = arg;
    const char *at = rq->text;
    long sum = 0;

    while (*(at += strspn(at, " "))) {
        char *end;
        sum += strtol(at, &end, 10);
        if (end == at || (*end != ' ' && *end != '\0')) return tool_fail(rq, "not a number:", at);
        at = end;
    }
    snprintf(((answer *)ret)->text, ret_size, "%ld", sum);
    return 0;
}

static int tool_crash(void *arg, void *ret, size_t ret_size) {
    int *volatile nowhere = NULL;

    (void)arg, (void)ret, (void)ret_size;
    return *nowhere;
}

static int tool_hang(void *arg, void *ret, size_t ret_size) {
    volatile int forever = 1;

    (void)arg, (void)ret, (void)ret_size;
    while (forever) {
    }
    return 0;
}

static int tool_set_title(void *arg, void *ret, size_t ret_size) {
    snprintf(title, sizeof title, "%s", ((request *)arg)->text);
    snprintf(((answer *)ret)->text, ret_size, "the title is now '%s'", title);
    return 0;
}

static const tool tools[] = {
    {"upper", "the text in capital letters", tool_upper, 0},
    {"sum", "adds up numbers", tool_sum, 0},
    {"crash", "reads through a null pointer", tool_crash, 0},
    {"hang", "does not return", tool_hang, 0},
    {"set-title", "changes the host's title", tool_set_title, 1},
};
#define TOOL_COUNT (sizeof(tools) / sizeof(tools[0]))

/* ---- the host -------------------------------------------------------------------------------- */

static const tool *find_tool(const char *name, reply *rp) {
    size_t used, i;

    for (i = 0; i < TOOL_COUNT; i++)
        if (strcmp(tools[i].name, name) == 0) return &tools[i];
    snprintf(rp->text, sizeof rp->text, "there is no tool '%.64s', only", name);
    for (i = 0; i < TOOL_COUNT; i++) {
        used = strlen(rp->text);
        snprintf(rp->text + used, sizeof rp->text - used, "%s %s", i ? "," : "", tools[i].name);
    }
    return NULL;
}

static void run_on_host(const tool *t, request *rq, reply *rp) {
    answer a = {""};

    rq->on_host = 1;
    rp->where = "host";
    rp->ok = t->fn(rq, &a, sizeof a) == 0;
    snprintf(rp->text, sizeof rp->text, "%s", rp->ok ? a.text : rq->error);
}

/* Returns 0 if no child with this protection could be started: nothing has run then. */
static int run_in_child(const tool *t, request *rq, const sbx_config *limits, reply *rp) {
    sbx_config config = *limits;
    sbx_result result;
    answer a = {""};
    int ran;

    config.user = (void *)rp->id;
    rp->ok = sbx_call(&config, t->fn, rq, &a, sizeof a, &result) == SBX_OK;
    rp->id = result.user;
    a.text[sizeof a.text - 1] = '\0'; /* the child filled it in: bytes, to be checked */
    snprintf(rp->text, sizeof rp->text, "%s", rp->ok ? a.text : result.message);
    ran = result.verdict != SBX_NOT_STARTED;
    if (ran) rp->where = "child";
    sbx_free(&result);
    return ran;
}

static void call_tool(mode m, const sbx_config *limits, const char *id, const char *name,
                      const char *text, reply *rp) {
    request rq = {text, 0, ""};
    const tool *t;

    memset(rp, 0, sizeof *rp);
    rp->id = id;
    rp->where = "nowhere";
    t = find_tool(name, rp);
    if (t == NULL) return;
    if (m == MODE_OFF || t->elevated) {
        run_on_host(t, &rq, rp);
    } else if (!run_in_child(t, &rq, limits, rp) && m == MODE_WARN) {
        /* Only a call that never began gets here: what crashed in a child would crash the host. */
        snprintf(rp->warning, sizeof rp->warning, "unprotected: %s", rp->text);
        run_on_host(t, &rq, rp);
    }
}

/* ---- the program ----------------------------------------------------------------------------- */

static int show_call(mode m, const sbx_config *limits, const char *id, const char *name,
                     const char *text) {
    reply rp;

    call_tool(m, limits, id, name, text, &rp);
    printf("[%s] %s(\"%s\") %s: %s: %s\n", rp.id, name, text, rp.where, rp.ok ? "ok" : "error",
           rp.text);
    if (rp.warning[0]) printf("[%s] warning: %s\n", rp.id, rp.warning);
    return rp.ok ? 0 : 1;
}

static void list_tools(void) {
    for (size_t i = 0; i < TOOL_COUNT; i++)
        printf("%-10s %s%s\n", tools[i].name, tools[i].about,
               tools[i].elevated ? " (elevated: on the host)" : "");
}

static void tour(const sbx_config *limits) {
    sbx_config missing = *limits;

    missing.cgroup = "/no/such/cgroup"; /* a protection that cannot be had */
    list_tools();
    printf("\nstrict\n");
    show_call(MODE_STRICT, limits, "a1", "upper", "hello");
    show_call(MODE_STRICT, limits, "a2", "sum", "1 2 39");
    show_call(MODE_STRICT, limits, "a3", "sum", "1 two 3");
    show_call(MODE_STRICT, limits, "a4", "crash", "");
    show_call(MODE_STRICT, limits, "a5", "hang", "");
    show_call(MODE_STRICT, limits, "a6", "uper", "hello");
    show_call(MODE_STRICT, limits, "a7", "set-title", "tour");
    printf("\nstrict, protection missing\n");
    show_call(MODE_STRICT, &missing, "b1", "upper", "hello");
    printf("\nwarn, protection missing\n");
    show_call(MODE_WARN, &missing, "c1", "upper", "hello");
    show_call(MODE_WARN, limits, "c2", "crash", "");
    printf("\noff\n");
    show_call(MODE_OFF, limits, "d1", "sum", "40 2");
    show_call(MODE_OFF, limits, "d2", "sum", "forty two");
}

int main(int argc, char **argv) {
    sbx_config limits = {
        .timeout_ms = 500,
        .grace_ms = SBX_UNLIMITED,
        .output_bytes = 64 * 1024,
        .memory_bytes = 256LL * 1024 * 1024,
    };
    int m;

    if (argc < 2) {
        tour(&limits);
        return 0;
    }
    if (strcmp(argv[1], "list") == 0) {
        list_tools();
        return 0;
    }
    for (m = MODE_OFF; m <= MODE_STRICT; m++)
        if (argc >= 3 && strcmp(argv[1], mode_names[m]) == 0)
            return show_call((mode)m, &limits, "1", argv[2], argc > 3 ? argv[3] : "");
    fprintf(stderr, "usage: tool_host [list | off|warn|strict NAME [TEXT]]\n");
    return 2;
}
