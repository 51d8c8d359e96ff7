//! Sessions of processes that are killed while they save.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use causerie::{ChatMessage, GenerationOptions, ModelRunner};

use crate::fixture;

/// The variable that makes this program one that saves: the path of the session.
const SAVER: &str = "CAUSERIE_TEST_SAVES";

fn runner() -> ModelRunner {
    ModelRunner::load(fixture("models/lfm2-q4_0.gguf")).unwrap()
}

/// Saves a session, with the model's state, whose first message is this number.
fn save(runner: &ModelRunner, number: u32, path: &Path) {
    let conversation = runner.create_conversation_from_history(Vec::new());
    let options = GenerationOptions { temperature: Some(0.0), max_tokens: Some(2), ..Default::default() };
    let reply = conversation.generate_response(ChatMessage::user(number.to_string()), options);
    assert!(reply.into_iter().last().unwrap().is_ok());
    conversation.save_session(path, true).unwrap();
}

/// The number of the session, which must be whole.
#[track_caller]
fn saved(runner: &ModelRunner, path: &Path) -> u32 {
    let history = runner.restore_session(path).unwrap().history();
    assert_eq!(history.len(), 2, "a question and its reply");
    history[0].text().parse().unwrap()
}

/// Not a test, unless another test runs this program to have a process that it can kill.
#[test]
fn process_that_saves() {
    let Ok(path) = std::env::var(SAVER) else { return };
    let (runner, path) = (runner(), Path::new(&path));
    for number in saved(&runner, path) + 1.. {
        save(&runner, number, path);
    }
}

#[test]
fn a_process_that_is_killed_leaves_a_whole_session() {
    let folder = std::env::temp_dir().join(format!("causerie-{}-killed", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (runner, path) = (runner(), folder.join("a.session"));
    save(&runner, 0, &path);
    let (mut last, mut polls, mut n_parts) = (0, 7_u64, 0);
    for round in 0..200 {
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "killed::process_that_saves"]).env(SAVER, &path);
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Most are killed some time after they saved for the first time, a few before.
        polls = polls.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut n_left = polls >> 60;
        while 0 < n_left && process.try_wait().unwrap().is_none() {
            thread::park_timeout(Duration::from_millis(1));
            let has_saved = fs::metadata(&path).unwrap().modified().unwrap() != before;
            n_left -= u64::from(has_saved || round % 8 == 0);
        }
        process.kill().unwrap();
        assert!(!process.wait().unwrap().success(), "the process saves until it is killed");
        n_parts += fs::read_dir(&folder).unwrap().count() - 1;
        let number = saved(&runner, &path);
        assert!(last <= number, "a session that was saved is never lost");
        last = number;
    }
    assert!(100 < last && 0 < n_parts, "some were killed in the middle: {last} saved, {n_parts} parts");
    save(&runner, last + 1, &path);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "the next save removes what killed ones left");
    fs::remove_dir_all(&folder).unwrap();
}
