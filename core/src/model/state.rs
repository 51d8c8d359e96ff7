//! What a sequence has read so far.
//!
//! A clone shares all that the original holds, so a snapshot costs next to nothing. Keys and values lie in pages; two
//! sequences that go on differently from one snapshot part at the page where they differ: one of them copies it.

use std::collections::HashSet;

use candle_core::Tensor;

use crate::model::candle;

/// What a sequence has read so far, in all layers.
#[derive(Clone)]
pub(crate) struct State {
    pub(super) layers: Vec<LayerState>,
    pub(super) n_tokens: usize,
}

/// What a layer remembers of a sequence.
#[derive(Clone)]
pub(crate) enum LayerState {
    Window(Window),
    Pages(causerie_backend::KeyValues),
    /// Of candle: the convolution's last inputs, `(window - 1, hidden)`.
    Inputs(Tensor),
    /// Of candle.
    KeyValues(candle::KeyValues),
    /// Of a script: the reply to be played next, where it has been chosen.
    Script(Option<usize>),
}

/// A convolution's last inputs.
#[derive(Clone)]
pub(crate) struct Window {
    /// `(window - 1, hidden)`, oldest first.
    pub(crate) inputs: Vec<f32>,
    pub(crate) hidden: usize,
    /// Those before the last step, and those of it, where the state may be cut back into it.
    last_step: Option<Vec<f32>>,
}

impl Window {
    pub(crate) fn new(inputs: Vec<f32>, hidden: usize) -> Self {
        Self { inputs, hidden, last_step: None }
    }

    /// Takes note of a step before it is made: `projected` is its `[B; C; X]`, whose inputs are `B * X`.
    pub(crate) fn note(&mut self, projected: &[f32]) {
        let (hidden, Some(last_step)) = (self.hidden, &mut self.last_step) else { return };
        last_step.extend_from_slice(&self.inputs);
        for row in projected.chunks_exact(3 * hidden) {
            last_step.extend(row[..hidden].iter().zip(&row[2 * hidden..]).map(|(b, x)| b * x));
        }
    }

    /// The inputs as they were before the last `n_tokens` of the last step.
    fn back(&self, n_tokens: usize) -> Option<Self> {
        let inputs = match &self.last_step {
            _ if n_tokens == 0 => self.inputs.clone(),
            None => return None,
            Some(last_step) => {
                let end = last_step.len().checked_sub(n_tokens * self.hidden)?;
                last_step[end.checked_sub(self.inputs.len())?..end].to_vec()
            }
        };
        Some(Self::new(inputs, self.hidden))
    }
}

impl State {
    pub(super) fn new(layers: Vec<LayerState>) -> Self {
        Self { layers, n_tokens: 0 }
    }

    /// Tokens read so far.
    pub(crate) fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// Whether another sequence may go on from here: not from a script's reply that was chosen and never said.
    pub(crate) fn can_be_kept(&self) -> bool {
        !self.layers.iter().any(|layer| matches!(layer, LayerState::Script(Some(_))))
    }

    /// Whether the state can outlive the process; a script has none.
    pub(crate) fn can_be_saved(&self) -> bool {
        !self.layers.iter().any(|layer| matches!(layer, LayerState::Script(_)))
    }

    /// Whether [`cut`](Self::cut) can go back to any token. A convolution keeps only its last inputs, so a state with
    /// one serves from the place where it was taken, and from no other but those of a step that was to be cut.
    pub(crate) fn can_be_cut(&self) -> bool {
        self.layers.iter().all(|layer| matches!(layer, LayerState::KeyValues(_) | LayerState::Pages(_)))
    }

    /// The state as it was after the first `n_tokens`, where it can be had.
    pub(crate) fn cut(&self, n_tokens: usize) -> Option<Self> {
        let n_back = self.n_tokens.checked_sub(n_tokens)?;
        let cut = |layer: &LayerState| match layer {
            LayerState::Pages(past) => past.cut(n_tokens).map(LayerState::Pages),
            LayerState::KeyValues(past) => past.cut(n_tokens).map(LayerState::KeyValues),
            LayerState::Window(window) => window.back(n_back).map(LayerState::Window),
            LayerState::Inputs(_) | LayerState::Script(_) => (n_back == 0).then(|| layer.clone()),
        };
        Some(Self { layers: self.layers.iter().map(cut).collect::<Option<_>>()?, n_tokens })
    }

    /// Says whether the next step is to be one that [`cut`](Self::cut) can go back into.
    pub(super) fn expect_cut(&mut self, is_expected: bool) {
        for layer in &mut self.layers {
            if let LayerState::Window(window) = layer {
                window.last_step = is_expected.then(Vec::new);
            }
        }
    }

    /// Bytes that these states hold in memory together; what they share counts once.
    pub(crate) fn n_bytes<'a>(states: impl Iterator<Item = &'a Self>) -> usize {
        let mut seen = HashSet::new();
        let layers = states.flat_map(|state| &state.layers);
        layers
            .map(|layer| match layer {
                LayerState::Window(window) => size_of_val(window.inputs.as_slice()),
                LayerState::Inputs(inputs) => inputs.elem_count() * inputs.dtype().size_in_bytes(),
                LayerState::Script(_) => size_of::<LayerState>(),
                LayerState::Pages(past) => {
                    past.page_ids().filter(|page| seen.insert(*page)).count() * past.shape().page_bytes()
                }
                LayerState::KeyValues(past) => {
                    past.page_sizes().filter(|(page, _)| seen.insert(*page)).map(|(_, n_bytes)| n_bytes).sum()
                }
            })
            .sum()
    }
}
