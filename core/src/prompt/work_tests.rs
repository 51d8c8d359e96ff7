//! The limits of what templates may take: known templates stay far below them, hostile ones do not get past them.

use std::fs;
use std::path::{Path, PathBuf};

use super::tests::{frame, test_control};
use super::*;

fn templates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/templates")
}

/// Known templates by their names.
fn known() -> Vec<(String, String)> {
    let files = fs::read_dir(templates()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|extension| extension == "jinja"));
    files.map(|file| (file.display().to_string(), fs::read_to_string(file).unwrap())).collect()
}

fn load(source: &str, fuel: &Fuel) -> Result<PromptRenderer> {
    let special = [("bos_token", "<s>"), ("eos_token", "</s>")].into_iter().collect();
    PromptRenderer::with_tokens(source, test_control(), special, fuel)
}

#[test]
fn known_templates_load_with_a_fifth_of_the_limit() {
    assert!(20 < known().len());
    for (name, source) in known() {
        let fuel = Fuel::new(LOAD_FUEL);
        load(&source, &fuel).unwrap();
        assert!((LOAD_FUEL - fuel.left()) * 5 <= LOAD_FUEL, "{name}: {} left", fuel.left());
    }
}

/// A tenth of 4,000 messages and 4 MB: the work grows with the conversation.
#[test]
fn known_templates_render_long_conversations_with_a_fifth_of_the_limit() {
    let text = "Snow fell on the hills, and nobody was there to see it. ".repeat(18)[..1000].to_owned();
    let message = |i: usize| match i % 2 {
        0 => ChatMessage::user(text.as_str()),
        _ => ChatMessage::assistant(text.as_str()),
    };
    let messages: Vec<ChatMessage> = (0..400).map(message).collect();
    for (name, source) in known() {
        let renderer = load(&source, &Fuel::new(LOAD_FUEL)).unwrap();
        let fuel = Fuel::new(PROMPT_FUEL);
        let now = Zoned::default();
        renderer.render_fitting(&messages, &frame(&now), &fuel).unwrap();
        let used = PROMPT_FUEL - fuel.left();
        assert!(used * 10 * 5 <= PROMPT_FUEL, "{name}: {used} used");
    }
}

/// Rows that print messages could be the template of a model; the crate tests all rows.
#[test]
fn hostile_templates_fail_to_load() {
    let rows = fs::read_to_string(templates().join("hostile.jsonl")).unwrap();
    let rows = rows.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
    let sources: Vec<String> = rows.map(|row| row["template"].as_str().unwrap().to_owned()).collect();
    let sources: Vec<&String> = sources.iter().filter(|source| source.contains("messages")).collect();
    assert!(3 <= sources.len());
    for source in sources {
        let err = load(source, &Fuel::new(LOAD_FUEL)).err().map(|err| (err.kind(), err.to_string()));
        let is_expected = err.as_ref().is_some_and(|(kind, message)| {
            *kind == ErrorKind::ModelLoad && message.starts_with("the chat template must take less work")
        });
        assert!(is_expected, "{source}: {err:?}");
    }
}

/// One that is harmless until a conversation has a certain message.
#[test]
fn a_prompt_that_takes_too_much_work_is_an_error() {
    let source = "{% for m in messages %}{{ m.content }}{% if m.content == 'go' %}\
                  {% for i in range(99999) %}{% for j in range(99) %}{% endfor %}{% endfor %}{% endif %}{% endfor %}";
    let renderer = load(source, &Fuel::new(LOAD_FUEL)).unwrap();
    let err = renderer.render(&[ChatMessage::user("go")], &frame(&Zoned::default())).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidMessage);
    assert!(err.to_string().contains("it takes too much work (in chat_template:1)"), "{err}");
}
