//! Constrained calls and replies of scripts, of tiny models with random weights, and of the demo model.

use std::fs;

use causerie::testing::{ScriptedModel, ScriptedReply};
use causerie::{
    ChatMessage, Completion, Conversation, ErrorKind, FinishReason, FunctionCallParser, GenerationOptions, LoadOptions,
    MessageResponse, ModelRunner, ResponseStream, SdkError, SdkFunction, ToolCallConstraint, ToolChoice, Value,
    functions_from_json, read_json,
};

use crate::function_sets::function_set;
use crate::{fixture, repository};

const WEATHER: &str = r#"[{"name": "get_weather", "description": "", "parameters": {"type": "object", "properties": {
    "city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}, {"name": "ping"}]"#;
/// Offers functions in few tokens.
const TEMPLATE: &str = "{{ bos_token }}{% for tool in tools or [] %}{{ tool.name }} {% endfor %}{% for message in \
    messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";

fn typed() -> GenerationOptions {
    GenerationOptions { tool_call_constraint: ToolCallConstraint::Typed, ..Default::default() }
}

fn required() -> GenerationOptions {
    GenerationOptions { tool_choice: ToolChoice::Required, ..typed() }
}

fn json_style(options: GenerationOptions) -> GenerationOptions {
    GenerationOptions { function_call_parser: Some(FunctionCallParser::JsonStyleFunctionCallParser), ..options }
}

fn call(body: &str) -> ScriptedReply {
    ScriptedReply::new().control("<|tool_call_start|>").text(body).control("<|tool_call_end|>")
}

fn finish(stream: ResponseStream) -> Result<Completion, SdkError> {
    match stream.into_iter().last().expect("a reply ends with an event") {
        Ok(MessageResponse::Complete(completion)) => Ok(*completion),
        Ok(other) => panic!("the last event must be Complete, found {other:?}"),
        Err(err) => Err(err),
    }
}

fn ask(runner: &ModelRunner, functions: &[SdkFunction], options: GenerationOptions) -> Result<Completion, SdkError> {
    let conversation = runner.create_conversation("");
    conversation.register_functions(functions.to_vec()).unwrap();
    finish(conversation.generate_response(ChatMessage::user("Hi"), options))
}

/// Summary of a script's reply: how it ended, its text, and the names of its calls.
fn script(reply: ScriptedReply, options: GenerationOptions) -> String {
    let runner = ScriptedModel::new().reply(reply).load().unwrap();
    let completion = match ask(&runner, &functions_from_json(WEATHER).unwrap(), options) {
        Ok(completion) => completion,
        Err(err) => return err.to_string(),
    };
    let message = &completion.full_message;
    let calls = message.function_calls.iter().flatten();
    let calls: Vec<String> = calls
        .map(|call| {
            let diagnostics: Vec<&str> = call.diagnostics.iter().map(|found| found.code.code()).collect();
            [&[call.name.as_str()][..], &diagnostics].concat().join("!")
        })
        .collect();
    let rejected: Vec<&str> = message.rejected_calls.iter().map(|call| call.reason.code()).collect();
    let reason = completion.finish_reason;
    assert_eq!(completion.unconstrained, None);
    format!("{reason:?} {:?} {} {}", message.text(), calls.join(","), rejected.join(",")).trim_end().to_owned()
}

#[test]
fn a_script_within_the_grammar_is_unchanged() {
    let reply = || ScriptedReply::new().text("Well. ").control("<|tool_call_start|>");
    let reply =
        || reply().text("[get_weather(city=").text("\"Oslo\")").text("]").control("<|tool_call_end|>").text("So.");
    let expect = r#"ToolCalls "Well. So." get_weather"#;
    assert_eq!(script(reply(), typed()), expect);
    assert_eq!(script(reply(), GenerationOptions::default()), expect);
}

#[test]
fn a_script_that_leaves_the_grammar_ends_there_without_calls() {
    assert_eq!(script(call("[get_wether(city='Oslo')]"), typed()), r#"Constraint """#);
    let late = ScriptedReply::new().text("Hm.").control("<|tool_call_start|>").text("[ping()").text(", pong()]");
    assert_eq!(script(late, typed()), r#"Constraint "Hm."  incomplete_block"#);
    assert_eq!(
        script(call("[get_wether(city='Oslo')]"), GenerationOptions::default()),
        r#"ToolCalls "" get_wether!undeclared_function"#
    );
}

#[test]
fn tags_in_text_constrain_once_they_are_complete() {
    let reply = |pieces: &[&str]| pieces.iter().fold(ScriptedReply::new(), |reply, piece| reply.text(*piece));
    for pieces in [
        &["<tool_call>", r#"{"name": "ping", "arguments": {}}"#, "</tool_call>"][..],
        &["<tool", "_call>\n{\"na", "me\": \"ping\", \"arguments\": {}}\n</tool", "_call>"],
        &[r#"<tool_call>{"name": "ping", "arguments": {}}</tool_call>"#],
    ] {
        assert_eq!(script(reply(pieces), json_style(typed())), r#"ToolCalls "" ping"#, "{pieces:?}");
    }
    for pieces in [
        &["<tool_call>", r#"{"name": "pong", "arguments": {}}"#, "</tool_call>"][..],
        &["<tool", "_call>{\"name\": \"pong", "\", \"arguments\": {}}</tool_call>"],
        &[r#"<tool_call>{"name": "pong", "arguments": {}}</tool_call>"#],
    ] {
        assert!(script(reply(pieces), json_style(typed())).starts_with("Constraint"), "{pieces:?}");
    }
}

#[test]
fn calls_without_tags_are_constrained_from_their_name_on() {
    let reply = |pieces: &[&str]| pieces.iter().fold(ScriptedReply::new(), |reply, piece| reply.text(*piece));
    let ping = r#"ToolCalls "" ping!missing_markers"#;
    let fence =
        ["Let me see.\n```json\n{\"name\": \"get_weather\"", ", \"arguments\": {\"city\": \"Oslo\"}}", "\n```\nDone."];
    for options in [json_style(typed()), json_style(GenerationOptions::default())] {
        assert_eq!(script(reply(&[r#"{"name": "ping", "arguments": {}}"#]), options.clone()), ping);
        assert_eq!(
            script(reply(&["{\n  \"na", "me\": \"ping\",\n", "  \"arguments\": {}\n}", "\n"]), options.clone()),
            ping
        );
        assert_eq!(script(reply(&fence), options), r#"ToolCalls "Let me see.\n\nDone." get_weather!missing_markers"#);
    }
    let wrong = [r#"{"name": "get_weather", "#, r#""arguments": {"town": "Oslo"}}"#];
    assert!(script(reply(&wrong), json_style(typed())).starts_with("Constraint"), "the name of an argument");
    let free = script(reply(&wrong), json_style(GenerationOptions::default()));
    assert_eq!(free, r#"ToolCalls "" get_weather!missing_required!undeclared_argument!missing_markers"#);
    let other = r#"{"name": "pong", "arguments": {}}"#;
    assert_eq!(script(reply(&[other]), json_style(typed())), format!("Stop {other:?}"));
    let banned = GenerationOptions { tool_choice: ToolChoice::None, ..json_style(typed()) };
    let ping = r#"{"name": "ping", "arguments": {}}"#;
    assert_eq!(script(reply(&[ping]), banned), format!("Stop {ping:?}"));
}

#[test]
fn no_function_is_called_if_none_is_allowed() {
    let none = GenerationOptions { tool_choice: ToolChoice::None, ..Default::default() };
    assert_eq!(script("No.".into(), none.clone()), r#"Stop "No.""#);
    assert_eq!(
        script(ScriptedReply::new().text("A").control("<|tool_call_start|>"), none.clone()),
        r#"Constraint "A""#
    );
    assert_eq!(
        script(ScriptedReply::new().text("A<tool").text("_call>"), json_style(none.clone())),
        r#"Constraint "A<tool""#
    );
    let nothing_allowed = GenerationOptions { allowed_tools: Some(Vec::new()), ..Default::default() };
    assert_eq!(script(call("[ping()]"), nothing_allowed), r#"Constraint """#);
}

#[test]
fn a_required_call_comes_first() {
    assert_eq!(script(call("[ping()]").text("Done."), required()), r#"ToolCalls "Done." ping"#);
    assert_eq!(script("No.".into(), required()), r#"Constraint """#);
    let named =
        |name: &str| GenerationOptions { tool_choice: ToolChoice::Function(name.to_owned()), ..Default::default() };
    assert_eq!(script(call("[ping()]"), named("ping")), r#"ToolCalls "" ping"#);
    assert!(script(call("[ping()]"), named("get_weather")).starts_with("Constraint"));
    assert_eq!(script("".into(), named("pong")), r#"tool_choice must name offered functions, found "pong""#);
}

#[test]
fn reasoning_comes_before_a_required_call() {
    let thinking = || GenerationOptions { enable_thinking: true, ..required() };
    let reply = ScriptedReply::new().text("<think>").text("Weather? Ping.").text("</think>");
    let then_call = reply.clone().control("<|tool_call_start|>").text("[ping()]").control("<|tool_call_end|>");
    assert_eq!(script(then_call, thinking()), r#"ToolCalls "" ping"#);
    assert_eq!(script(reply.text("No."), thinking()), r#"Constraint """#);
    assert_eq!(script(call("[ping()]"), thinking()), r#"ToolCalls "" ping"#);
}

#[test]
fn there_is_only_one_call_if_calls_are_not_parallel() {
    let single = |options| GenerationOptions { parallel_tool_calls: false, ..options };
    let two = || call("[ping(), ping()]");
    assert!(script(two(), single(typed())).starts_with("Constraint"));
    assert_eq!(script(two(), single(GenerationOptions::default())), r#"ToolCalls "" ping,ping!parallel_limit"#);
    let again = call("[ping()]").text("Again: ").control("<|tool_call_start|>").text("[ping()]");
    assert_eq!(script(again, single(typed())), r#"Constraint "Again: " ping"#);
}

#[test]
fn functions_that_are_not_allowed_are_not_called_or_get_a_diagnostic() {
    let allowed = |options| GenerationOptions { allowed_tools: Some(vec!["ping".to_owned()]), ..options };
    let other = || call("[get_weather(city='Oslo')]");
    assert!(script(other(), allowed(typed())).starts_with("Constraint"));
    assert_eq!(script(other(), allowed(GenerationOptions::default())), r#"ToolCalls "" get_weather!tool_not_allowed"#);
    let unknown = GenerationOptions { allowed_tools: Some(vec!["pong".to_owned()]), ..Default::default() };
    assert_eq!(script("".into(), unknown), r#"allowed_tools must name offered functions, found "pong""#);
}

#[test]
fn a_marker_in_an_answer_with_a_schema_is_text() {
    let schema = r#"{"type": "object", "properties": {"s": {"type": "string"}}, "required": ["s"], "additionalProperties": false}"#;
    let options = || GenerationOptions { json_schema_constraint: Some(schema.to_owned()), ..Default::default() };
    for marker in ["<think>", "</think>", "<tool_call>", "<|tool_call_start|>", "<thi"] {
        let answer = format!(r#"{{"s": "{marker}"}}"#);
        for options in [options(), json_style(options())] {
            let whole = ScriptedReply::new().text(answer.as_str());
            let pieces = answer.chars().fold(ScriptedReply::new(), |reply, piece| reply.text(piece.to_string()));
            assert_eq!(script(whole, options.clone()), format!("Stop {answer:?}"));
            assert_eq!(script(pieces, options), format!("Stop {answer:?}"));
        }
    }
}

#[test]
fn a_schema_constrains_the_answer_but_not_calls() {
    let schema = r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false}"#;
    let options = || GenerationOptions { json_schema_constraint: Some(schema.to_owned()), ..Default::default() };
    assert_eq!(script(r#"{"n": 3}"#.into(), options()), r#"Stop "{\"n\": 3}""#);
    assert_eq!(script(call("[ping()]"), options()), r#"ToolCalls "" ping"#);
    assert_eq!(script("Three.".into(), options()), r#"Constraint """#);
    assert_eq!(script(ScriptedReply::new().text(r#"{"n": "#).text("null}"), options()), r#"Constraint "{\"n\": ""#);
    let unknown =
        GenerationOptions { json_schema_constraint: Some(r#"{"not": {"const": 1}}"#.to_owned()), ..Default::default() };
    let said = script("".into(), unknown);
    assert!(said.starts_with("json_schema_constraint cannot be enforced:") && said.contains("\"not\""), "{said}");
}

#[test]
fn the_schema_is_in_the_prompt_once() {
    let runner = ScriptedModel::new().reply("[]").reply("[]").load().unwrap();
    let conversation = runner.create_conversation("Be brief.");
    let schema = r#"{"type": "array"}"#;
    let tokens = |inject_schema_into_prompt| {
        let json_schema_constraint = Some(schema.to_owned());
        let options = GenerationOptions { json_schema_constraint, inject_schema_into_prompt, ..Default::default() };
        let reply = conversation.fork().generate_response(ChatMessage::user("Hi"), options);
        finish(reply).unwrap().stats.prompt_tokens
    };
    // In a script's prompt each byte is a token.
    assert_eq!(tokens(true) - tokens(false), "\n\nAnswer with JSON that fits this schema: ".len() + schema.len());
    assert_eq!(conversation.history()[0].text(), "Be brief.");
}

#[test]
fn a_call_cannot_be_required_without_functions() {
    let runner = ScriptedModel::new().reply("Hi.").reply("Hi.").load().unwrap();
    let conversation = runner.create_conversation("");
    let err = finish(conversation.generate_response(ChatMessage::user("Hi"), required())).unwrap_err();
    assert_eq!(
        (err.kind(), err.message()),
        (ErrorKind::InvalidOption("tool_choice"), "tool_choice requires a call, and no function may be called")
    );
    assert!(conversation.history().is_empty(), "nothing was asked");
    let unparsed = GenerationOptions { function_call_parser: None, ..required() };
    let err = ask(&runner, &functions_from_json(WEATHER).unwrap(), unparsed).unwrap_err();
    assert_eq!(
        err.message(),
        "tool_choice requires a call, and no parser of calls is set; set DefaultFunctionCallParser"
    );
    let other =
        GenerationOptions { function_call_parser: Some(FunctionCallParser::GemmaFunctionCallParser), ..required() };
    let err = ask(&runner, &functions_from_json(WEATHER).unwrap(), other).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidOption("tool_choice"));
    assert_eq!(
        err.message(),
        "tool_choice requires a call, and the model cannot write the calls that GemmaFunctionCallParser reads; \
         set DefaultFunctionCallParser"
    );
}

/// A tiny model with random weights and a context of 8,192 tokens.
fn random_model(family: &str) -> ModelRunner {
    let mut bytes = fs::read(fixture(&format!("models/{family}-f32.gguf"))).unwrap();
    let key = b".context_length";
    let value = bytes.windows(key.len()).position(|window| window == key).unwrap() + key.len() + size_of::<u32>();
    bytes[value..value + size_of::<u32>()].copy_from_slice(&8192u32.to_le_bytes());
    let options = LoadOptions { chat_template: Some(TEMPLATE.to_owned()), ..Default::default() };
    ModelRunner::load_from_bytes(bytes, options).unwrap()
}

/// Asks a model for a call of every set of functions; every one that it ends is read without repair and fits.
#[track_caller]
fn check_random_calls(family: &str, options: &GenerationOptions, seeds: std::ops::Range<u64>) {
    let runner = random_model(family);
    let n_asked = seeds.end - seeds.start;
    let mut n_whole = 0;
    for seed in seeds {
        let functions = function_set(seed);
        let options = GenerationOptions { seed: Some(seed), ..options.clone() };
        let completion = ask(&runner, &functions, options).unwrap();
        // A call without a block that is cut is text, which is reported.
        let is_cut = completion.finish_reason == FinishReason::MaxTokens;
        assert!(is_cut || completion.unconstrained.is_none(), "{functions:?}: {:?}", completion.unconstrained);
        let message = &completion.full_message;
        for call in message.function_calls.iter().flatten() {
            assert!(call.repairs.is_empty() && call.diagnostics.is_empty(), "{family}, set {seed}: {call:?}");
        }
        assert!(is_cut || message.rejected_calls.is_empty(), "{family}, set {seed}: {:?}", message.rejected_calls);
        assert!(is_cut || message.function_calls.is_some(), "{family}, set {seed}: {message:?}");
        n_whole += u64::from(message.function_calls.is_some());
    }
    // Random weights seldom end a text, but enough replies must end for this to be a test.
    assert!(n_asked / 2 <= n_whole, "{family}: {n_whole} of {n_asked} ended");
}

#[test]
fn random_weights_write_calls_that_fit() {
    let options = || GenerationOptions { temperature: Some(1.0), top_k: Some(0), max_tokens: Some(600), ..required() };
    check_random_calls("lfm2", &options(), 0..16);
    check_random_calls("lfm2", &json_style(options()), 16..28);
    check_random_calls("mistral", &json_style(options()), 28..36);
    check_random_calls("llama-linear", &json_style(options()), 36..44);
    let others = [
        ("lfm2", FunctionCallParser::CodeFunctionCallParser),
        ("mistral", FunctionCallParser::FunctoolsFunctionCallParser),
        ("llama-linear", FunctionCallParser::LlamaFunctionCallParser),
    ];
    for ((family, parser), first) in others.into_iter().zip([44, 52, 60]) {
        let options = GenerationOptions { function_call_parser: Some(parser), ..options() };
        check_random_calls(family, &options, first..first + 8);
    }
}

#[test]
fn random_weights_without_a_constraint_write_no_call() {
    let runner = random_model("lfm2");
    for seed in 0..16 {
        let options = GenerationOptions {
            temperature: Some(1.0),
            top_k: Some(0),
            max_tokens: Some(600),
            seed: Some(seed),
            ..Default::default()
        };
        assert_eq!(ask(&runner, &function_set(seed), options).unwrap().full_message.function_calls, None);
    }
}

#[test]
fn random_weights_write_answers_that_fit_a_schema() {
    let schema = r#"{"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}, "n": {"type": "integer",
        "minimum": 3, "maximum": 9}, "kind": {"enum": ["a", "b"]}}, "required": ["name", "n", "kind"],
        "additionalProperties": false}"#;
    for family in ["lfm2", "mistral"] {
        let runner = random_model(family);
        for seed in 0..8 {
            let options = GenerationOptions {
                json_schema_constraint: Some(schema.to_owned()),
                temperature: Some(1.0),
                max_tokens: Some(400),
                seed: Some(seed),
                ..Default::default()
            };
            let completion = ask(&runner, &[], options).unwrap();
            assert_eq!(completion.finish_reason, FinishReason::Stop);
            let text = completion.full_message.text();
            let answer = read_json(&text).unwrap_or_else(|| panic!("{family}: {text}"));
            let Value::Object(answer) = answer else { panic!("{family}: {text}") };
            assert!(answer["n"].as_f64().is_some_and(|n| (3.0..=9.0).contains(&n)), "{family}: {text}");
        }
    }
}

/// A pattern whose states multiply with each character: the limit is reached in the middle of the reply.
#[test]
fn a_limit_that_is_reached_in_the_middle_of_a_reply_ends_it() {
    let runner = random_model("lfm2");
    let options = GenerationOptions {
        json_schema_constraint: Some(r#"{"type": "string", "pattern": "^([ -~]*[aeiou][ -~]{40}){30}$"}"#.to_owned()),
        temperature: Some(1.0),
        max_tokens: Some(1000),
        seed: Some(0),
        ..Default::default()
    };
    let completion = ask(&runner, &[], options).unwrap();
    assert_eq!(completion.finish_reason, FinishReason::Constraint);
    assert!((10..1000).contains(&completion.stats.completion_tokens), "{}", completion.stats.completion_tokens);
    assert!(completion.full_message.text().starts_with('"'));
    assert!(completion.unconstrained.is_some_and(|reason| reason.contains("states")));
}

/// Whatever the schema, a reply ends or is refused with a reason, and the model continues to serve others.
#[test]
fn hostile_schemas_end_in_time_also_in_the_middle_of_replies() {
    let runner = random_model("lfm2");
    let lists = r#"{"type": "array", "items": "#.repeat(60) + r#"{"type": "integer"}"# + &"}".repeat(60);
    let wide: Vec<String> = (0..400).map(|i| format!(r#""p{i}": {{"type": "string"}}"#)).collect();
    let schemas = [
        r#"{"type": "string", "pattern": "^([ -~]*[aeiou][ -~]{40}){30}$"}"#.to_owned(),
        r#"{"type": "string", "pattern": "^([ -~]?){400}$"}"#.to_owned(),
        r#"{"type": "string", "minLength": 5000}"#.to_owned(),
        r##"{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"], "additionalProperties": false}"##
            .to_owned(),
        format!(r#"{{"type": "object", "properties": {{{}}}}}"#, wide.join(", ")),
        lists,
        r#"{"enum": []}"#.to_owned(),
    ];
    let mut n_reasons = std::collections::BTreeMap::new();
    for (schema, seed) in schemas.iter().zip(0..) {
        let options = GenerationOptions {
            json_schema_constraint: Some(schema.clone()),
            temperature: Some(1.0),
            max_tokens: Some(300),
            seed: Some(seed),
            ..Default::default()
        };
        let reason = match ask(&runner, &[], options) {
            Ok(completion) => format!("{:?}", completion.finish_reason),
            Err(err) => format!("{:?}", err.kind()),
        };
        *n_reasons.entry(reason).or_insert(0) += 1;
    }
    let plain = GenerationOptions { max_tokens: Some(5), ..Default::default() };
    assert_eq!(ask(&runner, &[], plain).unwrap().stats.completion_tokens, 5);
    let known = ["Constraint", "InvalidOption(\"json_schema_constraint\")", "MaxTokens", "Stop"];
    assert!(n_reasons.keys().all(|reason| known.contains(&reason.as_str())), "{n_reasons:?}");
    assert!(2 < n_reasons.len(), "some are accepted, and some refused: {n_reasons:?}");
}

fn chat() -> Conversation {
    let conversation = ModelRunner::load(repository("models/demo.gguf")).unwrap().create_conversation("");
    let functions = fs::read_to_string(repository("server/src/chat/functions.json")).unwrap();
    conversation.register_functions(functions_from_json(&functions).unwrap()).unwrap();
    conversation
}

#[test]
fn the_demo_model_writes_the_same_call_and_fewer_tokens_are_computed() {
    let conversation = chat();
    let reply = |options: GenerationOptions| {
        let stream = conversation.fork().generate_response(ChatMessage::user("Set a timer for 12 minutes"), options);
        finish(stream).unwrap()
    };
    let greedy = |options| GenerationOptions { temperature: Some(0.0), ..options };
    let (free, constrained) = (reply(greedy(GenerationOptions::default())), reply(greedy(typed())));
    assert_eq!(free.full_message, constrained.full_message);
    assert_eq!(free.stats.forced_tokens, 0);
    let stats = constrained.stats;
    assert!(0 < stats.forced_tokens && stats.forced_tokens < stats.call_tokens, "{stats:?}");
    let first = reply(greedy(required()));
    assert_eq!(first.full_message.function_calls, free.full_message.function_calls);
}
