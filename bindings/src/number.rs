//! Unsigned integers. They have types of their own, so that a language whose apps count with signed integers can map them to
//! those (`uniffi.toml`).

/// A count of tokens, messages or layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SdkCount(pub u32);

uniffi::custom_newtype!(SdkCount, u32);

/// An integer of 64 bits: bytes, weights, milliseconds, seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SdkLong(pub u64);

uniffi::custom_newtype!(SdkLong, u64);

impl SdkCount {
    /// The count as a `usize`, which has at least 32 bits on every device.
    pub(crate) fn size(self) -> usize {
        self.0 as usize
    }
}

impl SdkLong {
    pub(crate) fn size(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// Counts of tokens and messages stay far below 2^32.
pub(crate) fn count(number: usize) -> SdkCount {
    SdkCount(u32::try_from(number).unwrap_or(u32::MAX))
}

pub(crate) fn counts(numbers: Vec<usize>) -> Vec<SdkCount> {
    numbers.into_iter().map(count).collect()
}
