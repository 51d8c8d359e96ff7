//! A conversation: a history that grows by messages and replies. It holds no state of the model.

mod context;
#[cfg(test)]
mod embedded_tests;
mod functions;
mod generation;
mod handlers;
mod messages;
mod offer;
mod reply;
mod request_queue;
mod round;
mod rounds;
mod session;
#[cfg(test)]
pub(crate) mod testing;

pub use context::ContextPlan;
pub use handlers::{FunctionHandlers, RoundOptions};
pub use messages::Conversation;
