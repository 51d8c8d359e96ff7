//! What a sequence has read so far.
//!
//! A clone shares all that the original holds, so a snapshot costs next to nothing. Keys and values lie in pages; a page
//! is written from front to back, and whoever holds it reads only the tokens that were there when it took hold. Two
//! sequences that go on differently from one snapshot part at the page where they differ: the second one copies it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candle_core::{DType, Result as TensorResult, Tensor};

/// Tokens of a page: large enough that attention spends its time on products, small enough to copy.
pub(super) const PAGE: usize = 256;

/// What a sequence has read so far, in all layers.
#[derive(Clone)]
pub(crate) struct State {
    pub(super) layers: Vec<LayerState>,
    pub(super) n_tokens: usize,
}

/// What a layer remembers of a sequence.
#[derive(Clone)]
pub(crate) enum LayerState {
    /// The convolution's last inputs, `(window - 1, hidden)`.
    Inputs(Tensor),
    KeyValues(KeyValues),
    /// Of a script: the reply to be played next, where it has been chosen.
    Script(Option<usize>),
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
    /// one serves from the place where it was taken, and from no other.
    pub(crate) fn can_be_cut(&self) -> bool {
        self.layers.iter().all(|layer| matches!(layer, LayerState::KeyValues(_)))
    }

    /// The state as it was after the first `n_tokens`, where it can be had.
    pub(crate) fn cut(&self, n_tokens: usize) -> Option<Self> {
        if n_tokens == self.n_tokens {
            return Some(self.clone());
        }
        let cut = |layer: &LayerState| match layer {
            LayerState::KeyValues(past) => Some(LayerState::KeyValues(past.cut(n_tokens)?)),
            LayerState::Inputs(_) | LayerState::Script(_) => None,
        };
        Some(Self { layers: self.layers.iter().map(cut).collect::<Option<_>>()?, n_tokens })
    }

    /// Bytes that these states hold in memory together; what they share counts once.
    pub(crate) fn n_bytes<'a>(states: impl Iterator<Item = &'a Self>) -> usize {
        let mut seen = HashSet::new();
        let layers = states.flat_map(|state| &state.layers);
        layers
            .map(|layer| match layer {
                LayerState::Inputs(inputs) => n_bytes(inputs),
                LayerState::Script(_) => size_of::<LayerState>(),
                LayerState::KeyValues(past) => {
                    let fresh = past.pages.iter().filter(|page| seen.insert(Arc::as_ptr(page)));
                    fresh.map(|page| n_bytes(&page.keys) + n_bytes(&page.values)).sum()
                }
            })
            .sum()
    }
}

fn n_bytes(tensor: &Tensor) -> usize {
    tensor.elem_count() * tensor.dtype().size_in_bytes()
}

/// Keys and values of one layer and sequence.
#[derive(Clone, Default)]
pub(crate) struct KeyValues {
    pages: Vec<Arc<Page>>,
    n_tokens: usize,
}

struct Page {
    /// `(kv_heads, PAGE, head_dim)`, as are the values.
    keys: Tensor,
    values: Tensor,
    /// Tokens written, by whoever wrote last.
    n_written: AtomicUsize,
}

impl KeyValues {
    /// Tokens so far.
    pub(crate) fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// Adds keys and values, each `(kv_heads, time, head_dim)`.
    pub(crate) fn append(&mut self, k: &Tensor, v: &Tensor) -> TensorResult<()> {
        let (n_heads, time, head_dim) = k.dims3()?;
        let mut n_done = 0;
        while n_done < time {
            let n_before = self.n_tokens % PAGE;
            if n_before == 0 {
                self.pages.push(Arc::new(Page::new(k, (n_heads, PAGE, head_dim))?));
            }
            let Some(page) = self.pages.last_mut() else { candle_core::bail!("no page for keys and values") };
            // Another sequence has gone on from here before: this one needs a page of its own.
            if page.n_written.load(Ordering::Relaxed) != n_before {
                *page = Arc::new(page.copy(n_before)?);
            }
            let n_now = (PAGE - n_before).min(time - n_done);
            page.keys.slice_set(&k.narrow(1, n_done, n_now)?.contiguous()?, 1, n_before)?;
            page.values.slice_set(&v.narrow(1, n_done, n_now)?.contiguous()?, 1, n_before)?;
            page.n_written.store(n_before + n_now, Ordering::Relaxed);
            self.n_tokens += n_now;
            n_done += n_now;
        }
        Ok(())
    }

    /// Keys and values page by page, each `(kv_heads, tokens, head_dim)`.
    pub(crate) fn pages(&self) -> impl Iterator<Item = TensorResult<(Tensor, Tensor)>> {
        self.pages.iter().enumerate().map(|(at, page)| {
            let n_tokens = (self.n_tokens - at * PAGE).min(PAGE);
            Ok((page.keys.narrow(1, 0, n_tokens)?, page.values.narrow(1, 0, n_tokens)?))
        })
    }

    /// All keys and all values, each `(kv_heads, tokens, head_dim)`.
    pub(super) fn joined(&self) -> TensorResult<(Tensor, Tensor)> {
        let (keys, values): (Vec<_>, Vec<_>) = self.pages().collect::<TensorResult<Vec<_>>>()?.into_iter().unzip();
        Ok((Tensor::cat(&keys, 1)?, Tensor::cat(&values, 1)?))
    }

    fn cut(&self, n_tokens: usize) -> Option<Self> {
        let pages = self.pages.get(..n_tokens.div_ceil(PAGE))?.to_vec();
        (n_tokens <= self.n_tokens).then_some(Self { pages, n_tokens })
    }
}

impl Page {
    fn new(like: &Tensor, shape: (usize, usize, usize)) -> TensorResult<Self> {
        let buffer = || Tensor::zeros(shape, DType::F32, like.device());
        Ok(Self { keys: buffer()?, values: buffer()?, n_written: AtomicUsize::new(0) })
    }

    /// A page of its own with the first tokens of this one.
    fn copy(&self, n_tokens: usize) -> TensorResult<Self> {
        let copy = Self::new(&self.keys, self.keys.dims3()?)?;
        if 0 < n_tokens {
            copy.keys.slice_set(&self.keys.narrow(1, 0, n_tokens)?.contiguous()?, 1, 0)?;
            copy.values.slice_set(&self.values.narrow(1, 0, n_tokens)?.contiguous()?, 1, 0)?;
        }
        copy.n_written.store(n_tokens, Ordering::Relaxed);
        Ok(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    /// One head of one value for each token.
    fn values(range: std::ops::Range<usize>) -> Tensor {
        let values: Vec<f32> = range.map(|value| value as f32).collect();
        let n = values.len();
        Tensor::from_vec(values, (1, n, 1), &Device::Cpu).unwrap()
    }

    #[track_caller]
    fn check(past: &KeyValues, expect: impl Iterator<Item = usize>) {
        let read = past.pages().flat_map(|page| page.unwrap().0.flatten_all().unwrap().to_vec1::<f32>().unwrap());
        assert_eq!(read.collect::<Vec<_>>(), expect.map(|value| value as f32).collect::<Vec<_>>());
    }

    fn append(past: &mut KeyValues, range: std::ops::Range<usize>) {
        let new = values(range);
        past.append(&new, &new).unwrap();
    }

    #[test]
    fn sequences_that_part_do_not_see_each_other() {
        let mut first = KeyValues::default();
        append(&mut first, 0..300);
        let snapshot = first.clone();
        append(&mut first, 300..600);
        let (mut second, mut third) = (snapshot.clone(), snapshot.cut(10).unwrap());
        append(&mut second, 1000..1005);
        append(&mut third, 2000..2300);
        check(&first, 0..600);
        check(&snapshot, 0..300);
        check(&second, (0..300).chain(1000..1005));
        check(&third, (0..10).chain(2000..2300));
        assert!(snapshot.cut(301).is_none());
    }

    #[test]
    fn what_states_share_counts_once() {
        let mut past = KeyValues::default();
        append(&mut past, 0..300);
        let state = |past: &KeyValues| State { layers: vec![LayerState::KeyValues(past.clone())], n_tokens: 0 };
        let before = state(&past);
        append(&mut past, 300..310);
        let after = state(&past);
        assert_eq!(State::n_bytes([&before, &after].into_iter()), 2 * PAGE * 2 * size_of::<f32>());
    }
}
