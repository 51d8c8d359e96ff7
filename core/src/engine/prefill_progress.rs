//! How far a reply's prompt has been read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::position::Position;

/// How many tokens, images and recordings of its prompt a reply has prefilled, for progress that is shown from any thread. What comes from
/// the prefix cache counts as prefilled.
///
/// ```
/// use causerie::{ChatMessage, GenerationOptions};
/// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
/// let mut reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
/// let progress = reply.prefill_progress();
/// assert_eq!((progress.done_tokens(), progress.total_tokens()), (0, 0));
/// reply.iter().next().unwrap()?; // the first word
/// assert!(0 < progress.total_tokens());
/// assert_eq!(progress.done_tokens(), progress.total_tokens());
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct PrefillProgress {
    counts: Arc<PrefillCounts>,
}

#[derive(Debug, Default)]
struct PrefillCounts {
    done: AtomicUsize,
    total: AtomicUsize,
    done_images: AtomicUsize,
    total_images: AtomicUsize,
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

    /// Tokens of the prompt; 0 until the prompt is prepared. With function calls, tokens of the current round.
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

    /// Images and recordings of the prompt that are done. The tiles of a large picture, and the smaller copy of the whole after them, count one
    /// by one.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// let reply = conversation.generate_response(causerie::ChatMessage::user("Hi"), Default::default());
    /// assert_eq!(reply.prefill_progress().done_images(), 0);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn done_images(&self) -> usize {
        self.counts.done_images.load(Ordering::Relaxed)
    }

    /// Images and recordings of the prompt, counted in the same way; 0 until the prompt is prepared. While it is above
    /// [`done_images`](Self::done_images), the next image is computed or text before it is prefilled.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// let reply = conversation.generate_response(causerie::ChatMessage::user("Hi"), Default::default());
    /// assert_eq!(reply.prefill_progress().total_images(), 0);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn total_images(&self) -> usize {
        self.counts.total_images.load(Ordering::Relaxed)
    }

    /// Sets how many positions of a prompt are done.
    pub(super) fn set(&self, n_done: usize, prompt: &[Position]) {
        let images = prompt.iter().enumerate().filter(|(_, it)| matches!(it, Position::Embedded { row: 0, .. }));
        self.counts.total_images.store(images.clone().count(), Ordering::Relaxed);
        self.counts.done_images.store(images.take_while(|(at, _)| *at < n_done).count(), Ordering::Relaxed);
        self.counts.total.store(prompt.len(), Ordering::Relaxed);
        self.counts.done.store(n_done, Ordering::Relaxed);
    }
}
