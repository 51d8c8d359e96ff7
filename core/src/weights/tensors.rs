//! From the bytes of a file to tensors.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::path::Path;

use candle_core::quantized::{GgmlDType, QMatMul, QStorage, QTensor};
use candle_core::{Device, Tensor};
use causerie_backend::{Cpu, Format, Matrix, ModelFile};

use crate::error::{ErrorKind, Result, SdkError};
use crate::weights::tensor_type::TensorType;

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
    pub(super) tensor_type: &'static TensorType,
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
                let n = self.bytes.len() / self.tensor_type.block_bytes * self.tensor_type.block;
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
        if !has_products(self.tensor_type.kept_as, &shape) {
            return blocks.dequantize(device).map(QMatMul::Tensor).map_err(loading(name));
        }
        QMatMul::from_qtensor(blocks).map_err(loading(name))
    }

    /// The matrix as the native kernels have it.
    pub(super) fn packed(&self, place: &MatrixPlace<'_>, cpu: &Cpu) -> Result<Matrix> {
        let packed = cpu.matrix(self.tensor_type.kept_as, place.shape, |kept| {
            let [start, end] = [kept.start, kept.end].map(|at| self.bytes.start + self.tensor_type.bytes_in_file(at));
            self.content.part(start..end).map(|blocks| self.tensor_type.to_kept(blocks))
        });
        packed.map_err(cut_short(place.name))
    }

    /// Whether the bytes are those of another part, and mean the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let stretches = |part: &Self| {
            let end = part.bytes.end;
            part.bytes.clone().step_by(STRETCH).map(move |start| start..end.min(start + STRETCH))
        };
        let is_same = |(a, b)| matches!((self.content.part(a), other.content.part(b)), (Ok(a), Ok(b)) if a == b);
        std::ptr::eq(self.tensor_type, other.tensor_type)
            && self.bytes.len() == other.bytes.len()
            && stretches(self).zip(stretches(other)).all(is_same)
    }

    /// The values of a type that is widened to f32; `None` for quantised types.
    fn unquantised(&self) -> io::Result<Option<Vec<f32>>> {
        let format = self.tensor_type.kept_as;
        if format.is_quantised() {
            return Ok(None);
        }
        let mut floats = Vec::with_capacity(self.bytes.len() / self.tensor_type.block_bytes);
        for start in self.bytes.clone().step_by(STRETCH) {
            let bytes = self.content.part(start..self.bytes.end.min(start + STRETCH))?;
            floats.extend(floats_from_bytes(format, &bytes));
        }
        Ok(Some(floats))
    }

    fn blocks(&self, name: &str, shape: &[usize], device: &Device) -> Result<QTensor> {
        let bytes = self.content.part(self.bytes.clone()).map_err(cut_short(name))?;
        let bytes = self.tensor_type.to_kept(bytes);
        // candle casts the bytes to blocks of at most four-byte alignment, and panics where they do not lie so.
        let is_aligned = |bytes: &[u8]| bytes.as_ptr().addr().is_multiple_of(4);
        let bytes = if is_aligned(&bytes) { bytes } else { Cow::Owned(bytes.to_vec()) };
        if !is_aligned(&bytes) {
            return Err(SdkError::new(ErrorKind::Internal, format!("tensor {name} cannot be aligned")));
        }
        QStorage::from_data(bytes, device, of_candle(self.tensor_type.kept_as))
            .and_then(|storage| QTensor::new(storage, shape))
            .map_err(loading(name))
    }
}

/// candle's name of a format.
fn of_candle(format: Format) -> GgmlDType {
    match format {
        Format::F32 => GgmlDType::F32,
        Format::F16 => GgmlDType::F16,
        Format::Bf16 => GgmlDType::BF16,
        Format::Q8_0 => GgmlDType::Q8_0,
        Format::Q4_0 => GgmlDType::Q4_0,
        Format::Q5_1 => GgmlDType::Q5_1,
        Format::Q4K => GgmlDType::Q4K,
        Format::Q5K => GgmlDType::Q5K,
        Format::Q6K => GgmlDType::Q6K,
    }
}

/// The values of an unquantised tensor, widened to f32. Bytes of any alignment will do.
fn floats_from_bytes(format: Format, bytes: &[u8]) -> Vec<f32> {
    let pairs = || bytes.as_chunks().0.iter().map(|pair| u16::from_le_bytes(*pair));
    match format {
        Format::F16 => pairs().map(|bits| half::f16::from_bits(bits).to_f32()).collect(),
        Format::Bf16 => pairs().map(|bits| half::bf16::from_bits(bits).to_f32()).collect(),
        _ => bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect(),
    }
}

/// A tensor as a header states it.
pub(crate) struct Stated<'a> {
    pub(crate) tensor_type: &'static TensorType,
    /// Outermost first.
    pub(crate) shape: &'a [usize],
    /// In the file.
    pub(crate) n_bytes: usize,
}

impl Stated<'_> {
    pub(crate) fn n_values(&self) -> u64 {
        self.shape.iter().map(|size| *size as u64).product() // no overflow: the header was checked
    }

    /// Bytes once loaded on the CPU: matrices in the format that their type is kept as, all else as f32.
    pub(crate) fn n_bytes_loaded(&self) -> u64 {
        let Some((columns, outer)) = self.shape.split_last().filter(|(_, outer)| !outer.is_empty()) else {
            return 4 * self.n_values();
        };
        let n_rows = outer.iter().try_fold(1usize, |n_rows, size| n_rows.checked_mul(*size));
        let n_bytes = n_rows.and_then(|n_rows| self.tensor_type.kept_as.matrix_bytes((n_rows, *columns)));
        n_bytes.map_or(u64::MAX, |n_bytes| n_bytes as u64)
    }
}

/// Whether candle multiplies with a quantised matrix. Built for debugging, it panics on rows of an odd number of blocks
/// of Q5_1, and none of its products work after.
fn has_products(format: Format, shape: &[usize]) -> bool {
    format != Format::Q5_1 || shape.last().is_none_or(|columns| columns.is_multiple_of(2 * format.block()))
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
