//! Field names of other servers. A known alias acts like our own field. A field that would change the reply, and cannot be
//! honoured, is refused. Everything else is listed as ignored.
//!
//! These fields are read after a dialect's own, whose names are gone by then: each is foreign only where no dialect's struct
//! has taken it.

use causerie::{ChatMessage, ChatMessageContent, GenerationOptions, Role};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::serve::error::HttpError;
use crate::serve::request::chat_request::{ChatRequest, Thinking};
use crate::serve::request::content::{read_parts, read_text};
use crate::serve::request::fields::RequestFields;
use crate::serve::request::format::{ResponseFormat, TextField};
use crate::serve::request::reader::must_be;
use crate::serve::request::sampling::{ReasoningEffort, is_empty_array};
use crate::serve::request::types::{Lenient, StopSequences, TokenLimit};

/// The names of a limit on the reply's tokens.
pub(in crate::serve) const TOKEN_LIMITS: [&str; 5] =
    ["max_tokens", "max_completion_tokens", "max_output_tokens", "n_predict", "num_predict"];

/// Fields that are honoured everywhere.
#[derive(Debug, Deserialize)]
struct ForeignOptions {
    max_tokens: Option<TokenLimit>,
    max_completion_tokens: Option<TokenLimit>,
    max_output_tokens: Option<TokenLimit>,
    n_predict: Option<TokenLimit>,
    num_predict: Option<TokenLimit>,
    stop: Option<StopSequences>,
    stop_sequences: Option<StopSequences>,
    ignore_eos: Option<bool>,
    response_format: Option<ResponseFormat>,
    text: Option<TextField>,
    output_config: Option<Lenient<FormatHolder>>,
    output_format: Option<ResponseFormat>,
    /// A schema (llama.cpp).
    json_schema: Option<Json>,
    /// vLLM's constraints of the text.
    structured_outputs: Option<StructuredOutputs>,
    guided_json: Option<Json>,
    guided_choice: Option<Vec<String>>,
    guided_regex: Option<String>,
}

#[derive(Debug, Deserialize)]
struct FormatHolder {
    format: Option<ResponseFormat>,
}

#[derive(Debug, Default, Deserialize)]
struct StructuredOutputs {
    json: Option<Json>,
    choice: Option<Vec<String>>,
    regex: Option<String>,
    json_object: Option<bool>,
    grammar: Option<Json>,
    structural_tag: Option<Json>,
}

/// Fields that are honoured where there are messages.
#[derive(Debug, Deserialize)]
struct ForeignChatFields {
    system: Option<Json>,
    instructions: Option<String>,
    reasoning_effort: Option<ReasoningEffort>,
    reasoning: Option<ForeignReasoning>,
    thinking: Option<Lenient<ForeignThinking>>,
    enable_thinking: Option<bool>,
    think: Option<Think>,
}

/// How the prompt ends (transformers, vLLM).
#[derive(Debug, Deserialize)]
struct PromptEnd {
    continue_final_message: Option<bool>,
    add_generation_prompt: Option<bool>,
}

impl PromptEnd {
    /// Whether the reply continues the last message, if the request says so.
    fn continues(&self) -> Result<Option<bool>, HttpError> {
        match (self.continue_final_message, self.add_generation_prompt) {
            (Some(true), Some(true)) => {
                let message = "add_generation_prompt must be false or left out where continue_final_message is true";
                Err(HttpError::value("add_generation_prompt", message))
            }
            (None | Some(false), Some(false)) => {
                let message = "add_generation_prompt must be true unless continue_final_message is true";
                Err(HttpError::unsupported("add_generation_prompt", message))
            }
            (continues, _) => Ok(continues),
        }
    }
}

#[derive(Debug, Deserialize)]
struct ForeignReasoning {
    effort: Option<ReasoningEffort>,
    enabled: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct ForeignThinking {
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// Ollama's switch: a boolean or an effort.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Json")]
struct Think(bool);

impl TryFrom<Json> for Think {
    type Error = String;

    fn try_from(value: Json) -> Result<Self, String> {
        match (value.as_bool(), value.as_str()) {
            (Some(thinks), _) => Ok(Self(thinks)),
            (None, Some("low" | "medium" | "high" | "max")) => Ok(Self(true)),
            (None, Some("none")) => Ok(Self(false)),
            _ => Err(must_be("a boolean, none, low, medium, high or max", &value)),
        }
    }
}

/// A constraint of the reply's text.
struct TextConstraint {
    /// JSON Schema as JSON text.
    schema: String,
    /// Whether the text is the string that the schema describes, without its quotes.
    is_bare: bool,
}

/// Applies foreign fields to a request with messages.
pub(super) fn apply(request: &mut ChatRequest, fields: &mut RequestFields) -> Result<(), HttpError> {
    let prompt_end: PromptEnd = fields.read()?;
    if let Some(continues) = prompt_end.continues()? {
        request.options.continue_final_message = continues;
    }
    request.delivery.is_bare_string |= apply_options(&mut request.options, fields)?;
    let foreign: ForeignChatFields = fields.read()?;
    let instructions = foreign.instructions.map(|text| vec![ChatMessageContent::Text(text)]);
    let system = foreign.system.map(|system| read_system(system, fields)).transpose()?;
    for instructions in [instructions, system].into_iter().flatten() {
        instruct(&mut request.history, instructions);
    }
    let (reasoning, thinking) = (foreign.reasoning, foreign.thinking.and_then(|it| it.0.kind));
    let enabled = foreign.enable_thinking.or(foreign.think.map(|think| think.0));
    let enabled = enabled.or(thinking.map(|kind| kind != "disabled"));
    let effort = foreign.reasoning_effort.or(reasoning.as_ref().and_then(|reasoning| reasoning.effort));
    request.thinking = Thinking {
        enabled: request.thinking.enabled.or(enabled).or(reasoning.and_then(|reasoning| reasoning.enabled)),
        effort: request.thinking.effort.or(effort),
    };
    Ok(())
}

/// Applies foreign fields to the options of any request, and refuses those that cannot be honoured. Returns whether the reply
/// is a string that is sent without its quotes.
pub(in crate::serve) fn apply_options(
    options: &mut GenerationOptions,
    fields: &mut RequestFields,
) -> Result<bool, HttpError> {
    let mut foreign: ForeignOptions = fields.read()?;
    let other_servers = [foreign.n_predict, foreign.num_predict];
    let limits =
        [foreign.max_completion_tokens, foreign.max_tokens, foreign.max_output_tokens].into_iter().chain(other_servers);
    options.max_tokens = options.max_tokens.or_else(|| limits.flatten().next()?.0);
    options.ignore_end |= foreign.ignore_eos == Some(true);
    let stops = foreign.stop.take().or_else(|| foreign.stop_sequences.take());
    if let Some(StopSequences(stops)) = stops.filter(|_| options.stop_sequences.is_empty()) {
        options.stop_sequences = stops;
    }
    let constraint = foreign.constraint(fields)?;
    refuse(fields)?;
    match constraint {
        Some(_) if options.json_schema_constraint.is_some() => Err(several_constraints()),
        Some(TextConstraint { schema, is_bare }) => {
            if is_bare && options.logprobs.is_some() {
                let message = "logprobs must be left out where the text is a choice or fits a regular expression";
                return Err(HttpError::unsupported("logprobs", message));
            }
            options.json_schema_constraint = Some(schema);
            Ok(is_bare)
        }
        None => Ok(false),
    }
}

impl ForeignOptions {
    /// The one constraint that they ask for.
    fn constraint(self, fields: &mut RequestFields) -> Result<Option<TextConstraint>, HttpError> {
        let formats = [
            ("response_format", self.response_format),
            ("text.format", self.text.and_then(|text| text.format)),
            ("output_config.format", self.output_config.and_then(|holder| holder.0.format)),
            ("output_format", self.output_format),
        ];
        let mut found = Vec::new();
        for (place, format) in formats {
            let schema = format.map(|format| format.into_schema(place, fields)).transpose()?.flatten();
            found.extend(schema.map(TextConstraint::json));
        }
        let (choice, regex) = (self.guided_choice, self.guided_regex);
        let guided = StructuredOutputs { json: self.guided_json, choice, regex, ..StructuredOutputs::default() };
        let schema = StructuredOutputs { json: self.json_schema, ..StructuredOutputs::default() };
        found.extend(self.structured_outputs.unwrap_or_default().constraints("structured_outputs.json")?);
        found.extend(guided.constraints("guided_json")?);
        found.extend(schema.constraints("json_schema")?);
        if 1 < found.len() {
            return Err(several_constraints());
        }
        Ok(found.pop())
    }
}

fn several_constraints() -> HttpError {
    HttpError::value("response_format", "response_format must be the only field that constrains the text of the reply")
}

impl StructuredOutputs {
    fn constraints(self, place: &str) -> Result<Vec<TextConstraint>, HttpError> {
        for (name, value) in [("grammar", self.grammar), ("structural_tag", self.structural_tag)] {
            if value.is_some_and(|value| !asks_for_nothing(&value)) {
                let rule = "must be left out: grammars are not supported, but a JSON Schema in response_format is";
                return Err(HttpError::unsupported(place, format!("structured_outputs.{name} {rule}")));
            }
        }
        let json = self.json.filter(|schema| !asks_for_nothing(schema));
        let any_object = (self.json_object == Some(true)).then(|| json!({ "type": "object" }));
        let choice = self.choice.filter(|texts| !texts.is_empty());
        let choice = choice.map(|texts| json!({ "type": "string", "enum": texts }));
        // The whole text must match, while a pattern of JSON Schema may match anywhere.
        let regex = self.regex.filter(|regex| !regex.is_empty());
        let regex = regex.map(|regex| json!({ "type": "string", "pattern": format!("^(?:{regex})$") }));
        let mut found: Vec<TextConstraint> =
            json.map(|schema| read_schema(place, schema)).transpose()?.into_iter().collect();
        found.extend(any_object.map(|schema| TextConstraint::json(schema.to_string())));
        found.extend(choice.or(regex).map(|schema| TextConstraint { schema: schema.to_string(), is_bare: true }));
        Ok(found)
    }
}

impl TextConstraint {
    fn json(schema: String) -> Self {
        Self { schema, is_bare: false }
    }
}

/// A schema as an object, or as JSON text of one.
fn read_schema(place: &str, schema: Json) -> Result<TextConstraint, HttpError> {
    let parsed = match &schema {
        Json::String(text) => serde_json::from_str(text).ok(),
        schema => Some(schema.clone()),
    };
    match parsed {
        Some(schema @ Json::Object(_)) => Ok(TextConstraint::json(schema.to_string())),
        _ => Err(HttpError::value(place, format!("{place} {}", must_be("a JSON Schema", &schema)))),
    }
}

/// The parts of `system`, in Anthropic's form: a string or blocks of text.
fn read_system(system: Json, fields: &RequestFields) -> Result<Vec<ChatMessageContent>, HttpError> {
    read_parts("system", Some(system), |place, part| read_text(place, part, fields))
}

/// Puts instructions before all others.
fn instruct(history: &mut Vec<ChatMessage>, mut parts: Vec<ChatMessageContent>) {
    match history.first_mut().filter(|first| first.role == Role::System) {
        Some(system) => {
            parts.push(ChatMessageContent::Text("\n\n".to_owned()));
            system.content.splice(0..0, parts);
        }
        None => history.insert(0, ChatMessage { content: parts, ..ChatMessage::system("") }),
    }
}

/// Fields that would change the reply, with the values that ask for nothing.
const UNSUPPORTED: [(&str, &[&str]); 48] = [
    ("add_generation_prompt", &["true"]),
    ("allowed_token_ids", &["[]"]),
    ("audio", &[]),
    ("bad_words", &["[]", "{}"]),
    ("best_of", &["1"]),
    ("chat_template", &["\"\""]),
    ("container", &["[]"]),
    ("continue_final_message", &["false"]),
    ("conversation", &[]),
    ("documents", &["[]"]),
    ("dry_multiplier", &["0"]),
    ("dynatemp_range", &["0"]),
    ("early_stopping", &["false"]),
    ("echo", &["false"]),
    ("images", &["[]"]),
    ("include_stop_str_in_output", &["false"]),
    ("input", &[]),
    ("length_penalty", &["1"]),
    ("logits_processors", &["[]"]),
    ("logprobs", &["false", "0"]),
    ("lora", &[]),
    ("mcp_servers", &["[]"]),
    ("messages", &[]),
    ("min_tokens", &["0"]),
    ("mirostat", &["0"]),
    ("modalities", &["[\"text\"]"]),
    ("n", &["1"]),
    ("n_probs", &["0"]),
    ("prediction", &[]),
    ("previous_response_id", &[]),
    ("prompt", &["\"\""]),
    ("prompt_logprobs", &["false", "0"]),
    ("raw", &["false"]),
    ("samplers", &["[]"]),
    ("skip_special_tokens", &["true"]),
    ("stop_token_ids", &["[]", "{}"]),
    ("suffix", &["\"\""]),
    ("t_max_predict_ms", &["0", "-1"]),
    ("template", &["\"\""]),
    ("tfs_z", &["1"]),
    ("top_a", &["0"]),
    ("top_logprobs", &["0"]),
    ("top_n_sigma", &["-1", "0"]),
    ("truncate_prompt_tokens", &[]),
    ("typical_p", &["1"]),
    ("use_beam_search", &["false"]),
    ("web_search_options", &[]),
    ("xtc_probability", &["0"]),
];

/// Fields that are refused with their own advice.
const ADVICE: [(&str, &[&str], &str); 6] = [
    ("format", &["\"\""], "format must be left out: response_format says the form of the reply"),
    ("functions", &["[]"], "functions must be left out: offer functions in tools, which replaces them"),
    (
        "function_call",
        &["\"none\"", "\"auto\""],
        "function_call must be left out: tool_choice replaces it, as tools replaces functions",
    ),
    ("grammar", &["\"\""], "grammar must be left out: a JSON Schema in response_format is supported, and guided_regex"),
    ("guided_grammar", &["\"\""], "guided_grammar must be left out: guided_json and guided_regex are supported"),
    ("options", &["{}"], "options must be left out: send its members, such as temperature, as fields of the request"),
];

fn refuse(fields: &mut RequestFields) -> Result<(), HttpError> {
    for (name, neutral, message) in ADVICE {
        if fields.take(name).is_some_and(|value| !is_one_of(&value, neutral)) {
            return Err(HttpError::unsupported(name, message));
        }
    }
    for (name, neutral) in UNSUPPORTED {
        fields.refuse(name, |value| is_one_of(value, neutral))?;
    }
    Ok(())
}

/// Whether a value is one of those that ask for nothing, or an empty string or array.
fn is_one_of(value: &Json, neutral: &[&str]) -> bool {
    let same = |text: &&str| match serde_json::from_str::<Json>(text) {
        Ok(Json::Number(number)) => value.as_f64() == number.as_f64(),
        Ok(json) => *value == json,
        Err(_) => false,
    };
    asks_for_nothing(value) || neutral.iter().any(same)
}

/// An empty object may ask for something: any JSON, or a search with default settings.
fn asks_for_nothing(value: &Json) -> bool {
    value == "" || is_empty_array(value)
}
