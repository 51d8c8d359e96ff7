//! The built-in functions of `causerie chat`: clock, calculator, timers, units, notes. All run on the device.
//!
//! Their definitions are in `chat/functions.json`, which the demo model was trained on.

mod calculator;
mod clock;
mod store;
mod timers;
mod units;

use std::fs;
use std::path::Path;

use causerie::{Arguments, SdkError, SdkFunction, SdkFunctionCall, Value, functions_from_json};
use jiff::Zoned;

use crate::failure::Failure;
pub(crate) use store::ListFile;
pub(crate) use timers::{Timer, Timers};

/// Returns the definitions of the built-in functions.
pub(crate) fn definitions() -> Result<Vec<SdkFunction>, SdkError> {
    functions_from_json(causerie_server::chat::FUNCTIONS)
}

/// Reads definitions of functions (chat-completions `tools`, or bare entries) from a file.
pub(crate) fn read_definitions(file: &Path) -> Result<Vec<SdkFunction>, Failure> {
    let text = fs::read_to_string(file).map_err(|err| Failure(format!("cannot read {}: {err}", file.display())))?;
    functions_from_json(&text).map_err(|err| Failure(format!("{}: {err}", file.display())))
}

/// The built-in functions, with their timers and notes.
pub(crate) struct BuiltInFunctions {
    timers: Timers,
    notes: ListFile,
    now: fn() -> Zoned,
}

impl BuiltInFunctions {
    /// Stores notes and timers in `folder`.
    pub(crate) fn new(folder: &Path, now: fn() -> Zoned) -> Self {
        let list = |name: &str| ListFile::new(folder.join(name));
        Self { timers: Timers::new(list("timers.json")), notes: list("notes.json"), now }
    }

    pub(crate) fn timers(&self) -> &Timers {
        &self.timers
    }

    /// Runs a call and returns its result as JSON. An error is a result as well, so that the model can report it.
    pub(crate) fn run(&self, call: &SdkFunctionCall) -> String {
        let result = self.dispatch(&call.name, &CallArguments(&call.arguments));
        Value::Object(result.unwrap_or_else(|err| Arguments::from([("error".to_owned(), err.into())]))).to_string()
    }

    fn dispatch(&self, name: &str, given: &CallArguments<'_>) -> Result<Arguments, CallError> {
        let now = (self.now)();
        Ok(match name {
            "get_time" => {
                let city = given.optional_string("city")?;
                let there = city.map_or(Ok(now.clone()), |city| clock::in_city(&now, city))?;
                let mut result = entries([
                    ("time", there.strftime("%H:%M").to_string().as_str().into()),
                    ("date", there.strftime("%A, %-d %B %Y").to_string().as_str().into()),
                ]);
                result.extend(city.map(|city| ("city".to_owned(), city.into())));
                result
            }
            "calculate" => {
                let expression = given.string("expression")?;
                let result = calculator::tidy(calculator::evaluate(expression)?);
                entries([("expression", expression.into()), ("result", result)])
            }
            "set_timer" => {
                let label = given.optional_string("label")?;
                let timer = self.timers.set(given.number("duration")?, given.string("unit")?, label, &now)?;
                let mut result: Arguments =
                    timer.label.iter().map(|label| ("timer".to_owned(), label.as_str().into())).collect();
                result.extend(entries([
                    ("duration", timer.duration.as_str().into()),
                    ("rings_at", timer.rings_at.strftime("%H:%M:%S").to_string().as_str().into()),
                ]));
                result
            }
            "list_timers" => {
                let timers = self.timers.running(&now)?;
                let entry = |timer: &Timer| {
                    Value::Object(entries([("timer", timer.name().into()), ("left", timer.left(&now).as_str().into())]))
                };
                entries([("timers", Value::Array(timers.iter().map(entry).collect()))])
            }
            "convert_units" => {
                let (from, to) = (given.string("from_unit")?, given.string("to_unit")?);
                let value = given.number("value")?;
                let result = units::convert(value, from, to)?;
                entries([
                    ("value", calculator::tidy(value)),
                    ("unit", from.into()),
                    ("result", result),
                    ("result_unit", to.into()),
                ])
            }
            "add_note" => {
                let text = given.string("text")?;
                let mut notes: Vec<String> = self.notes.load()?;
                notes.push(text.to_owned());
                self.notes.save(&notes)?;
                let n_notes = i64::try_from(notes.len()).unwrap_or(i64::MAX);
                entries([("saved", text.into()), ("notes", Value::Integer(n_notes))])
            }
            "list_notes" => {
                let notes: Vec<String> = self.notes.load()?;
                entries([("notes", Value::Array(notes.into_iter().map(Value::String).collect()))])
            }
            other => return Err(format!("no function named {other}").into()),
        })
    }
}

/// Why a call failed, in words for the model.
struct CallError(String);

impl From<String> for CallError {
    fn from(message: String) -> Self {
        Self(message)
    }
}

impl From<CallError> for Value {
    fn from(err: CallError) -> Self {
        Self::String(err.0)
    }
}

fn entries<const N: usize>(entries: [(&str, Value); N]) -> Arguments {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The arguments of a call. The model may have omitted some or given them a wrong type.
struct CallArguments<'a>(&'a Arguments);

impl CallArguments<'_> {
    fn string(&self, name: &str) -> Result<&str, CallError> {
        Ok(self.optional_string(name)?.ok_or_else(|| format!("{name} is missing"))?)
    }

    fn optional_string(&self, name: &str) -> Result<Option<&str>, CallError> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => Ok(Some(value.as_str().ok_or_else(|| format!("{name} must be a string"))?)),
        }
    }

    fn number(&self, name: &str) -> Result<f64, CallError> {
        let value = self.0.get(name).ok_or_else(|| format!("{name} is missing"))?;
        Ok(value.as_f64().ok_or_else(|| format!("{name} must be a number"))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn noon() -> Zoned {
        "2026-11-20T12:00:00[UTC]".parse().unwrap()
    }

    fn five_past() -> Zoned {
        "2026-11-20T12:05:10[UTC]".parse().unwrap()
    }

    fn folder(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("causerie-functions-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    fn call(name: &str, arguments: serde_json::Value) -> SdkFunctionCall {
        let Value::Object(arguments) = Value::from(arguments) else { panic!("arguments are an object") };
        SdkFunctionCall { name: name.to_owned(), arguments, ..Default::default() }
    }

    #[test]
    fn every_definition_has_an_implementation() {
        let functions = BuiltInFunctions::new(&folder("all"), noon);
        for function in definitions().unwrap() {
            let result = functions.run(&call(&function.name, serde_json::json!({})));
            assert!(!result.contains("no function named"), "{result}");
        }
    }

    #[test]
    fn results_are_what_the_demo_model_was_trained_on() {
        let functions = BuiltInFunctions::new(&folder("results"), noon);
        for (name, arguments, expect) in [
            ("get_time", serde_json::json!({}), r#"{"time": "12:00", "date": "Friday, 20 November 2026"}"#),
            (
                "get_time",
                serde_json::json!({"city": "Tokyo"}),
                r#"{"time": "21:00", "date": "Friday, 20 November 2026", "city": "Tokyo"}"#,
            ),
            ("calculate", serde_json::json!({"expression": "12 * 7"}), r#"{"expression": "12 * 7", "result": 84}"#),
            (
                "convert_units",
                serde_json::json!({"value": 26, "from_unit": "miles", "to_unit": "kilometres"}),
                r#"{"value": 26, "unit": "miles", "result": 41.84, "result_unit": "kilometres"}"#,
            ),
            ("add_note", serde_json::json!({"text": "buy milk"}), r#"{"saved": "buy milk", "notes": 1}"#),
            ("list_notes", serde_json::json!({}), r#"{"notes": ["buy milk"]}"#),
            ("list_timers", serde_json::json!({}), r#"{"timers": []}"#),
            (
                "set_timer",
                serde_json::json!({"duration": 12, "unit": "minutes", "label": "pasta"}),
                r#"{"timer": "pasta", "duration": "12 minutes", "rings_at": "12:12:00"}"#,
            ),
            (
                "set_timer",
                serde_json::json!({"duration": 1, "unit": "hours"}),
                r#"{"duration": "1 hour", "rings_at": "13:00:00"}"#,
            ),
        ] {
            assert_eq!(functions.run(&call(name, arguments)), expect);
        }
    }

    #[test]
    fn bad_arguments_are_reported_as_results() {
        let functions = BuiltInFunctions::new(&folder("bad"), noon);
        for (name, arguments, expect) in [
            ("set_timer", serde_json::json!({"unit": "minutes"}), "duration is missing"),
            ("set_timer", serde_json::json!({"duration": "x", "unit": "minutes"}), "duration must be a number"),
            (
                "set_timer",
                serde_json::json!({"duration": 1e300, "unit": "hours"}),
                "the duration must be more than 0 and at most 31 days",
            ),
            (
                "set_timer",
                serde_json::json!({"duration": -1, "unit": "hours"}),
                "the duration must be more than 0 and at most 31 days",
            ),
            ("add_note", serde_json::json!({"text": 3}), "text must be a string"),
            ("get_time", serde_json::json!({"city": "Atlantis"}), "no city named Atlantis"),
            ("fly", serde_json::json!({}), "no function named fly"),
        ] {
            assert_eq!(functions.run(&call(name, arguments)), format!("{{\"error\": \"{expect}\"}}"));
        }
    }

    #[test]
    fn a_timer_counts_down_and_rings_once() {
        let folder = folder("ring");
        BuiltInFunctions::new(&folder, noon)
            .run(&call("set_timer", serde_json::json!({"duration": 5, "unit": "minutes"})));
        BuiltInFunctions::new(&folder, noon)
            .run(&call("set_timer", serde_json::json!({"duration": 2, "unit": "hours"})));
        let later = BuiltInFunctions::new(&folder, five_past);
        let left = later.run(&call("list_timers", serde_json::json!({})));
        assert_eq!(left, r#"{"timers": [{"timer": "2 hours", "left": "1 hour 54 minutes 50 seconds"}]}"#);
        let due: Vec<String> =
            later.timers().take_due(&five_past()).unwrap().iter().map(|timer| timer.name().to_owned()).collect();
        assert_eq!(due, ["5 minutes"]);
        assert_eq!(later.timers().take_due(&five_past()).unwrap(), []);
    }
}
