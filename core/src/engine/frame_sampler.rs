//! Samples the codes of frames of sound.

use std::collections::VecDeque;

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::speech::FrameChooser;
use crate::options::FrameSampling;
use crate::sample::SplitMix64;

/// Chooses a code by its logit: the best one at temperature 0, else among the `top_k` best, ties included.
pub(super) struct FrameSampler {
    sampling: FrameSampling,
    /// The last frames, whose codes are penalised.
    frames: VecDeque<Vec<u32>>,
    random: SplitMix64,
}

impl FrameSampler {
    pub(super) fn new(sampling: FrameSampling, seed: u64) -> Self {
        Self { sampling, frames: VecDeque::new(), random: SplitMix64::new(seed) }
    }

    /// Remembers a frame with sound.
    pub(super) fn remember(&mut self, frame: &[u32]) {
        if self.sampling.penalty_window == 0 {
            return;
        }
        if self.sampling.penalty_window <= self.frames.len() {
            self.frames.pop_front();
        }
        self.frames.push_back(frame.to_vec());
    }

    /// Makes codes less probable that the codebook had in the last frames.
    fn penalise(&self, codebook: usize, logits: &mut [f32]) {
        let penalty = self.sampling.repetition_penalty;
        if penalty <= 1.0 {
            return;
        }
        let mut codes: Vec<u32> = self.frames.iter().filter_map(|frame| frame.get(codebook).copied()).collect();
        codes.sort_unstable();
        codes.dedup();
        for code in codes {
            if let Some(logit) = logits.get_mut(code as usize) {
                *logit = if 0.0 < *logit { *logit / penalty } else { *logit * penalty };
            }
        }
    }

    /// # Errors
    /// [`ErrorKind::Generation`] if a logit is NaN or infinite.
    fn pick(&mut self, logits: &[f32]) -> Result<u32> {
        if logits.iter().any(|logit| !logit.is_finite()) {
            return Err(SdkError::new(
                ErrorKind::Generation,
                "the logits of a frame of sound must be finite, found NaN or infinity",
            ));
        }
        let FrameSampling { temperature, top_k, .. } = self.sampling;
        let mut codes: Vec<(u32, f32)> = (0..).zip(logits.iter().copied()).collect();
        // Equal logits keep their order, so the first of the best is taken.
        codes.sort_by(|a, b| b.1.total_cmp(&a.1));
        let Some(&(best, highest)) = codes.first() else {
            return Err(SdkError::new(ErrorKind::Internal, "a codebook must have codes"));
        };
        if temperature == 0.0 || top_k == 1 {
            return Ok(best);
        }
        let lowest = codes.get(top_k.wrapping_sub(1)).map_or(f32::NEG_INFINITY, |(_, logit)| *logit);
        codes.retain(|(_, logit)| lowest <= *logit);
        let weight = |logit: f32| (f64::from(logit - highest) / f64::from(temperature)).exp();
        let mut left = self.random.unit() * codes.iter().map(|(_, logit)| weight(*logit)).sum::<f64>();
        let drawn = codes.iter().find(|(_, logit)| {
            left -= weight(*logit);
            left < 0.0
        });
        Ok(drawn.map_or(best, |(code, _)| *code))
    }
}

impl FrameChooser for FrameSampler {
    /// A random order.
    fn order(&mut self, n_codebooks: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n_codebooks).collect();
        for end in (1..n_codebooks).rev() {
            let other = (self.random.unit() * (end + 1) as f64) as usize; // at most `end`: a unit is below 1
            order.swap(end, other.min(end));
        }
        order
    }

    fn code(&mut self, codebook: usize, logits: &mut [f32]) -> Result<u32> {
        self.penalise(codebook, logits);
        self.pick(logits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(temperature: f32, top_k: usize, seed: u64) -> FrameSampler {
        let sampling = FrameSampling { temperature, top_k, repetition_penalty: 1.0, penalty_window: 0 };
        FrameSampler::new(sampling, seed)
    }

    #[test]
    fn without_temperature_the_first_of_the_best_codes_is_taken() {
        let mut sampler = sampler(0.0, 64, 1);
        assert_eq!(sampler.pick(&[0.5, 2.0, -1.0, 2.0]).unwrap(), 1);
    }

    #[test]
    fn codes_below_the_k_best_are_never_drawn_and_ties_are() {
        let mut sampler = sampler(1.0, 2, 1);
        let drawn: Vec<u32> = (0..200).map(|_| sampler.pick(&[1.0, 0.9, 0.9, 0.8]).unwrap()).collect();
        assert!([0, 1, 2].iter().all(|code| drawn.contains(code)) && !drawn.contains(&3));
    }

    #[test]
    fn draws_follow_the_softmax() {
        let mut sampler = sampler(0.5, 0, 7);
        let n_first = (0..4000).filter(|_| sampler.pick(&[0.5, 0.0]).unwrap() == 0).count();
        // e / (e + 1) = 0.731; the deviation of 4,000 draws is 0.007.
        assert!((2800..3050).contains(&n_first), "{n_first}");
    }

    #[test]
    fn a_logit_that_is_not_finite_is_an_error() {
        for logit in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let err = sampler(0.0, 1, 1).pick(&[0.0, logit]).unwrap_err();
            assert_eq!(err.kind(), ErrorKind::Generation);
        }
    }

    #[test]
    fn codes_of_the_last_frames_are_penalised_once_each_by_codebook() {
        let sampling = FrameSampling { temperature: 0.0, top_k: 0, repetition_penalty: 2.0, penalty_window: 2 };
        let mut sampler = FrameSampler::new(sampling, 1);
        [[0, 1], [2, 1], [2, 0]].iter().for_each(|frame| sampler.remember(frame));
        // The first frame is forgotten; a code that came twice is penalised once, and a negative logit grows.
        let (mut first, mut second) = ([3.0, 2.0, 5.0], [3.0, 2.0, -1.0]);
        assert_eq!((sampler.code(0, &mut first).unwrap(), first), (0, [3.0, 2.0, 2.5]));
        assert_eq!((sampler.code(1, &mut second).unwrap(), second), (0, [1.5, 1.0, -1.0]));
        let mut negative = [-1.0, -3.0, -1.5];
        assert_eq!((sampler.code(0, &mut negative).unwrap(), negative), (0, [-1.0, -3.0, -3.0]));
    }

    #[test]
    fn orders_are_permutations_of_which_all_come() {
        let mut sampler = sampler(1.0, 0, 3);
        let mut orders: Vec<Vec<usize>> = (0..200).map(|_| sampler.order(3)).collect();
        orders.sort();
        orders.dedup();
        assert_eq!(orders, [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]);
    }
}
