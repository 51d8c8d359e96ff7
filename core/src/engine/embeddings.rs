//! The rows of a prompt's embedded contents, computed when the prompt comes to them: begun on the preparation pool, and then
//! computed by the engine thread, piece by piece.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use futures_channel::oneshot;

use crate::engine::pool::PreparationPool;
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::Inputs;
use crate::position::{ContentDigest, Embedded, EmbeddedLayout, EmbeddingJob};

/// The embedded contents of one prompt.
#[derive(Default)]
pub(super) struct Embeddings {
    contents: HashMap<ContentDigest, Embedded>,
    /// The rows of one content, those that are computed last.
    current: Option<(ContentDigest, Rows)>,
    /// Contents with a known row whose rows are computed in one step, and these rows.
    known: (Vec<ContentDigest>, Vec<f32>),
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
        let contents = contents.into_iter().map(|content| (content.0.digest(), content));
        Self { contents: contents.collect(), ..Self::default() }
    }

    /// Whether a content has one row that needs no computation.
    pub(super) fn is_known(&self, digest: ContentDigest) -> bool {
        self.contents.get(&digest).is_some_and(|content| content.0.has_known_row())
    }

    /// Takes the rows of contents that have one known row each.
    pub(super) fn prepare_known(&mut self, digests: &[ContentDigest], hidden_size: usize) -> Result<()> {
        if self.known.0 == digests {
            return Ok(());
        }
        let mut rows = Vec::with_capacity(digests.len() * hidden_size);
        for digest in digests {
            let row = self.content(*digest)?.0.begin()?.advance()?.ok_or_else(failed)?;
            check_rows(1, hidden_size, &row)?;
            rows.extend_from_slice(&row);
        }
        self.known = (digests.to_vec(), rows);
        Ok(())
    }

    /// The first of the known rows that were taken.
    pub(super) fn known_inputs(&self, n_rows: usize) -> Inputs<'_> {
        let (digests, rows) = &self.known;
        let hidden_size = rows.len() / digests.len().max(1);
        Inputs::Rows { rows: rows.get(..n_rows * hidden_size).unwrap_or_default(), n_rows }
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
        check_rows(self.content(digest)?.0.n_rows(), hidden_size, &rows)?;
        self.current = Some((digest, Rows::Ready { rows, hidden_size }));
        Ok(())
    }

    fn content(&self, digest: ContentDigest) -> Result<&Embedded> {
        self.contents.get(&digest).ok_or_else(failed)
    }

    /// How the rows of a content lie in the sequence.
    pub(super) fn layout(&self, digest: ContentDigest) -> EmbeddedLayout {
        self.contents.get(&digest).map(|content| content.0.layout()).unwrap_or_default()
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
        self.known = <_>::default();
    }
}

fn check_rows(n_rows: u32, hidden_size: usize, rows: &[f32]) -> Result<()> {
    if (n_rows as usize).checked_mul(hidden_size) == Some(rows.len()) {
        return Ok(());
    }
    Err(SdkError::new(
        ErrorKind::Internal,
        format!("an embedding must have {n_rows} rows of {hidden_size} values, found {} values", rows.len()),
    ))
}

fn failed() -> SdkError {
    SdkError::new(ErrorKind::Internal, "the engine failed on an embedding of this reply's prompt")
}
