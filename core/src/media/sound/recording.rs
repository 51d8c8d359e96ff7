//! Takes what the reader of a file finds, within limits: channels are mixed, and rates converted as the samples come.

use std::time::Duration;

use crate::error::{ErrorKind, Result, SdkError};
use crate::media::sound::resample::Resampler;
use crate::media::sound::samples::{SoundOptions, check_rate};

/// Channels of a file at most.
const MAX_CHANNELS: usize = 64;

/// A recording under way.
pub(super) struct Recording {
    options: SoundOptions,
    sample_rate: u32,
    n_channels: usize,
    /// Samples of each channel that have come.
    n_frames: u64,
    most_frames: u64,
    resampler: Option<Resampler>,
    mixed: Vec<f32>,
    samples: Vec<f32>,
}

impl Recording {
    pub(super) fn new(options: SoundOptions) -> Self {
        Self {
            options,
            sample_rate: 0,
            n_channels: 0,
            n_frames: 0,
            most_frames: 0,
            resampler: None,
            mixed: Vec::new(),
            samples: Vec::new(),
        }
    }

    /// Sets what the file says of itself, and how many samples each channel has, if the file says it. Must come first.
    pub(super) fn start(&mut self, sample_rate: u32, n_channels: usize, n_frames: Option<u64>) -> Result<()> {
        check_rate(sample_rate)?;
        if !(1..=MAX_CHANNELS).contains(&n_channels) {
            return Err(unsupported(format!(
                "a sound must have between 1 and {MAX_CHANNELS} channels, found {n_channels}"
            )));
        }
        let most = self.options.max_duration.as_secs_f64() * f64::from(sample_rate);
        self.most_frames = most as u64; // huge durations become the largest number
        self.check_frames(n_frames.unwrap_or(0), sample_rate)?;
        let wanted = self.options.sample_rate.filter(|wanted| *wanted != sample_rate);
        if let Some(wanted) = wanted {
            check_rate(wanted)?;
        }
        (self.sample_rate, self.n_channels) = (sample_rate, n_channels);
        self.resampler = wanted.map(|wanted| Resampler::new(sample_rate, wanted));
        Ok(())
    }

    /// Takes samples in which the channels alternate.
    pub(super) fn push(&mut self, interleaved: &[f32]) -> Result<()> {
        let n_channels = self.n_channels.max(1);
        let before = self.n_frames;
        self.n_frames += (interleaved.len() / n_channels) as u64;
        self.check_frames(self.n_frames, self.sample_rate)?;
        self.mixed.clear();
        let mixed = interleaved.chunks_exact(n_channels).map(|frame| frame.iter().sum::<f32>() / n_channels as f32);
        self.mixed.extend(mixed);
        if let Some(at) = self.mixed.iter().position(|sample| !sample.is_finite()) {
            let at = before + at as u64;
            return Err(unsupported(format!("a sound must have finite samples, found NaN or infinity at {at}")));
        }
        match &mut self.resampler {
            Some(resampler) => resampler.push(&self.mixed, &mut self.samples),
            None => self.samples.extend_from_slice(&self.mixed),
        }
        Ok(())
    }

    /// The samples, and their rate.
    pub(super) fn finish(mut self) -> (Vec<f32>, u32) {
        let sample_rate = match self.resampler {
            Some(resampler) => {
                resampler.finish(&mut self.samples);
                self.options.sample_rate.unwrap_or(self.sample_rate)
            }
            None => self.sample_rate,
        };
        (self.samples, sample_rate)
    }

    fn check_frames(&self, n_frames: u64, sample_rate: u32) -> Result<()> {
        if n_frames <= self.most_frames {
            return Ok(());
        }
        let most = self.options.max_duration;
        let found = Duration::from_millis(n_frames.saturating_mul(1_000) / u64::from(sample_rate.max(1)));
        Err(unsupported(format!("a sound must last at most {most:?}, found at least {found:?}")))
    }
}

pub(super) fn unsupported(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::UnsupportedContent, message)
}
