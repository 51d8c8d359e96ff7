//! Options of one generation.

use std::collections::BTreeMap;
use std::time::Duration;

use super::choices::{
    ContextPolicy, FunctionCallParser, OnBusy, OnCancel, PositionalArguments, RejectedCallText, Strictness,
    ToolCallConstraint, ToolChoice,
};
use super::out_of_range;
use crate::error::Result;
use crate::function::Arguments;

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
    /// Nucleus sampling: keeps the most probable tokens up to this probability in sum, from 0, which keeps the best alone, to
    /// 1. Default 1.0.
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
    /// The same seed, model, build and prompt give the same draws. Where our kernels compute they give the same reply,
    /// whatever else is written or was read before (docs/adr/0015); elsewhere, the last bits of logits may differ where part
    /// of a prompt comes from the cache. Default: drawn anew, and reported with the reply.
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
    /// ```
    /// use causerie::{ErrorKind, GenerationOptions};
    ///
    /// let options = GenerationOptions { top_p: Some(1.5), ..Default::default() };
    /// let err = options.check().unwrap_err();
    /// assert_eq!(err.kind(), ErrorKind::InvalidOption("top_p"));
    /// assert_eq!(err.to_string(), "top_p is 1.5, expected from 0 to 1");
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`](crate::ErrorKind::InvalidOption) naming the field that is out of its range.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

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
