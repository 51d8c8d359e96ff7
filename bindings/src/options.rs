//! Options of loading and of one generation.

use std::collections::HashMap;
use std::time::Duration;

use causerie as core;

use crate::json::JsonObject;
use crate::number::{SdkCount, SdkLong};

/// How one reply is generated. What is absent takes the model's own default, else that of the specification.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct GenerationOptions {
    /// How calls are found in the reply; absent switches parsing off, and call text arrives as chunks.
    pub function_call_parser: Option<FunctionCallParser>,
    /// What becomes of calls that had to be mended to be read. Default: they are delivered.
    #[uniffi(default)]
    pub parser_strictness: Option<Strictness>,
    /// What becomes of arguments that the model wrote without their names. Default: their call is rejected.
    #[uniffi(default)]
    pub positional_arguments: Option<PositionalArguments>,
    /// Takes a reply that begins with a list of calls without markers as calls, where all its functions are registered.
    #[uniffi(default = false)]
    pub bare_calls: bool,
    /// What becomes of the text of rejected calls. Default: it is text where no call was delivered.
    #[uniffi(default)]
    pub rejected_call_text: Option<RejectedCallText>,
    /// Randomness: 0 always picks the most probable token. Default 1.0.
    #[uniffi(default)]
    pub temperature: Option<f32>,
    /// Keeps the most probable tokens up to this probability in sum. Default 1.0.
    #[uniffi(default)]
    pub top_p: Option<f32>,
    /// Keeps the k most probable tokens; 0 keeps all. Default 50.
    #[uniffi(default)]
    pub top_k: Option<SdkCount>,
    /// Keeps tokens of at least this share of the best one's probability. Default 0.
    #[uniffi(default)]
    pub min_p: Option<f32>,
    /// Above 1.0, makes tokens of the prompt and of the reply less probable. Default 1.0.
    #[uniffi(default)]
    pub repetition_penalty: Option<f32>,
    /// Taken off the logit of a token once the reply has it, from -2 to 2. Default 0.
    #[uniffi(default)]
    pub presence_penalty: Option<f32>,
    /// Taken off the logit of a token for each time that the reply has it, from -2 to 2. Default 0.
    #[uniffi(default)]
    pub frequency_penalty: Option<f32>,
    /// Added to the logits of tokens, by id, from -100 to 100. Default: nothing.
    #[uniffi(default)]
    pub logit_bias: Option<HashMap<SdkCount, f32>>,
    /// Tells how likely each token was, beside so many of the most probable ones, 0 to 20. Default: nothing is told.
    #[uniffi(default)]
    pub logprobs: Option<SdkCount>,
    /// Fixes the draws. Default: drawn anew, and reported with the reply.
    #[uniffi(default)]
    pub rng_seed: Option<SdkLong>,
    /// Tokens of reply at most. Default: until the model ends or the context is full.
    #[uniffi(default)]
    pub max_tokens: Option<SdkCount>,
    /// Texts that end the reply; they are not part of it.
    #[uniffi(default)]
    pub stop_sequences: Vec<String>,
    /// Whether functions are called. Default: as the model likes.
    #[uniffi(default)]
    pub tool_choice: Option<ToolChoice>,
    /// Whether a reply may make several calls. Further ones are kept from being written where calls are constrained, else
    /// flagged.
    #[uniffi(default = true)]
    pub parallel_tool_calls: bool,
    /// Names of the functions that may be called, of those that the prompt offers. Default: all.
    #[uniffi(default)]
    pub allowed_tools: Option<Vec<String>>,
    /// Whether calls are held to the declared functions while they are written. Default: off.
    #[uniffi(default)]
    pub tool_call_constraint: Option<ToolCallConstraint>,
    /// A JSON Schema, as JSON text, that the text of the reply must fit; functions can be called all the same.
    #[uniffi(default)]
    pub json_schema_constraint: Option<String>,
    /// Tells the model of that schema, in the prompt alone.
    #[uniffi(default = true)]
    pub inject_schema_into_prompt: bool,
    /// Delivers reasoning as reasoning chunks; else it is only kept with the message.
    #[uniffi(default = false)]
    pub enable_thinking: bool,
    /// Delivers reasoning within the text, between `<think>` and `</think>`.
    #[uniffi(default = false)]
    pub inline_thinking_tags: bool,
    /// Variables for the chat template besides those that all of them know, for what a newer one takes.
    #[uniffi(default)]
    pub template_variables: Option<JsonObject>,
    /// Ends the reply behind its first block of calls.
    #[uniffi(default = false)]
    pub stop_after_tool_calls: bool,
    /// What stays of a cancelled reply. Default: what was written.
    #[uniffi(default)]
    pub on_cancel: Option<OnCancel>,
    /// What happens while another reply of the conversation is being written. Default: an error.
    #[uniffi(default)]
    pub on_busy: Option<OnBusy>,
    /// What happens to a history that does not fit the context. Default: an error.
    #[uniffi(default)]
    pub context_policy: Option<ContextPolicy>,
    /// Milliseconds after which the reply is cancelled. Default: never.
    #[uniffi(default)]
    pub timeout_milliseconds: Option<SdkLong>,
}

/// How a model family writes its function calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum FunctionCallParser {
    /// Python-style calls between `<|tool_call_start|>` and `<|tool_call_end|>`.
    Default,
    /// JSON objects between `<tool_call>` and `</tool_call>`.
    JsonStyle,
}

impl From<FunctionCallParser> for core::FunctionCallParser {
    fn from(parser: FunctionCallParser) -> Self {
        match parser {
            FunctionCallParser::Default => Self::DefaultFunctionCallParser,
            FunctionCallParser::JsonStyle => Self::JsonStyleFunctionCallParser,
        }
    }
}

impl From<core::FunctionCallParser> for FunctionCallParser {
    fn from(parser: core::FunctionCallParser) -> Self {
        match parser {
            core::FunctionCallParser::DefaultFunctionCallParser => Self::Default,
            core::FunctionCallParser::JsonStyleFunctionCallParser => Self::JsonStyle,
        }
    }
}

/// What becomes of calls that had to be mended to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum Strictness {
    /// They are delivered, with their repairs named.
    Recover,
    /// They are rejected, with the mended call as candidate.
    Strict,
}

/// What becomes of Python arguments without names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum PositionalArguments {
    /// Their call is rejected.
    Reject,
    /// They take the names of the function's parameters, in their order.
    MapByOrder,
}

/// What becomes of the text of a block of calls that could not be delivered, besides its rejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum RejectedCallText {
    /// It is text, in its place, when no call of its block was delivered.
    WhenNoCall,
    /// It stands in the rejection alone.
    Never,
    /// It is text in any case, behind the calls of its block.
    Always,
}

/// Whether functions are called.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ToolChoice {
    /// As the model likes.
    Auto,
    /// No function is called; the prompt still offers them.
    None,
    /// The reply begins with a call.
    Required,
    /// The reply begins with a call of this function, and calls no other.
    Function {
        /// Its name.
        name: String,
    },
}

/// Whether calls are held to the declared functions while they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ToolCallConstraint {
    /// The model writes what it likes; calls are validated afterwards.
    Off,
    /// Once the model begins a call, it writes nothing but calls of declared functions that fit.
    Typed,
}

/// What stays in the history of a reply that is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum OnCancel {
    /// What was written, marked as incomplete.
    KeepPartial,
    /// Nothing of the reply; the message it answers stays.
    DropPartial,
    /// Neither the reply nor the message it answers.
    DropTurn,
}

/// What a conversation does with a request while another reply of it is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum OnBusy {
    /// Refuses it.
    Error,
    /// Answers it when those before it have ended.
    Queue,
}

/// What happens to a history that does not fit the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ContextPolicy {
    /// An error.
    Error,
    /// The prompt leaves out whole turns, the oldest first.
    Slide {
        /// Cuts the results of functions in older turns short first.
        shrink_tool_results: bool,
    },
}

/// What a model computes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum Device {
    /// The processor.
    Cpu,
    /// The GPU of an Apple device.
    Metal,
}

/// What keys and values are kept as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum CacheType {
    /// Half the memory and traffic of F32; what other engines take too.
    F16,
    /// For comparing with references to the last digits.
    F32,
    /// Bytes with a scale for each 32 of a head: little more than half of F16, for long contexts. Coarser: how much a
    /// model loses by it is for its user to measure.
    Q8_0,
}

/// The form of the entries in the tool list that a model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ToolListForm {
    /// `{"name", "description", "parameters"}`.
    Bare,
    /// `{"type": "function", "function": {…}}`.
    Wrapped,
}

/// Which names functions may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum FunctionNames {
    /// Letters, `_` and digits, not starting with a digit.
    Plain,
    /// Also several such names joined by dots or hyphens.
    Dotted,
}

/// Sampling values in place of those that a model's files recommend.
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

/// How a model is loaded.
#[derive(Clone, Debug, Default, PartialEq, uniffi::Record)]
pub struct LoadOptions {
    /// Tokens that a prompt and its reply can have together. Default: what the model was made for, at most 8,192.
    #[uniffi(default)]
    pub context_size: Option<SdkCount>,
    /// What computes. Default: the CPU.
    #[uniffi(default)]
    pub device: Option<Device>,
    /// Threads that compute, 1 to 1024, where the CPU is one that our kernels know. No result depends on it. Default: as
    /// many as there are fast cores.
    #[uniffi(default)]
    pub threads: Option<SdkCount>,
    /// What keys and values are kept as, where the CPU is one that our kernels know; F32 elsewhere. Default: F16.
    #[uniffi(default)]
    pub cache_type: Option<CacheType>,
    /// A chat template in place of the model's own.
    #[uniffi(default)]
    pub chat_template: Option<String>,
    /// The form in which the chat template is handed functions. Default: what its family is used to.
    #[uniffi(default)]
    pub tool_list_form: Option<ToolListForm>,
    /// Which names the functions that the model is offered may have. Default: letters, `_` and digits.
    #[uniffi(default)]
    pub function_names: Option<FunctionNames>,
    /// Sampling values in place of those that the model's files recommend.
    #[uniffi(default)]
    pub generation_defaults: Option<SamplingDefaults>,
    /// From which the seeds of replies follow that have none of their own.
    #[uniffi(default)]
    pub random_seed: Option<SdkLong>,
    /// Bytes that the beginnings of prompts which were read before may take. Default 512 MiB.
    #[uniffi(default)]
    pub cache_bytes: Option<SdkLong>,
    /// How many of them are kept; 0 keeps none. Default 256.
    #[uniffi(default)]
    pub cache_entries: Option<SdkCount>,
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
            positional_arguments: options.positional_arguments.map_or_else(Default::default, |rule| match rule {
                PositionalArguments::Reject => core::PositionalArguments::Reject,
                PositionalArguments::MapByOrder => core::PositionalArguments::MapByOrder,
            }),
            rejected_call_text: options.rejected_call_text.map_or_else(Default::default, |text| match text {
                RejectedCallText::WhenNoCall => core::RejectedCallText::WhenNoCall,
                RejectedCallText::Never => core::RejectedCallText::Never,
                RejectedCallText::Always => core::RejectedCallText::Always,
            }),
            tool_choice: options.tool_choice.map_or_else(Default::default, |choice| match choice {
                ToolChoice::Auto => core::ToolChoice::Auto,
                ToolChoice::None => core::ToolChoice::None,
                ToolChoice::Required => core::ToolChoice::Required,
                ToolChoice::Function { name } => core::ToolChoice::Function(name),
            }),
            parallel_tool_calls: options.parallel_tool_calls,
            allowed_tools: options.allowed_tools,
            tool_call_constraint: options.tool_call_constraint.map_or_else(Default::default, |constraint| {
                match constraint {
                    ToolCallConstraint::Off => core::ToolCallConstraint::Off,
                    ToolCallConstraint::Typed => core::ToolCallConstraint::Typed,
                }
            }),
            json_schema_constraint: options.json_schema_constraint,
            inject_schema_into_prompt: options.inject_schema_into_prompt,
            enable_thinking: options.enable_thinking,
            inline_thinking_tags: options.inline_thinking_tags,
            template_variables: options.template_variables.map(|variables| variables.0).unwrap_or_default(),
            stop_after_tool_calls: options.stop_after_tool_calls,
            on_cancel: options.on_cancel.map_or_else(Default::default, |on_cancel| match on_cancel {
                OnCancel::KeepPartial => core::OnCancel::KeepPartial,
                OnCancel::DropPartial => core::OnCancel::DropPartial,
                OnCancel::DropTurn => core::OnCancel::DropTurn,
            }),
            on_busy: options.on_busy.map_or_else(Default::default, |on_busy| match on_busy {
                OnBusy::Error => core::OnBusy::Error,
                OnBusy::Queue => core::OnBusy::Queue,
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

impl From<LoadOptions> for core::LoadOptions {
    fn from(options: LoadOptions) -> Self {
        let defaults = Self::default();
        let sampling = options.generation_defaults.unwrap_or_default();
        Self {
            context_size: options.context_size.map(SdkCount::size),
            device: options.device.map_or_else(Default::default, |device| match device {
                Device::Cpu => core::Device::Cpu,
                Device::Metal => core::Device::Metal,
            }),
            threads: options.threads.map(SdkCount::size),
            cache_type: options.cache_type.map_or_else(Default::default, |cache_type| match cache_type {
                CacheType::F16 => core::CacheType::F16,
                CacheType::F32 => core::CacheType::F32,
                CacheType::Q8_0 => core::CacheType::Q8_0,
            }),
            chat_template: options.chat_template,
            tool_list_form: options.tool_list_form.map(|form| match form {
                ToolListForm::Bare => core::ToolListForm::Bare,
                ToolListForm::Wrapped => core::ToolListForm::Wrapped,
            }),
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
            look_ahead: defaults.look_ahead,
            random_seed: options.random_seed.map(|seed| seed.0),
            cache_bytes: options.cache_bytes.map_or(defaults.cache_bytes, SdkLong::size),
            cache_entries: options.cache_entries.map_or(defaults.cache_entries, SdkCount::size),
        }
    }
}
