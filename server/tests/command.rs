//! The command as a person runs it: what is typed, what is printed, how it ends.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A command with a data folder of its own.
fn causerie(test: &str) -> Command {
    let folder = std::env::temp_dir().join(format!("causerie-command-{test}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let mut command = Command::new(env!("CARGO_BIN_EXE_causerie"));
    command.env("CAUSERIE_HOME", folder).env("HF_HOME", "/nowhere").stdin(Stdio::null());
    command
}

fn fixture(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures").join(path)
}

/// Runs with lines typed into it.
fn typed(command: &mut Command, lines: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
fn check_failure(command: &mut Command, code: i32, expect: &str) {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code));
    assert!(text(&output.stderr).contains(expect), "{}", text(&output.stderr));
}

#[test]
fn a_request_leads_to_a_call_its_result_and_an_answer() {
    let output = causerie("timer").args(["chat", "Set a timer for 12 minutes for the pasta"]).output().unwrap();
    let printed = text(&output.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[0], r#"→ set_timer(duration=12, unit="minutes", label="pasta")"#);
    assert!(lines[1].starts_with(r#"← {"timer": "pasta", "duration": "12 minutes", "rings_at": ""#), "{}", lines[1]);
    assert!(lines[2].contains("pasta"), "{printed}");
    assert!(output.status.success());
}

#[test]
fn a_conversation_goes_on_over_several_lines() {
    let output = typed(causerie("notes").arg("chat"), "Note: buy milk\n\nWhat are my notes?\n");
    let printed = text(&output.stdout);
    assert!(printed.contains(r#"→ add_note(text="buy milk")"#), "{printed}");
    assert!(printed.contains(r#"← {"notes": ["buy milk"]}"#), "{printed}");
    assert!(output.status.success());
}

#[test]
fn calls_can_be_hidden() {
    let output = causerie("hidden").args(["chat", "--show-calls", "false", "What is 12 times 7?"]).output().unwrap();
    let printed = text(&output.stdout);
    assert!(!printed.contains('→') && !printed.contains('←'), "{printed}");
    assert!(printed.contains("84"), "{printed}");
}

#[test]
fn results_of_other_functions_are_asked_for() {
    let functions = std::env::temp_dir().join(format!("causerie-command-tools-{}.json", std::process::id()));
    std::fs::write(&functions, r#"[{"name": "get_weather", "description": "Weather in a city.", "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "Name of the city."}}, "required": ["city"]}}]"#).unwrap();
    let mut command = causerie("tools");
    command.args(["chat", "What is the weather in Lisbon?", "--functions"]).arg(functions);
    let output = typed(&mut command, "{\"weather\": \"sunny\"}\n");
    let printed = text(&output.stdout);
    assert!(printed.contains("→ get_weather("), "{printed}");
    assert!(printed.contains("Result of get_weather"), "{printed}");
    assert!(output.status.success());
}

#[test]
fn generate_continues_a_prompt_and_repeats_with_a_seed() {
    let run = || {
        let mut command = causerie("generate");
        command.arg("generate").arg("--model").arg(fixture("models/lfm2-q4_k.gguf"));
        command.args(["--prompt", "Once", "--raw", "--max-tokens", "12", "--seed", "7", "--verbose"]).output().unwrap()
    };
    let (first, second) = (run(), run());
    assert!(first.status.success(), "{}", text(&first.stderr));
    assert_eq!(first.stdout, second.stdout);
    assert!(text(&first.stderr).contains("seed 7"), "{}", text(&first.stderr));
}

#[test]
fn a_folder_of_hugging_face_is_a_model() {
    let mut command = causerie("folder");
    command.arg("generate").arg("--model").arg(fixture("models/lfm2-hf-sharded")).args([
        "--prompt",
        "a",
        "--max-tokens",
        "3",
    ]);
    assert!(command.output().unwrap().status.success());
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let generate = |model: &str| {
        let mut command = causerie("wrong");
        command.args(["generate", "--prompt", "a", "--model", model]);
        command
    };
    check_failure(&mut generate("none.gguf"), 1, "causerie: no model at none.gguf\n");
    check_failure(&mut generate("org/model"), 1, "is neither a path nor in the local cache");
    let readme = fixture("calls/README.md");
    check_failure(&mut generate(readme.to_str().unwrap()), 1, "no GGUF file");
    check_failure(generate("none.gguf").args(["--temperature", "-1"]), 1, "temperature is -1, expected 0 or more");
    check_failure(causerie("wrong").args(["chat", "--functions", "none.json", "a"]), 1, "cannot read none.json");
    check_failure(causerie("wrong").args(["generate", "--prompt", "a"]), 2, "--model");
    check_failure(&mut causerie("wrong"), 2, "Usage");
}

#[cfg(unix)]
#[test]
fn ctrl_c_cancels_a_reply() {
    let mut command = causerie("interrupt");
    command.arg("generate").arg("--model").arg(fixture("models/lfm2-f32.gguf")).args([
        "--prompt",
        "a",
        "--temperature",
        "0",
    ]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0]).unwrap();
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let mut rest = Vec::new();
    out.read_to_end(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
