//! Attention over pages of keys and values.

use std::ops::Range;

use crate::error::GpuError;
use crate::kernels::{AttentionEnd, Kernel};
use crate::operations::inputs::Filled;
use crate::operations::rows::RowRotation;
use crate::past::{GpuKeyValues, KeyValueShape, PAGE};
use crate::planes::GROUP;
use crate::recorder::Recorder;
use crate::recording::Bindings;
use crate::rows::{GpuInputs, GpuRows, GpuVector};

/// The tokens that a row attends to.
pub struct AttentionRow<'a> {
    /// Keys and values of its sequence.
    pub past: &'a GpuKeyValues,
    /// Tokens, counted from the sequence's first one.
    pub seen: Range<usize>,
}

/// The heads of queries, keys and values of a step, and how they are placed.
pub struct PlacedHeads<'a> {
    /// `(rows, query heads * head_dim)`; normalised and rotated in place.
    pub queries: &'a mut GpuRows,
    /// `(rows, key heads * head_dim)`
    pub keys: &'a GpuRows,
    /// As `keys`.
    pub values: &'a GpuRows,
    /// The norms of queries and of keys, with their epsilon.
    pub norms: Option<([&'a GpuVector; 2], f32)>,
    /// The rotation of both.
    pub rotation: Option<RowRotation>,
}

impl Recorder {
    /// Normalises and rotates queries and keys, and appends keys and values to the pages of a sequence.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn append_heads(&self, heads: PlacedHeads<'_>, past: &mut GpuKeyValues) -> Result<(), GpuError> {
        let PlacedHeads { queries, keys, values, norms, rotation } = heads;
        let KeyValueShape { n_heads, head_dim, format } = past.shape;
        let (gpu, mut recording) = (self.gpu(), self.record());
        let places = past.extend(gpu, &mut recording, queries.n_rows)?;
        let table = recording.append(gpu, places)?;
        let (tables, pages) = (recording.table_buffer(), past.pool.buffer()?);
        let mut bindings = vec![
            (0, keys.values.get()?),
            (1, values.values.get()?),
            (2, &tables),
            (3, &pages),
            (4, queries.values.get()?),
        ];
        bindings.extend(norms.iter().flat_map(|([query, key], _)| [(5, &key.buffer), (6, &query.buffer)]));
        let n_queries = queries.width / head_dim;
        let epsilon = norms.map_or(0.0, |(_, epsilon)| epsilon);
        let mut numbers = vec![n_heads as u32, 0, table, n_queries as u32];
        let (n_pairs, cosines, sines) =
            rotation.map_or((0, 0, 0), |rotation| (rotation.n_pairs as u32, rotation.cosines, rotation.sines));
        numbers.extend([n_pairs, epsilon.to_bits(), cosines, sines]);
        let kernel = Kernel::Append {
            format,
            head_dim: head_dim as u32,
            has_queries: true,
            has_norms: norms.is_some(),
            rotation: rotation.map(|rotation| rotation.pairs),
        };
        recording.run(gpu, kernel, &bindings, &numbers, [queries.n_rows, n_heads + n_queries, 1]);
        Ok(())
    }

    /// Attention of queries, `(rows, query heads * head_dim)`. All rows have keys and values of the same shape.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn attention(
        &self,
        queries: &GpuRows,
        rows: &[AttentionRow<'_>],
        scale: f32,
        mixed: &mut GpuRows,
    ) -> Result<(), GpuError> {
        let values = self.record().reserve(self.gpu(), &mut mixed.values, queries.n_rows * queries.width)?.clone();
        (mixed.n_rows, mixed.width) = (queries.n_rows, queries.width);
        self.attend(queries, rows, scale, AttentionEnd::Rows, &[(3, &values)])
    }

    /// Whether [`attention_inputs`](Self::attention_inputs) takes heads of this size.
    pub fn fits_attention_inputs(&self, head_dim: usize) -> bool {
        head_dim.is_multiple_of(GROUP)
    }

    /// [`attention`](Self::attention), as inputs of products.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn attention_inputs(
        &self,
        queries: &GpuRows,
        rows: &[AttentionRow<'_>],
        scale: f32,
        is_quantised: bool,
        inputs: &mut GpuInputs,
    ) -> Result<(), GpuError> {
        let shape = (queries.n_rows, queries.width);
        let filled = Filled::new(self.gpu(), &mut self.record(), inputs, shape, is_quantised)?;
        self.attend(queries, rows, scale, AttentionEnd::Inputs { is_quantised }, &filled.bindings(&[]))
    }

    fn attend(
        &self,
        queries: &GpuRows,
        rows: &[AttentionRow<'_>],
        scale: f32,
        end: AttentionEnd,
        results: Bindings<'_>,
    ) -> Result<(), GpuError> {
        let Some(first) = rows.first() else { return Ok(()) };
        let (shape, n_rows) = (first.past.shape, queries.n_rows);
        let (gpu, mut recording) = (self.gpu(), self.record());
        let mut entries = Vec::with_capacity(4 * n_rows);
        let mut last: Option<(&GpuKeyValues, u32)> = None;
        for AttentionRow { past, seen } in rows {
            // Rows of a sequence follow one another, and share its list of pages.
            let pages = match last {
                Some((known, pages)) if std::ptr::eq(known, *past) => pages,
                _ => recording.append(gpu, past.pages.iter().map(|page| page.number))?,
            };
            last = Some((past, pages));
            entries.extend([seen.start as u32, seen.end as u32, pages, past.first_page as u32]);
            debug_assert!(past.first_page * PAGE <= seen.start && seen.end <= past.n_tokens);
        }
        let table = recording.append(gpu, entries)?;
        let (tables, pages) = (recording.table_buffer(), first.past.pool.buffer()?);
        let mut bindings = vec![(0, queries.values.get()?), (1, &tables), (2, &pages)];
        bindings.extend_from_slice(results);
        let n_queries = queries.width / shape.head_dim;
        let numbers = [n_queries as u32, shape.n_heads as u32, scale.to_bits(), table];
        let kernel = Kernel::Attention { format: shape.format, head_dim: shape.head_dim as u32, end };
        recording.run(gpu, kernel, &bindings, &numbers, [n_rows, n_queries, 1]);
        Ok(())
    }
}
