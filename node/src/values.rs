//! Options, messages and facts, which JavaScript passes and gets as JSON.

use causerie::{
    ChatMessage, FunctionCallParser, FunctionError, FunctionOutcome, ModelInfo, Value, messages_from_json, read_json,
};
use causerie_plain::NamedOptions;
use serde_json::{Map, Value as Json};

use crate::failure::{camel_case, failed, failed_with};

fn object(text: &str, what: &str) -> napi::Result<causerie::Arguments> {
    match read_json(text) {
        Some(Value::Object(members)) => Ok(members),
        _ => Err(failed_with("serialization", &format!("{what} must be a JSON object"))),
    }
}

/// Reads an object of options.
pub(crate) fn options_of(text: &str) -> napi::Result<NamedOptions> {
    let mut options = NamedOptions::default();
    for (name, value) in object(text, "options")? {
        options.set(&name, &value).map_err(failed)?;
    }
    Ok(options)
}

/// Reads a message in the form of chat completions.
pub(crate) fn message_of(text: &str) -> napi::Result<ChatMessage> {
    let messages = messages_from_json(&format!("[{text}]")).map_err(failed)?;
    messages.into_iter().next().ok_or_else(|| failed_with("invalid_message", "message must be given, found none"))
}

/// Reads the outcome of a function: `{"value"}`, `{"message"}` with the parts that it returned, `{"failed"}` or `{"timedOut"}`. A value
/// that cannot be passed on is a failure, which the model reads.
pub(crate) fn outcome(text: &str) -> FunctionOutcome {
    let Some(Value::Object(mut members)) = read_json(text) else {
        // One level less than in `read_json`: the value is within an object.
        let reason = "the result of the function must be JSON that is nested at most 127 deep";
        return FunctionOutcome::Failed(FunctionError::new(reason));
    };
    if let Some(value) = members.swap_remove("value") {
        return FunctionOutcome::Returned(value);
    }
    if let Some(message) = members.swap_remove("message") {
        return match messages_from_json(&format!("[{message}]")) {
            Ok(messages) => {
                FunctionOutcome::Content(messages.into_iter().flat_map(|message| message.content).collect())
            }
            Err(err) => FunctionOutcome::Failed(FunctionError::new(err)),
        };
    }
    match members.swap_remove("failed") {
        Some(reason) => FunctionOutcome::Failed(FunctionError::new(reason.as_str().unwrap_or_default())),
        None => FunctionOutcome::TimedOut,
    }
}

macro_rules! facts {
    (
        |$info:ident, $memory:ident|
        $($(#[doc = $doc:literal])* $name:ident: $type:ty = $value:expr;)*
    ) => {
        fn facts($info: &ModelInfo, context_size: usize) -> Map<String, Json> {
            let $memory = $info.memory_estimate(context_size);
            let mut facts = Map::new();
            $(facts.insert(camel_case(stringify!($name)), <$type as Fact>::json($value));)*
            facts
        }
    };
}

causerie::__model_facts!(facts);

/// A value that describes a model.
trait Fact {
    fn json(self) -> Json;
}

macro_rules! fact {
    ($($type:ty),*) => {$(
        impl Fact for $type {
            fn json(self) -> Json {
                self.into()
            }
        }
    )*};
}

fact!(bool, u64, usize, String, Option<String>, Vec<String>);

impl Fact for FunctionCallParser {
    fn json(self) -> Json {
        self.names().first().copied().into()
    }
}

/// Facts about a model. `contextSize` is the size that it was or would be loaded with.
pub(crate) fn info_json(info: &ModelInfo, context_size: usize) -> String {
    let mut facts = facts(info, context_size);
    if let Some(trained) = facts.insert("contextSize".to_owned(), context_size.into()) {
        facts.insert("trainedContextSize".to_owned(), trained);
    }
    Json::Object(facts).to_string()
}
