//! Functions derived from Rust types, run along with the reply. `tools.rs` does the same by hand.
//!
//! `cargo run --release -p causerie --example functions`

use std::sync::Mutex;

use causerie::{ChatMessage, FunctionHandlers, GenerationOptions, MessageResponse, ModelRunner, SdkError};

/// Write down a note.
#[derive(causerie::SdkFunction)]
struct AddNote {
    /// Text of the note.
    text: String,
}

fn main() -> Result<(), SdkError> {
    let notes = Mutex::new(Vec::new());
    let handlers = FunctionHandlers::new().typed(move |note: AddNote| {
        let mut notes = notes.lock().map_err(|_| "the notes are lost")?;
        println!("(writing down {:?})", note.text);
        notes.push(note.text.clone());
        Ok::<_, &str>(serde_json::json!({"saved": note.text, "notes": notes.len()}))
    });

    let conversation = ModelRunner::load("models/demo.gguf")?.create_conversation("");
    let options = GenerationOptions { temperature: Some(0.0), ..Default::default() };
    for event in conversation.respond_with_functions(ChatMessage::user("Add a note: buy milk"), &handlers, options) {
        if let MessageResponse::Chunk(text) = event? {
            print!("{text}");
        }
    }
    println!();
    Ok(())
}
