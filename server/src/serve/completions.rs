//! `POST /v1/completions`: prompts are continued as they are, without the model's chat template.

use std::sync::Arc;

use causerie::{GenerationOptions, ModelRunner, Prompt};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::serve::answer::{Answer, ChoiceForm, ChoiceWriter, PendingReply, Usage, with_seed};
use crate::serve::error::HttpError;
use crate::serve::models;
use crate::serve::request::fields::RequestFields;
use crate::serve::request::sampling::{
    ChoiceFields, ClientFields, MAX_LOGPROBS, SamplingFields, checked, is_empty_array,
};
use crate::serve::request::types::{Integer, whole_number};
use crate::serve::request::{RequestNotes, foreign, must_be, schema};
use crate::serve::service::Service;

/// Limit on prompts times choices of one request.
const MAX_REPLIES: usize = 64;
/// The limit of a reply whose request has none, as other servers of this route have it: without a chat template, many models
/// write on until the context is full.
const DEFAULT_MAX_TOKENS: usize = 16;

/// The fields of completions alone.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct CompletionFields {
    #[schemars(with = "schema::PromptsSchema")]
    prompt: Prompts,
    /// Not together with logprobs.
    #[schemars(extend("default" = false))]
    echo: Option<bool>,
    /// Alternatives of each token.
    logprobs: Option<Integer<0, MAX_LOGPROBS>>,
}

/// A string, token ids, or an array of either.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Json")]
struct Prompts(Vec<Prompt>);

pub(super) fn read(service: &Arc<Service>, mut fields: RequestFields) -> Result<Answer, HttpError> {
    let has_limit = foreign::TOKEN_LIMITS.iter().any(|name| fields.peek(name).is_some());
    // Clients of chat completions, where logprobs is a boolean, may send that none are wanted.
    if fields.peek("logprobs") == Some(&Json::Bool(false)) {
        fields.take("logprobs");
    }
    let (sampling, choices): (SamplingFields, ChoiceFields) = (fields.read()?, fields.read()?);
    let CompletionFields { prompt: Prompts(prompts), echo, logprobs } = fields.read()?;
    let _: ClientFields = fields.read()?;
    let (model, is_stream, options) = sampling.into_parts();
    let is_other_model = models::check(service, model.as_deref())?;
    let logprobs = logprobs.map(Integer::count);
    let mut options = GenerationOptions { function_call_parser: None, logprobs, ..options };
    let mut delivery = choices.apply(&mut options, is_stream);
    delivery.is_bare_string = foreign::apply_options(&mut options, &mut fields)?;
    if !has_limit {
        options.max_tokens = Some(DEFAULT_MAX_TOKENS);
    }
    refuse_chat_fields(&mut fields)?;
    let mut options = checked(options)?;
    let echo = echo.unwrap_or(false);
    if echo && logprobs.is_some() {
        let message = "logprobs must be left out with echo: the tokens of the prompt are not scored";
        return Err(HttpError::unsupported("logprobs", message));
    }
    if MAX_REPLIES < prompts.len() * delivery.n {
        let n_replies = prompts.len() * delivery.n;
        let message = format!("the number of prompts times n must be at most {MAX_REPLIES}, found {n_replies}");
        return Err(HttpError::value("prompt", message));
    }
    let ignored = fields.into_ignored(service.settings.strict_fields)?;
    let runner = service.runner()?;
    let mut replies = Vec::new();
    let mut usage_so_far = delivery.continuous_usage.then(Usage::default);
    let has_logprobs = options.logprobs.is_some();
    if usage_so_far.is_some() {
        options.logprobs.get_or_insert(0); // the events that count tokens
    }
    for prompt in prompts {
        if let Some(usage) = &mut usage_so_far {
            usage.add_prompt(count(runner, &prompt)?);
        }
        let text = if echo { text_of(&prompt)? } else { String::new() };
        for choice in 0..delivery.n {
            let stream = runner.complete(prompt.clone(), with_seed(&options, choice));
            let (echo, is_bare_string) = (text.clone(), delivery.is_bare_string);
            replies.push(PendingReply { stream, echo, is_bare_string, image_places: Arc::default() });
        }
    }
    let include_usage = delivery.include_usage;
    let writer = ChoiceWriter::new(ChoiceForm::Text, &service.model_id, include_usage, usage_so_far, has_logprobs);
    Ok(Answer::new(service, writer, replies, delivery, RequestNotes { ignored, is_other_model }))
}

/// Refuses fields that need a conversation.
fn refuse_chat_fields(fields: &mut RequestFields) -> Result<(), HttpError> {
    for name in ["system", "instructions"] {
        fields.refuse(name, |value| value == "")?;
    }
    fields.refuse("tools", is_empty_array)?;
    fields.refuse("tool_choice", |value| value == "none" || value == "auto")
}

impl TryFrom<Json> for Prompts {
    type Error = String;

    fn try_from(prompt: Json) -> Result<Self, String> {
        match prompt {
            Json::Array(prompts) if prompts.is_empty() => Err("must not be an empty array".to_owned()),
            Json::Array(prompts) if !prompts.iter().all(Json::is_number) => {
                prompts.into_iter().map(read_prompt).collect::<Result<_, _>>().map(Self)
            }
            prompt => Ok(Self(vec![read_prompt(prompt)?])),
        }
    }
}

fn read_prompt(prompt: Json) -> Result<Prompt, String> {
    let id = |id: &Json| {
        let id_or_none = whole_number(id).and_then(|id| u32::try_from(id).ok());
        id_or_none.ok_or_else(|| format!("must hold token ids, found {id}"))
    };
    match prompt {
        Json::String(text) => Ok(Prompt::Text(text)),
        Json::Array(ids) => ids.iter().map(id).collect::<Result<_, _>>().map(Prompt::Tokens),
        value => Err(must_be("a string or an array of token ids", &value)),
    }
}

/// The tokens of a prompt.
fn count(runner: &ModelRunner, prompt: &Prompt) -> Result<usize, HttpError> {
    match prompt {
        Prompt::Text(text) => runner.tokenize(text).map(|ids| ids.len()).map_err(|err| HttpError::from_engine(&err)),
        Prompt::Tokens(ids) => Ok(ids.len()),
    }
}

/// The prompt as text, to be repeated before its reply.
fn text_of(prompt: &Prompt) -> Result<String, HttpError> {
    match prompt {
        Prompt::Text(text) => Ok(text.clone()),
        Prompt::Tokens(_) => {
            Err(HttpError::unsupported("echo", "echo must be left out unless all prompts are strings"))
        }
    }
}
