//! The items of a realtime conversation, and the history that they make.

use causerie::{ChatMessage, ChatMessageContent, Role, SdkFunctionCall};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::serve::answer::events::arguments;
use crate::serve::error::HttpError;
use crate::serve::realtime::format::{EventSound, floats};
use crate::serve::request::content::{
    add_instructions, function_call, kind_of, message, read_arguments, read_image_url, read_parts, read_text,
    tool_result,
};
use crate::serve::request::fields::{RequestFields, read_value};
use crate::serve::request::must_be;

/// An item of the conversation.
#[derive(Clone, Debug)]
pub(super) struct ConversationItem {
    pub(super) id: String,
    pub(super) status: ItemStatus,
    pub(super) body: ItemBody,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemStatus {
    InProgress,
    Completed,
    Incomplete,
}

#[derive(Clone, Debug)]
pub(super) enum ItemBody {
    Message(ItemMessage),
    Call(SdkFunctionCall),
    Output { call_id: String, output: String },
}

/// A message, as the engine has it.
#[derive(Clone, Debug)]
pub(super) struct ItemMessage {
    pub(super) message: ChatMessage,
    /// Whether it was spoken: its text is a transcript then.
    pub(super) is_spoken: bool,
}

#[derive(Debug, Deserialize)]
struct ConversationItemFields {
    id: Option<String>,
    r#type: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ItemMessageFields {
    role: String,
    content: Option<Json>,
}

#[derive(Debug, Deserialize)]
struct CallFields {
    call_id: Option<String>,
    name: String,
    #[serde(default)]
    arguments: Json,
}

#[derive(Debug, Deserialize)]
struct OutputFields {
    call_id: String,
    output: String,
}

impl ItemStatus {
    fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
        }
    }
}

impl ConversationItem {
    pub(super) fn new(id: String, body: ItemBody) -> Self {
        Self { id, status: ItemStatus::Completed, body }
    }

    /// Reads an item of the client, whose sound has this form. `new_id` names it if the client does not.
    pub(super) fn read(
        place: &str,
        item: &Json,
        form: EventSound,
        new_id: impl FnOnce() -> String,
    ) -> Result<Self, HttpError> {
        let fields: ConversationItemFields = read_value(place, item.clone())?;
        let body = match fields.r#type.as_deref() {
            Some("message") | None => ItemBody::Message(read_message(place, item, form)?),
            Some("function_call") => {
                let call: CallFields = read_value(place, item.clone())?;
                let given = read_arguments(&format!("{place}.arguments"), call.arguments)?;
                ItemBody::Call(function_call(call.call_id.unwrap_or_default(), call.name, given))
            }
            Some("function_call_output") => {
                let OutputFields { call_id, output } = read_value(place, item.clone())?;
                ItemBody::Output { call_id, output }
            }
            Some(_) => {
                let rule = must_be("message, function_call or function_call_output", &item["type"]);
                let place = format!("{place}.type");
                return Err(HttpError::value(&place, format!("{place} {rule}")).at_exactly(&place));
            }
        };
        Ok(Self::new(fields.id.filter(|id| !id.is_empty()).unwrap_or_else(new_id), body))
    }

    /// The item as events show it. Sound is not repeated.
    pub(super) fn json(&self) -> Json {
        let (id, status) = (&self.id, self.status.name());
        let mut item = match &self.body {
            ItemBody::Message(shown) => {
                json!({ "type": "message", "role": shown.message.role.as_str(), "content": shown.parts() })
            }
            ItemBody::Call(call) => {
                // Clients add what the deltas have.
                let written = if self.status == ItemStatus::InProgress { String::new() } else { arguments(call) };
                json!({ "type": "function_call", "name": call.name, "call_id": call.call_id, "arguments": written })
            }
            ItemBody::Output { call_id, output } => {
                json!({ "type": "function_call_output", "call_id": call_id, "output": output })
            }
        };
        item["id"] = json!(id);
        item["object"] = json!("realtime.item");
        item["status"] = json!(status);
        item
    }

    /// Bytes of its content.
    pub(super) fn size(&self) -> usize {
        match &self.body {
            ItemBody::Message(ItemMessage { message, .. }) => {
                let size = |part: &ChatMessageContent| match part {
                    ChatMessageContent::Text(text) => text.len(),
                    ChatMessageContent::Image(file) | ChatMessageContent::Audio(file) => file.len(),
                    _ => 0,
                };
                message.content.iter().map(size).sum()
            }
            ItemBody::Call(call) => call.raw_text.len() + arguments(call).len(),
            ItemBody::Output { output, .. } => output.len(),
        }
    }
}

impl ItemMessage {
    /// What the user has said.
    pub(super) fn of_sound(sound: ChatMessageContent) -> Self {
        Self { message: message(Role::User, vec![sound]), is_spoken: true }
    }

    /// Its parts, as events show them. A reply has one part.
    fn parts(&self) -> Json {
        let text = self.message.text();
        match self.message.role {
            Role::Assistant if self.message.content.is_empty() => json!([]),
            Role::Assistant if self.is_spoken => json!([{ "type": "output_audio", "transcript": text }]),
            Role::Assistant => json!([{ "type": "output_text", "text": text }]),
            _ if self.is_spoken => json!([{ "type": "input_audio", "transcript": self.transcript() }]),
            _ => self.message.content.iter().map(input_part).collect(),
        }
    }

    /// What was written down of the user's words.
    fn transcript(&self) -> Option<String> {
        let has_text = self.message.content.iter().any(|part| matches!(part, ChatMessageContent::Text(_)));
        has_text.then(|| self.message.text())
    }
}

fn input_part(part: &ChatMessageContent) -> Json {
    match part {
        ChatMessageContent::Text(text) => json!({ "type": "input_text", "text": text }),
        ChatMessageContent::Audio(_) => json!({ "type": "input_audio", "transcript": null }),
        _ => json!({ "type": "input_image" }),
    }
}

fn read_message(place: &str, item: &Json, form: EventSound) -> Result<ItemMessage, HttpError> {
    let ItemMessageFields { role, content } = read_value(place, item.clone())?;
    let role = match role.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" | "developer" => Role::System,
        _ => {
            let rule = must_be("user, assistant or system", &item["role"]);
            let place = format!("{place}.role");
            return Err(HttpError::value(&place, format!("{place} {rule}")).at_exactly(&place));
        }
    };
    let read = |place: &str, part: Json| read_part(place, part, role, form);
    let content = read_parts(&format!("{place}.content"), content, read)?;
    Ok(ItemMessage { message: message(role, content), is_spoken: false })
}

fn read_part(place: &str, part: Json, role: Role, form: EventSound) -> Result<Option<ChatMessageContent>, HttpError> {
    let kind = kind_of(place, &part)?;
    let text_of = |member: &str| part[member].as_str();
    match kind {
        "input_audio" if role == Role::User => {
            let place = format!("{place}.audio");
            let audio =
                text_of("audio").ok_or_else(|| HttpError::value(&place, format!("{place} must be a string")))?;
            sound(&place, &form.decode(&place, audio)?, form.rate()).map(Some)
        }
        "input_image" if role == Role::User => {
            let place = format!("{place}.image_url");
            let url =
                text_of("image_url").ok_or_else(|| HttpError::value(&place, format!("{place} must be a string")))?;
            read_image_url(&place, url).map(Some)
        }
        // The sound of a reply cannot be given back: the model has other codes for it.
        "output_audio" | "audio" if role == Role::Assistant => {
            Ok(text_of("transcript").map(|text| ChatMessageContent::Text(text.to_owned())))
        }
        _ => read_text(place, part, &RequestFields::new(Map::new())),
    }
}

/// Samples as a part of a message.
pub(super) fn sound(place: &str, samples: &[i16], sample_rate: u32) -> Result<ChatMessageContent, HttpError> {
    let sound = ChatMessageContent::audio_from_samples(&floats(samples), sample_rate);
    sound.map_err(|err| HttpError::value(place, format!("{place} {}", err.message())).at_exactly(place))
}

/// The history of a conversation: a reply and the calls after it are one message.
pub(super) fn history<'a>(
    instructions: &str,
    items: impl IntoIterator<Item = &'a ConversationItem>,
) -> Vec<ChatMessage> {
    let mut history = Vec::new();
    if !instructions.is_empty() {
        add_instructions(&mut history, vec![ChatMessageContent::Text(instructions.to_owned())]);
    }
    for item in items {
        match &item.body {
            ItemBody::Message(ItemMessage { message, .. }) if message.role == Role::System => {
                add_instructions(&mut history, message.content.clone());
            }
            // What was not heard, or has not been written down yet, is not in the conversation.
            ItemBody::Message(ItemMessage { message, .. }) if message.content.is_empty() => {}
            ItemBody::Message(ItemMessage { message, .. }) => history.push(message.clone()),
            ItemBody::Call(call) => add_call(&mut history, call.clone()),
            ItemBody::Output { call_id, output } => {
                history.push(tool_result(call_id.clone(), vec![ChatMessageContent::Text(output.clone())]));
            }
        }
    }
    history
}

fn add_call(history: &mut Vec<ChatMessage>, call: SdkFunctionCall) {
    match history.last_mut().filter(|last| last.role == Role::Assistant) {
        Some(reply) => reply.function_calls.get_or_insert_default().push(call),
        None => history.push(ChatMessage { function_calls: Some(vec![call]), ..message(Role::Assistant, Vec::new()) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::dialect::Dialect;
    use crate::serve::realtime::format::EventSoundWriter;

    fn read(item: Json) -> Result<ConversationItem, String> {
        let read = ConversationItem::read("item", &item, EventSound::USUAL, || "item_new".to_owned());
        read.map_err(|error| error.json(Dialect::Realtime, None)["error"]["message"].as_str().unwrap().to_owned())
    }

    #[test]
    fn items_become_a_history() {
        let items = [
            json!({ "type": "message", "role": "system", "content": [{ "type": "input_text", "text": "Be brief." }] }),
            json!({ "role": "user", "content": [{ "type": "input_text", "text": "Time?" }], "id": "mine" }),
            json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_audio", "transcript": "Well." }] }),
            json!({ "type": "function_call", "call_id": "c", "name": "now", "arguments": "{\"zone\": \"UTC\"}" }),
            json!({ "type": "function_call_output", "call_id": "c", "output": "noon" }),
        ];
        let items: Vec<ConversationItem> = items.into_iter().map(|item| read(item).unwrap()).collect();
        assert_eq!((items[0].id.as_str(), items[1].id.as_str()), ("item_new", "mine"));
        let history = history("You help.", &items);
        let texts: Vec<String> = history.iter().map(ChatMessage::text).collect();
        assert_eq!(texts, ["You help.\n\nBe brief.", "Time?", "Well.", "noon"]);
        assert_eq!(history[2].function_calls.as_ref().unwrap()[0].arguments["zone"], "UTC".into());
        assert_eq!(history[3].tool_call_id.as_deref(), Some("c"));
        assert_eq!(items[2].json()["content"], json!([{ "type": "output_text", "text": "Well." }]));
        assert_eq!(items[3].json()["arguments"], r#"{"zone": "UTC"}"#);
    }

    #[test]
    fn sound_of_the_user_becomes_a_file() {
        let audio = EventSoundWriter::new(EventSound::USUAL).push(&[0.5; 480]);
        let item = read(json!({ "role": "user", "content": [{ "type": "input_audio", "audio": audio }] })).unwrap();
        let ItemBody::Message(shown) = &item.body else { panic!("a message") };
        let ChatMessageContent::Audio(file) = &shown.message.content[0] else { panic!("sound") };
        let sound = causerie::Sound::read(file).unwrap();
        assert_eq!((sound.sample_rate(), sound.samples()), (24_000, &[0.5; 480][..]));
        assert_eq!(item.json()["content"], json!([{ "type": "input_audio", "transcript": null }]));
    }

    #[test]
    fn a_wrong_item_is_refused_by_its_place() {
        for (item, rule) in [
            (json!(5), "item must be an object, found 5"),
            (
                json!({ "type": "mcp_call" }),
                "item.type must be message, function_call or function_call_output, found \"mcp_call\"",
            ),
            (json!({ "role": "robot" }), "item.role must be user, assistant or system, found \"robot\""),
            (
                json!({ "role": "user", "content": [{ "type": "input_audio" }] }),
                "item.content[0].audio must be a string",
            ),
            (
                json!({ "role": "user", "content": [{ "type": "input_audio", "audio": "AA==" }] }),
                "item.content[0].audio must have whole samples of 16 bits, found 1 bytes",
            ),
            (json!({ "type": "function_call_output", "output": "x" }), "item.call_id is required"),
        ] {
            assert_eq!(read(item).unwrap_err(), rule);
        }
    }
}
