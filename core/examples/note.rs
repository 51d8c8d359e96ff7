//! One request and the call it leads to; the example of the README.

use causerie::{
    ChatMessage, GenerationOptions, MessageResponse, ModelRunner, SdkFunction, SdkFunctionParameter,
    SdkFunctionParameterType,
};

fn main() -> Result<(), causerie::SdkError> {
    let runner = ModelRunner::load("models/demo.gguf")?;
    let conversation = runner.create_conversation("You are causerie, a small assistant on this device.");
    let text = SdkFunctionParameter::new("text", SdkFunctionParameterType::string(), "Text of the note.");
    conversation.register_function(SdkFunction::new("add_note", "Write down a note.", vec![text]))?;

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
