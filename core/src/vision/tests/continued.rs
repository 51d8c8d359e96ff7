//! Pictures in histories that are saved and continued, in results of functions, and in files that ask for something else.

use std::fs;

use super::*;
use crate::conversation::Conversation;
use crate::history::{messages_from_json, messages_to_json};

const FOLDERS: [&str; 4] = ["gemma4-media-hf", "gemma4-large-hf", "qwen35vl-hf", "gemma3vl-hf"];

/// The record of a folder with a picture in a later question.
fn last_record(name: &str) -> Json {
    golden().into_iter().filter(|record| record["model"] == name).nth(2).unwrap()
}

#[test]
fn a_history_with_pictures_is_written_read_saved_and_continued() {
    for name in FOLDERS {
        let history = messages(&last_record(name));
        assert_eq!(messages_from_json(&messages_to_json(&history)).unwrap(), history);
        let runner = load(name);
        let conversation = runner.create_conversation_from_history(history.clone());
        let expect = reply(&conversation).1;
        let file = std::env::temp_dir().join(format!("causerie-vision-{name}-{}.session", std::process::id()));
        // With the model's state, which has read all pictures; the next question follows them.
        conversation.save_session(&file, true).unwrap();
        let resumed = load(name).restore_session(&file).unwrap();
        let fork = resumed.fork();
        fs::remove_file(&file).unwrap();
        let next = |conversation: &Conversation| {
            let events = conversation.generate_response(ChatMessage::user("And then?"), options());
            let mut found = Vec::new();
            for event in events {
                match event.unwrap() {
                    MessageResponse::Logprobs(logprobs) => {
                        found.extend(logprobs.iter().map(|logprob| (logprob.token.id, logprob.token.logprob)));
                    }
                    MessageResponse::Complete(completion) => return (found, completion.stats.cached_prompt_tokens),
                    _ => {}
                }
            }
            panic!("the reply ends");
        };
        let (of_conversation, n_cached) = next(&conversation);
        assert!(0 < n_cached, "{name}");
        for saved in [&resumed, &fork] {
            let (found, n_cached) = next(saved);
            assert!(found == of_conversation && 0 < n_cached, "{name}");
        }
        // The same history from its beginning gives the same bits.
        let fresh = load(name).create_conversation_from_history(history);
        assert_eq!(reply(&fresh).1, expect, "{name}");
        assert_eq!(next(&fresh).0, of_conversation, "{name}");
    }
}

#[test]
fn results_of_functions_may_have_pictures() {
    for (name, n_rows) in [("gemma4-media-hf", 64 + 2), ("qwen35vl-hf", 2 + 2), ("gemma3vl-hf", 144 + 2)] {
        let runner = load(name);
        let [call, result] = messages_from_json(
            r#"[{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "look", "arguments": {}}}]},
                {"role": "tool", "tool_call_id": "a", "content": "ok"}]"#,
        )
        .unwrap()
        .try_into()
        .unwrap();
        let mut seen = result.clone();
        let side = |n: usize| if name == "qwen35vl-hf" { n } else { 384 };
        seen.content.push(ChatMessageContent::Image(png(&picture(side(64), side(32), 0))));
        let n_tokens = |result: ChatMessage| {
            let history = vec![ChatMessage::user("Look."), call.clone(), result];
            let conversation = runner.create_conversation_from_history(history);
            (conversation.plan_context(&options()).unwrap().tokens_before, reply(&conversation).0.stats.prompt_tokens)
        };
        let ((with, computed), (without, _)) = (n_tokens(seen), n_tokens(result));
        assert_eq!(with, computed, "{name}");
        // White space around an image of Gemma 3 is tokens, too.
        assert!((n_rows..=n_rows + 4).contains(&(with - without)), "{name}: {with} and {without}");
    }
}

/// The reason why a folder with changed files takes no pictures.
fn refusal(name: &str, file: &str, change: impl Fn(&str) -> String) -> String {
    let folder = std::env::temp_dir().join(format!("causerie-other-tower-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for entry in fs::read_dir(models().join(name)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    let whole = fs::read_to_string(folder.join(file)).unwrap();
    let changed = change(&whole);
    assert_ne!(changed, whole);
    fs::write(folder.join(file), changed).unwrap();
    let runner = ModelRunner::load(folder.to_str().unwrap()).unwrap();
    let refused = runner.create_conversation_from_history(messages(&last_record(name))).continue_response(options());
    let err = refused.into_iter().last().unwrap().unwrap_err();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(err.kind(), ErrorKind::UnsupportedContent);
    err.message().to_owned()
}

#[test]
fn settings_that_would_be_computed_in_another_way_are_refused_by_name() {
    let config = "config.json";
    for (name, file, setting, other) in [
        ("qwen35vl-hf", config, "\"deepstack_visual_indexes\": []", "\"deepstack_visual_indexes\": [1]"),
        ("gemma3vl-hf", "preprocessor_config.json", "\"do_pan_and_scan\": null", "\"do_pan_and_scan\": true"),
        ("gemma3vl-hf", config, "\"mm_tokens_per_image\": 144", "\"mm_tokens_per_image\": 120"),
        ("gemma3vl-hf", config, "\"hidden_act\": \"gelu_pytorch_tanh\"", "\"hidden_act\": \"relu\""),
    ] {
        let message = refusal(name, file, |whole| whole.replace(setting, other));
        let key = setting.split('"').nth(1).unwrap();
        let named = if key == "hidden_act" { "the activation of images" } else { key };
        assert!(message.contains(named), "{message}");
    }
}
