//! The request queue of a conversation: its history, the requests for replies in order, and what each leaves in the history.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::engine::{CancelHandle, is_engine_thread};
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::options::{GenerationOptions, OnBusy, OnCancel};
use crate::voice::PlayedSound;

/// The state that all handles of a conversation share.
pub(super) struct RequestQueue {
    state: Mutex<QueueState>,
    /// Signalled when a request has left the queue.
    left: Condvar,
}

struct QueueState {
    history: Vec<ChatMessage>,
    /// Requests in the order in which they were made. Only the first one is being answered.
    requests: VecDeque<QueuedRequest>,
    /// The current reply of the first request, from its first calls on.
    reply: Option<ChatMessage>,
    next_id: u64,
    /// The error with which the next request is refused.
    refusal: Option<SdkError>,
}

/// A request: one reply, or several replies with function calls between them (rounds).
struct QueuedRequest {
    id: u64,
    cancel: CancelHandle,
    /// How much of the sound of its replies was played, if the listener has interrupted it.
    played_until: Option<Duration>,
    on_cancel: OnCancel,
    /// Number of messages in the history before this request, once it has begun.
    n_before: Option<usize>,
    /// Whether its calls are answered within the request.
    has_rounds: bool,
    /// Whether more replies may follow, so that the request does not end with the current one.
    is_held: bool,
    /// Whether a reply is being generated, or is queued in the engine.
    is_replying: bool,
    /// Whether the next reply continues the last message of the history.
    extends_last: bool,
    /// Messages that answer the open calls if a request with rounds ends now.
    closing: Vec<ChatMessage>,
}

impl RequestQueue {
    pub(super) fn new(history: Vec<ChatMessage>) -> Self {
        let state = QueueState { history, requests: VecDeque::new(), reply: None, next_id: 0, refusal: None };
        Self { state: Mutex::new(state), left: Condvar::new() }
    }

    pub(super) fn history(&self) -> Vec<ChatMessage> {
        let state = self.settled();
        let mut history = state.history.clone();
        if let Some(reply) = &state.reply {
            add_reply(&mut history, reply, state.requests.front().is_some_and(|request| request.extends_last));
        }
        history
    }

    pub(super) fn is_generating(&self) -> bool {
        !self.state.lock().requests.is_empty()
    }

    /// The state once cancelled replies have ended, as they do with the running step of the model. Waits for no other replies, and
    /// for none on the thread that would end it.
    fn settled(&self) -> MutexGuard<'_, QueueState> {
        let mut state = self.state.lock();
        loop {
            state.close_abandoned(None);
            let is_settled = state.requests.is_empty() || !state.requests.iter().all(QueuedRequest::is_cancelled);
            if is_settled || is_engine_thread() {
                return state;
            }
            self.left.wait(&mut state);
        }
    }

    /// Changes the history between requests.
    pub(super) fn edit<T>(&self, edit: impl FnOnce(&mut Vec<ChatMessage>) -> T) -> Result<T> {
        let mut state = self.settled();
        if state.requests.is_empty() { Ok(edit(&mut state.history)) } else { Err(busy()) }
    }

    /// Cancels the reply under way and cuts it to the sound that was played; if there is none, cuts the last one.
    pub(super) fn interrupt(&self, played_until: Duration) {
        let mut state = self.state.lock();
        state.close_abandoned(None);
        let QueueState { history, requests, .. } = &mut *state;
        let mut played = PlayedSound::new(played_until);
        let Some(request) = requests.front_mut() else {
            let is_question = |message: &ChatMessage| message.role == Role::User;
            let n_before = history.iter().rposition(is_question).map_or(0, |last| last + 1);
            return played.cut_from(history, n_before);
        };
        match request.n_before {
            // Its replies are in the history, and functions run.
            Some(n_before) if !request.is_replying => played.cut_from(history, n_before),
            _ => request.played_until = Some(played_until),
        }
        let cancel = request.cancel.clone();
        drop(state); // what the cancel wakes may ask for the history
        cancel.cancel();
    }

    /// Refuses the next request with an error.
    pub(super) fn refuse_next(&self, err: SdkError) {
        self.state.lock().refusal = Some(err);
    }

    /// Adds a request and returns its id. After requests that are all cancelled it is never refused.
    pub(super) fn enqueue(&self, options: &GenerationOptions, cancel: CancelHandle, has_rounds: bool) -> Result<u64> {
        let mut state = self.state.lock();
        if let Some(err) = state.refusal.take() {
            return Err(err);
        }
        let is_busy = state.requests.iter().any(|request| !request.is_cancelled());
        let replaced: Vec<CancelHandle> = match options.on_busy {
            OnBusy::Error if is_busy => return Err(busy()),
            OnBusy::Replace => state.requests.iter().map(|request| request.cancel.clone()).collect(),
            OnBusy::Error | OnBusy::Queue => Vec::new(),
        };
        let id = state.next_id;
        state.next_id += 1;
        state.requests.push_back(QueuedRequest {
            id,
            cancel,
            played_until: None,
            on_cancel: options.on_cancel,
            n_before: None,
            has_rounds,
            is_held: has_rounds,
            is_replying: !has_rounds,
            extends_last: options.continue_final_message,
            closing: Vec::new(),
        });
        drop(state); // what a cancel wakes may ask for the history
        replaced.iter().for_each(CancelHandle::cancel);
        Ok(id)
    }

    /// Removes a request that the engine refused.
    pub(super) fn withdraw(&self, id: u64) {
        self.state.lock().requests.retain(|request| request.id != id);
        self.left.notify_all();
    }

    /// Notes that the next reply of a held request is about to be queued in the engine.
    pub(super) fn resume(&self, id: u64) {
        self.state.lock().with(id, |request, _| request.is_replying = true);
    }

    /// Adds a message between two replies of a request.
    pub(super) fn add(&self, id: u64, message: ChatMessage) {
        self.state.lock().with(id, |_, history| history.push(message));
    }

    /// Sets the messages that answer the open calls if the request ends now.
    pub(super) fn close_with(&self, id: u64, closing: Vec<ChatMessage>) {
        self.state.lock().with(id, |request, _| request.closing = closing);
    }

    /// Gives up a request between two of its replies.
    pub(super) fn close(&self, id: u64) {
        self.state.lock().with(id, QueuedRequest::close);
    }

    /// Gives up a request whose reply may have ended already, with open calls.
    pub(super) fn give_up(&self, id: u64) {
        let mut state = self.state.lock();
        state.with(id, QueuedRequest::close_calls);
        state.release(id); // under the same lock, since the reply may end at any moment
        self.left.notify_all();
    }

    /// Ends a held request with its current reply, or now if it has none.
    pub(super) fn release(&self, id: u64) {
        self.state.lock().release(id);
        self.left.notify_all();
    }

    /// The history if the request is the first one, else `None`. The request may change the history before.
    pub(super) fn begin(&self, id: u64, change: impl FnOnce(&mut Vec<ChatMessage>)) -> Option<Vec<ChatMessage>> {
        let mut state = self.state.lock();
        state.close_abandoned(Some(id));
        (state.requests.front()?.id == id).then(|| {
            change(&mut state.history);
            state.history.clone()
        })
    }

    /// Notes that the request has begun, and adds its messages to the history.
    pub(super) fn commit(&self, id: u64, messages: Vec<ChatMessage>) {
        let mut state = self.state.lock();
        let n_before = state.history.len();
        state.history.extend(messages);
        if let Some(request) = state.requests.iter_mut().find(|request| request.id == id) {
            request.n_before.get_or_insert(n_before);
        }
    }

    /// Keeps the reply so far, which has made calls.
    pub(super) fn note_reply(&self, reply: ChatMessage) {
        self.state.lock().reply = Some(reply);
    }

    /// Takes the end of a reply of this request.
    pub(super) fn end_reply(&self, id: u64, reply: Option<&mut ChatMessage>) {
        let mut state = self.state.lock();
        let QueueState { history, requests, reply: so_far, .. } = &mut *state;
        let Some(at) = requests.iter().position(|request| request.id == id) else { return };
        let request = &mut requests[at];
        request.is_replying = false;
        // A request that has not begun leaves no trace.
        if request.n_before.is_some() {
            *so_far = None;
            request.add_reply(history, reply);
        }
        if !request.is_held {
            requests.remove(at);
        }
        self.left.notify_all();
    }
}

impl QueueState {
    /// Calls `act` with a request and the history, if the request is still in the queue.
    fn with(&mut self, id: u64, act: impl FnOnce(&mut QueuedRequest, &mut Vec<ChatMessage>)) {
        if let Some(request) = self.requests.iter_mut().find(|request| request.id == id) {
            act(request, &mut self.history);
        }
    }

    /// Closes requests that were cancelled between two replies, except `asking`: nobody else may be there to end them.
    fn close_abandoned(&mut self, asking: Option<u64>) {
        let Self { history, requests, .. } = self;
        requests.retain_mut(|request| {
            let stays =
                Some(request.id) == asking || request.is_replying || !request.is_held || !request.is_cancelled();
            if !stays {
                request.close_calls(history);
            }
            stays
        });
    }

    fn release(&mut self, id: u64) {
        self.with(id, |request, _| request.is_held = false);
        self.requests.retain(|request| request.id != id || request.is_replying);
    }
}

impl QueuedRequest {
    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled(None)
    }

    /// Adds what remains of a reply to the history; `reply` is `None` after an error.
    fn add_reply(&mut self, history: &mut Vec<ChatMessage>, reply: Option<&mut ChatMessage>) {
        let Some(reply) = reply else { return };
        if let (Some(played_until), Some(n_before)) = (self.played_until, self.n_before) {
            let mut played = PlayedSound::new(played_until);
            played.cut_from(history, n_before);
            played.cut(reply);
            self.on_cancel = OnCancel::KeepPartial; // the listener has heard it
        }
        self.keep_reply(history, reply);
    }

    fn keep_reply(&mut self, history: &mut Vec<ChatMessage>, reply: &ChatMessage) {
        let is_empty = reply.content.is_empty()
            && reply.function_calls.is_none()
            && reply.rejected_calls.is_empty()
            && reply.reasoning_content.is_none();
        match self.on_cancel {
            OnCancel::DropTurn if reply.incomplete => return self.undo(history),
            OnCancel::DropPartial if reply.incomplete => return,
            _ if reply.incomplete && is_empty => return,
            _ => add_reply(history, reply, std::mem::take(&mut self.extends_last)),
        }
        if self.has_rounds {
            let calls = reply.function_calls.iter().flatten();
            self.closing = calls.map(|call| cancelled_result(&call.call_id)).collect();
            // The reader has gone, or the rounds end with an interrupted reply.
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

    /// Answers open calls, because a call without a result confuses models.
    fn close(&mut self, history: &mut Vec<ChatMessage>) {
        match self.on_cancel {
            OnCancel::DropTurn => self.undo(history),
            OnCancel::KeepPartial | OnCancel::DropPartial => history.append(&mut self.closing),
        }
    }

    /// Removes all messages that the request has added.
    fn undo(&mut self, history: &mut Vec<ChatMessage>) {
        history.truncate(self.n_before.unwrap_or(usize::MAX));
        self.closing.clear();
    }
}

/// Adds a reply to a history, as a message of its own or as the end of the last message.
fn add_reply(history: &mut Vec<ChatMessage>, reply: &ChatMessage, extends_last: bool) {
    let Some(last) = history.last_mut().filter(|last| extends_last && last.role == Role::Assistant) else {
        return history.push(reply.clone());
    };
    match last.content.last_mut() {
        Some(ChatMessageContent::Text(text)) => text.push_str(&reply.text()),
        _ => last.content.extend(reply.content.iter().cloned()),
    }
    if let Some(reasoning) = &reply.reasoning_content {
        last.reasoning_content.get_or_insert_default().push_str(reasoning);
    }
    last.function_calls.clone_from(&reply.function_calls);
    last.rejected_calls.extend(reply.rejected_calls.iter().cloned());
    last.incomplete = reply.incomplete;
}

/// The result of a call that was cancelled.
pub(super) fn cancelled_result(call_id: &str) -> ChatMessage {
    ChatMessage { tool_call_id: Some(call_id.to_owned()), ..ChatMessage::tool(r#"{"error": "cancelled"}"#) }
}

fn busy() -> SdkError {
    SdkError::new(ErrorKind::Busy, "the conversation is generating a reply")
}
