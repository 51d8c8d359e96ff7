//! States as bytes, for sessions that outlive the process.
//!
//! The form, little-endian: the number of tokens (u64), then for each layer a kind (u8). Kind 0 is a convolution: rows
//! and columns (u32), then its inputs (f32). Kind 1 is attention: heads and head size (u32), then the keys and the values
//! (f32), each as `(heads, tokens, head size)`.

use candle_core::{Device, Result as TensorResult, Tensor};

use crate::model::state::{KeyValues, LayerState, State};

const CONVOLUTION: u8 = 0;
const ATTENTION: u8 = 1;

impl State {
    /// The state as bytes.
    pub(crate) fn to_bytes(&self) -> TensorResult<Vec<u8>> {
        let mut bytes = (self.n_tokens as u64).to_le_bytes().to_vec();
        for layer in &self.layers {
            match layer {
                LayerState::Inputs(inputs) => {
                    let (rows, columns) = inputs.dims2()?;
                    bytes.push(CONVOLUTION);
                    put_sizes(&mut bytes, [rows, columns]);
                    put(&mut bytes, inputs)?;
                }
                LayerState::KeyValues(past) => {
                    let (keys, values) = past.joined()?;
                    let (heads, _, head_dim) = keys.dims3()?;
                    bytes.push(ATTENTION);
                    put_sizes(&mut bytes, [heads, head_dim]);
                    put(&mut bytes, &keys)?;
                    put(&mut bytes, &values)?;
                }
                LayerState::Script(_) => candle_core::bail!("a scripted model has no state to save"),
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

fn layer(rest: &mut &[u8], n_tokens: usize, like: &LayerState) -> Option<LayerState> {
    let [kind] = *take(rest)?;
    let sizes = [size(rest)?, size(rest)?];
    match like {
        LayerState::Inputs(like) => {
            let is_fine = kind == CONVOLUTION && like.dims() == sizes;
            is_fine.then(|| floats(rest, &sizes, like.device()).map(LayerState::Inputs))?
        }
        LayerState::KeyValues(like) => {
            let (keys, _) = like.joined().ok()?;
            if kind != ATTENTION || [keys.dim(0).ok()?, keys.dim(2).ok()?] != sizes {
                return None;
            }
            let shape = [sizes[0], n_tokens, sizes[1]];
            let (keys, values) = (floats(rest, &shape, keys.device())?, floats(rest, &shape, keys.device())?);
            let mut past = KeyValues::default();
            past.append(&keys, &values).ok()?;
            Some(LayerState::KeyValues(past))
        }
        LayerState::Script(_) => None,
    }
}

fn put_sizes(bytes: &mut Vec<u8>, sizes: [usize; 2]) {
    // Sizes of tensors in memory are far below 2^32.
    sizes.iter().for_each(|size| bytes.extend((*size as u32).to_le_bytes()));
}

fn put(bytes: &mut Vec<u8>, tensor: &Tensor) -> TensorResult<()> {
    let floats = tensor.flatten_all()?.to_vec1::<f32>()?;
    bytes.extend(floats.iter().flat_map(|float| float.to_le_bytes()));
    Ok(())
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (taken, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(taken)
}

fn size(rest: &mut &[u8]) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(*take(rest)?)).ok()
}

fn floats(rest: &mut &[u8], shape: &[usize], device: &Device) -> Option<Tensor> {
    let n_bytes = shape.iter().try_fold(size_of::<f32>(), |product, size| product.checked_mul(*size))?;
    let (taken, behind) = rest.split_at_checked(n_bytes)?;
    *rest = behind;
    let (chunks, _) = taken.as_chunks::<4>();
    Tensor::from_vec(chunks.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(), shape, device).ok()
}
