//! A conversation on the terminal: a line in, a reply out.
//!
//! `cargo run --release -p causerie --example chat -- models/demo.gguf`

use std::io::{self, BufRead, Write};

use causerie::{ChatMessage, GenerationOptions, MessageResponse, ModelRunner};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = std::env::args().nth(1).unwrap_or_else(|| "models/demo.gguf".to_owned());
    let conversation = ModelRunner::load(&model)?.create_conversation("You are a helpful assistant.");
    for line in io::stdin().lock().lines() {
        for event in conversation.generate_response(ChatMessage::user(line?), GenerationOptions::default()) {
            match event? {
                MessageResponse::Chunk(text) => print!("{text}"),
                MessageResponse::Complete(completion) => {
                    println!("  [{:.0} tokens a second]", completion.stats.tokens_per_second());
                }
                _ => {}
            }
            io::stdout().flush()?;
        }
    }
    Ok(())
}
