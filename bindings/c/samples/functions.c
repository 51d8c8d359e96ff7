/* A function that the model calls during its reply:
 *     cc functions.c -I../include -L../../../target/release -lcauserie_c -o functions && ./functions demo.gguf */
#include <causerie.h>
#include <stdio.h>
#include <stdlib.h>

static void need(causerie_status status) {
    if (status != CAUSERIE_OK) {
        fprintf(stderr, "%s\n", causerie_error_message());
        exit(EXIT_FAILURE);
    }
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: functions MODEL\n");
        return EXIT_FAILURE;
    }
    causerie_model *model;
    causerie_conversation *conversation;
    causerie_message *message;
    causerie_stream *stream;
    causerie_event *event;
    need(causerie_model_load(arguments[1], NULL, NULL, NULL, &model));
    need(causerie_conversation_new(model, "You are a small assistant on this device.", &conversation));
    need(causerie_conversation_register_function(
        conversation, "get_weather", "Get the weather in a city.",
        "{\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}, \"required\": [\"city\"]}"));
    need(causerie_message_new(CAUSERIE_USER, "What is the weather in Oslo?", &message));
    need(causerie_conversation_send_with_functions(conversation, message, NULL, &stream));

    for (;;) {
        need(causerie_stream_next(stream, &event));
        if (event == NULL)
            break;
        int32_t kind;
        size_t calls;
        const char *text, *name, *given;
        need(causerie_event_kind(event, &kind));
        if (kind == CAUSERIE_CHUNK) {
            need(causerie_event_text(event, &text));
            fputs(text, stdout);
            need(causerie_string_free(text));
        } else if (kind == CAUSERIE_RUN_FUNCTIONS) {
            need(causerie_event_count(event, &calls));
            for (size_t at = 0; at < calls; at++) {
                need(causerie_event_call(event, at, &name, &given, NULL));
                printf("%s %s\n", name, given);
                need(causerie_stream_answer(stream, at, CAUSERIE_JSON, "{\"sky\": \"sunny\"}"));
                need(causerie_string_free(name));
                need(causerie_string_free(given));
            }
        }
        need(causerie_event_free(event));
    }
    putchar('\n');
    need(causerie_stream_free(stream));
    need(causerie_message_free(message));
    need(causerie_conversation_free(conversation));
    need(causerie_model_free(model));
    return EXIT_SUCCESS;
}
