//! Fields that several dialects share: how a reply is sampled, and how it is sent.

use std::borrow::Cow;

use causerie::{ContextPolicy, FunctionCallParser, GenerationOptions, SpeechMode};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::serve::error::HttpError;
use crate::serve::request::delivery::Delivery;
use crate::serve::request::fields::RequestFields;
use crate::serve::request::types::{
    Integer, LogitBias, MAX_TOKENS, Seed, StopSequences, TokenLimit, WithoutEffect, described,
};

/// The most alternatives of a token that log-probabilities have.
pub(in crate::serve) const MAX_LOGPROBS: i64 = 20;

/// The fields of all dialects.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::serve) struct SamplingFields {
    /// The id of the model served. Other ids are answered by the same model, unless the server is strict.
    model: Option<String>,
    /// 0 takes the most probable token.
    #[schemars(range(min = 0, max = 2))]
    temperature: Option<f32>,
    #[schemars(range(min = 0, max = 1))]
    top_p: Option<f32>,
    /// 0 and -1 keep all tokens.
    top_k: Option<Integer<-1, MAX_TOKENS>>,
    #[schemars(range(min = 0, max = 1))]
    min_p: Option<f32>,
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e30))]
    repetition_penalty: Option<f32>,
    /// Another name of repetition_penalty, which comes first.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e30))]
    repeat_penalty: Option<f32>,
    #[schemars(range(min = -2, max = 2))]
    presence_penalty: Option<f32>,
    #[schemars(range(min = -2, max = 2))]
    frequency_penalty: Option<f32>,
    /// Added to the logits of tokens, which are named by id.
    logit_bias: Option<LogitBias>,
    /// -1 takes a random one.
    seed: Option<Seed>,
    /// Whether a reply is ended whose end only repeats itself; default: true for the demo model.
    stop_on_repetition: Option<bool>,
    /// The notation of calls in the reply; default: the one that the model writes.
    function_call_parser: Option<RequestedNotation>,
    /// Whether the reply is sent as server-sent events.
    #[schemars(extend("default" = false))]
    stream: Option<bool>,
}

impl SamplingFields {
    /// The model's id, whether the reply is streamed, and the options of the engine. Their ranges are checked by
    /// [`checked`], once all are set.
    pub(in crate::serve) fn into_parts(self) -> (Option<String>, bool, GenerationOptions) {
        let options = GenerationOptions {
            temperature: self.temperature,
            top_p: self.top_p,
            top_k: self.top_k.map(Integer::count),
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty.or(self.repeat_penalty),
            presence_penalty: self.presence_penalty,
            frequency_penalty: self.frequency_penalty,
            logit_bias: self.logit_bias.unwrap_or_default().0,
            seed: self.seed.and_then(|seed| seed.0),
            stop_on_repetition: self.stop_on_repetition,
            function_call_parser: self.function_call_parser.unwrap_or_default().0,
            // A model that can speak does so only where a client asks for sound.
            speech_mode: SpeechMode::Off,
            ..Default::default()
        };
        (self.model, self.stream.unwrap_or(false), options)
    }
}

/// The notation of calls in a reply, by one of its names. With `none`, calls arrive as text.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(in crate::serve) struct RequestedNotation(Option<FunctionCallParser>);

/// The name of no notation.
const NO_NOTATION: &str = "none";

impl RequestedNotation {
    /// The names that requests may have.
    fn names() -> Vec<&'static str> {
        let parsers =
            [FunctionCallParser::ModelFunctionCallParser].into_iter().chain(FunctionCallParser::ALL.iter().copied());
        parsers.flat_map(|parser| parser.names().iter().copied()).chain([NO_NOTATION]).collect()
    }
}

impl Default for RequestedNotation {
    fn default() -> Self {
        Self(Some(FunctionCallParser::ModelFunctionCallParser))
    }
}

impl TryFrom<String> for RequestedNotation {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match FunctionCallParser::named(&name) {
            None if name != NO_NOTATION => Err(format!("must be one of {}, found {name:?}", Self::names().join(", "))),
            parser => Ok(Self(parser)),
        }
    }
}

described!([] RequestedNotation, json_schema!({ "type": "string", "enum": Self::names() }));

/// Checks the ranges of options as the engine does, and the one range that is narrower here.
pub(in crate::serve) fn checked(options: GenerationOptions) -> Result<GenerationOptions, HttpError> {
    if let Some(temperature) = options.temperature.filter(|temperature| 2.0 < *temperature) {
        let message = format!("temperature must be between 0 and 2, found {temperature}");
        return Err(HttpError::value("temperature", message));
    }
    options.check().map_err(|err| HttpError::from_engine(&err))?;
    Ok(options)
}

/// The fields that chat completions and completions share.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::serve) struct ChoiceFields {
    max_tokens: Option<TokenLimit>,
    /// The newer name of `max_tokens`, which comes first.
    max_completion_tokens: Option<TokenLimit>,
    #[schemars(extend("default" = false))]
    ignore_eos: Option<bool>,
    stop: Option<StopSequences>,
    #[schemars(extend("default" = 1))]
    n: Option<Integer<1, 8>>,
    stream_options: Option<StreamOptions>,
}

impl ChoiceFields {
    /// Sets the options of the engine, and says how the reply is sent.
    pub(in crate::serve) fn apply(self, options: &mut GenerationOptions, is_stream: bool) -> Delivery {
        options.max_tokens = self.max_completion_tokens.or(self.max_tokens).and_then(|limit| limit.0);
        options.ignore_end = self.ignore_eos.unwrap_or(false);
        options.stop_sequences = self.stop.map(|stop| stop.0).unwrap_or_default();
        Delivery::new(self.n.map_or(1, Integer::count), is_stream, self.stream_options)
    }
}

impl Delivery {
    pub(in crate::serve) fn new(n: usize, is_stream: bool, options: Option<StreamOptions>) -> Self {
        let options = options.unwrap_or_default();
        let continuous_usage = is_stream && options.continuous_usage_stats == Some(true);
        let include_usage = options.include_usage.unwrap_or(false) || continuous_usage;
        Self { n, is_stream, include_usage, continuous_usage, is_bare_string: false }
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "fields without effect are read so that they are known")]
pub(in crate::serve) struct StreamOptions {
    /// Whether the last event has the counts of tokens.
    #[schemars(extend("default" = false))]
    include_usage: Option<bool>,
    /// Whether each event has the counts so far.
    #[schemars(extend("default" = false))]
    continuous_usage_stats: Option<bool>,
    include_obfuscation: Option<WithoutEffect>,
}

/// What clients of OpenAI say about themselves and their requests.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "fields without effect are read so that they are known")]
pub(in crate::serve) struct ClientFields {
    user: Option<WithoutEffect>,
    metadata: Option<WithoutEffect>,
    store: Option<WithoutEffect>,
    service_tier: Option<WithoutEffect>,
    safety_identifier: Option<WithoutEffect>,
    prompt_cache_key: Option<WithoutEffect>,
}

/// `chat_template_kwargs`, of which one variable can be set.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
pub(in crate::serve) struct TemplateVariables {
    #[schemars(extend("default" = false))]
    enable_thinking: Option<bool>,
    #[serde(flatten)]
    #[schemars(skip)]
    others: Map<String, Json>,
}

impl TemplateVariables {
    pub(in crate::serve) fn enable_thinking(self) -> Result<Option<bool>, HttpError> {
        match self.others.iter().find(|(_, value)| !value.is_null()) {
            Some((name, _)) => Err(HttpError::unsupported(
                "chat_template_kwargs",
                format!("chat_template_kwargs must have no variable but enable_thinking, found {name}"),
            )),
            None => Ok(self.enable_thinking),
        }
    }
}

/// How much a model is to reason. All but the first two ask a model that can reason to do so.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(in crate::serve) enum ReasoningEffort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
    Default,
}

impl ReasoningEffort {
    pub(in crate::serve) fn asks(self) -> bool {
        !matches!(self, Self::None | Self::Minimal)
    }
}

/// What happens to a history that is too long: `auto` leaves out the oldest turns.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(in crate::serve) enum Truncation {
    Auto,
    #[default]
    Disabled,
}

impl Truncation {
    pub(in crate::serve) fn policy(self) -> ContextPolicy {
        match self {
            Self::Auto => ContextPolicy::Slide { shrink_tool_results: false },
            Self::Disabled => ContextPolicy::Error,
        }
    }
}

/// How much the model is to write, which is up to the model: any value but `medium` is listed as ignored.
pub(in crate::serve) fn ignore_verbosity(fields: &mut RequestFields, place: &str, verbosity: Option<Json>) {
    if verbosity.is_some_and(|verbosity| verbosity != "medium") {
        fields.ignore(place);
    }
}

pub(in crate::serve) fn is_empty_array(value: &Json) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
}
