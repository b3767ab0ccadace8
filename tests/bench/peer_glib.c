/* GLib starting the tiny program and collecting both of its streams. Usage: peer_glib MB TINY */
#define _GNU_SOURCE 1
#include <gio/gio.h>

#include "worker.h"

static char *tiny;

static double subprocess(void) {
    const gchar *argv[] = {tiny, NULL};
    double start = worker_now();
    GBytes *out = NULL, *err = NULL;
    GSubprocess *process;
    int good = 0;

    process = g_subprocess_newv(
        argv, G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE, NULL);
    if (process == NULL) return -1;
    if (g_subprocess_communicate(process, NULL, NULL, &out, &err, NULL))
        good = g_bytes_get_size(out) == 3 && g_subprocess_get_exit_status(process) == 0;
    g_bytes_unref(out);
    g_bytes_unref(err);
    g_object_unref(process);
    return good ? worker_now() - start : -1;
}

int main(int argc, char **argv) {
    static const operation operations[] = {{"spawn", subprocess}};

    if (argc != 3 || worker_grow(atol(argv[1])) != 0) return 2;
    tiny = argv[2];
    return worker_main(operations, 1);
}
