//! Measures the engine's own part of a short turn with the demo model and functions: `turn [TURNS]`.
//!
//! Each turn is a new conversation that asks for a timer, and ends in a call. Prints medians in microseconds: of the parts alone, as
//! the public functions compute them, and of the turn, from the request to its end, with the engine's statistics. After the first
//! turn the prompt is in the prefix cache, so that little of the model is left beside the engine. `perf record` on this program
//! shows the share of each function.

use std::error::Error;
use std::time::{Duration, Instant};

use causerie::{
    CallGrammar, ChatMessage, Completion, GenerationOptions, LoadOptions, MessageResponse, ModelRunner, SdkFunction,
    functions_from_json,
};

const QUESTION: &str = "Set a timer for 12 minutes";
const FUNCTIONS: &str = include_str!("../../server/src/chat/functions.json");

fn main() -> Result<(), Box<dyn Error>> {
    let n_turns = std::env::args().nth(1).map_or(Ok(200), |n| n.parse())?;
    let runner =
        ModelRunner::load_from_bytes(causerie_demo::MODEL, LoadOptions { threads: Some(1), ..Default::default() })?;
    let functions = functions_from_json(FUNCTIONS)?;
    let parser = runner.info().function_call_parser;
    let messages = [ChatMessage::user(QUESTION)];
    let prompt = runner.render_prompt(&messages, true)?;
    println!("| part | µs |\n|---|---:|");
    row("template of the question, without functions", n_turns, || runner.render_prompt(&messages, true).map(drop))?;
    row("tokens of the question", n_turns, || runner.tokenize(&prompt).map(drop))?;
    row("grammar of seven functions", n_turns, || CallGrammar::new(parser, &functions, true).map(drop))?;
    turn(&runner, &functions)?;
    let turns = (0..n_turns).map(|_| turn(&runner, &functions)).collect::<causerie::Result<Vec<_>>>()?;
    let of = |part: &dyn Fn(&Turn) -> Duration| median(turns.iter().map(part).collect());
    for (name, time) in [
        ("a turn", of(&|turn| turn.whole)),
        ("… to its first token", of(&|turn| turn.completion.stats.time_to_first_token)),
        ("… of that, the prompt's pass through the model", of(&|turn| turn.completion.stats.prefill_time)),
        ("… from the first token on", of(&|turn| turn.completion.stats.decode_time)),
        ("… of that, what the grammar allows", of(&|turn| turn.completion.stats.constraint_time)),
    ] {
        println!("| {name} | {} |", time.as_micros());
    }
    let stats = turns[0].completion.stats;
    println!(
        "\n{} tokens of prompt, {} of them in the prefix cache; {} of reply, {} of them forced",
        stats.prompt_tokens, stats.cached_prompt_tokens, stats.completion_tokens, stats.forced_tokens
    );
    Ok(())
}

struct Turn {
    whole: Duration,
    completion: Box<Completion>,
}

fn turn(runner: &ModelRunner, functions: &[SdkFunction]) -> causerie::Result<Turn> {
    let start = Instant::now();
    let conversation = runner.create_conversation("");
    conversation.register_functions(functions.to_vec())?;
    let options = GenerationOptions { temperature: Some(0.0), max_tokens: Some(40), ..Default::default() };
    for event in conversation.generate_response(ChatMessage::user(QUESTION), options) {
        if let MessageResponse::Complete(completion) = event? {
            return Ok(Turn { whole: start.elapsed(), completion });
        }
    }
    unreachable!("a reply without an error ends in its completion")
}

fn row(name: &str, n: usize, mut work: impl FnMut() -> causerie::Result<()>) -> causerie::Result<()> {
    let mut times = Vec::with_capacity(n);
    for _ in 0..n {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed());
    }
    println!("| {name} | {} |", median(times).as_micros());
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
