//! Options of loading, of a reply and of its function calls, set by name.

use causerie::{ErrorKind, GenerationOptions, LoadOptions, Result, RoundOptions, SamplingDefaults, SdkError, Value};

use crate::reading::{OptionType, read};

/// All options, each with its default until it is set. They have the names of the fields in Rust.
///
/// ```
/// use causerie_plain::NamedOptions;
///
/// let mut options = NamedOptions::default();
/// options.set("max_tokens", &causerie::Value::Integer(64))?;
/// assert_eq!(options.generation.max_tokens, Some(64));
/// let err = options.set("max_token", &causerie::Value::Integer(64)).unwrap_err();
/// assert_eq!(err.to_string(), "there is no option max_token; did you mean max_tokens?");
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct NamedOptions {
    /// How a reply is generated.
    pub generation: GenerationOptions,
    /// How a model is loaded.
    pub loading: LoadOptions,
    /// Limits on the function calls of one message.
    pub rounds: RoundOptions,
}

/// Defines a function that sets an option of a table by its name, and returns false if there is none, and the names. An option that
/// may be absent takes null, which is its default; the others are left as they are then.
macro_rules! table {
    (
        {$names:ident $assign:ident $options:ident}
        $($(#[doc = $doc:literal])* $(#[foreign = $foreign:literal])?
        $name:ident: $type:ty $(= $default:expr)? $(, $limits:expr)?;)*
    ) => {
        const $names: &[&str] = &[$(stringify!($name)),*];

        fn $assign(options: &mut $options, name: &str, value: &Value) -> Result<bool> {
            $(if name == stringify!($name) {
                options.$name = read(stringify!($name), value)?;
                return Ok(true);
            })*
            Ok(false)
        }
    };
}

causerie::__generation_options!(table { GENERATION assign_generation GenerationOptions });
causerie::__load_options!(table { LOADING assign_loading LoadOptions });
causerie::__round_options!(table { ROUNDS assign_rounds RoundOptions });
causerie::__sampling_defaults!(table { SAMPLING assign_sampling SamplingDefaults });

/// The names of all options.
fn names() -> Vec<&'static str> {
    [GENERATION, LOADING, ROUNDS].concat()
}

/// An object with some of the values.
impl OptionType for SamplingDefaults {
    fn expected() -> String {
        format!("an object of numbers, with the names {}", SAMPLING.join(", "))
    }

    fn read(value: &Value) -> Option<Self> {
        let Value::Object(members) = value else { return None };
        let mut sampling = Self::default();
        members
            .iter()
            .all(|(name, value)| assign_sampling(&mut sampling, name, value).unwrap_or(false))
            .then_some(sampling)
    }
}

impl NamedOptions {
    /// Sets an option. Times are in seconds, choices are words in snake case, and null is the default of those that may be absent.
    /// For `function_call_parser`, null disables parsing.
    ///
    /// # Errors
    /// `InvalidOption` if there is no such option, or if the value has another type. Ranges are checked when the options are used.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<()> {
        let is_known = assign_generation(&mut self.generation, name, value)?
            || assign_loading(&mut self.loading, name, value)?
            || assign_rounds(&mut self.rounds, name, value)?;
        if is_known { Ok(()) } else { Err(unknown_option(name, &names())) }
    }
}

/// Mistakes in the name of an option for which the known name is still offered.
const MAX_DISTANCE: usize = 2;

/// The error for an option that does not exist, with the known name that was probably meant.
pub(crate) fn unknown_option(name: &str, known: &[&str]) -> SdkError {
    // Comparing takes memory by the product of both lengths, and a long name is near to none.
    let comparable = known.iter().filter(|known| name.len() <= known.len() + MAX_DISTANCE);
    let near = comparable.map(|known| (strsim::damerau_levenshtein(name, known), *known)).min();
    let is_near = |(distance, _): &(usize, &str)| *distance <= MAX_DISTANCE;
    let hint = near.filter(is_near).map(|(_, known)| format!("; did you mean {known}?"));
    let reason = format!("there is no option {name}{}", hint.unwrap_or_default());
    SdkError::new(ErrorKind::InvalidOption("options"), reason)
}

#[cfg(test)]
mod tests {
    use causerie::{FunctionCallParser, OnBusy, ToolChoice, read_json};

    use super::*;

    fn set(name: &str, json: &str) -> Result<NamedOptions> {
        let mut options = NamedOptions::default();
        options.set(name, &read_json(json).unwrap())?;
        Ok(options)
    }

    #[test]
    fn each_kind_of_value_is_read() {
        assert_eq!(set("temperature", "0.5").unwrap().generation.temperature, Some(0.5));
        assert_eq!(set("top_k", "7").unwrap().generation.top_k, Some(7));
        assert_eq!(set("top_k", "7.0").unwrap().generation.top_k, Some(7));
        assert_eq!(set("seed", "18446744073709551615").unwrap().generation.seed, Some(u64::MAX));
        assert_eq!(set("logit_bias", r#"{"3": -1.5}"#).unwrap().generation.logit_bias, [(3, -1.5)].into());
        assert_eq!(set("stop_sequences", r#""end""#).unwrap().generation.stop_sequences, ["end"]);
        assert_eq!(set("on_busy", r#""queue""#).unwrap().generation.on_busy, OnBusy::Queue);
        assert_eq!(set("function_call_parser", "null").unwrap().generation.function_call_parser, None);
        let parser = set("function_call_parser", r#""json""#).unwrap().generation.function_call_parser;
        assert_eq!(parser, Some(FunctionCallParser::JsonStyleFunctionCallParser));
        let choice = set("tool_choice", r#"{"function": "f"}"#).unwrap().generation.tool_choice;
        assert_eq!(choice, ToolChoice::Function("f".to_owned()));
        assert_eq!(set("timeout", "1.5").unwrap().generation.timeout.unwrap().as_millis(), 1500);
        assert_eq!(set("threads", "2").unwrap().loading.threads, Some(2));
        assert_eq!(set("max_rounds", "3").unwrap().rounds.max_rounds, 3);
    }

    #[test]
    fn a_value_of_another_type_is_refused_by_name() {
        for (name, json, reason) in [
            ("temperature", r#""hot""#, r#"temperature must be a number, found "hot""#),
            ("top_k", "1.5", "top_k must be an integer from 0 on, found 1.5"),
            ("top_k", "-1", "top_k must be an integer from 0 on, found -1"),
            ("on_busy", r#""wait""#, r#"on_busy must be "error", "queue" or "replace", found "wait""#),
            ("timeout", "-1", "timeout must be a number of seconds from 0 on, found -1"),
            ("logit_bias", "[1]", "logit_bias must be an object of numbers by the ids of tokens, found an array"),
            ("parallel_tool_calls", "null", "parallel_tool_calls must be true or false, found null"),
        ] {
            assert_eq!(set(name, json).unwrap_err().to_string(), reason);
        }
    }

    #[test]
    fn the_page_lists_every_option() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/c.md")).unwrap();
        for name in names() {
            assert!(page.contains(&format!("`{name}`")), "docs/c.md must list {name}");
        }
    }

    #[test]
    fn a_name_far_from_all_others_gets_no_hint() {
        assert_eq!(set("colour", "1").unwrap_err().to_string(), "there is no option colour");
    }
}
