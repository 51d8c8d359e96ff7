//! What a tag of a chat template gets around its values, so that they stay in bounds.
//!
//! The operators `~`, `+` and `*` copy text, and a few of them in a loop make more than any memory holds. The engine
//! counts steps, not bytes; so filters that count bytes are put behind both operands of each. A slice of a list looks
//! its items up in the list behind it, and slices of slices take ever longer; so a filter behind each makes it a list.
//! And a list that holds another twice, over and over, is small, but takes ever longer to compare; so lists are measured.
//!
//! A comparison, `in` and a subscript take one step, however long what they look through is; so filters around their
//! operands count that. A namespace that is put into itself has no end for whatever walks through it; so what is
//! assigned to an attribute passes a filter that makes a plain value of it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::prompt::source::is_word;

/// The filters behind operands of `~`, of `+`, and of `*`.
pub(super) const OPERAND_FILTERS: [&str; 3] = ["causerie_text", "causerie_term", "causerie_factor"];
/// The filters behind a slice, and behind a list, a tuple or a map that is written out.
pub(super) const SLICE_FILTER: &str = "causerie_slice";
pub(super) const LIST_FILTER: &str = "causerie_list";
/// The filters around what is compared, around what is sought in a container, and around the container.
pub(super) const COMPARED_FILTER: &str = "causerie_compared";
pub(super) const SOUGHT_FILTER: &str = "causerie_sought";
pub(super) const CONTAINER_FILTER: &str = "causerie_container";
/// The filter around what has a subscript.
pub(super) const INDEXED_FILTER: &str = "causerie_indexed";
/// The filter around what is assigned to an attribute.
pub(super) const ASSIGNED_FILTER: &str = "causerie_assigned";

const KEYWORDS: [&str; 8] = ["in", "not", "and", "or", "if", "else", "is", "elif"];
/// What binds less than a comparison does, or is one.
const BOUNDS: [&str; 16] =
    ["==", "!=", "<=", ">=", "<", ">", "in", "not", "and", "or", "if", "else", "elif", "=", ",", ":"];

/// The tag with filters behind what copies, and around what looks through values or keeps them.
pub(super) fn guarded(tag: &str, tokens: &[Range<usize>]) -> String {
    let words = Words::of(tag, tokens);
    let mut filters = Filters::default();
    guard_values(&words, &mut filters);
    guard_operators(&words, &mut filters);
    guard_subscripts(&words, &mut filters);
    guard_comparisons(&words, &mut filters);
    guard_assignment(&words, &mut filters);
    filters.put_into(tag, tokens)
}

/// Filters behind lists and slices.
fn guard_values(words: &Words<'_>, filters: &mut Filters) {
    for i in words.targets_end()..words.len() {
        let follows_operand = 0 < i && ends_operand(words.at(i - 1));
        let end = words.group_end(i);
        let (start, filter) = match words.at(i) {
            "[" if follows_operand && words.holds(i..end, ":") => (words.operand_start(end), SLICE_FILTER),
            "[" | "{" if !follows_operand => (i, LIST_FILTER),
            "(" if !follows_operand && words.holds(i..end, ",") => (i, LIST_FILTER),
            _ => continue,
        };
        // Behind a filter there can be no subscript.
        match words.at(end + 1) {
            "[" | "." | "(" => filters.put_around(start..end + 1, filter),
            _ => filters.put_behind(end, filter),
        }
    }
}

/// Filters behind both operands of what copies.
fn guard_operators(words: &Words<'_>, filters: &mut Filters) {
    for i in 1..words.len() {
        let filter = match words.at(i) {
            "~" => OPERAND_FILTERS[0],
            "+" => OPERAND_FILTERS[1],
            "*" => OPERAND_FILTERS[2],
            _ => continue,
        };
        if ends_operand(words.at(i - 1)) {
            filters.put_behind(i - 1, filter);
            filters.put_behind(words.operand_end(i + 1), filter);
        }
    }
}

/// Filters around what has a subscript, and around a subscript that is computed.
fn guard_subscripts(words: &Words<'_>, filters: &mut Filters) {
    for i in 1..words.len() {
        if words.at(i) != "[" || !ends_operand(words.at(i - 1)) {
            continue;
        }
        let end = words.group_end(i);
        let start = words.operand_start(i - 1);
        // The argument of a test may have a subscript, but none if it stands in brackets.
        if words.is_near(&(i + 1..end)) || 0 < start && words.is_test(start - 1) {
            continue;
        }
        filters.put_around(start..i, INDEXED_FILTER);
        if !words.holds(i..end, ":") && !words.is_literal(&(i + 1..end)) {
            filters.put_around(i + 1..end, SOUGHT_FILTER);
        }
    }
}

/// Filters around both sides of comparisons.
fn guard_comparisons(words: &Words<'_>, filters: &mut Filters) {
    let is_loop = words.statement() == "for";
    for i in words.targets_end() + usize::from(is_loop)..words.len() {
        let (left, right) = match words.at(i) {
            "==" | "!=" | "<=" | ">=" | "<" | ">" => (COMPARED_FILTER, COMPARED_FILTER),
            "in" if !words.is_test(i) && !words.is_attribute(i) => (SOUGHT_FILTER, CONTAINER_FILTER),
            _ => continue,
        };
        let before = i - usize::from(0 < i && words.at(i) == "in" && words.at(i - 1) == "not");
        for (side, filter) in [(words.side_start(before)..before, left), (i + 1..words.side_end(i + 1), right)] {
            if !words.is_literal(&side) {
                filters.put_around(side, filter);
            }
        }
    }
}

/// A filter around what is assigned to an attribute: `{% set a.b = … %}`, or `{% set a.b | … %}` and its text.
fn guard_assignment(words: &Words<'_>, filters: &mut Filters) {
    let end = words.targets_end();
    if words.statement() != "set" || !words.holds(0..end, ".") {
        return;
    }
    if end < words.len() {
        filters.put_around(end + 1..words.len(), ASSIGNED_FILTER);
    } else if words.holds(0..end, "|") {
        filters.put_behind(end - 1, ASSIGNED_FILTER);
    }
}

/// The filters that a tag gets, by the numbers of its tokens.
#[derive(Default)]
struct Filters {
    behind: BTreeMap<usize, Vec<&'static str>>,
    /// Last token, first token and filter: of those that end at one token, the inner ones come first.
    around: BTreeSet<(usize, Reverse<usize>, &'static str)>,
}

impl Filters {
    /// Puts a filter behind a token, once: an operand between two operators gets one.
    fn put_behind(&mut self, i: usize, filter: &'static str) {
        let here = self.behind.entry(i).or_default();
        if !here.contains(&filter) {
            here.push(filter);
        }
    }

    fn put_around(&mut self, range: Range<usize>, filter: &'static str) {
        if !range.is_empty() {
            self.around.insert((range.end - 1, Reverse(range.start), filter));
        }
    }

    fn put_into(&self, tag: &str, tokens: &[Range<usize>]) -> String {
        let mut n_opened: BTreeMap<usize, usize> = BTreeMap::new(); // before which token
        self.around.iter().for_each(|(_, first, _)| *n_opened.entry(first.0).or_default() += 1);
        let mut out = String::with_capacity(tag.len());
        let mut copied = 0;
        for (i, token) in tokens.iter().enumerate() {
            out.push_str(&tag[copied..token.start]);
            out.push_str(&"((".repeat(n_opened.get(&i).copied().unwrap_or_default()));
            out.push_str(&tag[token.clone()]);
            self.behind.get(&i).into_iter().flatten().for_each(|filter| out.extend(["|", filter]));
            let ending = self.around.range((i, Reverse(usize::MAX), "")..(i + 1, Reverse(usize::MAX), ""));
            ending.for_each(|(_, _, filter)| out.extend([")|", filter, ")"]));
            copied = token.end;
        }
        out + &tag[copied..]
    }
}

/// The tokens of a tag.
pub(super) struct Words<'a> {
    tokens: Vec<&'a str>,
    is_statement: bool,
}

impl<'a> Words<'a> {
    pub(super) fn of(tag: &'a str, tokens: &[Range<usize>]) -> Self {
        let tokens = tokens.iter().map(|token| &tag[token.clone()]).collect();
        Self { tokens, is_statement: tag.starts_with("{%") }
    }

    /// Refuses what hides values from the guards, or is no use to chat templates.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        for i in 0..self.len() {
            if self.names_keyword(i) {
                return Err("it has a keyword for a name");
            }
            // `changed` keeps values and compares them without bounds; `cycle` without arguments panics.
            if self.is_attribute(i) && matches!(self.at(i), "changed" | "cycle") && self.at(i + 1) == "(" {
                return Err("it asks for loop.changed or loop.cycle, which chat templates do without");
            }
        }
        Ok(())
    }

    /// Whether a keyword stands where a name is given, or used as one; the engine allows that.
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

    fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Nothing, behind the last.
    fn at(&self, i: usize) -> &'a str {
        self.tokens.get(i).copied().unwrap_or_default()
    }

    fn holds(&self, mut range: Range<usize>, token: &str) -> bool {
        range.any(|i| self.at(i) == token)
    }

    /// What a statement begins with; nothing for an expression.
    fn statement(&self) -> &'a str {
        if self.is_statement { self.at(0) } else { "" }
    }

    fn is_attribute(&self, i: usize) -> bool {
        0 < i && self.at(i - 1) == "."
    }

    /// Whether a token is the name of a test.
    fn is_test(&self, i: usize) -> bool {
        0 < i && self.at(i - 1) == "is" || 1 < i && self.at(i - 1) == "not" && self.at(i - 2) == "is"
    }

    /// Whether there is one token, which is as long as it is written.
    fn is_literal(&self, range: &Range<usize>) -> bool {
        range.len() == 1
            && self.at(range.start).starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '\''))
    }

    /// Whether a subscript is found without a search: a key that is written out, or one of the first places.
    fn is_near(&self, range: &Range<usize>) -> bool {
        self.is_literal(range) && (self.at(range.start).starts_with(['"', '\'']) || self.at(range.start).len() < 4)
    }

    /// What stands behind the names that a loop or an assignment gives: a tuple there is none.
    fn targets_end(&self) -> usize {
        let behind = match self.statement() {
            "for" => "in",
            "set" => "=",
            _ => return 0,
        };
        let mut depth = 0usize;
        for i in 0..self.len() {
            match self.at(i) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                token if token == behind && depth == 0 => return i,
                _ => {}
            }
        }
        self.len()
    }

    /// The first token of the side of a comparison that ends before `end`.
    fn side_start(&self, end: usize) -> usize {
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

    /// Behind the last token of the side of a comparison that starts at `start`.
    fn side_end(&self, start: usize) -> usize {
        let mut depth = 0usize;
        for i in start..self.len() {
            match self.at(i) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" if depth == 0 => return i,
                ")" | "]" | "}" => depth -= 1,
                token if depth == 0 && BOUNDS.contains(&token) && !self.is_attribute(i) => return i,
                _ => {}
            }
        }
        self.len()
    }

    /// The last token of the operand that starts with token `i`: a literal, a name or a group, and what is attached to it.
    fn operand_end(&self, mut i: usize) -> usize {
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

    /// The first token of the operand that ends with token `i`, and of what it is attached to.
    fn operand_start(&self, mut i: usize) -> usize {
        loop {
            let start = self.group_start(i);
            i = match start {
                1.. if start < i && ends_operand(self.at(start - 1)) => start - 1,
                2.. if self.at(start - 1) == "." => start - 2,
                _ => return start,
            };
        }
    }

    /// The bracket that closes the one at token `i`; the token itself if it is no bracket.
    fn group_end(&self, i: usize) -> usize {
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

    /// The bracket that opens what the one at token `i` closes; the token itself if it is no bracket.
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

/// Whether an operator behind a token has an operand there, and is no sign.
fn ends_operand(token: &str) -> bool {
    token.ends_with([')', ']', '}', '"', '\'']) || token.ends_with(is_word) && !KEYWORDS.contains(&token)
}

#[cfg(test)]
mod tests {
    use crate::prompt::source::prepare;

    use super::*;

    /// The prepared source, with short names for the filters.
    fn short(source: &str) -> String {
        let [text, term, factor] = OPERAND_FILTERS;
        let names = [text, term, factor, SLICE_FILTER, LIST_FILTER, INDEXED_FILTER];
        let others = [COMPARED_FILTER, SOUGHT_FILTER, CONTAINER_FILTER, ASSIGNED_FILTER];
        let names = names.iter().chain(&others).zip(["t", "p", "f", "s", "l", "i", "c", "n", "h", "a"]);
        names.fold(prepare(source).unwrap(), |source, (name, short)| source.replace(name, short))
    }

    #[test]
    fn both_operands_are_counted() {
        for (source, expect) in [
            ("{{ a ~ b }}", "{{ a|t ~ b|t }}"),
            ("{{- a+b.c['+'](d)|trim ~ 'x' -}}", "{{- a|p+b.c['+'](d)|trim|p|t ~ 'x'|t -}}"),
            ("{% set a = x + (y + z)[1:] %}", "{% set a = x|p + (((y|p + z|p))|i)[1:]|s|p %}"),
            ("{%+ if -a * +b is string +%}", "{%+ if -a|f * +b|f is string +%}"),
            ("{{ f(**k) }} a + b {# c ~ d #} {{ '~' }}", "{{ f(**k) }} a + b {# c ~ d #} {{ '~' }}"),
            ("{% raw %}{{ a + b }}{% endraw %}{{ a + b }}", "{% raw %}{{ a + b }}{% endraw %}{{ a|p + b|p }}"),
            ("{{ {'}}': 1 + 2} }}", "{{ {'}}': 1|p + 2|p}|l }}"),
            (
                "{% for a in b[::-1] %}{{ c[d[1:]:2] }}",
                "{% for a in ((b)|i)[::-1]|s %}{{ ((c)|i)[((d)|i)[1:]|s:2]|s }}",
            ),
            ("{% for (a, b) in [(1, 2)] + c %}", "{% for (a, b) in [(1, 2)|l]|l|p + c|p %}"),
            ("{% set a, b = (c), {} %}{{ f(a, [b]) }}", "{% set a, b = (c), {}|l %}{{ f(a, [b]|l) }}"),
            ("{{ a if b else -1 }}{{ loop.index0 + 1 }}", "{{ a if b else -1 }}{{ loop.index0|p + 1|p }}"),
        ] {
            assert_eq!(short(source), expect);
        }
    }

    #[test]
    fn what_is_searched_and_compared_is_counted() {
        for (source, expect) in [
            ("{% if a.b == 'c' and not d < e %}", "{% if ((a.b)|c) == 'c' and not ((d)|c) < ((e)|c) %}"),
            ("{{ a + b == c|d if e else f }}", "{{ ((a|p + b|p)|c) == ((c|d)|c) if e else f }}"),
            ("{% for a in b if a in c[d] %}", "{% for a in b if ((a)|n) in ((((c)|i)[((d)|n)])|h) %}"),
            ("{{ f(a not in b, 'c' in d) }}", "{{ f(((a)|n) not in ((b)|h), 'c' in ((d)|h)) }}"),
            ("{{ a is in b }}{{ a is not in b }}", "{{ a is in b }}{{ a is not in b }}"),
            ("{{ a[0] }}{{ a['b'] }}{{ a[-1] }}", "{{ a[0] }}{{ a['b'] }}{{ ((a)|i)[((-1)|n)] }}"),
            ("{{ a(b).c[d[2]] }}{{ a is b c[d] }}", "{{ ((a(b).c)|i)[((d[2])|n)] }}{{ a is b c[d] }}"),
        ] {
            assert_eq!(short(source), expect);
        }
    }

    #[test]
    fn behind_lists_and_slices_there_may_be_more() {
        assert_eq!(short("{{ [a][0] }}{{ b[1:].c() }}"), "{{ (([a])|l)[0] }}{{ ((((b)|i)[1:])|s).c() }}");
    }

    #[test]
    fn what_is_kept_in_a_namespace_is_made_plain() {
        assert_eq!(short("{% set a.b = a %}{% set a = b %}"), "{% set a.b = ((a)|a) %}{% set a = b %}");
        assert_eq!(short("{% set a.b, c = d, e %}"), "{% set a.b, c = ((d, e)|a) %}");
        assert_eq!(short("{% set a.b | d(x=a) %}"), "{% set a.b | d(x=a)|a %}");
    }

    #[test]
    fn what_hides_from_the_guards_is_refused() {
        for source in [
            "{% set if = a %}",
            "{% for in in a %}",
            "{% with else = a %}",
            "{% macro a(b, not) %}",
            "{{ loop.changed(a) }}",
            "{{ loop.cycle() }}",
        ] {
            assert!(prepare(source).is_err(), "{source}");
        }
        for source in ["{% if a is not in b and not c.if %}", "{% if a not in b %}{% else %}", "{{ a.changed }}"] {
            prepare(source).unwrap();
        }
    }

    #[test]
    fn what_is_no_template_stays_as_it_is() {
        for source in
            ["{", "{{", "{%", "{% 'a", "{{ a + }}{{ ~ }}", "{%%}", "{{-}}", "{%-%}", "{# a", "{{ ) + ( }}", "}}é{{é"]
        {
            let stripped = ["|p", "|t", "|s", "|l"].iter().fold(short(source), |text, filter| text.replace(filter, ""));
            assert_eq!(stripped, source);
        }
    }
}
