//! Cancels a reply from another thread. The text so far stays in the history.
//!
//! `cargo run --release -p causerie --example cancel`

use std::thread;
use std::time::Duration;

use causerie::{ChatMessage, GenerationOptions, MessageResponse, ModelRunner, SdkError};

fn main() -> Result<(), SdkError> {
    let conversation = ModelRunner::load("models/demo.gguf")?.create_conversation("");
    // The reply never ends on its own, so that there is something to cancel.
    let options = GenerationOptions { ignore_end: true, ..Default::default() };
    let stream = conversation.generate_response(ChatMessage::user("Tell me something."), options);
    let handle = stream.cancel_handle();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        handle.cancel();
    });
    for event in stream {
        match event? {
            MessageResponse::Chunk(text) => print!("{text}"),
            MessageResponse::Complete(completion) => println!("\n{:?}", completion.finish_reason),
            _ => {}
        }
    }
    println!("{} messages in the history", conversation.history().len());
    Ok(())
}
