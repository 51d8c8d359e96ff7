//! The prompt of one reply until it is ready: first it waits for the reply's turn, then for the preparation pool.

use std::sync::Arc;

use futures_channel::oneshot;

use crate::engine::loaded::LoadedModel;
use crate::engine::pool::PreparationPool;
use crate::engine::request::{Prepared, ReplyOwner};
use crate::error::Result;

pub(super) enum PendingPrompt {
    /// Other replies come first.
    Waiting,
    /// A job of the pool makes it. Without the receiver, the result is dropped.
    Running(oneshot::Receiver<Result<Prepared>>),
}

impl PendingPrompt {
    /// Starts the job when the reply's turn has come. Returns the prompt, or the error that prevents it, when it is ready;
    /// until then the engine thread, which calls this, is woken when something has changed.
    pub(super) fn poll(
        &mut self,
        owner: &mut dyn ReplyOwner,
        loaded: &Arc<LoadedModel>,
        pool: &PreparationPool,
    ) -> Option<Result<Prepared>> {
        match self {
            Self::Waiting => {
                let job = owner.turn()?;
                let loaded = Arc::clone(loaded);
                *self = Self::Running(pool.ask(move || job(&loaded)));
                None
            }
            Self::Running(receiver) => match receiver.try_recv() {
                Ok(prepared) => prepared,
                Err(oneshot::Canceled) => Some(Err(pool.failure())),
            },
        }
    }
}
