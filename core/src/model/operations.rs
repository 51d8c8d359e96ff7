//! The operations that networks are made of.
//!
//! A network is written once, over this trait, and each device implements the trait in a folder or crate of its own. Rows,
//! inputs and matrices are opaque to a network: it reads no value between two operations, so an implementation may record a
//! whole step before it computes anything. The rows of all sequences of a step lie one below the other. Operations over
//! time get the range of rows of each sequence.
//!
//! An operation gives each row the same result, whatever other rows there are.

use std::collections::HashSet;
use std::ops::Range;

use crate::checkpoint::Activation;
use crate::checkpoint::{Rope, RotaryPlaces};
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::backend::Backend;
use crate::model::delta_net::DeltaHeads;
use crate::model::experts::Experts;
use crate::model::heads::Heads;
use crate::model::linear::Linear;
use crate::model::network::{Inputs, TokenChoice};
use crate::model::saved_state::{StateReader, StateWriter};
use crate::weights::RowTable;

/// The factors of a norm, and its epsilon.
pub(crate) type NormFactors<'a, B> = (&'a <B as Backend>::Vector, f32);

/// How outputs are added to the residual stream: `stream + norm(outputs) * factor`.
pub(crate) struct Residual<'a, B: Backend> {
    pub(crate) norm: Option<NormFactors<'a, B>>,
    pub(crate) factor: f32,
}

/// The part of one sequence in an operation over time.
pub(crate) struct SequencePart<T> {
    /// The sequence's rows among all rows.
    pub(crate) rows: Range<usize>,
    /// What the layer remembers of the sequence.
    pub(crate) memory: T,
}

/// The part of one sequence in attention.
pub(crate) struct AttentionPart<'a, K> {
    /// The sequence's rows among all rows.
    pub(crate) rows: Range<usize>,
    /// The sequence's keys and values, including these rows.
    pub(crate) past: &'a K,
    /// Whether the rows also attend to the rows after them.
    pub(crate) is_two_way: bool,
}

/// How the heads of queries and keys are normalised and rotated.
pub(crate) struct HeadPlace<'a, O: Operations> {
    pub(crate) head_dim: usize,
    /// The norms of queries and of keys.
    pub(crate) norms: [Option<NormFactors<'a, O>>; 2],
    pub(crate) rotation: Option<(&'a Rope, &'a O::Angles)>,
}

/// Which tokens a query attends to, and how scores are scaled.
#[derive(Clone, Copy)]
pub(crate) struct Sight {
    /// Tokens that a token attends to, including itself; `None` for all tokens before it.
    pub(crate) window: Option<usize>,
    /// Tokens after it that a token of a [two-way](AttentionPart::is_two_way) part attends to; `None` for all.
    pub(crate) n_after: Option<usize>,
    /// Factor of the scores.
    pub(crate) scale: f32,
}

/// The rows of a delta net's tokens, and what they do to its memory.
pub(crate) struct DeltaRows<'a, O: Operations> {
    /// Queries, keys and values, `(rows, channels)`.
    pub(crate) tokens: &'a O::Rows,
    /// Factors by which the memory decays, `(rows, value heads)`.
    pub(crate) decays: &'a O::Rows,
    /// How much of its error each head corrects, `(rows, value heads)`.
    pub(crate) rates: &'a O::Rows,
}

/// What a layer remembers of one sequence. A clone shares memory with its original.
pub(crate) trait LayerMemory: Clone + Send + 'static {
    /// Whether [`cut`](Self::cut) can return to any position.
    const CAN_BE_CUT: bool;

    /// Says whether [`cut`](Self::cut) must be able to return into the next step.
    fn expect_cut(&mut self, is_expected: bool);

    /// The memory of the first `n_positions`, without the `n_back` after them; `None` if it cannot be had.
    fn cut(&self, n_positions: usize, n_back: usize) -> Option<Self>;

    /// Frees what only positions before the last `n_positions` left behind, as far as it can be freed. The memory must not be
    /// cut or saved afterwards.
    fn keep_last(&mut self, n_positions: usize) {
        let _ = n_positions;
    }

    /// The same memory, for a step that is computed before it is known whether the sequence goes on so.
    fn ahead(&self) -> Self {
        self.clone()
    }

    /// Ends what [`ahead`](Self::ahead) began: the sequence goes on so.
    fn settle(&mut self) {}

    /// Takes the memory for a step of so many rows, which then asks for none; for no rows, gives it back. Of several rows, `is_cut_expected`
    /// says that a cut must be able to return to each of them.
    ///
    /// # Errors
    /// A device without memory. Nothing is changed then.
    fn reserve(&mut self, n_rows: usize, is_cut_expected: bool) -> Result<()> {
        let _ = (n_rows, is_cut_expected);
        Ok(())
    }

    /// As [`SequenceState::n_bytes`](crate::model::network::SequenceState::n_bytes).
    fn n_bytes(&self, counted: &mut HashSet<usize>) -> usize;

    fn save(&self, writer: &mut StateWriter) -> Result<()>;

    /// Reads what [`save`](Self::save) wrote into a memory that is empty so far; `None` if it has another shape.
    fn load(&mut self, reader: &mut StateReader<'_>) -> Option<()>;
}

pub(crate) trait Operations:
    Backend<Matrix: Send + Sync, Vector: Send + Sync> + Sized + Send + Sync + 'static
{
    /// Values between two operations, `(rows, width)`. Memory is reused: an operation overwrites what it fills.
    type Rows: Default + Send;
    /// Rows in the form that products need.
    type Inputs: Default + Send;
    /// Angles of rotary positions, of all rows of a step.
    type Angles: Default + Send;
    /// Memory that operations reuse.
    type Scratch: Default + Send;
    /// Keys and values of an attention layer.
    type KeyValues: LayerMemory;
    /// The last inputs of a convolution.
    type Window: LayerMemory;
    /// The matrices of a delta net.
    type DeltaMemory: LayerMemory;
    /// The most probable token of a step that is under way.
    type PendingChoice: Send + 'static;

    /// As [`Network::shares_passes`](crate::model::network::Network::shares_passes).
    const SHARES_PASSES: bool;

    /// Whether a step can be begun before the token that it computes is known to the host.
    const RUNS_AHEAD: bool = false;

    /// The keys and values before the first token.
    fn key_values(&self, heads: Heads) -> Result<Self::KeyValues>;

    /// The inputs of a convolution before the first token: zeros.
    fn window(&self, n_taps: usize, n_channels: usize) -> Result<Self::Window>;

    /// The memory of a delta net before the first token: zeros.
    fn delta_memory(&self, heads: DeltaHeads) -> Result<Self::DeltaMemory>;

    /// Rows of a table for tokens, times a factor, and rows that were computed elsewhere as they are.
    fn embed(&self, table: &Self::Matrix, steps: &[Inputs<'_>], factor: f32, out: &mut Self::Rows) -> Result<()>;

    /// Rows as inputs of the maps `next`.
    fn inputs(&self, rows: &Self::Rows, next: &[&Linear<Self>], inputs: &mut Self::Inputs) -> Result<()>;

    /// The values of inputs, as rows.
    fn input_rows(&self, inputs: &Self::Inputs, rows: &mut Self::Rows) -> Result<()>;

    /// `rows / sqrt(mean(rows²) + epsilon) * weight`, as inputs of the maps `next`.
    fn norm(
        &self,
        rows: &Self::Rows,
        norm: NormFactors<'_, Self>,
        next: &[&Linear<Self>],
        inputs: &mut Self::Inputs,
    ) -> Result<()>;

    /// The outputs of several maps of normalised rows. `inputs` may be overwritten.
    fn norm_product<const N: usize>(
        &self,
        rows: &Self::Rows,
        norm: NormFactors<'_, Self>,
        products: [(&Linear<Self>, &mut Self::Rows); N],
        inputs: &mut Self::Inputs,
    ) -> Result<()> {
        let next: [&Linear<Self>; N] = products.each_ref().map(|(map, _)| *map);
        self.norm(rows, norm, &next, inputs)?;
        self.product(inputs, products)
    }

    /// `activation(gate(x)) * up(x)` of normalised rows, as inputs of the map `next`. `spare` may be overwritten.
    fn norm_gate(
        &self,
        rows: &Self::Rows,
        norm: NormFactors<'_, Self>,
        (activation, [gate, up], next): (Activation, [&Linear<Self>; 2], &Linear<Self>),
        spare: [&mut Self::Rows; 2],
        inputs: &mut Self::Inputs,
    ) -> Result<()> {
        let [gates, ups] = spare;
        self.norm_product(rows, norm, [(gate, &mut *gates), (up, &mut *ups)], inputs)?;
        self.gate(activation, gates, ups, &[next], inputs)
    }

    /// The outputs of several maps of the same inputs.
    fn product<const N: usize>(
        &self,
        inputs: &Self::Inputs,
        products: [(&Linear<Self>, &mut Self::Rows); N],
    ) -> Result<()>;

    /// Adds the outputs of a map to the residual stream. `spare` may be overwritten.
    fn add_product(
        &self,
        inputs: &Self::Inputs,
        map: &Linear<Self>,
        residual: Residual<'_, Self>,
        spare: &mut Self::Rows,
        stream: &mut Self::Rows,
    ) -> Result<()>;

    /// The angles of rows, whose rotary positions are given.
    fn angles(&self, rope: &Rope, places: &[RotaryPlaces], angles: &mut Self::Angles) -> Result<()>;

    /// Normalises and rotates the heads of rows in place.
    fn rotate(
        &self,
        rows: &mut Self::Rows,
        head_dim: usize,
        norm: Option<NormFactors<'_, Self>>,
        rotation: Option<(&Rope, &Self::Angles)>,
    ) -> Result<()>;

    /// Multiplies each row of queries by the factor of its position.
    fn grow_queries(&self, queries: &mut Self::Rows, angles: &Self::Angles) -> Result<()>;

    /// Splits query heads and the gates after them, `(rows, query heads, 2, head_dim)`.
    fn split_heads(
        &self,
        pairs: &Self::Rows,
        head_dim: usize,
        queries: &mut Self::Rows,
        gates: &mut Self::Rows,
    ) -> Result<()>;

    /// Replaces values by their sigmoid, `1 / (1 + e^-x)`.
    fn sigmoid(&self, rows: &mut Self::Rows) -> Result<()>;

    /// Appends some rows of keys and values.
    fn append(&self, past: SequencePart<&mut Self::KeyValues>, keys: &Self::Rows, values: &Self::Rows) -> Result<()>;

    /// Normalises and rotates the heads of queries and keys, and appends keys and values to their sequences. Queries are changed in
    /// place, and keys may be.
    fn append_heads(
        &self,
        [queries, keys, values]: [&mut Self::Rows; 3],
        place: HeadPlace<'_, Self>,
        pasts: &mut [SequencePart<&mut Self::KeyValues>],
    ) -> Result<()> {
        let HeadPlace { head_dim, norms: [query_norm, key_norm], rotation } = place;
        self.rotate(queries, head_dim, query_norm, rotation)?;
        self.rotate(keys, head_dim, key_norm, rotation)?;
        pasts.iter_mut().try_for_each(|SequencePart { rows, memory }| {
            self.append(SequencePart { rows: rows.clone(), memory: &mut **memory }, keys, values)
        })
    }

    /// [`attention`](Self::attention), as inputs of the map `next`. `mixed` may be overwritten.
    fn attention_inputs(
        &self,
        queries: &Self::Rows,
        steps: &[AttentionPart<'_, Self::KeyValues>],
        (heads, sight, next): (Heads, Sight, &Linear<Self>),
        mixed: &mut Self::Rows,
        inputs: &mut Self::Inputs,
    ) -> Result<()> {
        self.attention(queries, steps, heads, sight, mixed)?;
        self.inputs(mixed, &[next], inputs)
    }

    /// Attention of queries, `(rows, query heads * head_dim)`, over the keys and values of their sequences, which include
    /// the sequence's own rows.
    fn attention(
        &self,
        queries: &Self::Rows,
        steps: &[AttentionPart<'_, Self::KeyValues>],
        heads: Heads,
        sight: Sight,
        mixed: &mut Self::Rows,
    ) -> Result<()>;

    /// `rows * gates`, as inputs of the map `next`. The gates have one value for each element of a row, or for each head.
    fn gate_heads(
        &self,
        rows: &Self::Rows,
        gates: &Self::Rows,
        next: &Linear<Self>,
        inputs: &mut Self::Inputs,
    ) -> Result<()>;

    /// `activation(gate) * up`, as inputs of the maps `next`.
    fn gate(
        &self,
        activation: Activation,
        gate: &Self::Rows,
        up: &Self::Rows,
        next: &[&Linear<Self>],
        inputs: &mut Self::Inputs,
    ) -> Result<()>;

    /// The gated short convolution of rows `[B; C; X]`, as inputs of the map `next`: with `u = B * X`, it is
    /// `C_t * (bias + Σ_k tap_k * u_(t - n_taps + 1 + k))`. The windows advance.
    fn convolve(
        &self,
        projected: &Self::Rows,
        taps: &Self::Vector,
        bias: Option<&Self::Vector>,
        steps: &mut [SequencePart<&mut Self::Window>],
        next: &Linear<Self>,
        inputs: &mut Self::Inputs,
    ) -> Result<()>;

    /// Adds the outputs of a map of a [convolution](Self::convolve) to the residual stream. `inputs` and `projected` may be overwritten.
    fn add_convolved(
        &self,
        projected: &mut Self::Rows,
        (taps, bias): (&Self::Vector, Option<&Self::Vector>),
        steps: &mut [SequencePart<&mut Self::Window>],
        (map, residual): (&Linear<Self>, Residual<'_, Self>),
        inputs: &mut Self::Inputs,
        stream: &mut Self::Rows,
    ) -> Result<()> {
        self.convolve(projected, taps, bias, steps, map, inputs)?;
        self.add_product(inputs, map, residual, projected, stream)
    }

    /// As [`convolve`](Self::convolve) for the whole `sequences`, with as many inputs after each row as before it: `t` is half a
    /// window further. The number of taps must be odd.
    fn convolve_centred(
        &self,
        projected: &Self::Rows,
        taps: &Self::Vector,
        bias: Option<&Self::Vector>,
        sequences: &[Range<usize>],
        next: &Linear<Self>,
        inputs: &mut Self::Inputs,
    ) -> Result<()>;

    /// The queries, keys and values of a delta net: a causal convolution of rows, and `x / (1 + e^-x)`; then queries and keys
    /// are brought to the length 1, and queries divided by the root of their size. The windows advance.
    fn delta_inputs(
        &self,
        projected: &Self::Rows,
        heads: DeltaHeads,
        taps: &Self::Vector,
        steps: &mut [SequencePart<&mut Self::Window>],
        tokens: &mut Self::Rows,
    ) -> Result<()>;

    /// Replaces rows by decays: `exp(log_decays * ln(1 + exp(rows + bias)))`.
    fn decays(&self, rows: &mut Self::Rows, log_decays: &Self::Vector, bias: &Self::Vector) -> Result<()>;

    /// Computes the tokens of each sequence in order, `(rows, value heads * value size)`. The memories advance.
    fn delta_net(
        &self,
        rows: DeltaRows<'_, Self>,
        steps: &mut [SequencePart<&mut Self::DeltaMemory>],
        out: &mut Self::Rows,
    ) -> Result<()>;

    /// `norm(heads) * gate / (1 + e^-gate)`, as inputs of the map `next`. All heads have the same norm.
    fn gated_norm(
        &self,
        rows: &Self::Rows,
        gate: &Self::Rows,
        norm: NormFactors<'_, Self>,
        next: &Linear<Self>,
        inputs: &mut Self::Inputs,
    ) -> Result<()>;

    /// Whether the host has nothing to do in [`experts`](Self::experts) of a single row.
    fn routes(&self, experts: &Experts<Self>) -> bool {
        let _ = experts;
        false
    }

    /// Adds the outputs of each row's experts, weighted by the router, to the residual stream.
    fn experts(
        &self,
        experts: &Experts<Self>,
        inputs: &Self::Inputs,
        scratch: &mut Self::Scratch,
        stream: &mut Self::Rows,
    ) -> Result<()>;

    /// Replaces rows by `(rows + factor * own) / sqrt(2)`, where `own` are the rows of a table for their tokens.
    ///
    /// # Errors
    /// The table's file cannot be read any more.
    fn mix_table_rows(
        &self,
        table: &RowTable,
        tokens: impl Iterator<Item = u32>,
        factor: f32,
        scratch: &mut Self::Scratch,
        rows: &mut Self::Rows,
    ) -> Result<()>;

    /// Some columns of rows.
    fn columns(&self, from: &Self::Rows, columns: Range<usize>, to: &mut Self::Rows) -> Result<()>;

    /// Some rows, one range after the other.
    fn select(&self, from: &Self::Rows, ranges: &[Range<usize>], to: &mut Self::Rows) -> Result<()>;

    /// Multiplies rows by a factor.
    fn scale(&self, rows: &mut Self::Rows, factor: f32) -> Result<()>;

    /// Bounds values: `bound * tanh(value / bound)`.
    fn bound(&self, rows: &mut Self::Rows, bound: f32) -> Result<()>;

    /// Ends a step: nothing that was computed for it alone is needed any more.
    fn end_step(&self) -> Result<()> {
        Ok(())
    }

    /// Chooses the most probable of the first `n_tokens` tokens for each row of logits; `None` where the logits are read as fast.
    fn choose(&self, logits: &Self::Rows, n_tokens: usize) -> Result<Option<Vec<TokenChoice>>> {
        let _ = (logits, n_tokens);
        Ok(None)
    }

    /// As [`choose`](Self::choose) for a single row, without waiting for the step; only where steps [run ahead](Self::RUNS_AHEAD).
    fn begin_choice(&self, logits: &Self::Rows, n_tokens: usize) -> Result<Option<Self::PendingChoice>> {
        let _ = (logits, n_tokens);
        Ok(None)
    }

    /// The row of a table for a token that is still to be chosen, times a factor. Returns false if a later choice took its place, or if not all
    /// tokens have rows.
    fn embed_chosen(
        &self,
        choice: &Self::PendingChoice,
        table: &Self::Matrix,
        factor: f32,
        out: &mut Self::Rows,
    ) -> Result<bool> {
        let _ = (choice, table, factor, out);
        Ok(false)
    }

    /// Waits for a token.
    fn finish_choice(&self, choice: Self::PendingChoice) -> Result<TokenChoice> {
        let _ = choice;
        Err(SdkError::new(ErrorKind::Internal, "nothing was chosen"))
    }

    /// Reads rows, once a step is complete.
    fn read(&self, rows: &Self::Rows, range: Range<usize>, to: &mut Vec<f32>) -> Result<()>;
}
