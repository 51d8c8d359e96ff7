//! Functions that are run along with a reply, and calls that are missed.

use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Waker};

use causerie::testing::{ScriptedModel, ScriptedReply};
use causerie::{
    ChatMessage, Conversation, ErrorKind, FinishReason, FunctionError, FunctionHandlers, FunctionOutcome,
    GenerationOptions, MessageResponse, OnBusy, OnCancel, ResponseStream, Role, RoundOptions, SdkError, SdkFunction,
    SdkFunctionParameter, SdkFunctionParameterType, ToolCallConstraint, ToolChoice,
};
use futures_core::Stream;

pub(crate) fn call(text: &str) -> ScriptedReply {
    ScriptedReply::new().control("<|tool_call_start|>").text(text).control("<|tool_call_end|>")
}

pub(crate) fn conversation(replies: impl IntoIterator<Item = ScriptedReply>) -> Conversation {
    let script = replies.into_iter().fold(ScriptedModel::new(), ScriptedModel::reply);
    offering(script.load().unwrap().create_conversation(""))
}

/// Offers the functions `f` and `g`.
fn offering(conversation: Conversation) -> Conversation {
    let number = SdkFunctionParameter::new("n", SdkFunctionParameterType::integer(), "").optional();
    let functions = ["f", "g"].map(|name| SdkFunction::new(name, "", vec![number.clone()]));
    conversation.register_functions(functions.to_vec()).unwrap();
    conversation
}

fn user(text: &str) -> ChatMessage {
    ChatMessage::user(text)
}

/// The messages after the system message, which carries the functions.
pub(crate) fn said(conversation: &Conversation) -> Vec<ChatMessage> {
    conversation.history().split_off(1)
}

fn texts(conversation: &Conversation) -> Vec<String> {
    said(conversation).iter().map(ChatMessage::text).collect()
}

pub(crate) fn ends(stream: impl IntoIterator<Item = Result<MessageResponse, SdkError>>) -> causerie::Completion {
    match stream.into_iter().last() {
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
    while !matches!(stream.iter().next(), Some(Ok(MessageResponse::RunFunctions(_)))) {}
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
    while let Some(event) = stream.iter().next() {
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
    assert!(matches!(stream.iter().next(), Some(Ok(MessageResponse::FunctionResult(_)))));
    let Some(Ok(MessageResponse::RunFunctions(rest))) = stream.iter().next() else { panic!("the second call") };
    assert_eq!(rest.len(), 1);
    stream.answer(vec![FunctionOutcome::Failed(FunctionError::new("no"))]);
    ends(stream);
    assert_eq!(texts(&conversation)[2..4], ["1", r#"{"error": "no"}"#]);
}

#[test]
fn a_handler_without_its_function_is_refused() {
    let conversation = conversation(["Hi.".into()]);
    let handlers = || FunctionHandlers::new().run_by_reader(["f", "h"]);
    let ask = |handlers: &FunctionHandlers| {
        conversation.respond_with_functions(user("Hi"), handlers, GenerationOptions::default())
    };
    let err = ask(&handlers()).iter().next().unwrap().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidOption("handlers"));
    assert!(err.message().contains(r#"found "h""#), "{err}");
    assert!(texts(&conversation).is_empty() && !conversation.is_generating());
    ends(ask(&handlers().offer([SdkFunction::new("h", "", Vec::new())])));
    assert_eq!(texts(&conversation), ["Hi", "Hi."]);
}

#[test]
fn a_refused_offer_is_the_error_of_the_next_reply_only() {
    let conversation = conversation(["Hi.".into()]);
    conversation.offer_function(SdkFunction::new("no name", "", Vec::new()));
    for ask in [false, true] {
        let mut reply = conversation.generate_response(user("Hi"), GenerationOptions::default());
        match reply.iter().next().unwrap() {
            Err(err) => assert_eq!((err.kind(), ask), (ErrorKind::InvalidFunction, false)),
            Ok(event) => assert_eq!((event, ask), (MessageResponse::Chunk("Hi.".into()), true)),
        }
        reply.into_iter().for_each(drop);
    }
    assert_eq!(texts(&conversation), ["Hi", "Hi."]);
    conversation.offer_function(SdkFunction::new("f", "New.", Vec::new()));
    assert_eq!(conversation.functions()[0].description, "New.");
}

#[test]
fn a_call_that_is_written_as_text_is_reported() {
    let ask = |text: &str, options| {
        let conversation = conversation([text.into()]);
        ends(conversation.generate_response(user("Hi"), options))
    };
    let default = GenerationOptions::default;
    let typed = || GenerationOptions { tool_call_constraint: ToolCallConstraint::Typed, ..default() };
    let missed = "no function was called, but the text of the reply looks like a call of g";
    let end = ask("I call g(n=1).", default());
    let (codes, messages): (Vec<_>, Vec<_>) =
        end.diagnostics.iter().map(|found| (found.code.code(), found.message.as_str())).unzip();
    assert_eq!((codes, messages, end.unconstrained), (vec!["missed_call"], vec![missed], None));
    let end = ask("I call g(n=1).", typed());
    assert_eq!(end.unconstrained.as_deref(), Some("the model began no block of calls"));
    let end = ask("I call nothing.", typed());
    assert_eq!((end.diagnostics.len(), end.unconstrained), (0, None));
    for options in [
        GenerationOptions { function_call_parser: None, ..default() },
        GenerationOptions { tool_choice: ToolChoice::None, ..default() },
        GenerationOptions { allowed_tools: Some(vec!["f".into()]), ..default() },
    ] {
        assert!(ask("I call g(n=1).", options.clone()).diagnostics.is_empty(), "{options:?}");
    }
}

#[test]
fn functions_that_are_not_offered_are_not_in_the_prompt_and_stay_in_the_conversation() {
    let offering_only = |names: &[&str]| GenerationOptions {
        offered_functions: Some(names.iter().map(ToString::to_string).collect()),
        ..Default::default()
    };
    let ask = |conversation: &Conversation, options| conversation.respond(user("1"), options);
    let conversation = conversation([call("[f()]"), "Two.".into(), "Three.".into()]);
    // It is the model's choice, which a diagnostic reports.
    let one = ask(&conversation, offering_only(&["g"])).unwrap();
    let calls = one.full_message.function_calls.unwrap();
    let codes: Vec<&str> = calls[0].diagnostics.iter().map(|found| found.code.code()).collect();
    assert_eq!((calls[0].name.as_str(), codes), ("f", vec!["undeclared_function", "tool_not_allowed"]));
    assert_eq!(conversation.functions().len(), 2);
    let alone = ScriptedModel::new().reply("One.").load().unwrap().create_conversation("");
    alone.register_function(conversation.functions()[1].clone()).unwrap();
    let expect = ask(&alone, GenerationOptions::default()).unwrap();
    assert_eq!(one.stats.prompt_tokens, expect.stats.prompt_tokens);
    conversation.truncate(1).unwrap();
    // The prompt lists functions in the order of the conversation.
    let two = ask(&conversation, offering_only(&["g", "f"])).unwrap();
    conversation.truncate(1).unwrap();
    let three = ask(&conversation, GenerationOptions::default()).unwrap();
    assert_eq!(two.stats.prompt_tokens, three.stats.prompt_tokens);
    // The same list again, which the cache has, and which is longer than the first prompt.
    assert!(one.stats.prompt_tokens < three.stats.cached_prompt_tokens);
    let refused = [
        (&["h"][..], "offered_functions must name functions of the conversation, found \"h\""),
        (&[], "offered_functions must be names of functions, found none"),
    ];
    for (names, expect) in refused {
        let err = ask(&conversation, offering_only(names)).unwrap_err();
        assert_eq!((err.kind(), err.message()), (ErrorKind::InvalidOption("offered_functions"), expect));
    }
}

#[test]
fn a_cancel_at_the_end_of_a_round_ends_the_stream_there() {
    for on_cancel in [OnCancel::KeepPartial, OnCancel::DropTurn] {
        let conversation = conversation([call("[f()]"), "Two.".into()]);
        let handlers = FunctionHandlers::new().on("f", |_| Ok::<_, SdkError>("r"));
        let options = GenerationOptions { on_cancel, ..Default::default() };
        let mut stream = conversation.respond_with_functions(user("1"), &handlers, options);
        while !matches!(stream.iter().next(), Some(Ok(MessageResponse::RoundComplete(_)))) {}
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
    let err = stream.iter().find_map(Result::err).unwrap();
    assert_eq!(err.kind(), ErrorKind::Generation);
    assert_eq!(stream.partial().unwrap().text(), "Well,");
    assert!(stream.iter().next().is_none());
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
    let reader = std::thread::spawn(move || (first.iter().last(), first));
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
    let events = (stream.iter().next(), stream.iter().next());
    assert!(matches!(events.1, Some(Ok(MessageResponse::RunFunctions(calls))) if calls[0].name == "f"));
    drop(stream);
    assert_eq!(texts(&conversation), ["1", "", r#"{"error": "cancelled"}"#]);
    ends(conversation.generate_response(user("2"), GenerationOptions::default()));
}

#[test]
fn a_reader_that_goes_at_the_calls_leaves_none_open() {
    let conversation = conversation([call("[f()]"), "Two.".into()]);
    let mut stream = by_reader(&conversation, &["f"], GenerationOptions::default());
    let event = stream.iter().next();
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
        let event = stream.iter().next();
        assert!(matches!(event, Some(Ok(MessageResponse::FunctionCalls(_)))), "{event:?}");
        stream.cancel();
        while let Some(event) = stream.iter().next() {
            event.unwrap();
        }
        let roles: Vec<_> = said(&conversation).iter().map(|message| message.role).collect();
        let expected: &[Role] = match on_cancel {
            OnCancel::KeepPartial => &[Role::User, Role::Assistant, Role::Tool],
            OnCancel::DropPartial => &[Role::User],
            OnCancel::DropTurn => &[],
            other => panic!("{other:?} has no expectation"),
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
    let conversation = offering(runner.create_conversation(""));
    let mut stream = by_reader(&conversation, &["f"], GenerationOptions::default());
    until_calls_are_to_run(&mut stream);

    // Queued between the replies of the first, and so before the second of them.
    let queued = GenerationOptions { on_busy: OnBusy::Queue, ..Default::default() };
    let mut next = conversation.generate_response(user("2"), queued);
    assert!(Pin::new(&mut next).poll_next(&mut Context::from_waker(Waker::noop())).is_pending());
    stream.answer(vec![FunctionOutcome::Returned(causerie::Value::Null)]);
    stream.iter().next(); // the result
    stream.iter().next(); // the end of the round
    stream.iter().next(); // the text begins
    let waiting = std::thread::spawn(move || ends(next).full_message.text());
    ends(runner.complete("Barrier", GenerationOptions::default())); // meanwhile the channel fills, and the next one waits
    stream.cancel();
    assert_eq!(waiting.join().unwrap(), "Two.");
}

/// A model that writes calls in Python knows functions by identifiers; the app knows them by their names.
#[test]
fn names_that_python_cannot_write_are_identifiers_for_the_model_only() {
    const NAMES: [&str; 4] = ["get-weather", "21st_magic", "get_weather", "browser--open"];
    let call = call("[get_weather_2(n=1), _21st_magic(n='1'), get_weather(), browser__open(m=1)]");
    let runner = ScriptedModel::new().reply(call).reply("[browser__open(n=1) or not").load().unwrap();
    let conversation = runner.create_conversation("");
    let number = SdkFunctionParameter::new("n", SdkFunctionParameterType::integer(), "").optional();
    let functions = NAMES.map(|name| SdkFunction::new(name, "", vec![number.clone()]));
    conversation.register_functions(functions.to_vec()).unwrap();
    let handlers = NAMES
        .into_iter()
        .fold(FunctionHandlers::new(), |handlers, name| handlers.on(name, |call| Ok::<_, SdkError>(call.name.clone())));
    let mut results = Vec::new();
    let stream = conversation.respond_with_functions(user("Hi"), &handlers, GenerationOptions::default());
    let end = ends(stream.into_iter().inspect(|event| {
        if let Ok(MessageResponse::FunctionResult(result)) = event {
            results.push((result.name.clone().unwrap(), result.text.clone(), result.is_error));
        }
    }));
    results.sort();
    let outcomes: Vec<(&str, bool)> = results.iter().map(|(name, _, is_error)| (name.as_str(), *is_error)).collect();
    assert_eq!(
        outcomes,
        [("21st_magic", false), ("browser--open", true), ("get-weather", false), ("get_weather", false)],
        "{results:?}"
    );
    assert!(results.iter().all(|(name, text, is_error)| *is_error || name == text), "{results:?}");
    assert!(end.diagnostics[0].message.ends_with("looks like a call of browser--open"), "{:?}", end.diagnostics);

    let history = conversation.history();
    let calls = history.iter().flat_map(|message| message.function_calls.iter().flatten());
    assert_eq!(
        calls.map(|call| call.name.as_str()).collect::<Vec<_>>(),
        ["get-weather", "21st_magic", "get_weather", "browser--open"]
    );
    let prompt = runner.render_prompt(&history[..history.len() - 1], true).unwrap();
    for identifier in ["get_weather_2", "_21st_magic", "get_weather", "browser__open"] {
        assert!(prompt.contains(&format!(r#""name": "{identifier}""#)), "{prompt}");
        assert!(prompt.contains(&format!("{identifier}(")), "{prompt}");
    }
    assert!(!prompt.contains(r#""name": "get-weather""#) && !prompt.contains("browser--open("), "{prompt}");
}
