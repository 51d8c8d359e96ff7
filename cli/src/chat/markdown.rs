//! Styles for Markdown that arrives in pieces. Only styles are added: no character is changed, so what the model wrote can
//! be read and copied as it is.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

const PLAIN: Style = Style::new();
const MARKER: Style = Style::new().dimmed();
const HEADING: Style = AnsiColor::Cyan.on_default().bold();
const QUOTE: Style = Style::new().italic().dimmed();
const CODE: Style = AnsiColor::Green.on_default();

/// What a line is, as its first characters show.
#[derive(Clone, Copy, PartialEq)]
enum LineKind {
    Text,
    Heading,
    Quote,
    /// The line before or after a block of code.
    Fence,
    Code,
}

/// Styles text while it is written.
#[derive(Default)]
pub(super) struct MarkdownStyler {
    /// The kind of the current line; `None` until its first characters show it.
    line: Option<LineKind>,
    /// The beginning of a line whose kind is not known yet.
    held: String,
    /// Markers of emphasis whose meaning depends on what follows.
    markers: String,
    is_in_block: bool,
    is_bold: bool,
    is_italic: bool,
    is_code: bool,
    /// The last character of the line.
    last: Option<char>,
    /// The style that the terminal has now.
    shown: Style,
    out: String,
}

impl MarkdownStyler {
    /// The next piece of the text, with styles. A few characters may be held until the next piece.
    pub(super) fn push(&mut self, piece: &str) -> String {
        for character in piece.chars() {
            if self.line.is_some() {
                self.write(character);
                continue;
            }
            self.held.push(character);
            self.line = kind_of(&self.held, self.is_in_block);
            if self.line.is_some() {
                self.release();
            }
        }
        std::mem::take(&mut self.out)
    }

    /// The rest of the text. The terminal has no style afterwards.
    pub(super) fn finish(&mut self) -> String {
        self.line = self.line.or(Some(LineKind::Text));
        self.release();
        self.end_markers(None);
        self.show(PLAIN);
        std::mem::take(self).out
    }

    /// Writes the beginning of a line whose kind is known now.
    fn release(&mut self) {
        for character in std::mem::take(&mut self.held).chars() {
            self.write(character);
        }
    }

    fn write(&mut self, character: char) {
        match (self.line, character) {
            (_, '\n') => self.end_line(),
            (Some(LineKind::Fence), _) => self.add(character, MARKER),
            (Some(LineKind::Code), _) => self.add(character, CODE),
            (_, '`') => {
                self.end_markers(Some('`'));
                self.add('`', CODE);
                self.is_code = !self.is_code;
            }
            _ if self.is_code => self.add(character, CODE),
            (_, '*' | '_') => {
                if !self.markers.ends_with(character) {
                    self.end_markers(Some(character));
                }
                self.markers.push(character);
            }
            _ => {
                self.end_markers(Some(character));
                self.add(character, self.style());
            }
        }
    }

    /// Markers of emphasis have ended, before this character.
    fn end_markers(&mut self, next: Option<char>) {
        let markers = std::mem::take(&mut self.markers);
        let Some(marker) = markers.chars().next() else { return };
        let is_word = |beside: Option<char>| marker == '_' && beside.is_some_and(char::is_alphanumeric);
        let can_begin = next.is_some_and(|next| !next.is_whitespace()) && !is_word(self.last);
        let can_end = self.last.is_some_and(|last| !last.is_whitespace()) && !is_word(next);
        let toggled = |is_on: bool| if is_on { !can_end } else { can_begin };
        let (is_bold, is_italic) = (toggled(self.is_bold), toggled(self.is_italic));
        match markers.len() {
            1 => self.is_italic = is_italic,
            2 => self.is_bold = is_bold,
            3 => (self.is_bold, self.is_italic) = (is_bold, is_italic),
            _ => {}
        }
        let style = if can_begin || can_end { MARKER } else { self.style() };
        for marker in markers.chars() {
            self.add(marker, style);
        }
    }

    fn end_line(&mut self) {
        self.end_markers(None);
        if self.line == Some(LineKind::Fence) {
            self.is_in_block = !self.is_in_block;
        }
        self.show(PLAIN);
        self.out.push('\n');
        (self.line, self.last) = (None, None);
        (self.is_bold, self.is_italic, self.is_code) = (false, false, false);
    }

    /// The style of text here.
    fn style(&self) -> Style {
        let line = match self.line {
            Some(LineKind::Heading) => HEADING,
            Some(LineKind::Quote) => QUOTE,
            _ => PLAIN,
        };
        let line = if self.is_bold { line.bold() } else { line };
        if self.is_italic { line.italic() } else { line }
    }

    fn add(&mut self, character: char, style: Style) {
        self.show(style);
        self.out.push(character);
        self.last = Some(character);
    }

    fn show(&mut self, style: Style) {
        if style != self.shown {
            let _ = write!(self.out, "{:#}{style}", self.shown); // writing to a string does not fail
            self.shown = style;
        }
    }
}

/// What a line is that begins like this; `None` if more characters decide.
fn kind_of(held: &str, is_in_block: bool) -> Option<LineKind> {
    let line = held.trim_start_matches(' ');
    let is_ended = line.ends_with('\n');
    let line = line.trim_end_matches('\n');
    let text = if is_in_block { LineKind::Code } else { LineKind::Text };
    let n_hashes = line.len() - line.trim_start_matches('#').len();
    if line.starts_with("```") {
        return Some(LineKind::Fence);
    } else if "```".starts_with(line) || !is_in_block && n_hashes == line.len() && n_hashes <= 6 {
        return is_ended.then_some(text);
    } else if is_in_block {
        return Some(LineKind::Code);
    }
    match line.as_bytes() {
        [b'>', ..] => Some(LineKind::Quote),
        [b'#', ..] if line[n_hashes..].starts_with(' ') && n_hashes <= 6 => Some(LineKind::Heading),
        _ => Some(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Title\n\nA **bold _both_** and *it*, `code * x`, snake_case_name, 2 * 3, f(*args).\n> quoted\n\
                        - *one*\n  ```python\n  # a comment with `ticks`\n  ```\n#tag ####### seven\n***all***\n``\n``";

    fn styled(pieces: impl IntoIterator<Item = impl AsRef<str>>) -> String {
        let mut styler = MarkdownStyler::default();
        let mut out: String = pieces.into_iter().map(|piece| styler.push(piece.as_ref())).collect();
        out += &styler.finish();
        out
    }

    fn without_styles(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let names = [(HEADING, "heading"), (QUOTE, "quote"), (CODE, "code"), (MARKER, "marker")];
        let mut out = styled([text]);
        for (style, name) in names {
            out = out.replace(&style.render().to_string(), &format!("<{name}>"));
        }
        let (bold, italic) = (Style::new().bold(), Style::new().italic());
        let (bold, italic) = (bold.render().to_string(), italic.render().to_string());
        let out = out.replace(&bold, "<bold>").replace(&italic, "<italic>").replace("\u{1b}[0m", "</>");
        assert_eq!(out, expect);
    }

    #[test]
    fn no_character_is_changed() {
        assert_eq!(without_styles(&styled([TEXT])), TEXT);
    }

    #[test]
    fn styles_do_not_depend_on_pieces() {
        let whole = styled([TEXT]);
        assert_eq!(styled(TEXT.chars().map(String::from)), whole);
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let cut = random.usize(..TEXT.len());
            assert_eq!(styled([&TEXT[..cut], &TEXT[cut..]]), whole, "at {cut}");
        }
    }

    #[test]
    fn headings_quotes_and_blocks_are_lines() {
        check("# A\nb", "<heading># A</>\nb");
        check("#b", "#b");
        check("> a", "<quote>> a</>");
        check("```sh\nls # *\n```\n*", "<marker>```sh</>\n<code>ls # *</>\n<marker>```</>\n*");
    }

    #[test]
    fn emphasis_and_code_are_styled_within_a_line() {
        check("a **b** c", "a <marker>**</><bold>b</><marker>**</> c");
        check("*b*", "<marker>*</><italic>b</><marker>*</>");
        check("`a*b`", "<code>`a*b`</>");
        check("2 * 3\nx", "2 * 3\nx");
        check("a_b_c", "a_b_c");
        check("**a\nb", "<marker>**</><bold>a</>\nb");
    }
}
