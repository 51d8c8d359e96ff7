//! Samples of one channel, as every file is read, for every model.

use std::borrow::Cow;
use std::time::Duration;

use crate::error::{ErrorKind, Result, SdkError};
use crate::media::sound::resample::resample;

/// Samples per second at least and at most.
const RATES: std::ops::RangeInclusive<u32> = 1_000..=384_000;

/// How a file of sound is read.
///
/// ```
/// use std::time::Duration;
/// use causerie::{Sound, SoundOptions};
///
/// # let file = Sound::from_samples(vec![0.5; 48_000], 48_000)?.to_wav();
/// let options = SoundOptions { sample_rate: Some(16_000), max_duration: Duration::from_secs(60) };
/// assert_eq!(Sound::read_with(&file, options)?.samples().len(), 16_000);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoundOptions {
    /// Samples per second that the sound is converted to while it is read, which needs less memory than to convert it later.
    /// Default: as in the file.
    pub sample_rate: Option<u32>,
    /// How long the sound may last. A small file can be days of silence. Default: 1 hour.
    pub max_duration: Duration,
}

impl Default for SoundOptions {
    fn default() -> Self {
        Self { sample_rate: None, max_duration: Duration::from_secs(3_600) }
    }
}

/// A recording of one channel.
///
/// ```
/// let tone: Vec<f32> = (0..24_000).map(|at| (at as f32 / 10.0).sin() / 2.0).collect();
/// let sound = causerie::Sound::from_samples(tone, 48_000)?;
/// assert_eq!(sound.duration().as_millis(), 500);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sound {
    pub(super) samples: Vec<f32>,
    pub(super) sample_rate: u32,
}

impl Sound {
    /// Creates a sound from samples of one channel, usually between -1 and 1, and their number per second.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedContent`] if a sample is NaN or infinite, or if the rate is not between 1 and 384 kHz.
    ///
    /// ```
    /// use causerie::{ErrorKind, Sound};
    /// let err = Sound::from_samples(vec![0.0, f32::NAN], 16_000).unwrap_err();
    /// assert_eq!(err.kind(), ErrorKind::UnsupportedContent);
    /// assert_eq!(err.to_string(), "samples[1] must be a finite number, found NaN");
    /// ```
    pub fn from_samples(samples: impl Into<Vec<f32>>, sample_rate: u32) -> Result<Self> {
        let samples = samples.into();
        check_rate(sample_rate)?;
        if let Some(at) = samples.iter().position(|sample| !sample.is_finite()) {
            let message = format!("samples[{at}] must be a finite number, found {}", samples[at]);
            return Err(SdkError::new(ErrorKind::UnsupportedContent, message));
        }
        Ok(Self { samples, sample_rate })
    }

    /// The samples.
    ///
    /// ```
    /// let sound = causerie::Sound::from_samples([0.0, 0.5], 16_000)?;
    /// assert_eq!(sound.samples(), [0.0, 0.5]);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn samples(&self) -> &[f32] {
        &self.samples
    }

    /// Samples per second.
    ///
    /// ```
    /// assert_eq!(causerie::Sound::from_samples([0.0], 16_000)?.sample_rate(), 16_000);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn sample_rate(&self) -> u32 {
        self.sample_rate
    }

    /// How long it plays.
    ///
    /// ```
    /// assert_eq!(causerie::Sound::from_samples(vec![0.0; 8_000], 16_000)?.duration().as_secs_f64(), 0.5);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.samples.len() as f64 / f64::from(self.sample_rate))
    }

    /// The samples at another rate, which must not be 0.
    pub(crate) fn at_rate(&self, sample_rate: u32) -> Cow<'_, [f32]> {
        if sample_rate == self.sample_rate {
            return Cow::Borrowed(&self.samples);
        }
        Cow::Owned(resample(&self.samples, self.sample_rate, sample_rate))
    }
}

/// Refuses rates that no sound has.
pub(super) fn check_rate(sample_rate: u32) -> Result<()> {
    if RATES.contains(&sample_rate) {
        return Ok(());
    }
    let message = format!(
        "a sound must have between {} and {} samples per second, found {sample_rate}",
        RATES.start(),
        RATES.end()
    );
    Err(SdkError::new(ErrorKind::UnsupportedContent, message))
}
