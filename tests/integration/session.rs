//! Sessions saved and restored.

use std::fs;
use std::path::PathBuf;

use causerie::{
    ChatMessage, Completion, Conversation, ErrorKind, GenerationOptions, MessageResponse, ModelRunner, SdkFunction,
    SessionFault,
};

use crate::{fixture, repository};

fn runner() -> ModelRunner {
    ModelRunner::load(fixture("models/lfm2-f32.gguf")).unwrap()
}

fn ask(conversation: &Conversation, text: &str) -> Completion {
    let options = GenerationOptions { temperature: Some(0.0), max_tokens: Some(20), ..Default::default() };
    match conversation.generate_response(ChatMessage::user(text), options).into_iter().last() {
        Some(Ok(MessageResponse::Complete(completion))) => *completion,
        other => panic!("the reply ends: {other:?}"),
    }
}

/// A temporary session file, removed when it is dropped.
struct SessionFile(PathBuf);

impl SessionFile {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("causerie-{}-{name}.session", std::process::id())))
    }
}

impl Drop for SessionFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn conversation(runner: &ModelRunner) -> Conversation {
    let conversation = runner.create_conversation("Be brief.");
    conversation.register_function(SdkFunction::new("get_time", "The time.", vec![])).unwrap();
    ask(&conversation, "What time is it?");
    conversation
}

fn fault(runner: &ModelRunner, file: &SessionFile) -> ErrorKind {
    runner.restore_session(&file.0).unwrap_err().kind()
}

#[test]
fn a_restored_conversation_continues_and_prefills_only_new_tokens() {
    let file = SessionFile::new("cache");
    let saved = conversation(&runner());
    saved.save_session(&file.0, true).unwrap();
    let fresh = runner();
    let restored = fresh.restore_session(&file.0).unwrap();
    assert_eq!(restored.history(), saved.history());
    let (expect, found) = (ask(&saved, "And now?"), ask(&restored, "And now?"));
    assert_eq!(found.full_message, expect.full_message);
    assert_eq!(found.stats.prompt_tokens, expect.stats.prompt_tokens);
    let system = fresh.prompt_tokens(&restored.history()[..1], false).unwrap().len();
    assert!(system < found.stats.cached_prompt_tokens, "more than the functions must be cached: {:?}", found.stats);
}

/// A file can contain a cache of another text, with a valid checksum.
#[test]
fn a_cache_from_a_file_serves_only_its_own_conversation() {
    let file = SessionFile::new("owner");
    conversation(&runner()).save_session(&file.0, true).unwrap();
    let fresh = runner();
    let restored = fresh.restore_session(&file.0).unwrap();
    let other = fresh.create_conversation_from_history(restored.history());
    let (fork, expect) = (restored.fork(), ask(&restored, "And now?"));
    assert!(0 < expect.stats.cached_prompt_tokens);
    let (own, others) = (ask(&fork, "And now?"), ask(&other, "And now?"));
    assert!(expect.stats.cached_prompt_tokens <= own.stats.cached_prompt_tokens, "{:?}", own.stats);
    assert_eq!((others.stats.cached_prompt_tokens, others.full_message), (0, expect.full_message));
    // A session that is saved again keeps its cache.
    restored.save_session(&file.0, true).unwrap();
    assert!(0 < ask(&runner().restore_session(&file.0).unwrap(), "And then?").stats.cached_prompt_tokens);
}

#[test]
fn without_a_cache_the_history_is_prefilled_again() {
    let file = SessionFile::new("plain");
    let saved = conversation(&runner());
    saved.save_session(&file.0, false).unwrap();
    let found = ask(&runner().restore_session(&file.0).unwrap(), "And now?");
    assert_eq!((found.stats.cached_prompt_tokens, found.full_message), (0, ask(&saved, "And now?").full_message));
}

#[test]
fn a_cache_of_other_weights_is_ignored() {
    let file = SessionFile::new("weights");
    conversation(&runner()).save_session(&file.0, true).unwrap();
    // The same tokenizer and template, other weights.
    let other = ModelRunner::load(fixture("models/lfm2-q4_0.gguf")).unwrap();
    let restored = other.restore_session(&file.0).unwrap();
    assert_eq!(ask(&restored, "And now?").stats.cached_prompt_tokens, 0);
}

#[test]
fn files_that_are_not_sessions_of_this_model_are_refused() {
    let file = SessionFile::new("faults");
    let runner = runner();
    assert_eq!(fault(&runner, &file), ErrorKind::Session(SessionFault::File));
    conversation(&runner).save_session(&file.0, true).unwrap();
    let whole = fs::read(&file.0).unwrap();

    let demo = ModelRunner::load(repository("models/demo.gguf")).unwrap();
    assert_eq!(fault(&demo, &file), ErrorKind::Session(SessionFault::Model));
    for n_bytes in (0..whole.len()).step_by(whole.len() / 50) {
        fs::write(&file.0, &whole[..n_bytes]).unwrap();
        assert_eq!(fault(&runner, &file), ErrorKind::Session(SessionFault::Corrupt), "cut at {n_bytes}");
    }
    for at in (12..whole.len()).step_by(whole.len() / 50) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&file.0, damaged).unwrap();
        assert_eq!(fault(&runner, &file), ErrorKind::Session(SessionFault::Corrupt), "damaged at {at}");
    }
    let mut later = whole;
    later[8] = 9;
    fs::write(&file.0, later).unwrap();
    assert_eq!(fault(&runner, &file), ErrorKind::Session(SessionFault::Version));
    let nowhere = std::path::Path::new("/nowhere/at/all.session");
    let err = conversation(&runner).save_session(nowhere, false).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Session(SessionFault::File));
}
