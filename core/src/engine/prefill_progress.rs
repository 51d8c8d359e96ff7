//! How far a reply's prompt has been read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many tokens of its prompt a reply has prefilled, for progress that is shown from any thread. Tokens from the prefix
/// cache count as prefilled.
///
/// ```
/// use causerie::{ChatMessage, GenerationOptions};
/// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
/// let mut reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
/// let progress = reply.prefill_progress();
/// assert_eq!((progress.done_tokens(), progress.total_tokens()), (0, 0));
/// Iterator::next(&mut reply).unwrap()?; // the first word
/// assert!(0 < progress.total_tokens());
/// assert_eq!(progress.done_tokens(), progress.total_tokens());
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PrefillProgress {
    counts: Arc<PrefillCounts>,
}

#[derive(Debug, Default)]
struct PrefillCounts {
    done: AtomicUsize,
    total: AtomicUsize,
}

impl PrefillProgress {
    /// Tokens of the prompt that were prefilled or came from the prefix cache.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// let reply = conversation.generate_response(causerie::ChatMessage::user("Hi"), Default::default());
    /// assert_eq!(reply.prefill_progress().done_tokens(), 0);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn done_tokens(&self) -> usize {
        self.counts.done.load(Ordering::Relaxed)
    }

    /// Tokens of the prompt; 0 until the prompt is prepared. With function calls, those of the round under way.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// let reply = conversation.generate_response(causerie::ChatMessage::user("Hi"), Default::default());
    /// assert_eq!(reply.prefill_progress().total_tokens(), 0);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn total_tokens(&self) -> usize {
        self.counts.total.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, done: usize, total: usize) {
        self.counts.total.store(total, Ordering::Relaxed);
        self.counts.done.store(done, Ordering::Relaxed);
    }
}
