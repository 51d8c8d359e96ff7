//! What the engine is asked for: a reply, its prompt, and who listens.

use crate::engine::cache::Owner;
use crate::engine::constraint::ReplyConstraint;
use crate::engine::loaded::LoadedModel;
use crate::error::Result;
use crate::function::SdkFunction;
use crate::message::ChatMessage;
use crate::options::{GenerationOptions, Sampling};
use crate::position::{Embedded, Position};
use crate::response::PromptReport;

/// One reply to be generated.
pub(crate) struct Request {
    pub(crate) prepare: Prepare,
    pub(crate) options: GenerationOptions,
    pub(crate) sampling: Sampling,
    /// Receives news of the reply before the stream's reader does.
    pub(crate) listener: Listener,
}

/// Asks, on the engine thread, whether the reply's turn has come: returns the job that makes its prompt, or `None` while
/// other replies come first. It is called again and again, and no more after it has returned a job.
pub(crate) type Prepare = Box<dyn FnMut() -> Option<PromptJob> + Send>;

/// Makes the prompt, on a thread of the preparation pool, so that neither a caller nor another reply waits for it. It must
/// change nothing outside: its result is dropped if the reply is cancelled meanwhile. After an error the listener receives
/// the end.
pub(crate) type PromptJob = Box<dyn FnOnce(&LoadedModel) -> Result<Prepared> + Send>;

/// A prompt that is ready for the model.
pub(crate) struct Prepared {
    /// Called on the engine thread when the reply begins with this prompt: adds the message to the history.
    pub(crate) commit: Box<dyn FnOnce() + Send>,
    /// Positions that [`LoadedModel::check_prompt`] has passed.
    pub(crate) positions: Vec<Position>,
    /// The contents that are embedded in it, in any order; their rows are computed only if they are in no cache.
    pub(crate) embedded: Vec<Embedded>,
    /// Whether the prompt ends inside of reasoning that it has opened.
    pub(crate) in_reasoning: bool,
    /// Whether the reply continues the prompt's text, so that a leading space belongs to it.
    pub(crate) continues_text: bool,
    /// The owner whose cached states the reply may continue, besides everyone's, and that its own state is left to.
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
