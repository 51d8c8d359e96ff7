//! Lets a model with random weights call functions: `constrained MODEL SETS CALLS [--json] [--free]`.
//!
//! Requests CALLS calls for each of SETS sets of functions, at temperature 1.0 over all tokens. Counts the calls that need
//! no repair and fit their functions, and prints each call with its schema, for an independent validator
//! (`scripts/prove-calls`). With --free, nothing is constrained.

use std::error::Error;
use std::time::Instant;

use causerie::{
    ChatMessage, Completion, FinishReason, FunctionCallParser, GenerationOptions, LoadOptions, MessageResponse,
    ModelRunner, SdkFunction, ToolCallConstraint, ToolChoice, Value, function_schema,
};

#[path = "../integration/function_sets.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod function_sets;

/// Offers functions in few tokens: a model with random weights ignores them anyway.
const TEMPLATE: &str = "{{ bos_token }}{% for tool in tools or [] %}{{ tool.name }} {% endfor %}{% for message in \
    messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";
/// A model with random weights rarely ends a reply: a longer one is given up, and another one requested.
const MAX_TOKENS: usize = 600;
const MAX_REPLIES: u64 = 50;

#[derive(Default)]
struct CallCounts {
    calls: usize,
    clean: usize,
    rejected: usize,
    given_up: usize,
    tokens: usize,
    forced: usize,
    constraint_seconds: f64,
    decode_seconds: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, n_sets, n_calls, flags @ ..] = &arguments[..] else {
        return Err("usage: constrained MODEL SETS CALLS [--json] [--free]".into());
    };
    let has = |flag: &str| flags.iter().any(|given| given == flag);
    let (n_sets, n_calls): (u64, usize) = (n_sets.parse()?, n_calls.parse()?);
    let load_options = LoadOptions { chat_template: Some(TEMPLATE.to_owned()), ..Default::default() };
    let runner = ModelRunner::load_with(model, load_options)?;
    let mut options = GenerationOptions {
        temperature: Some(1.0),
        top_k: Some(0),
        max_tokens: Some(MAX_TOKENS),
        parallel_tool_calls: false,
        stop_after_tool_calls: true,
        ..Default::default()
    };
    if !has("--free") {
        options.tool_choice = ToolChoice::Required;
        options.tool_call_constraint = ToolCallConstraint::Typed;
    }
    if has("--json") {
        options.function_call_parser = Some(FunctionCallParser::JsonStyleFunctionCallParser);
    }
    let (start, mut counts) = (Instant::now(), CallCounts::default());
    for set in 0..n_sets {
        let functions = function_sets::function_set(set);
        let conversation = runner.create_conversation("");
        conversation.register_functions(functions.clone())?;
        let n_before = counts.calls;
        // Without a constraint, replies may contain no call at all.
        let n_replies = if has("--free") { n_calls as u64 } else { MAX_REPLIES * n_calls as u64 };
        for reply in 0..n_replies {
            if n_calls <= counts.calls - n_before {
                break;
            }
            let options = GenerationOptions { seed: Some(set * MAX_REPLIES + reply), ..options.clone() };
            let stream = conversation.fork().generate_response(ChatMessage::user("Call."), options);
            match stream.into_iter().last().transpose()? {
                Some(MessageResponse::Complete(completion)) => {
                    print(&completion, &functions);
                    counts.add(&completion);
                }
                other => return Err(format!("a reply ended with {other:?}").into()),
            }
        }
        let n_found = counts.calls - n_before;
        if n_found < n_calls && !has("--free") {
            return Err(format!("set {set} must have {n_calls} calls, found {n_found} in {n_replies} replies").into());
        }
    }
    let CallCounts { calls, clean, rejected, given_up, .. } = counts;
    eprintln!("{calls} calls over {n_sets} sets of functions, {clean} of them valid and parsed without repair");
    eprintln!("{rejected} blocks rejected; {given_up} replies did not end within {MAX_TOKENS} tokens");
    eprintln!(
        "{} tokens, {} of them forced; {:.0} s in total, {:.1} s of decode, {:.2} s of constraints",
        counts.tokens,
        counts.forced,
        start.elapsed().as_secs_f64(),
        counts.decode_seconds,
        counts.constraint_seconds
    );
    Ok(())
}

/// Whether the reply was given up, so that its last call may be incomplete.
fn is_cut(completion: &Completion) -> bool {
    completion.finish_reason == FinishReason::MaxTokens
}

/// Prints a line of JSON for each call: the schema of its function, and its arguments.
fn print(completion: &Completion, functions: &[SdkFunction]) {
    if is_cut(completion) {
        return;
    }
    for call in completion.full_message.function_calls.iter().flatten() {
        let function = functions.iter().find(|function| function.name == call.name);
        let schema = function.map_or(Value::Null, function_schema);
        let line = [("function".to_owned(), schema), ("arguments".to_owned(), Value::Object(call.arguments.clone()))];
        println!("{}", Value::Object(line.into()));
    }
}

impl CallCounts {
    fn add(&mut self, completion: &Completion) {
        self.tokens += completion.stats.completion_tokens;
        self.forced += completion.stats.forced_tokens;
        self.constraint_seconds += completion.stats.constraint_time.as_secs_f64();
        self.decode_seconds += completion.stats.decode_time.as_secs_f64();
        if is_cut(completion) {
            self.given_up += 1;
            return;
        }
        let message = &completion.full_message;
        let found = message.function_calls.as_deref().unwrap_or_default();
        self.calls += found.len();
        for call in found {
            match call.repairs.is_empty() && call.diagnostics.is_empty() {
                true => self.clean += 1,
                false => eprintln!("not clean: {call:?}"),
            }
        }
        self.rejected += message.rejected_calls.len();
    }
}
