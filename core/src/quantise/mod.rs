//! Writes models as quantised GGUF files, tensor by tensor.
//!
//! Tensors are copied as the checkpoint has them. From a GGUF file, metadata is kept; that of a folder is written as llama.cpp's converter
//! writes it.

mod description;
mod encode;
mod gguf_type;
mod metadata;
mod mixture;
mod partial_file;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::path::Path;
use std::thread;

use crate::checkpoint::Checkpoint;
use crate::error::{ErrorKind, Result, SdkError};
use crate::weights::{TensorBlocks, TensorLayout, TensorType, Tensors, Weights, dequantise, gguf_header, padding};

use encode::Encoder;
pub(crate) use encode::encoder;
pub use gguf_type::GgufType;
use mixture::TypeMixture;
pub(crate) use partial_file::PartialFile;

/// Values that are read and encoded at a time, by all threads together.
const CHUNK: usize = 1 << 22;
/// Values above this have no scale in half precision. No trained weight comes near.
const MAX_WEIGHT: f32 = 65504.0;

/// Quantises a model: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache. The result is one GGUF
/// file, in which tensors have the types that llama.cpp chooses. `progress` gets the finished fraction, from 0 to 1; `Break`
/// cancels. A file that is not complete is removed.
///
/// Weights in less than eight bits are not quantised again, because the errors add up: the source must have F32, F16, BF16 or
/// Q8_0.
///
/// ```
/// use causerie::{GgufType, ModelInfo};
/// use std::ops::ControlFlow;
///
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2-hf");
/// # let output = std::env::temp_dir().join(format!("causerie-quantize-{}.gguf", std::process::id()));
/// causerie::quantize(model, GgufType::Q8_0, &output, |fraction| {
///     println!("{:.0} %", fraction * 100.0);
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(ModelInfo::read(output.to_str().unwrap())?.quantisation[0].name, "Q8_0");
/// # std::fs::remove_file(output).unwrap();
/// # Ok::<(), causerie::SdkError>(())
/// ```
///
/// # Errors
/// As [`ModelRunner::load`](crate::ModelRunner::load) for a model that cannot be read, or whose weights have less than eight
/// bits; [`ErrorKind::InvalidOption`] if the output exists or cannot be written; [`ErrorKind::LoadCancelled`] after `Break`.
pub fn quantize(
    model: impl AsRef<Path>,
    gguf_type: GgufType,
    output: impl AsRef<Path>,
    mut progress: impl FnMut(f32) -> ControlFlow<()>,
) -> Result<()> {
    let files = Weights::open(model)?;
    if files.packed().is_some() {
        let rule = "the model's weights must not be packed: the file that was packed can be quantised";
        return Err(SdkError::new(ErrorKind::InvalidOption("model"), rule));
    }
    let mut file = PartialFile::create(output.as_ref())?;
    let checkpoint = Checkpoint::read(&files)?;
    let tensors = plan(&files, &checkpoint.tensors, gguf_type)?;
    let layouts: Vec<TensorLayout> = tensors.iter().map(|tensor| tensor.layout.clone()).collect();
    file.write(&gguf_header(&metadata::of(&files, &checkpoint, gguf_type)?, &layouts))?;
    let total: usize = layouts.iter().map(TensorLayout::n_values).sum();
    let mut n_done = 0;
    let mut report = |n_values: usize| {
        n_done += n_values;
        match progress(n_done as f32 / total.max(1) as f32) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(SdkError::new(ErrorKind::LoadCancelled, "quantising was cancelled")),
        }
    };
    report(0)?;
    for tensor in &tensors {
        tensor.write(&mut file, &mut report)?;
    }
    files.check_unchanged()?;
    file.finish()
}

/// A tensor that is to be written.
struct PlannedTensor<'a> {
    layout: TensorLayout,
    blocks: TensorBlocks<'a>,
    /// `None` if the bytes are copied.
    encoder: Option<Encoder>,
}

fn plan<'a>(files: &'a Weights, tensors: &'a Tensors, gguf_type: GgufType) -> Result<Vec<PlannedTensor<'a>>> {
    // Vectors keep their type in a GGUF file, and are written as F32 from a folder.
    let in_file = files.tensor_names();
    let keeps_types = in_file.is_some();
    let names = in_file.unwrap_or_else(|| {
        let mut names: Vec<_> = tensors.iter().map(|tensor| tensor.name).collect();
        names.sort_by_key(|name| order(name));
        names
    });
    let mixture = TypeMixture::new(gguf_type, names.iter().copied());
    let planned = names.into_iter().map(|name| {
        let (shape, blocks) = (tensors.shape(name).unwrap_or_default().to_vec(), tensors.blocks_of(name)?);
        let kept = if keeps_types { blocks.tensor_type() } else { TensorType::F32 };
        let tensor_type = mixture.tensor_type(name, &shape).unwrap_or(kept);
        PlannedTensor::new(TensorLayout { name: name.to_owned(), shape, tensor_type }, blocks)
    });
    planned.collect()
}

/// The order of a folder's tensors: what is outside of layers, then layer by layer.
fn order(name: &str) -> (usize, &str) {
    let layer = name.strip_prefix("blk.").and_then(|rest| rest.split('.').next()?.parse::<usize>().ok());
    (layer.map_or(0, |layer| layer + 1), name)
}

impl<'a> PlannedTensor<'a> {
    fn new(layout: TensorLayout, blocks: TensorBlocks<'a>) -> Result<Self> {
        if !(1..=4).contains(&layout.shape.len()) {
            let (name, shape) = (&layout.name, &layout.shape);
            return Err(SdkError::new(
                ErrorKind::ModelLoad,
                format!("tensor {name} must have one to four dimensions, found shape {shape:?}"),
            ));
        }
        let found = blocks.tensor_type();
        let is_copied = found == layout.tensor_type;
        let is_precise = [TensorType::F32, TensorType::F16, TensorType::Bf16, TensorType::Q8_0].contains(&found);
        if !is_copied && !is_precise {
            let (name, found) = (&layout.name, found.name());
            return Err(SdkError::new(
                ErrorKind::ModelLoad,
                format!("weights must have eight bits or more to be quantised, found tensor {name} of type {found}"),
            ));
        }
        let encoder = if is_copied { None } else { encoder(layout.tensor_type) };
        Ok(Self { layout, blocks, encoder })
    }

    fn write(&self, file: &mut PartialFile, report: &mut impl FnMut(usize) -> Result<()>) -> Result<()> {
        let columns = self.layout.shape.last().map_or(1, |columns| (*columns).max(1));
        let n_rows = self.layout.n_values() / columns;
        let rows_at_once = (CHUNK / columns).max(1);
        for start in (0..n_rows).step_by(rows_at_once) {
            let rows = start..n_rows.min(start + rows_at_once);
            let n_values = rows.len() * columns;
            for blocks in self.encode(rows, columns)? {
                file.write(&blocks)?;
            }
            report(n_values)?;
        }
        file.write(padding(self.layout.n_bytes()))
    }

    /// The blocks of rows, in parts, each of which a thread has encoded.
    fn encode(&self, rows: std::ops::Range<usize>, columns: usize) -> Result<Vec<Vec<u8>>> {
        let n_threads = thread::available_parallelism().map_or(1, usize::from).min(rows.len());
        let rows_each = rows.len().div_ceil(n_threads);
        let part = |start: usize| start..rows.end.min(start + rows_each);
        thread::scope(|scope| {
            let starts = rows.clone().step_by(rows_each);
            let threads: Vec<_> =
                starts.map(|start| scope.spawn(move || self.encode_part(part(start), columns))).collect();
            let lost = || SdkError::new(ErrorKind::Internal, "a thread that quantises panicked");
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(lost()))).collect()
        })
    }

    fn encode_part(&self, rows: std::ops::Range<usize>, columns: usize) -> Result<Vec<u8>> {
        let tensor_type = self.blocks.tensor_type();
        let row_bytes = row_bytes(columns, tensor_type);
        let (mut values, mut blocks) = (Vec::with_capacity(columns), Vec::new());
        for row in rows {
            let bytes = self.blocks.read(row * row_bytes..(row + 1) * row_bytes);
            let bytes = bytes.map_err(|err| self.blocks.unreadable(err))?;
            let Some(encoder) = self.encoder else {
                blocks.extend_from_slice(&bytes);
                continue;
            };
            values.clear();
            dequantise(tensor_type, &bytes, &mut values);
            self.check(&values)?;
            encoder(&values, &mut blocks);
        }
        Ok(blocks)
    }

    fn check(&self, values: &[f32]) -> Result<()> {
        match values.iter().find(|value| !value.is_finite() || MAX_WEIGHT < value.abs()) {
            Some(value) => Err(SdkError::new(
                ErrorKind::ModelLoad,
                format!("tensor {} must have finite weights of at most {MAX_WEIGHT}, found {value}", self.layout.name),
            )),
            None => Ok(()),
        }
    }
}

/// Bytes of a row, which has whole blocks.
fn row_bytes(columns: usize, tensor_type: TensorType) -> usize {
    columns / tensor_type.block() * tensor_type.block_bytes()
}
