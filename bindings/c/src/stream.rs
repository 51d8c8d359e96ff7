//! The stream of a reply.

use std::sync::atomic::{AtomicBool, Ordering};

use causerie::{CancelHandle, FunctionError, FunctionOutcome, MessageResponse, ResponseStream, read_json};
use parking_lot::Mutex;

use crate::border::{Out, Text};
use crate::fault::Fault;
use crate::handles::Handle;
use crate::message::UnsentMessage;

/// A reply that C pulls.
pub(crate) struct Reply {
    stream: Mutex<ResponseStream>,
    /// The answers to the calls of the last `RunFunctions`, in their order.
    answers: Mutex<Vec<Option<FunctionOutcome>>>,
    cancel: CancelHandle,
    is_cancelled: AtomicBool,
}

impl Reply {
    pub(crate) fn new(stream: ResponseStream) -> Self {
        let cancel = stream.cancel_handle();
        Self { stream: Mutex::new(stream), answers: Mutex::default(), cancel, is_cancelled: AtomicBool::new(false) }
    }

    fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Release);
        self.cancel.cancel();
    }

    fn answer(&self, index: usize, outcome: FunctionOutcome) -> Result<(), Fault> {
        let mut answers = self.answers.lock();
        let n_calls = answers.len();
        let wrong = || Fault::argument(format!("index must be below the {n_calls} calls to answer, found {index}"));
        *answers.get_mut(index).ok_or_else(wrong)? = Some(outcome);
        Ok(())
    }

    /// The next event; `None` after the last one.
    fn next(&self) -> Result<Option<MessageResponse>, Fault> {
        let mut stream = self.stream.lock();
        let mut answers = self.answers.lock();
        if self.is_cancelled.load(Ordering::Acquire) {
            answers.clear(); // a reply that was cancelled ends without answers
        }
        if let Some(missing) = answers.iter().position(Option::is_none) {
            return Err(Fault::argument(format!("call {missing} must be answered before the next event")));
        }
        if !answers.is_empty() {
            stream.answer(answers.drain(..).flatten().collect());
        }
        drop(answers); // so that nothing waits for this lock while the model computes
        let event = stream.iter().next().transpose()?;
        if let Some(MessageResponse::RunFunctions(calls)) = &event {
            *self.answers.lock() = vec![None; calls.len()];
        }
        Ok(event)
    }
}

exports! {
    fn causerie_stream_next(stream: Handle<Reply>, event: Out<Handle<MessageResponse>>) {
        event.check("event")?;
        let next = stream.get("stream")?.next()?;
        event.write(next.map_or(Handle::NULL, Handle::new), "event")?;
    }

    fn causerie_stream_answer(stream: Handle<Reply>, index: usize, outcome: i32, text: Text) {
        let reply = stream.get("stream")?;
        let outcome = match outcome {
            0 => FunctionOutcome::Returned(text.read("text")?.into()),
            1 => {
                let value = read_json(text.read("text")?).ok_or_else(|| Fault::argument("text must be valid JSON"))?;
                FunctionOutcome::Returned(value)
            }
            2 => FunctionOutcome::Failed(FunctionError::new(text.read("text")?.to_owned())),
            3 => FunctionOutcome::TimedOut,
            _ => return Err(Fault::argument(format!("outcome must be a value of causerie_outcome, found {outcome}"))),
        };
        reply.answer(index, outcome)?;
    }

    fn causerie_stream_answer_message(stream: Handle<Reply>, index: usize, message: Handle<UnsentMessage>) {
        let content = message.get("message")?.lock().content.clone();
        stream.get("stream")?.answer(index, FunctionOutcome::Content(content))?;
    }

    fn causerie_stream_cancel(stream: Handle<Reply>) {
        stream.get("stream")?.cancel();
    }

    fn causerie_stream_free(stream: Handle<Reply>) {
        // Another thread may be waiting for an event: it must not wait for the whole reply.
        if let Some(reply) = stream.free("stream")? {
            reply.cancel();
        }
    }
}
