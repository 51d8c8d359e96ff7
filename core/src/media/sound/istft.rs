//! The inverse short-time Fourier transform: sound from the spectra of overlapping windows.

use std::f64::consts::PI;
use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner};

/// Adds windows of sound, one after the other. Each is multiplied by a periodic Hann window, and the sum is divided by the sum of the
/// squared windows at the same place, which is smaller at the end of the sound. The parts of the sound before the middle of the first
/// window's overlap, and after that of the last, are left out: `(window - hop) / 2` samples on both sides.
pub(crate) struct InverseStft {
    transform: Arc<dyn ComplexToReal<f64>>,
    window: Vec<f64>,
    hop: usize,
    /// The sums of the windows that are not complete, from the next sample on.
    sum: Vec<f64>,
    weights: Vec<f64>,
    /// Samples at the beginning that are still to be left out.
    n_left_out: usize,
    spectrum: Vec<Complex<f64>>,
    samples: Vec<f64>,
}

impl InverseStft {
    /// A window has `n` samples, and `hop` are between the beginnings of two. `n` is even, and a multiple of `hop`.
    pub(crate) fn new(n: usize, hop: usize) -> Self {
        let transform = RealFftPlanner::new().plan_fft_inverse(n);
        Self {
            window: (0..n).map(|at| 0.5 - 0.5 * (2.0 * PI * at as f64 / n as f64).cos()).collect(),
            hop,
            sum: vec![0.0; n],
            weights: vec![0.0; n],
            n_left_out: (n - hop) / 2,
            spectrum: transform.make_input_vec(),
            samples: transform.make_output_vec(),
            transform,
        }
    }

    /// Adds a window, whose spectrum has these logarithms of magnitudes and these phases in radians, `n / 2 + 1` of both. Returns the
    /// samples that no later window changes: at most `hop`.
    pub(crate) fn push_polar(&mut self, log_magnitudes: &[f32], phases: &[f32]) -> Vec<f32> {
        let n = self.window.len();
        for ((to, magnitude), phase) in self.spectrum.iter_mut().zip(log_magnitudes).zip(phases) {
            *to = Complex::from_polar(f64::from(*magnitude).exp(), f64::from(*phase));
        }
        // The imaginary parts of the lowest and the highest frequency have no meaning for real samples.
        for end in [0, n / 2] {
            self.spectrum[end].im = 0.0;
        }
        // It fails only for other lengths, and for the imaginary parts above.
        let transformed = self.transform.process(&mut self.spectrum, &mut self.samples);
        debug_assert!(transformed.is_ok(), "the spectrum must fit the transform");
        for (at, weight) in self.window.iter().enumerate() {
            self.sum[at] += self.samples[at] / n as f64 * weight;
            self.weights[at] += weight * weight;
        }
        let samples = self.take(self.hop);
        self.sum.resize(n, 0.0);
        self.weights.resize(n, 0.0);
        samples
    }

    /// The samples after the last window's first hop, up to the part that is left out. Nothing if there was no window.
    pub(crate) fn finish(&mut self) -> Vec<f32> {
        self.take((self.window.len() - self.hop) / 2)
    }

    fn take(&mut self, n: usize) -> Vec<f32> {
        let n_skipped = self.n_left_out.min(n);
        self.n_left_out -= n_skipped;
        let samples = self.sum.drain(..n).zip(self.weights.drain(..n)).skip(n_skipped);
        samples.map(|(sum, weight)| (sum / weight) as f32).collect()
    }
}
