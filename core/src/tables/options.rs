//! The tables of options and of their choices, each with its type, its documentation, its default and its limits. The structs of
//! this crate, the records for Swift, Kotlin and Python, the options by name of C and Node, and the sources that `bindings/bindgen`
//! writes come from here, so an option is added by one row.
//!
//! A table is a macro. It calls the macro that its first argument names, with its other arguments and then its rows. A row without a
//! default has the default of its type, so an `Option` is absent. The documentation is read in all languages: it links to nothing, and calls an option by its name in Rust.
//! `#[foreign = "…"]` is the name in Swift, Kotlin and Python if it is another one.

/// Calls the macro `$then` with the options of a reply.
#[doc(hidden)]
#[macro_export]
macro_rules! __generation_options {
    ($then:ident $($header:tt)*) => {
        $then! {
            $($header)*
            /// The notation of calls in the reply. Without one, parsing is off, and calls arrive as chunks of text. Default: the notation
            /// that the model writes.
            function_call_parser: Option<FunctionCallParser> = Some(FunctionCallParser::default());
            /// How calls are handled that can be read only after a repair. Default: they are delivered.
            parser_strictness: Strictness;
            /// Randomness of the choice of tokens; 0 always picks the most probable token. Default 1.0.
            temperature: Option<f32>, AtLeast(0.0);
            /// Nucleus sampling: keeps the most probable tokens up to this cumulative probability, between 0 and 1; 0 keeps the most
            /// probable token only. Default 1.0.
            top_p: Option<f32>, Between(0.0, 1.0);
            /// Keeps the k most probable tokens; 0 keeps all. Default 50.
            top_k: Option<usize>;
            /// Keeps tokens with at least this fraction of the most probable token's probability, between 0 and 1. Default 0.
            min_p: Option<f32>, Between(0.0, 1.0);
            /// Values above 1.0 make tokens that occur in the prompt or the reply less probable. Default 1.0.
            repetition_penalty: Option<f32>, Above(0.0);
            /// Subtracted once from the logit of each token that occurs in the reply, between -2 and 2. Values above 0 favour new
            /// topics. Default 0.
            presence_penalty: Option<f32>, Between(-2.0, 2.0);
            /// Subtracted from the logit of a token for each of its occurrences in the reply, between -2 and 2. Default 0.
            frequency_penalty: Option<f32>, Between(-2.0, 2.0);
            /// Values added to the logits of tokens, by id, between -100 and 100; -100 practically excludes a token. Default: none.
            logit_bias: BTreeMap<u32, f32>, Between(-100.0, 100.0);
            /// Reports each token's log-probability in `Logprobs` events, with this many of the likeliest alternatives, 0 to 20.
            /// Default: no such events.
            logprobs: Option<usize>, Between(0, 20);
            /// Seed of the random choices. On the CPU, the same seed, model, build and prompt give the same reply, whatever else is
            /// generated at the same time or is cached (docs/adr/0015). On Metal, the last bits of logits may differ if part of the
            /// prompt comes from the cache. Default: a random seed, which is reported with the reply.
            #[foreign = "rng_seed"]
            seed: Option<u64>;
            /// The largest number of tokens of the reply. Default: no limit but the context.
            max_tokens: Option<usize>, AtLeast(1);
            /// Continues after tokens that end a reply, until `max_tokens` or the end of the context. For benchmarks, which need
            /// replies of equal length. Default: no.
            ignore_end: bool;
            /// Strings that end the reply. They are not part of it.
            stop_sequences: Vec<String>;
            /// Whether the model may or must call functions. Default: the model decides.
            tool_choice: ToolChoice;
            /// Whether a reply may contain several calls. If not, a constraint prevents further calls; without a constraint they are
            /// delivered with the diagnostic `parallel_limit`. Default: yes.
            parallel_tool_calls: bool = true;
            /// Names of the functions of the conversation that the prompt lists, in the order in which they were registered. The others
            /// stay in the history and may not be called; `allowed_tools` may not name them. With many functions, a small model makes
            /// more right calls if the few that fit the message are offered alone; an embedding model chooses them. A prompt that lists
            /// the same functions as the one before goes on from the prefix cache. Default: all.
            offered_functions: Option<Vec<String>>;
            /// The largest number of functions that the prompt lists, besides those that the conversation has called. If there are more,
            /// those that fit the user's messages best are chosen, by the embedding model that the runner's `set_function_ranker` sets,
            /// without which this option is an error. The better half for the last message is always listed. Functions that were listed
            /// before keep their places, so that messages about the same things have the same list, and their prompts go on from the
            /// prefix cache (docs/functions.md). With `offered_functions` or `allowed_tools` the choice is among these. Default: no limit.
            max_offered_functions: Option<usize>, AtLeast(1);
            /// Names of the functions that may be called, out of the ones that the prompt offers. A constraint prevents calls of other
            /// functions; without a constraint they are delivered with the diagnostic `tool_not_allowed`. Default: all.
            allowed_tools: Option<Vec<String>>;
            /// Whether calls are constrained to the declared functions during generation. Default: they are not.
            tool_call_constraint: ToolCallConstraint;
            /// A JSON Schema, as JSON text, that constrains the text of the reply. Functions can still be called: a reply is either an
            /// answer that fits the schema or a block of calls. Reasoning is not constrained. Default: none.
            json_schema_constraint: Option<String>;
            /// Whether the prompt states that schema, at the end of the system message. The history does not change. Default: yes.
            inject_schema_into_prompt: bool = true;
            /// Continues the last message of the history, which must be a reply without calls: the prompt ends with its text, and the
            /// new text is added to it. The events report the new text only. Default: no.
            continue_final_message: bool;
            /// Requests reasoning from templates that have the variable `enable_thinking`, and delivers reasoning in `ReasoningChunk`
            /// events. Otherwise, reasoning that a model writes all the same is only kept in the message. Default: no.
            enable_thinking: bool;
            /// Delivers reasoning as part of the text, between `<think>` and `</think>`. Default: no.
            inline_thinking_tags: bool;
            /// Further variables for the chat template, such as `{"style": "brief"}`. Variables that causerie sets itself are an error.
            /// Default: none.
            template_variables: Arguments;
            /// Ends the reply after its first block of calls. Some models regularly write text after calls. Default: no.
            stop_after_tool_calls: bool;
            /// Ends a reply whose end only repeats itself, with the diagnostic `repeated_tail`: the same words over three kilobytes and
            /// 128 times, or the same paragraph over eight kilobytes. Data, code and drawings may repeat a part 1,024 times. Text that
            /// is held to a schema and calls never end so. Default: on for the demo model, and off for others.
            stop_on_repetition: Option<bool>;
            /// Whether, and in which order, a model that speaks gives text and sound. Default: as the system prompt asks.
            speech_mode: SpeechMode;
            /// Randomness of the choice of sounds; 0 always picks the most probable. Default 1.0 in interleaved replies, 0.8 in others.
            speech_temperature: Option<f32>, AtLeast(0.0);
            /// Keeps the k most probable sounds; 0 keeps all. Default 4 in interleaved replies, 64 in others.
            speech_top_k: Option<usize>;
            /// What remains of a cancelled reply in the history. Default: the text so far.
            on_cancel: OnCancel;
            /// How a request is handled while the conversation is generating another reply. Default: an error.
            on_busy: OnBusy;
            /// How a history that does not fit the context is handled. Default: an error.
            context_policy: ContextPolicy;
            /// Cancels the reply after this time, which includes the time in the request queue. Default: no limit.
            #[foreign = "timeout_milliseconds"]
            timeout: Option<Duration>;
        }
    };
}

/// Calls the macro `$then` with the sampling values that a model's files may recommend.
#[doc(hidden)]
#[macro_export]
macro_rules! __sampling_defaults {
    ($then:ident $($header:tt)*) => {
        $then! {
            $($header)*
            /// As in `GenerationOptions`.
            temperature: Option<f32>, AtLeast(0.0);
            /// As in `GenerationOptions`.
            top_p: Option<f32>, Between(0.0, 1.0);
            /// As in `GenerationOptions`.
            top_k: Option<usize>;
            /// As in `GenerationOptions`.
            min_p: Option<f32>, Between(0.0, 1.0);
            /// As in `GenerationOptions`.
            repetition_penalty: Option<f32>, Above(0.0);
        }
    };
}

/// Calls the macro `$then` with the options of loading a model.
#[doc(hidden)]
#[macro_export]
macro_rules! __load_options {
    ($then:ident $($header:tt)*) => {
        $then! {
            $($header)*
            /// The largest number of tokens of a prompt and its reply together, limited to the model's own context size. Default: the
            /// model's context size, at most 8,192.
            context_size: Option<usize>, AtLeast(1);
            /// The device that computes. Default: the CPU.
            device: Device;
            /// Threads that compute on the CPU, 1 to 1024. No result depends on it. Default: the number of cores; if there are fast
            /// and slow ones, the number of fast ones.
            threads: Option<usize>, Between(1, 1024);
            /// The storage format of keys and values; with the feature `metal` it is always F32 on Metal. Default: F16.
            cache_type: CacheType;
            /// A chat template that replaces the model's own.
            chat_template: Option<String>;
            /// A GGUF file with the projector of a vision model (mmproj). Default: the projector in the model's own files, or a file
            /// beside the model's, whose name contains `mmproj` or `projector`.
            projector: Option<PathBuf>;
            /// Which names functions may have. Default: letters, digits, `_` and `-`.
            function_names: FunctionNames;
            /// Sampling values that replace the ones that the model's files recommend. The options of a reply take precedence.
            generation_defaults: SamplingDefaults;
            /// Size limit of the prefix cache in bytes; 0 disables the cache. The entry used last is kept even if it alone is larger.
            /// An eighth as much is kept of images that were computed, for pictures that are shown again. Default 512 MiB.
            cache_bytes: u64 = 512 << 20;
            /// Whether transparent pixels of pictures show the colours that their file has there, as in transformers. Such colours were
            /// never meant to be seen: black ink on a transparent ground is often black on black. Default: no, they are put on white.
            ignores_transparency: bool;
            /// A GGUF file with the part of an audio model that writes frames of sound (vocoder). Default: the part in the model's own
            /// folder, or a file beside the model's, whose name contains `vocoder` or `audiodecoder`.
            audio_decoder: Option<PathBuf>;
            /// A GGUF file or folder with the part of an audio model that turns frames into sound. Default: the folder
            /// `audio_detokenizer` in the model's own, or a file beside the model's, whose name contains `tokenizer`.
            audio_tokenizer: Option<PathBuf>;
            /// A folder of the app for packed weights. The first load of a model writes its weights there as the kernels read them, and
            /// later ones map that file instead of reading the model's: they take a fraction of the time and, with mapped weights, of
            /// the memory. No other program may write to the folder. Packed weights are as large as the weights of the model. When new
            /// ones are written, older ones are removed: of other releases, of models that are gone, and the oldest above the limit.
            /// On a GPU, and for a model in memory, nothing is written. Default: none.
            packed_folder: Option<PathBuf>;
            /// The limit of all packed weights in that folder in bytes. A larger model is not packed. Default 16 GiB.
            packed_bytes: u64 = 16 << 30;
            /// How packed weights come into memory. No result depends on it. Default: mapped on iOS and Android, `Auto` elsewhere.
            weight_memory: WeightMemory;
            /// The GPU's name, or a part of it in upper or lower case, as `causerie inspect devices` shows it. A software device is
            /// taken only by its name. Default: a card with memory of its own, or else the processor's.
            gpu_name: Option<String>;
            /// The memory of the GPU that the model and its sequences may take, in bytes. A model that needs more is refused, or goes
            /// to the CPU if the device is chosen by `Auto`; where sequences need more, replies go on on the CPU. Default: what the
            /// system leaves to the process.
            gpu_bytes: Option<u64>;
        }
    };
}

/// Calls the macro `$then` with the limits on the function calls of one message.
#[doc(hidden)]
#[macro_export]
macro_rules! __round_options {
    ($then:ident $($header:tt)*) => {
        $then! {
            $($header)*
            /// Maximum number of replies whose calls are run. The calls of the next reply are left to the app, which finds them in its
            /// `Complete`. Default 8.
            max_rounds: usize = 8;
            /// How long a function may take. After that the model reads that the function took too long. Default: no limit.
            time_limit: Option<Duration>;
            /// Whether all calls of a reply are run at once. Default: one after the other. Results come in the order of the calls.
            in_parallel: bool;
        }
    };
}
