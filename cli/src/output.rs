//! Standard output and standard error. Writing never panics: a disk may be full, and a reader may leave.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether standard output could not be written.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);
/// Whether that was because its reader has left.
static IS_UNREAD: AtomicBool = AtomicBool::new(false);

/// Writes text to standard output. Pipes and files get it as it is; a terminal gets it [harmless].
///
/// # Errors
/// It cannot be written. [`is_unread`] says whether there is anyone to tell.
pub(crate) fn print(text: impl Display) -> io::Result<()> {
    let out = io::stdout();
    let text = text.to_string();
    let shown = if out.is_terminal() { harmless(&text) } else { Cow::Borrowed(&*text) };
    write(out, shown.as_bytes())
}

/// Writes bytes to standard output.
///
/// # Errors
/// As [`print()`].
pub(crate) fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    write(io::stdout(), bytes)
}

/// Writes text and a line feed to standard output, as [`print()`] does.
///
/// # Errors
/// As [`print()`].
pub(crate) fn print_line(line: impl Display) -> io::Result<()> {
    print(format_args!("{line}\n"))
}

/// Writes text with styles to standard output, which terminals with colours show.
///
/// # Errors
/// As [`print()`].
pub(crate) fn print_styled(text: &str) -> io::Result<()> {
    write(anstream::stdout(), text.as_bytes())
}

/// Writes a line for people to standard error. Nothing depends on it, so a line that cannot be written is lost.
pub(crate) fn remark(line: impl Display) {
    let err = io::stderr();
    let line = format!("{line}\n");
    let shown = if err.is_terminal() { harmless(&line) } else { Cow::Borrowed(&*line) };
    let _ = write_all(err, shown.as_bytes());
}

/// Writes a line with styles to standard error, as [`remark`] does.
pub(crate) fn remark_styled(line: impl Display) {
    let _ = write_all(anstream::stderr(), format!("{line}\n").as_bytes());
}

/// Whether standard output could not be written so far.
pub(crate) fn has_failed() -> bool {
    HAS_FAILED.load(Ordering::Relaxed)
}

/// Whether the reader of standard output has left, as `head` does when it has read enough.
pub(crate) fn is_unread() -> bool {
    IS_UNREAD.load(Ordering::Relaxed)
}

/// Text whose control characters are written as escapes, such as `\u{1b}`, apart from tabs and line feeds. A terminal would
/// execute them, and text of models and files is not trusted.
///
/// ```
/// assert_eq!(crate::output::harmless("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\n");
/// ```
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let escaped = |c: char| if is_harmful(c) { c.escape_unicode().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(escaped).collect())
}

fn write(out: impl Write, bytes: &[u8]) -> io::Result<()> {
    write_all(out, bytes).inspect_err(|err| {
        HAS_FAILED.store(true, Ordering::Relaxed);
        IS_UNREAD.store(err.kind() == ErrorKind::BrokenPipe, Ordering::Relaxed);
    })
}

/// Also what is buffered must be written: at the end of a process, nobody would hear of its errors.
fn write_all(mut out: impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(harmless("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\n");
    }
}
