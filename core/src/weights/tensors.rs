//! From the bytes of a file to tensors.

use candle_core::quantized::GgmlDType;

use crate::error::{ErrorKind, SdkError};

/// The values of an unquantised tensor, widened to f32; `None` for quantised types. Bytes of any alignment will do.
pub(crate) fn floats_from_bytes(dtype: GgmlDType, bytes: &[u8]) -> Option<Vec<f32>> {
    let pairs = || bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    match dtype {
        GgmlDType::F32 => {
            Some(bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect())
        }
        GgmlDType::F16 => Some(pairs().map(|bits| half::f16::from_bits(bits).to_f32()).collect()),
        GgmlDType::BF16 => Some(pairs().map(|bits| half::bf16::from_bits(bits).to_f32()).collect()),
        _ => None,
    }
}

/// Turns candle's error about a tensor into ours.
pub(crate) fn loading(name: &str) -> impl FnOnce(candle_core::Error) -> SdkError {
    move |err| SdkError::new(ErrorKind::ModelLoad, format!("cannot load tensor {name}")).caused_by(err)
}
