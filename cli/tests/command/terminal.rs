//! `causerie chat` on a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::{causerie, fixture};

/// A person at a terminal.
struct Person {
    terminal: File,
    child: Child,
    /// What the terminal was sent and nobody has waited for yet.
    screen: String,
}

impl Person {
    fn start(command: &mut Command, without_colours: bool) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        tcsetwinsize(&terminal, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let side = || File::options().read(true).write(true).open(&name).unwrap();
        command.stdin(side()).stdout(side()).stderr(side()).env("TERM", "xterm").env_remove("NO_COLOR");
        if without_colours {
            command.env("NO_COLOR", "1");
        }
        let child = command.spawn().unwrap();
        // The command would hold the terminal open after the child's end.
        command
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        Self { terminal: terminal.into(), child, screen: String::new() }
    }

    fn write(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the terminal shows a text, and returns all up to it.
    fn wait_for(&mut self, expect: &str) -> String {
        loop {
            if let Some(at) = self.screen.find(expect) {
                let rest = self.screen.split_off(at + expect.len());
                return std::mem::replace(&mut self.screen, rest);
            }
            assert!(self.read(), "{expect:?} never came: {:?}", self.screen);
        }
    }

    /// Reads what comes next; false at the end.
    fn read(&mut self) -> bool {
        let minute = Timespec { tv_sec: 60, tv_nsec: 0 };
        let mut bytes = [0; 4096];
        let n_ready = poll(&mut [PollFd::new(&self.terminal, PollFlags::IN)], Some(&minute)).unwrap();
        // Reading fails once no process has the other side.
        let n_read = if n_ready == 0 { 0 } else { self.terminal.read(&mut bytes).unwrap_or(0) };
        self.screen += &String::from_utf8_lossy(&bytes[..n_read]);
        0 < n_read
    }

    /// Waits until a command that asks nothing ends; returns all that the terminal was sent.
    fn watch(mut self) -> String {
        while self.read() {}
        assert!(self.child.wait().unwrap().success(), "{:?}", self.screen);
        self.screen
    }

    /// Ends the chat; returns the rest that the terminal was sent.
    fn leave(mut self) -> String {
        self.write("/quit\r");
        self.watch()
    }
}

/// Whether a text sets colours or other styles.
fn has_styles(text: &str) -> bool {
    text.split("\u{1b}[")
        .skip(1)
        .any(|code| code.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
}

#[test]
fn calls_have_colours_and_commands_are_listed() {
    let mut person = Person::start(causerie("coloured").arg("chat"), false);
    assert!(person.wait_for("> ").contains("/help lists commands"));
    person.write("/help\r");
    person.wait_for("/retry");
    person.write("What is 12 times 7?\r");
    let before = person.wait_for("→ calculate(");
    assert!(before.contains("reading") && before.ends_with("\u{1b}[36m→ calculate("), "{before:?}");
    person.wait_for("84");
    person.leave();
}

#[test]
fn a_terminal_without_colours_gets_none() {
    let shown = |without: bool| {
        let mut command = causerie(if without { "colourless" } else { "colours" });
        let mut person = Person::start(command.arg("chat"), without);
        person.wait_for("> ");
        person.write("What is 12 times 7?\r");
        person.wait_for("→ calculate(") + &person.wait_for("84") + &person.leave()
    };
    assert!(has_styles(&shown(false)));
    assert!(!has_styles(&shown(true)));
}

#[test]
fn lines_of_earlier_chats_are_offered() {
    let mut command = causerie("lines");
    command.arg("chat");
    let mut person = Person::start(&mut command, false);
    person.wait_for("> ");
    person.write("What is 12 times 7?\r");
    person.wait_for("84");
    person.leave();
    let mut person = Person::start(&mut command, false);
    person.wait_for("> ");
    // The arrow upwards: /quit, then the question.
    person.write("\u{1b}[A\u{1b}[A\r");
    person.wait_for("12 times 7?");
    person.wait_for("84");
    person.leave();
}

#[test]
fn replies_are_styled_as_markdown() {
    let functions = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../server/src/chat/functions.json");
    let mut command = causerie("markdown");
    command.args(["chat", "--temperature", "0", "--functions"]).arg(functions);
    let mut person = Person::start(&mut command, false);
    person.wait_for("> ");
    person.write("What time is it in Lisbon?\r");
    person.wait_for("JSON or text:");
    person.wait_for("> ");
    person.write("{\"time\": \"**14:05**\", \"city\": \"Lisbon\"}\r");
    person.wait_for("It is ");
    person.wait_for("\u{1b}[1m14:05");
    person.leave();
}

#[test]
fn a_chat_says_what_its_model_is() {
    let mut person = Person::start(causerie("greeting").arg("chat"), true);
    let greeting = person.wait_for("> ");
    let lines: Vec<&str> = greeting.lines().collect();
    assert!(lines[0].starts_with("causerie/demo, ") && lines[0].contains("million parameters"), "{greeting}");
    assert!(lines[0].contains("no knowledge") && lines[1].contains("`causerie chat --model NAME`"), "{greeting}");
    assert!(lines[2].starts_with("Functions: "), "{greeting}");
    person.leave();

    let mut command = causerie("greeting");
    command.args(["chat", "--context", "100", "--model"]).arg(fixture("models/lfm2-q4_k.gguf"));
    let mut person = Person::start(&mut command, true);
    let greeting = person.wait_for("> ");
    for part in ["lfm2-q4_k.gguf: ", "family lfm2, ", " parameters in Q4_K, 100 tokens of context"] {
        assert!(greeting.contains(part), "{greeting}");
    }
    person.leave();

    let mut command = causerie("greeting");
    let shown = Person::start(command.args(["chat", "What is 12 times 7?"]), true).watch();
    assert!(shown.starts_with("causerie/demo, ") && shown.contains("84"), "{shown}");
}

#[test]
fn a_terminal_shows_control_characters_as_escapes() {
    let messages = std::env::temp_dir().join(format!("causerie-command-controls-{}.json", std::process::id()));
    std::fs::write(&messages, r#"[{"role": "user", "content": "Hi \u001b[31m\u0007\u009b1m!\tthere"}]"#).unwrap();
    let mut command = causerie("controls");
    let shown = Person::start(command.args(["inspect", "prompt", "--messages"]).arg(&messages), false).watch();
    assert!(shown.contains("Hi \\u{1b}[31m\\u{7}\\u{9b}1m!\tthere<"), "{shown:?}");
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    std::fs::remove_file(messages).unwrap();
}
