//! Has the engine compute what follows prompts: several prompts together, as many as a step of the engine can take.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::engine::{PromptJob, ReplyOwner, ResponseStream};
use crate::error::{ErrorKind, Result, SdkError};
use crate::options::GenerationOptions;
use crate::response::{GenerationStats, MessageResponse};
use crate::runner::ModelRunner;

/// Prompts that the engine has at a time. A step takes 128 positions, and a question has some fifty.
const AT_A_TIME: usize = 16;

/// What was read after a prompt.
#[derive(Clone, Debug)]
pub(super) struct PromptLogprobs {
    pub(super) logprobs: Vec<f64>,
    pub(super) n_positions: usize,
    pub(super) n_cached: usize,
}

/// A prompt that is being read.
struct PendingReading {
    at: usize,
    stream: ResponseStream,
    logprobs: Arc<OnceLock<Vec<f64>>>,
}

/// Reads all prompts, whose results are returned in their order. The first is read alone: it leaves the state that the others continue.
/// Dropping the future cancels what is under way.
pub(super) async fn read_all(runner: &ModelRunner, jobs: Vec<PromptJob>) -> Result<Vec<PromptLogprobs>> {
    let mut results: Vec<Option<PromptLogprobs>> = jobs.iter().map(|_| None).collect();
    let mut waiting: VecDeque<(usize, PromptJob)> = jobs.into_iter().enumerate().collect();
    let mut pending: Vec<PendingReading> = Vec::new();
    let mut is_first = true;
    poll_fn(|ctx| {
        loop {
            let limit = if is_first { 1 } else { AT_A_TIME };
            while pending.len() < limit
                && let Some((at, job)) = waiting.pop_front()
            {
                pending.push(PendingReading::new(runner, at, job));
            }
            let mut has_ended = false;
            let mut kept = Vec::new();
            for mut reading in pending.drain(..) {
                match reading.poll(ctx) {
                    Poll::Pending => kept.push(reading),
                    Poll::Ready(Ok(read)) => {
                        results[reading.at] = Some(read);
                        has_ended = true;
                    }
                    Poll::Ready(Err(err)) => return Poll::Ready(Err(err)),
                }
            }
            pending = kept;
            if pending.is_empty() && waiting.is_empty() {
                return Poll::Ready(Ok(()));
            }
            if !has_ended {
                return Poll::Pending;
            }
            is_first = false;
        }
    })
    .await?;
    Ok(results.into_iter().flatten().collect())
}

impl PendingReading {
    fn new(runner: &ModelRunner, at: usize, job: PromptJob) -> Self {
        let logprobs = Arc::default();
        let owner = Box::new(ReadingOwner { job: Some(job), logprobs: Arc::clone(&logprobs) });
        let runner = runner.clone();
        let stream = ResponseStream::new(move |sender| runner.submit(owner, GenerationOptions::default(), sender));
        Self { at, stream, logprobs }
    }

    fn poll(&mut self, ctx: &mut Context<'_>) -> Poll<Result<PromptLogprobs>> {
        loop {
            match Pin::new(&mut self.stream).poll_next(ctx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(MessageResponse::Complete(completion)))) => {
                    return Poll::Ready(self.result(&completion.stats));
                }
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(err))) => return Poll::Ready(Err(err)),
                Poll::Ready(None) => return Poll::Ready(Err(unread())),
            }
        }
    }

    fn result(&self, stats: &GenerationStats) -> Result<PromptLogprobs> {
        let logprobs = self.logprobs.get().cloned().ok_or_else(unread)?;
        Ok(PromptLogprobs { logprobs, n_positions: stats.prompt_tokens, n_cached: stats.cached_prompt_tokens })
    }
}

/// The model was unloaded meanwhile, which ends a reply, but leaves nothing to read.
fn unread() -> SdkError {
    SdkError::new(ErrorKind::ModelUnloaded, "the model was unloaded")
}

struct ReadingOwner {
    job: Option<PromptJob>,
    logprobs: Arc<OnceLock<Vec<f64>>>,
}

impl ReplyOwner for ReadingOwner {
    fn turn(&mut self) -> Option<PromptJob> {
        self.job.take()
    }

    fn read(&mut self, logprobs: Vec<f64>) {
        let _ = self.logprobs.set(logprobs); // a prompt is read once
    }
}
