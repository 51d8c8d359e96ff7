//! The functions that `causerie chat` offers: clock, calculator, timers, units, notes. All run on the device.
//!
//! Their definitions stand in `chat/functions.json`, which the demo model is trained on as well.

mod calculator;
mod clock;
mod store;
mod timers;
mod units;

use std::path::Path;

use causerie::{Arguments, SdkError, SdkFunction, SdkFunctionCall, Value, functions_from_json};
use jiff::Zoned;

use store::Store;

pub(crate) use timers::{Timer, Timers};

/// The definitions, as the model sees them.
pub(crate) fn definitions() -> Result<Vec<SdkFunction>, SdkError> {
    functions_from_json(include_str!("../chat/functions.json"))
}

/// Runs calls.
pub(crate) struct Functions {
    timers: Timers,
    notes: Store,
    now: fn() -> Zoned,
}

impl Functions {
    /// Notes and timers are kept in `folder`.
    pub(crate) fn new(folder: &Path, now: fn() -> Zoned) -> Self {
        let store = |name: &str| Store::new(folder.join(name));
        Self { timers: Timers::new(store("timers.json")), notes: store("notes.json"), now }
    }

    pub(crate) fn timers(&self) -> &Timers {
        &self.timers
    }

    /// The result as JSON text; what went wrong is a result too, for the model to tell.
    pub(crate) fn run(&self, call: &SdkFunctionCall) -> String {
        let result = self.dispatch(&call.name, &Given(&call.arguments));
        Value::Object(result.unwrap_or_else(|err| Arguments::from([("error".to_owned(), err.into())]))).to_string()
    }

    fn dispatch(&self, name: &str, given: &Given<'_>) -> Result<Arguments, Problem> {
        let now = (self.now)();
        Ok(match name {
            "get_time" => {
                let city = given.optional_text("city")?;
                let there = city.map_or(Ok(now.clone()), |city| clock::in_city(&now, city))?;
                let mut result = entries([
                    ("time", there.strftime("%H:%M").to_string().as_str().into()),
                    ("date", there.strftime("%A, %-d %B %Y").to_string().as_str().into()),
                ]);
                result.extend(city.map(|city| ("city".to_owned(), city.into())));
                result
            }
            "calculate" => {
                let expression = given.text("expression")?;
                let result = calculator::tidy(calculator::evaluate(expression)?);
                entries([("expression", expression.into()), ("result", result)])
            }
            "set_timer" => {
                let label = given.optional_text("label")?;
                let timer = self.timers.set(given.number("duration")?, given.text("unit")?, label, &now)?;
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
                let (from, to) = (given.text("from_unit")?, given.text("to_unit")?);
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
                let text = given.text("text")?;
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

/// What went wrong, in words for the model.
struct Problem(String);

impl From<String> for Problem {
    fn from(words: String) -> Self {
        Self(words)
    }
}

impl From<Problem> for Value {
    fn from(problem: Problem) -> Self {
        Self::String(problem.0)
    }
}

fn entries<const N: usize>(entries: [(&str, Value); N]) -> Arguments {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The arguments of a call, which the model may have left out or made of the wrong type.
struct Given<'a>(&'a Arguments);

impl Given<'_> {
    fn text(&self, name: &str) -> Result<&str, Problem> {
        Ok(self.optional_text(name)?.ok_or_else(|| format!("{name} is missing"))?)
    }

    fn optional_text(&self, name: &str) -> Result<Option<&str>, Problem> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => Ok(Some(value.as_str().ok_or_else(|| format!("{name} is no text"))?)),
        }
    }

    fn number(&self, name: &str) -> Result<f64, Problem> {
        let value = self.0.get(name).ok_or_else(|| format!("{name} is missing"))?;
        Ok(value.as_f64().ok_or_else(|| format!("{name} is no number"))?)
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
        let functions = Functions::new(&folder("all"), noon);
        for function in definitions().unwrap() {
            let result = functions.run(&call(&function.name, serde_json::json!({})));
            assert!(!result.contains("no function named"), "{result}");
        }
    }

    #[test]
    fn results_are_what_the_demo_model_was_trained_on() {
        let functions = Functions::new(&folder("results"), noon);
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
    fn bad_arguments_are_told_not_fatal() {
        let functions = Functions::new(&folder("bad"), noon);
        for (name, arguments, expect) in [
            ("set_timer", serde_json::json!({"unit": "minutes"}), "duration is missing"),
            ("set_timer", serde_json::json!({"duration": "x", "unit": "minutes"}), "duration is no number"),
            (
                "set_timer",
                serde_json::json!({"duration": 1e300, "unit": "hours"}),
                "a timer takes more than nothing and at most 31 days",
            ),
            (
                "set_timer",
                serde_json::json!({"duration": -1, "unit": "hours"}),
                "a timer takes more than nothing and at most 31 days",
            ),
            ("add_note", serde_json::json!({"text": 3}), "text is no text"),
            ("get_time", serde_json::json!({"city": "Atlantis"}), "no city named Atlantis"),
            ("fly", serde_json::json!({}), "no function named fly"),
        ] {
            assert_eq!(functions.run(&call(name, arguments)), format!("{{\"error\": \"{expect}\"}}"));
        }
    }

    #[test]
    fn a_timer_counts_down_and_rings_once() {
        let folder = folder("ring");
        Functions::new(&folder, noon).run(&call("set_timer", serde_json::json!({"duration": 5, "unit": "minutes"})));
        Functions::new(&folder, noon).run(&call("set_timer", serde_json::json!({"duration": 2, "unit": "hours"})));
        let later = Functions::new(&folder, five_past);
        let left = later.run(&call("list_timers", serde_json::json!({})));
        assert_eq!(left, r#"{"timers": [{"timer": "2 hours", "left": "1 hour 54 minutes 50 seconds"}]}"#);
        let due: Vec<String> =
            later.timers().take_due(&five_past()).unwrap().iter().map(|timer| timer.name().to_owned()).collect();
        assert_eq!(due, ["5 minutes"]);
        assert_eq!(later.timers().take_due(&five_past()).unwrap(), []);
    }
}
