//! Has a model of random weights call functions under constraint: `constrained MODEL SETS CALLS [--json] [--free]`.
//!
//! SETS sets of functions are drawn, and CALLS replies asked for of each, at temperature 1.0 over all tokens. Counts the
//! calls that are read without repair and fit their functions. With --free nothing is constrained.

use std::error::Error;
use std::time::Instant;

use causerie::{
    ChatMessage, FinishReason, FunctionCallParser, GenerationOptions, LoadOptions, MessageResponse, ModelRunner,
    ToolCallConstraint, ToolChoice,
};

#[path = "../../tests/integration/function_sets.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod function_sets;

/// Offers functions in few tokens: random weights make nothing of them.
const TEMPLATE: &str = "{{ bos_token }}{% for tool in tools or [] %}{{ tool.name }} {% endfor %}{% for message in \
    messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, n_sets, n_calls, flags @ ..] = &arguments[..] else {
        return Err("usage: constrained MODEL SETS CALLS [--json] [--free]".into());
    };
    let has = |flag: &str| flags.iter().any(|given| given == flag);
    let (n_sets, n_calls): (u64, u64) = (n_sets.parse()?, n_calls.parse()?);
    let load_options = LoadOptions { chat_template: Some(TEMPLATE.to_owned()), ..Default::default() };
    let runner = ModelRunner::load_with(model, load_options)?;
    let mut options = GenerationOptions { temperature: Some(1.0), top_k: Some(0), ..Default::default() };
    if !has("--free") {
        options.tool_choice = ToolChoice::Required;
        options.tool_call_constraint = ToolCallConstraint::Typed;
    }
    if has("--json") {
        options.function_call_parser = Some(FunctionCallParser::JsonStyleFunctionCallParser);
    }
    let (begun, mut n_clean, mut n_other, mut n_rejected, mut n_cut) = (Instant::now(), 0, 0, 0, 0);
    let (mut n_tokens, mut n_forced, mut constraining, mut writing) = (0, 0, 0.0, 0.0);
    for set in 0..n_sets {
        let conversation = runner.create_conversation("");
        conversation.register_functions(function_sets::function_set(set))?;
        for call in 0..n_calls {
            let options = GenerationOptions { seed: Some(set * n_calls + call), ..options.clone() };
            let stream = conversation.fork().generate_response(ChatMessage::user("Call."), options);
            let Some(MessageResponse::Complete(completion)) = stream.last().transpose()? else {
                return Err("the stream ended without a completion".into());
            };
            let message = completion.full_message;
            let calls = message.function_calls.as_deref().unwrap_or_default();
            let clean = calls.iter().filter(|call| call.repairs.is_empty() && call.diagnostics.is_empty()).count();
            let is_cut = matches!(completion.finish_reason, FinishReason::MaxTokens | FinishReason::ExceedContext);
            n_clean += clean;
            n_other += calls.len() - clean;
            n_cut += usize::from(is_cut && !message.rejected_calls.is_empty());
            n_rejected += if is_cut { 0 } else { message.rejected_calls.len() };
            n_tokens += completion.stats.completion_tokens;
            n_forced += completion.stats.forced_tokens;
            constraining += completion.stats.constraint_time.as_secs_f64();
            writing += completion.stats.decode_time.as_secs_f64();
        }
    }
    println!("{n_clean} calls as declared, {n_other} not, {n_rejected} rejected, {n_cut} replies cut by the context");
    println!(
        "{n_tokens} tokens, {n_forced} of them forced; {:.1} s in all, {writing:.1} s of writing, {constraining:.2} s of constraints",
        begun.elapsed().as_secs_f64()
    );
    Ok(())
}
