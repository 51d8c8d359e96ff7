//! Samples of sound. They come as bytes, 32-bit floats in little-endian order: lists of numbers would be converted one by one.

use causerie as core;

use crate::error::{Result, SdkError};

/// Returns samples of one channel, usually between -1 and 1, as a WAV file with 16 bits for each sample: the data of an audio part of
/// a message. `sample_rate` is their number per second. `UnsupportedContent` if a sample is NaN or infinite, or if no sound has the
/// rate.
#[uniffi::export]
pub fn wav_of_samples(samples: Vec<u8>, sample_rate: i64) -> Result<Vec<u8>> {
    Ok(sound_of(&samples, sample_rate)?.to_wav())
}

/// The sound of samples.
pub(crate) fn sound_of(samples: &[u8], sample_rate: i64) -> Result<core::Sound> {
    Ok(core::Sound::from_samples(floats(samples), checked_rate(sample_rate)?)?)
}

/// The floats of bytes. Those after the last whole one are left out; the languages' own layers pass whole ones.
pub(crate) fn floats(samples: &[u8]) -> Vec<f32> {
    let (samples, _) = samples.as_chunks::<4>();
    samples.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// A rate in the core's type. Numbers beyond it are refused as the core refuses others.
pub(crate) fn checked_rate(sample_rate: i64) -> Result<u32> {
    u32::try_from(sample_rate).map_err(|_| SdkError::UnsupportedContent {
        reason: format!("a sound must have between 1000 and 384000 samples per second, found {sample_rate}"),
    })
}
