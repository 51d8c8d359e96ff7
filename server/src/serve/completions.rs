//! `POST /v1/completions`: prompts are continued as they stand, without the model's chat template.

use std::sync::Arc;

use causerie::{GenerationOptions, Prompt};
use serde_json::Value as Json;

use crate::serve::Service;
use crate::serve::answer::{Answer, Choices, Form, PendingReply};
use crate::serve::fault::Fault;
use crate::serve::fields::{Fields, expected};
use crate::serve::models;
use crate::serve::options::{MOST_LOGPROBS, read_delivery, read_options};

/// Prompts times choices of one request.
const MOST_REPLIES: usize = 64;

pub(super) fn read(service: &Arc<Service>, mut fields: Fields) -> Result<Answer, Fault> {
    models::require(service, &mut fields)?;
    let prompts = read_prompts(fields.require("prompt")?)?;
    let logprobs = fields.integer("logprobs", 0, MOST_LOGPROBS)?.and_then(|n| usize::try_from(n).ok());
    let options = GenerationOptions { function_call_parser: None, logprobs, ..read_options(&mut fields)? };
    let echo = fields.flag("echo")?.unwrap_or(false);
    if echo && logprobs.is_some() {
        let message = "logprobs are those of the reply's tokens, and echo would ask for the prompt's as well";
        return Err(Fault::unsupported("logprobs", message));
    }
    let delivery = read_delivery(fields, service.settings.strict_fields)?;
    if MOST_REPLIES < prompts.len() * delivery.n {
        return Err(Fault::value("prompt", format!("expected at most {MOST_REPLIES} replies to one request")));
    }
    let runner = service.runner()?;
    let mut replies = Vec::new();
    for prompt in prompts {
        let text = if echo { echoed(&prompt)? } else { String::new() };
        for choice in 0..delivery.n {
            let seed = options.seed.map(|seed| seed.wrapping_add(choice as u64));
            let stream = runner.complete(prompt.clone(), GenerationOptions { seed, ..options.clone() });
            replies.push(PendingReply { stream, echo: text.clone() });
        }
    }
    let writer = Choices::new(Form::Text, &service.model_id, delivery.include_usage, &options);
    Ok(Answer::new(service, writer, replies, delivery))
}

/// A text, token ids, or a list of either.
fn read_prompts(prompt: Json) -> Result<Vec<Prompt>, Fault> {
    match prompt {
        Json::Array(items) if items.is_empty() => Err(Fault::value("prompt", "the list of prompts is empty")),
        Json::Array(items) if !items.iter().all(Json::is_number) => items.into_iter().map(read_prompt).collect(),
        prompt => Ok(vec![read_prompt(prompt)?]),
    }
}

fn read_prompt(prompt: Json) -> Result<Prompt, Fault> {
    match prompt {
        Json::String(text) => Ok(Prompt::Text(text)),
        Json::Array(ids) => {
            let id = |id: &Json| id.as_u64().and_then(|id| u32::try_from(id).ok());
            let ids: Option<Vec<u32>> = ids.iter().map(id).collect();
            ids.map(Prompt::Tokens).ok_or_else(|| Fault::value("prompt", "a prompt holds what is no token id"))
        }
        value => Err(expected("prompt", "a text, or token ids", &value)),
    }
}

/// The prompt as text.
fn echoed(prompt: &Prompt) -> Result<String, Fault> {
    match prompt {
        Prompt::Text(text) => Ok(text.clone()),
        Prompt::Tokens(_) => Err(Fault::unsupported("echo", "only prompts given as text can be echoed")),
    }
}
