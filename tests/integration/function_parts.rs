//! Results of functions that are parts of a message.

use causerie::{
    ChatMessage, ChatMessageContent, FunctionHandlers, FunctionOutcome, GenerationOptions, MessageResponse, Role,
    SdkFunctionCall,
};

use crate::functions::{call, conversation, said};

#[test]
fn a_function_returns_the_parts_of_its_message() {
    let conversation = conversation([call("[f(), g()]"), call("[f(n=1)]"), "Done.".into()]);
    let parts = || vec![ChatMessageContent::Text("a".into()), ChatMessageContent::Text("b".into())];
    let returned = move |call: &SdkFunctionCall| match call.arguments.is_empty() {
        true => Ok(parts()),
        false => Err("no"),
    };
    let handlers = FunctionHandlers::new().on_content("f", returned).run_by_reader(["g"]);
    let mut stream =
        conversation.respond_with_functions(ChatMessage::user("Hi"), &handlers, GenerationOptions::default());
    let mut results = Vec::new();
    while let Some(event) = stream.iter().next() {
        match event.unwrap() {
            MessageResponse::RunFunctions(_) => stream.answer(vec![FunctionOutcome::Content(Vec::new())]),
            MessageResponse::FunctionResult(result) => results.push((result.text, result.content)),
            _ => {}
        }
    }
    let text = |text: &str| vec![ChatMessageContent::Text(text.to_owned())];
    let failed = r#"{"error": "no"}"#;
    let expected = [("ab".to_owned(), parts()), (String::new(), text("")), (failed.to_owned(), text(failed))];
    assert_eq!(results, expected);
    let messages = said(&conversation);
    let sent = messages.iter().filter(|message| message.role == Role::Tool);
    assert!(sent.map(|message| &message.content).eq(expected.iter().map(|(_, content)| content)));
}
