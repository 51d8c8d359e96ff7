//! `POST /v1/responses`: requests in OpenAI's newer dialect. Recent responses are stored, and a request may continue from
//! one; most bring their whole input.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::serve::answer::{Answer, ResponseWriter};
use crate::serve::error::HttpError;
use crate::serve::request::fields::RequestFields;
use crate::serve::request::format::TextField;
use crate::serve::request::namespaces::{Namespaces, joined_name};
use crate::serve::request::sampling::{
    MAX_LOGPROBS, ReasoningEffort, SamplingFields, StreamOptions, TemplateVariables, Truncation, ignore_verbosity,
};
use crate::serve::request::tool_choice::ToolChoiceForm;
use crate::serve::request::tools::{FunctionChoice, FunctionTools, read_choice, read_tools};
use crate::serve::request::types::{Integer, MAX_TOKENS, TokenLimit, WithoutEffect};
use crate::serve::request::{ChatRequest, Delivery, Thinking, must_be, schema};
use crate::serve::response_store::{MAX_RESPONSE, ResponseStore};
use crate::serve::service::Service;

mod items;
mod repeated;
pub(super) mod stored;

/// The fields of responses alone.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ResponseFields {
    #[schemars(with = "schema::ResponseInputSchema")]
    input: Json,
    instructions: Option<String>,
    max_output_tokens: Option<TokenLimit>,
    stream_options: Option<StreamOptions>,
    #[schemars(with = "Option<schema::ResponseToolsSchema>")]
    tools: Option<Vec<Json>>,
    #[schemars(with = "Option<schema::ResponseToolChoiceSchema>")]
    tool_choice: Option<Json>,
    #[schemars(extend("default" = true))]
    parallel_tool_calls: Option<bool>,
    text: Option<TextField>,
    reasoning: Option<ReasoningField>,
    /// auto leaves out the oldest turns if not all fit.
    truncation: Option<Truncation>,
    /// Whether a request may continue from the response.
    #[schemars(extend("default" = true))]
    store: Option<bool>,
    /// The response that this request continues from.
    previous_response_id: Option<String>,
    top_logprobs: Option<Integer<0, MAX_LOGPROBS>>,
    /// As in chat completions.
    #[schemars(extend("default" = false))]
    logprobs: Option<bool>,
    chat_template_kwargs: Option<TemplateVariables>,
}

/// Fields without effect.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "fields without effect are read so that they are known")]
pub(super) struct ResponseClientFields {
    /// Repeated in the response.
    #[schemars(with = "Option<Map<String, Json>>")]
    metadata: Option<WithoutEffect>,
    /// Repeated in the response.
    #[schemars(with = "Option<String>")]
    user: Option<WithoutEffect>,
    service_tier: Option<WithoutEffect>,
    /// Repeated in the response.
    #[schemars(with = "Option<String>")]
    safety_identifier: Option<WithoutEffect>,
    /// Repeated in the response.
    #[schemars(with = "Option<String>")]
    prompt_cache_key: Option<WithoutEffect>,
    /// Limits the calls of tools that a provider runs, of which there are none.
    max_tool_calls: Option<Integer<1, MAX_TOKENS>>,
    prompt_cache_retention: Option<WithoutEffect>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "fields without effect are read so that they are known")]
struct ReasoningField {
    effort: Option<ReasoningEffort>,
    /// Without effect: reasoning is shown whole.
    summary: Option<ReasoningSummary>,
    /// An older name of summary.
    generate_summary: Option<ReasoningSummary>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum ReasoningSummary {
    Auto,
    Concise,
    Detailed,
}

/// Values of `include` that can be honoured. Reasoning is sent as it is, so there is nothing to encrypt.
const INCLUDED: [&str; 2] = ["reasoning.encrypted_content", INCLUDED_LOGPROBS];
const INCLUDED_LOGPROBS: &str = "message.output_text.logprobs";

pub(super) fn read(
    service: &Arc<Service>,
    mut fields: RequestFields,
    store: ResponseStore,
) -> Result<Answer, HttpError> {
    ToolChoiceForm::Responses.translate(&mut fields);
    let repeated = repeated::fields(&fields, &service.model_id, &service.runner()?.sampling_defaults());
    let ReadRequest { request, namespaces, stored_input } = read_request(&mut fields, &store)?;
    let chat = request.prepare(service, fields)?;
    let storing = stored_input.map(|input| (store, input));
    let functions = chat.has_functions.then_some(namespaces);
    let writer = ResponseWriter::new(repeated, functions, chat.options.logprobs.is_some(), storing);
    Ok(Answer::to_chat(service, chat, writer))
}

/// A request, and what its response needs of it.
struct ReadRequest {
    request: ChatRequest,
    namespaces: Namespaces,
    /// The items of the whole conversation, if the response is to be stored.
    stored_input: Option<String>,
}

fn read_request(fields: &mut RequestFields, store: &ResponseStore) -> Result<ReadRequest, HttpError> {
    let (sampling, response): (SamplingFields, ResponseFields) = (fields.read()?, fields.read()?);
    let _: ResponseClientFields = fields.read()?;
    let includes_logprobs = read_include(fields)?;
    fields.refuse("background", |value| value == false)?;

    let (model, is_stream, mut options) = sampling.into_parts();
    let delivery = Delivery::new(1, is_stream, response.stream_options);
    options.max_tokens = response.max_output_tokens.and_then(|limit| limit.0);
    options.context_policy = response.truncation.unwrap_or_default().policy();
    let n_alternatives = response.top_logprobs.map_or(0, Integer::count);
    options.logprobs =
        (includes_logprobs || response.logprobs == Some(true) || 0 < n_alternatives).then_some(n_alternatives);
    let input = items::Input::read(response.input, response.previous_response_id.as_deref(), store)?;
    let mut tools = FunctionTools {
        functions: read_tools(fields, "tools", response.tools)?,
        choice: response.tool_choice.map(read_tool_choice).transpose()?.unwrap_or_default(),
        parallel: response.parallel_tool_calls,
    };
    tools.extend(input.functions(fields)?, fields);
    let namespaces = tools.namespaces();
    let functions = tools.apply(&mut options)?;
    let text = response.text.unwrap_or_default();
    if let Some(format) = text.format {
        options.json_schema_constraint = format.into_schema("text.format", fields)?;
    }
    ignore_verbosity(fields, "text.verbosity", text.verbosity);
    let enabled = response.chat_template_kwargs.unwrap_or_default().enable_thinking()?;
    let thinking = Thinking { enabled, effort: response.reasoning.and_then(|reasoning| reasoning.effort) };

    let history = input.history(response.instructions, fields)?;
    let image_places = input.image_places(&fields.images);
    let stored_input = response.store.unwrap_or(true).then(|| input.into_json());
    let stored_input = stored_input.filter(|items| items.len() <= MAX_RESPONSE);
    let request = ChatRequest { model, history, image_places, functions, options, sound: None, thinking, delivery };
    Ok(ReadRequest { request, namespaces, stored_input })
}

/// Whether `include` asks for log-probabilities.
fn read_include(fields: &mut RequestFields) -> Result<bool, HttpError> {
    let included = fields.peek("include").and_then(Json::as_array);
    let includes_logprobs = included.is_some_and(|names| names.contains(&INCLUDED_LOGPROBS.into()));
    fields.refuse("include", |value| {
        let is_known = |name: &Json| name.as_str().is_some_and(|name| INCLUDED.contains(&name));
        value.as_array().is_some_and(|names| names.iter().all(is_known))
    })?;
    Ok(includes_logprobs)
}

fn read_tool_choice(choice: Json) -> Result<FunctionChoice, HttpError> {
    match choice.get("type").and_then(Json::as_str) {
        None | Some("function" | "allowed_tools") => {
            read_choice(&choice, joined_name, &choice["mode"], &choice["tools"]).ok_or_else(|| {
                let rule = must_be("auto, none, required, a function or allowed_tools", &choice);
                HttpError::value("tool_choice", format!("tool_choice {rule}"))
            })
        }
        Some(kind) => {
            let message = format!("tool_choice.type must be function or allowed_tools, found {kind:?}");
            Err(HttpError::unsupported("tool_choice", message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use causerie::ToolChoice;
    use serde_json::json;

    #[test]
    fn tools_formats_and_limits_have_other_names() {
        let schema = json!({ "type": "object" });
        let format = json!({ "type": "json_schema", "name": "s", "schema": schema, "strict": true });
        let body = json!({
            "model": "m",
            "input": "Hi",
            "max_output_tokens": 5,
            "store": false,
            "tools": [{ "type": "function", "name": "f", "parameters": schema, "strict": null }],
            "tool_choice": { "type": "function", "name": "f" },
            "text": { "format": format },
            "reasoning": { "effort": "none", "summary": "auto" },
            "include": ["reasoning.encrypted_content", "message.output_text.logprobs"],
            "top_logprobs": 2,
        });
        let mut fields = RequestFields::new(body.as_object().unwrap().clone());
        let store = ResponseStore::new(&Arc::default(), None);
        let ReadRequest { request, stored_input, .. } = read_request(&mut fields, &store).unwrap();
        let options = request.options;
        assert_eq!(request.history, [causerie::ChatMessage::user("Hi")]);
        assert_eq!((options.max_tokens, options.logprobs), (Some(5), Some(2)));
        assert_eq!(request.thinking.effort, Some(ReasoningEffort::None));
        assert_eq!(request.functions[0].name, "f");
        assert_eq!(options.tool_choice, ToolChoice::Function("f".to_owned()));
        assert_eq!(options.json_schema_constraint, Some(schema.to_string()));
        assert_eq!((stored_input, fields.into_ignored(false).unwrap()), (None, vec![]));
    }
}
