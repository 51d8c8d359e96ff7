//! Resampling by a windowed sinc, with the values of torchaudio's `resample` at its defaults.

use std::f64::consts::PI;

/// Zero crossings of the sinc on each side of its centre.
const CROSSINGS: f64 = 6.0;
/// The cutoff in lengths of half the lower rate, so that what the window lets through beyond it stays small.
const ROLLOFF: f64 = 0.99;

/// Converts samples that arrive in chunks to another rate. The result does not depend on the chunks.
///
/// An output is computed once the inputs up to half a filter after its time have arrived: about 6 periods of the lower rate.
#[derive(Clone, Debug)]
pub(crate) struct Resampler {
    /// The rates without their common divisor.
    from: usize,
    to: usize,
    /// Inputs before the time of an output that may count.
    reach: usize,
    /// Where the weights of each phase begin; inputs are counted from `reach` before the start of a period.
    starts: Vec<usize>,
    /// `(phase, tap)`
    weights: Vec<f32>,
    n_taps: usize,
    /// Inputs from the first one on that the current period may need.
    held: Vec<f32>,
    /// The next output of the current period.
    phase: usize,
    n_inputs: u64,
    n_outputs: u64,
}

impl Resampler {
    /// Creates a resampler between two rates, which must not be 0.
    pub(crate) fn new(from_rate: u32, to_rate: u32) -> Self {
        let divisor = greatest_common_divisor(from_rate, to_rate);
        let [from, to] = [from_rate, to_rate].map(|rate| (rate / divisor) as usize); // at least 32 bits
        // The filter is made for one period: `from` inputs, in whose time there are `to` outputs.
        let cutoff = ROLLOFF * from.min(to) as f64;
        let radius = CROSSINGS * from as f64 / cutoff; // in inputs
        let reach = radius.ceil() as usize;
        let n_taps = 2 * reach + 2;
        let n_phases = if from == to { 0 } else { to };
        let (mut starts, mut weights) = (Vec::with_capacity(n_phases), Vec::with_capacity(n_phases * n_taps));
        for phase in 0..n_phases {
            let center = phase as f64 * from as f64 / to as f64; // in inputs from the start of the period
            let start = phase * from / to;
            starts.push(start);
            weights.extend((start..start + n_taps).map(|input| {
                let distance = input as f64 - reach as f64 - center;
                (windowed_sinc(distance * cutoff / from as f64) * cutoff / from as f64) as f32
            }));
        }
        let held = vec![0.0; reach];
        Self { from, to, reach, starts, weights, n_taps, held, phase: 0, n_inputs: 0, n_outputs: 0 }
    }

    /// Appends the outputs that follow from these inputs.
    pub(crate) fn push(&mut self, samples: &[f32], resampled: &mut Vec<f32>) {
        if self.from == self.to {
            resampled.extend_from_slice(samples);
            return;
        }
        self.n_inputs += samples.len() as u64;
        self.held.extend_from_slice(samples);
        self.compute(u64::MAX, resampled);
    }

    /// Appends the last outputs: together there are as many as the duration of the inputs has, rounded up.
    pub(crate) fn finish(mut self, resampled: &mut Vec<f32>) {
        if self.from == self.to {
            return;
        }
        let end = (u128::from(self.n_inputs) * self.to as u128).div_ceil(self.from as u128);
        self.held.resize(self.held.len() + self.reach + 1, 0.0);
        self.compute(end as u64, resampled); // as many as samples that were in memory, times a ratio of rates
    }

    /// Computes outputs as far as their inputs are held, up to a total.
    fn compute(&mut self, end: u64, resampled: &mut Vec<f32>) {
        let mut period = 0; // where it begins in what is held
        while self.n_outputs < end {
            let start = period + self.starts[self.phase];
            let Some(inputs) = self.held.get(start..start + self.n_taps) else { break };
            let weights = &self.weights[self.phase * self.n_taps..][..self.n_taps];
            let sum: f64 = inputs.iter().zip(weights).map(|(x, weight)| f64::from(*x) * f64::from(*weight)).sum();
            resampled.push(sum as f32);
            self.n_outputs += 1;
            self.phase += 1;
            if self.phase == self.to {
                self.phase = 0;
                period += self.from;
            }
        }
        // Inputs reach beyond the end of a period before its last output is computed.
        self.held.drain(..period);
    }
}

/// Converts all samples to another rate. The rates must not be 0.
pub(crate) fn resample(samples: &[f32], from_rate: u32, to_rate: u32) -> Vec<f32> {
    let mut resampler = Resampler::new(from_rate, to_rate);
    let mut resampled = Vec::new();
    samples.chunks(1 << 16).for_each(|chunk| resampler.push(chunk, &mut resampled)); // less is held
    resampler.finish(&mut resampled);
    resampled
}

/// The sinc under a squared cosine that ends at the last zero crossing.
fn windowed_sinc(t: f64) -> f64 {
    if t == 0.0 {
        return 1.0;
    }
    if CROSSINGS <= t.abs() {
        return 0.0;
    }
    (PI * t).sin() / (PI * t) * (PI * t / (2.0 * CROSSINGS)).cos().powi(2)
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
