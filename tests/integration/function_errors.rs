//! Errors of functions that run along with a reply: on the results, in the log, and raised where they are the app's.

use std::error::Error;
use std::fmt;
use std::sync::{Mutex, OnceLock};

use causerie::testing::ScriptedModel;
use causerie::{
    ChatMessage, Conversation, ErrorKind, FunctionHandlers, FunctionResult, GenerationOptions, MessageResponse,
    RoundOptions, SdkError, SdkFunction, SdkFunctionCall,
};
use serde::ser::{Error as _, Serialize, Serializer};

use crate::functions::call;

fn conversation(calls: &str) -> Conversation {
    let conversation = ScriptedModel::new().reply(call(calls)).reply("Done.").load().unwrap().create_conversation("");
    for name in ["f", "g"] {
        conversation.register_function(SdkFunction::new(name, "", Vec::new())).unwrap();
    }
    conversation
}

fn results(conversation: &Conversation, handlers: &FunctionHandlers) -> Result<Vec<FunctionResult>, SdkError> {
    let reply = conversation.respond_with_functions(ChatMessage::user("Hi"), handlers, GenerationOptions::default());
    let mut results = Vec::new();
    for event in reply {
        if let MessageResponse::FunctionResult(result) = event? {
            results.push(result);
        }
    }
    Ok(results)
}

/// An error with a cause.
#[derive(Debug)]
struct NoCity(std::num::ParseIntError);

impl fmt::Display for NoCity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such city")
    }
}

impl Error for NoCity {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

fn no_city(_: &SdkFunctionCall) -> Result<(), NoCity> {
    Err(NoCity("x".parse::<u8>().unwrap_err()))
}

#[test]
fn the_error_of_a_function_is_on_its_result_with_its_cause() {
    for in_parallel in [false, true] {
        let handlers = FunctionHandlers::new()
            .on("f", no_city)
            .on("g", |_| Ok::<_, SdkError>("ok"))
            .with(RoundOptions { in_parallel, ..Default::default() });
        let found = results(&conversation("[f(), g()]"), &handlers).unwrap();
        let error = found[0].error.as_ref().unwrap();
        assert!(error.get_ref().downcast_ref::<NoCity>().is_some());
        assert!(error.source().unwrap().is::<std::num::ParseIntError>());
        assert_eq!((found[0].text.as_str(), found[0].is_error), (r#"{"error": "no such city"}"#, true));
        assert_eq!((&found[1].error, found[1].is_error), (&None, false));
    }
}

#[test]
fn handlers_may_return_errors_of_many_types() {
    type AnyError = Box<dyn Error + Send + Sync>;
    let all = [
        FunctionHandlers::new().on("f", |_| Err::<(), _>("no")),
        FunctionHandlers::new().on("f", |_| Err::<(), _>("no".to_owned())),
        FunctionHandlers::new().on("f", |_| Err::<(), AnyError>("no".into())),
        FunctionHandlers::new().on("f", |_| Err::<(), _>(SdkError::new(ErrorKind::Internal, "no"))),
        FunctionHandlers::new().on("f", |_| Err::<(), _>(std::io::Error::other("no"))),
        FunctionHandlers::new()
            .on("f", |_| Err::<(), AnyError>("x".parse::<u8>().map_err(|_| "no")?.to_string().into())),
    ];
    for handlers in &all {
        let found = results(&conversation("[f()]"), handlers).unwrap();
        assert_eq!(found[0].error.as_ref().unwrap().to_string(), "no");
    }
}

#[test]
fn calls_that_did_not_run_have_no_error_of_a_function() {
    let handlers = FunctionHandlers::new().on("f", |_| Ok::<_, SdkError>("ok"));
    let found = results(&conversation("[h()]"), &handlers).unwrap();
    assert_eq!((found[0].is_error, &found[0].error), (true, &None));
}

#[test]
fn a_panic_is_an_error_on_the_result() {
    let handlers = FunctionHandlers::new().on("f", |_| -> Result<(), SdkError> { panic!("a bug") });
    let found = results(&conversation("[f()]"), &handlers).unwrap();
    assert_eq!(found[0].error.as_ref().unwrap().to_string(), "f panicked");
}

/// A value that refuses to be written.
struct Unwritable;

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("a secret"))
    }
}

#[test]
fn a_result_that_json_cannot_represent_ends_the_reply_with_an_error() {
    let keys = || std::collections::BTreeMap::from([((1, 2), "a key must be a string")]);
    let all = [
        FunctionHandlers::new().on("f", |_| Ok::<_, SdkError>(Unwritable)),
        FunctionHandlers::new().on("f", |_| Ok::<_, SdkError>(vec![Unwritable])),
        FunctionHandlers::new().on("f", move |_| Ok::<_, SdkError>(keys())),
    ];
    for (handlers, in_parallel) in all.iter().flat_map(|handlers| [(handlers, false), (handlers, true)]) {
        let handlers = handlers.clone().on("g", |_| Ok::<_, SdkError>("ok"));
        let handlers = handlers.with(RoundOptions { in_parallel, ..Default::default() });
        let conversation = conversation("[f(), g()]");
        let err = results(&conversation, &handlers).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::Serialization);
        assert!(err.to_string().starts_with("the result of f must be a value that JSON can represent: "), "{err}");
        assert!(err.source().is_some());
        // No call is left open, and the conversation is free.
        let history = conversation.history();
        let said: Vec<_> = history.iter().skip(3).map(ChatMessage::text).collect();
        assert_eq!(said, [r#"{"error": "cancelled"}"#; 2]);
        let end = conversation.respond(ChatMessage::user("2"), GenerationOptions::default()).unwrap();
        assert_eq!(end.text(), "Done.");
    }
}

/// Keeps what is logged: the logger of this whole process.
struct Kept;

fn kept() -> &'static Mutex<Vec<(log::Level, String)>> {
    static KEPT: OnceLock<Mutex<Vec<(log::Level, String)>>> = OnceLock::new();
    KEPT.get_or_init(Mutex::default)
}

impl log::Log for Kept {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().starts_with("causerie")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            kept().lock().unwrap().push((record.level(), record.args().to_string()));
        }
    }

    fn flush(&self) {}
}

#[test]
fn the_log_has_errors_of_functions_and_facts_about_replies_but_no_text_of_messages() {
    log::set_logger(&Kept).unwrap();
    log::set_max_level(log::LevelFilter::Debug);
    let handlers = FunctionHandlers::new().on("only_here", no_city);
    let script = ScriptedModel::new().reply(call("[only_here()]"));
    let conversation = script.reply("a spoken secret").load().unwrap().create_conversation("");
    conversation.register_function(SdkFunction::new("only_here", "", Vec::new())).unwrap();
    let message = ChatMessage::user("a written secret");
    conversation.respond_with_functions(message, &handlers, GenerationOptions::default()).into_iter().for_each(drop);
    let records = kept().lock().unwrap();
    let has = |level, text: &str| records.iter().any(|record| record.0 == level && record.1.contains(text));
    let error = "function only_here failed: no such city: invalid digit found in string";
    assert!(has(log::Level::Error, error), "{records:?}");
    assert!(has(log::Level::Debug, "a reply of"), "{records:?}");
    // Other tests log at the same time, but say nothing secret.
    assert!(!records.iter().any(|record| record.1.contains("secret")), "{records:?}");
}
