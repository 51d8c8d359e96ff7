//! The tokens of one tag of a chat template, and the operands, groups and comparisons that they form.

use std::ops::Range;

use crate::strings::string_end;

const KEYWORDS: [&str; 8] = ["in", "not", "and", "or", "if", "else", "is", "elif"];
/// Tokens that end the operand of a comparison: comparisons, and what binds less than they do.
const BOUNDS: [&str; 16] =
    ["==", "!=", "<=", ">=", "<", ">", "in", "not", "and", "or", "if", "else", "elif", "=", ",", ":"];

/// The places of the tokens between a tag's delimiters.
pub(super) fn token_ranges(tag: &str) -> Vec<Range<usize>> {
    let inside = 2..tag.len() - 2;
    let start = inside.start + usize::from(tag[inside.clone()].starts_with(['-', '+']));
    let end = inside.end.max(start) - usize::from(tag[start..inside.end.max(start)].ends_with(['-', '+']));
    let mut tokens = Vec::new();
    let mut at = start;
    while at < end {
        let rest = &tag[at..end];
        let first = rest.chars().next().unwrap_or(' ');
        let length = match first {
            '"' | '\'' => string_end(tag, at).unwrap_or(end).min(end) - at,
            _ if is_word(first) => rest.find(|character| !is_word(character)).unwrap_or(rest.len()),
            _ if ["**", "==", "!=", "<=", ">="].iter().any(|operator| rest.starts_with(operator)) => 2,
            _ => first.len_utf8(),
        };
        if !first.is_whitespace() {
            tokens.push(at..at + length);
        }
        at += length;
    }
    tokens
}

/// The tokens of a tag.
pub(super) struct TagTokens<'a> {
    tokens: Vec<&'a str>,
    is_statement: bool,
}

impl<'a> TagTokens<'a> {
    pub(super) fn new(tag: &'a str, tokens: &[Range<usize>]) -> Self {
        let tokens = tokens.iter().map(|token| &tag[token.clone()]).collect();
        Self { tokens, is_statement: tag.starts_with("{%") }
    }

    /// Refuses what hides values from the guards, or is of no use in chat templates.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        for i in 0..self.len() {
            if self.names_keyword(i) {
                return Err("a name must not be a keyword");
            }
            // `cycle` panics without arguments.
            let is_cycle = self.is_attribute(i) && self.at(i) == "cycle" && self.at(i + 1) == "(";
            if is_cycle && matches!(self.at(i + 2), ")" | "*" | "**") {
                return Err("loop.cycle takes at least one item");
            }
            if self.at(i) == "[" && 0 < i && ends_operand(self.at(i - 1)) && !self.may_have_subscript(i) {
                return Err(
                    "an argument of a test must be in brackets if it has a slice, or a subscript before other operators",
                );
            }
        }
        Ok(())
    }

    /// Whether a keyword is defined or used as a name. The engine allows that.
    fn names_keyword(&self, i: usize) -> bool {
        let gives =
            0 < i && ["set", "for", "with", "as", "import"].contains(&self.at(i - 1)) && !self.is_attribute(i - 1);
        let uses = match self.at(i + 1) {
            "=" | "," | ")" | "." | "|" => true,
            "in" => !matches!(self.at(i), "not" | "is"),
            _ => false,
        };
        KEYWORDS.contains(&self.at(i)) && (gives || uses) && !self.is_test(i) && !self.is_attribute(i)
    }

    /// Whether a subscript or a slice can be guarded. After the name of a test, what begins with a bracket is a list of arguments.
    fn may_have_subscript(&self, i: usize) -> bool {
        let (start, end) = (self.operand_start(i - 1), self.group_end(i));
        let is_argument = 0 < start && self.is_test(start - 1);
        let is_followed = matches!(self.at(end + 1), "[" | "." | "(");
        !is_argument || self.is_cheap_subscript(&(i + 1..end)) || !is_followed && !self.contains(i..end, ":")
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// A token; empty after the last one.
    pub(super) fn at(&self, i: usize) -> &'a str {
        self.tokens.get(i).copied().unwrap_or_default()
    }

    pub(super) fn contains(&self, mut range: Range<usize>, token: &str) -> bool {
        range.any(|i| self.at(i) == token)
    }

    /// The first token of a statement; empty for an expression.
    pub(super) fn statement(&self) -> &'a str {
        if self.is_statement { self.at(0) } else { "" }
    }

    pub(super) fn is_attribute(&self, i: usize) -> bool {
        0 < i && self.at(i - 1) == "."
    }

    /// Whether a token is the name of a test.
    pub(super) fn is_test(&self, i: usize) -> bool {
        0 < i && self.at(i - 1) == "is" || 1 < i && self.at(i - 1) == "not" && self.at(i - 2) == "is"
    }

    /// Whether the range is one literal. Its size is limited by the size of the template.
    pub(super) fn is_literal(&self, range: &Range<usize>) -> bool {
        range.len() == 1
            && self.at(range.start).starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '\''))
    }

    /// Whether a subscript is cheap to find: a literal key, or a small index.
    pub(super) fn is_cheap_subscript(&self, range: &Range<usize>) -> bool {
        self.is_literal(range) && (self.at(range.start).starts_with(['"', '\'']) || self.at(range.start).len() < 4)
    }

    /// The end of the names that a loop or an assignment defines. Parentheses around them are not a tuple value.
    pub(super) fn targets_end(&self) -> usize {
        let separator = match self.statement() {
            "for" => "in",
            "set" => "=",
            _ => return 0,
        };
        let mut depth = 0usize;
        for i in 0..self.len() {
            match self.at(i) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                token if token == separator && depth == 0 => return i,
                _ => {}
            }
        }
        self.len()
    }

    /// The first token of the side of a comparison that ends before `end`.
    pub(super) fn side_start(&self, end: usize) -> usize {
        let mut depth = 0usize;
        for i in (0..end).rev() {
            match self.at(i) {
                ")" | "]" | "}" => depth += 1,
                "(" | "[" | "{" if depth == 0 => return i + 1,
                "(" | "[" | "{" => depth -= 1,
                token if depth == 0 && BOUNDS.contains(&token) && !self.is_attribute(i) => return i + 1,
                _ => {}
            }
        }
        usize::from(self.is_statement).min(end)
    }

    /// The end of the side of a comparison that starts at `start`.
    pub(super) fn side_end(&self, start: usize) -> usize {
        self.first_outside(start, |i| BOUNDS.contains(&self.at(i)) && !self.is_attribute(i))
    }

    /// The first such token from `start` on that is outside brackets, or the bracket that closes what is around `start`.
    fn first_outside(&self, start: usize, is_wanted: impl Fn(usize) -> bool) -> usize {
        let mut depth = 0usize;
        for i in start..self.len() {
            match self.at(i) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" if depth == 0 => return i,
                ")" | "]" | "}" => depth -= 1,
                _ if depth == 0 && is_wanted(i) => return i,
                _ => {}
            }
        }
        self.len()
    }

    /// The end of what a loop goes through, which starts at `start`: its condition, or the word `recursive`.
    pub(super) fn iterable_end(&self, start: usize) -> usize {
        self.first_outside(start, |i| !self.is_attribute(i) && matches!(self.at(i), "if" | "recursive"))
    }

    /// The end of the argument that starts at `start`: the next comma outside brackets, or the bracket that closes the list.
    pub(super) fn argument_end(&self, start: usize) -> usize {
        self.first_outside(start, |i| self.at(i) == ",")
    }

    /// The last token of the operand that starts with token `i`: a literal, a name or a group, with its attributes, filters,
    /// arguments and subscripts.
    pub(super) fn operand_end(&self, mut i: usize) -> usize {
        while matches!(self.at(i), "-" | "+" | "not") {
            i += 1;
        }
        i = self.group_end(i);
        loop {
            i = match self.at(i + 1) {
                "." | "|" if self.at(i + 3) == "(" => self.group_end(i + 3),
                "." | "|" => i + 2,
                "(" | "[" => self.group_end(i + 1),
                _ => return i.min(self.len() - 1),
            };
        }
    }

    /// The last token of the operand that starts with token `i`, and of its exponents.
    pub(super) fn power_end(&self, i: usize) -> usize {
        let mut end = self.operand_end(i);
        while self.at(end + 1) == "**" {
            end = self.operand_end(end + 2);
        }
        end
    }

    /// The first token of the factors that end with token `i`, with their signs.
    pub(super) fn factors_start(&self, i: usize) -> usize {
        let mut start = self.filtered_start(i);
        let mut scanned = start;
        while 0 < scanned {
            let before = scanned - 1;
            let operator_start =
                before - usize::from(0 < before && self.at(before) == "/" && self.at(before - 1) == "/");
            let is_binary = 0 < operator_start && ends_operand(self.at(operator_start - 1));
            scanned = match self.at(before) {
                "-" | "+" if !is_binary => before,
                "*" | "/" | "%" | "**" if is_binary => self.filtered_start(operator_start - 1),
                _ => return start,
            };
            if self.at(scanned) != "+" {
                start = scanned;
            }
        }
        start
    }

    /// The first token of the operand that ends with token `i`, if that may be a filter.
    fn filtered_start(&self, i: usize) -> usize {
        let mut start = self.operand_start(i);
        while 1 < start && self.at(start - 1) == "|" {
            start = self.operand_start(start - 2);
        }
        start
    }

    /// The first token of the operand that ends with token `i`.
    pub(super) fn operand_start(&self, mut i: usize) -> usize {
        loop {
            let start = self.group_start(i);
            i = match start {
                1.. if start < i && ends_operand(self.at(start - 1)) => start - 1,
                2.. if self.at(start - 1) == "." => start - 2,
                _ => return start,
            };
        }
    }

    /// The bracket that closes the one at token `i`, or `i` itself if that is not an opening bracket.
    pub(super) fn group_end(&self, i: usize) -> usize {
        let mut depth = 0usize;
        for at in i..self.len() {
            match self.at(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        self.len().max(1) - 1
    }

    /// The bracket that opens the group closed at token `i`, or `i` itself if that is not a closing bracket.
    fn group_start(&self, i: usize) -> usize {
        let mut depth = 0usize;
        for at in (0..=i).rev() {
            match self.at(at) {
                ")" | "]" | "}" => depth += 1,
                "(" | "[" | "{" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        0
    }
}

/// Whether a token ends an operand, so that a `+` or `*` after it is a binary operator.
pub(super) fn ends_operand(token: &str) -> bool {
    token.ends_with([')', ']', '}', '"', '\'']) || token.ends_with(is_word) && !KEYWORDS.contains(&token)
}

/// Whether a character may be in a name.
pub(super) fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}
