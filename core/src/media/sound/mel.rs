//! The features that models hear: log-mel spectra of short frames of the sound, by the rules of each model.
//!
//! Sums are in f64, since the mean of features of a silent stretch is divided by a deviation of nearly 0.

use std::f64::consts::PI;
use std::ops::Range;
use std::sync::Arc;

use realfft::{RealFftPlanner, RealToComplex};

/// How a model turns samples into features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MelRules {
    pub(crate) sample_rate: u32,
    /// The part of the sample before that is subtracted from each sample; 0 for none.
    pub(crate) preemphasis: f64,
    pub(crate) layout: FrameLayout,
    /// Samples between the starts of two frames.
    pub(crate) hop: usize,
    /// Samples of a frame.
    pub(crate) window: usize,
    pub(crate) taper: Taper,
    /// Length of the Fourier transform. The window stands in its middle if frames are centred, else at its start.
    pub(crate) transform: usize,
    pub(crate) spectrum: Spectrum,
    pub(crate) bins: usize,
    pub(crate) scale: MelScale,
    pub(crate) compression: Compression,
    /// Whether each bin is normalised over the frames to mean 0 and deviation 1.
    pub(crate) normalises: bool,
}

/// Where the frames lie over the samples, and which of them count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameLayout {
    /// Around every multiple of the hop, with zeros around the samples. The last frame, around the end, does not count: it is
    /// all zeros.
    CenteredInZeros,
    /// Around every multiple of the hop before the end, with the samples mirrored at their ends.
    CenteredInMirror,
    /// From every multiple of the hop on, with zeros after the samples until the last frame is complete.
    Complete,
    /// Half a window of zeros before the samples, and zeros up to a multiple of 128 samples after them. A frame counts if all
    /// its samples, and the one after them, are there; others are zeros.
    Delayed,
}

/// How a frame fades at its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taper {
    /// A Hann window whose first and last values are both 0.
    SymmetricHann,
    /// A Hann window of one more sample, without its last one.
    PeriodicHann,
}

/// What is summed of each frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spectrum {
    Power,
    Magnitude,
}

/// The mel scale, and the heights of its filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MelScale {
    /// Slaney's scale with filters of equal area, which are librosa's defaults.
    Slaney,
    /// HTK's scale with filters of equal height.
    Htk,
}

/// What is taken of each bin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Compression {
    /// The natural logarithm after an addition.
    Natural { added: f64 },
    /// The decimal logarithm of what is at least `floor`, plus 4 and divided by 4. With a `range`, values that are lower than
    /// the highest one by more than this many powers of ten are raised.
    Decimal { floor: f64, range: Option<f64> },
}

impl MelRules {
    /// LFM2-Audio and LFM2.5-Audio.
    pub(crate) const LFM2: Self = Self {
        sample_rate: 16_000,
        preemphasis: 0.97,
        layout: FrameLayout::CenteredInZeros,
        hop: 160,
        window: 400,
        taper: Taper::SymmetricHann,
        transform: 512,
        spectrum: Spectrum::Power,
        bins: 128,
        scale: MelScale::Slaney,
        compression: Compression::Natural { added: 1.0 / (1 << 24) as f64 },
        normalises: true,
    };

    /// Whisper, whose models have 80 or 128 bins.
    pub(crate) const fn whisper(bins: usize) -> Self {
        Self {
            sample_rate: 16_000,
            preemphasis: 0.0,
            layout: FrameLayout::CenteredInMirror,
            hop: 160,
            window: 400,
            taper: Taper::PeriodicHann,
            transform: 400,
            spectrum: Spectrum::Power,
            bins,
            scale: MelScale::Slaney,
            compression: Compression::Decimal { floor: 1e-10, range: Some(8.0) },
            normalises: false,
        }
    }

    /// LFM3-Audio.
    pub(crate) const LFM3: Self = Self {
        layout: FrameLayout::Complete,
        compression: Compression::Decimal { floor: 1e-12, range: None },
        ..Self::whisper(128)
    };

    /// Gemma 4.
    pub(crate) const GEMMA4: Self = Self {
        layout: FrameLayout::Delayed,
        window: 320,
        transform: 512,
        spectrum: Spectrum::Magnitude,
        scale: MelScale::Htk,
        compression: Compression::Natural { added: 0.001 },
        ..Self::whisper(128)
    };
}

/// The features of a sound.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MelFeatures {
    pub(crate) n_frames: usize,
    /// The frames at the start that count. The others are zeros.
    pub(crate) n_valid: usize,
    /// `(frame, bin)`
    pub(crate) values: Vec<f32>,
}

/// Computes features by one model's rules.
pub(crate) struct MelFilters {
    rules: MelRules,
    taper: Vec<f64>,
    fourier: Arc<dyn RealToComplex<f64>>,
    /// The frequencies that each bin is a weighted sum of.
    filters: Vec<Filter>,
}

struct Filter {
    first: usize,
    weights: Vec<f64>,
}

impl MelFilters {
    pub(crate) fn new(rules: MelRules) -> Self {
        let period = match rules.taper {
            Taper::SymmetricHann => rules.window - 1,
            Taper::PeriodicHann => rules.window,
        };
        let taper = (0..rules.window).map(|n| 0.5 - 0.5 * (2.0 * PI * n as f64 / period as f64).cos()).collect();
        let fourier = RealFftPlanner::new().plan_fft_forward(rules.transform);
        Self { rules, taper, fourier, filters: filters(&rules) }
    }

    /// The features of samples at the rate of the rules.
    pub(crate) fn features(&self, samples: &[f32]) -> MelFeatures {
        let rules = &self.rules;
        let (n_frames, n_valid) = rules.n_frames(samples.len());
        let signal = emphasized(samples, rules.preemphasis);
        let mut frame = self.fourier.make_input_vec();
        let mut spectrum = self.fourier.make_output_vec();
        let mut scratch = self.fourier.make_scratch_vec();
        let mut values = Vec::with_capacity(n_valid * rules.bins);
        for index in 0..n_valid {
            frame.fill(0.0);
            let places = &mut frame[rules.place_of_window()];
            let start = (index * rules.hop) as isize - rules.samples_before();
            for (offset, (place, weight)) in places.iter_mut().zip(&self.taper).enumerate() {
                *place = weight * rules.layout.sample(&signal, start + offset as isize);
            }
            // It fails only for slices of other lengths.
            let _ = self.fourier.process_with_scratch(&mut frame, &mut spectrum, &mut scratch);
            values.extend(self.filters.iter().map(|filter| {
                let frequencies = spectrum[filter.first..].iter().zip(&filter.weights);
                let strength = |power: f64| match rules.spectrum {
                    Spectrum::Power => power,
                    Spectrum::Magnitude => power.sqrt(),
                };
                let sum: f64 = frequencies.map(|(x, weight)| weight * strength(x.norm_sqr())).sum();
                rules.compression.logarithm(sum)
            }));
        }
        rules.compression.limit(&mut values);
        if rules.normalises {
            normalise(&mut values, rules.bins);
        }
        let mut values: Vec<f32> = values.into_iter().map(|value| value as f32).collect();
        values.resize(n_frames * rules.bins, 0.0);
        MelFeatures { n_frames, n_valid, values }
    }
}

impl MelRules {
    /// The number of frames of so many samples, and how many of them count.
    pub(crate) fn n_frames(&self, n_samples: usize) -> (usize, usize) {
        self.layout.counts(n_samples, self)
    }

    /// Places of the window in the input of the Fourier transform.
    fn place_of_window(&self) -> Range<usize> {
        let start = match self.layout {
            FrameLayout::CenteredInZeros | FrameLayout::CenteredInMirror => (self.transform - self.window) / 2,
            FrameLayout::Complete | FrameLayout::Delayed => 0,
        };
        start..start + self.window
    }

    /// Places of the first window that are before the first sample.
    fn samples_before(&self) -> isize {
        match self.layout {
            FrameLayout::Complete => 0,
            _ => (self.window / 2) as isize,
        }
    }
}

impl FrameLayout {
    /// The number of frames of so many samples, and how many of them count.
    fn counts(self, n_samples: usize, rules: &MelRules) -> (usize, usize) {
        let (hop, window) = (rules.hop, rules.window);
        match self {
            Self::CenteredInZeros => (n_samples / hop + 1, n_samples / hop),
            Self::CenteredInMirror => (n_samples / hop, n_samples / hop),
            Self::Complete => {
                let n_frames = 1 + n_samples.saturating_sub(window).div_ceil(hop);
                (n_frames, n_frames)
            }
            Self::Delayed => {
                let of_end = |end: usize| (window / 2 + end).checked_sub(window + 1).map_or(0, |rest| rest / hop + 1);
                (of_end(n_samples.next_multiple_of(128)), of_end(n_samples))
            }
        }
    }

    /// A sample, or what stands where there is none.
    fn sample(self, signal: &[f64], place: isize) -> f64 {
        let place = match (self, usize::try_from(place)) {
            (_, Ok(place)) if place < signal.len() => place,
            (Self::CenteredInMirror, _) => mirrored(place, signal.len()),
            _ => return 0.0,
        };
        signal[place]
    }
}

/// The place of a sample that is seen beyond an end, where the samples before it are mirrored. There must be samples.
fn mirrored(place: isize, n_samples: usize) -> usize {
    let last = n_samples as isize - 1; // slices have at most isize::MAX elements
    if last == 0 {
        return 0;
    }
    let distance = place.rem_euclid(2 * last);
    distance.min(2 * last - distance) as usize // between 0 and the last one
}

fn emphasized(samples: &[f32], preemphasis: f64) -> Vec<f64> {
    let before = std::iter::once(0.0).chain(samples.iter().copied());
    samples.iter().zip(before).map(|(x, before)| f64::from(*x) - preemphasis * f64::from(before)).collect()
}

impl Compression {
    fn logarithm(self, sum: f64) -> f64 {
        match self {
            Self::Natural { added } => (sum + added).ln(),
            Self::Decimal { floor, .. } => sum.max(floor).log10(),
        }
    }

    /// What is done once all logarithms are known.
    fn limit(self, values: &mut [f64]) {
        if let Self::Decimal { range, .. } = self {
            let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let lowest = range.map_or(f64::NEG_INFINITY, |range| highest - range);
            values.iter_mut().for_each(|value| *value = (value.max(lowest) + 4.0) / 4.0);
        }
    }
}

/// Normalises each bin over the frames. A bin of one frame, which has no deviation, becomes 0.
fn normalise(values: &mut [f64], n_bins: usize) {
    let n_frames = values.len() / n_bins;
    for bin in 0..n_bins {
        let of_bin = || (bin..n_frames * n_bins).step_by(n_bins);
        let mean = of_bin().map(|at| values[at]).sum::<f64>() / n_frames as f64;
        let squares: f64 = of_bin().map(|at| (values[at] - mean).powi(2)).sum();
        let deviation = (squares / n_frames.saturating_sub(1).max(1) as f64).sqrt();
        of_bin().for_each(|at| values[at] = (values[at] - mean) / (deviation + 1e-5));
    }
}

/// Triangles whose corners are equally far apart on the mel scale, from 0 to half the sample rate.
fn filters(rules: &MelRules) -> Vec<Filter> {
    let scale = rules.scale;
    let highest = scale.mel(f64::from(rules.sample_rate) / 2.0);
    let corner = |index: usize| scale.hertz(highest * index as f64 / (rules.bins + 1) as f64);
    let frequency = |index: usize| index as f64 * f64::from(rules.sample_rate) / rules.transform as f64;
    let filter = |bin: usize| {
        let [low, center, high] = [bin, bin + 1, bin + 2].map(corner);
        let height = match scale {
            MelScale::Slaney => 2.0 / (high - low),
            MelScale::Htk => 1.0,
        };
        let weight = |index: usize| {
            let (rise, fall) = ((frequency(index) - low) / (center - low), (high - frequency(index)) / (high - center));
            rise.min(fall).max(0.0) * height
        };
        let mut inside = (0..=rules.transform / 2).filter(|index| 0.0 < weight(*index));
        let first = inside.next().unwrap_or(0);
        let end = inside.next_back().map_or(first + 1, |last| last + 1);
        Filter { first, weights: (first..end).map(weight).collect() }
    };
    (0..rules.bins).map(filter).collect()
}

impl MelScale {
    fn mel(self, hertz: f64) -> f64 {
        match self {
            // Linear up to 1000 Hz, then logarithmic.
            Self::Slaney if hertz < 1000.0 => hertz * 3.0 / 200.0,
            Self::Slaney => 15.0 + (hertz / 1000.0).ln() * 27.0 / 6.4f64.ln(),
            Self::Htk => 2595.0 * (1.0 + hertz / 700.0).log10(),
        }
    }

    fn hertz(self, mel: f64) -> f64 {
        match self {
            Self::Slaney if mel < 15.0 => mel * 200.0 / 3.0,
            Self::Slaney => 1000.0 * ((mel - 15.0) * 6.4f64.ln() / 27.0).exp(),
            Self::Htk => 700.0 * (10f64.powf(mel / 2595.0) - 1.0),
        }
    }
}
