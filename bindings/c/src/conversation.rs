//! Conversations: their history, their functions, and the replies to messages.

use std::ffi::c_char;

use causerie::{
    Arguments, ChatMessage, Conversation, FunctionHandlers, ModelRunner, Value, functions_from_json,
    messages_from_json, messages_to_json, read_json,
};

use crate::border::{Flag, Out, Text};
use crate::fault::Fault;
use crate::handles::Handle;
use crate::message::UnsentMessage;
use crate::options::{Options, chosen};
use crate::stream::Reply;

/// The message to send; `None` if the history is to be continued.
fn message_of(draft: Handle<UnsentMessage>) -> Result<Option<ChatMessage>, Fault> {
    if draft.is_null() {
        return Ok(None);
    }
    Ok(Some(draft.get("message")?.lock().clone()))
}

/// An array of chat completions' `tools` with one function.
fn tools(name: &str, description: &str, parameters: Option<&str>) -> Result<String, Fault> {
    let mut function =
        Arguments::from([("name".to_owned(), Value::from(name)), ("description".to_owned(), Value::from(description))]);
    if let Some(parameters) = parameters {
        let schema = read_json(parameters).ok_or_else(|| Fault::argument("parameters must be valid JSON"))?;
        function.insert("parameters".to_owned(), schema);
    }
    let tool = [("type".to_owned(), Value::from("function")), ("function".to_owned(), Value::Object(function))];
    Ok(Value::Array(vec![Value::Object(tool.into())]).to_string())
}

exports! {
    fn causerie_conversation_new(
        model: Handle<ModelRunner>,
        system_prompt: Text,
        conversation: Out<Handle<Conversation>>,
    ) {
        conversation.check("conversation")?;
        let system_prompt = system_prompt.read_optional("system_prompt")?.unwrap_or_default();
        let new = model.get("model")?.create_conversation(system_prompt);
        conversation.write(Handle::new(new), "conversation")?;
    }

    fn causerie_conversation_from_history(
        model: Handle<ModelRunner>,
        messages: Text,
        conversation: Out<Handle<Conversation>>,
    ) {
        conversation.check("conversation")?;
        let history = messages_from_json(messages.read("messages")?)?;
        let new = model.get("model")?.create_conversation_from_history(history);
        conversation.write(Handle::new(new), "conversation")?;
    }

    fn causerie_conversation_restore(model: Handle<ModelRunner>, path: Text, conversation: Out<Handle<Conversation>>) {
        conversation.check("conversation")?;
        let restored = model.get("model")?.restore_session(path.read("path")?)?;
        conversation.write(Handle::new(restored), "conversation")?;
    }

    fn causerie_conversation_save(conversation: Handle<Conversation>, path: Text, include_cache: Flag) {
        conversation.get("conversation")?.save_session(path.read("path")?, include_cache.is_set())?;
    }

    fn causerie_conversation_fork(conversation: Handle<Conversation>, fork: Out<Handle<Conversation>>) {
        fork.check("fork")?;
        let new = conversation.get("conversation")?.fork();
        fork.write(Handle::new(new), "fork")?;
    }

    fn causerie_conversation_history(
        conversation: Handle<Conversation>,
        messages: Out<*const c_char>,
        count: Out<usize>,
    ) {
        let history = conversation.get("conversation")?.history();
        messages.write_if_wanted(|| crate::strings::give(&messages_to_json(&history)));
        count.write_if_wanted(|| history.len());
    }

    fn causerie_conversation_append(conversation: Handle<Conversation>, message: Handle<UnsentMessage>) {
        let message = message_of(message)?.ok_or_else(|| Fault::null("message"))?;
        conversation.get("conversation")?.append_to_history(message)?;
    }

    fn causerie_conversation_truncate(conversation: Handle<Conversation>, count: usize) {
        conversation.get("conversation")?.truncate(count)?;
    }

    fn causerie_conversation_count_tokens(conversation: Handle<Conversation>, count: Out<usize>) {
        count.write(conversation.get("conversation")?.prompt_token_count()?, "count")?;
    }

    fn causerie_conversation_register_function(
        conversation: Handle<Conversation>,
        name: Text,
        description: Text,
        parameters: Text,
    ) {
        let conversation = conversation.get("conversation")?;
        let description = description.read_optional("description")?.unwrap_or_default();
        let tools = tools(name.read("name")?, description, parameters.read_optional("parameters")?)?;
        conversation.register_functions(functions_from_json(&tools)?)?;
    }

    fn causerie_conversation_unregister_function(conversation: Handle<Conversation>, name: Text, found: Out<bool>) {
        let was_registered = conversation.get("conversation")?.unregister_function(name.read("name")?)?;
        found.write_if_wanted(|| was_registered);
    }

    fn causerie_conversation_ask(
        conversation: Handle<Conversation>,
        text: Text,
        options: Handle<Options>,
        stream: Out<Handle<Reply>>,
    ) {
        stream.check("stream")?;
        let (conversation, options) = (conversation.get("conversation")?, chosen(options)?);
        let reply = conversation.generate_response(ChatMessage::user(text.read("text")?), options.generation);
        stream.write(Handle::new(Reply::new(reply)), "stream")?;
    }

    fn causerie_conversation_send(
        conversation: Handle<Conversation>,
        message: Handle<UnsentMessage>,
        options: Handle<Options>,
        stream: Out<Handle<Reply>>,
    ) {
        stream.check("stream")?;
        let (conversation, options) = (conversation.get("conversation")?, chosen(options)?.generation);
        let reply = match message_of(message)? {
            Some(message) => conversation.generate_response(message, options),
            None => conversation.continue_response(options),
        };
        stream.write(Handle::new(Reply::new(reply)), "stream")?;
    }

    fn causerie_conversation_send_with_functions(
        conversation: Handle<Conversation>,
        message: Handle<UnsentMessage>,
        options: Handle<Options>,
        stream: Out<Handle<Reply>>,
    ) {
        stream.check("stream")?;
        let (conversation, options) = (conversation.get("conversation")?, chosen(options)?);
        let names = conversation.functions().into_iter().map(|function| function.name);
        let handlers = FunctionHandlers::new().run_by_reader(names).with(options.rounds);
        let reply = match message_of(message)? {
            Some(message) => conversation.respond_with_functions(message, &handlers, options.generation),
            None => conversation.continue_with_functions(&handlers, options.generation),
        };
        stream.write(Handle::new(Reply::new(reply)), "stream")?;
    }

    fn causerie_conversation_free(conversation: Handle<Conversation>) {
        conversation.free("conversation")?;
    }
}
