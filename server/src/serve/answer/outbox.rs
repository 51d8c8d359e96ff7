//! The events of a stream on their way to the client. A task of its own writes them, and the connection sends them as fast
//! as the client reads.
//!
//! A client that stops reading holds no slot: its reply is generated into a bounded buffer. Once that is full, or other
//! requests wait, the slot serves others, and the reply waits for its client. After the time that a client may leave bytes
//! unread, the reply is cut with an error.

use std::sync::Arc;

use async_stream::stream;
use futures_core::Stream;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use crate::serve::admission::{Pause, Permit};
use crate::serve::error::HttpError;
use crate::serve::service::Service;

/// Bytes of events that wait for the client: more than most replies have.
const BUFFER_BYTES: usize = 1 << 20;
/// Bytes of events that may wait for the client while other requests wait for a slot. A client that reads leaves hardly any.
const BUFFER_BYTES_IN_DEMAND: usize = 16 << 10;
/// A comment, which clients skip.
const KEEP_ALIVE: &str = ": working\n\n";

/// Events, each with the bytes of the buffer that it occupies.
type Events = mpsc::UnboundedSender<(String, u32)>;

pub(super) struct Outbox {
    service: Arc<Service>,
    events: Events,
    space: Arc<Semaphore>,
    /// `None` while the request waits in the queue, or for its client.
    permit: Option<Permit>,
}

/// An outbox, and the events as they are sent.
pub(super) fn outbox(service: &Arc<Service>) -> (Outbox, impl Stream<Item = String> + Send + use<>) {
    let (events, mut waiting) = mpsc::unbounded_channel();
    let space = Arc::new(Semaphore::new(BUFFER_BYTES));
    let outbox = Outbox { service: Arc::clone(service), events, space: Arc::clone(&space), permit: None };
    let sent = stream! {
        while let Some((event, size)) = waiting.recv().await {
            space.add_permits(size as usize); // at most 2²⁰
            yield event;
        }
    };
    (outbox, sent)
}

impl Outbox {
    pub(super) fn start(&mut self, permit: Permit) {
        self.permit = Some(permit);
    }

    /// Waits until nobody reads the events any more.
    pub(super) fn client_gone(&self) -> impl Future<Output = ()> + use<> {
        let events = self.events.clone();
        async move { events.closed().await }
    }

    /// Shows the client that its request is alive.
    pub(super) fn keep_alive(&self) {
        self.end(KEEP_ALIVE.to_owned());
    }

    /// Sends an event without waiting for space, such as the error that ends a reply.
    pub(super) fn end(&self, event: String) {
        let _ = self.events.send((event, 0)); // fails if nobody reads
    }

    /// Sends events, and waits for the client if too much is unread.
    ///
    /// # Errors
    /// When the client does not read in time, or replies must end.
    pub(super) async fn send(&mut self, events: Vec<String>) -> Result<(), HttpError> {
        for event in events {
            let size = event.len().min(BUFFER_BYTES) as u32; // at most 2²⁰
            self.take_space(size).await?;
            let _ = self.events.send((event, size)); // fails if nobody reads
        }
        Ok(())
    }

    /// Bytes of events that the client has not read.
    fn n_unread(&self) -> usize {
        BUFFER_BYTES.saturating_sub(self.space.available_permits())
    }

    /// Whether other requests wait for a slot while this client does not read.
    fn delays_others(&self) -> bool {
        BUFFER_BYTES_IN_DEMAND < self.n_unread() && 0 < self.service.admission.n_waiting()
    }

    /// Takes the space of an event.
    async fn take_space(&mut self, size: u32) -> Result<(), HttpError> {
        // Where too many replies wait already, this one goes on while there is space.
        if self.delays_others()
            && let Ok(pause) = self.service.admission.pause()
        {
            return self.wait_for_space(size, pause).await;
        }
        if let Ok(taken) = self.space.try_acquire_many(size) {
            taken.forget();
            return Ok(());
        }
        let pause = self.service.admission.pause()?;
        self.wait_for_space(size, pause).await
    }

    /// Waits until the client has read half of what is unread, so that the slot does not change hands for every event, and
    /// takes the space of an event.
    async fn wait_for_space(&mut self, size: u32, pause: Pause) -> Result<(), HttpError> {
        self.permit = None;
        let space = Arc::clone(&self.space);
        let enough = (BUFFER_BYTES - self.n_unread() / 2) as u32; // at most 2²⁰
        let freed = timeout(self.service.settings.write_timeout, space.acquire_many(size.max(enough)));
        let freed = tokio::select! {
            biased;
            () = self.service.admission.replies_must_end() => return Err(HttpError::draining()),
            freed = freed => freed,
        };
        let Ok(Ok(mut freed)) = freed else { return Err(HttpError::unread_reply()) };
        if let Some(taken) = freed.split(size as usize) {
            taken.forget();
        }
        drop((freed, pause));
        self.resume().await;
        Ok(())
    }

    /// Waits for a slot again.
    async fn resume(&mut self) {
        let mut wait = self.service.admission.resume();
        loop {
            match timeout(self.service.settings.keep_alive, &mut wait).await {
                Ok(permit) => {
                    self.permit = permit;
                    return;
                }
                Err(_) => self.keep_alive(),
            }
        }
    }
}
