//! The terminal of the chat: input lines and formatted output.

use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anstream::{eprintln, println};
use anstyle::{AnsiColor, Style};
use causerie::{RejectedCall, SdkFunction, SdkFunctionCall, Value};
use jiff::Zoned;
use rustyline::error::ReadlineError;
use rustyline::{DefaultEditor, ExternalPrinter};

use crate::failure::Failure;
use crate::functions::BuiltInFunctions;

const QUIET: Style = Style::new().dimmed();
const CALL: Style = AnsiColor::Cyan.on_default();
const WARNING: Style = AnsiColor::Yellow.on_default();

/// Timers are read at least this often, since another chat may change them.
const MAX_WAIT: Duration = Duration::from_secs(5);

pub(crate) struct ChatTerminal {
    /// `None` if standard input or output is not a terminal; lines are then read without an editor.
    editor: Option<DefaultEditor>,
    show_calls: bool,
    is_in_line: bool,
}

impl ChatTerminal {
    pub(crate) fn new(show_calls: bool) -> Self {
        let is_interactive = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let editor = if is_interactive { DefaultEditor::new().ok() } else { None };
        Self { editor, show_calls, is_in_line: false }
    }

    /// Returns a function that prints above the line being typed.
    pub(crate) fn printer(&mut self) -> Box<dyn FnMut(String) + Send> {
        match self.editor.as_mut().map(|editor| editor.create_external_printer()) {
            Some(Ok(mut printer)) => Box::new(move |text| drop(printer.print(text))),
            _ => Box::new(|text| eprintln!("{}", text.trim_end())),
        }
    }

    pub(crate) fn greet(&self, functions: &[SdkFunction]) {
        if self.editor.is_some() {
            let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
            println!("{QUIET}Functions: {}.\nCtrl-C cancels a reply, Ctrl-D ends.{QUIET:#}", names.join(", "));
        }
    }

    /// Reads a line; `None` at the end of input.
    pub(crate) fn read_line(&mut self) -> Result<Option<String>, Failure> {
        let Some(editor) = &mut self.editor else {
            let mut line = String::new();
            let n_read = std::io::stdin().lock().read_line(&mut line)?;
            return Ok((0 < n_read).then_some(line.trim_end_matches(['\r', '\n']).to_owned()));
        };
        loop {
            match editor.readline("> ") {
                Ok(line) => {
                    let _ = editor.add_history_entry(&line); // without a history entry, the line is still answered
                    return Ok(Some(line));
                }
                Err(ReadlineError::Interrupted) => println!("{QUIET}Ctrl-D ends.{QUIET:#}"),
                Err(ReadlineError::Eof) => return Ok(None),
                Err(err) => return Err(Failure(format!("cannot read from the terminal: {err}"))),
            }
        }
    }

    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.write(text)
    }

    pub(crate) fn reasoning(&mut self, text: &str) -> Result<(), Failure> {
        self.write(&format!("{QUIET}{text}{QUIET:#}"))
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        let mut out = anstream::stdout();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        self.is_in_line = !text.ends_with('\n');
        Ok(())
    }

    /// Starts a new line unless the current one is empty.
    pub(crate) fn end_line(&mut self) -> Result<(), Failure> {
        if self.is_in_line { self.write("\n") } else { Ok(()) }
    }

    /// Prints a call. `always` prints it even if calls are hidden, because the user must type its result.
    pub(crate) fn call(&mut self, call: &SdkFunctionCall, always: bool) -> Result<(), Failure> {
        if !self.show_calls && !always {
            return Ok(());
        }
        let arguments: Vec<String> = call.arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
        self.write(&format!("{CALL}→ {}({}){CALL:#}\n", call.name, arguments.join(", ")))
    }

    pub(crate) fn result(&mut self, result: &str) -> Result<(), Failure> {
        if self.show_calls { self.write(&format!("{QUIET}← {result}{QUIET:#}\n")) } else { Ok(()) }
    }

    pub(crate) fn ask_result(&mut self, function: &str) -> Result<String, Failure> {
        self.write(&format!("{QUIET}Result of {function}, one line, JSON or text:{QUIET:#}\n"))?;
        let line = self.read_line()?.filter(|line| !line.trim().is_empty());
        let none = || Value::Object([("error".to_owned(), Value::from("no result"))].into_iter().collect()).to_string();
        Ok(line.unwrap_or_else(none))
    }

    pub(crate) fn rejected(&mut self, rejected: &[RejectedCall]) -> Result<(), Failure> {
        let shown = if self.show_calls { rejected } else { &[] };
        for call in shown {
            self.write(&format!("{WARNING}✗ {}{WARNING:#}\n", call.message))?;
        }
        Ok(())
    }

    pub(crate) fn remark(&self, text: &str) {
        eprintln!("{QUIET}{text}{QUIET:#}");
    }

    pub(crate) fn warn(&self, text: &str) {
        eprintln!("{WARNING}{text}{WARNING:#}");
    }
}

/// Starts a thread that prints a line whenever a timer rings, until the command ends.
pub(crate) fn ring(functions: Arc<BuiltInFunctions>, mut print: Box<dyn FnMut(String) + Send>) {
    thread::spawn(move || {
        loop {
            let now = Zoned::now();
            for timer in functions.timers().take_due(&now).unwrap_or_default() {
                print(format!("\u{7}⏰ {}: time is up.\n", timer.name()));
            }
            let wait = functions.timers().until_next(&now).unwrap_or(MAX_WAIT);
            thread::sleep(wait.min(MAX_WAIT).max(Duration::from_millis(50)));
        }
    });
}
