/*
 * causerie: conversations with language models that run on the device.
 *
 * Every function but causerie_error_message returns a status, and writes its results through its last pointers. If it fails, it
 * writes nothing, and causerie_error_message has the reason. No panic of the library reaches the caller.
 *
 * Handles. A causerie_model *, causerie_conversation * and so on is a handle: not an address, but a number that the library looks
 * up. NULL, a freed handle and one of another type give CAUSERIE_INVALID_ARGUMENT or CAUSERIE_INVALID_HANDLE. Each is freed once,
 * by the function of its type, which accepts NULL. The order is free: a conversation keeps its model, a stream its conversation.
 *
 * Strings. The caller's strings are UTF-8, end with a zero, and are copied. Strings that the library gives belong to the caller
 * until causerie_string_free. A zero inside of one is given as U+FFFD.
 *
 * Threads. Every function may be called on any thread, and several threads may use one handle. causerie_model_load,
 * causerie_model_load_bytes, causerie_model_unload and causerie_stream_next block; call them off a user interface's thread. While
 * one thread waits in causerie_stream_next, another may cancel or free that stream. Errors have their message per thread. After
 * fork(), a child must not use the models of its parent.
 *
 * What a caller guarantees: pointers are NULL or valid for the call, with as many elements as the length beside them says, and no
 * other thread changes them meanwhile.
 *
 * A bool is one byte. Of a caller, each value but 0 is true.
 *
 * Results marked "or NULL" are not written if the pointer is NULL.
 */
#ifndef CAUSERIE_H
#define CAUSERIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum causerie_status {
    CAUSERIE_OK = 0,
    CAUSERIE_INVALID_ARGUMENT = 1, /* NULL, text that is not UTF-8, an index or a value that is out of range */
    CAUSERIE_INVALID_HANDLE = 2,   /* a handle or string that is freed, or never was one of this type */
    CAUSERIE_NOT_AVAILABLE = 3,    /* this event or model has no such value */
    CAUSERIE_MODEL_NOT_FOUND = 4,
    CAUSERIE_MODEL_LOAD = 5, /* its files are unreadable, damaged, incomplete or of an unknown kind */
    CAUSERIE_OUT_OF_MEMORY = 6,
    CAUSERIE_LOAD_CANCELLED = 7,
    CAUSERIE_MODEL_UNLOADED = 8,
    CAUSERIE_BUSY = 9, /* the conversation is generating a reply: read it to its end or cancel it */
    CAUSERIE_PROMPT_EXCEEDS_CONTEXT = 10,
    CAUSERIE_INVALID_OPTION = 11,
    CAUSERIE_INVALID_MESSAGE = 12,
    CAUSERIE_INVALID_FUNCTION = 13,
    CAUSERIE_FUNCTION_CALLING_UNSUPPORTED = 14,
    CAUSERIE_UNSUPPORTED_CONTENT = 15,
    CAUSERIE_GENERATION = 16,
    CAUSERIE_SERIALIZATION = 17,
    CAUSERIE_SESSION = 18,
    CAUSERIE_INTERNAL = 19 /* a fault in causerie itself, which was caught */
} causerie_status;

typedef struct causerie_options causerie_options;
typedef struct causerie_model causerie_model;
typedef struct causerie_info causerie_info;
typedef struct causerie_embedding_model causerie_embedding_model;
typedef struct causerie_message causerie_message;
typedef struct causerie_conversation causerie_conversation;
typedef struct causerie_stream causerie_stream;
typedef struct causerie_event causerie_event;

/* ---- The library ---- */

/* The version of the library. */
causerie_status causerie_version(const char **version);

/* The reason of the last failure on this thread; never NULL. It is valid until the next failure on this thread. */
const char *causerie_error_message(void);

/* Frees a string that the library gave. */
causerie_status causerie_string_free(const char *string);

/* ---- Options: of loading, of replies and of their function calls, by name ----
 *
 * The names are the ones of Rust, such as "temperature", "max_tokens", "stop_sequences", "context_size" and "max_rounds";
 * docs/c.md lists them. Times are in seconds. Choices are words, such as "queue" for "on_busy". A wrong name or type is an error
 * here, a value out of its range where the options are used. NULL instead of options has the defaults. */

causerie_status causerie_options_new(causerie_options **options);
causerie_status causerie_options_set_number(causerie_options *options, const char *name, double value);
causerie_status causerie_options_set_integer(causerie_options *options, const char *name, int64_t value);
causerie_status causerie_options_set_bool(causerie_options *options, const char *name, bool value);
/* NULL is the default, if the option may be absent. */
causerie_status causerie_options_set_string(causerie_options *options, const char *name, const char *value);
/* For arrays and objects: "stop_sequences", "logit_bias", "template_variables". */
causerie_status causerie_options_set_json(causerie_options *options, const char *name, const char *json);
causerie_status causerie_options_free(causerie_options *options);

/* ---- Models ---- */

/* Reports the progress of loading, from 0 to 1, on the thread that loads. Returning false cancels it. */
typedef bool (*causerie_progress)(float fraction, void *context);

/* Loads a GGUF file, a Hugging Face folder, or "<namespace>/<name>" in the local Hugging Face cache. progress may be NULL. */
causerie_status causerie_model_load(const char *path, causerie_options *options, causerie_progress progress, void *context,
                                    causerie_model **model);
/* Loads a GGUF file from memory, which is copied. */
causerie_status causerie_model_load_bytes(const uint8_t *data, size_t length, causerie_options *options, causerie_model **model);
/* Loads a model that follows a script, for tests of apps: {"replies": [["Hel", "lo"]]}. */
causerie_status causerie_model_load_scripted(const char *script, causerie_model **model);
/* The number of tokens of a text. */
causerie_status causerie_model_count_tokens(causerie_model *model, const char *text, size_t *count);
/* Completes a prompt as it stands, without a chat template. */
causerie_status causerie_model_complete(causerie_model *model, const char *prompt, causerie_options *options,
                                        causerie_stream **stream);
/* Cancels all replies of the model and frees its memory. Its conversations can still be read. */
causerie_status causerie_model_unload(causerie_model *model);
/* The memory is freed once no conversation of the model remains, either. */
causerie_status causerie_model_free(causerie_model *model);

typedef enum causerie_info_string_kind {
    CAUSERIE_INFO_NAME = 0,
    CAUSERIE_INFO_ARCHITECTURE = 1,
    CAUSERIE_INFO_QUANTISATION = 2,         /* the storage format of most weights */
    CAUSERIE_INFO_FUNCTION_CALL_PARSER = 3, /* the notation of calls that the model writes */
    CAUSERIE_INFO_PROBLEM = 4,              /* what prevents loading, if something does */
    CAUSERIE_INFO_GPU = 5,                  /* that computes the model */
    CAUSERIE_INFO_DEVICE_NOTE = 6           /* why the GPU that the options ask for does not compute it, or no longer does */
} causerie_info_string_kind;

typedef enum causerie_info_number_kind {
    CAUSERIE_INFO_PARAMETERS = 0,
    CAUSERIE_INFO_LAYERS = 1,
    CAUSERIE_INFO_CONTEXT_SIZE = 2,         /* that it is loaded with, in tokens */
    CAUSERIE_INFO_TRAINED_CONTEXT_SIZE = 3, /* that it was trained for */
    CAUSERIE_INFO_VOCABULARY_SIZE = 4,
    CAUSERIE_INFO_MEMORY_ESTIMATE = 5, /* in bytes */
    CAUSERIE_INFO_SUPPORTS_FUNCTIONS = 6,
    CAUSERIE_INFO_SUPPORTS_REASONING = 7,
    CAUSERIE_INFO_SUPPORTS_IMAGES = 8,
    CAUSERIE_INFO_SUPPORTS_AUDIO = 9,
    CAUSERIE_INFO_SUPPORTS_SPEECH = 10
} causerie_info_number_kind;

/* Facts about a loaded model. */
causerie_status causerie_model_info(causerie_model *model, causerie_info **info);
/* Facts from the headers of a model's files. Nothing is loaded. */
causerie_status causerie_info_read(const char *path, causerie_info **info);
/* CAUSERIE_NOT_AVAILABLE if the model does not have it. */
causerie_status causerie_info_string(causerie_info *info, causerie_info_string_kind kind, const char **value);
causerie_status causerie_info_number(causerie_info *info, causerie_info_number_kind kind, uint64_t *value);
causerie_status causerie_info_free(causerie_info *info);

/* ---- Decisions and embeddings: requests and answers are JSON (docs/c.md) ---- */

/* Answers questions about a state, with probabilities. The answers are a string to free. */
causerie_status causerie_model_decide(causerie_model *model, const char *request, const char **decisions);
/* Loads a GGUF file, a Hugging Face folder, or "<namespace>/<name>" in the local cache. options may be NULL. */
causerie_status causerie_embedding_model_load(const char *path, const char *options, causerie_embedding_model **model);
/* What the model is and can do, as a string to free. */
causerie_status causerie_embedding_model_info(causerie_embedding_model *model, const char **info);
/* Copies the vectors of texts, one after the other, at most capacity values. count is how many values there are. details, a string to
 * free, has the number of tokens and the texts that were cut. Each but model and request may be NULL. */
causerie_status causerie_embedding_model_embed(causerie_embedding_model *model, const char *request, float *vectors, size_t capacity,
                                               size_t *count, const char **details);
/* The documents that fit a query best, the best first, as a string to free. */
causerie_status causerie_embedding_model_rerank(causerie_embedding_model *model, const char *request, const char **ranking);
/* Sets the model that chooses among the functions of the model's conversations, for replies with max_offered_functions. ranker may be
 * freed afterwards. */
causerie_status causerie_model_set_function_ranker(causerie_model *model, causerie_embedding_model *ranker);
causerie_status causerie_embedding_model_free(causerie_embedding_model *model);

/* ---- Messages ---- */

typedef enum causerie_role {
    CAUSERIE_SYSTEM = 0,
    CAUSERIE_USER = 1,
    CAUSERIE_ASSISTANT = 2,
    CAUSERIE_TOOL = 3 /* the result of a function */
} causerie_role;

/* text may be NULL. */
causerie_status causerie_message_new(causerie_role role, const char *text, causerie_message **message);
causerie_status causerie_message_add_text(causerie_message *message, const char *text);
/* A PNG, JPEG, WebP or GIF file. */
causerie_status causerie_message_add_image(causerie_message *message, const uint8_t *data, size_t length);
/* A WAV, FLAC, MP3 or Opus file. */
causerie_status causerie_message_add_audio(causerie_message *message, const uint8_t *data, size_t length);
/* Names the call that a message of the tool role answers. Both may be NULL. */
causerie_status causerie_message_set_call(causerie_message *message, const char *call_id, const char *name);
causerie_status causerie_message_free(causerie_message *message);

/* ---- Conversations ---- */

/* system_prompt may be NULL. */
causerie_status causerie_conversation_new(causerie_model *model, const char *system_prompt, causerie_conversation **conversation);
/* messages is a JSON array in the form of chat completions, as causerie_conversation_history gives it. */
causerie_status causerie_conversation_from_history(causerie_model *model, const char *messages,
                                                   causerie_conversation **conversation);
/* A file of causerie_conversation_save. */
causerie_status causerie_conversation_restore(causerie_model *model, const char *path, causerie_conversation **conversation);
causerie_status causerie_conversation_save(causerie_conversation *conversation, const char *path, bool include_cache);
/* An independent conversation with the same history. */
causerie_status causerie_conversation_fork(causerie_conversation *conversation, causerie_conversation **fork);
/* The messages so far as JSON, or NULL, and their number, or NULL. */
causerie_status causerie_conversation_history(causerie_conversation *conversation, const char **messages, size_t *count);
/* Adds a message without a reply, for example one of several results. */
causerie_status causerie_conversation_append(causerie_conversation *conversation, causerie_message *message);
/* Keeps the first messages only. */
causerie_status causerie_conversation_truncate(causerie_conversation *conversation, size_t count);
/* The number of tokens of the prompt for the history as it stands. */
causerie_status causerie_conversation_count_tokens(causerie_conversation *conversation, size_t *count);
/* Offers a function. parameters is the JSON Schema of an object, or NULL if it takes none. */
causerie_status causerie_conversation_register_function(causerie_conversation *conversation, const char *name,
                                                        const char *description, const char *parameters);
/* found, or NULL: whether a function had this name. */
causerie_status causerie_conversation_unregister_function(causerie_conversation *conversation, const char *name, bool *found);
causerie_status causerie_conversation_free(causerie_conversation *conversation);

/* ---- Replies ----
 *
 * These start the stream of a reply. Nothing is computed before its first event is pulled. Errors of the request, such as
 * CAUSERIE_BUSY or an option out of range, come with that event. */

/* Sends a text of the user. */
causerie_status causerie_conversation_ask(causerie_conversation *conversation, const char *text, causerie_options *options,
                                          causerie_stream **stream);
/* Sends a message, or continues the history if it is NULL. Calls end the reply: run them, append or send their results. */
causerie_status causerie_conversation_send(causerie_conversation *conversation, causerie_message *message,
                                           causerie_options *options, causerie_stream **stream);
/* As causerie_conversation_send, but calls of registered functions are part of the stream: CAUSERIE_RUN_FUNCTIONS asks for their
 * results, causerie_stream_answer gives them, and the reply goes on. The options "max_rounds" and "time_limit" limit that. */
causerie_status causerie_conversation_send_with_functions(causerie_conversation *conversation, causerie_message *message,
                                                          causerie_options *options, causerie_stream **stream);

/* Waits for the next event. It is NULL after the last one, which is CAUSERIE_COMPLETE unless the reply failed. */
causerie_status causerie_stream_next(causerie_stream *stream, causerie_event **event);

typedef enum causerie_outcome {
    CAUSERIE_TEXT = 0,     /* the function returned a string */
    CAUSERIE_JSON = 1,     /* it returned a value, as JSON */
    CAUSERIE_FAILED = 2,   /* it failed; the model reads the reason */
    CAUSERIE_TIMED_OUT = 3 /* it took too long; text is not read */
} causerie_outcome;

/* Answers a call of the last CAUSERIE_RUN_FUNCTIONS. All must be answered before the next event is pulled, unless the stream was
 * cancelled. */
causerie_status causerie_stream_answer(causerie_stream *stream, size_t index, causerie_outcome outcome, const char *text);
/* As causerie_stream_answer, for a function that returned the text, pictures and sound of a message, for models that read such parts in
 * results. message stays the caller's. */
causerie_status causerie_stream_answer_message(causerie_stream *stream, size_t index, causerie_message *message);
/* Stops the reply within one token, also while calls are to be answered. Its last event is CAUSERIE_COMPLETE with the reason
 * CAUSERIE_INTERRUPTED. */
causerie_status causerie_stream_cancel(causerie_stream *stream);
/* Stops the reply if it has not ended. */
causerie_status causerie_stream_free(causerie_stream *stream);

/* ---- Events ---- */

typedef enum causerie_event_kind_value {
    CAUSERIE_CHUNK = 0,                   /* text, in whole characters */
    CAUSERIE_REASONING_CHUNK = 1,         /* text */
    CAUSERIE_FUNCTION_CALLS = 2,          /* calls */
    CAUSERIE_FUNCTION_CALLS_REJECTED = 3, /* rejected calls */
    CAUSERIE_RUN_FUNCTIONS = 4,           /* calls to answer */
    CAUSERIE_FUNCTION_RESULT = 5,         /* text, result */
    CAUSERIE_AUDIO_SAMPLE = 6,            /* samples */
    CAUSERIE_LOGPROBS = 7,                /* tokens */
    CAUSERIE_ROUND_COMPLETE = 8,          /* text, finish reason, message, statistics */
    CAUSERIE_COMPLETE = 9                 /* the same; no event follows */
} causerie_event_kind_value;

typedef enum causerie_finish_reason {
    CAUSERIE_STOP = 0,
    CAUSERIE_TOOL_CALLS = 1,
    CAUSERIE_MAX_TOKENS = 2,
    CAUSERIE_EXCEED_CONTEXT = 3,
    CAUSERIE_INTERRUPTED = 4,
    CAUSERIE_CONSTRAINT = 5
} causerie_finish_reason;

typedef enum causerie_statistic {
    CAUSERIE_PROMPT_TOKENS = 0,
    CAUSERIE_CACHED_PROMPT_TOKENS = 1,
    CAUSERIE_COMPLETION_TOKENS = 2,
    CAUSERIE_REASONING_TOKENS = 3,
    CAUSERIE_CALL_TOKENS = 4,
    CAUSERIE_QUEUE_TIME = 5, /* in seconds, as all times */
    CAUSERIE_TIME_TO_FIRST_TOKEN = 6,
    CAUSERIE_PREFILL_TIME = 7,
    CAUSERIE_DECODE_TIME = 8,
    CAUSERIE_TOKENS_PER_SECOND = 9
} causerie_statistic;

/* A causerie_event_kind_value, or a negative number for a kind of a later version: ignore it. */
causerie_status causerie_event_kind(causerie_event *event, int32_t *kind);
causerie_status causerie_event_text(causerie_event *event, const char **text);
/* The number of calls, rejected calls, tokens or samples. */
causerie_status causerie_event_count(causerie_event *event, size_t *count);
/* A call, each part or NULL. arguments is a JSON object. */
causerie_status causerie_event_call(causerie_event *event, size_t index, const char **name, const char **arguments,
                                    const char **call_id);
/* A rejected call, each part or NULL. reason is a code of docs/codes.md. */
causerie_status causerie_event_rejected(causerie_event *event, size_t index, const char **reason, const char **message,
                                        const char **raw_text);
/* The call that a result belongs to, each part or NULL. A rejected call may have no name and no id, which are NULL then. */
causerie_status causerie_event_result(causerie_event *event, const char **name, const char **call_id, bool *is_error);
/* A token and the natural logarithm of its probability, each or NULL. */
causerie_status causerie_event_token(causerie_event *event, size_t index, const char **token, double *logprob);
/* Copies mono samples from -1 to 1, at most capacity. */
causerie_status causerie_event_samples(causerie_event *event, float *samples, size_t capacity, uint32_t *sample_rate);
/* A causerie_finish_reason, or a negative number for one of a later version. */
causerie_status causerie_event_finish_reason(causerie_event *event, int32_t *reason);
/* The whole message as JSON, as it stands in the history. */
causerie_status causerie_event_message(causerie_event *event, const char **message);
causerie_status causerie_event_statistic(causerie_event *event, causerie_statistic which, double *value);
causerie_status causerie_event_free(causerie_event *event);

#ifdef __cplusplus
}
#endif

#endif
