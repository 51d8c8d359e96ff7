//! Samples the codes of frames of sound.

use crate::error::{ErrorKind, Result, SdkError};
use crate::sample::SplitMix64;

/// Chooses a code by its logit: the best one at temperature 0, else among the `top_k` best, ties included.
pub(super) struct FrameSampler {
    temperature: f32,
    top_k: usize,
    random: SplitMix64,
}

impl FrameSampler {
    pub(super) fn new(temperature: f32, top_k: usize, seed: u64) -> Self {
        Self { temperature, top_k, random: SplitMix64::new(seed) }
    }

    /// # Errors
    /// [`ErrorKind::Generation`] if a logit is NaN or infinite.
    pub(super) fn pick(&mut self, logits: &[f32]) -> Result<u32> {
        if logits.iter().any(|logit| !logit.is_finite()) {
            return Err(SdkError::new(
                ErrorKind::Generation,
                "the logits of a frame of sound must be finite, found NaN or infinity",
            ));
        }
        let mut codes: Vec<(u32, f32)> = (0..).zip(logits.iter().copied()).collect();
        // Equal logits keep their order, so the first of the best is taken.
        codes.sort_by(|a, b| b.1.total_cmp(&a.1));
        let Some(&(best, highest)) = codes.first() else {
            return Err(SdkError::new(ErrorKind::Internal, "a codebook must have codes"));
        };
        if self.temperature == 0.0 || self.top_k == 1 {
            return Ok(best);
        }
        let lowest = codes.get(self.top_k.wrapping_sub(1)).map_or(f32::NEG_INFINITY, |(_, logit)| *logit);
        codes.retain(|(_, logit)| lowest <= *logit);
        let weight = |logit: f32| (f64::from(logit - highest) / f64::from(self.temperature)).exp();
        let mut left = self.random.unit() * codes.iter().map(|(_, logit)| weight(*logit)).sum::<f64>();
        let drawn = codes.iter().find(|(_, logit)| {
            left -= weight(*logit);
            left < 0.0
        });
        Ok(drawn.map_or(best, |(code, _)| *code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_temperature_the_first_of_the_best_codes_is_taken() {
        let mut sampler = FrameSampler::new(0.0, 64, 1);
        assert_eq!(sampler.pick(&[0.5, 2.0, -1.0, 2.0]).unwrap(), 1);
    }

    #[test]
    fn codes_below_the_k_best_are_never_drawn_and_ties_are() {
        let mut sampler = FrameSampler::new(1.0, 2, 1);
        let drawn: Vec<u32> = (0..200).map(|_| sampler.pick(&[1.0, 0.9, 0.9, 0.8]).unwrap()).collect();
        assert!([0, 1, 2].iter().all(|code| drawn.contains(code)) && !drawn.contains(&3));
    }

    #[test]
    fn draws_follow_the_softmax() {
        let mut sampler = FrameSampler::new(0.5, 0, 7);
        let n_first = (0..4000).filter(|_| sampler.pick(&[0.5, 0.0]).unwrap() == 0).count();
        // e / (e + 1) = 0.731; the deviation of 4,000 draws is 0.007.
        assert!((2800..3050).contains(&n_first), "{n_first}");
    }

    #[test]
    fn a_logit_that_is_not_finite_is_an_error() {
        for logit in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let err = FrameSampler::new(0.0, 1, 1).pick(&[0.0, logit]).unwrap_err();
            assert_eq!(err.kind(), ErrorKind::Generation);
        }
    }
}
