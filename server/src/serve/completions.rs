//! `POST /v1/completions`: prompts are continued as they are, without the model's chat template.

use std::sync::Arc;

use causerie::{GenerationOptions, Prompt};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::serve::answer::{Answer, ChoiceForm, ChoiceWriter, PendingReply};
use crate::serve::error::HttpError;
use crate::serve::request::fields::RequestFields;
use crate::serve::request::sampling::{
    ChoiceFields, ClientFields, MAX_LOGPROBS, SamplingFields, checked, refuse_unsupported,
};
use crate::serve::request::types::Integer;
use crate::serve::request::{must_be, schema, with_seed};
use crate::serve::{Service, models};

/// Limit on prompts times choices of one request.
const MAX_REPLIES: usize = 64;

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
    let (sampling, choices): (SamplingFields, ChoiceFields) = (fields.read()?, fields.read()?);
    let CompletionFields { prompt: Prompts(prompts), echo, logprobs } = fields.read()?;
    let _: ClientFields = fields.read()?;
    refuse_unsupported(&mut fields)?;
    let (model, is_stream, options) = sampling.into_parts();
    models::check(service, &model)?;
    let logprobs = logprobs.map(Integer::count);
    let mut options = GenerationOptions { function_call_parser: None, logprobs, ..options };
    let delivery = choices.apply(&mut options, is_stream)?;
    let options = checked(options)?;
    let echo = echo.unwrap_or(false);
    if echo && logprobs.is_some() {
        let message = "logprobs must be left out with echo: the tokens of the prompt are not scored";
        return Err(HttpError::unsupported("logprobs", message));
    }
    if MAX_REPLIES < prompts.len() * delivery.n {
        let message = format!("prompt must ask for at most {MAX_REPLIES} replies, which are prompts times n");
        return Err(HttpError::value("prompt", message));
    }
    let ignored = fields.into_ignored(service.settings.strict_fields)?;
    let runner = service.runner()?;
    let mut replies = Vec::new();
    for prompt in prompts {
        let text = if echo { text_of(&prompt)? } else { String::new() };
        for choice in 0..delivery.n {
            let stream = runner.complete(prompt.clone(), with_seed(&options, choice));
            replies.push(PendingReply { stream, echo: text.clone() });
        }
    }
    let writer = ChoiceWriter::new(ChoiceForm::Text, &service.model_id, delivery.include_usage, &options);
    Ok(Answer::new(service, writer, replies, delivery, ignored))
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
        let id_or_none = id.as_u64().and_then(|id| u32::try_from(id).ok());
        id_or_none.ok_or_else(|| format!("must hold token ids, found {id}"))
    };
    match prompt {
        Json::String(text) => Ok(Prompt::Text(text)),
        Json::Array(ids) => ids.iter().map(id).collect::<Result<_, _>>().map(Prompt::Tokens),
        value => Err(must_be("a string or an array of token ids", &value)),
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
