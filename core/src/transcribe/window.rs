//! The text of one window, which is tried again at higher temperatures until it is good enough.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::model::HeardWindow;
use crate::options::Sampling;
use crate::sample::Sampler;
use crate::transcribe::options::TranscribeOptions;
use crate::transcribe::quality::{compression_ratio, is_bad};
use crate::transcribe::rules;
use crate::transcribe::text::WindowText;
use crate::transcribe::vocabulary::SpeechVocabulary;

/// Picks the most probable token, or draws among all.
const PLAIN: Sampling = Sampling {
    temperature: 0.0,
    top_p: 1.0,
    top_k: 0,
    min_p: 0.0,
    repetition_penalty: 1.0,
    presence_penalty: 0.0,
    frequency_penalty: 0.0,
};

/// What is given to the decoder before it writes.
pub(super) struct WindowPrompt {
    pub(super) tokens: Vec<u32>,
    /// The place of the token that begins the transcript.
    pub(super) start: usize,
}

/// Writes the text of a window.
pub(super) struct WindowWriter {
    pub(super) window: HeardWindow,
    prompt: WindowPrompt,
    /// Tokens that may be written.
    most: usize,
    seed: u64,
    /// The logits after the prompt, and the probability of no speech, once it is computed.
    begun: Option<(Vec<f32>, f32)>,
    /// Temperatures that were tried before this one.
    n_tried: usize,
    attempt: Attempt,
}

/// A text while it is written at one temperature.
struct Attempt {
    sampler: Sampler,
    temperature: f32,
    tokens: Vec<u32>,
    sum_logprob: f64,
    logits: Vec<f32>,
}

/// What a step of a window did.
pub(super) enum WindowStep {
    /// A token was written, or a new attempt begun.
    Wrote,
    Complete(WindowText),
}

impl WindowWriter {
    /// The window must be encoded.
    pub(super) fn new(
        window: HeardWindow,
        prompt: WindowPrompt,
        n_positions: usize,
        options: &TranscribeOptions,
        seed: u64,
    ) -> Self {
        // Half of the positions are for the prompt.
        let most = (n_positions / 2).min(n_positions.saturating_sub(prompt.tokens.len()));
        let attempt = Attempt::new(options, 0, seed, Vec::new());
        Self { window, prompt, most, seed, begun: None, n_tried: 0, attempt }
    }

    /// Text and times so far.
    pub(super) fn tokens(&self) -> &[u32] {
        &self.attempt.tokens
    }

    /// Writes a token.
    pub(super) fn step(&mut self, vocabulary: &SpeechVocabulary, options: &TranscribeOptions) -> Result<WindowStep> {
        let no_speech_prob = match &self.begun {
            Some((_, no_speech_prob)) => *no_speech_prob,
            None => {
                self.begin(vocabulary)?;
                return Ok(WindowStep::Wrote);
            }
        };
        let attempt = &mut self.attempt;
        let token = attempt.pick(vocabulary, options)?.unwrap_or(vocabulary.tokens.end);
        let is_end = token == vocabulary.tokens.end;
        if !is_end {
            attempt.tokens.push(token);
            if attempt.tokens.len() < self.most {
                attempt.logits = self.window.write(&[token], std::slice::from_ref(&(0..1)))?;
                return Ok(WindowStep::Wrote);
            }
        }
        let n_scored = attempt.tokens.len() + 1; // as in the reference, whether or not the text has an end
        let text = WindowText {
            avg_logprob: (attempt.sum_logprob / n_scored as f64) as f32,
            no_speech_prob,
            compression_ratio: compression_ratio(vocabulary.decode(&attempt.tokens).trim()),
            temperature: attempt.temperature,
            tokens: std::mem::take(&mut attempt.tokens),
        };
        let is_last = options.temperatures.len() <= self.n_tried + 1;
        if is_last || !is_bad(&text, options) {
            return Ok(WindowStep::Complete(text));
        }
        self.n_tried += 1;
        self.window.rewind(self.prompt.tokens.len())?;
        let logits = self.begun.as_ref().map(|(logits, _)| logits.clone()).unwrap_or_default();
        self.attempt = Attempt::new(options, self.n_tried, self.seed, logits);
        Ok(WindowStep::Wrote)
    }

    /// Computes the prompt.
    fn begin(&mut self, vocabulary: &SpeechVocabulary) -> Result<()> {
        let WindowPrompt { tokens, start } = &self.prompt;
        let last = tokens.len() - 1;
        let mut logits = self.window.write(tokens, &[*start..start + 1, last..tokens.len()])?;
        let after = logits.split_off(logits.len() / 2);
        let no_speech = vocabulary.tokens.no_speech as usize;
        let no_speech = logits.get(no_speech).map_or(0.0, |logit| (f64::from(*logit) - log_sum(&logits)).exp() as f32);
        self.attempt.logits = after.clone();
        self.begun = Some((after, no_speech));
        Ok(())
    }
}

impl Attempt {
    fn new(options: &TranscribeOptions, n_tried: usize, seed: u64, logits: Vec<f32>) -> Self {
        let temperature = options.temperatures.get(n_tried).copied().unwrap_or_default();
        let sampler =
            Sampler::new(Sampling { temperature, ..PLAIN }, BTreeMap::new(), seed.wrapping_add(n_tried as u64));
        Self { sampler, temperature, tokens: Vec::new(), sum_logprob: 0.0, logits }
    }

    /// Picks the next token; `None` if none is allowed.
    fn pick(&mut self, vocabulary: &SpeechVocabulary, options: &TranscribeOptions) -> Result<Option<u32>> {
        rules::apply(vocabulary, &self.tokens, options.has_times, &mut self.logits);
        let sum = log_sum(&self.logits);
        let token = self.sampler.pick(&mut self.logits, |_| true)?;
        if let Some(token) = token {
            self.sum_logprob += f64::from(self.logits[token as usize]) - sum;
        }
        Ok(token)
    }
}

/// The logarithm of the sum of the exponents.
pub(super) fn log_sum(logits: &[f32]) -> f64 {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if largest == f32::NEG_INFINITY {
        return f64::NEG_INFINITY;
    }
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - largest).exp()).sum();
    f64::from(largest) + sum.ln()
}
