//! Model files: a GGUF file, or a Hugging Face folder. Their headers are checked before anything trusts them.

mod folder;
mod gguf;
mod location;
mod tensor_type;
mod tensors;

use std::borrow::Cow;

use candle_core::Device;
use candle_core::quantized::QMatMul;
use causerie_backend::{Cpu, Matrix};

use crate::error::{ErrorKind, Result, SdkError};
use crate::options::SamplingDefaults;

pub(crate) use folder::Folder;
pub(crate) use gguf::GgufFile;
use tensors::Part;
pub(crate) use tensors::{MatrixPlace, Stated};

/// An open model, of either form. Tensors are asked for by the name that the form uses.
pub(crate) enum Weights {
    Gguf(GgufFile),
    Folder(Folder),
}

impl Weights {
    /// Opens what `model` names: a GGUF file, a folder, or `<namespace>/<name>` in the local cache.
    pub(crate) fn open(model: &str) -> Result<Self> {
        let path = location::locate(model)?;
        if path.is_dir() { Folder::open(&path).map(Self::Folder) } else { GgufFile::open(&path).map(Self::Gguf) }
    }

    /// Opens a GGUF file held in memory.
    pub(crate) fn from_bytes(bytes: Cow<'static, [u8]>) -> Result<Self> {
        GgufFile::from_bytes(bytes).map(Self::Gguf)
    }

    /// Checks that no other program has written to the files since they were opened: what was read of them may not
    /// belong together then.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`].
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        let is_unchanged = match self {
            Self::Gguf(file) => file.is_unchanged(),
            Self::Folder(folder) => folder.is_unchanged(),
        };
        let changed = || SdkError::new(ErrorKind::ModelLoad, "the model's files changed while they were loaded");
        if is_unchanged { Ok(()) } else { Err(changed()) }
    }

    /// The shape of a tensor, outermost first; `None` when there is no such tensor.
    pub(crate) fn shape(&self, name: &str) -> Option<&[usize]> {
        match self {
            Self::Gguf(file) => file.shape(name),
            Self::Folder(folder) => folder.shape(name),
        }
    }

    /// All tensors that can be read, in no order.
    pub(crate) fn tensors(&self) -> Box<dyn Iterator<Item = Stated<'_>> + '_> {
        match self {
            Self::Gguf(file) => Box::new(file.tensors()),
            Self::Folder(folder) => Box::new(folder.tensors()),
        }
    }

    /// A tensor as f32, of the shape expected.
    pub(crate) fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        self.expect(name, shape)?;
        self.part(name, None)?.floats(name)
    }

    /// A matrix of candle's, in the precision of the file where it is quantised.
    pub(crate) fn matrix(&self, place: &MatrixPlace<'_>, device: &Device) -> Result<QMatMul> {
        self.place(place)?.matrix(place, device)
    }

    /// A matrix of the native kernels, in the precision of the file.
    pub(crate) fn packed_matrix(&self, place: &MatrixPlace<'_>, cpu: &Cpu) -> Result<Matrix> {
        self.place(place)?.packed(place, cpu)
    }

    /// Whether both tensors are there, with different bytes.
    pub(crate) fn differ(&self, a: &str, b: &str) -> bool {
        let [Ok(a), Ok(b)] = [a, b].map(|name| self.part(name, None)) else { return false };
        !a.is_same(&b)
    }

    fn place(&self, place: &MatrixPlace<'_>) -> Result<Part<'_>> {
        let (rows, columns) = place.shape;
        match place.of_stack {
            Some((_, n_matrices)) => self.expect(place.name, &[n_matrices, rows, columns])?,
            None => self.expect(place.name, &[rows, columns])?,
        }
        self.part(place.name, place.of_stack)
    }

    /// A tensor's bytes, or those of one of several matrices that it stacks.
    fn part(&self, name: &str, of_stack: Option<(usize, usize)>) -> Result<Part<'_>> {
        let part = match self {
            Self::Gguf(file) => file.part(name),
            Self::Folder(folder) => folder.part(name),
        };
        let mut part = part.ok_or_else(|| self.missing(name))?;
        if let Some((index, n_matrices)) = of_stack {
            let size = part.bytes.len() / n_matrices.max(1); // whole: rows divide into blocks
            let start = part.bytes.start + index * size;
            part.bytes = start..start + size;
        }
        Ok(part)
    }

    fn expect(&self, name: &str, shape: &[usize]) -> Result<()> {
        match self.shape(name) {
            Some(found) if found == shape => Ok(()),
            Some(found) => Err(SdkError::new(
                ErrorKind::ModelLoad,
                format!("tensor {name} has shape {found:?}, expected {shape:?}"),
            )),
            None => Err(self.missing(name)),
        }
    }

    /// The error for a tensor that is needed and not there, or there in a type that cannot be read.
    pub(crate) fn missing(&self, name: &str) -> SdkError {
        let unread = match self {
            Self::Gguf(_) => None,
            Self::Folder(folder) => folder.unread(name),
        };
        let message = match unread {
            Some(dtype) => format!("tensor {name} is of type {dtype}, which is not supported"),
            None => format!("tensor {name} is missing"),
        };
        SdkError::new(ErrorKind::ModelLoad, message)
    }

    /// The sampling values that the model's files recommend: `generation_config.json`, or `general.sampling.*`.
    pub(crate) fn sampling_defaults(&self) -> Result<SamplingDefaults> {
        let defaults = self.stated_sampling()?;
        let wrong = |err: SdkError| {
            SdkError::new(ErrorKind::ModelLoad, "the model's own sampling defaults are out of range").caused_by(err)
        };
        defaults.check().map_err(wrong)?;
        Ok(defaults)
    }

    fn stated_sampling(&self) -> Result<SamplingDefaults> {
        match self {
            Self::Gguf(file) => Ok(SamplingDefaults {
                temperature: file.float("general.sampling.temp")?,
                top_p: file.float("general.sampling.top_p")?,
                // llama.cpp writes 0 or less for "all".
                top_k: file.integer("general.sampling.top_k")?.map(|k| usize::try_from(k).unwrap_or(0)),
                min_p: file.float("general.sampling.min_p")?,
                repetition_penalty: file.float("general.sampling.penalty_repeat")?,
            }),
            Self::Folder(folder) => {
                let config = folder.json("generation_config.json")?.unwrap_or_default();
                let number = |key: &str| config.get(key)?.as_f64().map(|number| number as f32); // settings may round
                let is_greedy = config.get("do_sample").and_then(|flag| flag.as_bool()) == Some(false);
                Ok(SamplingDefaults {
                    // Files without any sampling value say do_sample = false by default, not by choice.
                    temperature: number("temperature").map(|temperature| if is_greedy { 0.0 } else { temperature }),
                    top_p: number("top_p"),
                    top_k: config.get("top_k").and_then(|k| k.as_u64()).and_then(|k| usize::try_from(k).ok()),
                    min_p: number("min_p"),
                    repetition_penalty: number("repetition_penalty"),
                })
            }
        }
    }
}
