//! From the bytes of a file to tensors.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::path::Path;

use candle_core::quantized::GgmlDType;

use crate::error::{ErrorKind, SdkError};

/// Bytes of a tensor that are read at a time where they become other numbers.
const STRETCH: usize = 4 << 20;

/// The values of an unquantised tensor, widened to f32 as they are read; `None` for quantised types.
pub(crate) fn read_floats<'a>(
    dtype: GgmlDType,
    range: Range<usize>,
    read: impl Fn(Range<usize>) -> io::Result<Cow<'a, [u8]>>,
) -> io::Result<Option<Vec<f32>>> {
    if floats_from_bytes(dtype, &[]).is_none() {
        return Ok(None);
    }
    let mut floats = Vec::with_capacity(range.len() / dtype.type_size());
    for start in range.clone().step_by(STRETCH) {
        let bytes = read(start..range.end.min(start + STRETCH))?;
        floats.extend(floats_from_bytes(dtype, &bytes).unwrap_or_default());
    }
    Ok(Some(floats))
}

/// The values of an unquantised tensor, widened to f32; `None` for quantised types. Bytes of any alignment will do.
fn floats_from_bytes(dtype: GgmlDType, bytes: &[u8]) -> Option<Vec<f32>> {
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

/// A tensor as a header states it.
pub(crate) struct Stated<'a> {
    pub(crate) dtype: GgmlDType,
    /// Outermost first.
    pub(crate) shape: &'a [usize],
    /// In the file.
    pub(crate) n_bytes: usize,
}

impl Stated<'_> {
    pub(crate) fn n_values(&self) -> u64 {
        self.shape.iter().map(|size| *size as u64).product() // no overflow: the header was checked
    }

    /// Bytes once loaded: matrices of quantised types stay as they are, all else becomes f32.
    pub(crate) fn n_bytes_loaded(&self) -> u64 {
        match self.dtype {
            GgmlDType::F32 | GgmlDType::F16 | GgmlDType::BF16 => 4 * self.n_values(),
            _ if self.shape.len() == 1 || !has_products(self.dtype, self.shape) => 4 * self.n_values(),
            _ => self.n_bytes as u64,
        }
    }

    /// Bytes of the copy that candle makes of a matrix at its first product, in the order that products read. At most:
    /// which processors get one is for candle to know. With `one_row`, the matrix meets one token at a time.
    pub(crate) fn n_bytes_copied(&self, one_row: bool) -> u64 {
        if self.shape.len() == 1 {
            return 0;
        }
        let is_arm = cfg!(target_arch = "aarch64");
        match self.dtype {
            GgmlDType::Q4K if !is_arm => self.n_values() / 256 * 192,
            GgmlDType::Q6K if !is_arm && one_row => 0,
            GgmlDType::Q6K if !is_arm => self.n_values() / 256 * 320,
            GgmlDType::Q8_0 => self.n_bytes as u64,
            GgmlDType::Q4_0 | GgmlDType::Q4K | GgmlDType::Q5K | GgmlDType::Q6K if is_arm => self.n_bytes as u64,
            _ => 0,
        }
    }

    /// The type's name, as in llama.cpp's files.
    pub(crate) fn type_name(&self) -> &'static str {
        match self.dtype {
            GgmlDType::F32 => "F32",
            GgmlDType::F16 => "F16",
            GgmlDType::BF16 => "BF16",
            GgmlDType::Q4_0 => "Q4_0",
            GgmlDType::Q4_1 => "Q4_1",
            GgmlDType::Q5_0 => "Q5_0",
            GgmlDType::Q5_1 => "Q5_1",
            GgmlDType::Q8_0 => "Q8_0",
            GgmlDType::Q8_1 => "Q8_1",
            GgmlDType::Q2K => "Q2_K",
            GgmlDType::Q3K => "Q3_K",
            GgmlDType::Q4K => "Q4_K",
            GgmlDType::Q5K => "Q5_K",
            GgmlDType::Q6K => "Q6_K",
            GgmlDType::Q8K => "Q8_K",
        }
    }
}

/// Whether candle multiplies with a quantised matrix. Built for debugging, it panics on rows of an odd number of blocks
/// of some types, and none of its products work after.
pub(crate) fn has_products(dtype: GgmlDType, shape: &[usize]) -> bool {
    let is_paired = matches!(dtype, GgmlDType::Q4_1 | GgmlDType::Q5_0 | GgmlDType::Q5_1);
    !is_paired || shape.last().is_none_or(|columns| columns.is_multiple_of(2 * dtype.block_size()))
}

/// Turns candle's error about a tensor into ours.
pub(crate) fn loading(name: &str) -> impl FnOnce(candle_core::Error) -> SdkError {
    move |err| SdkError::new(ErrorKind::ModelLoad, format!("cannot load tensor {name}")).caused_by(err)
}

/// The error for a file that cannot be read.
pub(crate) fn unreadable(path: &Path) -> impl Fn(io::Error) -> SdkError + '_ {
    |err| SdkError::new(ErrorKind::ModelLoad, format!("cannot read {}", path.display())).caused_by(err)
}

/// The error for a file that has changed since its header was checked.
pub(crate) fn cut_short(name: &str) -> impl Fn(io::Error) -> SdkError + '_ {
    move |err| SdkError::new(ErrorKind::ModelLoad, format!("cannot read tensor {name}")).caused_by(err)
}
