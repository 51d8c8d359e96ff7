//! WAV files of samples.

use crate::error::Result;
use crate::media::sound::samples::Sound;
use crate::message::ChatMessageContent;

/// How samples are stored in a WAV file.
///
/// ```
/// use causerie::{Sound, WavSamples};
/// let sound = Sound::from_samples([0.0, 0.25, -0.5, 1.5], 24_000)?;
/// assert_eq!(Sound::read(&sound.to_wav_of(WavSamples::Float32))?, sound);
/// // The last sample is limited.
/// assert!(Sound::read(&sound.to_wav_of(WavSamples::Int16))?.samples()[3] < 1.0);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WavSamples {
    /// 16 bits, which every program reads. Samples beyond -1 and 1 are limited.
    #[default]
    Int16,
    /// The samples as they are.
    Float32,
}

impl WavSamples {
    /// The header of a WAV file of one channel with so many bytes of samples. If the number is not known, because the file is
    /// sent while it is made, or is too large for the format, the header states the largest one.
    pub(crate) fn header(self, sample_rate: u32, n_bytes: Option<usize>) -> Vec<u8> {
        let (code, width) = match self {
            Self::Int16 => (1u16, 2u16),
            Self::Float32 => (3, 4),
        };
        let size = n_bytes.and_then(|n_bytes| u32::try_from(n_bytes).ok());
        let whole = size.and_then(|size| size.checked_add(36)).unwrap_or(u32::MAX);
        let mut header = Vec::with_capacity(44);
        header.extend(b"RIFF");
        header.extend(whole.to_le_bytes());
        header.extend(b"WAVEfmt ");
        header.extend(16u32.to_le_bytes());
        header.extend([code, 1].map(u16::to_le_bytes).as_flattened());
        header.extend([sample_rate, sample_rate.saturating_mul(width.into())].map(u32::to_le_bytes).as_flattened());
        header.extend([width, 8 * width].map(u16::to_le_bytes).as_flattened());
        header.extend(b"data");
        header.extend(size.unwrap_or(u32::MAX).to_le_bytes());
        header
    }

    /// A sample of 16 bits. It is limited by the conversion; NaN becomes 0.
    pub(super) fn int16(sample: f32) -> i16 {
        (sample * 32_768.0).round() as i16
    }

    /// Appends samples as they stand in the file.
    pub(crate) fn extend(self, bytes: &mut Vec<u8>, samples: &[f32]) {
        match self {
            Self::Int16 => bytes.extend(samples.iter().flat_map(|sample| Self::int16(*sample).to_le_bytes())),
            Self::Float32 => bytes.extend(samples.iter().flat_map(|sample| sample.to_le_bytes())),
        }
    }
}

impl Sound {
    /// The sound as a WAV file with 16 bits for each sample. Samples beyond -1 and 1 are limited.
    ///
    /// ```
    /// let file = causerie::Sound::from_samples([0.0, 0.5], 16_000)?.to_wav();
    /// assert_eq!(file.len(), 48);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn to_wav(&self) -> Vec<u8> {
        self.to_wav_of(WavSamples::Int16)
    }

    /// The sound as a WAV file.
    ///
    /// ```
    /// use causerie::{Sound, WavSamples};
    /// let file = Sound::from_samples([0.0, 0.5], 16_000)?.to_wav_of(WavSamples::Float32);
    /// assert_eq!(file.len(), 52);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn to_wav_of(&self, form: WavSamples) -> Vec<u8> {
        let mut bytes = Vec::new();
        form.extend(&mut bytes, self.samples());
        let mut file = form.header(self.sample_rate(), Some(bytes.len()));
        file.append(&mut bytes);
        file
    }
}

impl ChatMessageContent {
    /// Creates a part of a message from samples of one channel, usually between -1 and 1, and their number per second, as a
    /// microphone gives them. The part is a WAV file with 16 bits for each sample.
    ///
    /// # Errors
    /// As for [`Sound::from_samples`].
    ///
    /// ```
    /// use causerie::{ChatMessage, ChatMessageContent};
    /// let recorded = vec![0.0f32; 16_000];
    /// let mut message = ChatMessage::user("What do you hear?");
    /// message.content.push(ChatMessageContent::audio_from_samples(&recorded, 16_000)?);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn audio_from_samples(samples: &[f32], sample_rate: u32) -> Result<Self> {
        Ok(Self::Audio(Sound::from_samples(samples, sample_rate)?.to_wav()))
    }
}
