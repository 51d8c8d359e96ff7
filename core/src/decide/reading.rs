//! Has the engine compute what follows prompts: several prompts together, as many as a step of the engine can take.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::decide::beside::WantedModel;
use crate::engine::{PromptJob, ReplyOwner, ResponseStream};
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::Inputs;
use crate::options::GenerationOptions;
use crate::position::tokens;
use crate::response::{GenerationStats, MessageResponse};
use crate::runner::ModelRunner;

/// Prompts that the engine has at a time. A step takes 128 positions, and a question has some fifty.
const AT_A_TIME: usize = 16;

/// A prompt that is to be read.
pub(super) struct ReadingJob {
    /// Prompts of a stage wait for all prompts of earlier stages, whose states they continue.
    pub(super) stage: u8,
    pub(super) job: PromptJob,
}

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

/// Reads all prompts, whose results are returned in their order. Dropping the future cancels what is under way.
pub(super) async fn read_all(runner: &ModelRunner, jobs: Vec<ReadingJob>) -> Result<Vec<PromptLogprobs>> {
    let mut results: Vec<Option<PromptLogprobs>> = jobs.iter().map(|_| None).collect();
    let mut waiting: Vec<(usize, ReadingJob)> = jobs.into_iter().enumerate().collect();
    waiting.sort_by_key(|(_, job)| job.stage);
    let mut waiting = waiting.into_iter().peekable();
    let mut pending: Vec<PendingReading> = Vec::new();
    let mut stage = 0;
    poll_fn(|ctx| {
        loop {
            while pending.len() < AT_A_TIME
                && let Some((at, next)) = waiting.next_if(|(_, next)| next.stage == stage || pending.is_empty())
            {
                stage = next.stage;
                pending.push(PendingReading::new(runner, at, next.job));
            }
            if pending.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let n_pending = pending.len();
            for mut reading in std::mem::take(&mut pending) {
                match reading.poll(ctx) {
                    Poll::Pending => pending.push(reading),
                    Poll::Ready(Ok(read)) => results[reading.at] = Some(read),
                    Poll::Ready(Err(err)) => return Poll::Ready(Err(err)),
                }
            }
            if pending.len() == n_pending {
                return Poll::Pending;
            }
        }
    })
    .await?;
    Ok(results.into_iter().flatten().collect())
}

/// Reads all prompts one by one, each in one step of a model that attends to both sides.
///
/// # Errors
/// Errors of `model`, of the prompts and of the model.
pub(super) fn read_whole(model: WantedModel<'_>, jobs: Vec<ReadingJob>) -> Result<Vec<PromptLogprobs>> {
    let mut logits = Vec::new();
    let read = jobs.into_iter().map(|ReadingJob { job, .. }| {
        let loaded = model()?;
        let whole = loaded.whole.as_ref().ok_or_else(unread)?;
        let prepared = job(&loaded)?;
        if !prepared.embedded.is_empty() {
            let message = "images are not supported with decision models of this type";
            return Err(SdkError::new(ErrorKind::UnsupportedContent, message));
        }
        let ids: Vec<u32> = tokens(&prepared.positions).collect();
        whole.forward_alone(Inputs::Tokens(&ids), &mut logits)?;
        let wanted = prepared.reading.map(|reading| reading.ids).unwrap_or_default();
        let logprobs = logprobs_of(&logits, &wanted).ok_or_else(|| {
            SdkError::new(
                ErrorKind::Generation,
                "the model gave values that are not finite: its weights may be damaged",
            )
        })?;
        Ok(PromptLogprobs { logprobs, n_positions: ids.len(), n_cached: 0 })
    });
    read.collect()
}

/// The log-probabilities of some tokens; `None` if the logits are not finite.
fn logprobs_of(logits: &[f32], ids: &[u32]) -> Option<Vec<f64>> {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - most).exp()).sum();
    let total = f64::from(most) + sum.ln();
    let logprob = |id: &u32| logits.get(*id as usize).map(|logit| f64::from(*logit) - total);
    ids.iter().map(logprob).collect::<Option<Vec<f64>>>().filter(|_| total.is_finite())
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
pub(super) fn unread() -> SdkError {
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
