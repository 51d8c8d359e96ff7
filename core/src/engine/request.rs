//! What the engine is asked for: a reply, its prompt, and who listens.

use crate::engine::cache::Owner;
use crate::engine::constraint::ReplyConstraint;
use crate::engine::loaded::LoadedModel;
use crate::error::Result;
use crate::function::SdkFunction;
use crate::message::ChatMessage;
use crate::options::{GenerationOptions, Sampling};
use crate::response::PromptReport;

/// One reply to be generated.
pub(crate) struct Request {
    pub(crate) prepare: Prepare,
    pub(crate) options: GenerationOptions,
    pub(crate) sampling: Sampling,
    /// Receives news of the reply before the stream's reader does.
    pub(crate) listener: Listener,
}

/// Makes the prompt, on the engine thread, so that no caller waits for it; returns `None` while other replies come first.
/// An error changes nothing; the listener receives the end nevertheless.
pub(crate) type Prepare = Box<dyn FnMut(&LoadedModel) -> Option<Result<Prepared>> + Send>;

/// A prompt that is ready for the model.
pub(crate) struct Prepared {
    /// Token ids that [`LoadedModel::check_prompt`] has passed.
    pub(crate) tokens: Vec<u32>,
    /// Whether the prompt ends inside of reasoning that it has opened.
    pub(crate) in_reasoning: bool,
    /// Whether the reply continues the prompt's text, so that a leading space belongs to it.
    pub(crate) continues_text: bool,
    /// Whose cached states the reply may start from, and to whom it leaves its own.
    pub(crate) owner: Owner,
    /// The functions offered to the model; calls are validated against them.
    pub(crate) functions: Vec<SdkFunction>,
    /// Limits what the reply may contain.
    pub(crate) constraint: ReplyConstraint,
    pub(crate) report: PromptReport,
}

pub(crate) type Listener = Box<dyn FnMut(ReplyNews<'_>) + Send>;

/// News that a listener receives.
pub(crate) enum ReplyNews<'a> {
    /// Functions were called; this is the reply so far.
    Called(&'a ChatMessage),
    /// The whole reply, or `None` after an error. Sent once, last.
    Ended(Option<&'a ChatMessage>),
}
