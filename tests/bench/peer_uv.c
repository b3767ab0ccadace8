/* libuv starting the tiny program and collecting both of its streams. Usage: peer_uv MB TINY */
#define _GNU_SOURCE 1
#include <uv.h>

#include "worker.h"

static char *tiny;
static char buffer[65536];
static int bytes, status;

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf) {
    (void)handle, (void)size;
    *buf = uv_buf_init(buffer, sizeof buffer);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    (void)buf;
    if (n > 0)
        bytes += (int)n;
    else if (n < 0)
        uv_close((uv_handle_t *)stream, NULL);
}

static void exited(uv_process_t *process, int64_t code, int signal) {
    status = signal ? 1 : (int)code;
    uv_close((uv_handle_t *)process, NULL);
}

static double spawn(void) {
    double start = worker_now();
    uv_loop_t *loop = uv_default_loop();
    uv_process_t process;
    uv_pipe_t out, err;
    uv_stdio_container_t stdio[3];
    uv_process_options_t options;
    char *argv[2];

    argv[0] = tiny;
    argv[1] = NULL;
    memset(&options, 0, sizeof options);
    uv_pipe_init(loop, &out, 0);
    uv_pipe_init(loop, &err, 0);
    stdio[0].flags = UV_IGNORE;
    stdio[1].flags = (uv_stdio_flags)(UV_CREATE_PIPE | UV_WRITABLE_PIPE);
    stdio[1].data.stream = (uv_stream_t *)&out;
    stdio[2].flags = (uv_stdio_flags)(UV_CREATE_PIPE | UV_WRITABLE_PIPE);
    stdio[2].data.stream = (uv_stream_t *)&err;
    options.file = tiny;
    options.args = argv;
    options.exit_cb = exited;
    options.stdio = stdio;
    options.stdio_count = 3;
    bytes = 0;
    status = -1;
    if (uv_spawn(loop, &process, &options) != 0) return -1;
    uv_read_start((uv_stream_t *)&out, on_alloc, on_read);
    uv_read_start((uv_stream_t *)&err, on_alloc, on_read);
    uv_run(loop, UV_RUN_DEFAULT);
    return bytes == 3 && status == 0 ? worker_now() - start : -1;
}

int main(int argc, char **argv) {
    static const operation operations[] = {{"spawn", spawn}};

    if (argc != 3 || worker_grow(atol(argv[1])) != 0) return 2;
    tiny = argv[2];
    return worker_main(operations, 1);
}
