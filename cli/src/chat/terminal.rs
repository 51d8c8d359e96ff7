//! The terminal of the chat: input lines and formatted output.

use std::borrow::Cow;
use std::io::{BufRead, IsTerminal};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use causerie::{PrefillProgress, RejectedCall, SdkFunction, SdkFunctionCall, Value};
use indicatif::ProgressBar;
use jiff::Zoned;
use rustyline::error::ReadlineError;
use rustyline::{DefaultEditor, ExternalPrinter};

use crate::failure::Failure;
use crate::functions::{BuiltInFunctions, ListFile};
use crate::output::{harmless, print, print_styled, remark, remark_styled};

use super::markdown::MarkdownStyler;
use super::progress;

const QUIET: Style = Style::new().dimmed();
const CALL: Style = AnsiColor::Cyan.on_default();
const WARNING: Style = AnsiColor::Yellow.on_default();

/// Timers are read at least this often, since another chat may change them.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Lines that are remembered from earlier chats.
const MAX_LINES: usize = 500;

pub(crate) struct ChatTerminal {
    /// `None` if standard input or output is not a terminal; lines are then read without an editor.
    editor: Option<DefaultEditor>,
    /// The lines that were typed, in this chat and earlier ones.
    lines: ListFile,
    /// Whether a person reads the output, not a program.
    is_terminal: bool,
    /// Styles replies, if the terminal has colours.
    styler: Option<MarkdownStyler>,
    /// What is shown until something of the reply comes.
    progress: Option<ProgressBar>,
    show_calls: bool,
    is_in_line: bool,
}

impl ChatTerminal {
    pub(crate) fn new(show_calls: bool, lines: ListFile) -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let is_interactive = std::io::stdin().is_terminal() && is_terminal;
        let mut editor = if is_interactive { DefaultEditor::new().ok() } else { None };
        if let Some(editor) = &mut editor {
            for line in lines.load::<String>().unwrap_or_default() {
                let _ = editor.add_history_entry(line); // the chat works without earlier lines
            }
        }
        let has_styles = is_terminal && AutoStream::choice(&std::io::stdout()) != ColorChoice::Never;
        let styler = has_styles.then(MarkdownStyler::default);
        Self { editor, lines, is_terminal, styler, progress: None, show_calls, is_in_line: false }
    }

    /// Returns a function that prints above the line being typed.
    pub(crate) fn printer(&mut self) -> Box<dyn FnMut(String) + Send> {
        match self.editor.as_mut().map(|editor| editor.create_external_printer()) {
            Some(Ok(mut printer)) => Box::new(move |text| drop(printer.print(text))),
            _ => Box::new(|text| remark(text.trim_end())),
        }
    }

    /// Whether a person types the lines.
    pub(crate) fn is_interactive(&self) -> bool {
        self.editor.is_some()
    }

    /// Says what a person talks with, and how.
    pub(crate) fn greet(&mut self, model: &[String], functions: &[SdkFunction]) -> Result<(), Failure> {
        let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
        let functions = (!names.is_empty()).then(|| format!("Functions: {}.", names.join(", ")));
        let keys = "Ctrl-C cancels a reply, Ctrl-D ends, /help lists commands.";
        let lines = model.iter().map(String::as_str).chain(functions.as_deref()).chain([keys]);
        let lines: String = lines.map(|line| self.painted(QUIET, line) + "\n").collect();
        self.write(&lines)
    }

    /// Says beside a reply what a person gets it from. Programs are not told.
    pub(crate) fn mention(&self, model: &[String]) {
        if self.is_terminal && std::io::stderr().is_terminal() {
            model.iter().for_each(|line| self.remark(line));
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
                    if let Ok(true) = editor.add_history_entry(&line) {
                        remember(&self.lines, &line);
                    }
                    return Ok(Some(line));
                }
                Err(ReadlineError::Interrupted) => print_styled(&format!("{QUIET}Ctrl-D ends.{QUIET:#}\n"))?,
                Err(ReadlineError::Eof) => return Ok(None),
                Err(err) => return Err(Failure(format!("cannot read from the terminal: {err}"))),
            }
        }
    }

    /// A reply begins, which reads its prompt first.
    pub(crate) fn begin_reply(&mut self, progress: PrefillProgress) {
        self.progress = self.is_terminal.then(|| progress::show(progress));
    }

    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        let text = self.harmless(text);
        match &mut self.styler {
            Some(styler) => {
                let styled = styler.push(&text);
                self.write(&styled)?;
                self.is_in_line = !text.ends_with('\n');
                Ok(())
            }
            None => self.write(&text),
        }
    }

    pub(crate) fn reasoning(&mut self, text: &str) -> Result<(), Failure> {
        self.write(&self.painted(QUIET, text))
    }

    /// Text as a reader of the output wants it: a terminal without the characters that control it, a program as it is.
    fn harmless<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_terminal { harmless(text) } else { Cow::Borrowed(text) }
    }

    fn painted(&self, style: Style, text: &str) -> String {
        let text = self.harmless(text);
        if self.styler.is_some() { format!("{style}{text}{style:#}") } else { text.into_owned() }
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        self.end_progress();
        if self.styler.is_some() {
            print_styled(text)?
        } else {
            print(text)?
        }
        self.is_in_line = !text.ends_with('\n');
        Ok(())
    }

    fn end_progress(&mut self) {
        if let Some(progress) = self.progress.take() {
            progress.finish_and_clear();
        }
    }

    /// Ends the text of a reply, and starts a new line unless the current one is empty.
    pub(crate) fn end_line(&mut self) -> Result<(), Failure> {
        self.end_progress();
        if let Some(styler) = &mut self.styler {
            let (rest, is_in_line) = (styler.finish(), self.is_in_line);
            self.write(&rest)?;
            self.is_in_line = is_in_line;
        }
        if self.is_in_line { self.write("\n") } else { Ok(()) }
    }

    /// Prints a call. `always` prints it even if calls are hidden, because the user must type its result.
    pub(crate) fn call(&mut self, call: &SdkFunctionCall, always: bool) -> Result<(), Failure> {
        if !self.show_calls && !always {
            return Ok(());
        }
        let arguments: Vec<String> = call.arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let call = format!("→ {}({})", call.name, arguments.join(", "));
        self.write(&format!("{}\n", self.painted(CALL, &call)))
    }

    pub(crate) fn result(&mut self, result: &str) -> Result<(), Failure> {
        let result = self.painted(QUIET, &format!("← {result}"));
        if self.show_calls { self.write(&format!("{result}\n")) } else { Ok(()) }
    }

    pub(crate) fn ask_result(&mut self, function: &str) -> Result<String, Failure> {
        let question = self.painted(QUIET, &format!("Result of {function}, one line, JSON or text:"));
        self.write(&format!("{question}\n"))?;
        let line = self.read_line()?.filter(|line| !line.trim().is_empty());
        let none = || Value::Object([("error".to_owned(), Value::from("no result"))].into_iter().collect()).to_string();
        Ok(line.unwrap_or_else(none))
    }

    pub(crate) fn rejected(&mut self, rejected: &[RejectedCall]) -> Result<(), Failure> {
        let shown = if self.show_calls { rejected } else { &[] };
        for call in shown {
            self.write(&format!("{}\n", self.painted(WARNING, &format!("✗ {}", call.message))))?;
        }
        Ok(())
    }

    pub(crate) fn remark(&self, text: &str) {
        remark_styled(format_args!("{QUIET}{}{QUIET:#}", harmless(text)));
    }

    pub(crate) fn warn(&self, text: &str) {
        remark_styled(format_args!("{WARNING}{}{WARNING:#}", harmless(text)));
    }
}

/// Adds a line to those that later chats offer.
fn remember(lines: &ListFile, line: &str) {
    let mut known: Vec<String> = lines.load().unwrap_or_default();
    known.push(line.to_owned());
    let _ = lines.save(&known[known.len().saturating_sub(MAX_LINES)..]); // the chat works without a history
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
