//! Handles calls by hand: a call, its validation, its result, and the answer.
//!
//! `cargo run --release -p causerie --example tools [MODEL]`

use causerie::{
    ChatMessage, GenerationOptions, MessageResponse, ModelRunner, SdkError, SdkFunction, SdkFunctionParameter,
    SdkFunctionParameterType, Value, validate,
};

fn main() -> Result<(), SdkError> {
    let text = SdkFunctionParameter::new("text", SdkFunctionParameterType::string(), "Text of the note.");
    let add_note = SdkFunction::new("add_note", "Write down a note.", vec![text]);
    let model = std::env::args().nth(1).unwrap_or_else(|| "models/demo.gguf".to_owned());
    let conversation = ModelRunner::load(&model)?.create_conversation("");
    conversation.register_function(add_note.clone())?;

    let options = GenerationOptions { temperature: Some(0.0), ..Default::default() };
    let mut message = ChatMessage::user("Add a note: buy milk");
    loop {
        let mut result = None;
        for event in conversation.generate_response(message, options.clone()) {
            match event? {
                MessageResponse::Chunk(text) => print!("{text}"),
                MessageResponse::FunctionCalls(calls) => {
                    let validation = validate(&calls[0], &add_note);
                    result = Some(match validation.arguments.get("text") {
                        Some(Value::String(text)) if validation.is_ok() => {
                            println!("(writing down {text:?})");
                            format!("{{\"saved\": {text:?}, \"notes\": 1}}")
                        }
                        // The model reads the errors, and can repair the call.
                        _ => validation.errors_as_tool_text(),
                    });
                }
                _ => {}
            }
        }
        println!();
        match result {
            Some(result) => message = ChatMessage::tool(result),
            None => return Ok(()),
        }
    }
}
