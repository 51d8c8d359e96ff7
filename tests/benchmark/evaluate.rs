//! Measures how well a model calls functions: `evaluate MODEL CASES CHAT_FOLDER [--typed] [--failures] [--most N]`.
//!
//! Each case is a conversation with functions, and what the model should do next. A call counts if it is exact: the name,
//! every argument and every type. Sampling is greedy; --typed constrains calls to the functions; --most takes only the first
//! N cases of each category.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::time::Instant;

use causerie::{
    ChatMessage, Completion, FinishReason, GenerationOptions, MessageResponse, ModelRunner, Role, SdkFunctionCall,
    ToolCallConstraint, functions_from_json, messages_from_json,
};
use serde::Deserialize;
use serde_json::{Value as Json, json};

/// No right reply is longer than this.
const MAX_TOKENS: usize = 256;

#[derive(Deserialize)]
struct EvaluationCase {
    category: String,
    /// `"chat"` for the functions of the chat command, `"same"` for the functions of the previous case, else chat-completions
    /// tools.
    functions: Json,
    /// The system prompt; that of the chat command if absent.
    system: Option<String>,
    messages: Json,
    /// What is said in a recording, for lists of failures.
    described: Option<Json>,
    expect: ExpectedReply,
}

/// What the model should do. Absent fields are not checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedReply {
    calls: Option<Json>,
    /// Texts that the reply must contain.
    #[serde(default)]
    contains: Vec<String>,
    /// A right reply: a reply with other words states something that is in no result.
    says: Option<String>,
    /// Whether the reply must say that no function fits, and call none.
    #[serde(default)]
    refuses: bool,
    /// Whether the reply must be whole sentences, without a call.
    #[serde(default)]
    whole: bool,
    /// Whether the reply must be whole sentences that refuse or ask, without a call.
    #[serde(default)]
    declines: bool,
    /// Calls with the accepted values of each argument; an argument that accepts an empty string is optional.
    accepts: Option<Vec<AcceptedCall>>,
}

#[derive(Deserialize)]
struct AcceptedCall {
    name: String,
    arguments: BTreeMap<String, Vec<Json>>,
}

#[derive(Default)]
struct CategoryScore {
    n_cases: usize,
    n_right: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, cases, chat, ..] = &arguments[..] else {
        return Err("usage: evaluate MODEL CASES CHAT_FOLDER [--typed] [--failures] [--most N]".into());
    };
    let is_typed = arguments.iter().any(|argument| argument == "--typed");
    let shows_failures = arguments.iter().any(|argument| argument == "--failures");
    let most = arguments.iter().position(|argument| argument == "--most").and_then(|at| arguments.get(at + 1));
    let most: usize = most.map_or(Ok(usize::MAX), |most| most.parse())?;
    let chat_functions = fs::read_to_string(format!("{chat}/functions.json"))?;
    let chat_system = fs::read_to_string(format!("{chat}/system_prompt.txt"))?;
    let runner = ModelRunner::load(model)?;
    let mut scores: BTreeMap<String, CategoryScore> = BTreeMap::new();
    let (start, mut n_tokens, mut decode_seconds) = (Instant::now(), 0, 0.0);
    let mut functions = chat_functions.clone();
    let (mut n_forced, mut n_call_tokens, mut constraint_seconds) = (0, 0, 0.0);
    let (mut n_drafted, mut n_accepted) = (0, 0);
    for line in fs::read_to_string(cases)?.lines() {
        let case: EvaluationCase = serde_json::from_str(line)?;
        if case.functions == "chat" {
            functions.clone_from(&chat_functions);
        } else if case.functions != "same" {
            functions = case.functions.to_string();
        }
        let score = scores.entry(case.category.clone()).or_default();
        if score.n_cases == most {
            continue;
        }
        let mut history = vec![ChatMessage::system(case.system.as_deref().unwrap_or(&chat_system))];
        history[0].functions = functions_from_json(&functions)?;
        history.extend(messages_from_json(&case.messages.to_string())?);
        let completion = reply(&runner, history, is_typed)?;
        n_tokens += completion.stats.completion_tokens.saturating_sub(1);
        decode_seconds += completion.stats.decode_time.as_secs_f64();
        n_forced += completion.stats.forced_tokens;
        n_call_tokens += completion.stats.call_tokens;
        n_drafted += completion.stats.drafted_tokens;
        n_accepted += completion.stats.accepted_draft_tokens;
        constraint_seconds += completion.stats.constraint_time.as_secs_f64();
        let is_right = is_right(&case.expect, &completion)?;
        score.n_cases += 1;
        score.n_right += usize::from(is_right);
        if shows_failures && !is_right {
            show_failure(&case, &completion);
        }
    }
    println!("| category | cases | right | |\n|---|---:|---:|---:|");
    for (category, CategoryScore { n_cases, n_right }) in &scores {
        println!("| {category} | {n_cases} | {n_right} | {:.1} % |", 100.0 * *n_right as f64 / *n_cases as f64);
    }
    println!(
        "\n{:.0} s in total; decode at {:.0} tokens per second",
        start.elapsed().as_secs_f64(),
        n_tokens as f64 / decode_seconds
    );
    println!("{n_drafted} draft tokens, {n_accepted} of them accepted; {n_call_tokens} tokens of calls");
    if is_typed {
        println!(
            "{n_forced} tokens of calls forced; constraints took {:.2} s, {:.1} % of decode",
            constraint_seconds,
            100.0 * constraint_seconds / decode_seconds
        );
    }
    Ok(())
}

fn reply(runner: &ModelRunner, history: Vec<ChatMessage>, is_typed: bool) -> Result<Completion, Box<dyn Error>> {
    let options = GenerationOptions {
        temperature: Some(0.0),
        max_tokens: Some(MAX_TOKENS),
        tool_call_constraint: if is_typed { ToolCallConstraint::Typed } else { ToolCallConstraint::Off },
        ..Default::default()
    };
    for event in runner.create_conversation_from_history(history).continue_response(options) {
        if let MessageResponse::Complete(completion) = event? {
            return Ok(*completion);
        }
    }
    Err("the stream ended without a completion".into())
}

fn is_right(expect: &ExpectedReply, completion: &Completion) -> Result<bool, Box<dyn Error>> {
    let calls = completion.full_message.function_calls.as_deref().unwrap_or_default();
    let text = completion.full_message.text();
    let has_right_calls = match &expect.calls {
        Some(expected) => plain(calls) == plain(&expected_calls(expected)?),
        None => true,
    };
    let refuses = calls.is_empty() && text.contains("no function");
    let contains = expect.contains.iter().all(|part| text.contains(part));
    let adds = expect.says.as_ref().is_some_and(|right| !words(&text).is_subset(&words(right)));
    let is_whole = calls.is_empty() && completion.finish_reason == FinishReason::Stop && is_whole(&text);
    let is_accepted = expect.accepts.as_ref().is_none_or(|accepted| accept_calls(accepted, calls));
    Ok(has_right_calls
        && contains
        && !adds
        && is_accepted
        && (!expect.refuses || refuses)
        && (!expect.whole || is_whole)
        && (!expect.declines || is_whole && declines(&text)))
}

/// Whether a text looks like whole sentences: not a fragment, and not the same word again and again.
fn is_whole(text: &str) -> bool {
    let text = text.trim();
    let words: Vec<&str> = text.split_whitespace().collect();
    let repeats = words.windows(3).any(|three| three[0] == three[1] && three[1] == three[2]);
    let begins = text.chars().next().is_some_and(|first| !first.is_lowercase());
    begins && text.trim_end_matches('"').ends_with(['.', '?', '!']) && !repeats && words.len() <= 60
}

fn declines(text: &str) -> bool {
    let lower = text.to_lowercase();
    text.trim().ends_with('?') || ["no function", "cannot", "can't", "sorry"].iter().any(|words| lower.contains(words))
}

fn accept_calls(accepted: &[AcceptedCall], calls: &[SdkFunctionCall]) -> bool {
    accepted.len() == calls.len() && accepted.iter().zip(calls).all(|(accepted, call)| accept_call(accepted, call))
}

fn accept_call(accepted: &AcceptedCall, call: &SdkFunctionCall) -> bool {
    let read = |value: &causerie::Value| serde_json::from_str(&value.to_string()).unwrap_or_default();
    let given: BTreeMap<String, Json> =
        call.arguments.iter().map(|(name, value)| (name.clone(), loose(&read(value)))).collect();
    let accepts = |name: &String, value: &Json| {
        accepted.arguments.get(name).is_some_and(|values| values.iter().any(|each| loose(each) == *value))
    };
    let is_optional = |values: &[Json]| values.iter().any(|value| value == "");
    accepted.name == call.name
        && given.iter().all(|(name, value)| accepts(name, value))
        && accepted.arguments.iter().all(|(name, values)| given.contains_key(name) || is_optional(values))
}

/// The value without capitals, spaces and punctuation, and with all numbers as floats, as the leaderboard of these cases
/// compares them.
fn loose(value: &Json) -> Json {
    match value {
        Json::String(text) => {
            Json::String(text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect())
        }
        Json::Number(number) => json!(number.as_f64()),
        Json::Array(values) => values.iter().map(loose).collect(),
        other => other.clone(),
    }
}

fn words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect()
}

/// Returns names and arguments; the order of arguments does not count.
fn plain(calls: &[SdkFunctionCall]) -> Vec<(&str, &causerie::Arguments)> {
    calls.iter().map(|call| (call.name.as_str(), &call.arguments)).collect()
}

/// Reads `{"name", "arguments"}` entries like the calls of a message.
fn expected_calls(expected: &Json) -> Result<Vec<SdkFunctionCall>, Box<dyn Error>> {
    let entries = expected.as_array().ok_or("expect.calls must be an array")?;
    let calls: Vec<Json> = entries.iter().map(|call| json!({"function": call})).collect();
    let message = json!([{"role": Role::Assistant.as_str(), "tool_calls": calls}]);
    let message = messages_from_json(&message.to_string())?.remove(0);
    Ok(message.function_calls.unwrap_or_default())
}

fn show_failure(case: &EvaluationCase, completion: &Completion) {
    let last = case.messages.as_array().and_then(|messages| messages.last()).map(|message| &message["content"]);
    let last = case.described.as_ref().or(last);
    let calls = completion.full_message.function_calls.iter().flatten();
    let calls: Vec<String> = calls.map(|call| call.raw_text.clone()).collect();
    println!("{}: {}", case.category, last.unwrap_or(&Json::Null));
    let expected =
        [("calls", case.expect.calls.clone().unwrap_or_default()), ("contains", json!(case.expect.contains))];
    let accepted = case.expect.accepts.iter().flatten().map(|call| format!("{}({:?})", call.name, call.arguments));
    println!("  expected {expected:?} {}", accepted.collect::<Vec<_>>().join(", "));
    println!("  got      [{}] {:?}", calls.join(", "), completion.full_message.text());
}
