//! The rows of a prompt's embedded contents, computed on the preparation pool when the prompt comes to them.

use std::ops::Range;

use futures_channel::oneshot;

use crate::engine::pool::PreparationPool;
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::Inputs;
use crate::position::{ContentDigest, Embedded};

/// The embedded contents of one prompt.
#[derive(Default)]
pub(super) struct Embeddings {
    contents: Vec<Embedded>,
    /// The rows of one content, those that are computed last.
    current: Option<(ContentDigest, Rows)>,
}

enum Rows {
    Pending(oneshot::Receiver<Result<Vec<f32>>>),
    /// `(n_rows, hidden)`
    Ready {
        rows: Vec<f32>,
        hidden_size: usize,
    },
}

impl Embeddings {
    pub(super) fn new(contents: Vec<Embedded>) -> Self {
        Self { contents, current: None }
    }

    /// Whether the rows of a content are ready. If they are not, a job computes them, and the calling thread is woken when it
    /// has ended.
    pub(super) fn prepare(
        &mut self,
        digest: ContentDigest,
        hidden_size: usize,
        pool: &PreparationPool,
    ) -> Result<bool> {
        let content = self.contents.iter().find(|content| content.0.digest() == digest).ok_or_else(failed)?;
        let pending = match &mut self.current {
            Some((current, Rows::Ready { .. })) if *current == digest => return Ok(true),
            Some((current, Rows::Pending(pending))) if *current == digest => pending,
            _ => {
                let source = content.0.clone();
                self.current = Some((digest, Rows::Pending(pool.ask(move || source.rows()))));
                return Ok(false);
            }
        };
        let Some(rows) = pending.try_recv().map_err(|oneshot::Canceled| failed())? else { return Ok(false) };
        let (rows, n_rows) = (rows?, content.0.n_rows());
        if (n_rows as usize).checked_mul(hidden_size) != Some(rows.len()) {
            return Err(SdkError::new(
                ErrorKind::Internal,
                format!("an embedding must have {n_rows} rows of {hidden_size} values, found {} values", rows.len()),
            ));
        }
        self.current = Some((digest, Rows::Ready { rows, hidden_size }));
        Ok(true)
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
