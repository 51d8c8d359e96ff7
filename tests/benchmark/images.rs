//! Measures pictures: the time for a picture's rows, the time to the first token, and the memory.
//!
//! `cargo run --release -p causerie-tests --example images MODEL PROJECTOR PICTURE THREADS REPEATS`
//!
//! Each repetition asks about a new picture, and then asks another question about it, whose prompt shares
//! no beginning: there the rows are known, and the difference is what the picture cost, decoding and resizing included. Prints
//! one line of JSON, with medians.

use std::time::Instant;
use std::{env, fs};

use causerie::{ChatMessage, ChatMessageContent, GenerationOptions, LoadOptions, ModelRunner, Result};

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [model, projector, picture, threads, repeats] = &arguments[..] else {
        panic!("images MODEL PROJECTOR PICTURE THREADS REPEATS");
    };
    let count = |text: &String| text.parse::<usize>().expect("a number");
    let options = LoadOptions {
        threads: Some(count(threads)),
        projector: Some(projector.into()),
        context_size: Some(4096),
        ..Default::default()
    };
    let runner = ModelRunner::load_with(model, options)?;
    let file = fs::read(picture).expect("a picture");
    let (mut encoding, mut first) = (Vec::new(), Vec::new());
    first_token(&runner, "Warm up", None)?;
    for repeat in 0..count(repeats) {
        // Bytes after the end of the picture make it another one.
        let shown = [&file[..], &repeat.to_le_bytes()].concat();
        let unseen = first_token(&runner, &format!("a{repeat}"), Some(&shown))?;
        let seen = first_token(&runner, &format!("b{repeat}"), Some(&shown))?;
        first.push(unseen);
        encoding.push(unseen - seen);
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default(); // Linux alone has it
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    let peak = 1024 * kilobytes.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    println!(
        "{{\"encode_seconds\": {}, \"first_token_seconds\": {}, \"peak_memory_bytes\": {peak}}}",
        median(encoding),
        median(first)
    );
    Ok(())
}

/// Seconds to the end of a reply of one token. The question before the picture makes each prompt begin differently.
fn first_token(runner: &ModelRunner, question: &str, picture: Option<&[u8]>) -> Result<f64> {
    let mut message = ChatMessage::user(question);
    message.content.extend(picture.map(|picture| ChatMessageContent::Image(picture.to_vec())));
    let options = GenerationOptions { max_tokens: Some(1), temperature: Some(0.0), ..Default::default() };
    let started = Instant::now();
    for event in runner.create_conversation("").generate_response(message, options) {
        event?;
    }
    Ok(started.elapsed().as_secs_f64())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
