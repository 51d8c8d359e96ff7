//! Measures the effect of constraints and speculative decoding on tool calls: `tool_calls MODEL [--random]`.
//!
//! Prints the time per mask, and the time from a request to its call: free or constrained, and token by token or with
//! forced and draft tokens in the same pass. With --random, for models with random weights, calls are required in JSON, and
//! free replies have as many tokens as the calls.

use std::error::Error;
use std::fs;
use std::time::{Duration, Instant};

use causerie::{
    ChatMessage, Completion, Conversation, FunctionCallParser, GenerationOptions, GenerationStats, LoadOptions,
    MessageResponse, ModelRunner, ToolCallConstraint, ToolChoice, functions_from_json, fuzzing,
};

#[path = "../integration/function_sets.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod function_sets;

/// Requests whose calls repeat little of the prompt, and requests whose calls repeat much.
const REQUESTS: [&str; 6] = [
    "Set a timer for 12 minutes",
    "Set a timer for 3 hours for the potato soup",
    "Check the weather in Oslo",
    "Write down that the blue bicycle stands in the garden",
    "Note that the plumber comes on Tuesday and brings the new tap",
    "Set a timer for 20 minutes and check the weather in Lisbon",
];
/// Functions for models with random weights: without free strings, which such a model might never end.
const WITHOUT_TEXT: &str = r#"[{"name": "set_timer", "parameters": {"properties": {
    "duration": {"type": "integer"}, "unit": {"type": "string", "enum": ["seconds", "minutes", "hours"]},
    "label": {"type": "string", "enum": ["pasta", "potato soup", "laundry"]}, "repeats": {"type": "boolean"}},
    "required": ["duration", "unit", "label"]}}]"#;
const TEMPLATE: &str = "{{ bos_token }}{% for tool in tools or [] %}{{ tool.name }} {% endfor %}{% for message in \
    messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";
/// Repetitions of each request; the fastest counts.
const REPEATS: usize = 3;
/// Replies whose masks are measured, each with a set of functions of its own.
const MASKED_REPLIES: u64 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, flags @ ..] = &arguments[..] else { return Err("usage: tool_calls MODEL [--random]".into()) };
    let is_random = flags.iter().any(|flag| flag == "--random");
    let load = |looks_ahead| {
        let chat_template = is_random.then(|| TEMPLATE.to_owned());
        let settings = fuzzing::EngineSettings { looks_ahead, ..Default::default() };
        fuzzing::load_with(model, LoadOptions { chat_template, ..Default::default() }, settings)
    };
    let (speculative, plain) = (load(true)?, load(false)?);
    print_mask_times(&speculative, is_random)?;
    println!("\n| calls | decode | ms per call | tokens | forced | drafted | accepted | constraint, share of decode |");
    println!("|---|---|---:|---:|---:|---:|---:|---:|");
    for is_typed in [false, true] {
        for (runner, decode) in [(&plain, "token by token"), (&speculative, "speculative")] {
            let total = RequestTotals::measure(runner, is_typed, is_random)?;
            let calls = if is_typed { "typed" } else { "free" };
            println!("| {calls} | {decode} | {total}");
        }
    }
    Ok(())
}

fn parser(is_random: bool) -> Option<FunctionCallParser> {
    Some(match is_random {
        true => FunctionCallParser::JsonStyleFunctionCallParser,
        false => FunctionCallParser::DefaultFunctionCallParser,
    })
}

/// Prints the mean time per mask of a reply, for tokens drawn at random among the allowed ones and for many sets of
/// functions.
fn print_mask_times(runner: &ModelRunner, is_random: bool) -> Result<(), Box<dyn Error>> {
    let (mut times, mut n_masks) = (Vec::new(), 0);
    for set in 0..MASKED_REPLIES {
        let options = GenerationOptions {
            tool_choice: ToolChoice::Required,
            function_call_parser: parser(is_random),
            temperature: Some(1.0),
            top_k: Some(0),
            seed: Some(set),
            max_tokens: Some(100),
            ..Default::default()
        };
        let conversation = runner.create_conversation("");
        conversation.register_functions(function_sets::function_set(set))?;
        // The first time, the grammar is new.
        ask(&conversation, "Call.", options.clone())?;
        let stats = ask(&conversation, "Call.", options)?.1.stats;
        let n_chosen = stats.completion_tokens - stats.forced_tokens;
        n_masks += n_chosen;
        times.push(stats.constraint_time / u32::try_from(n_chosen.max(1))?);
    }
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("{n_masks} masks, mean of a reply: least {:?}, median {:?}, most {:?}", at(0.0), at(0.5), at(1.0));
    Ok(())
}

#[derive(Default)]
struct RequestTotals {
    time: Duration,
    n_replies: u32,
    stats: Vec<GenerationStats>,
}

impl RequestTotals {
    fn measure(runner: &ModelRunner, is_typed: bool, is_random: bool) -> Result<Self, Box<dyn Error>> {
        let functions = match is_random {
            true => functions_from_json(WITHOUT_TEXT)?,
            false => functions_from_json(&fs::read_to_string("server/src/chat/functions.json")?)?,
        };
        let conversation = runner.create_conversation("");
        conversation.register_functions(functions)?;
        let mut total = Self::default();
        for (request, seed) in REQUESTS.iter().zip(0..) {
            let mut options = GenerationOptions {
                function_call_parser: parser(is_random),
                stop_after_tool_calls: true,
                seed: Some(seed),
                temperature: Some(if is_random { 1.0 } else { 0.0 }),
                tool_call_constraint: if is_typed { ToolCallConstraint::Typed } else { ToolCallConstraint::Off },
                ..Default::default()
            };
            if is_random {
                options.tool_choice = ToolChoice::Required;
                if !is_typed {
                    // Free replies get as many tokens as the call has.
                    let call = ask(&conversation, request, options.clone())?.1;
                    options.tool_choice = ToolChoice::Auto;
                    options.max_tokens = Some(call.stats.completion_tokens);
                    options.ignore_end = true;
                }
            }
            // The first request prepares the prompt and the grammar, and is not measured.
            ask(&conversation, request, options.clone())?;
            let mut fastest = ask(&conversation, request, options.clone())?;
            for _ in 1..REPEATS {
                let again = ask(&conversation, request, options.clone())?;
                if again.0 < fastest.0 {
                    fastest = again;
                }
            }
            total.time += fastest.0;
            total.n_replies += 1;
            total.stats.push(fastest.1.stats);
        }
        Ok(total)
    }
}

/// Returns the reply to a request, and the time until its end.
fn ask(
    conversation: &Conversation,
    request: &str,
    options: GenerationOptions,
) -> Result<(Duration, Completion), Box<dyn Error>> {
    let start = Instant::now();
    let stream = conversation.fork().generate_response(ChatMessage::user(request), options);
    match stream.into_iter().last().transpose()? {
        Some(MessageResponse::Complete(completion)) => Ok((start.elapsed(), *completion)),
        other => Err(format!("a reply ended with {other:?}").into()),
    }
}

impl std::fmt::Display for RequestTotals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sum = |count: fn(&GenerationStats) -> usize| self.stats.iter().map(count).sum::<usize>();
        let seconds =
            |time: fn(&GenerationStats) -> Duration| self.stats.iter().map(time).sum::<Duration>().as_secs_f64();
        let share = seconds(|stats| stats.constraint_time) / seconds(|stats| stats.decode_time);
        write!(
            f,
            "{:.2} | {} | {} | {} | {} | {:.1} % |",
            1e3 * self.time.as_secs_f64() / f64::from(self.n_replies),
            sum(|stats| stats.completion_tokens),
            sum(|stats| stats.forced_tokens),
            sum(|stats| stats.drafted_tokens),
            sum(|stats| stats.accepted_draft_tokens),
            100.0 * share
        )
    }
}
