/* The labelled corpus: small programs whose true end is known because they were built for it.

   Each row:  LANGUAGE(name, true verdict, setup, program)
   Setup:     NONE, LIMITS(config fields), and, before the fields,
              WITH(an option for the interpreter, ...), BY(a way to drive the box, ...),
              NEEDS(what must be there or the case is skipped, ...), TOOL(a program likewise, ...),
              TRAP(...) and TRAP_WITH(an option, ...): see below
   Programs:  C and CPP are the body of a function of ccases.c and cppcases.cpp; JAVA, GO and RUST
              become a method of one generated source; NODE is its text (single quotes are not
              possible); PYTHON, PERL and SH are strings; CALL is the body of a function for
              sbx_call; EXEC is the path that is run. $C in SH is the program with the C cases.

   A label is what is true for the person who asked for the limits, not what can be seen from
   outside: a program that gives up because malloc said no has met the memory limit, whatever it
   prints; one that prints "out of memory" for fun has not. A limit without a verdict of its own
   leaves the program's own end: SBX_EXITED for open files and processes, SBX_CRASHED for the stack.

   A trap is a case that was made to be taken for another: words about memory under a limit that has
   nothing to do with them, a limit that is met without a word. Some cannot be told from outside at
   all. They are counted apart: a verdict on them may be wrong, but never be called certain.

   Included several times with other meanings of the row macros; see corpus.c. Nothing here depends
   on a fast machine: what ends by itself has two minutes (corpus.c sets that where a row does not),
   what must be stopped would run for 100 s, and CPU time is measured as CPU time. clang-format
   would make the rows unreadable. */
/* clang-format off */

/* A row macro that the including file did not define is a row it does not want. */
#ifndef C
#define C(name, truth, setup, ...)
#endif
#ifndef CPP
#define CPP(name, truth, setup, ...)
#endif
#ifndef PYTHON
#define PYTHON(name, truth, setup, ...)
#endif
#ifndef NODE
#define NODE(name, truth, setup, ...)
#endif
#ifndef JAVA
#define JAVA(name, truth, setup, ...)
#endif
#ifndef GO
#define GO(name, truth, setup, ...)
#endif
#ifndef PERL
#define PERL(name, truth, setup, ...)
#endif
#ifndef RUST
#define RUST(name, truth, setup, ...)
#endif
#ifndef SH
#define SH(name, truth, setup, ...)
#endif
#ifndef CALL
#define CALL(name, truth, setup, ...)
#endif
#ifndef EXEC
#define EXEC(name, truth, setup, ...)
#endif

/* ==== Exit codes that look like something else ================================================ */

C(exit_0, SBX_OK, NONE, return 0;)
C(exit_1, SBX_EXITED, NONE, return 1;)
C(exit_124, SBX_EXITED, NONE, return 124;)                       /* timeout(1): time is over */
C(exit_126, SBX_EXITED, NONE, return 126;)                       /* sh: cannot be run */
C(exit_127, SBX_EXITED, NONE, return 127;)                       /* sh: not found */
C(exit_128, SBX_EXITED, NONE, return 128;)
C(exit_134, SBX_EXITED, NONE, return 134;)                       /* 128 + SIGABRT */
C(exit_137, SBX_EXITED, NONE, return 137;)                       /* 128 + SIGKILL */
C(exit_139, SBX_EXITED, NONE, return 139;)                       /* 128 + SIGSEGV */
C(exit_255, SBX_EXITED, NONE, return 255;)
C(exit_124_with_timeout, SBX_EXITED, LIMITS(.timeout_ms = 60000), return 124;)
C(exit_137_with_memory_limit, SBX_EXITED, LIMITS(.memory_bytes = 64 * MB), return 137;)
C(exit_139_with_memory_limit, SBX_EXITED, LIMITS(.memory_bytes = 64 * MB), return 139;)
C(exit_139_with_address_space, SBX_EXITED, LIMITS(.address_space_bytes = 256 * MB), return 139;)
C(exit_152_with_cpu_limit, SBX_EXITED, LIMITS(.cpu_ms = 10000), return 152;)  /* 128 + SIGXCPU */
C(exit_153_with_file_limit, SBX_EXITED, LIMITS(.file_bytes = 64 * KB), return 153;)
CPP(exit_143, SBX_EXITED, NONE, exit(143);)
PYTHON(exit_139, SBX_EXITED, LIMITS(.memory_bytes = 256 * MB), "import sys; sys.exit(139)")
PYTHON(exit_256_is_0, SBX_OK, NONE, "import os; os._exit(256)")
PYTHON(exit_with_text, SBX_EXITED, NONE, "raise SystemExit('nothing to do')")
NODE(exit_134, SBX_EXITED, LIMITS(.memory_bytes = 512 * MB), process.exit(134);)
NODE(exit_code_set, SBX_EXITED, NONE, process.exitCode = 137;)
JAVA(exit_137, SBX_EXITED, NONE, System.exit(137);)
JAVA(halt_143, SBX_EXITED, NONE, Runtime.getRuntime().halt(143);)
GO(exit_137, SBX_EXITED, NONE, os.Exit(137);)
SH(exit_130, SBX_EXITED, NONE, "exit 130")
SH(exit_137, SBX_EXITED, LIMITS(.memory_bytes = 64 * MB, .cpu_ms = 10000), "exit 137")
SH(command_not_found, SBX_EXITED, NONE, "no-such-program-here; exit $?")
SH(child_crashed, SBX_EXITED, NONE, "\"$C\" null; exit $?")       /* the shell itself exits 139 */
SH(child_killed, SBX_EXITED, LIMITS(.memory_bytes = 64 * MB), "\"$C\" raise_kill; exit $?")
SH(child_failed_shell_fine, SBX_OK, NONE, "\"$C\" null; exit 0")

/* ==== Signals a program sends to itself ======================================================= */

C(raise_hup, SBX_CRASHED, NONE, raise(SIGHUP);)
C(raise_int, SBX_CRASHED, NONE, raise(SIGINT);)
C(raise_quit, SBX_CRASHED, NONE, raise(SIGQUIT);)
C(raise_ill, SBX_CRASHED, NONE, raise(SIGILL);)
C(raise_trap, SBX_CRASHED, NONE, raise(SIGTRAP);)
C(raise_bus, SBX_CRASHED, NONE, raise(SIGBUS);)
C(raise_fpe, SBX_CRASHED, NONE, raise(SIGFPE);)
C(raise_kill, SBX_CRASHED, NONE, raise(SIGKILL);)
C(raise_usr1, SBX_CRASHED, NONE, raise(SIGUSR1);)
C(raise_segv, SBX_CRASHED, NONE, raise(SIGSEGV);)
C(raise_pipe, SBX_CRASHED, NONE, raise(SIGPIPE);)
C(raise_alrm, SBX_CRASHED, NONE, raise(SIGALRM);)
C(raise_term, SBX_CRASHED, NONE, raise(SIGTERM);)
C(raise_sys, SBX_CRASHED, NONE, raise(SIGSYS);)
C(raise_xcpu, SBX_CRASHED, NONE, raise(SIGXCPU);)
C(raise_xfsz, SBX_CRASHED, NONE, raise(SIGXFSZ);)
C(raise_realtime, SBX_CRASHED, NONE, raise(SIGRTMIN);)
C(raise_term_with_timeout, SBX_CRASHED, LIMITS(.timeout_ms = 60000), raise(SIGTERM);)
C(raise_xcpu_with_cpu_limit, SBX_CRASHED, LIMITS(.cpu_ms = 10000), raise(SIGXCPU);)
C(raise_kill_with_cpu_limit, SBX_CRASHED, LIMITS(.cpu_ms = 10000), raise(SIGKILL);)
C(raise_kill_cpu_nearly_spent, SBX_CRASHED, TRAP(.cpu_ms = 1000), burn(800); raise(SIGKILL);)
C(raise_xcpu_cpu_nearly_spent, SBX_CRASHED, TRAP(.cpu_ms = 1000), burn(800); raise(SIGXCPU);)
C(raise_kill_with_memory_limit, SBX_CRASHED, LIMITS(.memory_bytes = 64 * MB),
    use(40); raise(SIGKILL);)
C(raise_kill_with_address_space, SBX_CRASHED, LIMITS(.address_space_bytes = 256 * MB),
    raise(SIGKILL);)
C(raise_segv_with_address_space, SBX_CRASHED, LIMITS(.address_space_bytes = 256 * MB),
    raise(SIGSEGV);)
C(raise_xfsz_with_file_limit, SBX_CRASHED, TRAP(.file_bytes = 1 * MB), raise(SIGXFSZ);)
C(raise_sys_with_limits, SBX_CRASHED, LIMITS(.memory_bytes = 64 * MB, .open_files = 32),
    raise(SIGSYS);)
PYTHON(kill_itself, SBX_CRASHED, LIMITS(.memory_bytes = 256 * MB),
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
NODE(xcpu_itself, SBX_CRASHED, LIMITS(.cpu_ms = 20000), process.kill(process.pid, "SIGXCPU");
    setTimeout(() => {}, 100000);)
SH(kill_9_itself, SBX_CRASHED, NONE, "kill -9 $$")
SH(kill_segv_itself, SBX_CRASHED, NONE, "kill -SEGV $$")
C(killed_by_grandchild, SBX_CRASHED, NONE,
    if (forked() == 0) { kill(getppid(), SIGKILL); _exit(0); } nap(100000);)
C(killed_by_grandchild_memory, SBX_CRASHED, LIMITS(.memory_bytes = 128 * MB),
    use(60); if (forked() == 0) { nap(50); kill(getppid(), SIGKILL); _exit(0); } nap(100000);)
C(killed_by_grandchild_cpu, SBX_CRASHED, LIMITS(.cpu_ms = 10000),
    if (forked() == 0) { kill(getppid(), SIGXCPU); _exit(0); } nap(100000);)
C(terminated_by_grandchild, SBX_CRASHED, LIMITS(.timeout_ms = 60000),
    if (forked() == 0) { kill(getppid(), SIGTERM); _exit(0); } nap(100000);)
C(own_rlimit_cpu, SBX_CRASHED, LIMITS(.cpu_ms = 20000), limit(RLIMIT_CPU, 1); spin();)
C(own_rlimit_memory, SBX_EXITED, LIMITS(.memory_bytes = 256 * MB),
    limit(RLIMIT_AS, 64 * MB);
    if (!malloc(128 * MB)) { fputs("out of memory\n", stderr); exit(1); })

/* ==== Crashes ================================================================================= */

C(null, SBX_CRASHED, NONE, crash_null();)
C(divide, SBX_CRASHED, NONE, crash_divide();)
C(abort, SBX_CRASHED, NONE, abort();)
C(illegal, SBX_CRASHED, NONE, crash_illegal();)
C(bus_error, SBX_CRASHED, NONE, crash_bus();)
C(double_free, SBX_CRASHED, NONE, crash_double_free();)
C(null_near_memory_limit, SBX_CRASHED, LIMITS(.memory_bytes = 128 * MB), use(100); crash_null();)
C(null_near_address_space, SBX_CRASHED, TRAP(.address_space_bytes = 256 * MB),
    reserve_up_to(250); nap(100); crash_null();)
C(null_with_address_space, SBX_CRASHED, LIMITS(.address_space_bytes = 1024 * MB),
    use(20); crash_null();)
C(null_with_all_limits, SBX_CRASHED, LIMITS(.cpu_ms = 10000, .memory_bytes = 64 * MB,
    .file_bytes = 1 * MB, .open_files = 32, .stack_bytes = 4 * MB), crash_null();)
C(fopen_unchecked, SBX_CRASHED, LIMITS(.memory_bytes = 64 * MB),
    FILE *f = fopen("no-such-file", "r"); return fgetc(f);)
C(assertion, SBX_CRASHED, LIMITS(.memory_bytes = 64 * MB), assert(!"memory is fine");)
C(handler_then_exit_3, SBX_EXITED, NONE, signal(SIGSEGV, exit_3); crash_null();)
CPP(uncaught, SBX_CRASHED, NONE, throw 42;)
CPP(out_of_range, SBX_CRASHED, LIMITS(.memory_bytes = 64 * MB), std::vector<int>(3).at(7) = 1;)
CPP(length_error, SBX_CRASHED, LIMITS(.address_space_bytes = 256 * MB),
    std::vector<char> v; v.reserve((size_t)-1);)
CPP(terminate_in_thread, SBX_CRASHED, NONE,
    std::thread t([] { throw std::runtime_error("late"); }); t.join();)
PYTHON(uncaught, SBX_EXITED, NONE, "raise ValueError('no')")
PYTHON(null, SBX_CRASHED, NONE, "import ctypes; ctypes.string_at(0)")
PYTHON(null_with_memory_limit, SBX_CRASHED, LIMITS(.memory_bytes = 256 * MB),
    "import ctypes; x = bytearray(100 << 20); ctypes.string_at(0)")
PYTHON(abort, SBX_CRASHED, NONE, "import os; os.abort()")
PYTHON(child_segfaults, SBX_EXITED, NONE,
    "import subprocess, sys\n"
    "p = subprocess.run([sys.executable, '-c', 'import ctypes; ctypes.string_at(0)'])\n"
    "sys.exit(128 - p.returncode)")
NODE(uncaught, SBX_EXITED, NONE, throw new Error("no");)
NODE(abort, SBX_CRASHED, LIMITS(.memory_bytes = 512 * MB), process.abort();)
NODE(rejected, SBX_EXITED, NONE, Promise.reject(new Error("nobody listens"));)
JAVA(uncaught, SBX_EXITED, NONE, throw new IllegalStateException("no");)
JAVA(null_pointer, SBX_EXITED, LIMITS(.memory_bytes = 512 * MB), Object o = null; o.hashCode();)
GO(nil, SBX_EXITED, NONE, var p *int; *p = 1;)
GO(panic, SBX_EXITED, LIMITS(.memory_bytes = 512 * MB), panic("no");)
SH(set_e, SBX_EXITED, NONE, "set -e; false; true")
SH(syntax_error, SBX_EXITED, NONE, "if then")

/* ==== The stack =============================================================================== */

C(stack_overflow, SBX_CRASHED, NONE, recurse(1 << 30);)
C(stack_overflow_small_stack, SBX_CRASHED, LIMITS(.stack_bytes = 1 * MB), recurse(1 << 30);)
C(stack_overflow_with_memory_limit, SBX_CRASHED, LIMITS(.memory_bytes = 128 * MB),
    recurse(1 << 30);)
C(stack_overflow_with_address_space, SBX_CRASHED,
    LIMITS(.address_space_bytes = 512 * MB, .stack_bytes = 8 * MB), recurse(1 << 30);)
C(stack_ends_at_address_space, SBX_MEMORY_LIMIT,                 /* the stack alone could grow on */
    LIMITS(.address_space_bytes = 64 * MB, .stack_bytes = 1024 * MB), recurse(1 << 30);)
C(stack_grows_past_memory_limit, SBX_MEMORY_LIMIT,
    LIMITS(.memory_bytes = 64 * MB, .stack_bytes = 1024 * MB), recurse(400);)
C(deep_but_enough_stack, SBX_OK, LIMITS(.stack_bytes = 64 * MB), recurse(32);)
C(stack_overflow_of_thread, SBX_CRASHED, NONE, in_thread(recurse_forever);)
PYTHON(recursion_error, SBX_EXITED, NONE, "def f(): f()\nf()")
PYTHON(recursion_error_address_space, SBX_EXITED, LIMITS(.address_space_bytes = 512 * MB),
    "def f(): f()\nf()")
NODE(range_error, SBX_EXITED, LIMITS(.memory_bytes = 512 * MB), function f() { f(); } f();)
JAVA(stack_overflow_error, SBX_EXITED, LIMITS(.memory_bytes = 512 * MB), recurse();)
GO(stack_overflow, SBX_EXITED, NONE, debug.SetMaxStack(16 << 20); recurse(1);)
CPP(stack_overflow, SBX_CRASHED, LIMITS(.stack_bytes = 2 * MB, .memory_bytes = 64 * MB),
    recurse(1 << 30);)

/* ==== memory_bytes: memory in use, whole tree ================================================= */

C(memory_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB), use(300); nap(100000);)
C(memory_over_slowly, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB),
    for (int i = 0; i < 300; i++) { use(1); nap(2); } nap(100000);)
C(memory_over_then_exit_0, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB), use(400); return 0;)
C(memory_over_then_crash, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB),
    use(400); crash_null();)
C(memory_over_and_timeout, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB, .timeout_ms = 60000),
    use(300); spin();)
C(memory_over_talking, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB),
    fputs("plenty of room\n", stderr); use(300); nap(100000);)
C(memory_over_on_term_exit_0, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB, .grace_ms = 500),
    signal(SIGTERM, exit_0); use(300); nap(100000);)
C(memory_eight_processes, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 128 * MB),
    for (int i = 0; i < 8; i++) if (forked() == 0) { use(40); nap(100000); } nap(100000);)
C(memory_in_grandchild, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB),
    if (forked() == 0) { if (forked() == 0) { use(300); nap(100000); } nap(100000); } nap(100000);)
C(memory_in_orphan, SBX_MEMORY_LIMIT, NEEDS(TREE, .memory_bytes = 64 * MB),
    if (forked() == 0) { setsid(); if (forked() == 0) { use(300); nap(100000); } _exit(0); }
    wait(NULL); nap(100000);)
C(memory_shared, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB), use_shared(300); nap(100000);)
C(memory_in_thread, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB),
    in_thread(use_300); nap(100000);)
C(memory_under, SBX_OK, LIMITS(.memory_bytes = 128 * MB), use(80); nap(100);)
C(memory_burst_under, SBX_OK, LIMITS(.memory_bytes = 128 * MB),
    for (int i = 0; i < 20; i++) { void *p = use(80); munmap(p, 80 * MB); })
C(memory_reserved_not_used, SBX_OK, LIMITS(.memory_bytes = 64 * MB),
    reserve_up_to(2000); use(20); nap(60);)
C(memory_shared_counted_once, SBX_OK, LIMITS(.memory_bytes = 128 * MB),
    char *p = use(60);
    for (int i = 0; i < 4; i++) if (forked() == 0) { look(p, 60); nap(100); _exit(0); }
    while (wait(NULL) > 0) {})
C(memory_shared_then_alone, SBX_OK, LIMITS(.memory_bytes = 128 * MB),
    char *p = use(60);
    for (int i = 0; i < 4; i++) if (forked() == 0) { look(p, 60); nap(100); _exit(0); }
    while (wait(NULL) > 0) {} nap(300);)
C(memory_one_after_another, SBX_OK, LIMITS(.memory_bytes = 128 * MB),
    for (int i = 0; i < 6; i++) { if (forked() == 0) { use(50); _exit(0); } wait(NULL); })
C(memory_under_then_exit_5, SBX_EXITED, LIMITS(.memory_bytes = 128 * MB), use(100); return 5;)
C(memory_at_94_percent_exit_5, SBX_EXITED, LIMITS(.memory_bytes = 128 * MB), use(120); return 5;)
C(memory_borrowed_by_vfork, SBX_OK, LIMITS(.memory_bytes = 128 * MB),
    use(80); if (vfork() == 0) { nap(300); _exit(0); })     /* one memory, seen twice in /proc */
CPP(memory_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB),
    std::vector<std::string> v;
    for (int i = 0; i < 300; i++) v.push_back(std::string(1 << 20, 'x'));
    nap(100000);)
CPP(memory_under, SBX_OK, LIMITS(.memory_bytes = 256 * MB),
    std::vector<char> v(100 << 20, 'x'); return v[5] == 'x' ? 0 : 1;)
PYTHON(memory_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 128 * MB),
    "import time; x = [b'x' * (1 << 20) for i in range(400)]; time.sleep(100)")
PYTHON(memory_over_in_child, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 128 * MB),
    "import subprocess, sys\n"
    "hog = 'import time; x = bytes([1]) * (400 << 20); time.sleep(100)'\n"
    "subprocess.run([sys.executable, '-c', hog])")
PYTHON(memory_under, SBX_OK, LIMITS(.memory_bytes = 256 * MB), "x = b'x' * (60 << 20)")
PYTHON(memory_under_forked_workers, SBX_OK, LIMITS(.memory_bytes = 128 * MB),
    "import os, time\n"
    "x = b'x' * (60 << 20)\n"
    "for i in range(4):\n"
    "    if os.fork() == 0: time.sleep(0.2); os._exit(0)\n"
    "for i in range(4): os.wait()\n"
    "time.sleep(0.3)")
PYTHON(memory_under_many_spawns, SBX_OK, LIMITS(.memory_bytes = 128 * MB),
    "import subprocess\n"
    "x = b'x' * (75 << 20)\n"
    "for i in range(60): subprocess.run(['/bin/true'])")
NODE(memory_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 256 * MB),
    const a = [];
    for (let i = 0; i < 600; i++) a.push(Buffer.alloc(1 << 20, 1)); setTimeout(() => a, 100000);)
NODE(memory_heap_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 256 * MB),
    const a = []; for (let i = 0; i < 1000; i++) a.push(new Array(100000).fill(i + 0.5));
    setTimeout(() => a, 100000);)
NODE(memory_under, SBX_OK, LIMITS(.memory_bytes = 512 * MB), Buffer.alloc(100 << 20, 1);)
JAVA(memory_over, SBX_MEMORY_LIMIT, WITH("-Xmx1g", .memory_bytes = 256 * MB),
    use(600); nap(100000);)
JAVA(memory_under, SBX_OK, LIMITS(.memory_bytes = 512 * MB), use(50);)
GO(memory_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 128 * MB), use(600); nap(100000);)
GO(memory_under, SBX_OK, LIMITS(.memory_bytes = 512 * MB), use(50);)
GO(memory_stack_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 128 * MB), recurse(1);)
SH(memory_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB),
    "x=aaaaaaaaaaaaaaaa; i=0; while [ $i -lt 24 ]; do x=$x$x; i=$((i + 1)); done; sleep 100")
SH(memory_over_in_child, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB),
    "\"$C\" memory_over; exit 0")

/* ==== Pools: memory that many processes have in common ======================================== */

C(pool_shared, SBX_OK, LIMITS(.memory_bytes = 128 * MB), char *p = use_shared(100);
    for (int i = 0; i < 5; i++) { workers(6, p, 100, 0); while (wait(NULL) > 0) {} })
C(pool_shared_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB),
    char *p = use_shared(100); workers(6, p, 100, 0); nap(100000);)
C(pool_forked, SBX_OK, LIMITS(.memory_bytes = 96 * MB), char *p = use(60);
    for (int i = 0; i < 5; i++) { workers(6, p, 60, 0); while (wait(NULL) > 0) {} })
C(pool_copied, SBX_OK, LIMITS(.memory_bytes = 256 * MB),
    workers(4, use(40), 40, 1); while (wait(NULL) > 0) {})
C(pool_copied_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 128 * MB),
    workers(4, use(60), 60, 100000); nap(100000);)
C(pool_copied_exit_4, SBX_EXITED, LIMITS(.memory_bytes = 256 * MB),
    workers(4, use(40), 40, 1); while (wait(NULL) > 0) {} return 4;)
C(file_mapped_ten_times, SBX_OK, LIMITS(.memory_bytes = 64 * MB),
    for (int i = 0, f = file_of("ten_mappings", 20); i < 10; i++) map_file(f, 20); nap(300);)
C(file_mapped_ten_times_in_two, SBX_OK, LIMITS(.memory_bytes = 64 * MB),
    int f = file_of("ten_in_two", 20); forked();
    for (int i = 0; i < 10; i++) map_file(f, 20); nap(300); while (wait(NULL) > 0) {})
C(file_mapped_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB),
    map_file(file_of("one_mapping", 200), 200); nap(100000);)
C(shared_with_orphan, SBX_OK, LIMITS(.memory_bytes = 128 * MB), use(80); same_memory(300); nap(400);)
C(shared_with_orphan_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB),
    use(80); same_memory(100000); nap(100000);)
C(shared_until_exec, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 96 * MB), use(60);
    if (vfork() == 0) { nap(200); execl("/proc/self/exe", "c", "memory_over", (char *)0); _exit(1); }
    wait(NULL);)                                            /* then it has 300 MB of its own */
C(auto_reaped_under, SBX_OK, LIMITS(.memory_bytes = 128 * MB), signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 20; i++) { if (forked() == 0) { use(20); _exit(0); } wait(NULL); })
C(auto_reaped_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB), signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 5; i++) { if (forked() == 0) { use(300); _exit(0); } wait(NULL); })
C(auto_reaped_briefly_over, SBX_MEMORY_LIMIT, TRAP(.memory_bytes = 4 * MB), signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 20; i++) { if (forked() == 0) { use(5); _exit(0); } wait(NULL); nap(3); })
C(late_auto_reaped_over, SBX_MEMORY_LIMIT, TRAP_BY(LATE_LOOK, .memory_bytes = 32 * MB),
    signal(SIGCHLD, SIG_IGN); if (forked() == 0) { use(64); _exit(0); } wait(NULL);)
C(late_over, SBX_MEMORY_LIMIT, BY(LATE_LOOK, .memory_bytes = 32 * MB), use(64);)
C(late_under, SBX_OK, BY(LATE_LOOK, .memory_bytes = 64 * MB), use(10);)
C(late_past_deadline, SBX_OK, TRAP_BY(LATE_LOOK, .timeout_ms = 800), return 0;)
PYTHON(pool_shared, SBX_OK, LIMITS(.memory_bytes = 160 * MB),
    "import mmap, os\n"
    "m = mmap.mmap(-1, 100 << 20)\n"
    "for i in range(0, len(m), 4096): m[i] = 1\n"
    "for i in range(4):\n"
    "    if os.fork() == 0:\n"
    "        sum(m[j] for j in range(0, len(m), 4096)); os._exit(0)\n"
    "for i in range(4): os.wait()")
PYTHON(pool_copied_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 192 * MB),
    "import os, time\n"
    "b = bytearray(80 << 20)\n"
    "for i in range(0, len(b), 4096): b[i] = 1\n"
    "for i in range(4):\n"
    "    if os.fork() == 0:\n"
    "        for j in range(0, len(b), 4096): b[j] = 2\n"
    "        time.sleep(100)\n"
    "time.sleep(100)")
CALL(pool_shared, SBX_OK, LIMITS(.memory_bytes = 128 * MB),
    workers(6, use_shared(100), 100, 0); while (wait(NULL) > 0) {} return 0;)
CALL(pool_copied_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 128 * MB),
    workers(4, use(60), 60, 100000); nap(100000); return 0;)
CALL(file_mapped_ten_times, SBX_OK, LIMITS(.memory_bytes = 64 * MB),
    for (int i = 0, f = file_of("ten_call", 20); i < 10; i++) map_file(f, 20); nap(300); return 0;)

/* ==== Short lives near a memory limit ========================================================= */

C(short_under, SBX_OK, LIMITS(.memory_bytes = 32 * MB), use(1);)
C(short_under_exit_3, SBX_EXITED, LIMITS(.memory_bytes = 32 * MB), use(2); return 3;)
C(short_under_crash, SBX_CRASHED, LIMITS(.memory_bytes = 32 * MB), crash_null();)
C(short_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 32 * MB), use(64);)
C(short_over_exit_3, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 32 * MB), use(64); return 3;)
C(short_over_talking, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 32 * MB),
    use(64); out(1, 10); nap(5);)
C(short_a_little_over, SBX_MEMORY_LIMIT, TRAP(.memory_bytes = 2 * MB), use(3);)
C(short_a_little_under, SBX_OK, TRAP(.memory_bytes = 8 * MB), use(3);)
C(short_far_over, SBX_MEMORY_LIMIT, TRAP(.memory_bytes = 256 * KB), return 0;)
C(short_far_over_crash, SBX_MEMORY_LIMIT, TRAP(.memory_bytes = 256 * KB), crash_null();)
EXEC(true_far_over, SBX_MEMORY_LIMIT, TRAP(.memory_bytes = 64 * KB), "/bin/true")
EXEC(true_over, SBX_MEMORY_LIMIT, TRAP(.memory_bytes = 512 * KB), "/bin/true")
EXEC(true_under, SBX_OK, LIMITS(.memory_bytes = 32 * MB), "/bin/true")
EXEC(false_under, SBX_EXITED, LIMITS(.memory_bytes = 32 * MB), "/bin/false")
SH(short_children_under, SBX_OK, LIMITS(.memory_bytes = 32 * MB),
    "i=0; while [ $i -lt 30 ]; do /bin/true; i=$((i+1)); done")
SH(short_child_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 32 * MB), "\"$C\" short_over; exit 0")

/* ==== address_space_bytes: malloc says no, and the program makes something of it ============== */

C(malloc_said_so, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    grow(1); fputs("out of memory\n", stderr); return 1;)
C(malloc_perror, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    if (!malloc(1024 * MB)) { perror("ccases"); return 1; })
C(malloc_unchecked, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB), grow_blindly();)
C(malloc_unchecked_at_once, SBX_MEMORY_LIMIT, TRAP(.address_space_bytes = 256 * MB),
    strcpy((char *)malloc(1024 * MB), "no");)               /* nothing was ever near the limit */
C(malloc_quiet_exit_3, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    grow(1); return 3;)
C(malloc_quiet_at_once, SBX_MEMORY_LIMIT, TRAP(.address_space_bytes = 256 * MB),
    if (!malloc(1024 * MB)) return 3;)
C(malloc_other_words, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    grow(1); fputs("cannot load the picture\n", stderr); return 1;)
C(malloc_abort, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    grow(1); fputs("fatal: no more memory\n", stderr); abort();)
C(malloc_handled_exit_0, SBX_OK, LIMITS(.address_space_bytes = 256 * MB),
    if (!malloc(1024 * MB)) puts("did with less");)
C(malloc_small_steps, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 64 * MB),
    grow_small(); fputs("virtual memory exhausted\n", stderr); return 1;)
C(threads_no_stack, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 128 * MB),
    int e = many_threads(100);
    if (e) { fprintf(stderr, "pthread_create: %s\n", strerror(e)); return 1; })
C(malloc_fails_in_child, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    int s; if (forked() == 0) { grow(1); fputs("out of memory\n", stderr); _exit(1); } wait(&s);
    return WEXITSTATUS(s) + 1;)
C(space_enough, SBX_OK, LIMITS(.address_space_bytes = 512 * MB), use(200);)
C(space_enough_exit_1, SBX_EXITED, LIMITS(.address_space_bytes = 512 * MB),
    use(100); fputs("no such user\n", stderr); return 1;)
C(too_small_for_exec, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 100 * KB), return 0;)
EXEC(small_but_enough, SBX_EXITED, TRAP(.address_space_bytes = 3 * MB), "/bin/false")
C(too_small_for_libc, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 2 * MB), return 0;)
CPP(bad_alloc, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    std::vector<char> v(1u << 30); v[1] = 1;)
CPP(bad_alloc_growing, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    std::vector<std::string> v;
    for (int i = 0; i < 900; i++) v.push_back(std::string(1 << 20, 'x'));)
CPP(bad_alloc_caught, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    try { std::vector<char> v(1u << 30); v[1] = 1; }
    catch (const std::exception &e) { std::cerr << "error: " << e.what() << "\n"; exit(1); })
CPP(bad_alloc_recovered, SBX_OK, LIMITS(.address_space_bytes = 256 * MB),
    try { std::vector<char> v(1u << 30); v[1] = 1; } catch (const std::bad_alloc &) { exit(0); })
CPP(thread_no_stack, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 128 * MB),
    std::vector<std::thread> t; for (int i = 0; i < 100; i++) t.emplace_back([] { nap(100000); });)
PYTHON(memory_error, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 512 * MB),
    "bytearray(1 << 30)")
PYTHON(memory_error_growing, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 512 * MB),
    "x = [bytearray(1 << 20) for i in range(1000)]")
PYTHON(memory_error_reported, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 512 * MB),
    "import sys\n"
    "try: bytearray(1 << 30)\n"
    "except MemoryError as e: sys.exit('failed: %r' % e)")
PYTHON(memory_error_recovered, SBX_OK, LIMITS(.address_space_bytes = 512 * MB),
    "try: bytearray(1 << 30)\n"
    "except MemoryError: print('fine')")
PYTHON(thread_no_stack, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 512 * MB),
    "import threading, time\n"
    "for i in range(200): threading.Thread(target=time.sleep, args=(1,), daemon=True).start()")
NODE(buffers, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 2048 * MB),
    const a = []; for (let i = 0; i < 40; i++) a.push(Buffer.alloc(100 << 20));)
NODE(heap, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 1500 * MB),
    const a = []; for (let i = 0; i < 4000; i++) a.push(new Array(100000).fill(i + 0.5));)
NODE(too_small_to_start, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 300 * MB),
    process.exit(0);)
JAVA(too_small_to_start, SBX_MEMORY_LIMIT, WITH("-Xmx64m", .address_space_bytes = 300 * MB),
    nap(1);)
JAVA(direct_buffers, SBX_MEMORY_LIMIT,
    WITH("-Xmx64m -XX:MaxDirectMemorySize=64g", .address_space_bytes = 4096 * MB),
    for (int i = 0; i < 50; i++) keep.add(java.nio.ByteBuffer.allocateDirect(200 << 20));)
JAVA(threads, SBX_MEMORY_LIMIT, WITH("-Xmx64m -Xss64m", .address_space_bytes = 4096 * MB),
    threads(100);)
GO(make_at_once, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 1500 * MB),
    x := make([]byte, 4 << 30); x[1] = 1;)
GO(make_growing, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 1500 * MB), use(2000);)
SH(variable, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 64 * MB),
    "x=aaaaaaaaaaaaaaaa; i=0; while [ $i -lt 24 ]; do x=$x$x; i=$((i + 1)); done")
SH(child_says_so, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    "\"$C\" malloc_perror; exit 7")
SH(child_segfaults_of_it, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    "\"$C\" malloc_unchecked; exit $?")
SH(child_says_so_on_stdout, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    "\"$C\" malloc_said_so 2>&1; exit $?")

/* ==== Text that lies ========================================================================== */

C(lie_exit_1, SBX_EXITED, NONE, fputs("out of memory\n", stderr); return 1;)
C(lie_crash, SBX_CRASHED, NONE, fputs("Cannot allocate memory\n", stderr); crash_null();)
C(lie_memory_limit, SBX_EXITED, LIMITS(.memory_bytes = 64 * MB),
    fputs("out of memory\n", stderr); return 1;)
C(lie_on_stdout, SBX_EXITED, LIMITS(.address_space_bytes = 512 * MB),
    puts("out of memory"); return 1;)
C(lie_exit_0, SBX_OK, LIMITS(.address_space_bytes = 512 * MB),
    fputs("out of memory\n", stderr); return 0;)
C(lie_address_space, SBX_EXITED, TRAP(.address_space_bytes = 512 * MB),
    fputs("test case 7 (out of memory): failed\n", stderr); return 1;)
C(memory_statistics, SBX_EXITED, LIMITS(.address_space_bytes = 512 * MB),
    fputs("memory: 12 of 64 MB in use\nno input\n", stderr); return 2;)
C(lie_then_sleep, SBX_TIMED_OUT, LIMITS(.timeout_ms = 400, .grace_ms = -1, .memory_bytes = 64 * MB),
    fputs("out of memory\n", stderr); nap(100000);)
C(lie_then_burn, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 300, .grace_ms = -1),
    fputs("out of memory\n", stderr); spin();)
C(lie_file, SBX_EXITED, NONE, fputs("write: File too large\n", stderr); return 1;)
CPP(lie_bad_alloc, SBX_CRASHED, LIMITS(.memory_bytes = 128 * MB), throw std::bad_alloc();)
CPP(absurd_size, SBX_CRASHED, LIMITS(.memory_bytes = 128 * MB), volatile size_t n = (size_t)1 << 60;
    char *p = new char[n]; p[1] = 1;)                            /* no machine has that much */
PYTHON(lie_text, SBX_EXITED, NONE, "import sys; sys.exit('MemoryError')")
PYTHON(lie_raise, SBX_EXITED, LIMITS(.memory_bytes = 256 * MB), "raise MemoryError")
PYTHON(lie_address_space, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    "import sys; sys.exit('usage: MemoryError is not a test name')")
PYTHON(lie_log, SBX_EXITED, LIMITS(.memory_bytes = 256 * MB),
    "import logging; logging.error('out of memory handler installed'); raise KeyError('x')")
NODE(lie_text, SBX_EXITED, LIMITS(.memory_bytes = 512 * MB),
    console.error("FATAL ERROR: JavaScript heap out of memory"); process.exit(1);)
NODE(own_heap_limit, SBX_CRASHED, WITH("--max-old-space-size=32", .memory_bytes = 1024 * MB),
    const a = []; for (let i = 0; i < 4000; i++) a.push(new Array(100000).fill(i + 0.5));)
JAVA(lie_text, SBX_EXITED, NONE, throw new OutOfMemoryError("said the program");)
JAVA(own_heap_limit, SBX_EXITED, WITH("-Xmx32m", .memory_bytes = 1024 * MB), use(200);)
JAVA(own_heap_limit_exit, SBX_EXITED,
    WITH("-Xmx32m -XX:+ExitOnOutOfMemoryError", .memory_bytes = 1024 * MB),
    use(200);)
JAVA(own_heap_limit_recovered, SBX_OK, WITH("-Xmx32m", .memory_bytes = 1024 * MB),
    try { use(200); } catch (OutOfMemoryError e) { keep.clear(); System.err.println(e); })
GO(lie_text, SBX_EXITED, LIMITS(.memory_bytes = 512 * MB), panic("runtime: out of memory");)
SH(lie_text, SBX_EXITED, LIMITS(.memory_bytes = 64 * MB),
    "echo 'Cannot allocate memory' >&2; exit 1")
SH(lie_segfault, SBX_EXITED, LIMITS(.memory_bytes = 64 * MB),
    "echo 'Segmentation fault' >&2; exit 139")

/* ==== Traps: loose limits, and words or reservations that have nothing to do with them ========== */

C(trap_seat, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    fputs("cannot allocate seat 12\n", stderr); return 1;)
C(trap_seats, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    fputs("booking: failed to allocate 3 seats for order 7\n", stderr); return 1;)
C(trap_nonblocking_read, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    int p[2]; char c; if (pipe(p) || fcntl(p[0], F_SETFL, O_NONBLOCK)) return 2;
    if (read(p[0], &c, 1) < 0) perror("read"); return 1;)
C(trap_early_log, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    fputs("cache: out of memory, using the disk\n", stderr);
    for (int i = 0; i < 20; i++) fprintf(stderr, "step %d done\n", i);
    fputs("error: no such user\n", stderr); return 1;)
C(trap_statistics, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    fputs("0 out of memory errors, 1 wrong answer\n", stderr); return 1;)
C(trap_quoted, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    fputs("parse error: unexpected token \"out of memory\" in line 3\n", stderr); return 1;)
C(trap_crash_after_words, SBX_CRASHED, TRAP(.address_space_bytes = 1024 * MB),
    fputs("running test_bad_alloc_is_caught\n", stderr); crash_null();)
C(trap_own_arena, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),  /* nobody can know */
    fputs("arena: out of memory\n", stderr); return 1;)
C(trap_reserved_exit_2, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    reserve_up_to(1000); nap(60); fputs("usage: x FILE\n", stderr); return 2;)
C(trap_upload, SBX_EXITED, TRAP(.file_bytes = 64 * MB),
    fputs("upload rejected: file too large (413)\n", stderr); return 1;)
C(trap_file_too_large_to_parse, SBX_EXITED, TRAP(.file_bytes = 64 * MB),
    fputs("settings.json: file too large to parse\n", stderr); return 1;)
C(trap_file_warning, SBX_EXITED, TRAP(.file_bytes = 64 * MB),
    fputs("skipped: a.iso: File too large\n", stderr);
    for (int i = 0; i < 20; i++) fprintf(stderr, "file %d done\n", i);
    fputs("2 of 22 files differ\n", stderr); return 1;)
CPP(trap_other_exception, SBX_CRASHED, TRAP(.address_space_bytes = 1024 * MB),
    throw std::runtime_error("the bad_alloc test was skipped");)
PYTHON(trap_test_name, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    "import unittest\n"
    "class T(unittest.TestCase):\n"
    "    def test_memoryerror(self): self.assertEqual(1, 2)\n"
    "unittest.main()")
PYTHON(trap_assertion, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    "assert False, 'expected MemoryError'")
PYTHON(trap_nonblocking_read, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    "import os; r, w = os.pipe(); os.set_blocking(r, False); os.read(r, 1)")
PYTHON(trap_raise, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),  /* nobody can know */
    "raise MemoryError")
PYTHON(trap_log, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    "import logging; logging.error('out of memory handler installed'); raise KeyError('x')")
NODE(trap_exit_1, SBX_EXITED, TRAP(.address_space_bytes = 1200 * MB), process.exit(1);)
NODE(trap_uncaught, SBX_EXITED, TRAP(.address_space_bytes = 1200 * MB), throw new Error("no");)
NODE(trap_own_heap_limit, SBX_CRASHED,
    TRAP_WITH("--max-old-space-size=32", .address_space_bytes = 4096 * MB),
    const a = []; for (let i = 0; i < 4000; i++) a.push(new Array(100000).fill(i + 0.5));)
JAVA(trap_exit_1, SBX_EXITED, TRAP_WITH("-Xmx64m", .address_space_bytes = 4096 * MB),
    System.exit(1);)
JAVA(trap_exit_1_full_heap, SBX_EXITED, TRAP(.address_space_bytes = 5120 * MB), System.exit(1);)
JAVA(trap_uncaught, SBX_EXITED, TRAP_WITH("-Xmx64m", .address_space_bytes = 4096 * MB),
    throw new IllegalStateException("no");)
JAVA(trap_own_heap_limit, SBX_EXITED, TRAP_WITH("-Xmx32m", .address_space_bytes = 5120 * MB),
    use(200);)
JAVA(trap_own_heap_limit_exit, SBX_EXITED,
    TRAP_WITH("-Xmx32m -XX:+ExitOnOutOfMemoryError", .address_space_bytes = 5120 * MB), use(200);)
GO(trap_panic, SBX_EXITED, TRAP(.address_space_bytes = 1500 * MB), panic("no memory of it");)
PERL(trap_die, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    "die 'the word memory exhausted its welcome'")
RUST(trap_panic, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    panic!("test memory_allocation_failed: no");)
C(trap_port, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    fputs("server: unable to allocate port 8080\n", stderr); return 1;)
C(trap_test_report, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    fputs("FAILED tests/test_oom.py::test_out_of_memory - AssertionError: 1 != 2\n", stderr);
    return 1;)
C(trap_mail, SBX_EXITED, TRAP(.file_bytes = 64 * MB),
    fputs("report.pdf: file too large for mail\n", stderr); return 1;)
C(trap_remote, SBX_EXITED, TRAP(.file_bytes = 64 * MB),
    fputs("remote: error: x.bin exceeds the file size limit of 100 MB\n", stderr); return 1;)
NODE(trap_table, SBX_EXITED, TRAP(.address_space_bytes = 2048 * MB),
    throw new Error("Cannot allocate table 4 for 6 guests");)
JAVA(trap_slot, SBX_EXITED, TRAP_WITH("-Xmx64m", .address_space_bytes = 5120 * MB),
    throw new RuntimeException("could not allocate slot 3: allocation failed");)
GO(trap_identifier, SBX_EXITED, TRAP(.address_space_bytes = 2048 * MB),
    fmt.Fprintln(os.Stderr, "cannot allocate id: table full"); os.Exit(1);)
PERL(trap_nonblocking_read, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    "use Fcntl; pipe R, W; fcntl R, F_SETFL, O_NONBLOCK; sysread R, $x, 1 or die \"read: $!\"")
RUST(trap_would_block, SBX_EXITED, TRAP(.address_space_bytes = 1024 * MB),
    std::io::Result::<()>::Err(std::io::Error::from_raw_os_error(11)).unwrap();)
SH(trap_compiler_name, SBX_EXITED, TRAP_TOOL("gcc", .address_space_bytes = 2048 * MB),
    "printf 'int f(void) { std::bad_alloc; }\\n' > trap_bad_alloc.c; gcc -c trap_bad_alloc.c")
SH(trap_gcc_error, SBX_EXITED, TRAP_TOOL("gcc", .address_space_bytes = 2048 * MB),
    "printf '#error \"out of memory\"\\n' | gcc -x c - -c -o trap_gcc.o")
SH(trap_gcc_name, SBX_EXITED, TRAP_TOOL("gcc", .address_space_bytes = 2048 * MB),
    "printf 'int f(void) { return cannot_allocate_memory; }\\n' | gcc -x c - -c -o trap_gcc_name.o")
SH(trap_grep, SBX_EXITED, TRAP_TOOL("grep", .address_space_bytes = 1024 * MB),
    "grep 'Cannot allocate memory' /no/such/file")
SH(trap_file_name, SBX_EXITED, TRAP(.file_bytes = 64 * MB), "cat 'file too large'")

/* ==== timeout_ms ============================================================================== */

C(sleep, SBX_TIMED_OUT, LIMITS(.timeout_ms = 300, .grace_ms = -1), nap(100000);)
C(over_before_it_starts, SBX_TIMED_OUT, LIMITS(.timeout_ms = 1, .grace_ms = -1), nap(100000);)
C(over_before_it_starts_group, SBX_TIMED_OUT,
    LIMITS(.timeout_ms = 1, .grace_ms = -1, .contain = SBX_CONTAIN_GROUP), nap(100000);)
PYTHON(over_before_it_starts, SBX_TIMED_OUT, LIMITS(.timeout_ms = 1, .grace_ms = -1),
    "import time; time.sleep(100)")
SH(over_before_it_starts, SBX_TIMED_OUT, LIMITS(.timeout_ms = 1, .grace_ms = -1), "sleep 100")
C(spin, SBX_TIMED_OUT, LIMITS(.timeout_ms = 300, .grace_ms = -1), spin();)
C(spin_with_cpu_limit, SBX_TIMED_OUT, LIMITS(.timeout_ms = 300, .grace_ms = -1, .cpu_ms = 20000),
    spin();)
C(sleep_with_cpu_limit, SBX_TIMED_OUT, LIMITS(.timeout_ms = 1500, .grace_ms = -1, .cpu_ms = 700),
    nap(100000);)
C(ignore_term, SBX_TIMED_OUT, LIMITS(.timeout_ms = 300, .grace_ms = 200),
    signal(SIGTERM, SIG_IGN); nap(100000);)
C(on_term_exit_0, SBX_TIMED_OUT, LIMITS(.timeout_ms = 500), signal(SIGTERM, exit_0); nap(100000);)
C(on_term_exit_3, SBX_TIMED_OUT, LIMITS(.timeout_ms = 500), signal(SIGTERM, exit_3); nap(100000);)
C(on_term_crash, SBX_TIMED_OUT, LIMITS(.timeout_ms = 500), signal(SIGTERM, crash_on); nap(100000);)
C(on_term_flood, SBX_TIMED_OUT, LIMITS(.timeout_ms = 500, .grace_ms = 300, .output_bytes = 4 * KB),
    signal(SIGTERM, flood_on); nap(100000);)
C(hang_at_exit, SBX_TIMED_OUT, LIMITS(.timeout_ms = 500, .grace_ms = -1),
    atexit(sleep_on); exit(0);)
C(hang_after_crash, SBX_TIMED_OUT, LIMITS(.timeout_ms = 500, .grace_ms = -1),
    signal(SIGSEGV, nap_on); crash_null();)
C(stop_itself, SBX_TIMED_OUT, LIMITS(.timeout_ms = 500, .grace_ms = 100),
    raise(SIGSTOP); nap(100000);)
C(close_streams, SBX_TIMED_OUT, LIMITS(.timeout_ms = 500, .grace_ms = -1),
    close(1); close(2); nap(100000);)
C(wait_for_grandchild, SBX_TIMED_OUT, LIMITS(.timeout_ms = 500, .grace_ms = -1),
    if (forked() == 0) nap(100000); wait(NULL);)
C(deadlock, SBX_TIMED_OUT, LIMITS(.timeout_ms = 500, .grace_ms = -1), int p[2]; char c;
    if (pipe(p) == 0 && read(p[0], &c, 1) == 0) return 1;)
C(memory_near_then_sleep, SBX_TIMED_OUT,
    LIMITS(.timeout_ms = 2000, .grace_ms = -1, .memory_bytes = 128 * MB),
    use(90); nap(100000);)
C(ended_before_host_looked, SBX_OK, BY(SLOW_READER, .timeout_ms = 3000), puts("done"); return 0;)
C(crashed_before_host_looked, SBX_CRASHED, BY(SLOW_READER, .timeout_ms = 3000),
    puts("done"); fflush(stdout); crash_null();)
C(slow_but_in_time, SBX_OK, LIMITS(.timeout_ms = 60000), nap(400);)
CPP(hang_in_destructor, SBX_TIMED_OUT, LIMITS(.timeout_ms = 500, .grace_ms = -1),
    static hanging h; exit(0);)
PYTHON(sleep, SBX_TIMED_OUT, LIMITS(.timeout_ms = 500, .grace_ms = -1),
    "import time; time.sleep(100)")
PYTHON(on_term_exit_0, SBX_TIMED_OUT, LIMITS(.timeout_ms = 700),
    "import signal, sys, time\n"
    "signal.signal(signal.SIGTERM, lambda *a: sys.exit(0)); time.sleep(100)")
PYTHON(hang_at_exit, SBX_TIMED_OUT, LIMITS(.timeout_ms = 700, .grace_ms = -1),
    "import atexit, time; atexit.register(time.sleep, 100)")
NODE(idle, SBX_TIMED_OUT, LIMITS(.timeout_ms = 700, .grace_ms = -1), setInterval(() => {}, 1000);)
NODE(on_term_exit_0, SBX_TIMED_OUT, LIMITS(.timeout_ms = 700),
    process.on("SIGTERM", () => process.exit(0)); setInterval(() => {}, 1000);)
JAVA(sleep, SBX_TIMED_OUT, LIMITS(.timeout_ms = 1500), nap(100000);)   /* exits 143 on SIGTERM */
JAVA(hang_in_hook, SBX_TIMED_OUT, LIMITS(.timeout_ms = 1500, .grace_ms = -1),
    Runtime.getRuntime().addShutdownHook(new Thread(() -> nap(100000))); System.exit(0);)
GO(sleep, SBX_TIMED_OUT, LIMITS(.timeout_ms = 500), nap(100000);)
GO(deadlock, SBX_EXITED, NONE, c := make(chan int); c <- 1;)          /* Go notices: exit 2 */
SH(sleep, SBX_TIMED_OUT, LIMITS(.timeout_ms = 300, .grace_ms = -1), "sleep 100")
SH(loop, SBX_TIMED_OUT, LIMITS(.timeout_ms = 300, .grace_ms = -1),
    "i=0; while [ $i -lt 99999999 ]; do i=$((i+1)); done")
SH(on_term_exit_0, SBX_TIMED_OUT, LIMITS(.timeout_ms = 500),
    "trap 'exit 0' TERM; sleep 100; sleep 100")
SH(background_exit_0, SBX_OK, LIMITS(.timeout_ms = 60000), "sleep 100 & exit 0")
SH(background_exit_3, SBX_EXITED, LIMITS(.timeout_ms = 60000), "sleep 100 & exit 3")
SH(background_crash, SBX_CRASHED, LIMITS(.timeout_ms = 60000), "sleep 100 & kill -SEGV $$")
SH(background_output, SBX_OK, LIMITS(.timeout_ms = 60000), "(sleep 100; echo late) & echo done")
C(background_grandchild, SBX_OK, LIMITS(.timeout_ms = 60000),
    if (forked() == 0) { setsid(); if (forked() == 0) nap(100000); _exit(0); }
    wait(NULL); return 0;)

/* ==== cpu_ms: whole tree ====================================================================== */

C(cpu_over, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 400, .grace_ms = -1), spin();)
C(cpu_over_seconds, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 1500, .grace_ms = -1), spin();)
C(cpu_over_in_kernel, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 400, .grace_ms = -1), spin_in_kernel();)
C(cpu_over_ignoring_xcpu, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 400, .grace_ms = 200),
    signal(SIGXCPU, SIG_IGN); signal(SIGTERM, SIG_IGN); spin();)
C(cpu_over_on_term_exit_0, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 400), signal(SIGTERM, exit_0); spin();)
C(cpu_four_processes, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 800, .grace_ms = -1),
    for (int i = 0; i < 4; i++) if (forked() == 0) spin(); nap(100000);)
C(cpu_in_orphan, SBX_CPU_LIMIT, NEEDS(TREE, .cpu_ms = 500, .grace_ms = -1),
    if (forked() == 0) { setsid(); if (forked() == 0) spin(); _exit(0); } wait(NULL); nap(100000);)
C(cpu_in_short_lived, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 600, .grace_ms = -1),
    for (int i = 0; i < 100; i++) { if (forked() == 0) { burn(100); _exit(0); } wait(NULL); })
C(cpu_in_threads, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 600, .grace_ms = -1), in_thread(spin_on);)
C(cpu_auto_reaped, SBX_CPU_LIMIT, NEEDS(PERF, .cpu_ms = 1000, .grace_ms = -1),
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 300; i++) { if (forked() == 0) { burn(10); _exit(0); } wait(NULL); })
C(cpu_auto_reaped_tiny, SBX_CPU_LIMIT, NEEDS(PERF, .cpu_ms = 1000, .grace_ms = -1),
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 3000; i++) { if (forked() == 0) { burn(1); _exit(0); } wait(NULL); })
C(cpu_auto_reaped_then_exit_0, SBX_CPU_LIMIT, NEEDS(PERF, .cpu_ms = 300, .grace_ms = -1),
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 40; i++) { if (forked() == 0) { burn(10); _exit(0); } wait(NULL); } return 0;)
C(cpu_auto_reaped_under, SBX_OK, LIMITS(.cpu_ms = 20000), signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 100; i++) { if (forked() == 0) { burn(10); _exit(0); } wait(NULL); })
C(cpu_short_orphans, SBX_CPU_LIMIT, NEEDS(TREE, .cpu_ms = 1000, .grace_ms = -1),
    for (int i = 0; i < 200; i++) orphan(12 + i % 9);)
C(cpu_short_orphans_then_exit_0, SBX_CPU_LIMIT, NEEDS(TREE, .cpu_ms = 300, .grace_ms = -1),
    for (int i = 0; i < 30; i++) orphan(12 + i % 9); return 0;)
C(cpu_short_orphans_under, SBX_OK, LIMITS(.cpu_ms = 20000),
    for (int i = 0; i < 40; i++) orphan(12 + i % 9);)
C(cpu_orphans_in_sessions, SBX_CPU_LIMIT, NEEDS(TREE, .cpu_ms = 1000, .grace_ms = -1),
    setsid(); for (int i = 0; i < 200; i++) orphan(15);)
CALL(cpu_auto_reaped, SBX_CPU_LIMIT, NEEDS(PERF, .cpu_ms = 500, .grace_ms = -1),
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 200; i++) { if (forked() == 0) { burn(10); _exit(0); } wait(NULL); } return 0;)
C(cpu_under, SBX_OK, LIMITS(.cpu_ms = 5000), burn(300);)
C(cpu_under_four_processes, SBX_OK, LIMITS(.cpu_ms = 10000),
    for (int i = 0; i < 4; i++) if (forked() == 0) { burn(150); _exit(0); }
    while (wait(NULL) > 0) {})
C(cpu_under_exit_4, SBX_EXITED, LIMITS(.cpu_ms = 2000), burn(500); return 4;)
C(cpu_under_many_children, SBX_OK, LIMITS(.cpu_ms = 5000),
    for (int i = 0; i < 20; i++) { if (forked() == 0) { burn(50); _exit(0); } wait(NULL); })
C(cpu_nested_counted_once, SBX_OK, LIMITS(.cpu_ms = 2500),
    if (forked() == 0) {
        if (forked() == 0) { burn(300); _exit(0); }
        wait(NULL); burn(300); _exit(0);
    }
    wait(NULL); burn(300);)
C(cpu_nearly_spent_exit_9, SBX_EXITED, LIMITS(.cpu_ms = 1000), burn(800); return 9;)
C(cpu_nearly_spent_crash, SBX_CRASHED, LIMITS(.cpu_ms = 1000), burn(800); crash_null();)
CPP(cpu_over, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 500, .grace_ms = -1),
    std::thread t(spin); spin(); t.join();)
PYTHON(cpu_over, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 500, .grace_ms = -1),
    "for i in range(10 ** 10): pass")
PYTHON(cpu_under, SBX_OK, LIMITS(.cpu_ms = 10000), "for i in range(10 ** 6): pass")
NODE(cpu_over, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 800, .grace_ms = -1),
    const t = Date.now(); while (Date.now() < t + 100000);)
NODE(cpu_under, SBX_OK, LIMITS(.cpu_ms = 20000), for (let i = 0; i < 1e7; i++);)
JAVA(cpu_over, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 2000, .grace_ms = -1), spin();)
JAVA(cpu_under, SBX_OK, LIMITS(.cpu_ms = 20000), nap(1);)
GO(cpu_over, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 600, .grace_ms = -1), go spin(); spin();)
SH(cpu_over, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 400, .grace_ms = -1),
    "i=0; while [ $i -lt 99999999 ]; do i=$((i+1)); done")
SH(cpu_over_in_child, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 400), "\"$C\" spin; exit 0")

/* ==== output_bytes: both streams together ===================================================== */

C(output_at_cap, SBX_OK, LIMITS(.output_bytes = 10000), out(1, 10000);)
C(output_under_cap, SBX_OK, LIMITS(.output_bytes = 10000), out(1, 9999);)
C(output_over_by_one, SBX_OUTPUT_LIMIT, LIMITS(.output_bytes = 10000), out(1, 10001);)
C(errors_at_cap, SBX_OK, LIMITS(.output_bytes = 10000), out(2, 10000);)
C(errors_over_by_one, SBX_OUTPUT_LIMIT, LIMITS(.output_bytes = 10000), out(2, 10001);)
C(both_at_cap, SBX_OK, LIMITS(.output_bytes = 10000), out(1, 6000); out(2, 4000);)
C(both_over_by_one, SBX_OUTPUT_LIMIT, LIMITS(.output_bytes = 10000), out(1, 6000); out(2, 4001);)
C(default_cap_reached, SBX_OK, NONE, out(1, 1 << 20);)
C(default_cap_crossed, SBX_OUTPUT_LIMIT, NONE, out(1, (1 << 20) + 1);)
C(at_cap_then_crash, SBX_CRASHED, LIMITS(.output_bytes = 10000),
    out(1, 5000); out(2, 5000); crash_null();)
C(at_cap_then_exit_3, SBX_EXITED, LIMITS(.output_bytes = 10000), out(1, 10000); return 3;)
C(over_cap_then_crash, SBX_OUTPUT_LIMIT, LIMITS(.output_bytes = 10000), out(1, 10001); abort();)
C(over_cap_then_exit_3, SBX_OUTPUT_LIMIT, LIMITS(.output_bytes = 10000), out(1, 20000); _exit(3);)
C(over_cap_on_term_exit_0, SBX_OUTPUT_LIMIT, LIMITS(.output_bytes = 10000),
    signal(SIGTERM, exit_0); out(1, 10001); nap(100000);)
C(flood, SBX_OUTPUT_LIMIT, LIMITS(.output_bytes = 100000),
    signal(SIGPIPE, SIG_IGN); for (;;) out(1, 4096);)
C(flood_in_grandchild, SBX_OUTPUT_LIMIT, LIMITS(.output_bytes = 100000, .grace_ms = -1),
    if (forked() == 0) for (;;) out(2, 4096); nap(100000);)
C(flood_truncated, SBX_OK, LIMITS(.output_bytes = 10000, .truncate_output = 1), out(1, 500000);)
C(flood_truncated_exit_3, SBX_EXITED, LIMITS(.output_bytes = 10000, .truncate_output = 1),
    out(2, 500000); return 3;)
C(flood_truncated_timeout, SBX_TIMED_OUT,
    LIMITS(.output_bytes = 10000, .truncate_output = 1, .timeout_ms = 500,
    .grace_ms = -1), for (;;) out(1, 4096);)
C(flood_discarded, SBX_OK, LIMITS(.output_bytes = 10000, .out = SBX_DISCARD), out(1, 5000000);)
C(merged_at_cap, SBX_OK, LIMITS(.output_bytes = 10000, .err = SBX_MERGE),
    out(1, 5000); out(2, 5000);)
C(merged_over_by_one, SBX_OUTPUT_LIMIT, LIMITS(.output_bytes = 10000, .err = SBX_MERGE),
    out(1, 5000); out(2, 5001);)
CPP(flood, SBX_OUTPUT_LIMIT, LIMITS(.output_bytes = 50000),
    for (int i = 0; i < 10000000; i++) std::cout << i << '\n';)
PYTHON(flood, SBX_OUTPUT_LIMIT, LIMITS(.output_bytes = 50000), "while True: print('out of memory')")
PYTHON(at_cap, SBX_OK, LIMITS(.output_bytes = 50000), "print('x' * 49999)")
NODE(flood, SBX_OUTPUT_LIMIT, LIMITS(.output_bytes = 50000),
    for (let i = 0; i < 1e7; i++) console.log(i);)
JAVA(flood, SBX_OUTPUT_LIMIT, LIMITS(.output_bytes = 50000),
    for (int i = 0; i < 100000000; i++) System.out.println(i);)
GO(flood, SBX_OUTPUT_LIMIT, LIMITS(.output_bytes = 50000),
    for i := 0; i < 100000000; i++ { fmt.Println(i); };)
SH(flood, SBX_OUTPUT_LIMIT, LIMITS(.output_bytes = 50000), "yes")
SH(flood_pipe, SBX_OK, LIMITS(.output_bytes = 50000), "yes | head -n 100")

/* ==== file_bytes ============================================================================== */

C(file_over, SBX_FILE_LIMIT, LIMITS(.file_bytes = 64 * KB), fill("file_over", 128 * KB);)
C(file_over_ignored_perror, SBX_FILE_LIMIT, LIMITS(.file_bytes = 64 * KB),
    signal(SIGXFSZ, SIG_IGN);
    if (fill("file_over_ignored", 128 * KB)) { perror("write"); return 1; })
C(file_over_ignored_quiet, SBX_FILE_LIMIT, TRAP(.file_bytes = 64 * KB),
    signal(SIGXFSZ, SIG_IGN); if (fill("file_over_quiet", 128 * KB)) return 1;)
C(file_over_ignored_exit_0, SBX_OK, LIMITS(.file_bytes = 64 * KB),
    signal(SIGXFSZ, SIG_IGN); fill("file_over_exit_0", 128 * KB); return 0;)
C(file_over_by_truncate, SBX_FILE_LIMIT, LIMITS(.file_bytes = 64 * KB),
    int f = open("file_over_truncate", O_CREAT | O_RDWR, 0600); if (ftruncate(f, 1 * MB)) return 1;)
C(file_at_limit, SBX_OK, LIMITS(.file_bytes = 64 * KB), fill("file_at_limit", 64 * KB);)
C(file_at_limit_exit_3, SBX_EXITED, LIMITS(.file_bytes = 64 * KB),
    fill("file_at_limit_exit", 64 * KB); return 3;)
C(file_limit_pipe_is_no_file, SBX_OK, LIMITS(.file_bytes = 64 * KB), out(1, 500 * KB);)
C(file_over_with_address_space, SBX_FILE_LIMIT,
    LIMITS(.file_bytes = 64 * KB, .address_space_bytes = 256 * MB),
    fill("file_over_space", 128 * KB);)
CPP(file_over, SBX_FILE_LIMIT, LIMITS(.file_bytes = 64 * KB),
    std::ofstream f("file_over_cpp");
    for (int i = 0; i < 99999; i++) f << "xxxxxxxx"; f.close(); exit(f ? 0 : 1);)
PYTHON(file_over, SBX_FILE_LIMIT, LIMITS(.file_bytes = 64 * KB),
    "f = open('file_over_py', 'wb'); f.write(b'x' * 200000); f.close()")
PYTHON(file_under, SBX_OK, LIMITS(.file_bytes = 1 * MB),
    "f = open('file_under_py', 'wb'); f.write(b'x' * 200000); f.close()")
NODE(file_over, SBX_FILE_LIMIT, LIMITS(.file_bytes = 64 * KB),
    require("fs").writeFileSync("file_over_node", "x".repeat(200000));)
JAVA(file_over, SBX_FILE_LIMIT, LIMITS(.file_bytes = 64 * KB),
    java.nio.file.Files.write(java.nio.file.Paths.get("file_over_java"), new byte[200000]);)
GO(file_over, SBX_FILE_LIMIT, LIMITS(.file_bytes = 64 * KB),
    e := os.WriteFile("file_over_go", make([]byte, 200000), 0600); if e != nil { panic(e); };)
SH(file_over, SBX_FILE_LIMIT, LIMITS(.file_bytes = 64 * KB),
    "head -c 200000 /dev/zero > file_over_sh; exit $?")
SH(file_over_builtin, SBX_FILE_LIMIT, LIMITS(.file_bytes = 4 * KB),
    "i=0; while [ $i -lt 9999 ]; do echo xxxxxxxx; i=$((i + 1)); done > file_over_echo")
SH(file_over_in_child, SBX_FILE_LIMIT, LIMITS(.file_bytes = 64 * KB), "\"$C\" file_over; exit 5")

/* ==== Limits without a verdict of their own: the program's own end counts ===================== */

C(open_files, SBX_EXITED, LIMITS(.open_files = 16),
    if (open_many(100) < 100) { perror("open"); return 1; })
C(open_files_unchecked, SBX_CRASHED, LIMITS(.open_files = 16),
    for (int i = 0; i < 100; i++) fgetc(fopen("/dev/null", "r"));)
C(open_files_enough, SBX_OK, LIMITS(.open_files = 64), return open_many(20) < 20;)
C(open_files_with_memory_limit, SBX_EXITED,
    LIMITS(.open_files = 16, .address_space_bytes = 512 * MB),
    if (open_many(100) < 100) { perror("open"); return 1; })
PYTHON(open_files, SBX_EXITED, LIMITS(.open_files = 32),
    "x = [open('/dev/null') for i in range(100)]")
NODE(open_files, SBX_EXITED, LIMITS(.open_files = 64),
    for (let i = 0; i < 100; i++) require("fs").openSync("/dev/null");)
JAVA(open_files, SBX_EXITED, LIMITS(.open_files = 64),
    for (int i = 0; i < 100; i++) keep.add(new java.io.FileInputStream("/dev/null"));)
GO(open_files, SBX_EXITED, LIMITS(.open_files = 32), openMany();)
SH(open_files, SBX_EXITED, LIMITS(.open_files = 4),
    "exec 3</dev/null; exec 4</dev/null; exec 5</dev/null; exit 0")
C(processes, SBX_EXITED, NEEDS(USER, .processes = 8),
    for (int i = 0; i < 30; i++) if (forked() == 0) nap(100000); return 0;)
C(processes_enough, SBX_OK, NEEDS(USER, .processes = 16),
    for (int i = 0; i < 4; i++) if (forked() == 0) _exit(0); while (wait(NULL) > 0) {})
C(threads_limited, SBX_EXITED, NEEDS(USER, .processes = 8, .address_space_bytes = 2048 * MB),
    int e = many_threads(30);
    if (e) { fprintf(stderr, "pthread_create: %s\n", strerror(e)); return 1; })
PYTHON(processes, SBX_EXITED, NEEDS(USER, .processes = 8, .memory_bytes = 512 * MB),
    "import os, time\n"
    "for i in range(30):\n"
    "    if os.fork() == 0: time.sleep(100); os._exit(0)")
JAVA(processes, SBX_EXITED, NEEDS(USER, .processes = 32, .memory_bytes = 512 * MB), threads(100);)
SH(processes, SBX_EXITED, NEEDS(USER, .processes = 4),
    "for i in 1 2 3 4 5 6 7 8 9; do sleep 100 & done; exit 0")

/* ==== Perl, Rust, Java and Go under limits that they can live with ============================ */

PERL(fine, SBX_OK, LIMITS(.memory_bytes = 64 * MB, .address_space_bytes = 512 * MB), "print 1")
PERL(exit_3, SBX_EXITED, LIMITS(.address_space_bytes = 512 * MB), "exit 3")
PERL(die, SBX_EXITED, LIMITS(.memory_bytes = 64 * MB), "die 'no'")
PERL(kill_itself, SBX_CRASHED, LIMITS(.memory_bytes = 64 * MB), "kill 9, $$; sleep 100")
PERL(memory_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB),
    "push @a, 'x' x 1000000 for 1 .. 300; sleep 100")
PERL(memory_under, SBX_OK, LIMITS(.memory_bytes = 128 * MB), "push @a, 'x' x 1000000 for 1 .. 50")
PERL(no_memory, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    "push @a, 'x' x 1000000 for 1 .. 900")
PERL(no_memory_at_once, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    "$n = 1 << 30; $x = 'a' x $n; print length $x")
PERL(cpu_over, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 400, .grace_ms = -1), "1 while 1")
PERL(file_over, SBX_FILE_LIMIT, LIMITS(.file_bytes = 64 * KB),
    "open F, '>', 'file_over_pl'; print F 'x' x 200000 or die \"$!\"; close F or die \"$!\"")
PERL(file_over_told, SBX_FILE_LIMIT, LIMITS(.file_bytes = 64 * KB),
    "$SIG{XFSZ} = 'IGNORE'; open F, '>', 'file_over_pl2'; print F 'x' x 200000 or die \"$!\"")
PERL(fork_and_wait, SBX_OK, LIMITS(.memory_bytes = 64 * MB, .cpu_ms = 20000),
    "for (1 .. 5) { if (!fork) { exit 0 } } 1 while wait > 0")
RUST(fine, SBX_OK, LIMITS(.memory_bytes = 64 * MB, .address_space_bytes = 512 * MB), nap(1);)
RUST(exit_3, SBX_EXITED, LIMITS(.address_space_bytes = 512 * MB), std::process::exit(3);)
RUST(panic, SBX_EXITED, LIMITS(.memory_bytes = 64 * MB), panic!("no");)
RUST(out_of_bounds, SBX_EXITED, LIMITS(.address_space_bytes = 512 * MB),
    let v: Vec<i32> = Vec::new(); println!("{}", v[std::env::args().count()]);)
RUST(abort, SBX_CRASHED, LIMITS(.memory_bytes = 64 * MB), std::process::abort();)
RUST(memory_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB), hold(300); nap(100000);)
RUST(memory_under, SBX_OK, LIMITS(.memory_bytes = 128 * MB), hold(60);)
RUST(no_memory, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB), hold(900);)
RUST(no_threads, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 128 * MB), threads(200);)
RUST(cpu_over, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 400, .grace_ms = -1), spin();)
RUST(sleep, SBX_TIMED_OUT, LIMITS(.timeout_ms = 400, .grace_ms = -1), nap(100000);)
RUST(file_over, SBX_FILE_LIMIT, LIMITS(.file_bytes = 64 * KB),
    std::fs::write("file_over_rs", vec![1u8; 200000]).unwrap();)
JAVA(fine_in_space, SBX_OK, WITH("-Xmx64m", .address_space_bytes = 5120 * MB), use(10);)
JAVA(fine_in_memory, SBX_OK, WITH("-Xmx64m", .memory_bytes = 512 * MB), use(10);)
JAVA(exit_3_in_memory, SBX_EXITED, WITH("-Xmx64m", .memory_bytes = 512 * MB), System.exit(3);)
GO(fine_in_space, SBX_OK, LIMITS(.address_space_bytes = 1500 * MB), use(10);)
GO(exit_3_in_space, SBX_EXITED, LIMITS(.address_space_bytes = 1500 * MB), os.Exit(3);)
GO(nil_in_space, SBX_EXITED, LIMITS(.address_space_bytes = 1500 * MB), var p *int; *p = 1;)
NODE(fine_in_space, SBX_OK, LIMITS(.address_space_bytes = 2048 * MB), Buffer.alloc(10 << 20, 1);)
NODE(image_over_space, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 50 * MB), process.exit(0);)

/* ==== Tools that everybody has ================================================================ */

SH(gcc_fine, SBX_OK, TOOL("gcc", .address_space_bytes = 2048 * MB, .file_bytes = 16 * MB),
    "echo 'int main(void) { return 0; }' | gcc -x c - -o gcc_fine && ./gcc_fine")
SH(gcc_error, SBX_EXITED, TOOL("gcc", .address_space_bytes = 2048 * MB, .file_bytes = 16 * MB),
    "echo 'int main(void) { return x; }' | gcc -x c - -o gcc_error")
SH(gcc_no_memory, SBX_MEMORY_LIMIT, TOOL("gcc", .address_space_bytes = 64 * MB),
    "(echo 'int a[] = {'; seq -s, 1 400000; echo '};') | gcc -x c - -c -o gcc_big.o; exit $?")
SH(gcc_memory_over, SBX_MEMORY_LIMIT, TOOL("gcc", .memory_bytes = 32 * MB),
    "(echo 'int a[] = {'; seq -s, 1 400000; echo '};') | gcc -x c - -c -o gcc_over.o; exit $?")
SH(gcc_file_over, SBX_FILE_LIMIT, TOOL("gcc", .file_bytes = 64 * KB),
    "(echo 'int a[] = {'; seq -s, 1 40000; echo '};') | gcc -x c - -c -o gcc_file.o; exit $?")
SH(tar_fine, SBX_OK, TOOL("tar", .memory_bytes = 64 * MB, .file_bytes = 64 * MB),
    "tar cf tar_fine.tar ccases corpus && tar tf tar_fine.tar")
SH(tar_missing, SBX_EXITED, TOOL("tar", .address_space_bytes = 512 * MB, .file_bytes = 16 * MB),
    "tar cf tar_missing.tar no-such-file")
SH(tar_file_over, SBX_FILE_LIMIT, TOOL("tar", .file_bytes = 16 * KB),
    "tar cf tar_over.tar ccases corpus; exit $?")
SH(tar_file_over_ignored, SBX_FILE_LIMIT, TOOL("tar", .file_bytes = 20 * KB),
    "trap '' XFSZ; tar cf tar_over2.tar ccases corpus; exit $?")
SH(tar_file_over_partly, SBX_FILE_LIMIT, TRAP_TOOL("tar", .file_bytes = 16 * KB),
    "trap '' XFSZ; tar cf tar_over3.tar ccases corpus; exit $?")  /* "wrote only 6144 of 10240" */
SH(git_fine, SBX_OK, TOOL("git", .memory_bytes = 128 * MB, .address_space_bytes = 2048 * MB),
    "git init -q git_fine && cd git_fine && echo x > x && git add x && git -c user.name=x "
    "-c user.email=x commit -q -m x && git log")
SH(git_no_repository, SBX_EXITED, TOOL("git", .address_space_bytes = 512 * MB), "git -C / log")
SH(git_file_over, SBX_FILE_LIMIT, TOOL("git", .file_bytes = 16 * KB),
    "git init -q git_over; head -c 300000 /dev/urandom | git -C git_over hash-object -w --stdin; "
    "exit $?")
SH(sort_fine, SBX_OK, TOOL("sort", .memory_bytes = 128 * MB, .cpu_ms = 20000),
    "seq 1 100000 | sort -n | tail -n 1")
SH(sort_no_file, SBX_EXITED, TOOL("sort", .address_space_bytes = 512 * MB), "sort no-such-file")
SH(sort_no_memory, SBX_MEMORY_LIMIT, TOOL("sort", .address_space_bytes = 20 * MB),
    "seq 1 3000000 > sort_in; sort -S 500M sort_in > sort_none; exit $?")
SH(sort_memory_over, SBX_MEMORY_LIMIT, TOOL("sort", .memory_bytes = 32 * MB),
    "seq 1 3000000 | sort -S 500M -o sort_over; exit $?")
SH(sort_file_over, SBX_FILE_LIMIT, TOOL("sort", .file_bytes = 64 * KB),
    "seq 1 100000 | sort -o sort_file; exit $?")
SH(ruby_no_memory, SBX_MEMORY_LIMIT, TOOL("ruby", .address_space_bytes = 256 * MB),
    "ruby -e 'x = []; loop { x << \"a\" * 1000000 }'; exit $?")
SH(ruby_file_over, SBX_FILE_LIMIT, TOOL("ruby", .file_bytes = 64 * KB),
    "ruby -e 'trap(\"XFSZ\", \"IGNORE\"); File.write(\"file_over_rb\", \"x\" * 200000)'; exit $?")
SH(ruby_memory_over, SBX_MEMORY_LIMIT, TOOL("ruby", .memory_bytes = 64 * MB),
    "ruby -e 'x = []; 300.times { x << \"a\" * 1000000 }; sleep 100'")
SH(ruby_raise, SBX_EXITED, TRAP_TOOL("ruby", .address_space_bytes = 1024 * MB),
    "ruby -e 'raise \"MemoryError in test 5\"'; exit $?")
SH(lua_no_memory, SBX_MEMORY_LIMIT, TOOL("lua5.4", .address_space_bytes = 64 * MB),
    "lua5.4 -e 'string.rep(\"x\", 1 << 30)'; exit $?")
SH(lua_error, SBX_EXITED, TRAP_TOOL("lua5.4", .address_space_bytes = 512 * MB),
    "lua5.4 -e 'error(\"not enough memory cards\")'; exit $?")
SH(bash_no_memory, SBX_MEMORY_LIMIT, TOOL("bash", .address_space_bytes = 64 * MB),
    "bash -c 'x=aaaaaaaa; while :; do x=$x$x; done'; exit $?")
SH(cp_file_over, SBX_FILE_LIMIT, TOOL("cp", .file_bytes = 4 * KB),
    "trap '' XFSZ; cp ccases cp_over; exit $?")
SH(xz_no_memory, SBX_MEMORY_LIMIT, TOOL("xz", .address_space_bytes = 64 * MB),
    "seq 1 1000 | xz -9 > xz_none; exit $?")
SH(dd_file_over, SBX_FILE_LIMIT, TOOL("dd", .file_bytes = 64 * KB),
    "dd if=/dev/zero of=dd_over bs=1k count=200; exit $?")
SH(find_grep_pipeline, SBX_OK, TOOL("find", .memory_bytes = 64 * MB, .cpu_ms = 20000),
    "find . -type f | grep -c cases")
SH(grep_nothing, SBX_EXITED, TOOL("grep", .address_space_bytes = 512 * MB),
    "grep no-such-word /dev/null")
SH(awk_error, SBX_EXITED, TOOL("awk", .address_space_bytes = 512 * MB), "awk 'BEGIN { exit 3 }'")

/* ==== Never started, and cancelled ============================================================ */

EXEC(missing, SBX_NOT_STARTED, NONE, "no-such-program-here")
EXEC(directory, SBX_NOT_STARTED, NONE, "/")
EXEC(not_executable, SBX_NOT_STARTED, NONE, "./not_executable")
EXEC(no_interpreter, SBX_NOT_STARTED, NONE, "./no_interpreter")
EXEC(no_format, SBX_NOT_STARTED, NONE, "./no_format")
EXEC(no_directory, SBX_NOT_STARTED, LIMITS(.cwd = "no-such-directory"), "true")
EXEC(bad_limit, SBX_NOT_STARTED, LIMITS(.timeout_ms = -5), "true")
C(cancelled_by_callback, SBX_CANCELLED, BY(CALLBACK_SAYS_NO, .grace_ms = -1),
    puts("x"); fflush(stdout); nap(100000);)
C(cancelled_on_term_exit_0, SBX_CANCELLED, BY(CALLBACK_SAYS_NO, .timeout_ms = 60000),
    signal(SIGTERM, exit_0); puts("x"); fflush(stdout); nap(100000);)
C(cancelled, SBX_CANCELLED, BY(CANCEL, .grace_ms = -1), nap(100000);)
C(cancelled_after_exit, SBX_EXITED, BY(CANCEL_AFTER_END, .grace_ms = -1), return 6;)
C(cancelled_after_crash, SBX_CRASHED, BY(CANCEL_AFTER_END, .grace_ms = -1), crash_null();)

/* ==== Policy ================================================================================== */

C(denied, SBX_DENIED, NEEDS(POLICY, .policy = &deadly), return socket(AF_INET, SOCK_STREAM, 0) < 0;)
C(denied_on_term_exit_0, SBX_DENIED, NEEDS(POLICY, .policy = &deadly),
    signal(SIGTERM, exit_0); return socket(AF_INET, SOCK_STREAM, 0) < 0;)
C(denied_in_grandchild, SBX_DENIED, NEEDS(POLICY, .policy = &deadly),
    if (forked() == 0) { socket(AF_INET, SOCK_STREAM, 0); nap(100000); } nap(100000);)
C(denied_politely, SBX_EXITED, NEEDS(POLICY, .policy = &polite),
    if (socket(AF_INET, SOCK_STREAM, 0) < 0) { perror("socket"); return 1; })
C(raise_sys_with_policy, SBX_CRASHED, NEEDS(POLICY, .policy = &deadly), raise(SIGSYS);)
C(raise_kill_with_policy, SBX_CRASHED, NEEDS(POLICY, .policy = &deadly), raise(SIGKILL);)
C(exit_159_with_policy, SBX_EXITED, NEEDS(POLICY, .policy = &deadly),
    return 159;) /* 128 + SIGSYS */
C(null_with_policy, SBX_CRASHED, NEEDS(POLICY, .policy = &polite), crash_null();)
C(fine_with_policy, SBX_OK, NEEDS(POLICY, .policy = &deadly), use(10);)
C(memory_over_with_policy, SBX_MEMORY_LIMIT,
    NEEDS(POLICY, .policy = &polite, .memory_bytes = 64 * MB),
    use(300); nap(100000);)
PYTHON(denied, SBX_DENIED, NEEDS(POLICY, .policy = &deadly),
    "import socket; socket.create_connection(('127.0.0.1', 9))")
PYTHON(denied_politely, SBX_EXITED, NEEDS(POLICY, .policy = &polite), "open('/no-such-file', 'w')")
SH(write_denied, SBX_EXITED, NEEDS(POLICY, .policy = &deadly), "echo x > /no-such-file")

/* ==== sbx_call ================================================================================ */

CALL(fine, SBX_OK, NONE, *(int *)ret = 42; return 0;)
CALL(returns_5, SBX_NO_RESULT, NONE, return 5;)
CALL(exits_0, SBX_NO_RESULT, NONE, _exit(0);)
CALL(exits_137, SBX_NO_RESULT, LIMITS(.memory_bytes = 64 * MB), _exit(137);)
CALL(fails, SBX_NO_RESULT, NONE, sbx_fail("the file has no header"); return 0;)
CALL(fails_lying, SBX_NO_RESULT, LIMITS(.memory_bytes = 64 * MB),
    fputs("out of memory\n", stderr); sbx_fail("out of memory"); return 0;)
CALL(null, SBX_CRASHED, NONE, crash_null(); return 0;)
CALL(null_near_memory_limit, SBX_CRASHED, LIMITS(.memory_bytes = 128 * MB),
    use(90); crash_null(); return 0;)
CALL(abort, SBX_CRASHED, NONE, abort(); return 0;)
CALL(kill, SBX_CRASHED, LIMITS(.cpu_ms = 10000), raise(SIGKILL); return 0;)
CALL(stack_overflow, SBX_CRASHED, NONE, return recurse(1 << 30);)
CALL(sleep, SBX_TIMED_OUT, LIMITS(.timeout_ms = 400, .grace_ms = -1), nap(100000); return 0;)
CALL(on_term_return_0, SBX_TIMED_OUT, LIMITS(.timeout_ms = 500),
    signal(SIGTERM, nothing); nap_once(100000); return 0;)
CALL(memory_over, SBX_MEMORY_LIMIT, LIMITS(.memory_bytes = 64 * MB),
    use(300); nap(100000); return 0;)
CALL(memory_under, SBX_OK, LIMITS(.memory_bytes = 128 * MB), use(80); return 0;)
CALL(malloc_fails, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    if (!malloc(1024 * MB)) { perror("malloc"); return 1; } return 0;)
CALL(malloc_fails_told, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    if (!malloc(1024 * MB)) sbx_fail("out of memory"); return 0;)
CALL(malloc_unchecked, SBX_MEMORY_LIMIT, LIMITS(.address_space_bytes = 256 * MB),
    grow_blindly(); return 0;)
CALL(cpu_over, SBX_CPU_LIMIT, LIMITS(.cpu_ms = 400, .grace_ms = -1), spin(); return 0;)
CALL(output_over, SBX_OUTPUT_LIMIT, LIMITS(.output_bytes = 10000), out(1, 10001); return 0;)
CALL(output_at_cap, SBX_OK, LIMITS(.output_bytes = 10000), out(1, 4000); out(2, 6000); return 0;)
CALL(file_over, SBX_FILE_LIMIT, LIMITS(.file_bytes = 64 * KB),
    fill("file_over_call", 128 * KB); return 0;)

#undef C
#undef CPP
#undef PYTHON
#undef NODE
#undef JAVA
#undef GO
#undef PERL
#undef RUST
#undef SH
#undef CALL
#undef EXEC
