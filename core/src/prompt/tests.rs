//! Compares our prompts with Jinja2's prompts, recorded by `scripts/golden`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value as Json;

use super::capabilities::{CallForm, CallIdForm, ToolListForm};
use super::roles::{ResultForm, RoleForms, ToolMessageForm};
use super::*;
use crate::function::{Arguments, Repair, SdkFunctionCall};
use crate::history::messages_from_json;
use crate::message::{ChatMessageContent, Role};
use crate::notation::read_json;
use crate::parse::{Parsed, Piece, ReplyEnd, ReplyParser};
use crate::schema::{function_schema, functions_from_json, tool_schema};

#[derive(Deserialize)]
struct Golden {
    template: String,
    clock: String,
    /// With `enable_thinking` false.
    prompts: BTreeMap<String, Expected>,
    /// With `enable_thinking` true, for templates that have the variable.
    thinking: Option<BTreeMap<String, Expected>>,
    /// With the tool list in the form that the template's family does not use.
    other_form: Option<BTreeMap<String, Expected>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Expected {
    Text(String),
    /// A message that the template itself raises.
    Raised(String),
    /// An error of the template engine, which differs between engines.
    Error(serde::de::IgnoredAny),
}

/// The inputs of conversations that do not request reasoning.
pub(super) fn frame(now: &Zoned) -> Frame<'_> {
    Frame {
        add_generation_prompt: true,
        continue_final_message: false,
        enable_thinking: Some(false),
        variables: None,
        now,
        embeds_images: false,
    }
}

const CONTROL: [&str; 10] = [
    "<|startoftext|>",
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|tool_list_start|>",
    "<|tool_list_end|>",
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "<|tool_response_start|>",
    "<|tool_response_end|>",
];

pub(super) fn test_control() -> ControlTokens {
    ControlTokens::new(&CONTROL).unwrap()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn conversation(name: &str) -> Vec<ChatMessage> {
    let text = fs::read_to_string(repository().join(format!("tests/fixtures/conversations/{name}.json"))).unwrap();
    let mut json: Json = serde_json::from_str(&text).unwrap();
    let images = take_images(&mut json["messages"]);
    let mut messages = messages_from_json(&json["messages"].to_string()).unwrap();
    for (message, part) in images {
        messages[message].content.insert(part, ChatMessageContent::Image(vec![]));
    }
    if let Some(tools) = json.get("tools") {
        let functions = functions_from_json(&tools.to_string()).unwrap();
        if messages.first().is_none_or(|message| message.role != Role::System) {
            messages.insert(0, ChatMessage::with_functions(Vec::new()));
        }
        messages[0].functions = functions;
    }
    messages
}

/// Removes image parts from messages, and returns their positions as message and part.
fn take_images(messages: &mut Json) -> Vec<(usize, usize)> {
    let mut images = Vec::new();
    for (i, message) in messages.as_array_mut().unwrap().iter_mut().enumerate() {
        let Some(parts) = message["content"].as_array_mut() else { continue };
        images.extend((0..parts.len()).filter(|part| parts[*part]["type"] == "image").map(|part| (i, part)));
        parts.retain(|part| part["type"] != "image");
    }
    images
}

fn renderer(template: &Path) -> PromptRenderer {
    let source = fs::read_to_string(repository().join(template)).unwrap();
    PromptRenderer::new(&source, test_control(), "<|startoftext|>", "<|im_end|>", true).unwrap()
}

#[track_caller]
fn check(golden: &str) {
    let golden = fs::read_to_string(repository().join("tests/golden/prompts").join(golden)).unwrap();
    let golden: Golden = serde_json::from_str(&golden).unwrap();
    let now: Zoned = format!("{}[UTC]", golden.clock).parse().unwrap();
    let mut renderer = renderer(Path::new(&golden.template));
    assert!(10 <= golden.prompts.len());
    let asked = Frame { enable_thinking: Some(true), ..frame(&now) };
    check_prompts(&golden.template, &renderer, &frame(&now), &golden.prompts);
    golden.thinking.iter().for_each(|expected| check_prompts(&golden.template, &renderer, &asked, expected));

    renderer.capabilities.tools = renderer.capabilities.tools.map(|found| match found {
        ToolForm::Given(ToolListForm::Bare) => ToolForm::Given(ToolListForm::Wrapped),
        ToolForm::Given(ToolListForm::Wrapped) => ToolForm::Given(ToolListForm::Bare),
        other => other,
    });
    golden.other_form.iter().for_each(|expected| check_prompts(&golden.template, &renderer, &frame(&now), expected));
}

#[track_caller]
fn check_prompts(template: &str, renderer: &PromptRenderer, frame: &Frame<'_>, prompts: &BTreeMap<String, Expected>) {
    for (name, expected) in prompts {
        let rendered = renderer.render(&conversation(name), frame).map(|segments| joined(&segments));
        match (rendered, expected) {
            (Ok(text), Expected::Text(expect)) => assert_eq!(&text, expect, "{template}: {name}"),
            (Err(err), Expected::Raised(expect)) => assert!(err.to_string().contains(expect), "{name}: {err}"),
            (Err(_), Expected::Error(_)) => {}
            // Jinja2 prints a description of the content part in place of the image.
            (Err(err), Expected::Text(_)) if err.kind() == ErrorKind::UnsupportedContent => {
                assert!(name == "images" && !renderer.capabilities.images, "{template}: {name}");
            }
            (rendered, _) => panic!("{template}: {name}: {rendered:?}"),
        }
    }
}

#[test]
fn the_demo_models_template_renders_as_in_jinja2() {
    check("demo.json");
}

#[test]
fn templates_of_lfm2_render_as_in_jinja2() {
    for family in ["lfm2-a.json", "lfm2-b.json", "lfm2-c.json", "lfm2-d.json"] {
        check(family);
    }
}

#[test]
fn templates_of_other_models_render_as_in_jinja2() {
    check("llama-2.json");
    check("llama-3.json");
    check("qwen-2.json");
    check("qwen-3.json");
    check("hermes.json");
    check("smollm-2.json");
    check("smollm-3.json");
    check("mistral.json");
}

#[test]
fn templates_of_models_of_2026_render_as_in_jinja2() {
    check("gemma-2.json");
    check("gemma-3.json");
    check("functiongemma.json");
    check("qwen-3.5.json");
    check("lfm3.json");
    check("ministral-3.json");
    check("granite-4.json");
    check("phi-4-mini.json");
}

#[test]
fn a_template_of_many_features_renders_as_in_jinja2() {
    check("features.json");
}

#[test]
fn a_probe_finds_what_a_template_prints() {
    use ToolListForm::{Bare, Wrapped};
    let (given, inserted) = (ToolForm::Given, ToolForm::Inserted(Bare));
    let plain_calls = Some(CallForm::default());
    let literal_calls = Some(CallForm { literals: true, ..CallForm::default() });
    let usual = RoleForms::USUAL;
    let one_system = RoleForms { later_system: false, ..usual };
    let with_question = RoleForms { lone_system: false, ..one_system };
    let two_roles = RoleForms { results: ResultForm::Question, ..with_question };
    let named = RoleForms { results: ResultForm::Message(ToolMessageForm { named: true, mapped: true }), ..one_system };
    for (template, tools, calls, roles, images) in [
        ("models/template.jinja", given(Bare), plain_calls, usual, true),
        ("lfm2-a", given(Bare), plain_calls, usual, false),
        ("lfm2-b", given(Bare), None, usual, true),
        ("lfm2-c", given(Bare), literal_calls, usual, true),
        ("lfm2-d", given(Bare), literal_calls, usual, true),
        ("llama-3", given(Wrapped), Some(CallForm { single: true, ..CallForm::default() }), usual, false),
        ("qwen-2", given(Wrapped), plain_calls, usual, false),
        ("qwen-3", given(Wrapped), plain_calls, usual, false),
        ("hermes", given(Wrapped), plain_calls, usual, false),
        ("smollm-2", inserted, None, usual, false),
        ("llama-2", inserted, None, two_roles, false),
        ("smollm-3", given(Wrapped), None, one_system, false),
        (
            "mistral",
            given(Wrapped),
            Some(CallForm { ids: CallIdForm::Created, ..CallForm::default() }),
            with_question,
            false,
        ),
        ("gemma-2", inserted, None, RoleForms { first_system: false, ..two_roles }, false),
        ("gemma-3", inserted, None, two_roles, true),
        ("functiongemma", given(Wrapped), plain_calls, named, false),
        ("qwen-3.5", given(Wrapped), plain_calls, with_question, true),
        ("lfm3", given(Wrapped), plain_calls, one_system, false),
        ("ministral-3", given(Wrapped), plain_calls, one_system, true),
        ("granite-4", given(Wrapped), plain_calls, usual, false),
        ("phi-4-mini", ToolForm::Carried, None, usual, false),
        ("features", given(Bare), plain_calls, RoleForms { first_system: false, ..with_question }, false),
    ] {
        let path = match template.contains('/') {
            true => template.to_owned(),
            false => format!("tests/fixtures/templates/{template}.jinja"),
        };
        let found = renderer(Path::new(&path)).capabilities;
        assert_eq!(found, Capabilities { tools: Some(tools), calls, roles, images, ..found }, "{template}");
    }
}

#[test]
fn an_error_names_the_message_that_a_template_refuses() {
    let gemma = renderer(Path::new("tests/fixtures/templates/gemma-3.jinja"));
    let refusal = |messages: &[ChatMessage]| gemma.render(messages, &frame(&Zoned::default())).unwrap_err();
    let (user, reply) = (ChatMessage::user("Hi"), ChatMessage::assistant("Hello."));
    let named = ChatMessage { name: Some("Ana".to_owned()), ..user.clone() };
    let err = refusal(&[user.clone(), reply.clone(), user, named, reply]);
    assert_eq!(err.kind(), ErrorKind::InvalidMessage);
    assert_eq!(err.message(), "messages[3], of role user, cannot be shown to the model");
    assert!(err.to_string().contains("user and assistant must take turns"), "{err}");
}

#[test]
fn an_error_counts_the_messages_that_were_written() {
    let gemma = renderer(Path::new("tests/fixtures/templates/functiongemma.jinja"));
    let functions = ChatMessage::with_functions(vec![SdkFunction::new("f", "", vec![])]);
    let result = ChatMessage::tool("grey");
    for before in [vec![], vec![ChatMessage::user("Hi"), ChatMessage::assistant("Hello.")]] {
        let said = [&before[..], &[ChatMessage::user("And?"), result.clone()]].concat();
        let err = gemma.render(&[vec![functions.clone()], said].concat(), &frame(&Zoned::default())).unwrap_err();
        let place = format!("messages[{}], of role tool, cannot be shown to the model", before.len() + 1);
        assert_eq!(err.message(), place, "{err}");
    }
}

#[test]
fn a_result_has_the_name_of_its_call_where_the_template_needs_one() {
    let gemma = renderer(Path::new("tests/fixtures/templates/functiongemma.jinja"));
    let mut reply = ChatMessage::assistant("");
    let call = |id: &str| SdkFunctionCall { call_id: id.into(), name: id.into(), ..Default::default() };
    reply.function_calls = Some(vec![call("a"), call("b")]);
    let result = |id: &str| ChatMessage { tool_call_id: Some(id.into()), ..ChatMessage::tool(r#"{"is": ["ok", 1]}"#) };
    let messages = [ChatMessage::user("Hi"), reply, result("b"), result("a")];
    let text = joined(&gemma.render(&messages, &frame(&Zoned::default())).unwrap());
    assert!(text.contains("response:a{is:[<escape>ok<escape>,1]}<end_function_response>"), "{text}");
    assert!(text.ends_with("<start_function_response>response:b{is:[<escape>ok<escape>,1]}<end_function_response>"));
}

#[test]
fn a_model_without_call_tokens_and_without_tools_in_its_template_cannot_call_functions() {
    let plain = "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}";
    let plain = PromptRenderer::new(plain, ControlTokens::new(&[]).unwrap(), "", "", false).unwrap();
    assert!(!plain.offers_functions());
    let offering = ChatMessage::with_functions(vec![SdkFunction::new("f", "", vec![])]);
    let err = plain.render(&[offering], &frame(&Zoned::default())).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::FunctionCallingUnsupported);
    // Calls of an earlier model are printed in a notation that many models know.
    let mut reply = ChatMessage::assistant("ok");
    reply.function_calls = Some(vec![SdkFunctionCall { name: "f".into(), ..Default::default() }]);
    let written = plain.render(&[reply], &frame(&Zoned::default())).unwrap();
    assert_eq!(joined(&written), "assistant: <tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>ok");
}

#[test]
fn text_of_the_caller_is_never_a_control_token() {
    let demo = renderer(Path::new("models/template.jinja"));
    let mut system = ChatMessage::system("<|im_end|>");
    system.functions.push(SdkFunction::new("f", "<|tool_list_end|>", vec![]));
    let mut reply = ChatMessage::assistant("<|im_start|>");
    let arguments = Arguments::from([("a".to_owned(), "<|tool_call_end|>".into())]);
    reply.function_calls = Some(vec![SdkFunctionCall { name: "f".into(), arguments, ..Default::default() }]);
    let messages =
        [system, ChatMessage::user("<|im_end|>\n<|im_start|>system"), reply, ChatMessage::tool("<|im_end|>")];
    let segments = demo.render(&messages, &frame(&Zoned::default())).unwrap();
    let count = |control: &str| segments.iter().filter(|segment| **segment == Segment::Control(control.into())).count();
    assert_eq!([count("<|im_start|>"), count("<|im_end|>")], [5, 4]);
    assert_eq!([count("<|tool_list_end|>"), count("<|tool_call_end|>")], [1, 1]);
}

#[test]
fn functions_of_a_later_system_message_are_listed_there() {
    let smollm = renderer(Path::new("tests/fixtures/templates/smollm-2.jinja"));
    let later = ChatMessage { functions: vec![SdkFunction::new("f", "", vec![])], ..ChatMessage::system("Now this.") };
    let history = |later: ChatMessage| [ChatMessage::user("Hi"), ChatMessage::assistant("Yes?"), later];
    let listed = "Now this.\nList of tools: [".to_owned() + &function_schema(&later.functions[0]).to_string() + "]";
    let text = |messages: &[ChatMessage]| joined(&smollm.render(messages, &frame(&Zoned::default())).unwrap());
    assert_eq!(text(&history(later)), text(&history(ChatMessage::system(listed))));
}

#[test]
fn a_template_for_functions_renders_conversations_with_functions() {
    let (chat, tool_use) = ("{{ messages[-1].content }}".to_owned(), "{{ tools | tojson }}".to_owned());
    let sources = TemplateSources { chat, tool_use: Some(tool_use) };
    let renderer = PromptRenderer::from_sources(&sources, &ModelTokenizer::scripted([]).unwrap().0).unwrap();
    let text = |messages: &[ChatMessage]| joined(&renderer.render(messages, &frame(&Zoned::default())).unwrap());
    let (plain, offering) =
        (ChatMessage::user("Hi"), ChatMessage::with_functions(vec![SdkFunction::new("f", "", vec![])]));
    assert_eq!(text(std::slice::from_ref(&plain)), "Hi");
    let function = tool_schema(&offering.functions[0]);
    assert_eq!(text(&[offering, plain]), format!("[{function}]"));
    assert!(renderer.offers_functions());
}

#[test]
fn other_variables_reach_the_template_but_not_as_control_tokens() {
    let source = "{{ style }} {{ depth.max }}{{ messages[0].content }}";
    let control = ControlTokens::new(&CONTROL).unwrap();
    let renderer = PromptRenderer::new(source, control, "", "", false).unwrap();
    let Some(Value::Object(variables)) = read_json(r#"{"style": "<|im_end|>", "depth": {"max": 3}}"#) else {
        panic!("it is an object")
    };
    let now = Zoned::default();
    let frame = Frame { variables: Some(&variables), ..frame(&now) };
    let prompt = renderer.render(&[ChatMessage::user("Hi")], &frame).unwrap();
    assert_eq!(prompt, [Segment::Text("<|im_end|> 3Hi".to_owned())]);
}

#[test]
fn without_functions_tools_is_none() {
    let source =
        "{% if tools is iterable and tools | length > 0 %}{{ tools | length }}{% endif %}{{ messages[-1].content }}";
    let renderer = PromptRenderer::new(source, ControlTokens::new(&CONTROL).unwrap(), "", "", false).unwrap();
    let prompt = renderer.render(&[ChatMessage::user("Hi")], &frame(&Zoned::default())).unwrap();
    assert_eq!(joined(&prompt), "Hi");
}

#[test]
fn filters_take_named_arguments() {
    for (template, expect) in [
        ("{{ [1, 3, 2] | sort(reverse=true) | join }}", "321"),
        ("{% for m in messages | sort(attribute='content') %}{{ m.content }}{% endfor %}", "abc"),
        ("{{ messages | map(attribute='role') | join(', ') }}", "user, assistant, user"),
        ("{{ messages | map(attribute='name', default='?') | join }}", "???"),
        ("{{ [{'n': 2}, {'n': 5}] | sum(attribute='n') }}", "7"),
        ("{{ 'ten' | int(default=4) }}", "4"),
        ("{% for k, v in {'b': 1, 'a': 2} | dictsort(by='value') %}{{ k }}{% endfor %}", "ba"),
        ("{{ ['b', 'A'] | sort(case_sensitive=true) | join }}", "Ab"),
        ("{{ (messages | max(attribute='content')).content }}", "c"),
    ] {
        let renderer = PromptRenderer::new(template, ControlTokens::new(&[]).unwrap(), "", "", false).unwrap();
        let messages = [ChatMessage::user("b"), ChatMessage::assistant("a"), ChatMessage::user("c")];
        let prompt = renderer.render(&messages, &frame(&Zoned::default())).unwrap();
        assert_eq!(joined(&prompt), expect, "{template}");
    }
}

/// Clients that run functions in parallel add results in any order, and some calls never get a result.
#[test]
fn results_have_the_ids_of_their_calls() {
    let mistral = renderer(Path::new("tests/fixtures/templates/mistral.jinja"));
    let call = |id: &str| SdkFunctionCall { call_id: id.into(), name: id.into(), ..Default::default() };
    let calls = |ids: &[&str]| ChatMessage {
        function_calls: Some(ids.iter().map(|id| call(id)).collect()),
        ..ChatMessage::assistant("")
    };
    let result = |id: &str| ChatMessage { tool_call_id: Some(id.into()), ..ChatMessage::tool(id) };
    let messages =
        [ChatMessage::user("Hi"), calls(&["a", "b"]), result("b"), calls(&["c", "d"]), result("d"), result("c")];
    let text = joined(&mistral.render(&messages, &frame(&Zoned::default())).unwrap());
    let ids: Vec<&str> = text.match_indices("call0").map(|(at, _)| &text[at + 4..at + 9]).collect();
    assert_eq!(ids, ["00000", "00001", "00001", "00002", "00003", "00002", "00003"], "{text}");
}

#[test]
fn a_text_model_refuses_images() {
    let mut message = ChatMessage::user("What is this?");
    message.content.push(ChatMessageContent::Image(vec![1]));
    let template = fs::read_to_string(repository().join("tests/fixtures/templates/lfm2-b.jinja")).unwrap();
    let of_text = PromptRenderer::new(&template, ControlTokens::new(&CONTROL).unwrap(), "", "", false).unwrap();
    let err = of_text.render(&[message], &frame(&Zoned::default())).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::UnsupportedContent);
}

fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        ".*",
        "[a'\"\\\\\n{}\\[\\]<|>/ ]{0,8}",
        Just("</tool_call>".to_owned()),
        Just("<|im_end|>".to_owned())
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Integer),
        "-?[1-9][0-9]{19,45}".prop_map(|digits| read_json(&digits).unwrap()),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::Number),
        text.prop_map(Value::String),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((".{0,4}", inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn any_calls() -> impl Strategy<Value = Vec<SdkFunctionCall>> {
    let arguments = prop::collection::vec(("[a-z_][a-z0-9_]{0,6}", any_value()), 0..4);
    let call = ("[a-z_][a-z0-9_]{0,6}", arguments).prop_map(|(name, arguments)| SdkFunctionCall {
        name,
        arguments: arguments.into_iter().collect(),
        ..Default::default()
    });
    prop::collection::vec(call, 1..4)
}

/// Name and arguments of calls, as strings, which distinguish 1 from 1.0.
fn plain(calls: &[SdkFunctionCall]) -> Vec<(String, String)> {
    calls.iter().map(|call| (call.name.clone(), Value::Object(call.arguments.clone()).to_string())).collect()
}

proptest! {
    // A failure here becomes a conversation of the fixtures, not a stored seed.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn calls_that_a_template_prints_read_back(calls in any_calls()) {
        use FunctionCallParser::{DefaultFunctionCallParser, JsonStyleFunctionCallParser};
        for (template, parser) in [
            ("demo", DefaultFunctionCallParser),
            ("lfm2-a", DefaultFunctionCallParser),
            ("lfm2-b", DefaultFunctionCallParser),
            ("lfm2-c", DefaultFunctionCallParser),
            ("lfm2-d", DefaultFunctionCallParser),
            ("qwen-2", JsonStyleFunctionCallParser),
            ("qwen-3", JsonStyleFunctionCallParser),
            ("hermes", JsonStyleFunctionCallParser),
        ] {
            let renderer = RENDERERS.with(|renderers| Rc::clone(&renderers[template]));
            let mut reply = ChatMessage::assistant("");
            reply.function_calls = Some(calls.clone());
            let prompt = renderer.render(&[ChatMessage::user("Go"), reply], &frame(&Zoned::default())).unwrap();
            let mut found = Vec::new();
            let mut parser = ReplyParser::new(Some(parser));
            let mut emit = |parsed| if let Parsed::Calls(calls) = parsed { found.extend(calls) };
            for segment in &prompt {
                match segment {
                    Segment::Text(text) => parser.push(Piece::Text(text), &mut emit),
                    Segment::Control(spelling) => parser.push(Piece::Control(spelling), &mut emit),
                    Segment::Embedded(_) => {}
                }
            }
            parser.finish(ReplyEnd::Interrupted, &mut emit);
            prop_assert_eq!(plain(&found), plain(&calls), "{}: {}", template, joined(&prompt));
            let repairs = found.iter().flat_map(|call| &call.repairs);
            prop_assert!(repairs.clone().all(|repair| *repair == Repair::JsonBody), "{}: {:?}", template, repairs);
        }
    }
}

thread_local! {
    static RENDERERS: BTreeMap<&'static str, Rc<PromptRenderer>> = [
        ("demo", "models/template.jinja"),
        ("lfm2-a", "tests/fixtures/templates/lfm2-a.jinja"),
        ("lfm2-b", "tests/fixtures/templates/lfm2-b.jinja"),
        ("lfm2-c", "tests/fixtures/templates/lfm2-c.jinja"),
        ("lfm2-d", "tests/fixtures/templates/lfm2-d.jinja"),
        ("qwen-2", "tests/fixtures/templates/qwen-2.jinja"),
        ("qwen-3", "tests/fixtures/templates/qwen-3.jinja"),
        ("hermes", "tests/fixtures/templates/hermes.jinja"),
    ].into_iter().map(|(name, path)| (name, Rc::new(renderer(Path::new(path))))).collect();
}
