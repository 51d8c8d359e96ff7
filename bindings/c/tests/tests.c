/* A caller in C: streams, functions, cancelling and errors. `scripts/test-c` compiles it with all warnings as errors, and runs it
 * with a sanitiser of memory and under valgrind.
 *
 *     tests            the tests that need no model
 *     tests demo.gguf  all tests
 */
#include "causerie.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;
static int wrong; /* checks of the current test that failed */

#define CHECK(claim)                                                                                                      \
    do {                                                                                                                  \
        if (!(claim)) {                                                                                                   \
            printf("%s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #claim, causerie_error_message());                 \
            wrong++;                                                                                                      \
        }                                                                                                                 \
    } while (0)
#define OK(call) CHECK((call) == CAUSERIE_OK)

static void run(const char *name, void (*test)(void)) {
    wrong = 0;
    test();
    if (wrong) {
        failed++;
        printf("FAILED %s\n", name);
    } else {
        passed++;
    }
}

static const char *model_path;

/* What a reply consisted of. */
struct reply {
    char text[4096];
    char calls[1024]; /* name and arguments of each */
    char results[1024];
    int events, reason;
    double tokens;
    causerie_status status;
};

static void append(char *to, size_t size, const char *text) {
    size_t used = strlen(to);
    snprintf(to + used, size - used, "%s", text);
}

/* Reads a stream to its end, and answers every call with `answer`. Cancels it after `cancel_after` events, unless that is 0. */
static struct reply read_reply(causerie_stream *stream, const char *answer, int cancel_after) {
    struct reply reply;
    memset(&reply, 0, sizeof reply);
    reply.reason = -1;
    for (;;) {
        causerie_event *event = NULL;
        reply.status = causerie_stream_next(stream, &event);
        if (reply.status != CAUSERIE_OK || event == NULL)
            break;
        reply.events++;
        int32_t kind = -1;
        OK(causerie_event_kind(event, &kind));
        size_t count = 0;
        const char *text = NULL, *name = NULL, *arguments = NULL;
        switch (kind) {
        case CAUSERIE_CHUNK:
            OK(causerie_event_text(event, &text));
            append(reply.text, sizeof reply.text, text);
            OK(causerie_string_free(text));
            break;
        case CAUSERIE_FUNCTION_CALLS:
            OK(causerie_event_count(event, &count));
            for (size_t at = 0; at < count; at++) {
                OK(causerie_event_call(event, at, &name, &arguments, NULL));
                append(reply.calls, sizeof reply.calls, name);
                append(reply.calls, sizeof reply.calls, arguments);
                OK(causerie_string_free(name));
                OK(causerie_string_free(arguments));
            }
            CHECK(causerie_event_call(event, count, &name, NULL, NULL) == CAUSERIE_INVALID_ARGUMENT);
            break;
        case CAUSERIE_RUN_FUNCTIONS:
            OK(causerie_event_count(event, &count));
            {
                causerie_event *early = NULL;
                CHECK(causerie_stream_next(stream, &early) == CAUSERIE_INVALID_ARGUMENT);
            }
            for (size_t at = 0; at < count; at++)
                OK(causerie_stream_answer(stream, at, CAUSERIE_TEXT, "taken back"));
            for (size_t at = 0; at < count; at++) {
                causerie_message *parts = NULL;
                OK(causerie_message_new(CAUSERIE_TOOL, answer, &parts));
                OK(causerie_message_add_text(parts, "!"));
                CHECK(causerie_stream_answer_message(stream, count, parts) == CAUSERIE_INVALID_ARGUMENT);
                OK(causerie_stream_answer_message(stream, at, parts));
                OK(causerie_message_free(parts));
            }
            break;
        case CAUSERIE_FUNCTION_RESULT:
            OK(causerie_event_text(event, &text));
            append(reply.results, sizeof reply.results, text);
            OK(causerie_string_free(text));
            break;
        case CAUSERIE_COMPLETE: {
            int32_t reason = -1;
            OK(causerie_event_finish_reason(event, &reason));
            reply.reason = reason;
            OK(causerie_event_statistic(event, CAUSERIE_COMPLETION_TOKENS, &reply.tokens));
            OK(causerie_event_message(event, &text));
            CHECK(strstr(text, "\"role\": \"assistant\"") != NULL);
            OK(causerie_string_free(text));
            break;
        }
        default:
            break;
        }
        OK(causerie_event_free(event));
        if (reply.events == cancel_after)
            OK(causerie_stream_cancel(stream));
    }
    OK(causerie_stream_free(stream));
    return reply;
}

static causerie_model *scripted(const char *script) {
    causerie_model *model = NULL;
    OK(causerie_model_load_scripted(script, &model));
    return model;
}

static void a_scripted_reply_is_streamed(void) {
    causerie_model *model = scripted("{\"replies\": [[\"Hel\", \"lo\"], [\"Bye\"]]}");
    causerie_conversation *conversation = NULL;
    causerie_stream *stream = NULL;
    OK(causerie_conversation_new(model, "Be brief.", &conversation));
    OK(causerie_model_free(model)); /* the conversation keeps it */
    OK(causerie_conversation_ask(conversation, "Hi", NULL, &stream));
    struct reply reply = read_reply(stream, "", 0);
    CHECK(strcmp(reply.text, "Hello") == 0);
    CHECK(reply.reason == CAUSERIE_STOP);

    const char *history = NULL;
    size_t count = 0;
    OK(causerie_conversation_history(conversation, &history, &count));
    CHECK(count == 3);
    CHECK(strcmp(history, "[{\"role\": \"system\", \"content\": \"Be brief.\"}, {\"role\": \"user\", \"content\": \"Hi\"}, "
                          "{\"role\": \"assistant\", \"content\": \"Hello\"}]") == 0);
    OK(causerie_string_free(history));
    OK(causerie_conversation_truncate(conversation, 1));
    OK(causerie_conversation_history(conversation, NULL, &count));
    CHECK(count == 1);
    OK(causerie_conversation_free(conversation));
}

static void a_history_continues_in_another_conversation(void) {
    causerie_model *model = scripted("{\"replies\": [[\"Bye\"]]}");
    causerie_conversation *conversation = NULL, *fork = NULL;
    causerie_stream *stream = NULL;
    causerie_message *message = NULL;
    OK(causerie_conversation_from_history(model, "[{\"role\": \"user\", \"content\": \"Hi\"}]", &conversation));
    OK(causerie_message_new(CAUSERIE_ASSISTANT, "Hello", &message));
    OK(causerie_conversation_append(conversation, message));
    OK(causerie_message_free(message));
    OK(causerie_conversation_fork(conversation, &fork));
    OK(causerie_message_new(CAUSERIE_USER, "Good", &message));
    OK(causerie_message_add_text(message, "bye"));
    OK(causerie_conversation_send(fork, message, NULL, &stream));
    OK(causerie_message_free(message));
    CHECK(strcmp(read_reply(stream, "", 0).text, "Bye") == 0);
    size_t count = 0;
    OK(causerie_conversation_history(fork, NULL, &count));
    CHECK(count == 4);
    OK(causerie_conversation_history(conversation, NULL, &count));
    CHECK(count == 2);
    CHECK(causerie_conversation_from_history(model, "[1]", &conversation) != CAUSERIE_OK);
    OK(causerie_conversation_free(conversation));
    OK(causerie_conversation_free(fork));
    OK(causerie_model_free(model));
}

/* As in tests/fixtures/scenarios/arguments.json and values.json: their order, every digit, and floats that stay floats. */
static void arguments_cross_as_they_were_written(void) {
    causerie_model *model = scripted(
        "{\"replies\": [[{\"control\": \"<|tool_call_start|>\"}, \"[f(z=1, bigger=123456789012345678901234567890, "
        "a={\\\"y\\\": None, \\\"x\\\": [2.0, -7]}, tiny=5e-324)]\", {\"control\": \"<|tool_call_end|>\"}], "
        "[{\"control\": \"<|tool_call_start|>\"}, \"[f(a=1e400)]\", {\"control\": \"<|tool_call_end|>\"}]]}");
    const char *calls = "f{\"z\": 1, \"bigger\": 123456789012345678901234567890, "
                        "\"a\": {\"y\": null, \"x\": [2.0, -7]}, \"tiny\": 5e-324}";
    for (int round = 0; round < 2; round++) {
        causerie_conversation *conversation = NULL;
        causerie_message *message = NULL;
        causerie_stream *stream = NULL;
        OK(causerie_conversation_new(model, NULL, &conversation));
        OK(causerie_message_new(CAUSERIE_USER, "Go", &message));
        OK(causerie_conversation_send(conversation, message, NULL, &stream));
        struct reply reply = read_reply(stream, "", 0);
        CHECK(strcmp(reply.calls, round == 0 ? calls : "") == 0);
        CHECK(strcmp(reply.text, round == 0 ? "" : "[f(a=1e400)]") == 0);
        OK(causerie_message_free(message));
        OK(causerie_conversation_free(conversation));
    }
    OK(causerie_model_free(model));
}

static void a_function_runs_within_the_stream(void) {
    causerie_model *model = scripted(
        "{\"replies\": [[{\"control\": \"<|tool_call_start|>\"}, \"[weather(city=\\\"Oslo\\\")]\", "
        "{\"control\": \"<|tool_call_end|>\"}], [\"Sunny in Oslo.\"]]}");
    causerie_conversation *conversation = NULL;
    causerie_message *message = NULL;
    causerie_stream *stream = NULL;
    bool found = false;
    OK(causerie_conversation_new(model, NULL, &conversation));
    OK(causerie_conversation_register_function(conversation, "weather", "The weather in a city.",
                                               "{\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}, "
                                               "\"required\": [\"city\"]}"));
    CHECK(causerie_conversation_register_function(conversation, "bad", "", "{") == CAUSERIE_INVALID_ARGUMENT);
    OK(causerie_message_new(CAUSERIE_USER, "How is the weather in Oslo?", &message));
    OK(causerie_conversation_send_with_functions(conversation, message, NULL, &stream));
    struct reply reply = read_reply(stream, "sunny", 0);
    CHECK(strcmp(reply.calls, "weather{\"city\": \"Oslo\"}") == 0);
    CHECK(strcmp(reply.results, "sunny!") == 0);
    CHECK(strcmp(reply.text, "Sunny in Oslo.") == 0);
    CHECK(reply.reason == CAUSERIE_STOP);
    OK(causerie_conversation_unregister_function(conversation, "weather", &found));
    CHECK(found);
    OK(causerie_message_free(message));
    OK(causerie_conversation_free(conversation));
    OK(causerie_model_free(model));
}

static void a_reply_is_cancelled_while_a_function_runs(void) {
    causerie_model *model = scripted(
        "{\"replies\": [[{\"control\": \"<|tool_call_start|>\"}, \"[now()]\", {\"control\": \"<|tool_call_end|>\"}], "
        "[\"Fine.\"]]}");
    causerie_conversation *conversation = NULL;
    causerie_stream *stream = NULL;
    causerie_event *event = NULL;
    int32_t kind = -1;
    OK(causerie_conversation_new(model, NULL, &conversation));
    OK(causerie_conversation_register_function(conversation, "now", "The time.", NULL));
    causerie_message *message = NULL;
    OK(causerie_message_new(CAUSERIE_USER, "What time is it?", &message));
    OK(causerie_conversation_send_with_functions(conversation, message, NULL, &stream));
    while (kind != CAUSERIE_RUN_FUNCTIONS) {
        OK(causerie_stream_next(stream, &event));
        if (event == NULL)
            break;
        OK(causerie_event_kind(event, &kind));
        OK(causerie_event_free(event));
    }
    CHECK(causerie_stream_next(stream, &event) == CAUSERIE_INVALID_ARGUMENT);
    OK(causerie_stream_cancel(stream));
    CHECK(read_reply(stream, "", 0).reason == CAUSERIE_INTERRUPTED);
    OK(causerie_conversation_ask(conversation, "Go on", NULL, &stream));
    CHECK(strcmp(read_reply(stream, "", 0).text, "Fine.") == 0);
    OK(causerie_message_free(message));
    OK(causerie_conversation_free(conversation));
    OK(causerie_model_free(model));
}

static void a_reply_is_cancelled(void) {
    causerie_model *model = scripted("{\"replies\": [[\"one \", {\"stall\": true}], [\"two\"]]}");
    causerie_conversation *conversation = NULL;
    causerie_stream *stream = NULL;
    OK(causerie_conversation_new(model, NULL, &conversation));
    OK(causerie_conversation_ask(conversation, "Count", NULL, &stream));
    struct reply reply = read_reply(stream, "", 1);
    CHECK(strcmp(reply.text, "one ") == 0);
    CHECK(reply.reason == CAUSERIE_INTERRUPTED);
    OK(causerie_conversation_ask(conversation, "Go on", NULL, &stream));
    CHECK(strcmp(read_reply(stream, "", 0).text, "two") == 0);
    OK(causerie_conversation_free(conversation));
    OK(causerie_model_free(model));
}

static void errors_have_a_status_and_a_reason(void) {
    causerie_model *model = NULL;
    CHECK(causerie_model_load("/nowhere.gguf", NULL, NULL, NULL, &model) == CAUSERIE_MODEL_NOT_FOUND);
    CHECK(strstr(causerie_error_message(), "/nowhere.gguf") != NULL);
    CHECK(model == NULL);
    CHECK(causerie_model_load(NULL, NULL, NULL, NULL, &model) == CAUSERIE_INVALID_ARGUMENT);
    CHECK(strcmp(causerie_error_message(), "path must not be null") == 0);
    CHECK(causerie_model_free((causerie_model *)(size_t)123456789) == CAUSERIE_INVALID_HANDLE);
    model = scripted("{\"replies\": [[\"Hello\"]]}");
    CHECK(causerie_conversation_free((causerie_conversation *)model) == CAUSERIE_INVALID_HANDLE);
    OK(causerie_model_free(model));
    CHECK(causerie_model_free(model) == CAUSERIE_INVALID_HANDLE);
    OK(causerie_model_free(NULL));
    CHECK(causerie_string_free("a literal") == CAUSERIE_INVALID_HANDLE);

    causerie_options *options = NULL;
    OK(causerie_options_new(&options));
    CHECK(causerie_options_set_number(options, "temprature", 0.5) == CAUSERIE_INVALID_OPTION);
    CHECK(strstr(causerie_error_message(), "did you mean temperature?") != NULL);
    CHECK(causerie_options_set_string(options, "on_busy", "wait") == CAUSERIE_INVALID_OPTION);
    OK(causerie_options_free(options));
}

static bool count_progress(float fraction, void *context) {
    int *calls = context;
    ++*calls;
    return fraction <= 1.0F;
}

static bool refuse(float fraction, void *context) {
    (void)fraction;
    (void)context;
    return false;
}

static causerie_model *demo(void) {
    causerie_model *model = NULL;
    int calls = 0;
    OK(causerie_model_load(model_path, NULL, count_progress, &calls, &model));
    CHECK(0 < calls);
    return model;
}

static void a_gpu_that_does_not_exist_is_replaced_by_the_cpu(void) {
    causerie_options *options = NULL;
    causerie_info *info = NULL;
    causerie_model *model = NULL;
    const char *text = NULL;
    OK(causerie_options_new(&options));
    OK(causerie_options_set_string(options, "gpu_name", "no such GPU"));
    OK(causerie_options_set_string(options, "device", "gpu"));
    CHECK(causerie_model_load(model_path, options, NULL, NULL, &model) == CAUSERIE_INVALID_OPTION);
    /* Builds without GPUs have nothing to note: they always take the CPU. */
    bool has_gpus = strstr(causerie_error_message(), "this build does not have") == NULL;
    OK(causerie_options_set_string(options, "device", "auto"));
    OK(causerie_model_load(model_path, options, NULL, NULL, &model));
    OK(causerie_model_info(model, &info));
    CHECK(causerie_info_string(info, CAUSERIE_INFO_GPU, &text) == CAUSERIE_NOT_AVAILABLE);
    causerie_status status = causerie_info_string(info, CAUSERIE_INFO_DEVICE_NOTE, &text);
    CHECK(status == (has_gpus ? CAUSERIE_OK : CAUSERIE_NOT_AVAILABLE));
    if (status == CAUSERIE_OK) {
        OK(causerie_string_free(text));
    }
    OK(causerie_info_free(info));
    OK(causerie_options_free(options));
    OK(causerie_model_free(model));
}

static void the_demo_model_has_facts(void) {
    causerie_info *info = NULL;
    causerie_model *model = NULL;
    const char *text = NULL;
    uint64_t number = 0;
    OK(causerie_info_read(model_path, &info));
    OK(causerie_info_string(info, CAUSERIE_INFO_ARCHITECTURE, &text));
    CHECK(strcmp(text, "lfm2") == 0);
    OK(causerie_string_free(text));
    OK(causerie_info_number(info, CAUSERIE_INFO_SUPPORTS_FUNCTIONS, &number));
    CHECK(number == 1);
    CHECK(causerie_info_string(info, CAUSERIE_INFO_PROBLEM, &text) == CAUSERIE_NOT_AVAILABLE);
    OK(causerie_info_free(info));
    CHECK(causerie_model_load(model_path, NULL, refuse, NULL, &model) == CAUSERIE_LOAD_CANCELLED);
}

static void the_demo_model_calls_a_function(void) {
    causerie_model *model = demo();
    causerie_conversation *conversation = NULL;
    causerie_options *options = NULL;
    causerie_message *message = NULL;
    causerie_stream *stream = NULL;
    OK(causerie_options_new(&options));
    OK(causerie_options_set_number(options, "temperature", 0.0));
    OK(causerie_options_set_integer(options, "max_tokens", 100));
    OK(causerie_conversation_new(model, "You are a small assistant on this device.", &conversation));
    OK(causerie_conversation_register_function(
        conversation, "get_weather", "Get the weather in a city.",
        "{\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\", \"description\": \"The city\"}}, "
        "\"required\": [\"city\"]}"));
    OK(causerie_message_new(CAUSERIE_USER, "What is the weather in Oslo?", &message));
    OK(causerie_conversation_send_with_functions(conversation, message, options, &stream));
    struct reply reply = read_reply(stream, "{\"sky\": \"sunny\"}", 0);
    CHECK(strcmp(reply.calls, "get_weather{\"city\": \"Oslo\"}") == 0);
    CHECK(strstr(reply.text, "sunny") != NULL);
    CHECK(0 < reply.tokens);

    /* A stream that is cancelled before its first event computes nothing. */
    OK(causerie_conversation_ask(conversation, "Hello!", options, &stream));
    OK(causerie_stream_cancel(stream));
    reply = read_reply(stream, "", 0);
    CHECK(reply.reason == CAUSERIE_INTERRUPTED);
    CHECK(reply.text[0] == 0);

    OK(causerie_model_unload(model));
    OK(causerie_conversation_ask(conversation, "Hello!", options, &stream));
    CHECK(read_reply(stream, "", 0).status == CAUSERIE_MODEL_UNLOADED);
    OK(causerie_message_free(message));
    OK(causerie_options_free(options));
    OK(causerie_conversation_free(conversation));
    OK(causerie_model_free(model));
}

int main(int count, char **arguments) {
    run("a scripted reply is streamed", a_scripted_reply_is_streamed);
    run("a history continues in another conversation", a_history_continues_in_another_conversation);
    run("arguments cross as they were written", arguments_cross_as_they_were_written);
    run("a function runs within the stream", a_function_runs_within_the_stream);
    run("a reply is cancelled", a_reply_is_cancelled);
    run("a reply is cancelled while a function runs", a_reply_is_cancelled_while_a_function_runs);
    run("errors have a status and a reason", errors_have_a_status_and_a_reason);
    if (count == 2) {
        model_path = arguments[1];
        run("the demo model has facts", the_demo_model_has_facts);
        run("a GPU that does not exist is replaced by the CPU", a_gpu_that_does_not_exist_is_replaced_by_the_cpu);
        run("the demo model calls a function", the_demo_model_calls_a_function);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
