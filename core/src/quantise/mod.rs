//! Writes models as quantised GGUF files, tensor by tensor.
//!
//! From a GGUF file, names and metadata are kept; from a folder, `model` and `tokenizer` describe them as llama.cpp's converter
//! does.

mod encode;
mod gguf_type;
mod metadata;
mod mixture;
mod partial_file;
mod tensor_source;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::path::Path;
use std::thread;

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::{ExportedTensor, exported_tensors, read_architecture};
use crate::weights::{TensorLayout, TensorType, Weights, gguf_header, padding};

use encode::{Encoder, encoder};
pub use gguf_type::GgufType;
use mixture::TypeMixture;
pub(crate) use partial_file::PartialFile;
use tensor_source::TensorSource;

/// Values that are read and encoded at a time, by all threads together.
const CHUNK: usize = 1 << 22;

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
    model: &str,
    gguf_type: GgufType,
    output: impl AsRef<Path>,
    mut progress: impl FnMut(f32) -> ControlFlow<()>,
) -> Result<()> {
    let weights = Weights::open(model)?;
    let mut file = PartialFile::create(output.as_ref())?;
    let architecture = read_architecture(&weights)?;
    let exported = match &weights {
        Weights::Gguf(_) => Vec::new(),
        Weights::Folder(_) => exported_tensors(&weights, &architecture)?,
    };
    let tensors = plan(&weights, &exported, gguf_type)?;
    let layouts: Vec<TensorLayout> = tensors.iter().map(|tensor| tensor.layout.clone()).collect();
    file.write(&gguf_header(&metadata::of(&weights, &architecture, gguf_type)?, &layouts))?;
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
    weights.check_unchanged()?;
    file.finish()
}

/// A tensor that is to be written.
struct PlannedTensor<'a> {
    layout: TensorLayout,
    source: TensorSource<'a>,
    /// `None` if the bytes are copied.
    encoder: Option<Encoder>,
}

fn plan<'a>(
    weights: &'a Weights,
    exported: &'a [ExportedTensor],
    gguf_type: GgufType,
) -> Result<Vec<PlannedTensor<'a>>> {
    let mut tensors = Vec::new();
    if let Weights::Gguf(file) = weights {
        for name in file.tensor_names() {
            let shape = file.shape(name).unwrap_or_default();
            tensors.push((name, shape, TensorSource::of_file(weights, name)?));
        }
    }
    for ExportedTensor { name, shape, source } in exported {
        tensors.push((name, shape, TensorSource::of_folder(weights, source)?));
    }
    let mixture = TypeMixture::new(gguf_type, tensors.iter().map(|(name, ..)| *name));
    let planned = tensors.into_iter().map(|(name, shape, source)| {
        let kept = if matches!(weights, Weights::Gguf(_)) { source.tensor_type() } else { TensorType::F32 };
        let wanted = mixture.tensor_type(name, shape);
        PlannedTensor::new(
            TensorLayout { name: name.to_owned(), shape: shape.to_vec(), tensor_type: wanted.unwrap_or(kept) },
            source,
        )
    });
    planned.collect()
}

impl<'a> PlannedTensor<'a> {
    fn new(layout: TensorLayout, source: TensorSource<'a>) -> Result<Self> {
        if !(1..=4).contains(&layout.shape.len()) {
            let (name, shape) = (&layout.name, &layout.shape);
            return Err(SdkError::new(
                ErrorKind::ModelLoad,
                format!("tensor {name} must have one to four dimensions, found shape {shape:?}"),
            ));
        }
        let found = source.tensor_type();
        let is_copied = source.is_whole() && found == layout.tensor_type;
        let is_precise = [TensorType::F32, TensorType::F16, TensorType::Bf16, TensorType::Q8_0].contains(&found);
        if !is_copied && !is_precise {
            let (name, found) = (&layout.name, found.name());
            return Err(SdkError::new(
                ErrorKind::ModelLoad,
                format!("weights must have eight bits or more to be quantised, found tensor {name} of type {found}"),
            ));
        }
        let encoder = if is_copied { None } else { encoder(layout.tensor_type) };
        Ok(Self { layout, source, encoder })
    }

    fn write(&self, file: &mut PartialFile, report: &mut impl FnMut(usize) -> Result<()>) -> Result<()> {
        let columns = match self.layout.shape[..] {
            [_] if self.source.is_reordered() => 1, // a vector that belongs to a matrix with reordered rows
            [.., columns] => columns.max(1),
            [] => 1,
        };
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
        let (mut values, mut blocks) = (Vec::with_capacity(columns), Vec::new());
        for row in rows {
            let Some(encoder) = self.encoder else {
                self.source.copy_row(row, columns, &mut blocks)?;
                continue;
            };
            values.clear();
            let invalid =
                |err: SdkError| SdkError::new(err.kind(), format!("tensor {}", self.layout.name)).caused_by(err);
            self.source.read_row(row, columns, &mut values).map_err(invalid)?;
            encoder(&values, &mut blocks);
        }
        Ok(blocks)
    }
}
