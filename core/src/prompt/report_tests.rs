//! Histories and templates that people reported on other engines, with the prompts that they must give
//! (`tests/fixtures/templates/reports.jsonl`).

use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use super::tests::frame;
use super::*;
use crate::history::messages_from_json;
use crate::message::Role;
use crate::schema::functions_from_json;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// The prompt of a row without the beginning of the next reply, or the errors in words.
fn prompt(row: &Json, continue_final_message: bool) -> Result<String, String> {
    let source = match &row["template_file"] {
        Json::String(file) => read(file),
        _ => row["template"].as_str().unwrap().to_owned(),
    };
    let mut messages = messages_from_json(&row["messages"].to_string()).unwrap();
    if row["tools"].is_array() {
        let functions = functions_from_json(&row["tools"].to_string()).unwrap();
        if messages[0].role != Role::System {
            messages.insert(0, ChatMessage::with_functions(Vec::new()));
        }
        messages[0].functions = functions;
    }
    let renderer = PromptRenderer::new(&source, ControlTokens::new(&["<|end|>"]).unwrap(), "<s>", "</s>", false)
        .map_err(|err| err.to_string())?;
    assert!(!row["tools"].is_array() || renderer.offers_functions(), "{row}");
    let now = Zoned::default();
    let frame = Frame { add_generation_prompt: !continue_final_message, continue_final_message, ..frame(&now) };
    renderer.render(&messages, &frame).map(|prompt| joined(&prompt)).map_err(|err| err.to_string())
}

fn strings(value: &Json) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Json::as_str)
}

#[test]
fn reported_histories_and_templates_give_the_right_prompts() {
    let rows = read("tests/fixtures/templates/reports.jsonl");
    let mut wrong = Vec::new();
    for row in rows.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()) {
        let found = prompt(&row, false);
        let is_right = match (&found, row["expected_error"].as_str()) {
            (Ok(text), None) => {
                let (mut any, mut all) = (strings(&row["expected_any"]).peekable(), strings(&row["expected_contains"]));
                row["expected"].as_str().is_none_or(|expected| text == expected)
                    && (any.peek().is_none() || any.any(|expected| text == expected))
                    && all.all(|expected| text.contains(expected))
            }
            (Err(err), Some(expected)) => err.contains(expected),
            _ => false,
        };
        if !is_right {
            wrong.push(format!("{}: {found:?}", row["id"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The expected prompts come from transformers (`continue_final_message`).
#[test]
fn a_continued_reply_ends_the_prompt_with_its_text() {
    let plain = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<|end|>\n{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";
    let trimming = "{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}<|end|>\n{% endfor %}";
    let parts =
        "{% for m in messages %}[{{ m.role }}]{% for p in m.content %}{{ p.text }}{% endfor %}<|end|>\n{% endfor %}";
    let row = |template: &str, messages: Json| serde_json::json!({ "template": template, "messages": messages });
    let history =
        |text: &str| serde_json::json!([{ "role": "user", "content": "Hi" }, { "role": "assistant", "content": text }]);
    for (template, text, expect) in [
        (plain, "Snow is", "[user]Hi<|end|>\n[assistant]Snow is"),
        (plain, "Snow is ", "[user]Hi<|end|>\n[assistant]Snow is "),
        (plain, "", "[user]Hi<|end|>\n[assistant]"),
        (plain, "<|end|>", "[user]Hi<|end|>\n[assistant]<|end|>"),
        (trimming, "Snow is ", "[user]Hi<|end|>\n[assistant]Snow is"),
        (parts, "Snow is ", "[user]Hi<|end|>\n[assistant]Snow is "),
    ] {
        assert_eq!(prompt(&row(template, history(text)), true).unwrap(), expect);
    }
    let lonely = serde_json::json!([{ "role": "user", "content": "Hi" }]);
    let err = prompt(&row(plain, lonely), true).unwrap_err();
    assert!(
        err.starts_with("messages[0] must be a reply of the assistant to be continued, found the role user"),
        "{err}"
    );
    let hidden = "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}";
    let err = prompt(&row(hidden, history("Snow is")), true).unwrap_err();
    assert!(err.contains("does not print it"), "{err}");
}
