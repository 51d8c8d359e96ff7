//! Functions that are run along with a reply, and functions and replies whose types are Rust's own.

use std::fs;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::time::Duration;

use causerie::testing::{ScriptedModel, ScriptedReply};
use causerie::typed::{TypedFunction, TypedParameter, decode_reply, reply_schema};
use causerie::{
    ChatMessage, Conversation, ErrorKind, FinishReason, FunctionHandlers, FunctionOutcome, GenerationOptions,
    MessageResponse, OnBusy, OnCancel, ResponseStream, Role, RoundOptions, SdkError, SdkFunctionCall, ToolChoice,
    functions_to_json,
};
use futures_core::Stream;
use serde::{Deserialize, Serialize};

use crate::fixture;

fn call(text: &str) -> ScriptedReply {
    ScriptedReply::new().control("<|tool_call_start|>").text(text).control("<|tool_call_end|>")
}

fn conversation(replies: impl IntoIterator<Item = ScriptedReply>) -> Conversation {
    let script = replies.into_iter().fold(ScriptedModel::new(), ScriptedModel::reply);
    script.load().unwrap().create_conversation("")
}

fn user(text: &str) -> ChatMessage {
    ChatMessage::user(text)
}

fn texts(conversation: &Conversation) -> Vec<String> {
    conversation.history().iter().map(ChatMessage::text).collect()
}

fn ends(stream: impl Iterator<Item = Result<MessageResponse, SdkError>>) -> causerie::Completion {
    match stream.last() {
        Some(Ok(MessageResponse::Complete(completion))) => *completion,
        other => panic!("the reply ends: {other:?}"),
    }
}

/// A reply whose calls of these functions the test runs itself.
fn by_reader(conversation: &Conversation, names: &[&str], options: GenerationOptions) -> ResponseStream {
    let handlers = FunctionHandlers::new().run_by_reader(names.iter().copied());
    conversation.respond_with_functions(user("1"), &handlers, options)
}

fn until_calls_are_to_run(stream: &mut ResponseStream) {
    while !matches!(Iterator::next(stream), Some(Ok(MessageResponse::RunFunctions(_)))) {}
}

#[test]
fn the_model_reads_what_it_would_by_hand() {
    let script = || [call("[f()]"), call("[f()]"), "Done.".into()];
    let along = conversation(script());
    let handlers = FunctionHandlers::new().on("f", |_| Ok::<_, SdkError>("{}"));
    let end = ends(along.respond_with_functions(user("Hi"), &handlers, GenerationOptions::default()));

    let by_hand = conversation(script());
    let mut stats = vec![ends(by_hand.generate_response(user("Hi"), GenerationOptions::default())).stats];
    for _ in 0..2 {
        let result = ChatMessage { tool_call_id: Some("call_0".into()), ..ChatMessage::tool("{}") };
        stats.push(ends(by_hand.generate_response(result, GenerationOptions::default())).stats);
    }
    assert_eq!(along.history(), by_hand.history());
    let read = |stats: &[causerie::GenerationStats]| -> Vec<_> {
        stats.iter().map(|stats| (stats.prompt_tokens, stats.cached_prompt_tokens, stats.completion_tokens)).collect()
    };
    assert_eq!(read(&[&end.earlier_rounds[..], &[end.stats]].concat()), read(&stats));
}

#[test]
fn results_and_ends_of_rounds_are_events_of_the_one_stream() {
    let conversation = conversation([call("[f(), g()]"), call("[f()]"), "Done.".into()]);
    let handlers = FunctionHandlers::new().on("f", |_| Ok::<_, SdkError>("closure")).run_by_reader(["g"]);
    let mut stream = conversation.respond_with_functions(user("Hi"), &handlers, GenerationOptions::default());
    let (mut kinds, mut rounds) = (Vec::new(), Vec::new());
    while let Some(event) = Iterator::next(&mut stream) {
        kinds.push(match event.unwrap() {
            MessageResponse::FunctionCalls(calls) => format!("{} calls", calls.len()),
            MessageResponse::RunFunctions(calls) => {
                stream.answer(vec![FunctionOutcome::Returned("reader".into())]);
                format!("run {}", calls[0].name)
            }
            MessageResponse::FunctionResult(result) => result.text,
            MessageResponse::RoundComplete(completion) => {
                assert_eq!(completion.finish_reason, FinishReason::ToolCalls);
                assert!(completion.earlier_rounds.is_empty());
                rounds.push(completion.stats);
                "round".to_owned()
            }
            MessageResponse::Chunk(text) => text,
            MessageResponse::Complete(completion) => {
                assert_eq!(completion.earlier_rounds, rounds);
                "end".to_owned()
            }
            other => panic!("{other:?}"),
        });
    }
    let expected = ["2 calls", "closure", "run g", "reader", "round", "1 calls", "closure", "round", "Done.", "end"];
    assert_eq!(kinds, expected);
}

#[test]
fn in_parallel_the_reader_gets_all_its_calls_at_once() {
    let conversation = conversation([call("[g(n=1), f(), g(n=2)]"), "Done.".into()]);
    let handlers = FunctionHandlers::new()
        .on("f", |_| Ok::<_, SdkError>("f"))
        .run_by_reader(["g"])
        .with(RoundOptions { in_parallel: true, ..Default::default() });
    let mut stream = conversation.respond_with_functions(user("Hi"), &handlers, GenerationOptions::default());
    until_calls_are_to_run(&mut stream);
    stream.answer(vec![FunctionOutcome::Returned("1".into()), FunctionOutcome::Returned("2".into())]);
    ends(stream);
    assert_eq!(texts(&conversation), ["Hi", "", "1", "f", "2", "Done."]);
}

#[test]
fn calls_that_are_not_answered_are_handed_out_again() {
    let conversation = conversation([call("[f(n=1), f(n=2)]"), "Done.".into()]);
    let handlers =
        FunctionHandlers::new().run_by_reader(["f"]).with(RoundOptions { in_parallel: true, ..Default::default() });
    let mut stream = conversation.respond_with_functions(user("Hi"), &handlers, GenerationOptions::default());
    until_calls_are_to_run(&mut stream);
    until_calls_are_to_run(&mut stream);
    stream.answer(vec![FunctionOutcome::Returned("1".into())]);
    assert!(matches!(Iterator::next(&mut stream), Some(Ok(MessageResponse::FunctionResult(_)))));
    let Some(Ok(MessageResponse::RunFunctions(rest))) = Iterator::next(&mut stream) else { panic!("the second call") };
    assert_eq!(rest.len(), 1);
    stream.answer(vec![FunctionOutcome::Failed("no".into())]);
    ends(stream);
    assert_eq!(texts(&conversation)[2..4], ["1", r#"{"error": "no"}"#]);
}

#[test]
fn a_cancel_at_the_end_of_a_round_ends_the_stream_there() {
    for on_cancel in [OnCancel::KeepPartial, OnCancel::DropTurn] {
        let conversation = conversation([call("[f()]"), "Two.".into()]);
        let handlers = FunctionHandlers::new().on("f", |_| Ok::<_, SdkError>("r"));
        let options = GenerationOptions { on_cancel, ..Default::default() };
        let mut stream = conversation.respond_with_functions(user("1"), &handlers, options);
        while !matches!(Iterator::next(&mut stream), Some(Ok(MessageResponse::RoundComplete(_)))) {}
        stream.cancel();
        assert_eq!(ends(stream).finish_reason, FinishReason::Interrupted);
        let expected: &[&str] = if on_cancel == OnCancel::DropTurn { &[] } else { &["1", "", "r"] };
        assert_eq!(texts(&conversation), expected);
        ends(conversation.generate_response(user("2"), GenerationOptions::default()));
    }
}

#[test]
fn an_error_in_a_later_reply_leaves_what_it_had_written() {
    let conversation = conversation([call("[f()]"), ScriptedReply::new().text("Well,").fail("no memory")]);
    let handlers = FunctionHandlers::new().on("f", |_| Ok::<_, SdkError>("r"));
    let mut stream = conversation.respond_with_functions(user("1"), &handlers, GenerationOptions::default());
    let err = Iterator::find_map(&mut stream, Result::err).unwrap();
    assert_eq!(err.kind(), ErrorKind::Generation);
    assert_eq!(stream.partial().unwrap().text(), "Well,");
    assert!(Iterator::next(&mut stream).is_none());
}

#[test]
fn the_conversation_is_busy_until_the_end() {
    let conversation = conversation([call("[f()]"), "One.".into(), "Two.".into()]);
    let (entered, has_entered) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let may_go_on = std::sync::Mutex::new(may_go_on);
    let handlers = FunctionHandlers::new().on("f", move |_| {
        entered.send(()).unwrap();
        may_go_on.lock().unwrap().recv().map(|()| "r")
    });
    let first = conversation.respond_with_functions(user("1"), &handlers, GenerationOptions::default());
    let reader = std::thread::spawn(move || ends(first));
    has_entered.recv().unwrap();
    assert!(conversation.is_generating());
    assert_eq!(conversation.append_to_history(user("x")).unwrap_err().kind(), ErrorKind::Busy);
    let queued = GenerationOptions { on_busy: OnBusy::Queue, ..Default::default() };
    let second = conversation.generate_response(user("2"), queued);
    let second = std::thread::spawn(move || ends(second));
    go_on.send(()).unwrap();
    reader.join().unwrap();
    second.join().unwrap();
    assert_eq!(texts(&conversation), ["1", "", "r", "One.", "2", "Two."]);
    assert!(!conversation.is_generating());
}

#[test]
fn a_panic_is_an_error_that_the_model_reads() {
    let conversation = conversation([call("[f()]"), "Done.".into()]);
    let handlers = FunctionHandlers::new().on("f", |_| -> Result<String, String> { panic!("no") });
    ends(conversation.respond_with_functions(user("Hi"), &handlers, GenerationOptions::default()));
    assert_eq!(texts(&conversation)[2], r#"{"error": "f panicked"}"#);
}

#[test]
fn functions_that_run_at_once_can_wait_for_each_other() {
    let conversation = conversation([call("[f(), f()]"), "Done.".into()]);
    let barrier = std::sync::Barrier::new(2);
    let handlers = FunctionHandlers::new()
        .on("f", move |_| {
            barrier.wait();
            Ok::<_, SdkError>("met")
        })
        .with(RoundOptions { in_parallel: true, ..Default::default() });
    ends(conversation.respond_with_functions(user("Hi"), &handlers, GenerationOptions::default()));
    assert_eq!(texts(&conversation), ["Hi", "", "met", "met", "Done."]);
}

#[test]
fn a_required_call_is_required_once() {
    let conversation = conversation([call("[f()]"), "Done.".into()]);
    conversation.register_function(causerie::SdkFunction::new("f", "", Vec::new())).unwrap();
    let handlers = FunctionHandlers::new().on("f", |_| Ok::<_, SdkError>("r"));
    let options = GenerationOptions { tool_choice: ToolChoice::Required, ..Default::default() };
    let end = ends(conversation.respond_with_functions(user("Hi"), &handlers, options));
    assert_eq!((end.finish_reason, end.full_message.text().as_str()), (FinishReason::Stop, "Done."));
}

#[test]
fn a_reply_that_was_cancelled_and_left_holds_nobody_up() {
    let conversation = conversation([call("[f()]"), "Two.".into()]);
    let (entered, has_entered) = mpsc::channel();
    let handlers = FunctionHandlers::new().on("f", move |_| -> Result<String, String> {
        entered.send(()).unwrap();
        loop {
            std::thread::park();
        }
    });
    let mut first = conversation.respond_with_functions(user("1"), &handlers, GenerationOptions::default());
    let cancel = first.cancel_handle();
    let reader = std::thread::spawn(move || (Iterator::by_ref(&mut first).last(), first));
    has_entered.recv().unwrap();
    cancel.cancel();
    // Its function never ends, and yet it does.
    let (end, _kept) = reader.join().unwrap();
    let Some(Ok(MessageResponse::Complete(end))) = end else { panic!("{end:?}") };
    assert_eq!(end.finish_reason, FinishReason::Interrupted);
    ends(conversation.generate_response(user("2"), GenerationOptions::default()));
    assert_eq!(texts(&conversation), ["1", "", r#"{"error": "cancelled"}"#, "2", "Two."]);
}

#[test]
fn a_reader_that_goes_while_functions_run_leaves_no_call_open() {
    let conversation = conversation([call("[f()]"), "Two.".into()]);
    let mut stream = by_reader(&conversation, &["f"], GenerationOptions::default());
    let events = (Iterator::next(&mut stream), Iterator::next(&mut stream));
    assert!(matches!(events.1, Some(Ok(MessageResponse::RunFunctions(calls))) if calls[0].name == "f"));
    drop(stream);
    assert_eq!(texts(&conversation), ["1", "", r#"{"error": "cancelled"}"#]);
    ends(conversation.generate_response(user("2"), GenerationOptions::default()));
}

#[test]
fn a_reader_that_goes_at_the_calls_leaves_none_open() {
    let conversation = conversation([call("[f()]"), "Two.".into()]);
    let mut stream = by_reader(&conversation, &["f"], GenerationOptions::default());
    let event = Iterator::next(&mut stream);
    assert!(matches!(event, Some(Ok(MessageResponse::FunctionCalls(_)))), "{event:?}");
    drop(stream);
    ends(conversation.generate_response(user("2"), GenerationOptions::default()));
    assert_eq!(texts(&conversation), ["1", "", r#"{"error": "cancelled"}"#, "2", "Two."]);
}

#[test]
fn a_cancel_after_the_calls_leaves_none_open() {
    let long = || call("[f()]").text(" Wait.").stall();
    for on_cancel in [OnCancel::KeepPartial, OnCancel::DropPartial, OnCancel::DropTurn] {
        let conversation = conversation([long()]);
        let options = GenerationOptions { on_cancel, ..Default::default() };
        let mut stream = by_reader(&conversation, &["f"], options);
        let event = Iterator::next(&mut stream);
        assert!(matches!(event, Some(Ok(MessageResponse::FunctionCalls(_)))), "{event:?}");
        stream.cancel();
        while let Some(event) = Iterator::next(&mut stream) {
            event.unwrap();
        }
        let roles: Vec<_> = conversation.history().iter().map(|message| message.role).collect();
        let expected: &[Role] = match on_cancel {
            OnCancel::KeepPartial => &[Role::User, Role::Assistant, Role::Tool],
            OnCancel::DropPartial => &[Role::User],
            OnCancel::DropTurn => &[],
        };
        assert_eq!(roles, expected, "{on_cancel:?}");
    }
}

#[test]
fn an_abandoned_request_leaves_no_call_open() {
    for (on_cancel, left) in [
        (OnCancel::KeepPartial, &["1", "", "[]", r#"{"error": "cancelled"}"#, "2", "Two."][..]),
        (OnCancel::DropTurn, &["2", "Two."]),
    ] {
        let conversation = conversation([call("[f(), g()]"), "Two.".into()]);
        let options = GenerationOptions { on_cancel, ..Default::default() };
        let mut stream = by_reader(&conversation, &["f", "g"], options);
        until_calls_are_to_run(&mut stream);
        stream.answer(vec![FunctionOutcome::Returned(causerie::Value::Array(Vec::new()))]);
        stream.cancel(); // and the reader does not pull again before the next message
        ends(conversation.generate_response(user("2"), GenerationOptions::default()));
        drop(stream);
        assert_eq!(texts(&conversation), left, "{on_cancel:?}");
    }
}

#[test]
fn an_edit_closes_the_calls_of_an_abandoned_request() {
    let conversation = conversation([call("[f()]")]);
    let mut stream = by_reader(&conversation, &["f"], GenerationOptions::default());
    until_calls_are_to_run(&mut stream);
    stream.cancel(); // and its reader is kept, but never reads on
    conversation.append_to_history(user("2")).unwrap();
    assert_eq!(texts(&conversation), ["1", "", r#"{"error": "cancelled"}"#, "2"]);
}

#[test]
fn a_cancelled_reply_lets_the_next_go_on_while_its_reader_stalls() {
    let long = || (0..40).fold(ScriptedReply::new(), |reply, _| reply.text("long "));
    let script = [call("[f()]"), long(), long(), "Two.".into()];
    let runner = script.into_iter().fold(ScriptedModel::new(), ScriptedModel::reply).load().unwrap();
    let conversation = runner.create_conversation("");
    let mut stream = by_reader(&conversation, &["f"], GenerationOptions::default());
    until_calls_are_to_run(&mut stream);

    // Queued between the replies of the first, and so before the second of them.
    let queued = GenerationOptions { on_busy: OnBusy::Queue, ..Default::default() };
    let mut next = conversation.generate_response(user("2"), queued);
    assert!(Pin::new(&mut next).poll_next(&mut Context::from_waker(Waker::noop())).is_pending());
    stream.answer(vec![FunctionOutcome::Returned(causerie::Value::Null)]);
    Iterator::next(&mut stream); // the result
    Iterator::next(&mut stream); // the end of the round
    Iterator::next(&mut stream); // the text begins
    let waiting = std::thread::spawn(move || ends(next).full_message.text());
    ends(runner.complete("Barrier", GenerationOptions::default())); // meanwhile the channel fills, and the next one waits
    stream.cancel();
    assert_eq!(waiting.join().unwrap(), "Two.");
}

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
    let functions = functions_to_json(&[GetWeather::function(), BookTable::function()]);
    let expect = causerie::Value::from(shared().functions).to_string();
    assert_eq!(functions, expect);
    assert_eq!(reply_schema::<Recipe>(), causerie::Value::from(shared().reply_schema).to_string());
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
    let conversation = conversation([
        call(r#"[book_table(restaurant="Da Ugo", guests=[{"name": "Ada"}], hours=1)]"#),
        call(r#"[book_table(restaurant="Da Ugo", guests=[{"name": "Ada", "age": 900}], hours=1)]"#),
        "Done.".into(),
    ]);
    let handlers = FunctionHandlers::new()
        .typed(|table: BookTable| Ok::<_, SdkError>(table))
        .with(RoundOptions { time_limit: Some(Duration::from_secs(600)), ..Default::default() });
    ends(conversation.respond_with_functions(user("Hi"), &handlers, GenerationOptions::default()));
    let texts = texts(&conversation);
    assert_eq!(texts[3], r#"{"restaurant": "Da Ugo", "guests": [{"name": "Ada"}], "hours": 1.0}"#);
    assert_eq!(conversation.functions(), handlers.functions(), "they are offered without being registered");
    assert_eq!(texts[5], r#"{"error": "guests[0].age must be an integer from 0 to 255, found 900"}"#);
}
