//! Samples the next token from the logits.
//!
//! The order is fixed: biases, repetition penalty, frequency and presence penalties, temperature, top-k, top-p, min-p, then
//! one draw. The steps that transformers also has are in transformers' order.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

pub(crate) use causerie_backend::SplitMix64;

use crate::error::{ErrorKind, Result, SdkError};
use crate::options::Sampling;

/// Picks the tokens of one reply.
pub(crate) struct Sampler {
    sampling: Sampling,
    random: SplitMix64,
    /// Values added to the logits of tokens.
    bias: BTreeMap<u32, f32>,
    /// Tokens of the prompt and the reply; stored only if the repetition penalty needs them.
    seen: HashSet<u32>,
    /// Occurrences of tokens in the reply; stored only if a penalty needs them.
    counts: HashMap<u32, u32>,
}

/// Number of logits that are compared together.
const CHUNK: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Candidate {
    id: u32,
    logit: f32,
}

impl Sampler {
    pub(crate) fn new(sampling: Sampling, bias: BTreeMap<u32, f32>, seed: u64) -> Self {
        Self { sampling, random: SplitMix64::new(seed), bias, seen: HashSet::new(), counts: HashMap::new() }
    }

    /// Refuses a bias for a token that is not in the vocabulary.
    pub(crate) fn check(&self, n_tokens: usize) -> Result<()> {
        match self.bias.keys().find(|id| n_tokens <= **id as usize) {
            Some(id) => Err(SdkError::new(
                ErrorKind::InvalidOption("logit_bias"),
                format!("logit_bias must name token ids below {n_tokens}, found {id}"),
            )),
            None => Ok(()),
        }
    }

    /// Adds the tokens of the prompt, to which the repetition penalty also applies.
    pub(crate) fn add_prompt(&mut self, prompt: impl IntoIterator<Item = u32>) {
        if self.sampling.repetition_penalty != 1.0 {
            self.seen.extend(prompt);
        }
    }

    /// Picks the next token among those that `is_allowed` accepts and whose logit is not minus infinity; `None` if there is
    /// none. `logits` has one value per token of the vocabulary.
    ///
    /// # Errors
    /// [`ErrorKind::Generation`] if a logit is NaN or positive infinity.
    pub(crate) fn pick(&mut self, logits: &mut [f32], mut is_allowed: impl FnMut(u32) -> bool) -> Result<Option<u32>> {
        if any(logits, |logit| logit.is_nan() | (logit == f32::INFINITY)) {
            return Err(not_finite());
        }
        self.penalise(logits);
        // Each iteration excludes a token, so the loop ends.
        while let Some(Candidate { id, .. }) = self.choose(logits) {
            if is_allowed(id) {
                self.add_token(id);
                return Ok(Some(id));
            }
            logits[id as usize] = f32::NEG_INFINITY;
        }
        Ok(None)
    }

    /// Whether the next token is the most probable one, by the model's logits as they are.
    pub(crate) fn takes_most_probable(&self) -> bool {
        let Sampling { temperature, repetition_penalty, presence_penalty, frequency_penalty, .. } = self.sampling;
        let changes = repetition_penalty != 1.0 || presence_penalty != 0.0 || frequency_penalty != 0.0;
        temperature == 0.0 && !changes && self.bias.is_empty()
    }

    fn choose(&mut self, logits: &[f32]) -> Option<Candidate> {
        let Sampling { temperature, top_k, .. } = self.sampling;
        match (temperature == 0.0, top_k) {
            (true, _) => most_probable(logits, 1).pop(),
            (false, 0) => self.draw(most_probable(logits, logits.len())),
            (false, top_k) => self.draw(most_probable(logits, top_k)),
        }
    }

    /// Adds a token of the reply that was not picked by [`pick`](Self::pick).
    pub(crate) fn add_token(&mut self, id: u32) {
        let Sampling { repetition_penalty, presence_penalty, frequency_penalty, .. } = self.sampling;
        if repetition_penalty != 1.0 {
            self.seen.insert(id);
        }
        if presence_penalty != 0.0 || frequency_penalty != 0.0 {
            *self.counts.entry(id).or_default() += 1;
        }
    }

    fn penalise(&self, logits: &mut [f32]) {
        let Sampling { repetition_penalty, presence_penalty, frequency_penalty, .. } = self.sampling;
        for (id, bias) in &self.bias {
            change(logits, *id, |logit| logit + bias);
        }
        // Keskar et al. 2019, <https://arxiv.org/abs/1909.05858>.
        for id in &self.seen {
            change(
                logits,
                *id,
                |logit| if logit < 0.0 { logit * repetition_penalty } else { logit / repetition_penalty },
            );
        }
        // OpenAI's definition: the frequency penalty for each occurrence, the presence penalty once.
        for (id, count) in &self.counts {
            change(logits, *id, |logit| logit - *count as f32 * frequency_penalty - presence_penalty);
        }
    }

    fn draw(&mut self, mut candidates: Vec<Candidate>) -> Option<Candidate> {
        let Sampling { temperature, top_p, min_p, .. } = self.sampling;
        candidates.sort_unstable_by(most_probable_first);
        let best = f64::from(candidates.first()?.logit);
        let weight = |candidate: &Candidate| ((f64::from(candidate.logit) - best) / f64::from(temperature)).exp();
        let mut weights: Vec<f64> = candidates.iter().map(weight).collect();
        weights.truncate(nucleus(&weights, top_p));
        // Weights are relative to the best token, whose weight is 1, so min-p compares them directly.
        let n_likely = weights.iter().take_while(|weight| f64::from(min_p) <= **weight).count();
        weights.truncate(n_likely.max(1));
        let mut left = self.random.unit() * weights.iter().sum::<f64>();
        let drawn = weights.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        candidates.get(drawn.unwrap_or(weights.len() - 1)).copied()
    }
}

/// The error for a logit that is NaN or positive infinity.
pub(crate) fn not_finite() -> SdkError {
    SdkError::new(ErrorKind::Generation, "the model's logits must be finite, found NaN or infinity")
}

fn change(logits: &mut [f32], id: u32, change: impl FnOnce(f32) -> f32) {
    if let Some(logit) = logits.get_mut(id as usize) {
        *logit = change(*logit);
    }
}

/// The `n` most probable tokens in no order; all, if there are fewer. Few tokens of a large vocabulary come near the best
/// ones, so most chunks are skipped after one vectorised comparison per logit.
fn most_probable(logits: &[f32], n: usize) -> Vec<Candidate> {
    let n = n.min(logits.len());
    let mut found: Vec<Candidate> = Vec::new();
    let keep_best = |found: &mut Vec<Candidate>| {
        if 0 < n && n < found.len() {
            found.select_nth_unstable_by(n - 1, most_probable_first);
            found.truncate(n);
        }
    };
    // Logits that are not above it are excluded, or not among the best.
    let mut threshold = f32::NEG_INFINITY;
    for (chunk, start) in logits.chunks(CHUNK).zip((0u32..).step_by(CHUNK)) {
        if !any(chunk, |logit| threshold < logit) {
            continue;
        }
        let candidates = chunk.iter().zip(start..).map(|(logit, id)| Candidate { id, logit: *logit + 0.0 }); // -0.0 becomes 0.0
        found.extend(candidates.filter(|candidate| threshold < candidate.logit));
        if n + CHUNK <= found.len() {
            keep_best(&mut found);
            threshold = found.iter().map(|candidate| candidate.logit).fold(f32::INFINITY, f32::min);
        }
    }
    keep_best(&mut found);
    found
}

/// Whether a condition holds for any logit. Has no early exit, so that the compiler can vectorise it.
fn any(logits: &[f32], holds: impl Fn(f32) -> bool) -> bool {
    logits.iter().fold(false, |any, logit| any | holds(*logit))
}

/// Orders by descending logit, and equal logits by id, so that the choice never depends on the order of candidates.
fn most_probable_first(a: &Candidate, b: &Candidate) -> Ordering {
    b.logit.total_cmp(&a.logit).then(a.id.cmp(&b.id))
}

/// The number of most probable tokens whose weights add up to `top_p` of the total; at least one.
fn nucleus(weights: &[f64], top_p: f32) -> usize {
    if 1.0 <= top_p {
        return weights.len();
    }
    let wanted = f64::from(top_p) * weights.iter().sum::<f64>();
    let mut sum = 0.0;
    let enough = weights.iter().position(|weight| {
        sum += weight;
        wanted <= sum
    });
    enough.map_or(weights.len(), |at| at + 1)
}

/// A random seed, for a reply without a seed in its options. Its 53 bits survive a client that reads numbers as floats.
pub(crate) fn random_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    // The standard library seeds the keys of its hashers from the system's random source.
    RandomState::new().hash_one("seed") >> 11
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Sampling = Sampling {
        temperature: 1.0,
        top_p: 1.0,
        top_k: 0,
        min_p: 0.0,
        repetition_penalty: 1.0,
        presence_penalty: 0.0,
        frequency_penalty: 0.0,
    };
    const GREEDY: Sampling = Sampling { temperature: 0.0, ..PLAIN };

    impl Sampler {
        fn seeded(sampling: Sampling, seed: u64) -> Self {
            Self::new(sampling, BTreeMap::new(), seed)
        }

        fn next(&mut self, logits: &mut [f32]) -> u32 {
            self.pick(logits, |_| true).unwrap().unwrap()
        }
    }

    /// Checks the set of tokens that 1,000 draws pick.
    #[track_caller]
    fn check(sampling: Sampling, logits: &[f32], expect: &[u32]) {
        let mut sampler = Sampler::seeded(sampling, 7);
        let drawn: HashSet<u32> = (0..1000).map(|_| sampler.next(&mut logits.to_vec())).collect();
        assert_eq!(drawn, expect.iter().copied().collect());
    }

    #[test]
    fn temperature_0_picks_the_best_and_the_first_of_equals() {
        check(GREEDY, &[1.0, 3.0, 3.0], &[1]);
    }

    #[test]
    fn top_k_keeps_the_k_best() {
        check(Sampling { top_k: 2, ..PLAIN }, &[1.0, 1.1, 0.9], &[0, 1]);
        check(Sampling { top_k: 99, ..PLAIN }, &[1.0, 1.1, 0.9], &[0, 1, 2]);
    }

    #[test]
    fn top_p_keeps_the_fewest_tokens_that_add_up_to_p() {
        let logits = [0.5f32.ln(), 0.3f32.ln(), 0.2f32.ln()];
        check(Sampling { top_p: 0.4, ..PLAIN }, &logits, &[0]);
        check(Sampling { top_p: 0.7, ..PLAIN }, &logits, &[0, 1]);
        check(Sampling { top_p: 0.0, ..PLAIN }, &logits, &[0]);
    }

    #[test]
    fn min_p_keeps_tokens_near_the_best() {
        let logits = [0.5f32.ln(), 0.3f32.ln(), 0.2f32.ln()];
        check(Sampling { min_p: 0.5, ..PLAIN }, &logits, &[0, 1]);
        check(Sampling { min_p: 1.0, ..PLAIN }, &logits, &[0]);
    }

    #[test]
    fn the_most_probable_are_the_first_of_a_sorted_list() {
        let mut random = SplitMix64::new(3);
        for (n_logits, n, n_values) in [
            (0, 1, 9),
            (1, 1, 9),
            (5000, 1, 9),
            (5000, 50, 9),
            (5000, 50, 1 << 20),
            (700, 699, 99),
            (700, usize::MAX, 99),
        ] {
            let logits: Vec<f32> = (0..n_logits).map(|_| (random.next_u64() % n_values) as f32 - 4.0).collect();
            let all = logits.iter().zip(0..).map(|(logit, id)| Candidate { id, logit: *logit });
            let mut expect: Vec<Candidate> = all.collect();
            expect.sort_by(most_probable_first);
            expect.truncate(n);
            let mut found = most_probable(&logits, n);
            found.sort_by(most_probable_first);
            assert_eq!(found, expect);
        }
    }

    #[test]
    fn a_tiny_temperature_picks_one_valid_token() {
        check(Sampling { temperature: 1e-40, ..PLAIN }, &[1.0, 2.0], &[1]);
    }

    #[test]
    fn the_repetition_penalty_applies_to_prompt_and_reply_for_any_sign() {
        let mut sampler = Sampler::seeded(Sampling { repetition_penalty: 2.0, ..GREEDY }, 0);
        sampler.add_prompt([0]);
        assert_eq!(sampler.next(&mut [1.0, 0.6, -1.0]), 1);
        assert_eq!(sampler.next(&mut [-1.0, -1.1, -1.5]), 2);
    }

    /// Checks the tokens picked repeatedly from the same logits, and the penalised logits of the next pick.
    #[track_caller]
    fn check_penalties(sampling: Sampling, logits: [f32; 3], expect: &[u32], expect_logits: [f32; 3]) {
        let mut sampler = Sampler::seeded(sampling, 0);
        sampler.add_prompt([0, 0, 1]); // these penalties ignore the prompt
        let picked: Vec<u32> = expect.iter().map(|_| sampler.next(&mut logits.clone())).collect();
        let mut penalised = logits;
        sampler.penalise(&mut penalised);
        assert_eq!((picked.as_slice(), penalised), (expect, expect_logits));
    }

    #[test]
    fn presence_counts_once_and_frequency_each_time() {
        let logits = [1.0, 0.75, -2.0];
        check_penalties(Sampling { presence_penalty: 0.5, ..GREEDY }, logits, &[0, 1, 0, 0], [0.5, 0.25, -2.0]);
        check_penalties(Sampling { frequency_penalty: 0.5, ..GREEDY }, logits, &[0, 1, 0, 1, 0], [-0.5, -0.25, -2.0]);
        let both = Sampling { presence_penalty: 0.25, frequency_penalty: 0.5, ..GREEDY };
        check_penalties(both, logits, &[0, 1, 0], [-0.25, 0.0, -2.0]);
        check_penalties(Sampling { presence_penalty: -2.0, ..GREEDY }, logits, &[0, 0], [3.0, 0.75, -2.0]);
    }

    #[test]
    fn penalties_are_applied_in_a_fixed_order() {
        let sampling = Sampling { repetition_penalty: 2.0, frequency_penalty: 1.0, ..GREEDY };
        let mut sampler = Sampler::new(sampling, BTreeMap::from([(0, -3.0)]), 0);
        sampler.add_token(0);
        let mut logits = [1.0, 0.0];
        sampler.penalise(&mut logits);
        assert_eq!(logits, [(1.0 - 3.0) * 2.0 - 1.0, 0.0]);
    }

    #[test]
    fn biases_are_added_and_must_name_existing_tokens() {
        let mut sampler = Sampler::new(GREEDY, BTreeMap::from([(0, -100.0), (2, 3.5)]), 0);
        assert_eq!(sampler.next(&mut [9.0, 1.0, -2.0]), 2);
        assert!(sampler.check(3).is_ok());
        assert_eq!(sampler.check(2).unwrap_err().kind(), ErrorKind::InvalidOption("logit_bias"));
    }

    #[test]
    fn draws_follow_the_probabilities() {
        let mut sampler = Sampler::seeded(PLAIN, 1);
        let n = 20_000;
        let ones = (0..n).filter(|_| sampler.next(&mut [0.25f32.ln(), 0.75f32.ln()]) == 1).count();
        // Five standard deviations of a binomial distribution of n draws: 0.0153.
        assert!((ones as f64 / f64::from(n) - 0.75).abs() < 0.0153, "{ones}");
    }

    #[test]
    fn a_seed_repeats_its_draws() {
        let draws = |seed| {
            let mut sampler = Sampler::seeded(PLAIN, seed);
            (0..50).map(|_| sampler.next(&mut [0.0; 100])).collect::<Vec<_>>()
        };
        assert_eq!(draws(3), draws(3));
        assert_ne!(draws(3), draws(4));
    }

    #[test]
    fn logits_that_are_not_finite_are_errors() {
        for mut logits in [vec![f32::NAN, 1.0], vec![f32::INFINITY; 2]] {
            let err = Sampler::seeded(PLAIN, 0).pick(&mut logits, |_| true).unwrap_err();
            assert_eq!(err.kind(), ErrorKind::Generation);
        }
    }

    #[test]
    fn tokens_that_are_not_allowed_are_not_picked() {
        let logits = [3.0, 2.0, f32::NEG_INFINITY, 1.0];
        for temperature in [0.0, 1.0] {
            let mut sampler = Sampler::seeded(Sampling { temperature, ..PLAIN }, 0);
            assert_eq!(sampler.pick(&mut logits.to_vec(), |id| id == 3).unwrap(), Some(3));
            assert_eq!(sampler.pick(&mut logits.to_vec(), |id| id == 2).unwrap(), None);
            assert_eq!(sampler.pick(&mut [], |_| true).unwrap(), None);
        }
    }
}
