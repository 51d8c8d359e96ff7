//! Functions and replies whose types are Rust's own.

use std::fs;
use std::time::Duration;

use causerie::testing::ScriptedModel;
use causerie::typed::{TypedFunction, TypedParameter, decode_reply, reply_schema};
use causerie::{
    ChatMessage, ErrorKind, FunctionHandlers, GenerationOptions, RoundOptions, SdkError, SdkFunctionCall,
    functions_to_json,
};
use serde::{Deserialize, Serialize};

use crate::fixture;
use crate::functions::{call, ends};

/// The weather in a city.
#[derive(causerie::SdkFunction)]
#[expect(dead_code, reason = "only its form is looked at")]
struct GetWeather {
    /// The city.
    city: String,
    /// How many days.
    days: Option<u8>,
    /// The unit to report.
    unit: Option<Unit>,
}

#[derive(causerie::SdkFunctionParameterType)]
enum Unit {
    Celsius,
    Fahrenheit,
}

/// Book a table
/// in a restaurant.
#[derive(causerie::SdkFunction, Serialize)]
struct BookTable {
    /// Name of the restaurant.
    restaurant: String,
    /// The guests.
    guests: Vec<Guest>,
    /// From now.
    hours: f64,
    /// Where to sit.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
    /// Whether a child comes.
    #[sdk(name = "with_child")]
    #[serde(rename = "with_child", skip_serializing_if = "Option::is_none")]
    has_child: Option<bool>,
}

/// A guest.
#[derive(causerie::SdkFunctionParameterType, Serialize)]
struct Guest {
    /// As it is called.
    name: String,
    /// In years.
    #[serde(skip_serializing_if = "Option::is_none")]
    age: Option<u8>,
}

#[derive(causerie::SdkFunctionParameterType, Serialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    Inside,
    Outside,
    AtTheBar,
}

/// How to cook.
#[derive(causerie::SdkFunctionParameterType, Serialize)]
struct Recipe {
    title: String,
    /// How long it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    minutes: Option<u32>,
    steps: Vec<String>,
}

/// What all languages must make of their own types.
#[derive(Deserialize)]
struct Shared {
    functions: serde_json::Value,
    reply_schema: serde_json::Value,
    calls: Vec<Case>,
    replies: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    #[serde(default)]
    arguments: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    text: String,
    value: Option<serde_json::Value>,
    reason: Option<String>,
}

fn shared() -> Shared {
    serde_json::from_slice(&fs::read(fixture("typed/functions.json")).unwrap()).unwrap()
}

#[track_caller]
fn check(case: &Case, decoded: Result<impl Serialize, SdkError>) {
    match decoded {
        Ok(value) => assert_eq!(Some(serde_json::to_value(value).unwrap()), case.value),
        Err(err) => {
            assert_eq!((err.kind(), Some(err.to_string())), (ErrorKind::InvalidArgument, case.reason.clone()));
        }
    }
}

#[test]
fn types_give_the_functions_that_all_languages_give() {
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let functions = functions_to_json(&[GetWeather::function(), BookTable::function()]);
    assert_eq!(read(&functions), shared().functions);
    assert_eq!(read(&reply_schema::<Recipe>()), shared().reply_schema);
}

#[test]
fn what_the_model_wrote_comes_back_as_the_type_or_as_an_error_with_its_place() {
    for case in shared().calls {
        let arguments = case.arguments.clone().into_iter().map(|(name, value)| (name, value.into())).collect();
        check(&case, BookTable::decode(&SdkFunctionCall { arguments, ..Default::default() }));
    }
    for case in shared().replies {
        check(&case, decode_reply::<Recipe>(&case.text));
    }
}

#[test]
fn numbers_beyond_their_type_are_refused() {
    let arguments = [("city".to_owned(), "Oslo".into()), ("days".to_owned(), 256.into())].into();
    let err = GetWeather::decode(&SdkFunctionCall { arguments, ..Default::default() }).err().unwrap();
    assert_eq!(err.to_string(), "days must be an integer from 0 to 255, found 256");
    assert_eq!(i128::from_value(causerie::Value::from(-1), "a").unwrap(), -1);
}

#[test]
fn a_typed_handler_takes_and_returns_types() {
    let script = ScriptedModel::new()
        .reply(call(r#"[book_table(restaurant="Da Ugo", guests=[{"name": "Ada"}], hours=1)]"#))
        .reply(call(r#"[book_table(restaurant="Da Ugo", guests=[{"name": "Ada", "age": 900}], hours=1)]"#))
        .reply("Done.");
    let conversation = script.load().unwrap().create_conversation("");
    let handlers = FunctionHandlers::new()
        .typed(|table: BookTable| Ok::<_, SdkError>(table))
        .with(RoundOptions { time_limit: Some(Duration::from_secs(600)), ..Default::default() });
    ends(conversation.respond_with_functions(ChatMessage::user("Hi"), &handlers, GenerationOptions::default()));
    let texts: Vec<String> = conversation.history().iter().map(ChatMessage::text).collect();
    assert_eq!(texts[3], r#"{"restaurant": "Da Ugo", "guests": [{"name": "Ada"}], "hours": 1.0}"#);
    assert_eq!(conversation.functions(), handlers.functions(), "they are offered without being registered");
    assert_eq!(texts[5], r#"{"error": "guests[0].age must be an integer from 0 to 255, found 900"}"#);
}
