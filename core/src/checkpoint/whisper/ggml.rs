//! What a file of ggml says of a Whisper model.

use crate::checkpoint::invalid::invalid;
use crate::checkpoint::whisper::architecture::WhisperArchitecture;
use crate::checkpoint::whisper::names::{CONVOLUTIONS, kernel_columns};
use crate::checkpoint::whisper::tokens::WhisperTokens;
use crate::error::Result;
use crate::weights::{GgmlFile, GgmlSizes, MappedRows, Tensor, TensorSource, Tensors};

pub(super) fn architecture(sizes: &GgmlSizes) -> Result<WhisperArchitecture> {
    let GgmlSizes { sound_hidden, text_hidden, .. } = *sizes;
    if sound_hidden != text_hidden {
        return Err(invalid(format!("n_text_state must be n_audio_state, {sound_hidden}, found {text_hidden}")));
    }
    Ok(WhisperArchitecture {
        n_bins: sizes.n_bins,
        n_sound_positions: sizes.n_sound_positions,
        hidden: sound_hidden,
        n_sound_layers: sizes.n_sound_layers,
        n_sound_heads: sizes.n_sound_heads,
        n_text_layers: sizes.n_text_layers,
        n_text_heads: sizes.n_text_heads,
        n_text_positions: sizes.n_text_positions,
        n_vocabulary: sizes.n_vocabulary,
    })
}

pub(super) fn tokens(file: &GgmlFile, architecture: &WhisperArchitecture) -> WhisperTokens {
    WhisperTokens::of_vocabulary(u32::try_from(file.tokens.len()).ok(), architecture)
}

/// The tensors, with kernels of convolutions as matrices.
pub(super) fn tensors(file: &GgmlFile) -> Result<Tensors> {
    let tensor = |(name, shape): (&str, &[usize])| {
        let bytes = file.tensor(name)?;
        let (tensor_type, mut shape) = (bytes.tensor_type(), shape.to_vec());
        let is_kernel = CONVOLUTIONS.iter().any(|(part, _)| name.strip_prefix(part) == Some(".weight"));
        let source = match shape[..] {
            [n_rows, n_inputs, size] if is_kernel => {
                shape = vec![n_rows, n_inputs * size];
                let columns = kernel_columns(n_inputs, size);
                TensorSource::Rows(MappedRows::new(vec![bytes], n_inputs * size, None, Some(columns))?)
            }
            _ => TensorSource::File(bytes),
        };
        Some((name.to_owned(), Tensor::new(tensor_type, shape, source)))
    };
    let found = file.tensors().map(|(name, shape)| {
        tensor((name, shape))
            .ok_or_else(|| invalid(format!("tensor {name} must not be quantised, found shape {shape:?}")))
    });
    found.collect::<Result<Vec<_>>>().map(|tensors| tensors.into_iter().collect())
}
