//! `causerie generate`: replies to one prompt.

use causerie::{ChatMessage, DiagnosticCode, FinishReason, GenerationOptions, MessageResponse};

use crate::arguments::GenerateArguments;
use crate::failure::Failure;
use crate::interrupt;
use crate::model::{LocalModel, load_options};
use crate::output::{print, remark};

pub(crate) fn run(arguments: &GenerateArguments, model: &LocalModel) -> Result<(), Failure> {
    let options = GenerationOptions { function_call_parser: None, ..arguments.sampling.options() };
    options.check()?;
    let runner = model.load(arguments.loading.add_to(load_options(arguments.context.size)))?;
    let mut reply = if arguments.raw {
        runner.complete(arguments.prompt.as_str(), options)
    } else {
        let conversation = runner.create_conversation("");
        conversation.generate_response(ChatMessage::user(&arguments.prompt), options)
    };
    interrupt::cancel_on_press(&reply);
    while let Some(event) = reply.iter().next() {
        match event? {
            MessageResponse::Chunk(text) | MessageResponse::ReasoningChunk(text) => {
                print(text)?;
            }
            MessageResponse::Complete(completion) => {
                print("\n")?;
                let stats = &completion.stats;
                if arguments.verbose {
                    remark(format_args!(
                        "prompt: {} tokens in {:.2} s; reply: {} tokens, {:.1} per second; first after {:.2} s; seed {}",
                        stats.prompt_tokens,
                        stats.prefill_time.as_secs_f64(),
                        stats.completion_tokens,
                        stats.tokens_per_second(),
                        stats.time_to_first_token.as_secs_f64(),
                        stats.seed
                    ));
                }
                if completion.diagnostics.iter().any(|found| found.code == DiagnosticCode::RepeatedTail) {
                    remark("the reply was ended: it only repeated itself");
                }
                if completion.finish_reason == FinishReason::ExceedContext {
                    remark(format_args!("the context of {} tokens is full", stats.context_size));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
