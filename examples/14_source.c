/* 14_source: source text instead of a program. sbx_run_code saves, builds, runs and removes it; with
   sbx_build and sbx_discard it is built once and run as often as you like.
   Compile: cc -o 14_source 14_source.c
   Prints what five languages answer (or which tool is missing here), what a compiler has against a
   text, how an endless loop ends, and three answers of one program. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>
#include <string.h>

static void show(const sbx_config *config, const char *language, const char *code) {
    sbx_result result;

    sbx_run_code(config, language, code, strlen(code), &result);
    printf("%s: %s: %s (%s)\n", language, sbx_verdict_name(result.verdict), result.out.data,
           result.message);
    if (result.step == SBX_STEP_BUILD) { /* the first thing that the compiler does not like */
        const char *error = strstr(result.err.data, "error");
        if (error) printf("    %.*s\n", (int)strcspn(error, "\n"), error);
    }
    sbx_free(&result);
}

int main(void) {
    const char *square = "echo $(($1 * $1))";
    sbx_config config = {.input = "world", .input_size = 5, .timeout_ms = 60000};
    sbx_program program;
    sbx_result result;
    int i;

    show(&config, "python", "print('hello', input(), end='')");
    show(&config, "perl", "print 'hello ', <STDIN>");
    show(&config, "sh", "printf 'hello '; cat; exit 3");
    show(&config, "c",
         "#include <stdio.h>\n"
         "int main(void) { char s[9]; scanf(\"%8s\", s); printf(\"hello %s\", s); }");
    show(&config, "c++",
         "#include <iostream>\n"
         "int main() { std::string s; std::cin >> s; std::cout << \"hello \" + s; }");
    show(&config, "c", "int main(void) { return nothing; }");
    config.timeout_ms = 300;
    show(&config, "sh", "printf 'for ever'; while :; do :; done");

    if (sbx_build(&config, "sh", square, strlen(square), &program, &result) != SBX_OK) return 1;
    sbx_free(&result);
    for (i = 1; i <= 3; i++) {
        char number[12];
        config = (sbx_config){.program = &program, .argv = (const char *const[]){number, NULL}};
        snprintf(number, sizeof number, "%d", i);
        sbx_run(&config, &result);
        printf("%d * %d = %s", i, i, result.out.data);
        sbx_free(&result);
    }
    sbx_discard(&program);
    return 0;
}
