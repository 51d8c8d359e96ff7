//! Whose turn it is: the history, the replies that were asked for, and what each of them leaves.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::ReplyNews;
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::ChatMessage;
use crate::options::{OnBusy, OnCancel};

/// What all handles of a conversation share.
pub(super) struct Turns {
    state: Mutex<State>,
}

struct State {
    history: Vec<ChatMessage>,
    /// Replies in the order in which they were asked for. Only the first one is being written.
    turns: VecDeque<Turn>,
    /// The first one's reply so far, from its first calls on.
    reply: Option<ChatMessage>,
    next_id: u64,
}

struct Turn {
    id: u64,
    cancelled: Arc<AtomicBool>,
    /// Messages of the history before this turn, once it has begun.
    n_before: Option<usize>,
    /// Whether more replies may belong to it, so that it does not end with the one that is written.
    is_held: bool,
    /// Whether a reply of it is being written, or waits for that.
    is_replying: bool,
}

impl Turns {
    pub(super) fn new(history: Vec<ChatMessage>) -> Self {
        Self { state: Mutex::new(State { history, turns: VecDeque::new(), reply: None, next_id: 0 }) }
    }

    pub(super) fn history(&self) -> Vec<ChatMessage> {
        let state = self.lock();
        state.history.iter().chain(&state.reply).cloned().collect()
    }

    pub(super) fn is_generating(&self) -> bool {
        !self.lock().turns.is_empty()
    }

    /// Changes the history between turns.
    pub(super) fn edit<T>(&self, edit: impl FnOnce(&mut Vec<ChatMessage>) -> T) -> Result<T> {
        let mut state = self.lock();
        if state.turns.is_empty() { Ok(edit(&mut state.history)) } else { Err(busy()) }
    }

    /// Takes a place in the line, for one reply or for several. Behind replies that are cancelled there is always one.
    pub(super) fn ask(&self, on_busy: OnBusy, cancelled: Arc<AtomicBool>, is_held: bool) -> Result<u64> {
        let mut state = self.lock();
        let is_busy = state.turns.iter().any(|turn| !turn.cancelled.load(Ordering::Relaxed));
        if is_busy && on_busy == OnBusy::Error {
            return Err(busy());
        }
        let id = state.next_id;
        state.next_id += 1;
        state.turns.push_back(Turn { id, cancelled, n_before: None, is_held, is_replying: !is_held });
        Ok(id)
    }

    /// Leaves the line.
    pub(super) fn withdraw(&self, id: u64) {
        self.lock().turns.retain(|turn| turn.id != id);
    }

    /// A reply of a turn that is held is about to be queued.
    pub(super) fn resume(&self, id: u64) {
        self.lock().with(id, |turn, _| turn.is_replying = true);
    }

    /// Adds messages between the replies of a turn.
    pub(super) fn add(&self, id: u64, messages: impl IntoIterator<Item = ChatMessage>) {
        self.lock().with(id, |_, history| history.extend(messages));
    }

    /// Takes back all that a turn has added.
    pub(super) fn undo(&self, id: u64) {
        self.lock().with(id, |turn, history| history.truncate(turn.n_before.unwrap_or(usize::MAX)));
    }

    /// A turn that was held ends with the reply that is being written, or now.
    pub(super) fn let_go(&self, id: u64) {
        let mut state = self.lock();
        state.with(id, |turn, _| turn.is_held = false);
        state.turns.retain(|turn| turn.id != id || turn.is_replying);
    }

    /// The history when it is this one's turn, else `None`.
    pub(super) fn begin(&self, id: u64) -> Option<Vec<ChatMessage>> {
        let mut state = self.lock();
        // One that was cancelled between its replies may have nobody to end it.
        state.turns.retain(|turn| {
            turn.id == id || turn.is_replying || !turn.is_held || !turn.cancelled.load(Ordering::Relaxed)
        });
        (state.turns.front()?.id == id).then(|| state.history.clone())
    }

    /// The turn has begun, with these messages.
    pub(super) fn commit(&self, id: u64, messages: impl Iterator<Item = ChatMessage>) {
        let mut state = self.lock();
        let n_before = state.history.len();
        state.history.extend(messages);
        if let Some(turn) = state.turns.iter_mut().find(|turn| turn.id == id) {
            turn.n_before.get_or_insert(n_before);
        }
    }

    /// Hears of a reply.
    pub(super) fn hear(&self, id: u64, news: ReplyNews<'_>, on_cancel: OnCancel) {
        let mut state = self.lock();
        match news {
            ReplyNews::Called(reply) => state.reply = Some(reply.clone()),
            ReplyNews::Ended(reply) => {
                let Some(at) = state.turns.iter().position(|turn| turn.id == id) else { return };
                let turn = &mut state.turns[at];
                turn.is_replying = false;
                let (n_before, is_held) = (turn.n_before, turn.is_held);
                if !is_held {
                    state.turns.remove(at);
                }
                // A turn that has not begun leaves no trace.
                if let Some(n_before) = n_before {
                    state.reply = None;
                    leave(&mut state.history, n_before, reply, on_cancel);
                }
            }
        }
    }

    /// The state; a panic elsewhere cannot leave it half changed, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Does something with a turn that is still in the line.
    fn with(&mut self, id: u64, act: impl FnOnce(&mut Turn, &mut Vec<ChatMessage>)) {
        if let Some(turn) = self.turns.iter_mut().find(|turn| turn.id == id) {
            act(turn, &mut self.history);
        }
    }
}

/// What a reply leaves in the history; `None` after an error.
fn leave(history: &mut Vec<ChatMessage>, n_before: usize, reply: Option<&ChatMessage>, on_cancel: OnCancel) {
    let Some(reply) = reply else { return };
    let is_nothing = reply.content.is_empty()
        && reply.function_calls.is_none()
        && reply.rejected_calls.is_empty()
        && reply.reasoning_content.is_none();
    match on_cancel {
        OnCancel::DropTurn if reply.incomplete => history.truncate(n_before),
        OnCancel::DropPartial if reply.incomplete => {}
        _ if reply.incomplete && is_nothing => {}
        _ => history.push(reply.clone()),
    }
}

fn busy() -> SdkError {
    SdkError::new(ErrorKind::Busy, "the conversation is generating a reply")
}
