//! Encodes values as blocks of the types of GGUF files. The layouts are those that `weights` reads.

mod affine;
mod lanes;
mod plain;
mod signed;

use crate::weights::TensorType;

/// Appends the blocks of whole blocks' values, which must be finite.
pub(crate) type Encoder = fn(&[f32], &mut Vec<u8>);

/// The encoder of a type; `None` if tensors of the type can only be read.
pub(crate) fn encoder(tensor_type: TensorType) -> Option<Encoder> {
    Some(match tensor_type {
        TensorType::F32 => plain::f32,
        TensorType::F16 => plain::f16,
        TensorType::Q8_0 => plain::q8_0,
        TensorType::Q4_0 => plain::q4_0,
        TensorType::Q5_0 => signed::q5_0,
        TensorType::Q5_1 => affine::q5_1,
        TensorType::Q4K => affine::q4_k,
        TensorType::Q5K => affine::q5_k,
        TensorType::Q6K => signed::q6_k,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
