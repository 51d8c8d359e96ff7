//! Faults and streams that no real model produces on demand.

use causerie::testing::{ScriptedModel, ScriptedReply};
use causerie::{
    ChatMessage, Completion, Conversation, ErrorKind, FinishReason, GenerationOptions, MessageResponse, ResponseStream,
    Role, SdkError,
};

fn options() -> GenerationOptions {
    GenerationOptions::default()
}

fn conversation(reply: ScriptedReply) -> Conversation {
    ScriptedModel::new().reply(reply).reply("Again.").load().unwrap().create_conversation("")
}

fn ask(conversation: &Conversation, options: GenerationOptions) -> ResponseStream {
    conversation.generate_response(ChatMessage::user("Hi"), options)
}

/// The events, each in one or two words, and the end.
fn read(stream: &mut ResponseStream) -> (Vec<String>, Result<Completion, SdkError>) {
    let mut events = Vec::new();
    for event in stream {
        events.push(match event {
            Ok(MessageResponse::Chunk(text)) => format!("text {text}"),
            Ok(MessageResponse::ReasoningChunk(text)) => format!("reasoning {text}"),
            Ok(MessageResponse::FunctionCalls(calls)) => format!("{} calls", calls.len()),
            Ok(MessageResponse::FunctionCallsRejected(rejected)) => rejected[0].reason.code().to_owned(),
            Ok(MessageResponse::Complete(completion)) => return (events, Ok(*completion)),
            Ok(other) => format!("{other:?}"),
            Err(err) => return (events, Err(err)),
        });
    }
    panic!("the stream ends with its last event")
}

/// Joins consecutive texts: where they are cut depends on the reader's pace.
fn joined(events: &[String]) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for event in events {
        match (joined.last_mut(), event.split_once(' ')) {
            (Some(last), Some((kind, text))) if last.starts_with(kind) && kind != "1" => last.push_str(text),
            _ => joined.push(event.clone()),
        }
    }
    joined
}

#[test]
fn replies_come_in_order_with_control_tokens_and_split_characters() {
    let call = |body: &str| ScriptedReply::new().control("<|tool_call_start|>").text(body).control("<|tool_call_end|>");
    let runner = ScriptedModel::new()
        .reply(ScriptedReply::new().text("Gr").bytes([0xc3]).bytes([0xbc]).text("ezi"))
        .reply(call("[f(a=1), g()]").text("now"))
        .reply(call("[f(1)]"))
        .load()
        .unwrap();
    let conversation = runner.create_conversation("");
    let reply = || read(&mut ask(&conversation, options()));
    let (events, end) = reply();
    assert_eq!(joined(&events), ["text Gruezi".replace('u', "ü")]);
    assert_eq!((end.as_ref().unwrap().finish_reason, end.unwrap().stats.completion_tokens), (FinishReason::Stop, 5));
    let (events, end) = reply();
    assert_eq!(joined(&events), ["2 calls", "text now"]);
    let stats = end.unwrap().stats;
    assert_eq!((stats.call_tokens, stats.completion_tokens), (3, 5));
    let (events, end) = reply();
    assert_eq!(joined(&events), ["positional_argument", "text [f(1)]"]);
    assert_eq!(end.unwrap().finish_reason, FinishReason::Stop);
    let (_, end) = reply();
    assert_eq!(end.unwrap_err().kind(), ErrorKind::Generation, "no reply is left");
}

#[test]
fn a_fault_ends_the_reply_and_nothing_else() {
    for (fault, kind) in [
        (ScriptedReply::new().text("a").text("b").fail("no memory"), ErrorKind::Generation),
        (ScriptedReply::new().text("a").text("b").panic(), ErrorKind::Internal),
    ] {
        let conversation = conversation(fault);
        let mut stream = ask(&conversation, options());
        let (events, end) = read(&mut stream);
        assert_eq!((joined(&events), end.unwrap_err().kind()), (vec!["text ab".to_owned()], kind));
        assert_eq!(stream.partial().map(ChatMessage::text).as_deref(), Some("ab"));
        assert!(stream.iter().next().is_none());
        let history = conversation.history();
        assert_eq!(history.iter().map(|message| message.role).collect::<Vec<_>>(), [Role::User]);
        let (events, end) = read(&mut conversation.continue_response(options()));
        assert_eq!((joined(&events), end.is_ok()), (vec!["text Again.".to_owned()], true));
    }
}

#[test]
fn a_reply_that_stalls_delays_no_other_and_can_be_cancelled() {
    let conversation = conversation(ScriptedReply::new().text("a").stall());
    let mut stream = ask(&conversation, options());
    stream.iter().next().unwrap().unwrap();
    let other = conversation.model_runner().create_conversation("");
    let (events, _) = read(&mut ask(&other, options()));
    assert_eq!(joined(&events), ["text Again."]);
    stream.cancel();
    let (_, end) = read(&mut stream);
    assert_eq!(end.unwrap().finish_reason, FinishReason::Interrupted);
}

#[test]
fn reasoning_is_reported_as_the_options_say() {
    let reply = || ScriptedReply::new().text("<think>").text("Hm.").text("</think>").text("Yes.");
    let base = options();
    for (options, expect) in [
        (base.clone(), vec!["text Yes."]),
        (GenerationOptions { enable_thinking: true, ..base.clone() }, vec!["reasoning Hm.", "text Yes."]),
        (GenerationOptions { inline_thinking_tags: true, ..base }, vec!["text <think>Hm.</think>Yes."]),
    ] {
        let (events, end) = read(&mut ask(&conversation(reply()), options));
        assert_eq!(joined(&events), expect);
        let completion = end.unwrap();
        assert_eq!(completion.full_message.reasoning_content.as_deref(), Some("Hm."));
        assert_eq!(completion.full_message.text(), "Yes.");
        assert_eq!(completion.stats.reasoning_tokens, 3);
    }
}

#[test]
fn a_reply_ends_after_its_calls_if_that_is_enabled() {
    let call = |name: &str| {
        ScriptedReply::new().control("<|tool_call_start|>").text(format!("[{name}()]")).control("<|tool_call_end|>")
    };
    let conversation = conversation(call("f").text("and so on, for ever"));
    let options = GenerationOptions { stop_after_tool_calls: true, ..options() };
    let (events, end) = read(&mut ask(&conversation, options));
    assert_eq!(joined(&events), ["1 calls"]);
    let completion = end.unwrap();
    assert_eq!((completion.finish_reason, completion.stats.completion_tokens), (FinishReason::ToolCalls, 3));
}

#[test]
fn a_script_is_read_from_json() {
    let text = r#"{"replies": [["a", {"bytes": [98]}, {"control": "<|tool_call_start|>"}, "[f()]"], [{"fail": "x"}]]}"#;
    let runner = ScriptedModel::from_json(text).unwrap().load().unwrap();
    let conversation = runner.create_conversation("");
    assert_eq!(joined(&read(&mut ask(&conversation, options())).0), ["text ab", "1 calls"]);
    assert_eq!(read(&mut ask(&conversation, options())).1.unwrap_err().message(), "x");
    let err = ScriptedModel::from_json(r#"{"replies": [[{"sing": true}]]}"#).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Serialization);
}

#[test]
fn a_reply_that_stalls_before_its_first_token_can_be_cancelled_and_is_not_repeated() {
    let script = ScriptedModel::new().reply(ScriptedReply::new().stall()).reply("Other.").reply("Again.");
    let runner = script.load().unwrap();
    let conversation = runner.create_conversation("");
    let mut stream = ask(&conversation, options());
    let cancel = stream.cancel_handle();
    let reader = std::thread::spawn(move || read(&mut stream).1.unwrap().finish_reason);
    while conversation.history().is_empty() {
        std::thread::yield_now();
    }
    // Replies advance in turn: when another one has ended, this one has reached its stall.
    let (events, _) = read(&mut ask(&runner.create_conversation(""), options()));
    assert_eq!(joined(&events), ["text Other."]);
    cancel.cancel();
    assert_eq!(reader.join().unwrap(), FinishReason::Interrupted);
    conversation.truncate(0).unwrap();
    let (events, _) = read(&mut ask(&conversation, options()));
    assert_eq!(joined(&events), ["text Again."]);
}

#[test]
fn a_fault_within_a_block_of_calls_reports_the_block() {
    let conversation =
        conversation(ScriptedReply::new().text("a").control("<|tool_call_start|>").text("[f(").fail("x"));
    let mut stream = ask(&conversation, options());
    let (events, end) = read(&mut stream);
    assert_eq!(
        (joined(&events), end.unwrap_err().kind()),
        (vec!["text a".into(), "incomplete_block".into()], ErrorKind::Generation)
    );
    assert_eq!(stream.partial().map(|partial| partial.rejected_calls.len()), Some(1));
    let refused = GenerationOptions { temperature: Some(-1.0), ..options() };
    let mut stream = ask(&conversation, refused);
    assert!(read(&mut stream).1.is_err() && stream.partial().is_none() && !conversation.is_generating());
}

#[test]
fn a_scripted_conversation_is_saved_without_a_cache() {
    let conversation = conversation(ScriptedReply::new().text("a"));
    read(&mut ask(&conversation, options())).1.unwrap();
    let path = std::env::temp_dir().join(format!("causerie-{}-script.session", std::process::id()));
    conversation.save_session(&path, true).unwrap();
    let restored = conversation.model_runner().restore_session(&path);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(restored.unwrap().history(), conversation.history());
    let (events, _) = read(&mut ask(&conversation, options()));
    assert_eq!(joined(&events), ["text Again."], "no reply was used up");
}

#[test]
fn a_reply_in_another_spelling_than_the_templates_is_prefilled_again_but_nothing_before_it() {
    // Text before a call, other quotes and spaces than in the prompt; a template of this form prints JSON.
    let call = ScriptedReply::new()
        .text("Let me see. ")
        .control("<|tool_call_start|>")
        .text("[ get_time( zone = 'UTC' ) ]")
        .control("<|tool_call_end|>");
    let runner = ScriptedModel::new().reply(call).reply("Noon.").load().unwrap();
    let conversation = runner.create_conversation("Be brief.");
    let (_, first) = read(&mut ask(&conversation, options()));
    let result = ChatMessage::tool("12:00");
    let (_, second) = read(&mut conversation.generate_response(result, options()));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.finish_reason, FinishReason::ToolCalls);
    assert_eq!(second.stats.cached_prompt_tokens, first.stats.prompt_tokens);
}

/// A reply that says a part so many times.
fn repeated(part: &str, times: usize) -> ScriptedReply {
    (0..times).fold(ScriptedReply::new(), |reply, _| reply.text(part))
}

fn codes(completion: &Completion) -> Vec<&'static str> {
    completion.diagnostics.iter().map(|found| found.code.code()).collect()
}

#[test]
fn a_reply_that_only_repeats_itself_is_ended_if_that_is_requested() {
    let answer = |reply: ScriptedReply, stop_on_repetition| {
        let runner = ScriptedModel::new().reply(reply).context_size(20_000).load().unwrap();
        let options = GenerationOptions { stop_on_repetition, ..options() };
        read(&mut ask(&runner.create_conversation(""), options)).1.unwrap()
    };
    let completion = answer(repeated("sunny ", 2000), Some(true));
    assert_eq!((completion.finish_reason, codes(&completion)), (FinishReason::Stop, vec!["repeated_tail"]));
    assert_eq!(completion.text(), "sunny ".repeat(512));
    assert!(!completion.full_message.incomplete);
    for off in [Some(false), None] {
        let completion = answer(repeated("sunny ", 2000), off);
        assert_eq!((completion.text().len(), codes(&completion)), (12_000, vec![]));
    }
    let thought = ScriptedReply::new().text("<think>");
    let completion = answer((0..2000).fold(thought, |reply, _| reply.text("Wait. ")), Some(true));
    assert_eq!(codes(&completion), ["repeated_tail"]);
    for (part, times) in [("0, ", 500), ("| a | b |\n", 300), ("I will not talk in class.\n", 100)] {
        assert_eq!(answer(repeated(part, times), Some(true)).text(), part.repeat(times));
    }
}

#[test]
fn a_constrained_reply_is_never_ended_because_it_repeats_itself() {
    let array = (0..9000).fold(ScriptedReply::new().text("[0"), |reply, _| reply.text(", 0")).text("]");
    let runner = ScriptedModel::new().reply(array).context_size(20_000).load().unwrap();
    let options = GenerationOptions {
        stop_on_repetition: Some(true),
        json_schema_constraint: Some(r#"{"type": "array", "items": {"type": "integer"}}"#.to_owned()),
        ..options()
    };
    let completion = read(&mut ask(&runner.create_conversation(""), options)).1.unwrap();
    assert_eq!((completion.text().len(), codes(&completion)), (27_003, vec![]));
}
