//! Conversions lose nothing, and every fault becomes an error.

use std::sync::Arc;

use causerie as core;

use crate::*;

fn options() -> GenerationOptions {
    GenerationOptions { function_call_parser: Some(FunctionCallParser::Default), ..plain() }
}

fn plain() -> GenerationOptions {
    GenerationOptions { parallel_tool_calls: true, inject_schema_into_prompt: true, ..Default::default() }
}

fn user(text: &str) -> ChatMessage {
    core::ChatMessage::user(text).into()
}

fn scripted(script: &str) -> Arc<Conversation> {
    load_scripted_model(script.to_owned()).unwrap().create_conversation(String::new())
}

fn read(stream: &ResponseStream) -> Result<Vec<MessageResponse>, SdkError> {
    let mut events = Vec::new();
    while let Some(event) = stream.next_blocking()? {
        events.push(event);
    }
    Ok(events)
}

#[test]
fn a_history_is_converted_without_loss() {
    let text = r#"[{"role": "system", "content": "Be brief.", "tools": [{"type": "function", "function": {"name": "f",
        "description": "d", "parameters": {"type": "object", "properties": {
            "a": {"type": "array", "items": {"type": "object", "description": "inner", "properties": {
                "n": {"type": "integer", "enum": [1, 2]}}, "required": ["n"]}},
            "b": {"type": "null", "description": "nothing"}}, "required": ["a"]}}}]},
        {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url":
            {"url": "data:image/png;base64,iVBORw=="}}], "name": "Ana", "mood": [1, null]},
        {"role": "assistant", "content": null, "reasoning_content": "Hm.", "incomplete": true, "tool_calls": [{"id": "c",
            "function": {"name": "f", "arguments": "{\"n\": 123456789012345678901234567890, \"x\": 1.0}"},
            "raw_text": "f()", "repairs": ["leading_zero"]}],
            "rejected_calls": [{"reason": "too_large", "raw_text": "g(", "byte_offset": 3, "message": "m"}]},
        {"role": "tool", "content": "{}", "tool_call_id": "c"}]"#;
    let history = core::messages_from_json(text).unwrap();
    let converted: Vec<ChatMessage> = history.iter().cloned().map(Into::into).collect();
    let back: Vec<core::ChatMessage> = converted.iter().cloned().map(Into::into).collect();
    assert_eq!(back, history);
    assert_eq!(messages_from_json(messages_to_json(converted.clone())).unwrap(), converted);
    let functions = converted[0].functions.clone();
    assert_eq!(functions_from_json(functions_to_json(functions.clone())).unwrap(), functions);
}

#[test]
fn a_call_is_converted_and_validated() {
    let conversation = scripted(
        r#"{"replies": [[{"control": "<|tool_call_start|>"}, "[f(a='3')]", {"control": "<|tool_call_end|>"}], ["Done."]]}"#,
    );
    let a = SdkFunctionParameter {
        name: "a".to_owned(),
        parameter_type: SdkFunctionParameterType::SdkInt { enum_values: None, description: None },
        description: String::new(),
        optional: false,
        schema: None,
    };
    let function =
        SdkFunction { name: "f".to_owned(), description: String::new(), parameters: vec![a], definition: None };
    conversation.register_functions(vec![function.clone()]).unwrap();
    let events = read(&conversation.start_response(user("Hi"), options())).unwrap();
    let [MessageResponse::FunctionCalls { function_calls }, MessageResponse::Complete { finish_reason, .. }] =
        &events[..]
    else {
        panic!("a call and the end: {events:?}")
    };
    assert_eq!((function_calls[0].name.as_str(), *finish_reason), ("f", FinishReason::ToolCalls));
    assert_eq!(function_calls[0].diagnostics[0].code, "string_to_number");
    let validation = validate(function_calls[0].clone(), vec![function]);
    assert!(validation.is_ok);
    assert_eq!(validation.arguments.0["a"], core::Value::Integer(3));
    let result = core::ChatMessage::tool("{}").into();
    let events = read(&conversation.start_response(result, options())).unwrap();
    assert!(matches!(&events[0], MessageResponse::Chunk { text } if text == "Done."));
    assert_eq!(conversation.history().len(), 5, "the message with the functions, and two messages with their replies");
}

#[test]
fn calls_are_parsed_according_to_the_options() {
    let text = r#"{"replies": [[{"control": "<|tool_call_start|>"}, "f()", {"control": "<|tool_call_end|>"}]]}"#;
    let options = GenerationOptions { parser_strictness: Some(Strictness::Strict), ..options() };
    let events = read(&scripted(text).start_response(user("Hi"), options)).unwrap();
    let MessageResponse::FunctionCallsRejected { rejected_calls } = &events[0] else {
        panic!("a rejection: {events:?}")
    };
    assert!(rejected_calls[0].candidate.is_some());
}

#[test]
fn faults_become_errors_and_do_not_affect_other_replies() {
    let script = r#"{"replies": [[{"panic": true}], [{"fail": "no memory"}], ["fine"], [{"stall": true}]]}"#;
    let conversation = scripted(script);
    let ask = || conversation.start_response(user("Hi"), options());
    assert!(matches!(read(&ask()), Err(SdkError::Internal { .. })));
    assert_eq!(read(&ask()), Err(SdkError::Generation { reason: "no memory".to_owned() }));
    let stream = ask();
    assert_eq!(stream.claim(), Ok(()));
    assert!(matches!(stream.claim(), Err(SdkError::StreamAlreadyConsumed { .. })));
    assert_eq!(read(&stream).unwrap().len(), 2);
    assert_eq!(stream.next_blocking(), Ok(None), "nothing follows the end");

    let stream = ask();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| read(&stream).unwrap());
        while !conversation.is_generating() {
            std::thread::yield_now();
        }
        assert!(matches!(read(&ask()), Err(SdkError::Busy { .. })));
        stream.cancel();
        let events = reader.join().unwrap();
        assert!(matches!(events[..], [MessageResponse::Complete { finish_reason: FinishReason::Interrupted, .. }]));
    });
    let nowhere = pollster::block_on(load_model("no/such.gguf".to_owned(), LoadOptions::default(), None));
    assert!(matches!(nowhere, Err(SdkError::ModelNotFound { .. })));
}

#[test]
fn load_options_reach_the_core() {
    for (cache_type, in_core) in [
        (CacheType::F16, core::CacheType::F16),
        (CacheType::F32, core::CacheType::F32),
        (CacheType::Q8_0, core::CacheType::Q8_0),
    ] {
        let options =
            LoadOptions { threads: Some(SdkCount(3)), cache_type: Some(cache_type), ..LoadOptions::default() };
        let expect = core::LoadOptions { threads: Some(3), cache_type: in_core, ..core::LoadOptions::default() };
        assert_eq!(core::LoadOptions::from(options), expect);
    }
    for (memory, in_core) in [
        (WeightMemory::Mapped, core::WeightMemory::Mapped),
        (WeightMemory::Copied, core::WeightMemory::Copied),
        (WeightMemory::Auto, core::WeightMemory::Auto),
    ] {
        let options = LoadOptions {
            packed_folder: Some("packed".to_owned()),
            packed_bytes: Some(SdkLong(7)),
            weight_memory: Some(memory),
            ..LoadOptions::default()
        };
        let expect = core::LoadOptions {
            packed_folder: Some("packed".into()),
            packed_bytes: 7,
            weight_memory: in_core,
            ..core::LoadOptions::default()
        };
        assert_eq!(core::LoadOptions::from(options), expect);
    }
    assert_eq!(core::LoadOptions::from(LoadOptions::default()), core::LoadOptions::default());
}

#[test]
fn without_a_parser_the_text_is_unchanged() {
    let conversation = scripted(r#"{"replies": [[{"control": "<|tool_call_start|>"}, "[f()]"]]}"#);
    let events = read(&conversation.start_response(user("Hi"), plain())).unwrap();
    let text: String = events
        .iter()
        .filter_map(|event| match event {
            MessageResponse::Chunk { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(text, "<|tool_call_start|>[f()]");
}

#[test]
fn types_that_are_nested_too_deeply_are_refused() {
    let conversation = scripted(r#"{"replies": []}"#);
    for depth in [33, 2_000] {
        let mut parameter_type = SdkFunctionParameterType::SdkNull;
        for _ in 1..depth {
            parameter_type =
                SdkFunctionParameterType::SdkArr { item_type: Box::new(parameter_type), description: None };
        }
        let (name, description) = ("a".to_owned(), String::new());
        let parameters =
            vec![SdkFunctionParameter { name, parameter_type, description, optional: false, schema: None }];
        let function = SdkFunction { name: "f".to_owned(), description: String::new(), parameters, definition: None };
        let refused = conversation.register_functions(vec![function]);
        assert!(matches!(refused, Err(SdkError::InvalidFunction { .. })), "{depth}: {refused:?}");
    }
}

#[test]
fn a_call_can_be_required_and_constrained() {
    let script = r#"{"replies": [[{"control": "<|tool_call_start|>"}, "[g()]"], ["Hi."]]}"#;
    for options in [
        GenerationOptions { tool_call_constraint: Some(ToolCallConstraint::Typed), ..options() },
        GenerationOptions { tool_choice: Some(ToolChoice::Function { name: "f".to_owned() }), ..options() },
    ] {
        let conversation = scripted(script);
        let function = core::SdkFunction::new("f", "", Vec::new());
        conversation.register_functions(vec![function.into()]).unwrap();
        let events = read(&conversation.start_response(user("Hi"), options)).unwrap();
        let Some(MessageResponse::Complete { finish_reason, unconstrained, .. }) = events.last() else { panic!() };
        assert_eq!((*finish_reason, unconstrained), (FinishReason::Constraint, &None));
    }
}

#[test]
fn the_reader_of_a_stream_runs_functions() {
    let conversation = scripted(
        r#"{"replies": [[{"control": "<|tool_call_start|>"}, "[f()]", {"control": "<|tool_call_end|>"}], ["Done."]]}"#,
    );
    conversation.register_functions(vec![core::SdkFunction::new("f", "", Vec::new()).into()]).unwrap();
    let rounds = RoundOptions { max_rounds: None, time_limit: None, in_parallel: false };
    let functions = vec!["f".to_owned()];
    let stream = conversation.start_response_with_functions(Some(user("Hi")), functions, Vec::new(), rounds, options());
    let mut kinds = Vec::new();
    while let Some(event) = stream.next_blocking().unwrap() {
        kinds.push(match event {
            MessageResponse::FunctionCalls { .. } => "calls",
            MessageResponse::RunFunctions { function_calls } => {
                stream.answer(vec![FunctionOutcome::Json { text: "1".to_owned() }; function_calls.len()]);
                "run"
            }
            MessageResponse::FunctionResult { text, .. } if text == "1" => "result",
            MessageResponse::RoundComplete { finish_reason: FinishReason::ToolCalls, .. } => "round",
            MessageResponse::Chunk { .. } => "text",
            MessageResponse::Complete { earlier_rounds, .. } if earlier_rounds.len() == 1 => "complete",
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(kinds, ["calls", "run", "result", "round", "text", "complete"]);
}

#[test]
fn decisions_are_those_of_the_core() {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    let runner = ModelRunner { runner: core::ModelRunner::load(place).unwrap() };
    let label = |label: &str| DecisionLabel { label: label.to_owned(), description: Some(format!("the {label}")) };
    let labels = || vec![label("kitchen"), label("hall"), label("cellar")];
    let question = |kind| DecisionQuestion {
        instructions: vec![ChatMessageContent::Text { text: "Where is it?".to_owned() }],
        kind,
        name: Some("place".to_owned()),
    };
    let questions = vec![
        question(DecisionKind::Predicate { yes: Some("a room is named".to_owned()), no: Some("none is".to_owned()) }),
        question(DecisionKind::Choice { choices: labels() }),
        question(DecisionKind::Score { levels: labels() }),
    ];
    let temperature = DecisionTemperatures { predicate: 0.5, choice: 0.7, score: 2.0 };
    let options = DecisionOptions {
        temperature: Some(temperature),
        rotations: Some(SdkCount(3)),
        min_label_probability: Some(0.0),
    };
    let described = |label: &str| core::DecisionLabel::new(label).described(format!("the {label}"));
    let of_core = || ["kitchen", "hall", "cellar"].map(described);
    let criteria = core::DecisionCriteria { yes: Some("a room is named".to_owned()), no: Some("none is".to_owned()) };
    let expect = runner.runner.decide_with(
        core::read_json(r#"{"cat": [1]}"#).unwrap(),
        &[
            core::DecisionQuestion {
                kind: core::DecisionKind::Predicate(criteria),
                ..core::DecisionQuestion::predicate("Where is it?").named("place")
            },
            core::DecisionQuestion::choice("Where is it?", of_core()).named("place"),
            core::DecisionQuestion::score("Where is it?", of_core()).named("place"),
        ],
        core::DecisionOptions {
            temperature: core::DecisionTemperatures { predicate: 0.5, choice: 0.7, score: 2.0 },
            rotations: Some(3),
            min_label_probability: Some(0.0),
        },
    );
    let state = || DecisionState::Json { json: r#"{"cat": [1]}"#.to_owned() };
    let found = pollster::block_on(runner.decide(state(), questions.clone(), options.clone())).unwrap();
    let expect: Vec<DecisionAnswer> = expect.unwrap().answers.into_iter().map(Into::into).collect();
    assert_eq!(found.answers, expect);
    let [_, choice, score] = &found.answers[..] else { panic!("three answers: {found:?}") };
    let DecisionOutcome::Choice { choice: best, index, probabilities, .. } = &choice.outcome else {
        panic!("{choice:?}")
    };
    assert_eq!(probabilities[index.size()].label, *best);
    assert!(
        matches!(&score.outcome, DecisionOutcome::Score { probabilities, .. } if probabilities[2].label == "cellar")
    );

    let cancel = DecisionCancel::new();
    let limited = |cancel: &Arc<DecisionCancel>| {
        let cancel = Arc::clone(cancel);
        pollster::block_on(runner.decide_until(state(), questions.clone(), options.clone(), cancel))
    };
    assert_eq!(limited(&cancel).unwrap().answers, found.answers);
    let cancelled = DecisionCancel::new();
    cancelled.cancel();
    assert!(matches!(limited(&cancelled), Err(SdkError::Internal { reason }) if reason.contains("cancelled")));
    let broken = DecisionState::Json { json: "{".to_owned() };
    let err = pollster::block_on(runner.decide(broken, questions, options)).unwrap_err();
    assert!(matches!(err, SdkError::Serialization { .. }), "{err:?}");
}
