//! Options of one generation.

use std::collections::BTreeMap;
use std::time::Duration;

use super::choices::{ContextPolicy, OnBusy, OnCancel, SpeechMode, Strictness, ToolCallConstraint, ToolChoice};
use super::limits::Limits::{Above, AtLeast, Between};
use super::limits::out_of_range;
use crate::error::Result;
use crate::function::Arguments;
use crate::notation::FunctionCallParser;

/// Variables of chat templates that causerie sets from messages and other options.
const TEMPLATE_VARIABLES: [&str; 7] =
    ["messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "enable_thinking", "strftime_now"];

__generation_options!(options {
    /// How one reply is generated. For a field that is `None`, the model's own default applies, or else the default stated here.
    ///
    /// ```
    /// use causerie::GenerationOptions;
    /// let greedy = GenerationOptions { temperature: Some(0.0), max_tokens: Some(64), ..Default::default() };
    /// assert!(greedy.check().is_ok());
    /// ```
    pub struct GenerationOptions
});

impl GenerationOptions {
    /// Checks every field. Generation does the same before the first token.
    ///
    /// ```
    /// use causerie::{ErrorKind, GenerationOptions};
    ///
    /// let options = GenerationOptions { top_p: Some(1.5), ..Default::default() };
    /// let err = options.check().unwrap_err();
    /// assert_eq!(err.kind(), ErrorKind::InvalidOption("top_p"));
    /// assert_eq!(err.to_string(), "top_p must be between 0 and 1, found 1.5");
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`](crate::ErrorKind::InvalidOption) with the name of the field that is out of range.
    pub fn check(&self) -> Result<()> {
        self.check_limits()?;
        if let Some(name) = self.template_variables.keys().find(|name| TEMPLATE_VARIABLES.contains(&name.as_str())) {
            return Err(out_of_range("template_variables", name, "variables that causerie does not set itself"));
        }
        if self.continue_final_message && self.json_schema_constraint.is_some() {
            return Err(out_of_range(
                "continue_final_message",
                true,
                "false with a schema, which the whole text must fit",
            ));
        }
        if self.offered_functions.as_ref().is_some_and(Vec::is_empty) {
            return Err(out_of_range("offered_functions", "none", "names of functions"));
        }
        if self.stop_sequences.iter().any(String::is_empty) {
            return Err(out_of_range("stop_sequences", "\"\"", "strings that are not empty"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_value_out_of_range_is_refused_by_name() {
        let base = GenerationOptions::default;
        for (options, field) in [
            (GenerationOptions { temperature: Some(f32::NAN), ..base() }, "temperature"),
            (GenerationOptions { temperature: Some(-1.0), ..base() }, "temperature"),
            (GenerationOptions { top_p: Some(1.1), ..base() }, "top_p"),
            (GenerationOptions { min_p: Some(-0.1), ..base() }, "min_p"),
            (GenerationOptions { repetition_penalty: Some(0.0), ..base() }, "repetition_penalty"),
            (GenerationOptions { presence_penalty: Some(2.1), ..base() }, "presence_penalty"),
            (GenerationOptions { frequency_penalty: Some(f32::NAN), ..base() }, "frequency_penalty"),
            (GenerationOptions { logit_bias: [(7, -100.1)].into(), ..base() }, "logit_bias"),
            (GenerationOptions { logprobs: Some(21), ..base() }, "logprobs"),
            (GenerationOptions { max_tokens: Some(0), ..base() }, "max_tokens"),
            (
                GenerationOptions {
                    continue_final_message: true,
                    json_schema_constraint: Some("{}".to_owned()),
                    ..base()
                },
                "continue_final_message",
            ),
            (GenerationOptions { stop_sequences: vec![String::new()], ..base() }, "stop_sequences"),
            (
                GenerationOptions {
                    template_variables: Arguments::from([("messages".to_owned(), true.into())]),
                    ..base()
                },
                "template_variables",
            ),
        ] {
            assert_eq!(options.check().unwrap_err().kind(), ErrorKind::InvalidOption(field));
        }
    }
}
