//! The memory of a gated delta net: for each value head of a layer and sequence, a matrix that every token changes.
//!
//! It is large, so a clone shares it until one of both goes on. The tokens of a step that may be undone are kept beside the
//! matrices, and are applied at the next step; undoing them is forgetting them.

use std::sync::Arc;

use crate::grid::Grid;
use crate::kernels::Tier;
use crate::ops::delta_net::{COLUMNS, DeltaBlock, DeltaShape, DeltaTokens};
use crate::pool::Pool;

/// The matrices of one layer and sequence.
#[derive(Clone)]
pub struct DeltaMemory {
    shape: DeltaShape,
    /// `(value heads, value size / COLUMNS, key size, COLUMNS)`
    values: Arc<Vec<f32>>,
    /// Tokens that come after `values`.
    pending: PendingTokens,
    /// Whether the tokens of the next step may be undone.
    may_be_undone: bool,
}

#[derive(Clone, Default)]
struct PendingTokens {
    rows: Vec<f32>,
    decays: Vec<f32>,
    rates: Vec<f32>,
}

impl DeltaMemory {
    /// The memory before the first token.
    pub fn new(shape: DeltaShape) -> Self {
        let values = Arc::new(vec![0.0; shape.n_elements()]);
        Self { shape, values, pending: PendingTokens::default(), may_be_undone: false }
    }

    /// The memory with the values that [`to_floats`](Self::to_floats) gave; `None` if their number differs.
    pub fn from_floats(shape: DeltaShape, values: Vec<f32>) -> Option<Self> {
        (values.len() == shape.n_elements()).then(|| Self { values: Arc::new(values), ..Self::new(shape) })
    }

    /// The heads.
    pub fn shape(&self) -> DeltaShape {
        self.shape
    }

    /// Says whether the tokens of the next step may be undone.
    pub fn expect_undo(&mut self, is_expected: bool) {
        self.may_be_undone = is_expected;
    }

    /// The memory without the last tokens; `None` unless all of them belong to a step that may be undone.
    pub fn without(&self, n_tokens: usize) -> Option<Self> {
        let pending = self.pending.without(n_tokens, self.shape)?;
        Some(Self { values: Arc::clone(&self.values), pending, ..*self })
    }

    /// The values after all tokens, `(value heads, value size / 32, key size, 32)`.
    pub fn to_floats(&self) -> Vec<f32> {
        let mut values = self.values.to_vec();
        for (block, memory) in values.chunks_exact_mut(self.block_len()).enumerate() {
            let (shape, tokens) = (self.shape, self.pending.tokens());
            Tier::detect().run(DeltaBlock { shape, block, memory, tokens, out: None });
        }
        values
    }

    /// Bytes in memory, without the matrices if `is_new` denies their id, which clones share.
    pub fn n_bytes(&self, is_new: impl FnOnce(usize) -> bool) -> usize {
        let PendingTokens { rows, decays, rates } = &self.pending;
        let n_shared = if is_new(Arc::as_ptr(&self.values).addr()) { self.values.len() } else { 0 };
        size_of::<f32>() * (n_shared + rows.len() + decays.len() + rates.len())
    }

    /// Computes tokens. Their outputs are written to rows of `out` from `first_row` on.
    pub(crate) fn advance(
        &mut self,
        (tier, pool): (Tier, &Pool),
        tokens: DeltaTokens<'_>,
        (out, first_row): (&Grid<'_>, usize),
    ) {
        let (shape, block_len, may_be_undone) = (self.shape, self.block_len(), self.may_be_undone);
        let pending = self.pending.tokens();
        let values: &mut Vec<f32> = Arc::make_mut(&mut self.values);
        let blocks = Grid::new(values, block_len);
        pool.run(shape.n_elements() / block_len, &|block| {
            // SAFETY: one thread computes each block.
            let memory = unsafe { blocks.part(block, 0..block_len) };
            tier.run(DeltaBlock { shape, block, memory, tokens: pending, out: None });
            let run = |memory: &mut [f32]| {
                tier.run(DeltaBlock { shape, block, memory, tokens, out: Some((out, first_row)) });
            };
            if may_be_undone {
                let mut copy = [0.0; DeltaShape::MAX_KEY * COLUMNS];
                copy[..block_len].copy_from_slice(memory);
                run(&mut copy[..block_len]);
            } else {
                run(memory);
            }
        });
        self.pending.clear();
        if may_be_undone {
            self.pending.extend(tokens);
        }
    }

    /// Elements of a block of columns.
    fn block_len(&self) -> usize {
        self.shape.key_dim * COLUMNS
    }
}

impl PendingTokens {
    fn tokens(&self) -> DeltaTokens<'_> {
        DeltaTokens { rows: &self.rows, decays: &self.decays, rates: &self.rates }
    }

    fn without(&self, n_tokens: usize, shape: DeltaShape) -> Option<Self> {
        let kept = |values: &[f32], width: usize| {
            let n_kept = values.len().checked_sub(n_tokens.checked_mul(width)?)?;
            Some(values[..n_kept].to_vec())
        };
        Some(Self {
            rows: kept(&self.rows, shape.n_channels())?,
            decays: kept(&self.decays, shape.n_values)?,
            rates: kept(&self.rates, shape.n_values)?,
        })
    }

    fn clear(&mut self) {
        [&mut self.rows, &mut self.decays, &mut self.rates].into_iter().for_each(Vec::clear);
    }

    fn extend(&mut self, tokens: DeltaTokens<'_>) {
        self.rows.extend_from_slice(tokens.rows);
        self.decays.extend_from_slice(tokens.decays);
        self.rates.extend_from_slice(tokens.rates);
    }
}
