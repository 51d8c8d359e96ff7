//! Continues a conversation after the process has ended. Run it twice.
//!
//! `cargo run --release -p causerie --example session`

use causerie::{ChatMessage, GenerationOptions, MessageResponse, ModelRunner, SdkError};

fn main() -> Result<(), SdkError> {
    let runner = ModelRunner::load("models/demo.gguf")?;
    let path = std::env::temp_dir().join("causerie-example.session");
    let conversation = match path.exists() {
        true => runner.restore_session(&path)?,
        false => runner.create_conversation("You are a helpful assistant."),
    };
    for event in conversation.generate_response(ChatMessage::user("Hello!"), GenerationOptions::default()) {
        match event? {
            MessageResponse::Chunk(text) => print!("{text}"),
            MessageResponse::Complete(completion) => {
                let stats = completion.stats;
                println!("\n{} of {} prompt tokens from the cache", stats.cached_prompt_tokens, stats.prompt_tokens);
            }
            _ => {}
        }
    }
    // `true` also saves the computed state, so that the prompt need not be computed again.
    conversation.save_session(&path, true)?;
    println!("{} messages saved in {}", conversation.history().len(), path.display());
    Ok(())
}
