//! Compares what templates get besides messages with what transformers hands over, recorded by `scripts/golden`.

use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use super::tests::frame;
use super::*;
use crate::history::messages_from_json;
use crate::schema::functions_from_json;
use crate::weights::Weights;

fn repository(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The prompt of a case, rendered by a folder of its own, which has the files of `models/llama2` otherwise.
fn prompt(case: &Json, folder: &Path) -> String {
    let model = repository("tests/fixtures/models/llama2");
    let _ = fs::remove_dir_all(folder);
    fs::create_dir(folder).unwrap();
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        fs::copy(model.join(file), folder.join(file)).unwrap();
    }
    let config = fs::read(model.join("tokenizer_config.json")).unwrap();
    let mut config: serde_json::Map<String, Json> = serde_json::from_slice(&config).unwrap();
    config.extend(case["tokenizer_config"].as_object().cloned().unwrap_or_default());
    fs::write(folder.join("tokenizer_config.json"), Json::Object(config).to_string()).unwrap();
    if case["special_tokens_map"].is_object() {
        fs::write(folder.join("special_tokens_map.json"), case["special_tokens_map"].to_string()).unwrap();
    }
    fs::write(folder.join("chat_template.jinja"), case["template"].as_str().unwrap()).unwrap();
    let weights = Weights::open(folder.to_str().unwrap()).unwrap();
    let tokenizer = ModelTokenizer::load(&weights).unwrap();
    let renderer =
        PromptRenderer::from_sources(&TemplateSources::read(&weights).unwrap().unwrap(), &tokenizer).unwrap();
    let mut messages = messages_from_json(&case["messages"].to_string()).unwrap();
    if case["tools"].is_array() {
        messages.insert(0, ChatMessage::with_functions(functions_from_json(&case["tools"].to_string()).unwrap()));
    }
    joined(&renderer.render(&messages, &frame(&Zoned::default())).unwrap())
}

/// Checks the cases in a folder of this name.
fn check(cases: &[Json], name: &str) {
    let folder = std::env::temp_dir().join(format!("causerie-template-{name}-{}", std::process::id()));
    for case in cases {
        assert_eq!(prompt(case, &folder), case["expected"].as_str().unwrap(), "{case}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn special_tokens_and_functions_reach_templates_as_in_transformers() {
    let golden = fs::read(repository("tests/golden/template_inputs.json")).unwrap();
    let cases: Vec<Json> = serde_json::from_slice(&golden).unwrap();
    assert!(20 < cases.len());
    check(&cases, "golden");
}

/// Templates that people reported on other engines.
#[test]
fn reported_templates_get_what_transformers_hands_over() {
    let rows = fs::read_to_string(repository("tests/fixtures/templates/inputs.jsonl")).unwrap();
    let cases: Vec<Json> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    check(&cases, "reports");
}

fn renderer(template: &str) -> PromptRenderer {
    PromptRenderer::new(template, ControlTokens::new(&["<|end|>"]).unwrap(), "", "", false).unwrap()
}

fn offering(functions: &str) -> [ChatMessage; 2] {
    [ChatMessage::with_functions(functions_from_json(functions).unwrap()), ChatMessage::user("Hi")]
}

#[test]
fn a_template_that_refuses_a_function_gets_it_with_all_members() {
    let lists = "{{ messages[-1].content }}{% for t in tools or [] %}[{{ t.function.name + ': ' + t.function.description }}\
                 {% for name in t.function.parameters.properties %} {{ name }}{% endfor %}]{% endfor %}";
    let text = |functions| joined(&renderer(lists).render(&offering(functions), &frame(&Zoned::default())).unwrap());
    assert_eq!(
        text(r#"[{"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}, {"name": "g"}]"#),
        "Hi[f:  a][g: ]"
    );
    assert_eq!(text(r#"[{"name": "f", "description": null}]"#), "Hi[f: ]");
}

#[test]
fn a_function_that_was_changed_is_not_shown_as_it_was_given() {
    let mut messages = offering(r#"[{"function": {"strict": true, "name": "f", "description": "Old."}}]"#);
    let text = |messages: &[ChatMessage]| {
        joined(
            &renderer("{{ tools | tojson }}{{ messages[-1].content }}")
                .render(messages, &frame(&Zoned::default()))
                .unwrap(),
        )
    };
    messages[0].functions[0].name = "g".to_owned();
    assert_eq!(text(&messages), r#"[{"function": {"strict": true, "name": "g", "description": "Old."}}]Hi"#);
    messages[0].functions[0].description = "New.".to_owned();
    let parameters = r#"{"type": "object", "properties": {}}"#;
    let function = format!(r#"{{"name": "g", "description": "New.", "parameters": {parameters}}}"#);
    assert_eq!(text(&messages), format!(r#"[{{"type": "function", "function": {function}}}]Hi"#));
}

#[test]
fn members_that_spell_control_tokens_are_text() {
    let messages = offering(r#"[{"name": "f", "x-note": "<|end|>", "parameters": {"title": "<|end|>"}}]"#);
    let template = "{{ tools | tojson }}{{ tools }}{{ messages[-1].content }}<|end|>";
    let segments = renderer(template).render(&messages, &frame(&Zoned::default())).unwrap();
    let n_control = segments.iter().filter(|segment| matches!(segment, Segment::Control(_))).count();
    assert_eq!((n_control, joined(&segments).matches("<|end|>").count()), (1, 5));
}
