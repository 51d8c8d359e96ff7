//! Measures what constraints and reading ahead make of tool calls: `tool_calls MODEL [--random]`.
//!
//! Tells what masks take one by one, and how long requests take up to the delivered call: free or constrained, each
//! token read by itself or what is certain and guessed along with the token before it. With --random, for weights that
//! make nothing of a request, calls are demanded in JSON, and free replies have as many tokens as they.

use std::error::Error;
use std::fs;
use std::time::{Duration, Instant};

use causerie::{
    ChatMessage, Completion, Conversation, FunctionCallParser, GenerationOptions, GenerationStats, LoadOptions,
    MessageResponse, ModelRunner, ToolCallConstraint, ToolChoice, functions_from_json, measuring::mask_times,
};

#[path = "../../tests/integration/function_sets.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod function_sets;

/// Requests that repeat little, and that repeat much.
const REQUESTS: [&str; 6] = [
    "Set a timer for 12 minutes",
    "Set a timer for 3 hours for the potato soup",
    "Check the weather in Oslo",
    "Write down that the blue bicycle stands in the garden",
    "Note that the plumber comes on Tuesday and brings the new tap",
    "Set a timer for 20 minutes and check the weather in Lisbon",
];
/// What a random model is asked for: nothing that it could go on with for ever.
const WITHOUT_TEXT: &str = r#"[{"name": "set_timer", "parameters": {"properties": {
    "duration": {"type": "integer"}, "unit": {"type": "string", "enum": ["seconds", "minutes", "hours"]},
    "label": {"type": "string", "enum": ["pasta", "potato soup", "laundry"]}, "repeats": {"type": "boolean"}},
    "required": ["duration", "unit", "label"]}}]"#;
const TEMPLATE: &str = "{{ bos_token }}{% for tool in tools or [] %}{{ tool.name }} {% endfor %}{% for message in \
    messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";
/// Times that each request is made; the fastest counts.
const REPEATS: usize = 3;
/// Replies whose masks are measured, of a set of functions each.
const MASKED_REPLIES: u64 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, flags @ ..] = &arguments[..] else { return Err("usage: tool_calls MODEL [--random]".into()) };
    let is_random = flags.iter().any(|flag| flag == "--random");
    let load = |look_ahead| {
        let chat_template = is_random.then(|| TEMPLATE.to_owned());
        ModelRunner::load_with(model, LoadOptions { look_ahead, chat_template, ..Default::default() })
    };
    let (ahead, plain) = (load(true)?, load(false)?);
    masks(&ahead, is_random)?;
    println!("\n| calls | read | a call, ms | tokens | forced | guessed | right | constraint, share of writing |");
    println!("|---|---|---:|---:|---:|---:|---:|---:|");
    for is_typed in [false, true] {
        for (runner, read) in [(&plain, "one by one"), (&ahead, "ahead")] {
            let total = Total::of(runner, is_typed, is_random)?;
            let calls = if is_typed { "typed" } else { "free" };
            println!("| {calls} | {read} | {total}");
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

/// Prints what masks take, at random choices among all that is allowed, for many sets of functions.
fn masks(runner: &ModelRunner, is_random: bool) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::new();
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
        times.extend(mask_times(runner, &function_sets::function_set(set), &options)?);
    }
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("{} masks: p50 {:?}, p90 {:?}, p99 {:?}, longest {:?}", times.len(), at(0.5), at(0.9), at(0.99), at(1.0));
    Ok(())
}

#[derive(Default)]
struct Total {
    time: Duration,
    n_replies: u32,
    stats: Vec<GenerationStats>,
}

impl Total {
    fn of(runner: &ModelRunner, is_typed: bool, is_random: bool) -> Result<Self, Box<dyn Error>> {
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
                    // As many tokens as the call has.
                    let call = ask(&conversation, request, options.clone())?.1;
                    options.tool_choice = ToolChoice::Auto;
                    options.max_tokens = Some(call.stats.completion_tokens);
                    options.ignore_end = true;
                }
            }
            // The first time, the prompt and the grammar are new.
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

/// A reply to a request, and the time up to it.
fn ask(
    conversation: &Conversation,
    request: &str,
    options: GenerationOptions,
) -> Result<(Duration, Completion), Box<dyn Error>> {
    let begun = Instant::now();
    let stream = conversation.fork().generate_response(ChatMessage::user(request), options);
    match stream.last().transpose()? {
        Some(MessageResponse::Complete(completion)) => Ok((begun.elapsed(), *completion)),
        other => Err(format!("a reply ended with {other:?}").into()),
    }
}

impl std::fmt::Display for Total {
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
