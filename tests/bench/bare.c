/* Like tiny, without a C library: the start of libc (in virtual machines above all its CPUID
   instructions) can cost more than everything else together, and would hide it. Writes "ok". */
#if defined(__x86_64__)
#define SYSCALL(number, a, b, c)                                                                   \
    __asm__ volatile("syscall"                                                                     \
                     :                                                                             \
                     : "a"(number), "D"((long)(a)), "S"((long)(b)), "d"((long)(c))                 \
                     : "rcx", "r11", "memory")
enum { WRITE = 1, EXIT = 60 };
#elif defined(__aarch64__)
#define SYSCALL(number, a, b, c)                                                                   \
    do {                                                                                           \
        register long x8 __asm__("x8") = number;                                                   \
        register long x0 __asm__("x0") = (long)(a);                                                \
        register long x1 __asm__("x1") = (long)(b);                                                \
        register long x2 __asm__("x2") = (long)(c);                                                \
        __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");               \
    } while (0)
enum { WRITE = 64, EXIT = 93 };
#else
#error "bare.c: no system calls for this machine"
#endif

void _start(void);
void _start(void) {
    SYSCALL(WRITE, 1, "ok\n", 3);
    SYSCALL(EXIT, 0, 0, 0);
    for (;;) {
    }
}
