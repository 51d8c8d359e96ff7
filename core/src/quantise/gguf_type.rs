//! The types of quantised files.

use std::fmt;
use std::str::FromStr;

use crate::error::{ErrorKind, SdkError};
use crate::weights::TensorType;

/// A type of quantised GGUF files. Some types mix several tensor types.
///
/// ```
/// use causerie::GgufType;
///
/// assert_eq!("q4_k_m".parse::<GgufType>()?, GgufType::Q4KM);
/// assert_eq!(GgufType::Q4KM.to_string(), "q4_k_m");
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GgufType {
    /// 8.5 bits per weight: hardly distinguishable from the original.
    Q8_0,
    /// 6.6 bits per weight.
    Q6K,
    /// 5.7 bits per weight.
    Q5KM,
    /// 4.8 bits per weight: the usual choice for devices.
    Q4KM,
    /// 4.5 bits per weight; less exact than [`Q4KM`](Self::Q4KM), and computed faster.
    Q4_0,
}

/// The types, their names, the types of most of their tensors, and their numbers in `general.file_type`.
const TYPES: [(GgufType, &str, TensorType, u32); 5] = [
    (GgufType::Q8_0, "q8_0", TensorType::Q8_0, 7),
    (GgufType::Q6K, "q6_k", TensorType::Q6K, 18),
    (GgufType::Q5KM, "q5_k_m", TensorType::Q5K, 17),
    (GgufType::Q4KM, "q4_k_m", TensorType::Q4K, 15),
    (GgufType::Q4_0, "q4_0", TensorType::Q4_0, 2),
];

impl GgufType {
    fn row(self) -> (&'static str, TensorType, u32) {
        let row = TYPES.iter().find(|(gguf_type, ..)| *gguf_type == self);
        row.map_or(("", TensorType::F32, 0), |(_, name, tensor_type, number)| (name, *tensor_type, *number))
    }

    /// The type of most tensors.
    pub(crate) fn tensor_type(self) -> TensorType {
        self.row().1
    }

    /// The value of `general.file_type`.
    pub(super) fn number(self) -> u32 {
        self.row().2
    }
}

impl fmt::Display for GgufType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().0)
    }
}

impl FromStr for GgufType {
    type Err = SdkError;

    /// # Errors
    /// [`ErrorKind::InvalidOption`].
    fn from_str(name: &str) -> Result<Self, SdkError> {
        let row = TYPES.iter().find(|(_, known, ..)| known.eq_ignore_ascii_case(name));
        row.map(|(gguf_type, ..)| *gguf_type).ok_or_else(|| {
            let names = TYPES.map(|(_, name, ..)| name).join(", ");
            SdkError::new(ErrorKind::InvalidOption("type"), format!("type must be one of {names}, found {name:?}"))
        })
    }
}
