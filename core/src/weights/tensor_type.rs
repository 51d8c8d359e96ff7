//! The types that tensors have in files. What the backends store them as is their own matter.

use std::borrow::Cow;

/// A type of tensors that can be read, by llama.cpp's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TensorType {
    F32,
    F16,
    Bf16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
    Iq4Nl,
    Iq4Xs,
}

/// The numbers of types in GGUF files, and their names.
const READABLE: [(u32, &str, TensorType); 15] = [
    (0, "F32", TensorType::F32),
    (1, "F16", TensorType::F16),
    (30, "BF16", TensorType::Bf16),
    (2, "Q4_0", TensorType::Q4_0),
    (3, "Q4_1", TensorType::Q4_1),
    (6, "Q5_0", TensorType::Q5_0),
    (7, "Q5_1", TensorType::Q5_1),
    (8, "Q8_0", TensorType::Q8_0),
    (10, "Q2_K", TensorType::Q2K),
    (11, "Q3_K", TensorType::Q3K),
    (12, "Q4_K", TensorType::Q4K),
    (13, "Q5_K", TensorType::Q5K),
    (14, "Q6_K", TensorType::Q6K),
    (20, "IQ4_NL", TensorType::Iq4Nl),
    (23, "IQ4_XS", TensorType::Iq4Xs),
];

/// Types of GGUF files that cannot be read.
const UNREADABLE: [(u32, &str); 20] = [
    (9, "Q8_1"),
    (15, "Q8_K"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (24, "I8"),
    (25, "I16"),
    (26, "I32"),
    (27, "I64"),
    (28, "F64"),
    (29, "IQ1_M"),
    (34, "TQ1_0"),
    (35, "TQ2_0"),
    (39, "MXFP4"),
    (40, "NVFP4"),
    (41, "Q1_0"),
    (42, "Q2_0"),
];

/// Values that share a scale.
pub(crate) const GROUP: usize = 32;
/// Values of a super-block.
pub(crate) const SUPER: usize = 256;

impl TensorType {
    /// The type with this number in GGUF files.
    ///
    /// # Errors
    /// The name of a type that cannot be read, or its number if it is unknown.
    pub(crate) fn of_gguf(number: u32) -> Result<Self, Cow<'static, str>> {
        let readable = READABLE.iter().find(|(known, ..)| *known == number);
        let unreadable = || UNREADABLE.iter().find(|(known, _)| *known == number);
        readable
            .map(|(_, _, tensor_type)| *tensor_type)
            .ok_or_else(|| unreadable().map_or(number.to_string().into(), |(_, name)| (*name).into()))
    }

    /// The type's number in GGUF files.
    pub(crate) fn number(self) -> u32 {
        READABLE.iter().find(|(.., known)| *known == self).map_or(0, |(number, ..)| *number)
    }

    /// llama.cpp's name.
    pub(crate) fn name(self) -> &'static str {
        READABLE.iter().find(|(.., known)| *known == self).map_or("", |(_, name, _)| name)
    }

    /// Whether values share scales.
    pub(crate) fn is_quantised(self) -> bool {
        !matches!(self, Self::F32 | Self::F16 | Self::Bf16)
    }

    /// Values of a block.
    pub(crate) fn block(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => 1,
            Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 | Self::Q8_0 | Self::Iq4Nl => GROUP,
            Self::Q2K | Self::Q3K | Self::Q4K | Self::Q5K | Self::Q6K | Self::Iq4Xs => SUPER,
        }
    }

    /// Bytes of a block.
    pub(crate) fn block_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::Q4_0 | Self::Iq4Nl => 18,
            Self::Q4_1 => 20,
            Self::Q5_0 => 22,
            Self::Q5_1 => 24,
            Self::Q8_0 => 34,
            Self::Q2K => 84,
            Self::Q3K => 110,
            Self::Iq4Xs => 136,
            Self::Q4K => 144,
            Self::Q5K => 176,
            Self::Q6K => 210,
        }
    }

    /// All types that can be read.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        READABLE.iter().map(|(.., tensor_type)| *tensor_type)
    }
}
