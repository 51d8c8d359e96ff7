//! Options of one generation, and the values used where none are given.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{Arguments, FunctionNames};

/// Variables of chat templates that are set from messages and other options.
const TEMPLATE_VARIABLES: [&str; 7] =
    ["messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "enable_thinking", "strftime_now"];

/// Alternatives of a token that can be asked for.
const MOST_ALTERNATIVES: usize = 20;

/// How one reply is generated. A field left `None` takes the model's own default, else the one named here.
///
/// ```
/// use causerie::GenerationOptions;
/// let greedy = GenerationOptions { temperature: Some(0.0), max_tokens: Some(64), ..Default::default() };
/// assert!(greedy.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GenerationOptions {
    /// Randomness: 0 always picks the most probable token. Default 1.0.
    pub temperature: Option<f32>,
    /// Nucleus sampling: keeps the most probable tokens up to this probability in sum, in (0, 1]. Default 1.0.
    pub top_p: Option<f32>,
    /// Keeps the k most probable tokens; 0 keeps all. Default 50.
    pub top_k: Option<usize>,
    /// Keeps tokens of at least this share of the best one's probability, in [0, 1]. Default 0.
    pub min_p: Option<f32>,
    /// Above 1.0, makes tokens of the prompt and of the reply less probable. Default 1.0.
    pub repetition_penalty: Option<f32>,
    /// Taken off the logit of a token once the reply has it, from -2 to 2: above 0, topics change sooner. Default 0.
    pub presence_penalty: Option<f32>,
    /// Taken off the logit of a token for each time that the reply has it, from -2 to 2. Default 0.
    pub frequency_penalty: Option<f32>,
    /// Added to the logits of tokens, by id, from -100, which all but excludes one, to 100. Default: nothing.
    pub logit_bias: BTreeMap<u32, f32>,
    /// Tells the log-probability of each token, in [`Logprobs`](crate::MessageResponse::Logprobs) events, beside so many
    /// of the most probable ones, 0 to 20. Default: `None`, and nothing is told.
    pub logprobs: Option<usize>,
    /// The same seed, model, build and prompt give the same draws, and so the same reply, where the model computes the
    /// same. Whether a prompt was read whole or in part taken from the cache may still change the last bits of logits;
    /// see docs/adr/0005. Default: drawn anew, and reported with the reply.
    pub seed: Option<u64>,
    /// Tokens of reply at most. Default: until the model ends or the context is full.
    pub max_tokens: Option<usize>,
    /// Goes on behind tokens that end a reply, up to `max_tokens` or the end of the context: for measuring, where every
    /// reply is to be of the same length. Default false.
    pub ignore_end: bool,
    /// Texts that end the reply; they are not part of it.
    pub stop_sequences: Vec<String>,
    /// How calls are found in the reply. `None` switches parsing off: call text arrives as chunks.
    pub function_call_parser: Option<FunctionCallParser>,
    /// What becomes of calls that had to be mended to be read. Default: they are delivered.
    pub parser_strictness: Strictness,
    /// What becomes of arguments that the model wrote without their names. Default: their call is rejected.
    pub positional_arguments: PositionalArguments,
    /// Takes a reply that begins with a list of calls without the markers around it, `[f(a=1)]`, as calls, if the list is
    /// well formed and all its functions are registered: some runtimes strip the markers. The list is held back while it
    /// is written. Only for [`DefaultFunctionCallParser`](FunctionCallParser::DefaultFunctionCallParser). Default false,
    /// and the list is text.
    pub bare_calls: bool,
    /// What becomes of the text of calls that are rejected. Default: it is text where no call was delivered.
    pub rejected_call_text: RejectedCallText,
    /// Whether functions are called. Default: as the model likes.
    pub tool_choice: ToolChoice,
    /// Whether a reply may make several calls. Calls beyond the first are kept from being written where calls are
    /// constrained; elsewhere they are delivered, with [`ParallelLimit`](crate::DiagnosticCode::ParallelLimit) among their
    /// diagnostics. Default true.
    pub parallel_tool_calls: bool,
    /// Names of the functions that may be called, of those that the prompt offers. Others are kept from being called
    /// where calls are constrained; elsewhere their calls are delivered, with
    /// [`ToolNotAllowed`](crate::DiagnosticCode::ToolNotAllowed) among their diagnostics. Default: all.
    pub allowed_tools: Option<Vec<String>>,
    /// Whether calls are held to the declared functions while they are written. Default: see [`ToolCallConstraint`].
    pub tool_call_constraint: ToolCallConstraint,
    /// A JSON Schema, as JSON text, that the text of the reply must fit. Functions can be called all the same: a reply is
    /// an answer that fits, or a block of calls. Reasoning stays free. Default: none.
    pub json_schema_constraint: Option<String>,
    /// Tells the model of that schema at the end of the system message, in the prompt alone. Default true.
    pub inject_schema_into_prompt: bool,
    /// Asks templates that know the variable `enable_thinking` for reasoning, and delivers reasoning as
    /// [`ReasoningChunk`](crate::MessageResponse::ReasoningChunk). Without it, reasoning that a model writes all the same
    /// is kept out of the text, in the message's `reasoning_content`. Default false.
    pub enable_thinking: bool,
    /// Delivers reasoning within the text of the chunks, between `<think>` and `</think>`. Default false.
    pub inline_thinking_tags: bool,
    /// Variables for the chat template besides those that all of them know, for what a newer one takes: `{"style": "brief"}`.
    /// Those that causerie sets itself are refused. Default: none.
    pub template_variables: Arguments,
    /// Ends the reply behind its first block of calls. Text behind calls is normal for some models. Default false.
    pub stop_after_tool_calls: bool,
    /// What stays in the history of a reply that is cancelled. Default: what was written.
    pub on_cancel: OnCancel,
    /// What a conversation does while another reply of it is being written. Default: refuse.
    pub on_busy: OnBusy,
    /// What happens to a history that does not fit the context. Default: an error.
    pub context_policy: ContextPolicy,
    /// The reply is cancelled when it has taken this long, waiting for its turn included. Default: never.
    pub timeout: Option<Duration>,
}

/// What stays in the history of a reply that is cancelled. A reply cancelled before its turn came leaves no trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnCancel {
    /// What was written, if anything, marked as incomplete.
    #[default]
    KeepPartial,
    /// Nothing of the reply; the message it answers stays.
    DropPartial,
    /// Neither the reply nor the message it answers.
    DropTurn,
}

/// What a conversation does with a request while another reply of it is being written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBusy {
    /// Refuses it with [`ErrorKind::Busy`].
    #[default]
    Error,
    /// Answers it when those before it have ended, in the order of their first pulls.
    Queue,
}

/// What happens to a history that does not fit the context. The history itself is never edited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextPolicy {
    /// [`ErrorKind::PromptExceedsContext`] when there is no room for one token of reply.
    #[default]
    Error,
    /// The prompt leaves out whole turns, the oldest first, until it fits with `max_tokens` of reply, or 256, half of the
    /// context at most. The system message, the functions and the last turn of the user always stay; so do calls and
    /// their results with their turn.
    Slide {
        /// Cuts the results of functions in older turns short before it leaves out any turn.
        shrink_tool_results: bool,
    },
}

/// How a model is loaded. The default is what a chat on one device wants.
///
/// On a CPU that our kernels do not know, candle computes, with threads that are one set for all models of a process: the
/// environment variables `CANDLE_NUM_THREADS` and `RAYON_NUM_THREADS`, set to the same number before the first model is
/// loaded, choose how many.
///
/// ```
/// use causerie::{LoadOptions, ModelRunner};
///
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
/// let options = LoadOptions { context_size: Some(2048), ..Default::default() };
/// assert_eq!(ModelRunner::load_with(model, options)?.context_size(), 2048);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LoadOptions {
    /// Tokens that a prompt and its reply can have together; more than the model was made for is cut to that. Default:
    /// what the model was made for, at most 8,192.
    pub context_size: Option<usize>,
    /// What computes. Default: the CPU.
    pub device: Device,
    /// Threads that compute, 1 to 1024, where the CPU is one that our kernels know; elsewhere as many as there are
    /// processors do. No result depends on it. Default: as many as there are cores, of fast and slow ones the fast.
    pub threads: Option<usize>,
    /// What keys and values are kept as, where the CPU is one that our kernels know; F32 elsewhere. Default: F16.
    pub cache_type: CacheType,
    /// Whether tokens that are the only ones possible, and guesses at what calls and quotes repeat, are read along with the
    /// token before them. Where our kernels compute, no reply depends on it, only its speed. Default: true.
    pub look_ahead: bool,
    /// A chat template in place of the model's own.
    pub chat_template: Option<String>,
    /// The form in which the chat template is handed functions. Default: what its family is used to.
    pub tool_list_form: Option<ToolListForm>,
    /// Which names the functions that the model is offered may have. Default: letters, `_` and digits.
    pub function_names: FunctionNames,
    /// Sampling values in place of those that the model's files recommend; they stand behind the options of a reply.
    pub generation_defaults: SamplingDefaults,
    /// From which the seeds of replies follow that have none of their own, in the order of their requests. Default: none,
    /// and they are drawn anew.
    pub random_seed: Option<u64>,
    /// Bytes that the beginnings of prompts which were read before may take. Default 512 MiB.
    pub cache_bytes: usize,
    /// How many of them are kept; 0 keeps none. Default 256.
    pub cache_entries: usize,
}

/// More than any machine has processors for one model.
const MOST_THREADS: usize = 1024;

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            context_size: None,
            device: Device::default(),
            threads: None,
            cache_type: CacheType::default(),
            look_ahead: true,
            chat_template: None,
            tool_list_form: None,
            function_names: FunctionNames::default(),
            generation_defaults: SamplingDefaults::default(),
            random_seed: None,
            cache_bytes: 512 << 20,
            cache_entries: 256,
        }
    }
}

impl LoadOptions {
    /// Checks every field; loading does the same.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`] naming the field that is out of its range.
    pub fn check(&self) -> Result<()> {
        if self.context_size == Some(0) {
            return Err(out_of_range("context_size", 0, "1 or more"));
        }
        if let Some(threads) = self.threads.filter(|threads| !(1..=MOST_THREADS).contains(threads)) {
            return Err(out_of_range("threads", threads, "1 to 1024"));
        }
        self.generation_defaults.check()
    }
}

pub use causerie_backend::CacheType;

/// What a model computes on.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// The GPU of an Apple device. Needs a build with the feature `metal`; without one, loading ends with
    /// [`ErrorKind::InvalidOption`](crate::ErrorKind::InvalidOption).
    Metal,
}

/// The form of the entries in the tool list that a model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolListForm {
    /// `{"name", "description", "parameters"}`, as LFM2 is shown them.
    Bare,
    /// `{"type": "function", "function": {…}}`, as chat completions have them.
    Wrapped,
}

/// How a model family writes its function calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FunctionCallParser {
    /// Python-style calls between the control tokens `<|tool_call_start|>` and `<|tool_call_end|>`.
    #[default]
    DefaultFunctionCallParser,
    /// JSON objects between `<tool_call>` and `</tool_call>`.
    JsonStyleFunctionCallParser,
}

impl FunctionCallParser {
    /// What stands before and behind a block of calls: control tokens for the default, tags for JSON.
    pub const fn markers(self) -> (&'static str, &'static str) {
        match self {
            Self::DefaultFunctionCallParser => ("<|tool_call_start|>", "<|tool_call_end|>"),
            Self::JsonStyleFunctionCallParser => ("<tool_call>", "</tool_call>"),
        }
    }
}

/// Whether functions are called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As the model likes.
    #[default]
    Auto,
    /// No function is called. The prompt still offers them, so that what was read of it before counts.
    None,
    /// The reply begins with a call, behind its reasoning if it has any.
    Required,
    /// The reply begins with a call of this function, and calls no other.
    Function(String),
}

/// Whether calls are held to the declared functions while they are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolCallConstraint {
    /// The model writes what it likes; calls are validated afterwards. A choice of functions that is
    /// [required](ToolChoice::Required) is held all the same.
    #[default]
    Off,
    /// Once the model begins a block of calls, it can write nothing but calls of declared functions, with arguments of
    /// the declared names and types, each once, the required ones always. What stands in texts is free. Where the model
    /// can write nothing of the kind, the reply ends with [`Constraint`](crate::FinishReason::Constraint).
    Typed,
}

/// What becomes of calls that had to be mended to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// They are delivered, with their repairs named.
    #[default]
    Recover,
    /// They are rejected, with the mended call as candidate.
    Strict,
}

/// What becomes of Python arguments without names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PositionalArguments {
    /// Their call is rejected.
    #[default]
    Reject,
    /// They take the names of the function's parameters, in their order, with the repair
    /// [`PositionalMapped`](crate::Repair::PositionalMapped). Calls of functions that were not offered are rejected.
    MapByOrder,
}

/// What becomes of the text of a block of calls that could not be delivered, besides its rejection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RejectedCallText {
    /// It is text, in its place, when no call of its block was delivered: so nothing is lost on apps that know nothing
    /// of rejections.
    #[default]
    WhenNoCall,
    /// It stands in the rejection alone.
    Never,
    /// It is text in any case, behind the calls of its block.
    Always,
}

/// Sampling values with every default filled in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// See [`GenerationOptions::temperature`].
    pub temperature: f32,
    /// See [`GenerationOptions::top_p`].
    pub top_p: f32,
    /// See [`GenerationOptions::top_k`].
    pub top_k: usize,
    /// See [`GenerationOptions::min_p`].
    pub min_p: f32,
    /// See [`GenerationOptions::repetition_penalty`].
    pub repetition_penalty: f32,
    /// See [`GenerationOptions::presence_penalty`].
    pub presence_penalty: f32,
    /// See [`GenerationOptions::frequency_penalty`].
    pub frequency_penalty: f32,
}

/// Sampling values that a model's own files recommend.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SamplingDefaults {
    /// See [`GenerationOptions::temperature`].
    pub temperature: Option<f32>,
    /// See [`GenerationOptions::top_p`].
    pub top_p: Option<f32>,
    /// See [`GenerationOptions::top_k`].
    pub top_k: Option<usize>,
    /// See [`GenerationOptions::min_p`].
    pub min_p: Option<f32>,
    /// See [`GenerationOptions::repetition_penalty`].
    pub repetition_penalty: Option<f32>,
}

impl SamplingDefaults {
    /// These values, and those of others where there are none.
    pub(crate) fn or(self, others: Self) -> Self {
        Self {
            temperature: self.temperature.or(others.temperature),
            top_p: self.top_p.or(others.top_p),
            top_k: self.top_k.or(others.top_k),
            min_p: self.min_p.or(others.min_p),
            repetition_penalty: self.repetition_penalty.or(others.repetition_penalty),
        }
    }

    /// Checks the values as [`GenerationOptions::check`] does.
    pub(crate) fn check(&self) -> Result<()> {
        let options = GenerationOptions {
            temperature: self.temperature,
            top_p: self.top_p,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            ..Default::default()
        };
        options.check()
    }
}

impl Default for GenerationOptions {
    fn default() -> Self {
        Self {
            temperature: None,
            top_p: None,
            top_k: None,
            min_p: None,
            repetition_penalty: None,
            presence_penalty: None,
            frequency_penalty: None,
            logit_bias: BTreeMap::new(),
            logprobs: None,
            seed: None,
            max_tokens: None,
            ignore_end: false,
            stop_sequences: Vec::new(),
            function_call_parser: Some(FunctionCallParser::default()),
            parser_strictness: Strictness::default(),
            positional_arguments: PositionalArguments::default(),
            bare_calls: false,
            rejected_call_text: RejectedCallText::default(),
            tool_choice: ToolChoice::default(),
            parallel_tool_calls: true,
            allowed_tools: None,
            tool_call_constraint: ToolCallConstraint::default(),
            json_schema_constraint: None,
            inject_schema_into_prompt: true,
            enable_thinking: false,
            inline_thinking_tags: false,
            template_variables: Arguments::new(),
            stop_after_tool_calls: false,
            on_cancel: OnCancel::default(),
            on_busy: OnBusy::default(),
            context_policy: ContextPolicy::default(),
            timeout: None,
        }
    }
}

impl GenerationOptions {
    /// Checks every field; generating does the same before the first token.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`] naming the field that is out of its range.
    pub fn check(&self) -> Result<()> {
        let in_range = |field, value: Option<f32>, is_fine: fn(f32) -> bool, range: &str| match value {
            Some(value) if !is_fine(value) => Err(out_of_range(field, value, range)),
            _ => Ok(()),
        };
        in_range("temperature", self.temperature, |x| x.is_finite() && 0.0 <= x, "0 or more")?;
        in_range("top_p", self.top_p, |x| (0.0..=1.0).contains(&x), "from 0 to 1")?;
        in_range("min_p", self.min_p, |x| (0.0..=1.0).contains(&x), "from 0 to 1")?;
        in_range("repetition_penalty", self.repetition_penalty, |x| x.is_finite() && 0.0 < x, "above 0")?;
        in_range("presence_penalty", self.presence_penalty, |x| (-2.0..=2.0).contains(&x), "from -2 to 2")?;
        in_range("frequency_penalty", self.frequency_penalty, |x| (-2.0..=2.0).contains(&x), "from -2 to 2")?;
        for bias in self.logit_bias.values() {
            in_range("logit_bias", Some(*bias), |x| (-100.0..=100.0).contains(&x), "from -100 to 100")?;
        }
        if let Some(logprobs) = self.logprobs.filter(|logprobs| MOST_ALTERNATIVES < *logprobs) {
            return Err(out_of_range("logprobs", logprobs, "0 to 20"));
        }
        if self.max_tokens == Some(0) {
            return Err(out_of_range("max_tokens", 0, "1 or more"));
        }
        if let Some(name) = self.template_variables.keys().find(|name| TEMPLATE_VARIABLES.contains(&name.as_str())) {
            return Err(out_of_range("template_variables", name, "variables that causerie does not set itself"));
        }
        if self.stop_sequences.iter().any(String::is_empty) {
            return Err(out_of_range("stop_sequences", "\"\"", "texts that are not empty"));
        }
        Ok(())
    }

    /// The sampling values in force: these options, else the model's, else the table of the specification.
    pub fn sampling(&self, model: &SamplingDefaults) -> Sampling {
        Sampling {
            temperature: self.temperature.or(model.temperature).unwrap_or(1.0),
            top_p: self.top_p.or(model.top_p).unwrap_or(1.0),
            top_k: self.top_k.or(model.top_k).unwrap_or(50),
            min_p: self.min_p.or(model.min_p).unwrap_or(0.0),
            repetition_penalty: self.repetition_penalty.or(model.repetition_penalty).unwrap_or(1.0),
            presence_penalty: self.presence_penalty.unwrap_or(0.0),
            frequency_penalty: self.frequency_penalty.unwrap_or(0.0),
        }
    }
}

fn out_of_range(field: &'static str, value: impl std::fmt::Display, range: &str) -> SdkError {
    SdkError::new(ErrorKind::InvalidOption(field), format!("{field} is {value}, expected {range}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_before_the_model_and_the_model_before_the_table() {
        let options = GenerationOptions { top_k: Some(7), ..Default::default() };
        let model = SamplingDefaults { top_k: Some(3), temperature: Some(0.3), ..Default::default() };
        let expect = Sampling {
            temperature: 0.3,
            top_p: 1.0,
            top_k: 7,
            min_p: 0.0,
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
        };
        assert_eq!(options.sampling(&model), expect);
    }

    #[test]
    fn a_value_out_of_range_is_refused_by_name() {
        let base = GenerationOptions::default;
        for (options, field) in [
            (GenerationOptions { temperature: Some(f32::NAN), ..base() }, "temperature"),
            (GenerationOptions { temperature: Some(-1.0), ..base() }, "temperature"),
            (GenerationOptions { top_p: Some(1.1), ..base() }, "top_p"),
            (GenerationOptions { min_p: Some(-0.1), ..base() }, "min_p"),
            (GenerationOptions { repetition_penalty: Some(0.0), ..base() }, "repetition_penalty"),
            (GenerationOptions { presence_penalty: Some(2.1), ..base() }, "presence_penalty"),
            (GenerationOptions { frequency_penalty: Some(f32::NAN), ..base() }, "frequency_penalty"),
            (GenerationOptions { logit_bias: [(7, -100.1)].into(), ..base() }, "logit_bias"),
            (GenerationOptions { logprobs: Some(21), ..base() }, "logprobs"),
            (GenerationOptions { max_tokens: Some(0), ..base() }, "max_tokens"),
            (GenerationOptions { stop_sequences: vec![String::new()], ..base() }, "stop_sequences"),
            (
                GenerationOptions {
                    template_variables: Arguments::from([("messages".to_owned(), true.into())]),
                    ..base()
                },
                "template_variables",
            ),
        ] {
            assert_eq!(options.check().unwrap_err().kind(), ErrorKind::InvalidOption(field));
        }
    }
}
