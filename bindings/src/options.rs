//! Options for loading a model and for generating a reply.

use std::collections::HashMap;
use std::time::Duration;

use causerie as core;

use crate::json::JsonObject;
use crate::number::{SdkCount, SdkLong};

/// Options for generating a reply. An absent option takes the model's default, or else the default given here.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct GenerationOptions {
    /// The parser that finds calls in the reply. If absent, parsing is off, and call text arrives as chunks.
    pub function_call_parser: Option<FunctionCallParser>,
    /// Whether calls that needed repairs are delivered or rejected. Default: delivered.
    #[uniffi(default)]
    pub parser_strictness: Option<Strictness>,
    /// Randomness; 0 always takes the most probable token. Default 1.0.
    #[uniffi(default)]
    pub temperature: Option<f32>,
    /// Keeps the most probable tokens whose probabilities sum up to this value. Default 1.0.
    #[uniffi(default)]
    pub top_p: Option<f32>,
    /// Keeps the k most probable tokens; 0 keeps all. Default 50.
    #[uniffi(default)]
    pub top_k: Option<SdkCount>,
    /// Keeps tokens with at least this fraction of the highest probability. Default 0.
    #[uniffi(default)]
    pub min_p: Option<f32>,
    /// Values above 1.0 make tokens of the prompt and the reply less probable. Default 1.0.
    #[uniffi(default)]
    pub repetition_penalty: Option<f32>,
    /// Subtracted from the logit of each token that the reply contains, from -2 to 2. Default 0.
    #[uniffi(default)]
    pub presence_penalty: Option<f32>,
    /// Subtracted from the logit of a token for each occurrence in the reply, from -2 to 2. Default 0.
    #[uniffi(default)]
    pub frequency_penalty: Option<f32>,
    /// Added to the logits of tokens, by token id, from -100 to 100. Default: none.
    #[uniffi(default)]
    pub logit_bias: Option<HashMap<SdkCount, f32>>,
    /// Reports each token's log-probability, with this many of the most probable alternatives, 0 to 20. Default: off.
    #[uniffi(default)]
    pub logprobs: Option<SdkCount>,
    /// The seed of sampling. Default: a random one, which is reported with the reply.
    #[uniffi(default)]
    pub rng_seed: Option<SdkLong>,
    /// Maximum number of tokens in the reply. Default: until the model ends or the context is full.
    #[uniffi(default)]
    pub max_tokens: Option<SdkCount>,
    /// Strings that end the reply. They are not part of it.
    #[uniffi(default)]
    pub stop_sequences: Vec<String>,
    /// Whether functions are called. Default: the model decides.
    #[uniffi(default)]
    pub tool_choice: Option<ToolChoice>,
    /// Whether a reply may make several calls. If not, constrained replies make only one; otherwise further calls get a
    /// diagnostic.
    #[uniffi(default = true)]
    pub parallel_tool_calls: bool,
    /// Names of the functions of the conversation that the prompt lists. The others stay in the history. Default: all.
    #[uniffi(default)]
    pub offered_functions: Option<Vec<String>>,
    /// The largest number of functions that the prompt lists, besides those that the conversation has called. If there are more, those
    /// that fit the user's messages best are chosen, by the embedding model that `set_function_ranker` of the runner sets, without
    /// which this option is an error. Default: no limit.
    #[uniffi(default)]
    pub max_offered_functions: Option<SdkCount>,
    /// Names of the offered functions that may be called. Default: all.
    #[uniffi(default)]
    pub allowed_tools: Option<Vec<String>>,
    /// Whether calls are constrained to the declared functions. Default: off.
    #[uniffi(default)]
    pub tool_call_constraint: Option<ToolCallConstraint>,
    /// A JSON Schema, as JSON text, that constrains the text of the reply. Functions can still be called.
    #[uniffi(default)]
    pub json_schema_constraint: Option<String>,
    /// Adds that schema to the prompt. It does not join the history.
    #[uniffi(default = true)]
    pub inject_schema_into_prompt: bool,
    /// Continues the last message of the history, which must be a reply without calls. The events report the new text only.
    #[uniffi(default = false)]
    pub continue_final_message: bool,
    /// Delivers reasoning as reasoning chunks. If false, it is only kept in the message.
    #[uniffi(default = false)]
    pub enable_thinking: bool,
    /// Delivers reasoning within the text, between `<think>` and `</think>`.
    #[uniffi(default = false)]
    pub inline_thinking_tags: bool,
    /// Additional variables for the chat template.
    #[uniffi(default)]
    pub template_variables: Option<JsonObject>,
    /// Ends the reply after its first block of calls.
    #[uniffi(default = false)]
    pub stop_after_tool_calls: bool,
    /// Ends a reply whose end only repeats itself, with the diagnostic `repeated_tail`. Default: on for the demo model, and off
    /// for others.
    #[uniffi(default)]
    pub stop_on_repetition: Option<bool>,
    /// Whether, and in which order, a model that speaks gives text and sound. Default: as the system prompt asks.
    #[uniffi(default)]
    pub speech_mode: Option<SpeechMode>,
    /// Randomness of the choice of sounds; 0 always takes the most probable. Default 1.0 in interleaved replies, 0.8 in others.
    #[uniffi(default)]
    pub speech_temperature: Option<f32>,
    /// Keeps the k most probable sounds; 0 keeps all. Default 4 in interleaved replies, 64 in others.
    #[uniffi(default)]
    pub speech_top_k: Option<SdkCount>,
    /// What remains of a cancelled reply in the history. Default: the text so far.
    #[uniffi(default)]
    pub on_cancel: Option<OnCancel>,
    /// What a request does while another reply of the conversation is being generated. Default: it fails.
    #[uniffi(default)]
    pub on_busy: Option<OnBusy>,
    /// How a history that does not fit the context is treated. Default: an error.
    #[uniffi(default)]
    pub context_policy: Option<ContextPolicy>,
    /// Milliseconds after which the reply is cancelled. Default: never.
    #[uniffi(default)]
    pub timeout_milliseconds: Option<SdkLong>,
}

/// Makes the twin of the parsers from the core's table of notations.
macro_rules! function_call_parser {
    ($($(#[$doc:meta])* $module:ident: $variant:ident, $short:ident, $names:expr;)*) => {
        /// The notation of function calls.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
        pub enum FunctionCallParser {
            /// The notation that the loaded model writes.
            Model,
            $($(#[$doc])* $short,)*
        }

        impl From<FunctionCallParser> for core::FunctionCallParser {
            fn from(parser: FunctionCallParser) -> Self {
                match parser {
                    FunctionCallParser::Model => Self::ModelFunctionCallParser,
                    $(FunctionCallParser::$short => Self::$variant,)*
                }
            }
        }

        impl From<core::FunctionCallParser> for FunctionCallParser {
            fn from(parser: core::FunctionCallParser) -> Self {
                match parser {
                    $(core::FunctionCallParser::$variant => Self::$short,)*
                    _ => Self::Model,
                }
            }
        }
    };
}

core::__notations!(function_call_parser);

/// Treatment of calls that needed repairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum Strictness {
    /// They are delivered, with the codes of the repairs.
    Recover,
    /// They are rejected, with the repaired call as candidate.
    Strict,
}

/// Whether functions are called.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// No function is called; the prompt still offers them.
    None,
    /// The reply begins with a call.
    Required,
    /// The reply begins with a call of this function and calls no other.
    Function {
        /// Its name.
        name: String,
    },
}

/// Whether calls are constrained to the declared functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ToolCallConstraint {
    /// Calls are not constrained, only validated afterwards.
    Off,
    /// Once the model begins a call, only valid calls of declared functions are allowed.
    Typed,
}

/// What remains of a cancelled reply in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum OnCancel {
    /// The reply so far, marked as incomplete.
    KeepPartial,
    /// Only the message that it answers.
    DropPartial,
    /// Neither the reply nor the message that it answers.
    DropTurn,
}

/// Whether, and in which order, a model that speaks gives text and sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum SpeechMode {
    /// As the system prompt asks: interleaved after `Respond with interleaved text and audio.`, sequential otherwise.
    Auto,
    /// Text alone.
    Off,
    /// Text, until the model begins to speak.
    Sequential,
    /// A few words and their sound in turn.
    Interleaved,
}

/// What a request does while another reply of the conversation is being generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum OnBusy {
    /// It fails with `Busy`.
    Error,
    /// It waits until the requests before it have ended.
    Queue,
    /// It cancels the requests before it, and waits until they have ended.
    Replace,
}

/// Treatment of a history that does not fit the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ContextPolicy {
    /// The reply fails.
    Error,
    /// The prompt omits whole turns, the oldest first.
    Slide {
        /// Whether function results in older turns are cut short first.
        shrink_tool_results: bool,
    },
}

/// The device that computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum Device {
    /// The CPU.
    Cpu,
    /// The GPU of an Apple device.
    Metal,
}

/// The storage format of keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum CacheType {
    /// Half the memory and traffic of F32; the usual choice of other engines.
    F16,
    /// For exact comparisons with reference results.
    F32,
    /// 8-bit integers with a scale for each 32 elements of a head: slightly more than half of F16, for long contexts. It is
    /// less exact; measure the effect on your model.
    Q8_0,
}

/// How packed weights come into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum WeightMemory {
    /// They stay in the file, which is mapped: loading copies nothing, and the memory counts as the system's.
    Mapped,
    /// They are read into memory of the process, and the file is not used any more.
    Copied,
    /// They are mapped, and copied while no reply runs if there is enough free memory: replies are written faster then.
    Auto,
}

/// The rule for names of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum FunctionNames {
    /// Letters, digits, `_` and `-`, at most 200; identifiers are recommended.
    Plain,
    /// Also several such names joined by dots.
    Dotted,
}

/// Sampling values that replace those that a model's files recommend.
#[derive(Clone, Debug, Default, PartialEq, uniffi::Record)]
#[expect(missing_docs, reason = "as in GenerationOptions")]
pub struct SamplingDefaults {
    #[uniffi(default)]
    pub temperature: Option<f32>,
    #[uniffi(default)]
    pub top_p: Option<f32>,
    #[uniffi(default)]
    pub top_k: Option<SdkCount>,
    #[uniffi(default)]
    pub min_p: Option<f32>,
    #[uniffi(default)]
    pub repetition_penalty: Option<f32>,
}

/// Options for loading a model.
#[derive(Clone, Debug, Default, PartialEq, uniffi::Record)]
pub struct LoadOptions {
    /// Context size in tokens, for a prompt and its reply together. Default: that of the model, at most 8,192.
    #[uniffi(default)]
    pub context_size: Option<SdkCount>,
    /// The device that computes. Default: the CPU.
    #[uniffi(default)]
    pub device: Option<Device>,
    /// Number of computing threads, 1 to 1024. Results do not depend on it. Default: the number of fast cores.
    #[uniffi(default)]
    pub threads: Option<SdkCount>,
    /// The storage format of keys and values. Default: F16.
    #[uniffi(default)]
    pub cache_type: Option<CacheType>,
    /// A chat template that replaces the model's own.
    #[uniffi(default)]
    pub chat_template: Option<String>,
    /// A GGUF file with the projector of a vision model (mmproj). Default: the projector in the model's own files, or
    /// a file beside the model's, whose name contains `mmproj` or `projector`.
    #[uniffi(default)]
    pub projector: Option<String>,
    /// The rule for names of functions. Default: letters, digits, `_` and `-`.
    #[uniffi(default)]
    pub function_names: Option<FunctionNames>,
    /// Sampling values that replace those that the model's files recommend.
    #[uniffi(default)]
    pub generation_defaults: Option<SamplingDefaults>,
    /// Size of the prefix cache in bytes; 0 switches it off. Default 512 MiB.
    #[uniffi(default)]
    pub cache_bytes: Option<SdkLong>,
    /// Whether transparent pixels of pictures show the colours that their file has there, as in transformers. Default: no, they are
    /// put on white.
    #[uniffi(default)]
    pub ignores_transparency: Option<bool>,
    /// A GGUF file with the part of an audio model that writes frames of sound (vocoder). Default: the part in the model's own
    /// folder, or a file beside the model's, whose name contains `vocoder` or `audiodecoder`.
    #[uniffi(default)]
    pub audio_decoder: Option<String>,
    /// A GGUF file or folder with the part of an audio model that turns frames into sound. Default: the folder
    /// `audio_detokenizer` in the model's own, or a file beside the model's, whose name contains `tokenizer`.
    #[uniffi(default)]
    pub audio_tokenizer: Option<String>,
    /// A folder of the app for packed weights. The first load of a model writes its weights there as they are computed with, and
    /// later ones map that file instead of reading the model's. No other program may write to the folder. Default: none.
    #[uniffi(default)]
    pub packed_folder: Option<String>,
    /// The limit of all packed weights in that folder in bytes; the oldest are removed. Default 16 GiB.
    #[uniffi(default)]
    pub packed_bytes: Option<SdkLong>,
    /// How packed weights come into memory. Results do not depend on it. Default: mapped on iOS and Android, `Auto` elsewhere.
    #[uniffi(default)]
    pub weight_memory: Option<WeightMemory>,
}

impl From<GenerationOptions> for core::GenerationOptions {
    fn from(options: GenerationOptions) -> Self {
        Self {
            temperature: options.temperature,
            top_p: options.top_p,
            top_k: options.top_k.map(SdkCount::size),
            min_p: options.min_p,
            repetition_penalty: options.repetition_penalty,
            presence_penalty: options.presence_penalty,
            frequency_penalty: options.frequency_penalty,
            logit_bias: options.logit_bias.into_iter().flatten().map(|(id, bias)| (id.0, bias)).collect(),
            logprobs: options.logprobs.map(SdkCount::size),
            seed: options.rng_seed.map(|seed| seed.0),
            max_tokens: options.max_tokens.map(SdkCount::size),
            stop_sequences: options.stop_sequences,
            function_call_parser: options.function_call_parser.map(Into::into),
            parser_strictness: options.parser_strictness.map_or_else(Default::default, |strictness| match strictness {
                Strictness::Recover => core::Strictness::Recover,
                Strictness::Strict => core::Strictness::Strict,
            }),
            tool_choice: options.tool_choice.map_or_else(Default::default, |choice| match choice {
                ToolChoice::Auto => core::ToolChoice::Auto,
                ToolChoice::None => core::ToolChoice::None,
                ToolChoice::Required => core::ToolChoice::Required,
                ToolChoice::Function { name } => core::ToolChoice::Function(name),
            }),
            parallel_tool_calls: options.parallel_tool_calls,
            offered_functions: options.offered_functions,
            max_offered_functions: options.max_offered_functions.map(SdkCount::size),
            allowed_tools: options.allowed_tools,
            tool_call_constraint: options.tool_call_constraint.map_or_else(Default::default, |constraint| {
                match constraint {
                    ToolCallConstraint::Off => core::ToolCallConstraint::Off,
                    ToolCallConstraint::Typed => core::ToolCallConstraint::Typed,
                }
            }),
            json_schema_constraint: options.json_schema_constraint,
            inject_schema_into_prompt: options.inject_schema_into_prompt,
            continue_final_message: options.continue_final_message,
            enable_thinking: options.enable_thinking,
            inline_thinking_tags: options.inline_thinking_tags,
            template_variables: options.template_variables.map(|variables| variables.0).unwrap_or_default(),
            stop_after_tool_calls: options.stop_after_tool_calls,
            stop_on_repetition: options.stop_on_repetition,
            speech: core::SpeechOptions {
                mode: options.speech_mode.map_or_else(Default::default, |mode| match mode {
                    SpeechMode::Auto => core::SpeechMode::Auto,
                    SpeechMode::Off => core::SpeechMode::Off,
                    SpeechMode::Sequential => core::SpeechMode::Sequential,
                    SpeechMode::Interleaved => core::SpeechMode::Interleaved,
                }),
                temperature: options.speech_temperature,
                top_k: options.speech_top_k.map(SdkCount::size),
            },
            on_cancel: options.on_cancel.map_or_else(Default::default, |on_cancel| match on_cancel {
                OnCancel::KeepPartial => core::OnCancel::KeepPartial,
                OnCancel::DropPartial => core::OnCancel::DropPartial,
                OnCancel::DropTurn => core::OnCancel::DropTurn,
            }),
            on_busy: options.on_busy.map_or_else(Default::default, |on_busy| match on_busy {
                OnBusy::Error => core::OnBusy::Error,
                OnBusy::Queue => core::OnBusy::Queue,
                OnBusy::Replace => core::OnBusy::Replace,
            }),
            context_policy: options.context_policy.map_or_else(Default::default, |policy| match policy {
                ContextPolicy::Error => core::ContextPolicy::Error,
                ContextPolicy::Slide { shrink_tool_results } => core::ContextPolicy::Slide { shrink_tool_results },
            }),
            timeout: options.timeout_milliseconds.map(|milliseconds| Duration::from_millis(milliseconds.0)),
            ..Self::default()
        }
    }
}

impl From<Device> for core::Device {
    fn from(device: Device) -> Self {
        match device {
            Device::Cpu => Self::Cpu,
            Device::Metal => Self::Metal,
        }
    }
}

impl From<CacheType> for core::CacheType {
    fn from(cache_type: CacheType) -> Self {
        match cache_type {
            CacheType::F16 => Self::F16,
            CacheType::F32 => Self::F32,
            CacheType::Q8_0 => Self::Q8_0,
        }
    }
}

impl From<WeightMemory> for core::WeightMemory {
    fn from(memory: WeightMemory) -> Self {
        match memory {
            WeightMemory::Mapped => Self::Mapped,
            WeightMemory::Copied => Self::Copied,
            WeightMemory::Auto => Self::Auto,
        }
    }
}

impl From<LoadOptions> for core::LoadOptions {
    fn from(options: LoadOptions) -> Self {
        let defaults = Self::default();
        let sampling = options.generation_defaults.unwrap_or_default();
        Self {
            context_size: options.context_size.map(SdkCount::size),
            device: options.device.map_or_else(Default::default, Into::into),
            gpu_name: defaults.gpu_name,
            gpu_bytes: defaults.gpu_bytes,
            threads: options.threads.map(SdkCount::size),
            cache_type: options.cache_type.map_or_else(Default::default, Into::into),
            chat_template: options.chat_template,
            projector: options.projector,
            audio_decoder: options.audio_decoder,
            audio_tokenizer: options.audio_tokenizer,
            ignores_transparency: options.ignores_transparency.unwrap_or(defaults.ignores_transparency),
            function_names: options.function_names.map_or_else(Default::default, |names| match names {
                FunctionNames::Plain => core::FunctionNames::Plain,
                FunctionNames::Dotted => core::FunctionNames::Dotted,
            }),
            generation_defaults: core::SamplingDefaults {
                temperature: sampling.temperature,
                top_p: sampling.top_p,
                top_k: sampling.top_k.map(SdkCount::size),
                min_p: sampling.min_p,
                repetition_penalty: sampling.repetition_penalty,
            },
            cache_bytes: options.cache_bytes.map_or(defaults.cache_bytes, SdkLong::size),
            packed_folder: options.packed_folder,
            packed_bytes: options.packed_bytes.map_or(defaults.packed_bytes, |n_bytes| n_bytes.0),
            weight_memory: options.weight_memory.map_or_else(Default::default, Into::into),
        }
    }
}
