//! Messages that are put together before they are sent.

use causerie::{ChatMessage, ChatMessageContent, Role};
use parking_lot::Mutex;

use crate::border::{Bytes, Out, Text};
use crate::fault::Fault;
use crate::handles::Handle;

pub(crate) type UnsentMessage = Mutex<ChatMessage>;

exports! {
    fn causerie_message_new(role: i32, text: Text, message: Out<Handle<UnsentMessage>>) {
        message.check("message")?;
        let role = match role {
            0 => Role::System,
            1 => Role::User,
            2 => Role::Assistant,
            3 => Role::Tool,
            _ => return Err(Fault::argument(format!("role must be a value of causerie_role, found {role}"))),
        };
        let mut draft = ChatMessage::new(role, "");
        draft.content.clear();
        draft.content.extend(text.read_optional("text")?.map(|text| ChatMessageContent::Text(text.to_owned())));
        message.write(Handle::new(Mutex::new(draft)), "message")?;
    }

    fn causerie_message_add_text(message: Handle<UnsentMessage>, text: Text) {
        let part = ChatMessageContent::Text(text.read("text")?.to_owned());
        message.get("message")?.lock().content.push(part);
    }

    fn causerie_message_add_image(message: Handle<UnsentMessage>, data: Bytes, length: usize) {
        let part = ChatMessageContent::Image(data.read(length, "data")?.to_vec());
        message.get("message")?.lock().content.push(part);
    }

    fn causerie_message_add_audio(message: Handle<UnsentMessage>, data: Bytes, length: usize) {
        let part = ChatMessageContent::Audio(data.read(length, "data")?.to_vec());
        message.get("message")?.lock().content.push(part);
    }

    fn causerie_message_set_call(message: Handle<UnsentMessage>, call_id: Text, name: Text) {
        let draft = message.get("message")?;
        let (call_id, name) = (call_id.read_optional("call_id")?, name.read_optional("name")?);
        let mut draft = draft.lock();
        draft.tool_call_id = call_id.map(str::to_owned);
        draft.name = name.map(str::to_owned);
    }

    fn causerie_message_free(message: Handle<UnsentMessage>) {
        message.free("message")?;
    }
}
