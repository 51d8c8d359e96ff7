//! States as bytes, for sessions that outlive the process.
//!
//! The form, little-endian: the number of tokens (u64), then for each layer a kind (u8). Kind 0 is a convolution: rows
//! and columns (u32), then its inputs (f32). The others are attention, whose keys and values were kept as F32 (1), F16 (2)
//! or Q8_0 (3): heads and head size (u32), then the keys and the values (f32), each as `(heads, tokens, head size)`. A state
//! goes on to the bit as it would have, so it serves only where keys and values are kept as they were.

use candle_core::{Result as TensorResult, Tensor};
use causerie_backend::{CacheShape, CacheType};

use crate::model::candle;
use crate::model::state::{LayerState, State, Window};

const CONVOLUTION: u8 = 0;

/// The kind of attention whose keys and values are kept so.
fn attention(cache_type: CacheType) -> u8 {
    match cache_type {
        CacheType::F32 => 1,
        CacheType::F16 => 2,
        CacheType::Q8_0 => 3,
    }
}

impl State {
    /// The state as bytes.
    pub(crate) fn to_bytes(&self) -> TensorResult<Vec<u8>> {
        let mut bytes = (self.n_tokens as u64).to_le_bytes().to_vec();
        for layer in &self.layers {
            let Some((kind, sizes)) = form(layer) else { candle_core::bail!("a scripted model has no state to save") };
            bytes.push(kind);
            // Sizes of what is in memory are far below 2^32.
            sizes.iter().for_each(|size| bytes.extend((*size as u32).to_le_bytes()));
            for floats in floats(layer)? {
                bytes.extend(floats.iter().flat_map(|float| float.to_le_bytes()));
            }
        }
        Ok(bytes)
    }

    /// The state that these bytes hold; `None` when they are no state, or one of another shape than `like`.
    pub(crate) fn from_bytes(bytes: &[u8], like: &Self) -> Option<Self> {
        let mut rest = bytes;
        let n_tokens = usize::try_from(u64::from_le_bytes(*take(&mut rest)?)).ok()?;
        let layers = like.layers.iter().map(|like| layer(&mut rest, n_tokens, like)).collect::<Option<_>>()?;
        (rest.is_empty() && 0 < n_tokens).then_some(Self { layers, n_tokens })
    }
}

/// The kind of a layer, and its two sizes.
fn form(layer: &LayerState) -> Option<(u8, [usize; 2])> {
    match layer {
        LayerState::Window(window) => Some((CONVOLUTION, [window.inputs.len() / window.hidden.max(1), window.hidden])),
        LayerState::Inputs(inputs) => inputs.dims2().ok().map(|(rows, columns)| (CONVOLUTION, [rows, columns])),
        LayerState::Pages(past) => {
            let CacheShape { n_heads, head_dim, cache_type } = past.shape();
            Some((attention(cache_type), [n_heads, head_dim]))
        }
        LayerState::KeyValues(past) => {
            let (heads, _, head_dim) = past.joined().and_then(|(keys, _)| keys.dims3()).ok()?;
            Some((attention(CacheType::F32), [heads, head_dim]))
        }
        LayerState::Script(_) => None,
    }
}

fn floats(layer: &LayerState) -> TensorResult<Vec<Vec<f32>>> {
    let flat = |tensor: &Tensor| tensor.flatten_all()?.to_vec1::<f32>();
    match layer {
        LayerState::Window(window) => Ok(vec![window.inputs.clone()]),
        LayerState::Inputs(inputs) => Ok(vec![flat(inputs)?]),
        LayerState::Pages(past) => {
            let (keys, values) = past.to_floats();
            Ok(vec![keys, values])
        }
        LayerState::KeyValues(past) => {
            let (keys, values) = past.joined()?;
            Ok(vec![flat(&keys)?, flat(&values)?])
        }
        LayerState::Script(_) => Ok(Vec::new()),
    }
}

fn layer(rest: &mut &[u8], n_tokens: usize, like: &LayerState) -> Option<LayerState> {
    let [kind] = *take(rest)?;
    let sizes = [size(rest)?, size(rest)?];
    if form(like)? != (kind, sizes) {
        return None;
    }
    let [first, second] = sizes;
    match like {
        LayerState::Window(_) => Some(LayerState::Window(Window::new(take_floats(rest, &[first, second])?, second))),
        LayerState::Inputs(like) => {
            let inputs = Tensor::from_vec(take_floats(rest, &sizes)?, &sizes, like.device()).ok()?;
            Some(LayerState::Inputs(inputs))
        }
        LayerState::Pages(like) => {
            let shape = [first, n_tokens, second];
            let (keys, values) = (take_floats(rest, &shape)?, take_floats(rest, &shape)?);
            let mut past = causerie_backend::KeyValues::new(like.shape());
            past.append_heads(&keys, &values);
            Some(LayerState::Pages(past))
        }
        LayerState::KeyValues(like) => {
            let (like, _) = like.joined().ok()?;
            let shape = [first, n_tokens, second];
            let mut tensor = || Tensor::from_vec(take_floats(rest, &shape)?, &shape, like.device()).ok();
            let (keys, values) = (tensor()?, tensor()?);
            let mut past = candle::KeyValues::default();
            past.append(&keys, &values).ok()?;
            Some(LayerState::KeyValues(past))
        }
        LayerState::Script(_) => None,
    }
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (taken, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(taken)
}

fn size(rest: &mut &[u8]) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(*take(rest)?)).ok()
}

fn take_floats(rest: &mut &[u8], shape: &[usize]) -> Option<Vec<f32>> {
    let n_bytes = shape.iter().try_fold(size_of::<f32>(), |product, size| product.checked_mul(*size))?;
    let (taken, behind) = rest.split_at_checked(n_bytes)?;
    *rest = behind;
    let (chunks, _) = taken.as_chunks::<4>();
    Some(chunks.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}
