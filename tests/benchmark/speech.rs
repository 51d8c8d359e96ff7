//! Measures a model with audio input that speaks: the time for a recording's rows, the first sound, and the time for a second of sound.
//!
//! `cargo run --release -p causerie-tests --example speech MODEL THREADS REPEATS FRAMES`
//!
//! The recording has four seconds of noise. Each repetition asks with a new recording, and then asks another question with it, whose
//! prompt shares no beginning: there the rows are known, and the difference is what hearing cost, features included. The reply
//! is held to sound from its first token (the control token `<|audio_start|>`), and ends after FRAMES frames. `text_seconds` is the time
//! for as many tokens of text, so the rest of a frame's time is that of the parts which speak. Prints one line of JSON, with medians.

use std::env;
use std::time::Instant;

use causerie::{
    ChatMessage, ChatMessageContent, GenerationOptions, LoadOptions, MessageResponse, ModelRunner, Result, SpeechMode,
};

const RATE: u32 = 16_000;
const SECONDS: u32 = 4;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [model, threads, repeats, frames] = &arguments[..] else { panic!("speech MODEL THREADS REPEATS FRAMES") };
    let count = |text: &String| text.parse::<usize>().expect("a number");
    let options = LoadOptions { threads: Some(count(threads)), context_size: Some(2048), ..Default::default() };
    let runner = ModelRunner::load_with(model, options)?;
    // Without the token that begins every prompt.
    let sound_start = runner.tokenize("<|audio_start|>")?.split_off(1);
    let n_frames = count(frames);
    let (mut hearing, mut first, mut spoken, mut text) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    reply(&runner, "Warm up", &recording(0)?, 2, &sound_start)?;
    for repeat in 1..=count(repeats) {
        let heard = recording(repeat as u32)?;
        let unseen = reply(&runner, &format!("a{repeat}"), &heard, 1, &[])?;
        let seen = reply(&runner, &format!("b{repeat}"), &heard, 1, &[])?;
        hearing.push(unseen.whole - seen.whole);
        first.push(
            reply(&runner, &format!("c{repeat}"), &recording(1_000 + repeat as u32)?, 2, &sound_start)?.first_sound,
        );
        let sound = reply(&runner, &format!("d{repeat}"), &heard, n_frames + 1, &sound_start)?;
        // Random weights may end the sound, and the next token begins it again.
        let n_spoken = sound.n_samples / 1_920;
        assert!(n_frames / 2 < n_spoken, "{n_spoken} of {n_frames} frames");
        spoken.push((sound.whole - sound.first_sound) / (n_spoken - 1) as f64);
        let words = reply(&runner, &format!("e{repeat}"), &heard, n_frames, &[])?;
        text.push(words.decode / (n_frames - 1) as f64);
    }
    println!(
        "{{\"hearing_seconds\": {:.4}, \"first_sound_seconds\": {:.4}, \"frame_seconds\": {:.5}, \"text_seconds\": {:.5}}}",
        median(hearing),
        median(first),
        median(spoken),
        median(text)
    );
    Ok(())
}

/// Noise that differs with the seed.
fn recording(seed: u32) -> Result<ChatMessageContent> {
    let mut state = seed.wrapping_mul(2_654_435_769) | 1;
    let samples = (0..RATE * SECONDS).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 16_777_216.0 - 0.5 // 24 bits, from -0.5 to 0.5
    });
    ChatMessageContent::audio_from_samples(&samples.collect::<Vec<f32>>(), RATE)
}

struct Reply {
    /// Seconds to its end.
    whole: f64,
    /// Seconds to its first sound.
    first_sound: f64,
    /// Seconds after its prompt.
    decode: f64,
    n_samples: usize,
}

/// A greedy reply of so many tokens; these tokens, if any, are its first ones.
fn reply(
    runner: &ModelRunner,
    question: &str,
    sound: &ChatMessageContent,
    max_tokens: usize,
    begin: &[u32],
) -> Result<Reply> {
    let mut message = ChatMessage::user(question);
    message.content.push(sound.clone());
    let mode = if begin.is_empty() { SpeechMode::Off } else { SpeechMode::Sequential };
    let options = GenerationOptions {
        max_tokens: Some(max_tokens),
        temperature: Some(0.0),
        logit_bias: begin.iter().map(|token| (*token, 100.0)).collect(),
        speech_mode: mode,
        speech_temperature: Some(0.0),
        ..Default::default()
    };
    let started = Instant::now();
    let (mut first_sound, mut n_samples, mut decode) = (0.0, 0, 0.0);
    for event in runner.create_conversation("").generate_response(message, options) {
        match event? {
            MessageResponse::AudioSample { samples, .. } => {
                if n_samples == 0 {
                    first_sound = started.elapsed().as_secs_f64();
                }
                n_samples += samples.len();
            }
            MessageResponse::Complete(completion) => decode = completion.stats.decode_time.as_secs_f64(),
            _ => {}
        }
    }
    Ok(Reply { whole: started.elapsed().as_secs_f64(), first_sound, decode, n_samples })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
