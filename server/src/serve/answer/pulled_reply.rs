//! A reply as it is pulled. Its tokens are counted even if its client does not wait for the end.

use std::sync::Arc;

use causerie::{MessageResponse, ResponseStream};
use tokio::runtime::Handle;

use crate::serve::answer::{PendingReply, ReplyEvent};
use crate::serve::metrics::Metrics;

pub(super) struct PulledReply {
    /// `None` once it has ended.
    stream: Option<ResponseStream>,
    has_begun: bool,
    pub(super) echo: String,
    metrics: Arc<Metrics>,
}

impl PulledReply {
    pub(super) fn new(pending: PendingReply, metrics: &Arc<Metrics>) -> Self {
        let PendingReply { stream, echo } = pending;
        Self { stream: Some(stream), has_begun: false, echo, metrics: Arc::clone(metrics) }
    }

    pub(super) async fn next(&mut self) -> Option<ReplyEvent> {
        let stream = self.stream.as_mut()?;
        self.has_begun = true;
        let event = stream.next().await;
        if !matches!(&event, Some(Ok(event)) if !count(event, &self.metrics)) {
            self.stream = None;
        }
        event
    }
}

/// Counts a reply that ends with this event; returns whether it does.
fn count(event: &MessageResponse, metrics: &Metrics) -> bool {
    let MessageResponse::Complete(completion) = event else { return false };
    metrics.count_tokens(&completion.stats);
    true
}

impl Drop for PulledReply {
    /// Cancels a reply that has begun and not ended, and counts what it generated.
    fn drop(&mut self) {
        let (Some(mut stream), Ok(runtime)) = (self.stream.take().filter(|_| self.has_begun), Handle::try_current())
        else {
            return;
        };
        stream.cancel();
        let metrics = Arc::clone(&self.metrics);
        runtime.spawn(async move {
            while let Some(Ok(event)) = stream.next().await {
                count(&event, &metrics);
            }
        });
    }
}
