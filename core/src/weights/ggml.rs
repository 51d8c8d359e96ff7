//! Files of Whisper models in ggml's older form, which whisper.cpp reads: sizes, mel filters, vocabulary, then tensors.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::error::{ErrorKind, Result, SdkError};
use crate::weights::content::{Content, unreadable};
use crate::weights::origin::ModelOrigin;
use crate::weights::source::FileBytes;
use crate::weights::tensor_type::TensorType;

/// `ggml`, least significant byte first.
const MAGIC: [u8; 4] = *b"lmgg";
/// Bytes that are read at a time.
const BLOCK: usize = 16 << 10;
const MAX_TOKENS: usize = 1 << 20;
const MAX_TOKEN: usize = 4096;
const MAX_TENSORS: usize = 1 << 16;
const MAX_NAME: usize = 256;
const MAX_DIMENSIONS: usize = 4;

/// An open file whose headers have been checked.
pub(crate) struct GgmlFile {
    content: Arc<Content>,
    /// The sizes at its beginning, in order.
    pub(crate) sizes: GgmlSizes,
    /// The bytes of the tokens of text, in order.
    pub(crate) tokens: Vec<Box<[u8]>>,
    tensors: HashMap<String, GgmlTensor>,
}

/// The sizes of a Whisper model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GgmlSizes {
    pub(crate) n_vocabulary: usize,
    pub(crate) n_sound_positions: usize,
    pub(crate) sound_hidden: usize,
    pub(crate) n_sound_heads: usize,
    pub(crate) n_sound_layers: usize,
    pub(crate) n_text_positions: usize,
    pub(crate) text_hidden: usize,
    pub(crate) n_text_heads: usize,
    pub(crate) n_text_layers: usize,
    pub(crate) n_bins: usize,
}

/// A tensor of the file.
struct GgmlTensor {
    tensor_type: TensorType,
    /// Outermost first.
    shape: Vec<usize>,
    bytes: Range<usize>,
}

impl GgmlFile {
    /// Opens a file; `None` if it is of another kind.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>> {
        let file = ModelOrigin::Disk.open(path).map_err(unreadable(path))?;
        let n_bytes = file.n_bytes();
        let content = Arc::new(Content::OnDisk(file));
        let mut reader = GgmlReader { content: &content, n_bytes, at: 0, block: Vec::new(), block_start: 0 };
        if n_bytes < MAGIC.len() || reader.bytes(MAGIC.len()).map_err(at(path))? != MAGIC {
            return Ok(None);
        }
        let (sizes, tokens) = reader.head().map_err(at(path))?;
        let mut file = Self { content: Arc::clone(&content), sizes, tokens, tensors: HashMap::new() };
        file.add_tensors(&mut reader).map_err(at(path))?;
        Ok(Some(file))
    }

    fn add_tensors(&mut self, reader: &mut GgmlReader<'_>) -> Result<()> {
        while reader.at < reader.n_bytes {
            if self.tensors.len() == MAX_TENSORS {
                return Err(broken(format!("it must have at most {MAX_TENSORS} tensors")));
            }
            let (name, tensor) = reader.tensor()?;
            if self.tensors.insert(name.clone(), tensor).is_some() {
                return Err(broken(format!("tensor {name} appears twice")));
            }
        }
        Ok(())
    }

    /// The names and shapes of all tensors, in no particular order.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = (&str, &[usize])> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor.shape.as_slice()))
    }

    /// The bytes of a tensor, if it exists.
    pub(crate) fn tensor(&self, name: &str) -> Option<FileBytes> {
        let GgmlTensor { tensor_type, bytes, .. } = self.tensors.get(name)?;
        Some(FileBytes { tensor_type: *tensor_type, bytes: bytes.clone(), content: Arc::clone(&self.content) })
    }

    /// Whether no other program has written to the file since it was opened.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.content.is_unchanged()
    }
}

/// Reads a file from its beginning to its end, without the values of tensors.
struct GgmlReader<'a> {
    content: &'a Content,
    n_bytes: usize,
    at: usize,
    /// Bytes of the file from `block_start` on.
    block: Vec<u8>,
    block_start: usize,
}

impl GgmlReader<'_> {
    /// The next bytes, at most a block.
    fn bytes(&mut self, length: usize) -> Result<&[u8]> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.n_bytes);
        let end = end.ok_or_else(|| broken("it ends early"))?;
        if self.at < self.block_start || self.block_start + self.block.len() < end {
            let range = self.at..self.n_bytes.min(self.at + BLOCK.max(length));
            self.block_start = self.at;
            self.block =
                self.content.read(range).map_err(|err| broken("it cannot be read").caused_by(err))?.into_owned();
        }
        let start = self.at - self.block_start;
        self.at = end;
        self.block.get(start..start + length).ok_or_else(|| broken("it ends early"))
    }

    /// A number of 32 bits that is not negative.
    fn count(&mut self, what: &str) -> Result<usize> {
        let bytes: [u8; 4] = self.bytes(4)?.try_into().unwrap_or_default();
        let number = i32::from_le_bytes(bytes);
        usize::try_from(number).map_err(|_| broken(format!("{what} must not be negative, found {number}")))
    }

    fn count_up_to(&mut self, what: &str, most: usize) -> Result<usize> {
        match self.count(what)? {
            count if count <= most => Ok(count),
            count => Err(broken(format!("{what} must be at most {most}, found {count}"))),
        }
    }

    fn skip(&mut self, length: usize) -> Result<()> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.n_bytes);
        self.at = end.ok_or_else(|| broken("it ends early"))?;
        Ok(())
    }

    /// The sizes and the tokens.
    fn head(&mut self) -> Result<(GgmlSizes, Vec<Box<[u8]>>)> {
        let sizes = GgmlSizes {
            n_vocabulary: self.count("n_vocab")?,
            n_sound_positions: self.count("n_audio_ctx")?,
            sound_hidden: self.count("n_audio_state")?,
            n_sound_heads: self.count("n_audio_head")?,
            n_sound_layers: self.count("n_audio_layer")?,
            n_text_positions: self.count("n_text_ctx")?,
            text_hidden: self.count("n_text_state")?,
            n_text_heads: self.count("n_text_head")?,
            n_text_layers: self.count("n_text_layer")?,
            n_bins: self.count("n_mels")?,
        };
        self.count("ftype")?; // each tensor has its own type
        // The filters are computed instead, with more digits.
        let n_filters = [self.count("the mel filters")?, self.count("the frequencies of mel filters")?];
        let n_values = n_filters[0].checked_mul(n_filters[1]).and_then(|n| n.checked_mul(size_of::<f32>()));
        self.skip(n_values.ok_or_else(|| broken("its mel filters are too large"))?)?;
        let n_tokens = self.count_up_to("the tokens", MAX_TOKENS)?;
        let token = |_| {
            let length = self.count_up_to("the length of a token", MAX_TOKEN)?;
            Ok(self.bytes(length)?.into())
        };
        Ok((sizes, (0..n_tokens).map(token).collect::<Result<_>>()?))
    }

    fn tensor(&mut self) -> Result<(String, GgmlTensor)> {
        let n_dimensions = self.count_up_to("the dimensions of a tensor", MAX_DIMENSIONS)?;
        let length = self.count_up_to("the length of a tensor's name", MAX_NAME)?;
        let number = self.count("the type of a tensor")?;
        let mut shape = (0..n_dimensions).map(|_| self.count("the size of a tensor")).collect::<Result<Vec<_>>>()?;
        shape.reverse();
        let name = String::from_utf8_lossy(self.bytes(length)?).into_owned();
        let tensor_type = u32::try_from(number).map_err(|_| number.to_string().into()).and_then(TensorType::of_gguf);
        let tensor_type =
            tensor_type.map_err(|found| broken(format!("tensor {name} is of type {found}, which is not supported")))?;
        let n_values = shape.iter().try_fold(1usize, |n, size| n.checked_mul(*size)).filter(|n| *n != 0);
        let is_whole = shape.last().is_some_and(|columns| columns.is_multiple_of(tensor_type.block()));
        let n_bytes = n_values.and_then(|n| (n / tensor_type.block()).checked_mul(tensor_type.block_bytes()));
        let Some(n_bytes) = n_bytes.filter(|_| is_whole) else {
            return Err(broken(format!("tensor {name} has an impossible shape, found {shape:?}")));
        };
        let start = self.at;
        self.skip(n_bytes)?;
        // Biases of convolutions are columns.
        if let [_, 1] = shape[..] {
            shape.pop();
        }
        Ok((name, GgmlTensor { tensor_type, shape, bytes: start..self.at }))
    }
}

fn broken(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}

/// Puts the file's name before an error in its content.
fn at(path: &Path) -> impl Fn(SdkError) -> SdkError + '_ {
    |err| err.at(&path.display().to_string())
}
