//! From the bytes of a file to tensors.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::path::Path;

use candle_core::quantized::{GgmlDType, QMatMul, QStorage, QTensor};
use candle_core::{Device, Tensor};
use causerie_backend::{Cpu, Format, Matrix, ModelFile};

use crate::error::{ErrorKind, Result, SdkError};

/// Bytes of a tensor that are read at a time where they become other numbers.
const STRETCH: usize = 4 << 20;

/// Which matrix is wanted.
pub(crate) struct MatrixPlace<'a> {
    /// In the file.
    pub(crate) name: &'a str,
    /// `(outputs, inputs)`
    pub(crate) shape: (usize, usize),
    /// Of a tensor that stacks several: which, and how many there are.
    pub(crate) of_stack: Option<(usize, usize)>,
}

/// The bytes of a tensor, or of a part of it, where they lie.
pub(super) struct Part<'a> {
    pub(super) dtype: GgmlDType,
    pub(super) bytes: Range<usize>,
    pub(super) content: &'a Content,
}

/// What tensors are read from.
pub(super) enum Content {
    OnDisk(ModelFile),
    InMemory(Cow<'static, [u8]>),
}

impl Content {
    /// A part of the content, as the header places it: within.
    pub(super) fn part(&self, range: Range<usize>) -> io::Result<Cow<'_, [u8]>> {
        match self {
            Self::OnDisk(file) => file.read(range).map(Cow::Owned),
            Self::InMemory(bytes) => Ok(Cow::Borrowed(&bytes[range])),
        }
    }

    /// Whether no other program has written to it since it was opened.
    pub(super) fn is_unchanged(&self) -> bool {
        match self {
            Self::OnDisk(file) => file.is_unchanged(),
            Self::InMemory(_) => true,
        }
    }
}

impl Part<'_> {
    /// The values, as f32.
    pub(super) fn floats(&self, name: &str) -> Result<Vec<f32>> {
        match self.unquantised().map_err(cut_short(name))? {
            Some(floats) => Ok(floats),
            None => {
                let n = self.bytes.len() / self.dtype.type_size() * self.dtype.block_size();
                let values = self.blocks(name, &[n], &Device::Cpu)?.dequantize(&Device::Cpu);
                values.and_then(|values| values.to_vec1()).map_err(loading(name))
            }
        }
    }

    /// The matrix as candle has it.
    pub(super) fn matrix(&self, place: &MatrixPlace<'_>, device: &Device) -> Result<QMatMul> {
        let (name, shape) = (place.name, [place.shape.0, place.shape.1]);
        if let Some(floats) = self.unquantised().map_err(cut_short(name))? {
            return Tensor::from_vec(floats, &shape, device).map(QMatMul::Tensor).map_err(loading(name));
        }
        let blocks = self.blocks(name, &shape, device)?;
        if !has_products(self.dtype, &shape) {
            return blocks.dequantize(device).map(QMatMul::Tensor).map_err(loading(name));
        }
        QMatMul::from_qtensor(blocks).map_err(loading(name))
    }

    /// The matrix as the native kernels have it. Types that they do not know become f32.
    pub(super) fn packed(&self, place: &MatrixPlace<'_>, cpu: &Cpu) -> Result<Matrix> {
        let packed = match native_format(self.dtype) {
            Some(format) => {
                let start = self.bytes.start;
                cpu.matrix(format, place.shape, |part| self.content.part(start + part.start..start + part.end))
            }
            None => {
                let bytes: Vec<u8> = self.floats(place.name)?.iter().flat_map(|x| x.to_le_bytes()).collect();
                cpu.matrix(Format::F32, place.shape, |part| Ok(&bytes[part]))
            }
        };
        packed.map_err(cut_short(place.name))
    }

    /// The values of a type that is widened to f32; `None` for quantised types.
    fn unquantised(&self) -> io::Result<Option<Vec<f32>>> {
        if floats_from_bytes(self.dtype, &[]).is_none() {
            return Ok(None);
        }
        let mut floats = Vec::with_capacity(self.bytes.len() / self.dtype.type_size());
        for start in self.bytes.clone().step_by(STRETCH) {
            let bytes = self.content.part(start..self.bytes.end.min(start + STRETCH))?;
            floats.extend(floats_from_bytes(self.dtype, &bytes).unwrap_or_default());
        }
        Ok(Some(floats))
    }

    fn blocks(&self, name: &str, shape: &[usize], device: &Device) -> Result<QTensor> {
        let bytes = self.content.part(self.bytes.clone()).map_err(cut_short(name))?;
        // candle casts the bytes to blocks of at most four-byte alignment, and panics where they do not lie so.
        let is_aligned = |bytes: &[u8]| bytes.as_ptr().addr().is_multiple_of(4);
        let bytes = if is_aligned(&bytes) { bytes } else { Cow::Owned(bytes.to_vec()) };
        if !is_aligned(&bytes) {
            return Err(SdkError::new(ErrorKind::Internal, format!("tensor {name} cannot be aligned")));
        }
        QStorage::from_data(bytes, device, self.dtype)
            .and_then(|storage| QTensor::new(storage, shape))
            .map_err(loading(name))
    }
}

/// The native kernels' name of a type.
fn native_format(dtype: GgmlDType) -> Option<Format> {
    match dtype {
        GgmlDType::F32 => Some(Format::F32),
        GgmlDType::F16 => Some(Format::F16),
        GgmlDType::BF16 => Some(Format::Bf16),
        GgmlDType::Q8_0 => Some(Format::Q8_0),
        GgmlDType::Q4_0 => Some(Format::Q4_0),
        GgmlDType::Q4K => Some(Format::Q4K),
        GgmlDType::Q5K => Some(Format::Q5K),
        GgmlDType::Q6K => Some(Format::Q6K),
        _ => None,
    }
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

    /// Bytes once loaded on the CPU: matrices in the format that the native kernels have for their type, all else as f32.
    pub(crate) fn n_bytes_loaded(&self) -> u64 {
        let Some((columns, outer)) = self.shape.split_last().filter(|(_, outer)| !outer.is_empty()) else {
            return 4 * self.n_values();
        };
        let format = native_format(self.dtype).unwrap_or(Format::F32);
        let n_rows = outer.iter().try_fold(1usize, |n_rows, size| n_rows.checked_mul(*size));
        let n_bytes = n_rows.and_then(|n_rows| format.matrix_bytes((n_rows, *columns)));
        n_bytes.map_or(u64::MAX, |n_bytes| n_bytes as u64)
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
fn has_products(dtype: GgmlDType, shape: &[usize]) -> bool {
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
