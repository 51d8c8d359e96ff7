//! `POST /v1/messages` and `/v1/messages/count_tokens`: requests in Anthropic's dialect.

use std::sync::Arc;

use causerie::{Role, ToolChoice};
use hyper::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::serve::answer::{Answer, MessageWriter};
use crate::serve::error::HttpError;
use crate::serve::http::{ResponseBody, json_response};
use crate::serve::request::fields::RequestFields;
use crate::serve::request::sampling::{SamplingFields, TemplateVariables};
use crate::serve::request::tool_choice::ToolChoiceForm;
use crate::serve::request::tools::{FunctionChoice, FunctionTools, read_tools};
use crate::serve::request::types::{Lenient, StopSequences, TokenLimit, WithoutEffect};
use crate::serve::request::{ChatRequest, Delivery, Thinking, schema};
use crate::serve::service::Service;

mod blocks;

/// The fields of messages alone. `max_tokens` is required unless tokens are only counted.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct MessageFields {
    #[schemars(with = "schema::BlockMessagesSchema")]
    messages: Vec<Json>,
    #[schemars(with = "Option<schema::ContentBlocksSchema>")]
    system: Option<Json>,
    max_tokens: Option<TokenLimit>,
    stop_sequences: Option<StopSequences>,
    #[schemars(with = "Option<schema::CustomToolsSchema>")]
    tools: Option<Vec<Json>>,
    tool_choice: Option<Lenient<MessageToolChoice>>,
    thinking: Option<Lenient<ThinkingField>>,
    output_config: Option<OutputConfig>,
    /// An older place of output_config.format.
    output_format: Option<Lenient<OutputFormat>>,
    #[schemars(extend("default" = false))]
    ignore_eos: Option<bool>,
    chat_template_kwargs: Option<TemplateVariables>,
}

/// Fields without effect: the beginning that a request shares with earlier ones is always found again, for example.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "fields without effect are read so that they are known")]
pub(super) struct MessageClientFields {
    metadata: Option<WithoutEffect>,
    service_tier: Option<WithoutEffect>,
    /// Without effect: what was read before is always found again.
    cache_control: Option<WithoutEffect>,
    inference_geo: Option<WithoutEffect>,
    speed: Option<WithoutEffect>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
struct MessageToolChoice {
    #[serde(rename = "type")]
    kind: Option<MessageToolChoiceKind>,
    name: Option<String>,
    #[schemars(extend("default" = false))]
    disable_parallel_tool_use: Option<bool>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum MessageToolChoiceKind {
    Auto,
    Any,
    Tool,
    None,
}

/// How long the model thinks is up to the model: a budget of tokens has no effect.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
struct ThinkingField {
    #[serde(rename = "type")]
    kind: Option<ThinkingKind>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum ThinkingKind {
    Enabled,
    Adaptive,
    Disabled,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "fields without effect are read so that they are known")]
struct OutputConfig {
    format: Option<Lenient<OutputFormat>>,
    effort: Option<WithoutEffect>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "there is one type, which the reader checks")]
struct OutputFormat {
    #[serde(rename = "type")]
    kind: OutputFormatKind,
    schema: Map<String, Json>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum OutputFormatKind {
    JsonSchema,
}

pub(super) fn read(service: &Arc<Service>, mut fields: RequestFields) -> Result<Answer, HttpError> {
    if fields.peek("max_tokens").is_none() {
        return Err(HttpError::value("max_tokens", "max_tokens is required"));
    }
    let chat = read_request(&mut fields)?.prepare(service, fields)?;
    // Clients learn it from the first event of a stream.
    let prompt_tokens = if chat.delivery.is_stream { chat.count_prompt()? } else { 0 };
    let writer = MessageWriter::new(&service.model_id, chat.has_functions, prompt_tokens);
    Ok(Answer::to_chat(service, chat, writer))
}

/// Counts the tokens that the model would read.
pub(super) fn count(service: &Arc<Service>, mut fields: RequestFields) -> Result<Response<ResponseBody>, HttpError> {
    let chat = read_request(&mut fields)?.prepare(service, fields)?;
    let mut response = json_response(&json!({ "input_tokens": chat.count_prompt()? }));
    response.headers_mut().extend(chat.notes.headers(&service.model_id));
    Ok(response)
}

fn read_request(fields: &mut RequestFields) -> Result<ChatRequest, HttpError> {
    ToolChoiceForm::Messages.translate(fields);
    let (sampling, message): (SamplingFields, MessageFields) = (fields.read()?, fields.read()?);
    let _: MessageClientFields = fields.read()?;
    fields.refuse("context_management", only_clears)?;
    let (model, is_stream, mut options) = sampling.into_parts();
    let delivery = Delivery::new(1, is_stream, None);
    options.max_tokens = message.max_tokens.and_then(|limit| limit.0);
    options.ignore_end = message.ignore_eos.unwrap_or(false);
    options.stop_sequences = message.stop_sequences.map(|stop| stop.0).unwrap_or_default();
    let mut tools = read_choice(message.tool_choice)?;
    tools.functions = read_tools(fields, "tools", message.tools)?;
    let functions = tools.apply(&mut options)?;
    let format = message.output_config.unwrap_or_default().format.or(message.output_format);
    options.json_schema_constraint = format.map(|format| Json::Object(format.0.schema).to_string());
    let by_template = message.chat_template_kwargs.unwrap_or_default().enable_thinking()?;
    let by_field = message.thinking.and_then(|thinking| thinking.0.kind).map(|kind| kind != ThinkingKind::Disabled);
    let thinking = Thinking { enabled: by_field.or(by_template), effort: None };
    let image_places = fields.images.places("messages");
    let history = blocks::read_history(message.system, message.messages, fields)?;
    options.continue_final_message = history.last().is_some_and(|last| last.role == Role::Assistant);
    Ok(ChatRequest { model, history, image_places, functions, options, sound: None, thinking, delivery })
}

fn read_choice(choice: Option<Lenient<MessageToolChoice>>) -> Result<FunctionTools, HttpError> {
    let Some(Lenient(choice)) = choice else { return Ok(FunctionTools::default()) };
    let Some(kind) = choice.kind else { return Ok(FunctionTools::default()) };
    let mode = match (kind, choice.name) {
        (MessageToolChoiceKind::Auto, _) => ToolChoice::Auto,
        (MessageToolChoiceKind::None, _) => ToolChoice::None,
        (MessageToolChoiceKind::Any, _) => ToolChoice::Required,
        (MessageToolChoiceKind::Tool, Some(name)) => ToolChoice::Function(name),
        (MessageToolChoiceKind::Tool, None) => {
            return Err(HttpError::value("tool_choice", "tool_choice.name is required with type tool"));
        }
    };
    let parallel = choice.disable_parallel_tool_use.and_then(|disable| disable.then_some(false));
    Ok(FunctionTools { functions: Vec::new(), choice: FunctionChoice::from(mode), parallel })
}

/// Whether a context is only to be cleared of old results and thoughts when it grows long. They may stay.
fn only_clears(value: &Json) -> bool {
    let clears = |edit: &Json| edit["type"].as_str().is_some_and(|kind| kind.starts_with("clear_"));
    value.is_object() && value["edits"].as_array().is_none_or(|edits| edits.iter().all(clears))
}

#[cfg(test)]
mod tests {
    use super::*;
    use causerie::ToolCallConstraint;

    #[test]
    fn choices_tools_and_formats_have_other_names() {
        let schema = json!({ "type": "object" });
        let body = json!({
            "model": "m",
            "messages": [{ "role": "user", "content": "Hi" }],
            "max_tokens": 5,
            "stop_sequences": ["a"],
            "tools": [{ "name": "f", "description": "F.", "input_schema": schema, "cache_control": {} }],
            "tool_choice": { "type": "tool", "name": "f", "disable_parallel_tool_use": true },
            "thinking": { "type": "enabled", "budget_tokens": 1024 },
            "output_config": { "format": { "type": "json_schema", "schema": schema }, "effort": "low" },
        });
        let mut fields = RequestFields::new(body.as_object().unwrap().clone());
        let request = read_request(&mut fields).unwrap();
        let options = request.options;
        assert_eq!((options.max_tokens, options.stop_sequences), (Some(5), vec!["a".to_owned()]));
        assert_eq!((request.functions[0].name.as_str(), request.functions[0].description.as_str()), ("f", "F."));
        assert_eq!(options.tool_choice, ToolChoice::Function("f".to_owned()));
        assert_eq!((options.parallel_tool_calls, options.tool_call_constraint), (false, ToolCallConstraint::Typed));
        assert_eq!(request.thinking.enabled, Some(true));
        assert_eq!(options.json_schema_constraint, Some(schema.to_string()));
        assert_eq!(fields.into_ignored(false).unwrap(), Vec::<String>::new());
    }
}
