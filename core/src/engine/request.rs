//! What the engine is asked for: a reply, its prompt, and who owns it.

use crate::engine::cache::Owner;
use crate::engine::constraint::ReplyConstraint;
use crate::engine::loaded::LoadedModel;
use crate::engine::token_reading::TokenReading;
use crate::error::Result;
use crate::function::SdkFunction;
use crate::message::ChatMessage;
use crate::options::{GenerationOptions, Sampling, SpeechMode};
use crate::position::{Embedded, Position};
use crate::response::PromptReport;

/// One reply to be generated.
pub(crate) struct Request {
    pub(crate) owner: Box<dyn ReplyOwner>,
    pub(crate) options: GenerationOptions,
    pub(crate) sampling: Sampling,
}

/// The owner of a reply. The engine asks it for the prompt, and reports to it what becomes of the reply, before the stream's reader
/// learns of it. It is called on the engine thread.
pub(crate) trait ReplyOwner: Send {
    /// The job that makes the prompt, when the reply's turn has come; `None` while other replies come first. It is asked again and
    /// again, and no more after it has returned a job.
    fn turn(&mut self) -> Option<PromptJob>;

    /// The reply begins with its prompt: these messages join the history.
    fn begin(&mut self, _messages: Vec<ChatMessage>) {}

    /// Functions were called; this is the reply so far.
    fn called(&mut self, _reply: &ChatMessage) {}

    /// The log-probabilities that the prompt's [`TokenReading`] asks for.
    fn read(&mut self, _logprobs: Vec<f64>) {}

    /// The whole reply, which the owner may cut, or `None` after an error. It is called once, last.
    fn ended(&mut self, _reply: Option<&mut ChatMessage>) {}
}

/// Makes the prompt, on a thread of the preparation pool, so that neither a caller nor another reply waits for it. It must
/// change nothing outside: its result is dropped if the reply is cancelled meanwhile. After an error the owner
/// receives the end.
pub(crate) type PromptJob = Box<dyn FnOnce(&LoadedModel) -> Result<Prepared> + Send>;

/// A prompt that is ready for the model.
pub(crate) struct Prepared {
    /// Messages of the prompt that join the history when the reply begins.
    pub(crate) messages: Vec<ChatMessage>,
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
    /// Whether, and in which order, the reply has text and sound, if the model speaks.
    pub(crate) speech: SpeechMode,
    /// What is read after the prompt, in place of a reply.
    pub(crate) reading: Option<TokenReading>,
}
