//! `POST /v1/chat/completions`: messages and tools become a conversation, which replies.

use std::sync::Arc;

use causerie::{
    Arguments, ChatMessage, ContextPolicy, Conversation, GenerationOptions, ToolChoice, Value, messages_from_json,
    read_json,
};
use serde_json::{Value as Json, json};

use crate::serve::Service;
use crate::serve::answer::{Answer, Choices, Form, PendingReply, Writer};
use crate::serve::demands;
use crate::serve::fault::{Fault, renamed};
use crate::serve::fields::{Fields, expected};
use crate::serve::models;
use crate::serve::options::{Delivery, MOST_LOGPROBS, passed, read_delivery, read_options};

const MOST_MESSAGES: usize = 10_000;

/// A request that has been read, whatever the form of its answer.
pub(super) struct Chat {
    pub(super) conversation: Conversation,
    pub(super) options: GenerationOptions,
    pub(super) delivery: Delivery,
    /// Where nothing can be called, what looks like a call is text.
    pub(super) has_functions: bool,
}

pub(super) fn read(service: &Arc<Service>, fields: Fields) -> Result<Answer, Fault> {
    let chat = read_chat(service, fields)?;
    let form = Form::Chat { has_functions: chat.has_functions };
    let writer = Choices::new(form, &service.model_id, chat.delivery.include_usage, &chat.options);
    Ok(chat.answer(service, writer))
}

/// Reads a request, all of it: what is wrong is said before anything is generated.
pub(super) fn read_chat(service: &Arc<Service>, mut fields: Fields) -> Result<Chat, Fault> {
    models::require(service, &mut fields)?;
    let history = read_messages(fields.require("messages")?)?;
    let mut options = read_options(&mut fields)?;
    let functions = demands::read(&mut fields, &mut options)?;
    options.logprobs = read_logprobs(&mut fields)?;
    options.context_policy = read_truncation(&mut fields)?;
    // How much is written is up to the model. Any other value is told to be ignored.
    fields.pass("verbosity", |value| value == "medium");
    let runner = service.runner()?;
    options.enable_thinking = read_thinking(&mut fields, runner.info().supports_reasoning)?;
    options.function_call_parser = Some(runner.info().function_call_parser);
    let delivery = read_delivery(fields, service.settings.strict_fields)?;

    let has_functions = !functions.is_empty() && options.tool_choice != ToolChoice::None;
    let conversation = runner.create_conversation_from_history(history);
    if !functions.is_empty() {
        if !runner.supports_function_calling() {
            return Err(Fault::unsupported("tools", "the model's chat template cannot offer functions"));
        }
        conversation.register_functions(functions).map_err(|err| Fault::of(&err))?;
    }
    Ok(Chat { conversation, options, delivery, has_functions })
}

/// Reads a request that was told as one of chat completions: `left` is what is left over of it, and `names` are what fields
/// are called in it.
pub(super) fn read_told(
    service: &Arc<Service>,
    told: Fields,
    left: Fields,
    names: &[(&str, &str)],
) -> Result<Chat, Fault> {
    let ignored = passed(left.rest(), service.settings.strict_fields)?;
    let mut chat = read_chat(service, told)?;
    let told = std::mem::take(&mut chat.delivery.ignored).into_iter().map(|name| renamed(name, names));
    chat.delivery.ignored = told.chain(ignored).collect();
    Ok(chat)
}

impl Chat {
    pub(super) fn answer(self, service: &Arc<Service>, writer: impl Writer + 'static) -> Answer {
        let replies = (0..self.delivery.n).map(|choice| reply(&self.conversation, &self.options, choice)).collect();
        Answer::new(service, writer, replies, self.delivery)
    }
}

/// One choice. Several differ in their seeds, and are none the wiser for each other.
fn reply(conversation: &Conversation, options: &GenerationOptions, choice: usize) -> PendingReply {
    let seed = options.seed.map(|seed| seed.wrapping_add(choice as u64));
    let stream = conversation.fork().continue_response(GenerationOptions { seed, ..options.clone() });
    PendingReply { stream, echo: String::new() }
}

fn read_messages(mut messages: Json) -> Result<Vec<ChatMessage>, Fault> {
    match messages.as_array().map(Vec::len) {
        Some(1..=MOST_MESSAGES) => {}
        Some(n) => return Err(Fault::value("messages", format!("{n} messages, expected 1 to {MOST_MESSAGES}"))),
        None => return Err(expected("messages", "an array", &messages)),
    }
    messages.as_array_mut().into_iter().flatten().for_each(mend);
    let mut history =
        messages_from_json(&messages.to_string()).map_err(|err| Fault::value("messages", err.message()))?;
    if history.iter().any(|message| !message.functions.is_empty()) {
        return Err(Fault::value("messages", "functions are offered in tools, not in a message"));
    }
    // Fields that nobody knows are kept for who writes a history again. This one is read, and forgotten.
    history.iter_mut().for_each(|message| message.extra = Arguments::new());
    Ok(history)
}

/// Tells a message as histories have it: a refusal is what was said, and a call whose arguments are no JSON object has what
/// was written as its one argument. Clients send back what a model wrote, and could not go on if it was refused.
fn mend(message: &mut Json) {
    for part in message.get_mut("content").and_then(Json::as_array_mut).into_iter().flatten() {
        if part["type"] == "refusal" {
            *part = json!({ "type": "text", "text": part["refusal"] });
        }
    }
    for call in message.get_mut("tool_calls").and_then(Json::as_array_mut).into_iter().flatten() {
        let Some(arguments) = call.pointer_mut("/function/arguments") else { continue };
        match arguments.as_str().filter(|text| !text.trim().is_empty()).map(|text| (text, read_json(text))) {
            None | Some((_, Some(Value::Object(_)))) => {}
            Some((_, Some(Value::Null))) => *arguments = Json::Null,
            Some((text, _)) => *arguments = json!({ "arguments": text }),
        }
    }
}

/// How many alternatives of each token are to be told, if it is to be told how likely tokens were.
fn read_logprobs(fields: &mut Fields) -> Result<Option<usize>, Fault> {
    let is_wanted = fields.flag("logprobs")?.unwrap_or(false);
    let n_alternatives = fields.integer("top_logprobs", 0, MOST_LOGPROBS)?.unwrap_or(0);
    if 0 < n_alternatives && !is_wanted {
        return Err(Fault::value("top_logprobs", "top_logprobs are asked for, and logprobs is not true"));
    }
    Ok(usize::try_from(n_alternatives).ok().filter(|_| is_wanted))
}

/// What becomes of a history that is too long.
fn read_truncation(fields: &mut Fields) -> Result<ContextPolicy, Fault> {
    match fields.take("truncation") {
        None => Ok(ContextPolicy::Error),
        Some(value) if value == "disabled" => Ok(ContextPolicy::Error),
        Some(value) if value == "auto" => Ok(ContextPolicy::Slide { shrink_tool_results: false }),
        Some(value) => Err(expected("truncation", "auto or disabled", &value)),
    }
}

/// `chat_template_kwargs`, of which one name has a meaning here, or else `reasoning_effort`: a model that can reason is asked
/// to. How much is up to the model.
fn read_thinking(fields: &mut Fields, can_reason: bool) -> Result<bool, Fault> {
    let effort = fields.take("reasoning_effort").unwrap_or_else(|| json!("none"));
    let by_effort = match effort.as_str() {
        Some("none" | "minimal") => false,
        Some("low" | "medium" | "high" | "xhigh" | "max" | "default") => can_reason,
        _ => {
            let expect = "none, minimal, low, medium, high, xhigh, max or default";
            return Err(expected("reasoning_effort", expect, &effort));
        }
    };
    let mut variables = fields.object("chat_template_kwargs")?;
    let enable_thinking = variables.flag("enable_thinking").map_err(|fault| fault.at("chat_template_kwargs"))?;
    match variables.rest().first() {
        Some(name) => Err(Fault::unsupported(
            "chat_template_kwargs",
            format!("{name} cannot be given to the template; enable_thinking can"),
        )),
        None => Ok(enable_thinking.unwrap_or(by_effort)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_wrote_can_be_sent_back() {
        let message = |arguments: &str| {
            let function = json!({ "name": "f", "arguments": arguments });
            let refusal = json!({ "type": "refusal", "refusal": "No." });
            let call = json!({ "id": "a", "type": "function", "function": function });
            read_messages(json!([{ "role": "assistant", "content": [refusal], "tool_calls": [call] }]))
                .unwrap()
                .remove(0)
        };
        assert_eq!(message("").text(), "No.");
        let known = read_messages(json!([{ "role": "user", "content": "Hi", "x": [0] }])).unwrap().remove(0);
        assert!(known.extra.is_empty(), "what nobody knows takes no room while the request waits");
        for (arguments, expect) in [
            ("", "{}"),
            ("null", "{}"),
            (r#"{"n": 123456789012345678901}"#, r#"{"n": 123456789012345678901}"#),
            ("{bad", r#"{"arguments": "{bad"}"#),
            ("[]", r#"{"arguments": "[]"}"#),
        ] {
            let call = message(arguments).function_calls.unwrap().remove(0);
            assert_eq!(Value::Object(call.arguments).to_string(), expect);
        }
    }
}
