//! Matrices of candle, in the type of the file if candle multiplies with it, otherwise as f32.

use std::borrow::Cow;

use candle_core::quantized::{GgmlDType, QMatMul, QStorage, QTensor};
use candle_core::{Device, Tensor};

use crate::error::{ErrorKind, Result, SdkError};
use crate::weights::{MatrixPlace, TensorBlocks, TensorType, Tensors};

pub(super) fn matrix(tensors: &Tensors, place: &MatrixPlace<'_>, device: &Device) -> Result<QMatMul> {
    let blocks = tensors.blocks(place)?;
    let failed = |err| SdkError::new(ErrorKind::ModelLoad, format!("cannot load tensor {}", place.name)).caused_by(err);
    match multiplied_as(blocks.tensor_type(), place.shape.1) {
        Some(dtype) => {
            let bytes = aligned(&blocks, place.name)?;
            let storage = QStorage::from_data(bytes, device, dtype).map_err(failed)?;
            QTensor::new(storage, place.shape).and_then(QMatMul::from_qtensor).map_err(failed)
        }
        None => Tensor::from_vec(blocks.values()?, place.shape, device).map(QMatMul::Tensor).map_err(failed),
    }
}

/// candle's name of a type that it multiplies with.
fn multiplied_as(tensor_type: TensorType, n_columns: usize) -> Option<GgmlDType> {
    // Built for debugging, candle panics on rows with an odd number of these blocks.
    let has_pairs = n_columns.is_multiple_of(2 * tensor_type.block());
    match tensor_type {
        TensorType::Q4_0 => Some(GgmlDType::Q4_0),
        TensorType::Q8_0 => Some(GgmlDType::Q8_0),
        TensorType::Q2K => Some(GgmlDType::Q2K),
        TensorType::Q3K => Some(GgmlDType::Q3K),
        TensorType::Q4K => Some(GgmlDType::Q4K),
        TensorType::Q5K => Some(GgmlDType::Q5K),
        TensorType::Q6K => Some(GgmlDType::Q6K),
        TensorType::Q4_1 if has_pairs => Some(GgmlDType::Q4_1),
        TensorType::Q5_0 if has_pairs => Some(GgmlDType::Q5_0),
        TensorType::Q5_1 if has_pairs => Some(GgmlDType::Q5_1),
        _ => None,
    }
}

/// All bytes of a matrix. candle casts them to blocks that need an alignment of four bytes at most, and panics otherwise.
fn aligned<'a>(blocks: &'a TensorBlocks<'_>, name: &str) -> Result<Cow<'a, [u8]>> {
    let is_aligned = |bytes: &[u8]| bytes.as_ptr().addr().is_multiple_of(4);
    let bytes = blocks.read(0..blocks.n_bytes()).map_err(|err| blocks.unreadable(err))?;
    let bytes = if is_aligned(&bytes) { bytes } else { Cow::Owned(bytes.to_vec()) };
    match is_aligned(&bytes) {
        true => Ok(bytes),
        false => Err(SdkError::new(ErrorKind::Internal, format!("tensor {name} cannot be aligned"))),
    }
}
