//! Whose turn it is: the history, the replies that were asked for, and what each of them leaves.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::engine::ReplyNews;
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::ChatMessage;
use crate::options::{GenerationOptions, OnBusy, OnCancel};

/// What all handles of a conversation share.
pub(super) struct Turns {
    state: Mutex<State>,
    /// Signalled when a turn has left the line.
    left: Condvar,
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
    on_cancel: OnCancel,
    /// Messages of the history before this turn, once it has begun.
    n_before: Option<usize>,
    /// Whether its calls are answered along the way.
    has_rounds: bool,
    /// Whether more replies may belong to it, so that it does not end with the one that is written.
    is_held: bool,
    /// Whether a reply of it is being written, or waits for that.
    is_replying: bool,
    /// What calls without results are answered with, should a turn with rounds end before they are.
    closing: Vec<ChatMessage>,
}

impl Turns {
    pub(super) fn new(history: Vec<ChatMessage>) -> Self {
        let state = State { history, turns: VecDeque::new(), reply: None, next_id: 0 };
        Self { state: Mutex::new(state), left: Condvar::new() }
    }

    pub(super) fn history(&self) -> Vec<ChatMessage> {
        let state = self.lock();
        state.history.iter().chain(&state.reply).cloned().collect()
    }

    pub(super) fn is_generating(&self) -> bool {
        !self.lock().turns.is_empty()
    }

    /// Changes the history between turns. Replies that are cancelled are waited for: they end with the step of the model that
    /// is under way.
    pub(super) fn edit<T>(&self, edit: impl FnOnce(&mut Vec<ChatMessage>) -> T) -> Result<T> {
        let mut state = self.lock();
        loop {
            state.close_abandoned(None);
            if state.turns.is_empty() {
                return Ok(edit(&mut state.history));
            }
            if !state.turns.iter().all(Turn::is_cancelled) {
                return Err(busy());
            }
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes a place in the line, for one reply or for several. Behind replies that are cancelled there is always one.
    pub(super) fn ask(&self, options: &GenerationOptions, cancelled: Arc<AtomicBool>, has_rounds: bool) -> Result<u64> {
        let mut state = self.lock();
        let is_busy = state.turns.iter().any(|turn| !turn.is_cancelled());
        if is_busy && options.on_busy == OnBusy::Error {
            return Err(busy());
        }
        let id = state.next_id;
        state.next_id += 1;
        state.turns.push_back(Turn {
            id,
            cancelled,
            on_cancel: options.on_cancel,
            n_before: None,
            has_rounds,
            is_held: has_rounds,
            is_replying: !has_rounds,
            closing: Vec::new(),
        });
        Ok(id)
    }

    /// Leaves the line.
    pub(super) fn withdraw(&self, id: u64) {
        self.lock().turns.retain(|turn| turn.id != id);
        self.left.notify_all();
    }

    /// A reply of a turn that is held is about to be queued.
    pub(super) fn resume(&self, id: u64) {
        self.lock().with(id, |turn, _| turn.is_replying = true);
    }

    /// Adds a message between the replies of a turn.
    pub(super) fn add(&self, id: u64, message: ChatMessage) {
        self.lock().with(id, |_, history| history.push(message));
    }

    /// What a turn is to be closed with, should it end now.
    pub(super) fn close_with(&self, id: u64, closing: Vec<ChatMessage>) {
        self.lock().with(id, |turn, _| turn.closing = closing);
    }

    /// Between its replies, a turn is given up.
    pub(super) fn close(&self, id: u64) {
        self.lock().with(id, Turn::close);
    }

    /// A turn is given up whose reply may be over, and calls of it open.
    pub(super) fn give_up(&self, id: u64) {
        let mut state = self.lock();
        state.with(id, Turn::close_calls);
        state.let_go(id); // under the same lock: the reply may end meanwhile
        self.left.notify_all();
    }

    /// A turn that was held ends with the reply that is being written, or now.
    pub(super) fn let_go(&self, id: u64) {
        self.lock().let_go(id);
        self.left.notify_all();
    }

    /// The history when it is this one's turn, else `None`.
    pub(super) fn begin(&self, id: u64) -> Option<Vec<ChatMessage>> {
        let mut state = self.lock();
        state.close_abandoned(Some(id));
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
    pub(super) fn hear(&self, id: u64, news: ReplyNews<'_>) {
        let mut state = self.lock();
        match news {
            ReplyNews::Called(reply) => state.reply = Some(reply.clone()),
            ReplyNews::Ended(reply) => {
                let State { history, turns, reply: so_far, .. } = &mut *state;
                let Some(at) = turns.iter().position(|turn| turn.id == id) else { return };
                let turn = &mut turns[at];
                turn.is_replying = false;
                // A turn that has not begun leaves no trace.
                if turn.n_before.is_some() {
                    *so_far = None;
                    turn.leave(history, reply);
                }
                if !turn.is_held {
                    turns.remove(at);
                }
                self.left.notify_all();
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

    /// Closes turns that were cancelled between their replies, which may have nobody to end them; not the one that asks.
    fn close_abandoned(&mut self, asking: Option<u64>) {
        let Self { history, turns, .. } = self;
        turns.retain_mut(|turn| {
            let stays = Some(turn.id) == asking || turn.is_replying || !turn.is_held || !turn.is_cancelled();
            if !stays {
                turn.close_calls(history);
            }
            stays
        });
    }

    fn let_go(&mut self, id: u64) {
        self.with(id, |turn, _| turn.is_held = false);
        self.turns.retain(|turn| turn.id != id || turn.is_replying);
    }
}

impl Turn {
    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// What a reply leaves in the history; `None` after an error.
    fn leave(&mut self, history: &mut Vec<ChatMessage>, reply: Option<&ChatMessage>) {
        let Some(reply) = reply else { return };
        let is_nothing = reply.content.is_empty()
            && reply.function_calls.is_none()
            && reply.rejected_calls.is_empty()
            && reply.reasoning_content.is_none();
        match self.on_cancel {
            OnCancel::DropTurn if reply.incomplete => return self.undo(history),
            OnCancel::DropPartial if reply.incomplete => return,
            _ if reply.incomplete && is_nothing => return,
            _ => history.push(reply.clone()),
        }
        if self.has_rounds {
            let calls = reply.function_calls.iter().flatten();
            self.closing = calls.map(|call| unanswered(&call.call_id)).collect();
            // Nobody reads on, or the rounds end with a reply that was interrupted.
            if !self.is_held || reply.incomplete {
                self.close_calls(history);
            }
        }
    }

    fn close_calls(&mut self, history: &mut Vec<ChatMessage>) {
        if !self.closing.is_empty() {
            self.close(history);
        }
    }

    /// Calls are not left without results, which models would wonder about.
    fn close(&mut self, history: &mut Vec<ChatMessage>) {
        match self.on_cancel {
            OnCancel::DropTurn => self.undo(history),
            OnCancel::KeepPartial | OnCancel::DropPartial => history.append(&mut self.closing),
        }
    }

    /// Takes back all that the turn has added.
    fn undo(&mut self, history: &mut Vec<ChatMessage>) {
        history.truncate(self.n_before.unwrap_or(usize::MAX));
        self.closing.clear();
    }
}

/// The result of a call that was given up.
pub(super) fn unanswered(call_id: &str) -> ChatMessage {
    ChatMessage { tool_call_id: Some(call_id.to_owned()), ..ChatMessage::tool(r#"{"error": "cancelled"}"#) }
}

fn busy() -> SdkError {
    SdkError::new(ErrorKind::Busy, "the conversation is generating a reply")
}
