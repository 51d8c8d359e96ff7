//! The rows of a prompt's embedded contents, computed when the prompt comes to them: begun on the preparation pool, and then
//! computed by the engine thread, piece by piece.

use std::ops::Range;
use std::sync::Arc;

use futures_channel::oneshot;

use crate::engine::pool::PreparationPool;
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::Inputs;
use crate::position::{ContentDigest, Embedded, EmbeddingJob};

/// The embedded contents of one prompt.
#[derive(Default)]
pub(super) struct Embeddings {
    contents: Vec<Embedded>,
    /// The rows of one content, those that are computed last.
    current: Option<(ContentDigest, Rows)>,
}

enum Rows {
    Beginning(oneshot::Receiver<Result<Box<dyn EmbeddingJob>>>),
    Begun(Box<dyn EmbeddingJob>),
    /// `(n_rows, hidden)`
    Ready {
        rows: Arc<[f32]>,
        hidden_size: usize,
    },
}

impl Embeddings {
    pub(super) fn new(contents: Vec<Embedded>) -> Self {
        Self { contents, current: None }
    }

    /// Whether the rows of a content are ready. If they are not, a job is begun, and the calling thread is woken when it has
    /// been; then [`compute`](Self::compute) makes the rows.
    pub(super) fn prepare(&mut self, digest: ContentDigest, pool: &PreparationPool) -> Result<bool> {
        let beginning = match &mut self.current {
            Some((current, Rows::Ready { .. })) if *current == digest => return Ok(true),
            Some((current, Rows::Begun(_))) if *current == digest => return Ok(false),
            Some((current, Rows::Beginning(beginning))) if *current == digest => beginning,
            _ => {
                let source = self.content(digest)?.0.clone();
                self.current = Some((digest, Rows::Beginning(pool.ask(move || source.begin()))));
                return Ok(false);
            }
        };
        if let Some(job) = beginning.try_recv().map_err(|oneshot::Canceled| failed())? {
            self.current = Some((digest, Rows::Begun(job?)));
        }
        Ok(false)
    }

    /// Takes the rows of content that were computed elsewhere.
    pub(super) fn set_ready(&mut self, digest: ContentDigest, rows: Arc<[f32]>, hidden_size: usize) {
        self.current = Some((digest, Rows::Ready { rows, hidden_size }));
    }

    /// Whether there is a piece to compute.
    pub(super) fn can_compute(&self) -> bool {
        matches!(self.current, Some((_, Rows::Begun(_))))
    }

    /// Computes one piece of the rows.
    pub(super) fn compute(&mut self, hidden_size: usize) -> Result<()> {
        let Some((digest, Rows::Begun(job))) = &mut self.current else { return Ok(()) };
        let (digest, Some(rows)) = (*digest, job.advance()?) else { return Ok(()) };
        let n_rows = self.content(digest)?.0.n_rows();
        if (n_rows as usize).checked_mul(hidden_size) != Some(rows.len()) {
            return Err(SdkError::new(
                ErrorKind::Internal,
                format!("an embedding must have {n_rows} rows of {hidden_size} values, found {} values", rows.len()),
            ));
        }
        self.current = Some((digest, Rows::Ready { rows, hidden_size }));
        Ok(())
    }

    fn content(&self, digest: ContentDigest) -> Result<&Embedded> {
        self.contents.iter().find(|content| content.0.digest() == digest).ok_or_else(failed)
    }

    /// A range of the rows that are ready.
    pub(super) fn inputs(&self, range: Range<usize>) -> Inputs<'_> {
        let (rows, n_rows) = (&self.current, range.len());
        let rows = match rows {
            Some((_, Rows::Ready { rows, hidden_size })) => {
                rows.get(range.start * hidden_size..range.end * hidden_size).unwrap_or_default()
            }
            _ => &[],
        };
        Inputs::Rows { rows, n_rows }
    }

    /// Frees the rows.
    pub(super) fn release(&mut self) {
        self.current = None;
    }
}

fn failed() -> SdkError {
    SdkError::new(ErrorKind::Internal, "the engine failed on an embedding of this reply's prompt")
}
