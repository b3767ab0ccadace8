/* mcp_server: a tool server for language-model agents (Model Context Protocol, JSON-RPC 2.0 over
   stdin and stdout). Its tools are run_code and run_command; what they run is under a policy.
   Compile: cc -pthread -o mcp_server mcp_server.c
   Usage:   mcp_server [--workspace DIR] [--network] [--timeout SECONDS] [--memory MB] [--no-policy]
   Prints one line of JSON for every request, and nothing else on stdout. A client starts it itself:

       {"mcpServers": {"sbx": {"command": "/path/to/mcp_server", "args": ["--workspace", "/tmp/w"]}}}

   --workspace is the one tree that can be written, and where commands start. --timeout (60) and
   --memory (512) are the most that a call may ask for; without --network there is none. Every call
   is a thread, so that others go on and a call can be cancelled; its result is the line of sbx_json.
   When stdin ends, calls that were begun are still answered; SIGTERM ends them. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_MESSAGE (4 << 20) /* bytes of one line */
#define MAX_VALUES 10000 /* JSON values in it */
#define MAX_DEPTH 32
#define ID_ROOM 512 /* bytes of an id or a token */
#define MAX_CALLS 8 /* at the same time */

/* ---- JSON: a strict reader ------------------------------------------------------------------- */

enum { J_NULL, J_FALSE, J_TRUE, J_NUMBER, J_STRING, J_ARRAY, J_OBJECT };

typedef struct json {
    int type;
    const char *raw; /* J_NUMBER: as it was written, raw_size bytes of the line */
    size_t raw_size;
    char *text; /* J_STRING: decoded in place, size bytes and a NUL */
    size_t size;
    char *name; /* the same, of what is a member of an object */
    size_t name_size;
    struct json *first, *next; /* of an array or object; the next one in it */
} json;

typedef struct {
    char *at, *end;
    json *values; /* MAX_VALUES of them */
    int count, depth;
    const char *error; /* NULL = all is well */
} reader;

static int refuse(reader *r, const char *error) {
    if (r->error == NULL) r->error = error;
    return 0;
}

static void skip_space(reader *r) {
    while (r->at < r->end && memchr(" \t\r\n", *r->at, 4)) r->at++;
}

static int read_word(reader *r, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
        return refuse(r, "a value was expected");
    r->at += n;
    return 1;
}

static int digits(reader *r) {
    char *from = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
    return r->at > from || refuse(r, "a digit was expected");
}

static int read_number(reader *r) {
    if (*r->at == '-') r->at++;
    if (r->at < r->end && *r->at == '0') r->at++; /* and no other digit */
    else if (!digits(r)) return 0;
    if (r->at < r->end && *r->at == '.') {
        r->at++;
        if (!digits(r)) return 0;
    }
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        r->at++;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-')) r->at++;
        return digits(r);
    }
    return 1;
}

/* The length of the UTF-8 character that begins here; 0 = it is none. */
static size_t utf8_length(const unsigned char *s, size_t left) {
    size_t n = s[0] < 0x80                   ? 1
               : s[0] >= 0xC2 && s[0] < 0xE0 ? 2
               : s[0] >= 0xE0 && s[0] < 0xF0 ? 3
               : s[0] >= 0xF0 && s[0] < 0xF5 ? 4
                                             : 0;
    size_t i;

    if (n == 0 || n > left) return 0;
    for (i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    if (s[0] == 0xE0 && s[1] < 0xA0) return 0; /* longer than need be, ... */
    if (s[0] == 0xF0 && s[1] < 0x90) return 0;
    if (s[0] == 0xED && s[1] > 0x9F) return 0; /* ... a surrogate, ... */
    if (s[0] == 0xF4 && s[1] > 0x8F) return 0; /* ... beyond Unicode */
    return n;
}

static int read_hex(reader *r, unsigned *value) {
    int i;
    *value = 0;
    for (i = 0; i < 4; i++, r->at++) {
        const char *digit = "0123456789abcdefABCDEF", *found;
        if (r->at >= r->end || (found = memchr(digit, *r->at, 22)) == NULL)
            return refuse(r, "four hexadecimal digits were expected");
        *value = *value * 16 + (unsigned)(found - digit - (found - digit > 15 ? 6 : 0));
    }
    return 1;
}

/* Behind "\u": one character, of which the second half may have to follow. */
static char *read_unicode(reader *r, char *to) {
    unsigned c, low;

    if (!read_hex(r, &c)) return NULL;
    if (c >= 0xDC00 && c < 0xE000) return refuse(r, "half a character"), NULL;
    if (c >= 0xD800 && c < 0xDC00) {
        if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
            return refuse(r, "half a character"), NULL;
        r->at += 2;
        if (!read_hex(r, &low)) return NULL;
        if (low < 0xDC00 || low >= 0xE000) return refuse(r, "half a character"), NULL;
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xC0 | c >> 6);
    } else {
        if (c >= 0x10000) *to++ = (char)(0xF0 | c >> 18);
        *to++ = (char)(c >= 0x10000 ? 0x80 | (c >> 12 & 63) : 0xE0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 63));
    }
    if (c >= 0x80) *to++ = (char)(0x80 | (c & 63));
    return to;
}

/* A string, decoded over its own bytes: it never gets longer, and the quote makes room for a NUL. */
static int read_string(reader *r, char **text, size_t *size) {
    char *to = ++r->at;

    for (*text = to; r->at < r->end && *r->at != '"';) {
        size_t n = utf8_length((unsigned char *)r->at, (size_t)(r->end - r->at));
        if (n == 0) return refuse(r, "not UTF-8");
        if ((unsigned char)*r->at < ' ') return refuse(r, "a control character in a string");
        if (*r->at != '\\') {
            memmove(to, r->at, n);
            to += n;
            r->at += n;
            continue;
        }
        if (r->end - r->at < 2) break;
        r->at += 2;
        if (r->at[-1] == 'u') {
            if ((to = read_unicode(r, to)) == NULL) return 0;
        } else {
            static const char from[] = "\"\\/bfnrt", what[] = "\"\\/\b\f\n\r\t";
            const char *found = memchr(from, r->at[-1], 8);
            if (found == NULL) return refuse(r, "an unknown escape");
            *to++ = what[found - from];
        }
    }
    if (r->at >= r->end) return refuse(r, "a string that does not end");
    r->at++;
    *to = '\0';
    *size = (size_t)(to - *text);
    return 1;
}

static json *read_value(reader *r);

/* What stands between [ and ], or { and }. */
static int read_members(reader *r, json *v, char close) {
    json **last = &v->first;

    if (++r->depth > MAX_DEPTH) return refuse(r, "too deep");
    r->at++;
    skip_space(r);
    if (r->at < r->end && *r->at == close) return r->at++, r->depth--, 1;
    for (;;) {
        char *name = NULL;
        size_t name_size = 0;
        skip_space(r);
        if (close == '}') {
            if (r->at >= r->end || *r->at != '"') return refuse(r, "a name was expected");
            if (!read_string(r, &name, &name_size)) return 0;
            skip_space(r);
            if (r->at >= r->end || *r->at++ != ':') return refuse(r, "':' was expected");
        }
        if ((*last = read_value(r)) == NULL) return 0;
        (*last)->name = name;
        (*last)->name_size = name_size;
        last = &(*last)->next;
        skip_space(r);
        if (r->at >= r->end || (*r->at != ',' && *r->at != close))
            return refuse(r, "',' or the end was expected");
        if (*r->at++ == close) return r->depth--, 1;
    }
}

static json *read_value(reader *r) {
    json *v;
    int good;

    skip_space(r);
    if (r->at >= r->end) return refuse(r, "a value was expected"), NULL;
    if (r->count == MAX_VALUES) return refuse(r, "too many values"), NULL;
    v = &r->values[r->count++];
    memset(v, 0, sizeof *v);
    v->raw = r->at;
    switch (*r->at) {
    case '{': v->type = J_OBJECT, good = read_members(r, v, '}'); break;
    case '[': v->type = J_ARRAY, good = read_members(r, v, ']'); break;
    case '"': v->type = J_STRING, good = read_string(r, &v->text, &v->size); break;
    case 't': v->type = J_TRUE, good = read_word(r, "true"); break;
    case 'f': v->type = J_FALSE, good = read_word(r, "false"); break;
    case 'n': v->type = J_NULL, good = read_word(r, "null"); break;
    default: v->type = J_NUMBER, good = read_number(r);
    }
    v->raw_size = (size_t)(r->at - v->raw);
    return good ? v : NULL;
}

/* The whole line is one value, or there is an error. The line is changed, and the value points into
   it. values has room for MAX_VALUES. */
static json *read_json(char *line, size_t size, json *values, const char **error) {
    reader r = {line, line + size, values, 0, 0, NULL};
    json *v = read_value(&r);

    skip_space(&r);
    if (v != NULL && r.at < r.end) refuse(&r, "something behind the value");
    *error = r.error;
    return r.error ? NULL : v;
}

static int is_named(const json *v, const char *name) {
    return v->name_size == strlen(name) && memcmp(v->name, name, v->name_size) == 0;
}

static const json *member(const json *object, const char *name) {
    const json *v = object && object->type == J_OBJECT ? object->first : NULL;
    while (v && !is_named(v, name)) v = v->next;
    return v;
}

static int is_text(const json *v, const char *text) {
    return v && v->type == J_STRING && v->size == strlen(text) &&
           memcmp(v->text, text, v->size) == 0;
}

/* ---- JSON: writing --------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the calls */
static pthread_mutex_t out_lock = PTHREAD_MUTEX_INITIALIZER; /* stdout; never wait for the other
                                                                 one under it */
static struct { /* the message that is being written, in memory first */
    FILE *file;
    char *text;
    size_t size;
} out;

static volatile int stopped; /* by a signal */
static volatile int closing; /* nobody waits for answers any more */
static void on_signal(int number) { stopped = number; }

/* Messages are sent one at a time: what is printed between these two is a line of its own. */
static FILE *begin_message(void) {
    pthread_mutex_lock(&out_lock);
    out.file = open_memstream(&out.text, &out.size);
    if (out.file == NULL) exit(1);
    return out.file;
}

/* A client that does not read makes us wait, but not once we are to end. After poll, so few bytes
   always find room in a pipe. */
static void end_message(void) {
    size_t done = 0;

    fputc('\n', out.file);
    if (fclose(out.file) != 0) exit(1);
    while (done < out.size && !stopped && !closing) {
        struct pollfd p = {1, POLLOUT, 0};
        size_t left = out.size - done;
        ssize_t n = 0;

        if (poll(&p, 1, 100) > 0) n = write(1, out.text + done, left < 512 ? left : 512);
        if (n < 0 && errno != EINTR && errno != EAGAIN) break; /* the client is gone */
        if (n > 0) done += (size_t)n;
    }
    free(out.text);
    pthread_mutex_unlock(&out_lock);
}

static void put_text(FILE *to, const char *text, size_t size) {
    size_t i;
    fputc('"', to);
    for (i = 0; i < size; i++) {
        if (text[i] == '"' || text[i] == '\\') fputc('\\', to);
        if ((unsigned char)text[i] < ' ') fprintf(to, "\\u%04x", (unsigned)text[i]);
        else fputc(text[i], to);
    }
    fputc('"', to);
}

/* A string or number as JSON again: an id or a token. 0 = it is neither, or too long. */
static int copy_id(char *to, size_t room, const json *v) {
    size_t n = 0, i;

    if (v == NULL || (v->type != J_STRING && v->type != J_NUMBER)) return 0;
    if (v->type == J_NUMBER && v->raw_size < room)
        return snprintf(to, room, "%.*s", (int)v->raw_size, v->raw) > 0;
    if (v->type == J_NUMBER || 6 * v->size + 3 > room) return 0;
    to[n++] = '"';
    for (i = 0; i < v->size; i++) {
        unsigned char c = (unsigned char)v->text[i];
        if (c < ' ' || c == '"' || c == '\\') n += (size_t)snprintf(to + n, room - n, "\\u%04x", c);
        else to[n++] = (char)c;
    }
    to[n++] = '"';
    to[n] = '\0';
    return 1;
}

static void send_error(const char *id, int code, const char *message) {
    FILE *to = begin_message();

    fprintf(to, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":", id, code);
    put_text(to, message, strlen(message));
    fputs("}}", to);
    end_message();
}

static void send_result(const char *id, const char *result) {
    fprintf(begin_message(), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}", id, result);
    end_message();
}

/* ---- calls, each in a thread ----------------------------------------------------------------- */

typedef struct {
    int busy, done;
    volatile int stop; /* for sbx_config.stop */
    pthread_t thread;
    char id[ID_ROOM], token[ID_ROOM]; /* JSON; a token of "" = no progress is wanted */
    char *line; /* the request, which the rest points into */
    const char *language, *text, *input;
    size_t text_size, input_size;
    long long timeout_ms, memory_bytes, output, started_ms, told;
} call;

static call calls[MAX_CALLS];
static sbx_config ceiling; /* what nobody gets more than */

static long long now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int count_output(void *user, sbx_stream stream, const char *data, size_t size) {
    (void)stream, (void)data;
    pthread_mutex_lock(&lock);
    ((call *)user)->output += (long long)size;
    pthread_mutex_unlock(&lock);
    return 0;
}

/* The result as the tool's answer: for programs, and as text for those that only know text. */
static void send_answer(call *c, const sbx_result *r) {
    size_t size = sbx_json(r, NULL, 0);
    char *text = malloc(size + 1);
    FILE *to;

    if (text == NULL) {
        send_error(c->id, -32603, "no memory");
        return;
    }
    sbx_json(r, text, size + 1);
    to = begin_message();
    fprintf(to, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[", c->id);
    fputs("{\"type\":\"text\",\"text\":", to);
    put_text(to, text, size);
    fprintf(to, "}],\"structuredContent\":%s,\"isError\":%s}}", text,
            r->verdict == SBX_OK ? "false" : "true");
    end_message();
    free(text);
}

static void *run_call(void *arg) {
    call *c = arg;
    sbx_config config = {
        .input = c->input,
        .input_size = c->input_size,
        .timeout_ms = c->timeout_ms,
        .memory_bytes = c->memory_bytes,
        .truncate_output = SBX_KEEP_ENDS, /* agents want to see how it began and how it ended */
        .on_output = count_output,
        .user = c,
        .stop = &c->stop,
        .cwd = ceiling.cwd,
    };
    sbx_result result;
    int cancelled;

    sbx_clamp(&config, &ceiling);
    if (c->language) {
        sbx_run_code(&config, c->language, c->text, c->text_size, &result);
    } else {
        config.command = c->text;
        sbx_run(&config, &result);
    }
    pthread_mutex_lock(&lock);
    cancelled = c->stop;
    pthread_mutex_unlock(&lock);
    if (!cancelled) send_answer(c, &result); /* a cancelled request gets none */
    sbx_free(&result);
    pthread_mutex_lock(&lock);
    c->done = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void send_progress(const call *c, long long output) {
    fprintf(begin_message(),
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
            "\"progressToken\":%s,\"progress\":%.1f,\"message\":\"%lld bytes of output\"}}",
            c->token, (double)(c->told - c->started_ms) / 1000, output);
    end_message();
}

/* Joins threads that are done; of the others, tells those who asked how it goes. Returns how many
   are left. */
static int look_after_calls(void) {
    int left = 0;

    for (int i = 0; i < MAX_CALLS; i++) {
        call *c = &calls[i];
        int done, stop;
        long long output;

        if (!c->busy) continue;
        pthread_mutex_lock(&lock);
        done = c->done;
        stop = c->stop;
        output = c->output;
        pthread_mutex_unlock(&lock);
        if (done) {
            pthread_join(c->thread, NULL);
            free(c->line);
            c->busy = 0;
            continue;
        }
        left++;
        if (stop || !c->token[0] || now_ms() - c->told < 500) continue;
        c->told = now_ms();
        send_progress(c, output);
    }
    return left;
}

/* ---- the protocol ---------------------------------------------------------------------------- */

static const char server_info[] =
    "\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"sbx\",\"version\":\"" SBX_VERSION
    "\"},\"instructions\":\"";

static const char in_sandbox[] =
    "Runs programs in a sandbox. The programs and libraries of the system are there, the user's "
    "files are not. Each call begins with an empty /tmp";
static const char without_policy[] =
    "Runs programs under limits, but in no sandbox: they can read, change and delete all files "
    "that the user can, in /tmp as well, and use the network. What they change stays";

#define LIMITS_SCHEMA                                                                              \
    "\"stdin\":{\"type\":\"string\",\"description\":\"what it can read from stdin\"},"             \
    "\"timeout_ms\":{\"type\":\"integer\",\"minimum\":1},"                                         \
    "\"memory_mb\":{\"type\":\"integer\",\"minimum\":1}},\"additionalProperties\":false,"
#define OUTPUT_SCHEMA                                                                              \
    "\"outputSchema\":{\"type\":\"object\",\"properties\":{\"verdict\":{\"type\":\"string\"},"     \
    "\"message\":{\"type\":\"string\"},\"exit_code\":{\"type\":\"integer\"},"                      \
    "\"stdout\":{\"type\":\"string\"},\"stderr\":{\"type\":\"string\"}},"                          \
    "\"required\":[\"verdict\",\"message\",\"exit_code\",\"stdout\",\"stderr\"]}}"

static const char tools[] =
    "{\"tools\":[{\"name\":\"run_code\",\"description\":\"Builds and runs source text, under "
    "limits. "
    "The text and what was built from it are gone "
    "afterwards.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"language\":{\"type\":\"string\",\"description\":\"python, javascript, typescript, c, c++, "
    "rust, go, java, sh, bash, perl, ruby or lua\"},\"code\":{\"type\":\"string\"}," LIMITS_SCHEMA
    "\"required\":[\"language\",\"code\"]}," OUTPUT_SCHEMA
    ",{\"name\":\"run_command\",\"description\":\"Runs a line for /bin/sh, under limits.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"command\":{\"type\":\"string\"}"
    "," LIMITS_SCHEMA "\"required\":[\"command\"]}," OUTPUT_SCHEMA "]}";

/* The version to speak: the newest that the client can know, else the newest of all. 2025-03-26 is
   not among them, for it wants batches; its clients know the one before. */
static const char *choose_version(const json *asked) {
    static const char *const known[] = {"2025-11-25", "2025-06-18", "2024-11-05"};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (asked && asked->type == J_STRING && strcmp(known[i], asked->text) <= 0) return known[i];
    return known[0];
}

static void answer_initialize(const char *id, const json *params) {
    const sbx_policy *policy = ceiling.policy;
    const char *stays = "; nothing is kept for the next call";
    char result[1200];

    if (ceiling.cwd) stays = ", and starts in a workspace where files stay for the next call";
    if (!policy) stays = ceiling.cwd ? ". Each call starts in a workspace" : "";
    snprintf(
        result, sizeof result,
        "{\"protocolVersion\":\"%s\",%s%s%s.%s At most %lld seconds and %lld MB of memory for a "
        "call. In the result, verdict and message say how it ended.\"}",
        choose_version(member(params, "protocolVersion")), server_info,
        policy ? in_sandbox : without_policy, stays,
        !policy                 ? ""
        : policy->allow_network ? " The network can be used."
                                : " There is no network.",
        ceiling.timeout_ms / 1000, ceiling.memory_bytes >> 20);
    send_result(id, result);
}

/* A whole number from 1 to 999999999; 0 if it is something else. */
static long long whole_number(const json *v) {
    if (v->type != J_NUMBER || v->raw_size > 9 || memchr(v->raw, '-', v->raw_size)) return 0;
    if (memchr(v->raw, '.', v->raw_size) || memchr(v->raw, 'e', v->raw_size)) return 0;
    return memchr(v->raw, 'E', v->raw_size) ? 0
                                            : atoll(v->raw); /* a digit, comma or brace ends it */
}

typedef struct {
    char text[160];
} complaint;

/* "timeout_ms: a whole number was expected". The name is the client's: any bytes, any length. */
static int complain(complaint *to, const json *v, const char *what) {
    int n = (int)sbx_utf8_prefix(v->name, v->name_size, 60);
    snprintf(to->text, sizeof to->text, "%.*s: %s", n, v->name, what);
    return 0;
}

/* Of a string: it must have no NUL if it becomes an argument or a name. */
static int take_text(const json *v, const char **text, size_t *size, int any, complaint *wrong) {
    if (v->type != J_STRING) return complain(wrong, v, "a string was expected");
    if (!any && memchr(v->text, 0, v->size)) return complain(wrong, v, "has a NUL character in it");
    *text = v->text;
    if (size) *size = v->size;
    return 1;
}

static int take_number(const json *v, long long *to, int shift, complaint *wrong) {
    if (whole_number(v) == 0)
        return complain(wrong, v, "a whole number from 1 to 999999999 was expected");
    *to = whole_number(v) << shift;
    return 1;
}

/* Takes the arguments of a tool; or 0, and what is wrong with them. */
static int take_arguments(call *c, const json *arguments, int is_code, complaint *wrong) {
    const json *v = arguments ? arguments->first : NULL;
    const char *missing;

    for (; v; v = v->next) {
        int good;
        if (is_named(v, "stdin")) good = take_text(v, &c->input, &c->input_size, 1, wrong);
        else if (is_named(v, is_code ? "code" : "command"))
            good = take_text(v, &c->text, &c->text_size, 0, wrong);
        else if (is_named(v, "language") && is_code)
            good = take_text(v, &c->language, NULL, 0, wrong);
        else if (is_named(v, "timeout_ms")) good = take_number(v, &c->timeout_ms, 0, wrong);
        else if (is_named(v, "memory_mb")) good = take_number(v, &c->memory_bytes, 20, wrong);
        else good = complain(wrong, v, "there is no such argument");
        if (!good) return 0;
    }
    missing = c->text == NULL                  ? (is_code ? "code" : "command")
              : is_code && c->language == NULL ? "language"
                                               : NULL;
    if (missing) snprintf(wrong->text, sizeof wrong->text, "%s: this argument is missing", missing);
    return missing == NULL;
}

static void send_tool_error(const char *id, const char *error) {
    FILE *to = begin_message();

    fprintf(to, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[", id);
    fputs("{\"type\":\"text\",\"text\":", to);
    put_text(to, error, strlen(error));
    fputs("}],\"isError\":true}}", to);
    end_message();
}

/* Starts a tool. Returns 1 if the line is the call's from now on. */
static int start_call(const char *id, const json *params, char *line) {
    const json *name = member(params, "name"), *arguments = member(params, "arguments");
    const json *token = member(member(params, "_meta"), "progressToken");
    int is_code = is_text(name, "run_code"), i = 0;
    complaint wrong;
    call *c;

    if (!is_code && !is_text(name, "run_command"))
        return send_error(id, -32602, "there is no such tool"), 0;
    if (arguments && arguments->type != J_OBJECT)
        return send_error(id, -32602, "arguments: an object was expected"), 0;
    while (i < MAX_CALLS && calls[i].busy) i++;
    if (i == MAX_CALLS) return send_tool_error(id, "too many calls at the same time; try later"), 0;
    c = &calls[i];
    memset(c, 0, sizeof *c);
    c->timeout_ms = SBX_UNLIMITED; /* as much as the ceiling allows */
    c->memory_bytes = SBX_UNLIMITED;
    if (!take_arguments(c, arguments, is_code, &wrong)) return send_tool_error(id, wrong.text), 0;
    snprintf(c->id, sizeof c->id, "%s", id);
    if (!copy_id(c->token, sizeof c->token, token)) c->token[0] = '\0';
    c->started_ms = c->told = now_ms();
    if (pthread_create(&c->thread, NULL, run_call, c) != 0)
        return send_tool_error(id, "no thread"), 0;
    c->line = line;
    c->busy = 1;
    return 1;
}

/* Its thread sees this in sbx_run, which looks again and again as long as memory is limited. */
static void stop_call(call *c) {
    pthread_mutex_lock(&lock);
#ifdef __ATOMIC_RELAXED
    __atomic_store_n(&c->stop, 1, __ATOMIC_RELAXED);
#else
    c->stop = 1;
#endif
    pthread_mutex_unlock(&lock);
}

static void cancel_call(const char *id) {
    for (int i = 0; i < MAX_CALLS; i++)
        if (calls[i].busy && strcmp(calls[i].id, id) == 0) stop_call(&calls[i]);
}

/* Without an id: nothing is ever answered. */
static void take_notification(const json *method, const json *params) {
    char id[ID_ROOM];

    if (is_text(method, "notifications/cancelled") &&
        copy_id(id, sizeof id, member(params, "requestId")))
        cancel_call(id);
}

static int in_use(const char *id) {
    for (int i = 0; i < MAX_CALLS; i++)
        if (calls[i].busy && strcmp(calls[i].id, id) == 0) return 1;
    return 0;
}

/* NULL, or what makes this no request. */
static const char *check_message(const json *message) {
    const json *method = member(message, "method"), *params = member(message, "params");

    if (message->type != J_OBJECT) return "not an object; there are no batches here";
    if (!is_text(member(message, "jsonrpc"), "2.0")) return "jsonrpc: \"2.0\" was expected";
    if (!method || method->type != J_STRING) return "method: a string was expected";
    return params && params->type != J_OBJECT ? "params: an object was expected" : NULL;
}

/* One line from the client. Returns 1 if a call keeps it. */
static int take_line(char *line, size_t size) {
    static json values[MAX_VALUES];
    const char *error;
    char id[ID_ROOM];
    const json *message = read_json(line, size, values, &error), *method, *params;
    int has_id;

    if (message == NULL) return send_error("null", -32700, error), 0;
    has_id = copy_id(id, sizeof id, member(message, "id"));
    error = check_message(message);
    if (error) return send_error(has_id ? id : "null", -32600, error), 0;
    method = member(message, "method");
    params = member(message, "params");
    if (member(message, "id") == NULL) return take_notification(method, params), 0;
    if (!has_id)
        return send_error("null", -32600, "id: a short string or a number was expected"), 0;
    if (in_use(id)) return send_error(id, -32600, "this id is in use"), 0;
    if (is_text(method, "initialize")) answer_initialize(id, params);
    else if (is_text(method, "ping")) send_result(id, "{}");
    else if (is_text(method, "tools/list")) send_result(id, tools);
    else if (is_text(method, "tools/call")) return start_call(id, params, line);
    else send_error(id, -32601, "there is no such method");
    return 0;
}

/* ---- stdin ----------------------------------------------------------------------------------- */

typedef struct {
    char *data; /* the line so far: size bytes of room */
    size_t size, room;
    int skipping; /* it got too long: the rest of it is thrown away */
} line_buffer;

static void add_byte(line_buffer *b, char c) {
    if (b->skipping && c != '\n') return;
    if (c == '\n' && b->skipping) {
        send_error("null", -32700, "the line is too long");
        b->skipping = 0;
    } else if (c == '\n') {
        b->data[b->size] = '\0';
        if (take_line(b->data, b->size)) b->data = NULL, b->room = 0;
    }
    if (c == '\n') b->size = 0;
    if (b->size + 2 > b->room) {
        b->data = realloc(b->data, b->room = 2 * b->room + 4096);
        if (b->data == NULL) exit(1);
    }
    if (c == '\n') return;
    b->data[b->size++] = c;
    if (b->size > MAX_MESSAGE) b->skipping = 1;
}

/* Nothing more will be asked. What was is answered, as long as somebody can read it; every call ends
   by its own limit of time. */
static void answer_the_rest(void) {
    long long end = now_ms() + ceiling.timeout_ms + ceiling.grace_ms + 5000;
    struct pollfd p = {1, 0, 0}; /* tells whether there is still a reader */

    while (look_after_calls() > 0 && !stopped && now_ms() < end)
        if (poll(&p, 1, 50) > 0) break;
}

static void serve(void) {
    line_buffer b = {NULL, 0, 0, 0};
    static char bytes[65536];
    ssize_t n = 1;

    b.data = malloc(b.room = 4096);
    while (n > 0 && !stopped && b.data) {
        struct pollfd p = {0, POLLIN, 0};
        if (poll(&p, 1, 100) > 0) {
            n = read(0, bytes, sizeof bytes);
            if (n < 0 && errno == EINTR) n = 1;
            else
                for (ssize_t i = 0; i < n; i++) add_byte(&b, bytes[i]);
        }
        look_after_calls();
    }
    if (b.data && b.size > 0 && !stopped) add_byte(&b, '\n'); /* the last line may lack it */
    answer_the_rest();
    closing = 1;
    for (int i = 0; i < MAX_CALLS; i++) stop_call(&calls[i]);
    for (int i = 0; i < MAX_CALLS; i++)
        if (calls[i].busy) pthread_join(calls[i].thread, NULL), free(calls[i].line);
    free(b.data);
}

/* Under a policy a compiler or interpreter in somebody's home (pyenv, nvm, rustup) is not there, so
   that of the system is taken, if there is one. */
static void system_tools_first(void) {
    const char *path = getenv("PATH");
    char *longer = malloc((path ? strlen(path) : 0) + 40);

    if (longer == NULL) return;
    sprintf(longer, "/usr/local/bin:/usr/bin:/bin%s%s", path ? ":" : "", path ? path : "");
    setenv("PATH", longer, 1);
    free(longer);
}

static const char usage[] =
    "usage: mcp_server [--workspace DIR] [--network] [--timeout SECONDS] [--memory MB] "
    "[--no-policy]\n"
    "A tool server (Model Context Protocol) on stdin and stdout, to be started by a client.\n";

/* The value of an option: a number from 1 to 999999999, and nothing behind it. */
static long long option_number(const char *option, const char *value, const char *wanted) {
    size_t n = strspn(value, "0123456789");

    if (n > 0 && n < 10 && value[n] == '\0' && atoll(value) > 0) return atoll(value);
    fprintf(stderr, "mcp_server: %s %s: %s\n", option, value, wanted);
    exit(2);
}

int main(int argc, char **argv) {
    static sbx_policy policy;
    static const char *write_trees[] = {NULL, NULL};
    const char *wrong = NULL;
    sbx_caps caps;

    ceiling = (sbx_config){.timeout_ms = 60000,
                           .grace_ms = 1000,
                           .memory_bytes = 512LL << 20,
                           .output_bytes = 256 << 10,
                           .file_bytes = 256LL << 20,
                           .policy = &policy};
    for (int i = 1; i < argc; i++) {
        const char *value = argv[i + 1];
        if (strcmp(argv[i], "--network") == 0) policy.allow_network = 1;
        else if (strcmp(argv[i], "--no-policy") == 0) ceiling.policy = NULL;
        else if (value == NULL) wrong = argv[i];
        else if (strcmp(argv[i], "--workspace") == 0) ceiling.cwd = write_trees[0] = argv[++i];
        else if (strcmp(argv[i], "--timeout") == 0)
            ceiling.timeout_ms =
                1000 * option_number(argv[i++], value, "is no whole number of seconds");
        else if (strcmp(argv[i], "--memory") == 0)
            ceiling.memory_bytes = option_number(argv[i++], value, "is no whole number of MB")
                                   << 20;
        else wrong = argv[i];
    }
    if (wrong) {
        fputs(usage, stderr);
        return 2;
    }
    if (ceiling.cwd && access(ceiling.cwd, R_OK | W_OK | X_OK) != 0) {
        fprintf(stderr, "mcp_server: --workspace %s: %s\n", ceiling.cwd, strerror(errno));
        return 2;
    }
    policy.write = write_trees;
    sbx_probe(&caps);
    if (ceiling.policy && !caps.policy) {
        fprintf(stderr, "mcp_server: no policy here: %s. --no-policy does without\n",
                caps.policy_why);
        return 1;
    }
    if (ceiling.policy) system_tools_first();
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    signal(SIGPIPE, SIG_IGN);
    serve();
    return stopped ? 128 + stopped : 0;
}
