/* 15_conversation: talk with a child, a line there and a line back, with a time limit per answer.
   Compile: cc -o 15_conversation 15_conversation.c
   Prints the answers of a bot that squares numbers, but dies of 3 and thinks too long about 5. Each
   time a new bot is started, and the game goes on. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>
#include <string.h>

#define MOVE_MS 2000

static sbx *start_bot(void) {
    sbx_config config = {
        .command = "while read n; do\n"
                   "  case $n in 3) kill -SEGV $$ ;; 5) sleep 60 ;; esac\n"
                   "  echo $((n * n))\n"
                   "done",
        .name = "the bot",
        .in = SBX_PIPE, /* for sbx_write */
        .timeout_ms = SBX_UNLIMITED, /* the whole game may last as long as it likes */
        .grace_ms = SBX_UNLIMITED, /* but who is late is killed at once */
        .output_bytes = 4096, /* more than that between two reads is a flood */
    };
    sbx_result result;
    sbx *bot = sbx_start(&config, &result);

    if (bot == NULL) {
        printf("%s\n", result.message);
        sbx_free(&result);
    }
    return bot;
}

/* Sends a number and waits for a line. 0: there is no answer, for the bot has ended or will. */
static int ask(sbx *bot, int number, char *answer, size_t room) {
    size_t size = 0;
    char text[16];

    snprintf(text, sizeof text, "%d\n", number);
    sbx_set_timeout(bot, MOVE_MS); /* from now on */
    if (sbx_write(bot, text, strlen(text)) <= 0) return 0;
    while (size == 0 || answer[size - 1] != '\n') {
        long long got = sbx_read(bot, SBX_STDOUT, answer + size, room - 1 - size);

        if (got < 0 || size + 1 == room) return 0; /* the end; or a line that is too long */
        if (got == 0) sbx_poll(bot, SBX_UNLIMITED); /* wakes when there is something to read */
        size += (size_t)got;
    }
    answer[size] = '\0';
    sbx_set_timeout(bot, SBX_UNLIMITED); /* the host may think now */
    return 1;
}

static void end_bot(sbx *bot) {
    sbx_result result;

    sbx_finish(bot, &result); /* closes its input and waits for its end */
    printf("%s: %s\n", sbx_verdict_name(result.verdict), result.message);
    sbx_free(&result);
}

int main(void) {
    sbx *bot = start_bot();
    char answer[80];

    for (int number = 1; number <= 6 && bot != NULL; number++) {
        printf("%d? ", number);
        if (ask(bot, number, answer, sizeof answer)) {
            printf("%s", answer);
        } else {
            end_bot(bot);
            bot = start_bot();
        }
    }
    if (bot != NULL) end_bot(bot);
    return 0;
}
