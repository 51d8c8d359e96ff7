//! Sampling values: those in effect, and those that a model recommends.

use super::generation::GenerationOptions;
use super::limits::Limits::{Above, AtLeast, Between};
use crate::error::Result;

/// Sampling values with every default filled in.
///
/// ```
/// use causerie::{GenerationOptions, SamplingDefaults};
///
/// let sampling = GenerationOptions::default().sampling(&SamplingDefaults::default());
/// assert_eq!((sampling.temperature, sampling.top_k), (1.0, 50));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// See [`GenerationOptions::temperature`].
    pub temperature: f32,
    /// See [`GenerationOptions::top_p`].
    pub top_p: f32,
    /// See [`GenerationOptions::top_k`].
    pub top_k: usize,
    /// See [`GenerationOptions::min_p`].
    pub min_p: f32,
    /// See [`GenerationOptions::repetition_penalty`].
    pub repetition_penalty: f32,
    /// See [`GenerationOptions::presence_penalty`].
    pub presence_penalty: f32,
    /// See [`GenerationOptions::frequency_penalty`].
    pub frequency_penalty: f32,
}

__sampling_defaults!(options {
    /// Sampling values that a model's own files recommend.
    ///
    /// ```
    /// use causerie::{LoadOptions, SamplingDefaults};
    ///
    /// let generation_defaults = SamplingDefaults { temperature: Some(0.3), min_p: Some(0.15), ..Default::default() };
    /// let options = LoadOptions { generation_defaults, ..Default::default() };
    /// # assert!(options.check().is_ok());
    /// ```
    #[derive(Copy)]
    pub struct SamplingDefaults
});

impl SamplingDefaults {
    /// These values, or the values of `others` for fields that are `None`.
    pub(crate) fn or(self, others: Self) -> Self {
        Self {
            temperature: self.temperature.or(others.temperature),
            top_p: self.top_p.or(others.top_p),
            top_k: self.top_k.or(others.top_k),
            min_p: self.min_p.or(others.min_p),
            repetition_penalty: self.repetition_penalty.or(others.repetition_penalty),
        }
    }

    /// Checks the values as [`GenerationOptions::check`] does.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_limits()
    }
}

impl GenerationOptions {
    /// The sampling values in effect: from these options, else from the model, else from the table of the specification.
    ///
    /// ```
    /// use causerie::{GenerationOptions, SamplingDefaults};
    ///
    /// let options = GenerationOptions { top_k: Some(7), ..Default::default() };
    /// let model = SamplingDefaults { temperature: Some(0.3), top_k: Some(3), ..Default::default() };
    /// let sampling = options.sampling(&model);
    /// assert_eq!((sampling.temperature, sampling.top_k), (0.3, 7));
    /// ```
    pub fn sampling(&self, model: &SamplingDefaults) -> Sampling {
        Sampling {
            temperature: self.temperature.or(model.temperature).unwrap_or(1.0),
            top_p: self.top_p.or(model.top_p).unwrap_or(1.0),
            top_k: self.top_k.or(model.top_k).unwrap_or(50),
            min_p: self.min_p.or(model.min_p).unwrap_or(0.0),
            repetition_penalty: self.repetition_penalty.or(model.repetition_penalty).unwrap_or(1.0),
            presence_penalty: self.presence_penalty.unwrap_or(0.0),
            frequency_penalty: self.frequency_penalty.unwrap_or(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_before_the_model_and_the_model_before_the_table() {
        let options = GenerationOptions { top_k: Some(7), ..Default::default() };
        let model = SamplingDefaults { top_k: Some(3), temperature: Some(0.3), ..Default::default() };
        let expect = Sampling {
            temperature: 0.3,
            top_p: 1.0,
            top_k: 7,
            min_p: 0.0,
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
        };
        assert_eq!(options.sampling(&model), expect);
    }
}
