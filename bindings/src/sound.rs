//! Samples of sound, and files of them. They come as bytes, 32-bit floats in little-endian order: lists of numbers would be converted
//! one by one.

use std::sync::Arc;

use causerie as core;
use parking_lot::Mutex;

use crate::error::{Result, SdkError};
use crate::number::SdkCount;

/// A format of sound, with 16 bits for each sample of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum SoundFormat {
    /// A WAV file.
    Wav,
    /// A FLAC file: about half as large, without loss.
    Flac,
    /// The samples alone, with the lower byte first.
    Pcm,
}

impl From<SoundFormat> for core::SoundFormat {
    fn from(format: SoundFormat) -> Self {
        match format {
            SoundFormat::Wav => Self::Wav,
            SoundFormat::Flac => Self::Flac,
            SoundFormat::Pcm => Self::Pcm,
        }
    }
}

/// Writes a file of sound while its samples come.
#[derive(Debug, uniffi::Object)]
pub struct SoundFileWriter {
    /// None once it is finished.
    writer: Mutex<Option<core::SoundFileWriter>>,
}

#[uniffi::export]
impl SoundFileWriter {
    /// Begins a file with so many samples per second. `UnsupportedContent` if no sound has the rate.
    #[uniffi::constructor]
    pub fn new(format: SoundFormat, sample_rate: SdkCount) -> Result<Arc<Self>> {
        let silence = core::Sound::from_samples([], sample_rate.0)?; // checks the rate
        let writer = core::SoundFileWriter::new(format.into(), silence.sample_rate());
        Ok(Arc::new(Self { writer: Mutex::new(Some(writer)) }))
    }

    /// Adds samples, and returns the bytes of the file that are complete. After the end of the file, there are none.
    pub fn push(&self, samples: Vec<u8>) -> Vec<u8> {
        self.writer.lock().as_mut().map(|writer| writer.push(&floats(&samples))).unwrap_or_default()
    }

    /// Ends the file, and returns its last bytes.
    pub fn finish(&self) -> Vec<u8> {
        self.writer.lock().take().map(core::SoundFileWriter::finish).unwrap_or_default()
    }
}

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
