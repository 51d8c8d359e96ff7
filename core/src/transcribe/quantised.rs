//! Stores the matrices of a model in fewer bits while it is loaded.

use crate::checkpoint::WhisperCheckpoint;
use crate::error::{ErrorKind, Result, SdkError};
use crate::quantise::{GgufType, encoder};
use crate::weights::{Tensor, TensorSource};

/// Replaces the matrices that are not quantised by quantised ones. Convolutions, which are few, stay as they are.
pub(super) fn quantise(checkpoint: &mut WhisperCheckpoint, to: GgufType) -> Result<()> {
    let tensors = &mut checkpoint.tensors;
    let is_matrix = |name: &str, shape: &[usize]| {
        shape.len() == 2 && name.ends_with(".weight") && !name.starts_with("encoder.conv")
    };
    let tensor_type = to.tensor_type();
    let encode = encoder(tensor_type).ok_or_else(|| refused(to, "a type that can be written"))?;
    let matrices: Vec<(String, Vec<usize>)> = tensors
        .iter()
        .filter(|tensor| is_matrix(tensor.name, tensor.shape) && !tensor.tensor_type.is_quantised())
        .map(|tensor| (tensor.name.to_owned(), tensor.shape.to_vec()))
        .collect();
    for (name, shape) in matrices {
        if !shape[1].is_multiple_of(tensor_type.block()) {
            let block = tensor_type.block();
            return Err(refused(to, &format!("a type whose blocks divide rows of {} values, not {block}", shape[1])));
        }
        let values = tensors.blocks_of(&name)?.values()?;
        if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            let message = format!("tensor {} must have finite weights, found {value}", tensors.file_name(&name));
            return Err(SdkError::new(ErrorKind::ModelLoad, message));
        }
        let mut blocks = Vec::with_capacity(values.len() / tensor_type.block() * tensor_type.block_bytes());
        encode(&values, &mut blocks);
        tensors.insert(name, Tensor::new(tensor_type, shape, TensorSource::Blocks(blocks)));
    }
    Ok(())
}

fn refused(found: GgufType, expected: &str) -> SdkError {
    SdkError::new(ErrorKind::InvalidOption("quantize"), format!("quantize must be {expected}, found {found}"))
}
