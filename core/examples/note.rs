//! One request and the resulting call: the example of `docs/rust.md`.

use causerie::{ChatMessage, GenerationOptions, MessageResponse, ModelRunner, functions_from_json};

/// Chat-completions `tools`; `SdkFunction::new` builds one in code.
const FUNCTIONS: &str = include_str!("../../server/src/chat/functions.json");

fn main() -> Result<(), causerie::SdkError> {
    let runner = ModelRunner::load("models/demo.gguf")?;
    let conversation = runner.create_conversation("You are causerie, a small assistant on this device.");
    for function in functions_from_json(FUNCTIONS)? {
        conversation.register_function(function)?;
    }

    let request = ChatMessage::user("Add a note: buy milk");
    for event in conversation.generate_response(request, GenerationOptions::default()) {
        match event? {
            MessageResponse::Chunk(text) => print!("{text}"),
            MessageResponse::FunctionCalls(calls) => println!("{} {:?}", calls[0].name, calls[0].arguments),
            MessageResponse::Complete(completion) => println!("{:?}", completion.finish_reason),
            _ => {}
        }
    }
    Ok(())
}
