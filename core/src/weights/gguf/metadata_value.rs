//! Metadata values to write into a GGUF file.

use crate::weights::gguf::header::ValueType;

/// A metadata value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MetadataValue {
    Count(u32),
    Float(f32),
    Flag(bool),
    Text(String),
    Integers(Vec<i32>),
    Floats(Vec<f32>),
    Flags(Vec<bool>),
    Texts(Vec<String>),
    /// A value of another file, as its bytes.
    Copy(ValueType, Vec<u8>),
}

impl From<usize> for MetadataValue {
    /// Counts in descriptions of models fit; a larger one is saturated.
    fn from(count: usize) -> Self {
        Self::Count(u32::try_from(count).unwrap_or(u32::MAX))
    }
}

impl From<f32> for MetadataValue {
    fn from(float: f32) -> Self {
        Self::Float(float)
    }
}

impl From<bool> for MetadataValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<&str> for MetadataValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl MetadataValue {
    fn value_type(&self) -> ValueType {
        match self {
            Self::Count(_) => ValueType::U32,
            Self::Float(_) => ValueType::F32,
            Self::Flag(_) => ValueType::Bool,
            Self::Text(_) => ValueType::String,
            Self::Integers(_) | Self::Floats(_) | Self::Flags(_) | Self::Texts(_) => ValueType::Array,
            Self::Copy(value_type, _) => *value_type,
        }
    }

    /// Appends the type and the value.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.value_type().number().to_le_bytes());
        match self {
            Self::Count(count) => out.extend(count.to_le_bytes()),
            Self::Float(float) => out.extend(float.to_le_bytes()),
            Self::Flag(flag) => out.push((*flag).into()),
            Self::Text(text) => write_text(text, out),
            Self::Integers(integers) => {
                write_array(ValueType::I32, integers, out, |integer, out| out.extend(integer.to_le_bytes()))
            }
            Self::Floats(floats) => {
                write_array(ValueType::F32, floats, out, |float, out| out.extend(float.to_le_bytes()))
            }
            Self::Flags(flags) => write_array(ValueType::Bool, flags, out, |flag, out| out.push((*flag).into())),
            Self::Texts(texts) => write_array(ValueType::String, texts, out, |text, out| write_text(text, out)),
            Self::Copy(_, bytes) => out.extend_from_slice(bytes),
        }
    }
}

fn write_array<T>(element: ValueType, values: &[T], out: &mut Vec<u8>, write: impl Fn(&T, &mut Vec<u8>)) {
    out.extend(element.number().to_le_bytes());
    out.extend((values.len() as u64).to_le_bytes());
    values.iter().for_each(|value| write(value, out));
}

/// Appends a length and the text.
pub(super) fn write_text(text: &str, out: &mut Vec<u8>) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}
