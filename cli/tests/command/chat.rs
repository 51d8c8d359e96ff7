//! `causerie chat` in a pipe: replies on standard output, everything else on standard error, and no styles.

use crate::{causerie, fixture, text, typed};

#[test]
fn commands_of_a_chat_are_run() {
    let file = std::env::temp_dir().join(format!("causerie-command-saved-{}.chat", std::process::id()));
    let lines = format!(
        "/system\n/system You answer in one word.\n/system\n/help\nWhat is 12 times 7?\n/retry\n/save {}\n/quit\nHello!\n",
        file.display()
    );
    let output = typed(causerie("commands").args(["chat", "--system", "You are brief."]), &lines);
    let (printed, remarks) = (text(&output.stdout), text(&output.stderr));
    let answers = printed.lines().filter(|line| !line.starts_with(['→', '←']));
    assert_eq!(answers.filter(|line| line.contains("84")).count(), 2, "{printed}");
    assert!(remarks.starts_with("You are brief.\nYou answer in one word.\n/system "), "{remarks}");
    assert!(remarks.ends_with(&format!("saved a conversation of 1 message to {}\n", file.display())), "{remarks}");
    assert!(!printed.contains('\u{1b}') && !remarks.contains('\u{1b}'), "{printed}{remarks}");
    assert!(output.status.success());

    let lines = format!("/load {}\n/system\n/retry\n", file.display());
    let output = typed(causerie("commands").arg("chat"), &lines);
    let (printed, remarks) = (text(&output.stdout), text(&output.stderr));
    let expect = format!("loaded a conversation of 1 message from {}\nYou answer in one word.\n", file.display());
    assert_eq!(remarks, expect);
    assert!(printed.contains("→ calculate(") && printed.contains("84"), "{printed}");
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_chat_goes_on_after_a_command_that_fails() {
    let output =
        typed(causerie("failing").arg("chat"), "/retry\n/load /nowhere/file\n/quti\n/save\nWhat is 12 times 7?\n");
    let remarks = text(&output.stderr);
    let lines: Vec<&str> = remarks.lines().collect();
    assert_eq!(lines[0], "/retry must follow a message");
    assert!(lines[1].contains("/nowhere/file"), "{remarks}");
    assert_eq!(lines[2..], ["no command /quti; /help lists them", "/save must be followed by a file name"]);
    assert!(text(&output.stdout).contains("84"));
    assert!(output.status.success());
}

#[test]
fn a_recording_alone_is_a_message() {
    let mut command = causerie("heard");
    let output = command.args(["chat", "--audio"]).arg(fixture("sounds/timer.wav")).output().unwrap();
    let printed = text(&output.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[0], r#"→ set_timer(duration=12, unit="minutes")"#, "{printed}");
    assert!(lines[1].starts_with(r#"← {"duration": "12 minutes", "rings_at": ""#), "{printed}");
    assert!(lines[2].contains("12 minutes"), "{printed}");
    assert!(output.status.success());
}
