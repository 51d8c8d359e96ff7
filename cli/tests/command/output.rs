//! Output that cannot be written, and bytes that stay what they are.

#![cfg(unix)]

use std::fs::{self, File};
use std::io::{Write, pipe};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::{causerie, fixture, text};

/// A folder with files for the commands.
struct Files(PathBuf);

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Files {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("causerie-command-output-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("messages.json"), r#"[{"role": "user", "content": "Hi \u001b[31m\u0007\u0085!"}]"#)
            .unwrap();
        fs::write(folder.join("tools.json"), r#"[{"name": "f", "description": "Does."}]"#).unwrap();
        let files = Self(folder);
        assert!(files.command(&["keys", "create", "--org", "acme"]).output().unwrap().status.success());
        files
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// A command whose words may begin with `FILES/` or `FIXTURES/`.
    fn command(&self, words: &[&str]) -> Command {
        let word = |word: &&str| match (word.strip_prefix("FILES/"), word.strip_prefix("FIXTURES/")) {
            (Some(name), _) => self.path(name),
            (_, Some(name)) => fixture(name).to_str().unwrap().to_owned(),
            _ => (*word).to_owned(),
        };
        let mut command = causerie("output");
        command.env("CAUSERIE_HOME", self.0.join("home")).args(words.iter().map(word));
        command
    }

    fn run(&self, words: &[&str], lines: &str, stdout: impl Into<Stdio>, stderr: impl Into<Stdio>) -> Output {
        let mut command = self.command(words);
        let mut child = command.stdin(Stdio::piped()).stdout(stdout).stderr(stderr).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(lines.as_bytes()); // it may have ended before
        child.wait_with_output().unwrap()
    }
}

const CALL: &str = "{\"text\": \"[f()]\"}\n";

/// Commands that print, with the lines of their standard input.
fn commands() -> Vec<(Vec<&'static str>, &'static str)> {
    let lines = [
        ("--help", ""),
        ("--version", ""),
        ("bundle list --help", ""),
        ("bundle list FIXTURES/bundles/lfm2.bundle", ""),
        ("bundle list --json FIXTURES/bundles/lfm2.bundle", ""),
        ("bundle verify FIXTURES/bundles/lfm2.bundle", ""),
        ("bundle make FIXTURES/models/lfm2-q4_0.gguf --output FILES/new.bundle", ""),
        ("keys list", ""),
        ("keys create --org other", ""),
        ("inspect model FIXTURES/models/lfm2-q4_0.gguf", ""),
        ("inspect model --json FIXTURES/models/lfm2-q4_0.gguf", ""),
        ("inspect tokens", "Hello!"),
        ("inspect tokens --json", "Hello!"),
        ("inspect prompt --messages FILES/messages.json", ""),
        ("inspect prompt --json --messages FILES/messages.json", ""),
        ("inspect schema --functions FILES/tools.json", ""),
        ("inspect schema --json --functions FILES/tools.json", ""),
        ("inspect grammar --functions FILES/tools.json", ""),
        ("inspect constrain --functions FILES/tools.json", CALL),
        ("inspect calls --format python", CALL),
        ("generate --model FIXTURES/models/lfm2-q4_k.gguf --raw --prompt a --max-tokens 4", ""),
        ("transcribe --model FIXTURES/models/whisper FIXTURES/sounds/mp3.mp3", ""),
        (
            "transcribe --model FIXTURES/models/whisper --format vtt FIXTURES/sounds/alaw.wav FIXTURES/sounds/opus.ogg",
            "",
        ),
        ("chat Hello!", ""),
        ("chat", "Hello!\nHello!\n"),
        ("models sweep", ""),
        ("quantize FIXTURES/models/lfm2-f32.gguf --type q8_0 --output FILES/new.gguf", ""),
        ("bench -p 8 -n 2 -t 1 --repeats 1 --model FIXTURES/models/lfm2-q4_0.gguf", ""),
        ("bench -p 8 -n 2 -t 1 --repeats 1 --json --model FIXTURES/models/lfm2-q4_0.gguf", ""),
        (
            "deploy --app-name app --auth public --image registry.example/app:1 --memory 2Gi --dry-run --out FILES/deployed",
            "",
        ),
    ];
    lines.into_iter().map(|(line, input)| (line.split(' ').collect(), input)).collect()
}

#[test]
fn output_that_cannot_be_written_is_one_line_and_an_error() {
    let files = Files::new("full");
    for (words, lines) in commands() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = files.run(&words, lines, full, Stdio::piped());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        let causes = said.lines().filter(|line| line.contains("No space left on device")).count();
        assert!(causes == 1 && said.ends_with('\n') && !said.contains("panicked"), "{words:?}: {said}");
        assert!(said.lines().last().unwrap().starts_with("causerie: "), "{words:?}: {said}");
        let _ = (fs::remove_file(files.path("new.bundle")), fs::remove_file(files.path("new.gguf")));
    }
    // Nobody has seen the key of the other organisation.
    let listed = files.command(&["keys", "list"]).output().unwrap();
    assert!(text(&listed.stdout).contains("acme") && !text(&listed.stdout).contains("other"));
}

#[test]
fn a_reader_that_leaves_ends_a_command_quietly() {
    let files = Files::new("closed");
    for (words, lines) in commands() {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let output = files.run(&words, lines, writer, Stdio::piped());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {said}");
        assert!(!said.contains("panicked") && !said.contains("Broken pipe"), "{words:?}: {said}");
        let _ = (fs::remove_file(files.path("new.bundle")), fs::remove_file(files.path("new.gguf")));
    }
}

#[test]
fn remarks_that_cannot_be_written_change_nothing() {
    let files = Files::new("silent");
    for words in [
        &["keys", "create", "--org", "third"][..],
        &["models", "list"],
        &["chat", "--show-calls", "false", "Hello!"],
        &[
            "deploy",
            "--app-name",
            "app",
            "--auth",
            "public",
            "--image",
            "app:1",
            "--memory",
            "2Gi",
            "--dry-run",
            "--out",
            "FILES/deployed",
        ],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        assert_eq!(files.run(words, "", Stdio::piped(), full).status.code(), Some(0), "{words:?}");
    }
    for (words, code) in [(&["generate", "--model", "none.gguf", "--prompt", "a"][..], 1), (&["nonsense"], 2)] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        assert_eq!(files.run(words, "", Stdio::piped(), full).status.code(), Some(code), "{words:?}");
    }
}

#[test]
fn programs_get_the_bytes_that_the_model_gets() {
    let files = Files::new("bytes");
    let output = files.command(&["inspect", "prompt", "--messages", "FILES/messages.json"]).output().unwrap();
    assert!(text(&output.stdout).contains("user\nHi \u{1b}[31m\u{7}\u{85}!<"), "{output:?}");
    let path = Path::new(&files.path("copy")).to_owned();
    let file = File::create(&path).unwrap();
    files.run(&["inspect", "prompt", "--messages", "FILES/messages.json"], "", file, Stdio::piped());
    assert_eq!(fs::read(path).unwrap(), output.stdout, "a file gets what a pipe gets");
    let lines = "{\"text\": \"a\\u001b[0mb\\u0000\\u009b\"}\n";
    let output = files.run(&["inspect", "calls", "--format", "python"], lines, Stdio::piped(), Stdio::piped());
    assert!(text(&output.stdout).contains("\u{9b}"), "{output:?}");
}
