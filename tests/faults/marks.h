/* Shared by host.c, program.c and inject.c: how a program leaves its mark, and how the host speaks
 * to the injector that traces it. */
#ifndef MARKS_H
#define MARKS_H

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* A system call that does not exist, seen by the tracer alone: its first argument is one of these.
 * What the host does before BEGIN and after END, and a function between its two, is not sbx.h's. */
#define MARKER 1000123L
enum { MARK_BEGIN = 1, MARK_END, MARK_FUNCTION, MARK_FUNCTION_END };

enum { MARKS = 4 };

static const char *mark_path(const char *dir, int i) {
    static char path[600];
    snprintf(path, sizeof path, "%s/mark.%d", dir, i);
    return path;
}

/* Directories, since these need no descriptor, no space, and no memory. 0 = it could not. */
static __attribute__((unused)) int leave_mark(const char *dir) {
    int i;
    for (i = 0; i < MARKS; i++)
        if (mkdir(mark_path(dir, i), 0700) == 0) return 1;
    return 0;
}

/* How often that happened; they are gone afterwards. */
static __attribute__((unused)) int take_marks(const char *dir) {
    int i, count = 0;
    for (i = 0; i < MARKS; i++) count += rmdir(mark_path(dir, i)) == 0;
    return count;
}

#endif
