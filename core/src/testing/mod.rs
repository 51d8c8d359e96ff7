//! Models that follow a script, to test apps without a real model.
//!
//! A [`ScriptedModel`] becomes a [`ModelRunner`](crate::ModelRunner) like any other. Each of its replies is a list of steps, a token each:
//! text, control tokens, and faults. Everything around the model is real: prompts are rendered and counted, calls are
//! parsed, streams are pulled, replies are cancelled. Each byte of a prompt is a token. Replies are generated in the order
//! of the script, whatever the prompt is.
//!
//! ```
//! use causerie::testing::{ScriptedModel, ScriptedReply};
//! use causerie::{ChatMessage, GenerationOptions, MessageResponse};
//!
//! let call = ScriptedReply::new()
//!     .control("<|tool_call_start|>")
//!     .text(r#"[get_weather(city="Oslo")]"#)
//!     .control("<|tool_call_end|>");
//! let runner = ScriptedModel::new().reply(call).reply("It is sunny.").load()?;
//!
//! let conversation = runner.create_conversation("");
//! for event in conversation.generate_response(ChatMessage::user("Weather?"), GenerationOptions::default()) {
//!     if let MessageResponse::FunctionCalls(calls) = event? {
//!         assert_eq!(calls[0].name, "get_weather");
//!     }
//! }
//! let answer = conversation.generate_response(ChatMessage::tool("sunny"), GenerationOptions::default());
//! let Some(Ok(MessageResponse::Complete(completion))) = answer.into_iter().last() else { panic!("the reply ends") };
//! assert_eq!(completion.full_message.text(), "It is sunny.");
//! # Ok::<(), causerie::SdkError>(())
//! ```

mod json;
mod model;
mod network;
mod reply;

pub use model::ScriptedModel;
pub use reply::ScriptedReply;
