//! Schemas, templates and prompts that are too deep, too large or malicious: each ends with a result or a typed error.

use causerie::{
    Arguments, ChatMessage, ContextPolicy, ErrorKind, GenerationOptions, MessageResponse, ModelRunner, Prompt, Role,
    SdkError, SdkFunction, SdkFunctionCall, function_schema, functions_from_json, fuzzing, messages_from_json,
    validate,
};

use crate::fixture;

/// A model with a context of 128 tokens, and a template that offers functions.
fn runner() -> ModelRunner {
    ModelRunner::load(fixture("models/lfm2-f32.gguf")).unwrap()
}

/// A schema of nested arrays.
fn nested(depth: usize) -> String {
    let (open, close) = (r#"{"type": "array", "items": "#.repeat(depth), "}".repeat(depth));
    let parameter = format!(r#"{{"type": "object", "properties": {{"a": {open}{{"type": "null"}}{close}}}}}"#);
    format!(r#"[{{"name": "f", "parameters": {parameter}}}]"#)
}

#[track_caller]
fn kind<T>(result: Result<T, SdkError>) -> ErrorKind {
    result.err().expect("it is refused").kind()
}

#[test]
fn deep_schemas_and_deep_json_are_refused_on_a_small_stack() {
    let check = || {
        assert_eq!(kind(functions_from_json(&nested(33))), ErrorKind::InvalidFunction);
        for depth in [129, 5_000, 100_000] {
            assert_eq!(kind(functions_from_json(&nested(depth))), ErrorKind::Serialization, "{depth}");
            assert_eq!(kind(messages_from_json(&"[".repeat(depth))), ErrorKind::Serialization, "{depth}");
            assert_eq!(causerie::read_json(&"[".repeat(depth)), None);
        }
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(check).unwrap().join().unwrap();
}

#[test]
fn schemas_do_not_refer_to_anything_outside() {
    for reference in ["http://127.0.0.1:9/schema.json", "file:///etc/passwd"] {
        let functions =
            format!(r#"[{{"name": "f", "parameters": {{"properties": {{"a": {{"$ref": "{reference}"}}}}}}}}]"#);
        let refusal = functions_from_json(&functions).unwrap_err().to_string();
        assert!(refusal.contains("a.$ref must refer to a place in the same schema"), "{refusal}");
    }
    for (schema, fits) in [
        // Patterns that take exponential time in a backtracking engine.
        (r#"{"type": "string", "pattern": "(a+)+$"}"#, false),
        (r#"{"type": "string", "pattern": "(a{1,1000}){1,1000}"}"#, true),
        (r#"{"type": "string", "pattern": "^(a+)+(?!!)$"}"#, true),
        (r#"{"anyOf": [{"type": "string"}]}"#, true),
    ] {
        // The model reads it unchanged.
        let functions = format!(r#"[{{"name": "f", "parameters": {{"properties": {{"a": {schema}}}}}}}]"#);
        let functions = functions_from_json(&functions).unwrap();
        assert!(function_schema(&functions[0]).to_string().contains(schema));
        let arguments = Arguments::from([("a".to_owned(), "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!".into())]);
        let call = SdkFunctionCall { name: "f".to_owned(), arguments, ..Default::default() };
        assert_eq!(validate(&call, &functions[0]).is_ok(), fits, "{schema}");
    }
}

#[test]
fn many_functions_and_large_ones_are_accepted_or_refused_by_rule() {
    let runner = runner();
    let values: Vec<String> = (0..50_000).map(|i| format!("\"v{i}\"")).collect();
    let large = format!(
        r#"[{{"name": "f", "parameters": {{"properties": {{"a": {{"type": "string", "enum": [{}]}}}}}}}}]"#,
        values.join(",")
    );
    let properties: Vec<String> = (0..1_000).map(|i| format!(r#""p{i}": {{"type": "integer"}}"#)).collect();
    let wide = format!(r#"[{{"name": "f", "parameters": {{"properties": {{{}}}}}}}]"#, properties.join(","));
    let many: Vec<String> = (0..500).map(|i| format!(r#"{{"name": "f{i}"}}"#)).collect();
    for functions in [large, wide, format!("[{}]", many.join(","))] {
        let history = [ChatMessage::with_functions(functions_from_json(&functions).unwrap()), ChatMessage::user("Hi")];
        let prompt = runner.render_prompt(&history, true).unwrap();
        assert!(5_000 < prompt.len(), "the functions are in the prompt");
    }
    let long = "n".repeat(201);
    for name in ["a.b", "a b", "a\"b", "a\nb", "", "naïve", "👍", "<|im_end|>", "a\0", &long] {
        assert_eq!(kind(SdkFunction::new(name, "", vec![]).check()), ErrorKind::InvalidFunction, "{name:?}");
    }
    SdkFunction::new(&long[1..], "", vec![]).check().unwrap();
}

#[test]
fn a_prompt_fits_the_context_to_the_token() {
    let runner = runner();
    let available = runner.context_size();
    let options = || GenerationOptions { max_tokens: Some(1), ..Default::default() };
    let last =
        |n_tokens: usize| runner.complete(Prompt::Tokens(vec![90; n_tokens]), options()).into_iter().last().unwrap();
    assert!(matches!(last(available - 1), Ok(MessageResponse::Complete(_))));
    for needed in [available, available + 1, 10 * available] {
        assert_eq!(kind(last(needed)), ErrorKind::PromptExceedsContext { needed, available });
    }
    assert_eq!(kind(last(0)), ErrorKind::InvalidMessage);
    assert_eq!(
        kind(runner.complete(Prompt::Tokens(vec![u32::MAX]), options()).into_iter().last().unwrap()),
        ErrorKind::InvalidMessage
    );
}

#[test]
fn unusual_characters_reach_the_model_unchanged() {
    let runner = runner();
    for text in
        ["\0", "\u{feff}a", "\u{10ffff}\u{fffe}", "\u{fdd0}\u{fdd1}", "e\u{301}\u{202e}", "<image><|im_end|>\u{f0000}"]
    {
        let prompt = runner.render_prompt(&[ChatMessage::user(text)], true).unwrap();
        assert!(prompt.contains(text), "{text:?}: {prompt:?}");
        let tokens = runner.prompt_tokens(&[ChatMessage::user(text)], true).unwrap();
        assert!(!tokens.is_empty());
    }
}

#[test]
fn histories_of_any_length_and_shape_have_a_prompt_or_an_error() {
    let runner = runner();
    for history in [
        vec![],
        vec![ChatMessage::system("only")],
        vec![ChatMessage::with_functions(vec![])],
        vec![ChatMessage::tool("a result of nothing")],
        vec![ChatMessage::assistant("first"), ChatMessage::assistant("again")],
        vec![ChatMessage::new(Role::User, "")],
        vec![ChatMessage::user("x".repeat(1 << 20))],
        (0..2_000).map(|i| ChatMessage::user(i.to_string())).collect(),
    ] {
        drop(runner.render_prompt(&history, true));
        let conversation = runner.create_conversation_from_history(history);
        let options = GenerationOptions { max_tokens: Some(1), ..Default::default() };
        assert_eq!(conversation.continue_response(options).into_iter().filter(is_end).count(), 1);
    }
}

#[test]
fn a_prompt_that_is_far_too_long_is_refused_before_it_is_tokenized() {
    let runner = runner();
    let options = || GenerationOptions { max_tokens: Some(1), ..Default::default() };
    let slide =
        || GenerationOptions { context_policy: ContextPolicy::Slide { shrink_tool_results: false }, ..options() };
    for n_megabytes in [10, 100] {
        let text = "many words ".repeat((n_megabytes << 20) / 11);
        let is_refused =
            |kind| matches!(kind, ErrorKind::PromptExceedsContext { needed, available: 4096 } if 4096 <= needed);
        let conversation = runner.create_conversation_from_history(vec![ChatMessage::user(text.as_str())]);
        for options in [options(), slide()] {
            assert!(is_refused(kind(conversation.continue_response(options).into_iter().last().unwrap())));
        }
        // With `Slide` it is dropped, unless it is the last turn.
        conversation.append_to_history(ChatMessage::assistant("Ah.")).unwrap();
        let answered = conversation.generate_response(ChatMessage::user("So?"), slide()).into_iter().last().unwrap();
        let Ok(MessageResponse::Complete(completion)) = answered else { panic!("it must be dropped: {answered:?}") };
        assert_eq!(completion.prompt.dropped_messages, [0, 1]);
        assert!(is_refused(kind(runner.complete(text, options()).into_iter().last().unwrap())));
    }
}

#[test]
fn a_history_of_a_hundred_thousand_messages_is_refused() {
    let runner = runner();
    let turn = |i: usize| [ChatMessage::user(format!("Number {i}?")), ChatMessage::assistant("Yes.")];
    let history: Vec<ChatMessage> = (0..50_000).flat_map(turn).collect();
    let conversation = runner.create_conversation_from_history(history);
    let options = GenerationOptions { max_tokens: Some(1), ..Default::default() };
    let refused = kind(conversation.continue_response(options).into_iter().last().unwrap());
    assert!(matches!(refused, ErrorKind::InvalidMessage | ErrorKind::PromptExceedsContext { .. }), "{refused:?}");
    assert_eq!(conversation.history().len(), 100_000);
}

fn is_end(event: &Result<MessageResponse, SdkError>) -> bool {
    matches!(event, Err(_) | Ok(MessageResponse::Complete(_)))
}

#[test]
fn invalid_templates_are_refused() {
    let refused = |source: &str, expect: &str| {
        let shown: String = source.chars().take(80).collect();
        let err = fuzzing::chat_template(source.as_bytes()).expect_err(&shown);
        assert!(err.to_string().contains(expect), "{shown}: {err}");
    };
    refused("{% if %}", "does not compile");
    refused("{% nonesuch %}", "does not compile");
    refused("{{ messages | nonesuch }}", "");
    refused("{% include 'other' %}", "");
    refused("{% extends 'other' %}", "");
    refused("{{ raise_exception('no ' ~ messages[0].role) }}", "no user"); // which the system message became a part of
    refused(&format!("{{{{ {}1{} }}}}", "(".repeat(100_000), ")".repeat(100_000)), "does not compile");
    refused(&format!("{{{{ {}1{} }}}}", "[".repeat(100_000), "]".repeat(100_000)), "does not compile");
    refused(&"{% if true %}".repeat(100_000), "does not compile");
    refused(&format!("{{{{ {}messages }}}}", "-".repeat(100_000)), "does not compile");
    for operator in [" ~ a", ".a", " and a", " | trim", " is defined", "[0]", "(a)", " == a", " if a else b"] {
        for n_times in [1_300, 100_000] {
            drop(fuzzing::chat_template(format!("{{{{ a{} }}}}", operator.repeat(n_times)).as_bytes()));
        }
    }
    for tag in ["{% if true %}", "{% for a in [1] %}", "{% if a %}{% elif b %}", "{% macro m() %}", "{% set a %}"] {
        for n_times in [2_000, 100_000] {
            drop(fuzzing::chat_template(tag.repeat(n_times).as_bytes()));
        }
    }
    refused(&"text ".repeat(1 << 20), "must have at most 1 MiB");
    fuzzing::chat_template(format!("{}{{{{ messages | length }}}}", "text ".repeat(1 << 17)).as_bytes()).unwrap();
}
