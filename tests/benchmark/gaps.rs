//! Measures how long a running reply waits for its next token while other prompts and grammars are prepared.
//!
//! `cargo run --release -p causerie-tests --example gaps [model]`: one reply runs; first alone, then while ten prompts of 100 kB, which do not
//! fit the context, and ten replies with large schemas of their own begin. Prints the longest gap between two tokens.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{env, thread};

use causerie::{ChatMessage, GenerationOptions, MessageResponse, ModelRunner, Result};

const PROMPTS: usize = 10;
const SCHEMAS: usize = 10;
const PROPERTIES: usize = 200;
const ALONE: Duration = Duration::from_secs(2);

fn main() -> Result<()> {
    let model = env::args().nth(1).unwrap_or_else(|| "models/demo.gguf".to_owned());
    let runner = ModelRunner::load(model)?;
    let (began, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let reader = scope.spawn(|| read(&runner, &began, &ended));
        thread::sleep(ALONE);
        began.store(true, Ordering::SeqCst);
        let started = Instant::now();
        thread::scope(|others| {
            for n in 0..PROMPTS {
                others.spawn({
                    let runner = &runner;
                    move || refused(runner, n)
                });
            }
            for n in 0..SCHEMAS {
                others.spawn({
                    let runner = &runner;
                    move || constrained(runner, n)
                });
            }
        });
        ended.store(true, Ordering::SeqCst);
        println!("all prepared after {:.0} ms", started.elapsed().as_secs_f64() * 1e3);
        let [alone, beside] = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        for (when, gaps) in [("alone", alone), ("beside", beside)] {
            println!("{when}: {gaps}");
        }
        Ok(())
    })
}

/// Gaps between tokens.
#[derive(Default)]
struct Gaps {
    all: Vec<Duration>,
}

impl std::fmt::Display for Gaps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut sorted = self.all.clone();
        sorted.sort_unstable();
        let at = |share: f64| sorted.get((sorted.len() as f64 * share) as usize).or(sorted.last());
        let ms = |share: f64| at(share).map_or(0.0, |gap| gap.as_secs_f64() * 1e3);
        let n = sorted.len();
        write!(f, "{n} gaps, median {:.2} ms, 99th percentile {:.2} ms, longest {:.2} ms", ms(0.5), ms(0.99), ms(1.0))
    }
}

/// Reads a reply without an end, until the others have ended.
fn read(runner: &ModelRunner, began: &AtomicBool, ended: &AtomicBool) -> Result<[Gaps; 2]> {
    let mut gaps = [Gaps::default(), Gaps::default()];
    // Replies are started again when they fill the context.
    while !ended.load(Ordering::SeqCst) {
        let mut last = None;
        for event in runner.complete("Once upon a time", endless(runner)?) {
            // One event for each token, whatever becomes of its text.
            if let MessageResponse::Logprobs(_) = event? {
                let now = Instant::now();
                if let Some(last) = last.replace(now) {
                    gaps[usize::from(began.load(Ordering::SeqCst))].all.push(now - last);
                }
            }
            if ended.load(Ordering::SeqCst) {
                break;
            }
        }
    }
    Ok(gaps)
}

/// Options of a reply that never ends by itself.
fn endless(runner: &ModelRunner) -> Result<GenerationOptions> {
    let ends = ["<|im_end|>", "<|endoftext|>", "</s>", "<|eot_id|>"];
    let mut logit_bias = BTreeMap::new();
    for end in ends {
        logit_bias.extend(runner.tokenize(end)?.last().map(|id| (*id, -100.0)));
    }
    Ok(GenerationOptions { temperature: Some(0.0), logprobs: Some(0), logit_bias, ..Default::default() })
}

/// A prompt of 100 kB, which is refused once it was made.
fn refused(runner: &ModelRunner, n: usize) {
    let words = (0..).map(|at: usize| format!("word{} ", (at * 31 + n) % 1009));
    let mut text = String::new();
    words
        .take_while(|word| {
            text.push_str(word);
            text.len() < 100_000
        })
        .for_each(drop);
    let options = GenerationOptions { max_tokens: Some(1), ..Default::default() };
    let conversation = runner.create_conversation("");
    conversation.generate_response(ChatMessage::user(text), options).into_iter().for_each(drop);
}

/// A reply of one token with a large schema.
fn constrained(runner: &ModelRunner, n: usize) {
    let property = |at: usize| match at % 4 {
        0 => format!(r#""p{n}_{at}": {{"type": "string", "maxLength": {}}}"#, 10 + at),
        1 => format!(r#""p{n}_{at}": {{"type": "array", "items": {{"type": "integer", "minimum": {at}}}}}"#),
        2 => format!(r#""p{n}_{at}": {{"enum": ["a{at}", "b{at}", "c{at}"]}}"#),
        _ => format!(
            r#""p{n}_{at}": {{"type": "object", "properties": {{"x": {{"type": "object", "properties": {{"y": {{"type": "string"}}, "z": {{"type": "number"}}}}, "required": ["y"]}}}}, "required": ["x"]}}"#
        ),
    };
    let properties: Vec<String> = (0..PROPERTIES).map(property).collect();
    let required: Vec<String> = (0..PROPERTIES).map(|at| format!(r#""p{n}_{at}""#)).collect();
    let schema = format!(
        r#"{{"type": "object", "properties": {{{}}}, "required": [{}], "additionalProperties": false}}"#,
        properties.join(", "),
        required.join(", ")
    );
    let options = GenerationOptions {
        max_tokens: Some(1),
        json_schema_constraint: Some(schema),
        inject_schema_into_prompt: false,
        ..Default::default()
    };
    let conversation = runner.create_conversation("");
    let last = conversation.generate_response(ChatMessage::user("Go."), options).into_iter().last();
    if let Some(Err(err)) = last {
        println!("schema {n}: {err}");
    }
}
