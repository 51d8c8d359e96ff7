//! Options of one generation.

use std::collections::BTreeMap;
use std::time::Duration;

use super::choices::{ContextPolicy, OnBusy, OnCancel, Strictness, ToolCallConstraint, ToolChoice};
use super::range::out_of_range;
use super::speech::SpeechOptions;
use crate::error::Result;
use crate::function::Arguments;
use crate::notation::FunctionCallParser;

/// Variables of chat templates that causerie sets from messages and other options.
const TEMPLATE_VARIABLES: [&str; 7] =
    ["messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "enable_thinking", "strftime_now"];

/// The largest number of alternatives that can be requested per token.
const MAX_ALTERNATIVES: usize = 20;

/// How one reply is generated. For a field that is `None`, the model's own default applies, or else the default stated here.
///
/// ```
/// use causerie::GenerationOptions;
/// let greedy = GenerationOptions { temperature: Some(0.0), max_tokens: Some(64), ..Default::default() };
/// assert!(greedy.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GenerationOptions {
    /// Randomness of the choice of tokens; 0 always picks the most probable token. Default 1.0.
    pub temperature: Option<f32>,
    /// Nucleus sampling: keeps the most probable tokens up to this cumulative probability, between 0 and 1; 0 keeps the most
    /// probable token only. Default 1.0.
    pub top_p: Option<f32>,
    /// Keeps the k most probable tokens; 0 keeps all. Default 50.
    pub top_k: Option<usize>,
    /// Keeps tokens with at least this fraction of the most probable token's probability, between 0 and 1. Default 0.
    pub min_p: Option<f32>,
    /// Values above 1.0 make tokens that occur in the prompt or the reply less probable. Default 1.0.
    pub repetition_penalty: Option<f32>,
    /// Subtracted once from the logit of each token that occurs in the reply, between -2 and 2. Values above 0 favour new
    /// topics. Default 0.
    pub presence_penalty: Option<f32>,
    /// Subtracted from the logit of a token for each of its occurrences in the reply, between -2 and 2. Default 0.
    pub frequency_penalty: Option<f32>,
    /// Values added to the logits of tokens, by id, between -100 and 100; -100 practically excludes a token. Default: empty.
    pub logit_bias: BTreeMap<u32, f32>,
    /// Reports each token's log-probability in [`Logprobs`](crate::MessageResponse::Logprobs) events, with this many of the
    /// likeliest alternatives, 0 to 20. Default: `None`, and no such events.
    pub logprobs: Option<usize>,
    /// Seed of the random choices. On the CPU, the same seed, model, build and prompt give the same reply, whatever else is
    /// generated at the same time or is cached (docs/adr/0015). On Metal, the last bits of logits may differ if part of the
    /// prompt comes from the cache. Default: a random seed, which is reported with the reply.
    pub seed: Option<u64>,
    /// The largest number of tokens of the reply. Default: no limit but the context.
    pub max_tokens: Option<usize>,
    /// Continues after tokens that end a reply, until `max_tokens` or the end of the context. For benchmarks, which need
    /// replies of equal length. Default false.
    pub ignore_end: bool,
    /// Ends a reply whose end only repeats itself, with the diagnostic
    /// [`RepeatedTail`](crate::DiagnosticCode::RepeatedTail): the same words over three kilobytes and 128 times, or the same
    /// paragraph over eight kilobytes. Data, code and drawings may repeat a part 1,024 times. Text that is held to a schema
    /// and calls never end so. Default: on for the demo model, and off for others.
    pub stop_on_repetition: Option<bool>,
    /// Strings that end the reply. They are not part of it.
    pub stop_sequences: Vec<String>,
    /// The notation of calls in the reply. `None` disables parsing: calls arrive as chunks of text. Default: the notation that
    /// the model writes.
    pub function_call_parser: Option<FunctionCallParser>,
    /// How calls are handled that can be read only after a repair. Default: they are delivered.
    pub parser_strictness: Strictness,
    /// Whether the model may or must call functions. Default: the model decides.
    pub tool_choice: ToolChoice,
    /// Whether a reply may contain several calls. If not, a constraint prevents further calls; without a constraint they are
    /// delivered with the diagnostic [`ParallelLimit`](crate::DiagnosticCode::ParallelLimit). Default true.
    pub parallel_tool_calls: bool,
    /// Names of the functions of the conversation that the prompt lists, in the order in which they were registered. The
    /// others stay in the history and may not be called; [`allowed_tools`](Self::allowed_tools) may not name them. With many functions, a
    /// small model makes more right calls if the few that fit the message are offered alone:
    /// [`EmbeddingModel::choose_functions`](crate::embedding::EmbeddingModel::choose_functions) chooses them. A prompt that lists the
    /// same functions as the one before goes on from the prefix cache. Default: all.
    pub offered_functions: Option<Vec<String>>,
    /// The largest number of functions that the prompt lists, besides those that the conversation has called. If there are more,
    /// those that fit the user's messages best are chosen, by the model of
    /// [`set_function_ranker`](crate::ModelRunner::set_function_ranker), without which this option is an error. The better half for the
    /// last message is always listed. Functions that were listed before keep their places, so that messages about the same things
    /// have the same list, and their prompts go on from the prefix cache (docs/functions.md). With
    /// [`offered_functions`](Self::offered_functions) or [`allowed_tools`](Self::allowed_tools) the choice is among these. Default: no limit.
    pub max_offered_functions: Option<usize>,
    /// Names of the functions that may be called, out of those that the prompt offers. A constraint prevents calls of other
    /// functions; without a constraint they are delivered with the diagnostic
    /// [`ToolNotAllowed`](crate::DiagnosticCode::ToolNotAllowed). Default: all.
    pub allowed_tools: Option<Vec<String>>,
    /// Whether calls are constrained to the declared functions during generation. Default: they are not.
    pub tool_call_constraint: ToolCallConstraint,
    /// A JSON Schema, as a JSON string, that constrains the text of the reply. Functions can still be called: a reply is
    /// either an answer that fits the schema or a block of calls. Reasoning is not constrained. Default: none.
    pub json_schema_constraint: Option<String>,
    /// Whether the prompt states that schema, at the end of the system message. The history does not change. Default true.
    pub inject_schema_into_prompt: bool,
    /// Continues the last message of the history, which must be a reply without calls: the prompt ends with its text, and the
    /// new text is added to it. The events report the new text only. Default false.
    pub continue_final_message: bool,
    /// Requests reasoning from templates that have the variable `enable_thinking`, and delivers reasoning as
    /// [`ReasoningChunk`](crate::MessageResponse::ReasoningChunk). If false, reasoning that a model writes all the same is
    /// only available in the message's `reasoning_content`. Default false.
    pub enable_thinking: bool,
    /// Delivers reasoning as part of the text, between `<think>` and `</think>`. Default false.
    pub inline_thinking_tags: bool,
    /// Further variables for the chat template, such as `{"style": "brief"}`. Variables that causerie sets itself are an
    /// error. Default: none.
    pub template_variables: Arguments,
    /// Ends the reply after its first block of calls. Some models regularly write text after calls. Default false.
    pub stop_after_tool_calls: bool,
    /// How a model that speaks does it. Default: as the system prompt asks.
    pub speech: SpeechOptions,
    /// What remains of a cancelled reply in the history. Default: the text so far.
    pub on_cancel: OnCancel,
    /// How a request is handled while the conversation is generating another reply. Default: an error.
    pub on_busy: OnBusy,
    /// How a history that does not fit the context is handled. Default: an error.
    pub context_policy: ContextPolicy,
    /// Cancels the reply after this time, which includes the time in the request queue. Default: no limit.
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
            stop_on_repetition: None,
            stop_sequences: Vec::new(),
            function_call_parser: Some(FunctionCallParser::default()),
            parser_strictness: Strictness::default(),
            tool_choice: ToolChoice::default(),
            parallel_tool_calls: true,
            offered_functions: None,
            max_offered_functions: None,
            allowed_tools: None,
            tool_call_constraint: ToolCallConstraint::default(),
            json_schema_constraint: None,
            inject_schema_into_prompt: true,
            continue_final_message: false,
            enable_thinking: false,
            inline_thinking_tags: false,
            template_variables: Arguments::new(),
            stop_after_tool_calls: false,
            speech: SpeechOptions::default(),
            on_cancel: OnCancel::default(),
            on_busy: OnBusy::default(),
            context_policy: ContextPolicy::default(),
            timeout: None,
        }
    }
}

impl GenerationOptions {
    /// Checks every field. Generation does the same before the first token.
    ///
    /// ```
    /// use causerie::{ErrorKind, GenerationOptions};
    ///
    /// let options = GenerationOptions { top_p: Some(1.5), ..Default::default() };
    /// let err = options.check().unwrap_err();
    /// assert_eq!(err.kind(), ErrorKind::InvalidOption("top_p"));
    /// assert_eq!(err.to_string(), "top_p must be between 0 and 1, found 1.5");
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`](crate::ErrorKind::InvalidOption) with the name of the field that is out of range.
    pub fn check(&self) -> Result<()> {
        let in_range = |field, value: Option<f32>, is_fine: fn(f32) -> bool, range: &str| match value {
            Some(value) if !is_fine(value) => Err(out_of_range(field, value, range)),
            _ => Ok(()),
        };
        in_range("temperature", self.temperature, |x| x.is_finite() && 0.0 <= x, "0 or more")?;
        in_range("top_p", self.top_p, |x| (0.0..=1.0).contains(&x), "between 0 and 1")?;
        in_range("min_p", self.min_p, |x| (0.0..=1.0).contains(&x), "between 0 and 1")?;
        in_range("repetition_penalty", self.repetition_penalty, |x| x.is_finite() && 0.0 < x, "above 0")?;
        in_range("presence_penalty", self.presence_penalty, |x| (-2.0..=2.0).contains(&x), "between -2 and 2")?;
        in_range("frequency_penalty", self.frequency_penalty, |x| (-2.0..=2.0).contains(&x), "between -2 and 2")?;
        for bias in self.logit_bias.values() {
            in_range("logit_bias", Some(*bias), |x| (-100.0..=100.0).contains(&x), "between -100 and 100")?;
        }
        if let Some(logprobs) = self.logprobs.filter(|logprobs| MAX_ALTERNATIVES < *logprobs) {
            return Err(out_of_range("logprobs", logprobs, "between 0 and 20"));
        }
        self.speech.check()?;
        if self.max_tokens == Some(0) {
            return Err(out_of_range("max_tokens", 0, "1 or more"));
        }
        if let Some(name) = self.template_variables.keys().find(|name| TEMPLATE_VARIABLES.contains(&name.as_str())) {
            return Err(out_of_range("template_variables", name, "variables that causerie does not set itself"));
        }
        if self.continue_final_message && self.json_schema_constraint.is_some() {
            return Err(out_of_range(
                "continue_final_message",
                true,
                "false with a schema, which the whole text must fit",
            ));
        }
        if self.offered_functions.as_ref().is_some_and(Vec::is_empty) {
            return Err(out_of_range("offered_functions", "none", "names of functions"));
        }
        if self.max_offered_functions == Some(0) {
            return Err(out_of_range("max_offered_functions", 0, "1 or more"));
        }
        if self.stop_sequences.iter().any(String::is_empty) {
            return Err(out_of_range("stop_sequences", "\"\"", "strings that are not empty"));
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
            (GenerationOptions { max_offered_functions: Some(0), ..base() }, "max_offered_functions"),
            (
                GenerationOptions {
                    continue_final_message: true,
                    json_schema_constraint: Some("{}".to_owned()),
                    ..base()
                },
                "continue_final_message",
            ),
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
