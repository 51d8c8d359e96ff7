//! The taps of a causal convolution over time: each channel mixes its last few inputs.

use crate::checkpoint::invalid;
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::layer_weights::LayerWeights;

/// The longest window that is accepted; known models have 3, 4 and 7.
const MAX_WINDOW: usize = 64;

/// The number of tokens that the convolution of a layer spans.
pub(crate) fn window<B: Backend>(weights: &LayerWeights<'_, B>, part: &str, n_channels: usize) -> Result<usize> {
    let shape = weights.shape(part).unwrap_or_default();
    match *shape {
        [rows, window] if rows == n_channels && (2..=MAX_WINDOW).contains(&window) => Ok(window),
        _ => {
            let name = weights.file_name(part);
            Err(invalid(format!(
                "tensor {name} must have {n_channels} rows of 2 to {MAX_WINDOW} values, found shape {shape:?}"
            )))
        }
    }
}

/// One row for each position of the window, oldest first: `(window * channels)`.
pub(crate) fn read<B: Backend>(weights: &LayerWeights<'_, B>, part: &str, n_channels: usize) -> Result<Vec<f32>> {
    let window = window(weights, part, n_channels)?;
    let by_channel = weights.tensors.floats(&weights.name(part), weights.shape(part).unwrap_or_default())?;
    Ok((0..window).flat_map(|tap| by_channel[tap..].iter().step_by(window).copied()).collect())
}
