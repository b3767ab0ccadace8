/* Texts of /proc and of a cgroup, through the parts of the header that read them: a directory of
 * files stands for the kernel. Numbers have at most 15 digits, as the kernel's have; the rest, the
 * names of the processes above all, may be anything. */
#include "fuzz.h"

#include <sys/stat.h>

static char root[200];
static int root_fd = -1;

static void put(const char *name, const char *text, size_t size) {
    int fd = openat(root_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    PROMISE(fd >= 0);
    PROMISE(write(fd, text, size) == (ssize_t)size);
    close(fd);
}

static long long number(bytes *b) {
    static const long long some[] = {0, 1, -1, 7, 4096, 0x7FFFFFFF, 999999999999999LL};
    unsigned k = take(b, 12);
    return k < 7 ? some[k] : (long long)take(b, 1000000) << (k - 7) * 4;
}

/* Bytes as they come, but no number longer than the kernel's. */
static size_t raw(bytes *b, char *text, size_t room) {
    size_t size = take(b, 256), i, digits = 0;
    if (size > room) size = room;
    if (size > b->size) size = b->size;
    for (i = 0; i < size; i++) {
        char c = (char)take(b, 256);
        digits = c >= '0' && c <= '9' ? digits + 1 : 0;
        text[i] = digits > 15 ? ' ' : c;
    }
    return size;
}

static void make_stat(bytes *b, int pid) {
    char text[1500], name[40], path[40];
    size_t size = raw(b, name, 16), n;
    int i;
    n = (size_t)snprintf(text, sizeof text, "%d (", pid);
    memcpy(text + n, name, size);
    n += size;
    n += (size_t)snprintf(text + n, sizeof text - n, ") %c %u", "RSDZXT"[take(b, 6)], take(b, 7));
    for (i = 0; i < 31; i++) n += (size_t)snprintf(text + n, sizeof text - n, " %lld", number(b));
    if (take(b, 8) == 1) n = take(b, 256) % (n + 1); /* cut anywhere */
    snprintf(path, sizeof path, "%d/stat", pid);
    put(path, text, n);
}

static void make_lines(bytes *b, const char *path, const char *const *labels) {
    char text[6000];
    size_t n = 0;
    int i;
    n += (size_t)snprintf(text, sizeof text, "Name:\t");
    n += raw(b, text + n, 60);
    for (i = 0; labels[i]; i++) {
        if (take(b, 10) == 1) continue;
        n += (size_t)snprintf(text + n, sizeof text - n, "\n%s\t%lld kB", labels[i], number(b));
    }
    if (take(b, 8) == 1) n = take(b, 6000) % (n + 1);
    put(path, text, n);
}

static void make_process(bytes *b, int pid) {
    static const char *const status[] = {"VmPTE:",   "VmRSS:",  "VmSwap:", "VmHWM:",   "RssShmem:",
                                         "RssFile:", "VmPeak:", "Uid:",    "Threads:", NULL};
    static const char *const rollup[] = {
        "Pss:", "SwapPss:", "Private_Clean:", "Private_Dirty:", NULL};
    char path[40], text[200];
    size_t size;
    snprintf(path, sizeof path, "%d", pid);
    mkdirat(root_fd, path, 0700);
    make_stat(b, pid);
    snprintf(path, sizeof path, "%d/status", pid);
    make_lines(b, path, status);
    snprintf(path, sizeof path, "%d/smaps_rollup", pid);
    make_lines(b, path, rollup);
    snprintf(path, sizeof path, "%d/statm", pid);
    size = take(b, 4) == 1 ? raw(b, text, sizeof text)
                           : (size_t)snprintf(text, sizeof text, "%lld %lld", number(b) % 1000000,
                                              number(b) % 1000000);
    put(path, text, size);
}

static void look_at_processes(bytes *b) {
    static sbx box;
    int round, pid;
    memset(&box, 0, sizeof box);
    box.pid = 2;
    box.stopping = 1; /* nobody is ever signalled */
    box.cfg.memory_bytes = -1;
    box.cfg.cpu_ms = -1;
    box.watch.proc = root_fd;
    box.watch.self = (int)take(b, 3) + 2;
    box.watch.on = 1;
    box.watch.budget = 1000000;
    for (round = 0; round < 3; round++) {
        for (pid = 2; pid < 6; pid++) {
            if (take(b, 4) != 1) make_process(b, pid);
        }
        sbx__recount(&box, 0);
        sbx__look_at_memory(&box);
        PROMISE(box.watch.tasks.count <= 5);
        PROMISE(box.watch.cpu_us >= 0);
    }
    SBX_FREE(box.watch.tasks.at);
}

static void look_at_a_group(bytes *b) {
    static const char *const files[] = {"cpu.stat", "memory.peak", "memory.current",
                                        "memory.events"};
    static const char *const lines[] = {"usage_usec ", "", "", "oom 1\noom_kill "};
    static sbx box;
    char text[400];
    int i;
    memset(&box, 0, sizeof box);
    box.cgroup.path = root;
    box.cgroup.peak = -1;
    for (i = 0; i < 4; i++) {
        size_t n = 0;
        if (take(b, 2)) n = (size_t)snprintf(text, sizeof text, "%s%lld\n", lines[i], number(b));
        else n = raw(b, text, sizeof text);
        put(files[i], text, n);
    }
    sbx__cgroup_read(&box);
    PROMISE(box.cgroup.cpu_us >= 0 && box.cgroup.peak >= -1);
}

static void remove_all(void) {
    char line[300];
    snprintf(line, sizeof line, "rm -rf '%s'", root);
    if (system(line) != 0) _exit(1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes b;
    b.data = data;
    b.size = size;
    if (root_fd < 0) {
        const char *shm = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(root, sizeof root, "%s/sbx-fuzz.XXXXXX", shm);
        PROMISE(mkdtemp(root));
        atexit(remove_all);
        root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    look_at_processes(&b);
    look_at_a_group(&b);
    return 0;
}
