//! Adds filters to the tags of a chat template, which keep the size of its values and its work within limits.
//!
//! The template engine counts its steps, and some of the bytes that they create and search, but these operations need limits of
//! their own:
//! - `~` and `+` copy text, and a few of them in a loop create more than fits in memory. A filter after each operand
//!   counts its bytes.
//! - A slice refers to the list that it was taken from, so slices of slices become ever slower. A filter after each slice
//!   copies it to a list.
//! - A list that contains another list twice, repeatedly, is small but becomes ever slower to compare. A filter limits the
//!   values in each list.
//! - A comparison, `in`, `loop.changed` and a subscript take one step, however much they search. Filters around their operands count it.
//! - A namespace that contains itself makes every traversal endless. A filter converts each value that is assigned to an
//!   attribute to a plain value.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::tag_tokens::{TagTokens, ends_operand};

/// The filters after operands of `~` and `+`, and of a `*` that stands where no filter could replace it: after a test.
pub(super) const OPERAND_FILTERS: [&str; 3] = ["causerie_text", "causerie_term", "causerie_factor"];
/// The filters after a slice, and after a literal list, tuple or map.
pub(super) const SLICE_FILTER: &str = "causerie_slice";
pub(super) const LIST_FILTER: &str = "causerie_list";
/// The filters around operands of comparisons, and around the left and right operands of `in`.
pub(super) const COMPARED_FILTER: &str = "causerie_compared";
pub(super) const NEEDLE_FILTER: &str = "causerie_needle";
pub(super) const CONTAINER_FILTER: &str = "causerie_container";
/// The filter around a value with a subscript.
pub(super) const INDEXED_FILTER: &str = "causerie_indexed";
/// The filter around a value that is assigned to an attribute.
pub(super) const ASSIGNED_FILTER: &str = "causerie_assigned";

/// The tag with all filters added.
pub(super) fn guarded(tag: &str, ranges: &[Range<usize>]) -> String {
    let tokens = TagTokens::of(tag, ranges);
    let mut filters = Filters::default();
    guard_values(&tokens, &mut filters);
    guard_operators(&tokens, &mut filters);
    guard_subscripts(&tokens, &mut filters);
    guard_comparisons(&tokens, &mut filters);
    guard_changes(&tokens, &mut filters);
    guard_assignment(&tokens, &mut filters);
    filters.apply_to(tag, ranges)
}

/// Adds filters after lists and slices.
fn guard_values(tokens: &TagTokens<'_>, filters: &mut Filters) {
    for i in tokens.targets_end()..tokens.len() {
        let follows_operand = 0 < i && ends_operand(tokens.at(i - 1));
        let end = tokens.group_end(i);
        let (start, filter) = match tokens.at(i) {
            "[" if follows_operand && tokens.contains(i..end, ":") => (tokens.operand_start(end), SLICE_FILTER),
            "[" | "{" if !follows_operand => (i, LIST_FILTER),
            "(" if !follows_operand && tokens.contains(i..end, ",") => (i, LIST_FILTER),
            _ => continue,
        };
        // A filter cannot be followed by a subscript.
        match tokens.at(end + 1) {
            "[" | "." | "(" => filters.put_around(start..end + 1, filter),
            _ => filters.put_after(end, filter),
        }
    }
}

/// Adds filters after both operands of operators that copy.
fn guard_operators(tokens: &TagTokens<'_>, filters: &mut Filters) {
    for i in 1..tokens.len() {
        let filter = match tokens.at(i) {
            "~" => OPERAND_FILTERS[0],
            "+" => OPERAND_FILTERS[1],
            "*" => OPERAND_FILTERS[2],
            _ => continue,
        };
        if ends_operand(tokens.at(i - 1)) {
            filters.put_after(i - 1, filter);
            filters.put_after(tokens.operand_end(i + 1), filter);
        }
    }
}

/// Adds filters around values with a subscript, and around computed subscripts.
fn guard_subscripts(tokens: &TagTokens<'_>, filters: &mut Filters) {
    for i in 1..tokens.len() {
        if tokens.at(i) != "[" || !ends_operand(tokens.at(i - 1)) {
            continue;
        }
        let end = tokens.group_end(i);
        let start = tokens.operand_start(i - 1);
        // The argument of a test may have a subscript, but not if the argument is in brackets.
        if tokens.is_cheap_subscript(&(i + 1..end)) || 0 < start && tokens.is_test(start - 1) {
            continue;
        }
        filters.put_around(start..i, INDEXED_FILTER);
        if !tokens.contains(i..end, ":") && !tokens.is_literal(&(i + 1..end)) {
            filters.put_around(i + 1..end, NEEDLE_FILTER);
        }
    }
}

/// Adds filters around both sides of comparisons.
fn guard_comparisons(tokens: &TagTokens<'_>, filters: &mut Filters) {
    let is_loop = tokens.statement() == "for";
    for i in tokens.targets_end() + usize::from(is_loop)..tokens.len() {
        let (left, right) = match tokens.at(i) {
            "==" | "!=" | "<=" | ">=" | "<" | ">" => (COMPARED_FILTER, COMPARED_FILTER),
            "in" if !tokens.is_test(i) && !tokens.is_attribute(i) => (NEEDLE_FILTER, CONTAINER_FILTER),
            _ => continue,
        };
        let before = i - usize::from(0 < i && tokens.at(i) == "in" && tokens.at(i - 1) == "not");
        for (side, filter) in [(tokens.side_start(before)..before, left), (i + 1..tokens.side_end(i + 1), right)] {
            if !tokens.is_literal(&side) {
                filters.put_around(side, filter);
            }
        }
    }
}

/// Adds filters around the arguments of `loop.changed`, which compares them.
fn guard_changes(tokens: &TagTokens<'_>, filters: &mut Filters) {
    for i in 1..tokens.len() {
        if tokens.at(i) != "changed" || !tokens.is_attribute(i) || tokens.at(i + 1) != "(" {
            continue;
        }
        let (mut start, end) = (i + 2, tokens.group_end(i + 1));
        while start < end {
            let side_end = tokens.side_end(start);
            if !tokens.is_literal(&(start..side_end)) {
                filters.put_around(start..side_end, COMPARED_FILTER);
            }
            start = side_end + 1;
        }
    }
}

/// Adds a filter around a value that is assigned to an attribute: `{% set a.b = … %}`, or `{% set a.b | … %}` with a block.
fn guard_assignment(tokens: &TagTokens<'_>, filters: &mut Filters) {
    let end = tokens.targets_end();
    if tokens.statement() != "set" || !tokens.contains(0..end, ".") {
        return;
    }
    if end < tokens.len() {
        filters.put_around(end + 1..tokens.len(), ASSIGNED_FILTER);
    } else if tokens.contains(0..end, "|") {
        filters.put_after(end - 1, ASSIGNED_FILTER);
    }
}

/// The filters to add to a tag, by the indices of its tokens.
#[derive(Default)]
struct Filters {
    after: BTreeMap<usize, Vec<&'static str>>,
    /// Last token, first token and filter. Of the filters that end at the same token, the inner ones come first.
    around: BTreeSet<(usize, Reverse<usize>, &'static str)>,
}

impl Filters {
    /// Adds a filter after a token, once: an operand between two operators gets one filter.
    fn put_after(&mut self, i: usize, filter: &'static str) {
        let here = self.after.entry(i).or_default();
        if !here.contains(&filter) {
            here.push(filter);
        }
    }

    fn put_around(&mut self, range: Range<usize>, filter: &'static str) {
        if !range.is_empty() {
            self.around.insert((range.end - 1, Reverse(range.start), filter));
        }
    }

    fn apply_to(&self, tag: &str, tokens: &[Range<usize>]) -> String {
        let mut n_opened: BTreeMap<usize, usize> = BTreeMap::new(); // before which token
        self.around.iter().for_each(|(_, first, _)| *n_opened.entry(first.0).or_default() += 1);
        let mut out = String::with_capacity(tag.len());
        let mut copied = 0;
        for (i, token) in tokens.iter().enumerate() {
            out.push_str(&tag[copied..token.start]);
            out.push_str(&"((".repeat(n_opened.get(&i).copied().unwrap_or_default()));
            out.push_str(&tag[token.clone()]);
            self.after.get(&i).into_iter().flatten().for_each(|filter| out.extend(["|", filter]));
            let ending = self.around.range((i, Reverse(usize::MAX), "")..(i + 1, Reverse(usize::MAX), ""));
            ending.for_each(|(_, _, filter)| out.extend([")|", filter, ")"]));
            copied = token.end;
        }
        out + &tag[copied..]
    }
}

#[cfg(test)]
mod tests {
    use crate::source::prepare;

    use super::*;

    /// The prepared source, with short names for the filters.
    fn short(source: &str) -> String {
        let [text, term, factor] = OPERAND_FILTERS;
        let names = [text, term, factor, SLICE_FILTER, LIST_FILTER, INDEXED_FILTER];
        let others = [COMPARED_FILTER, NEEDLE_FILTER, CONTAINER_FILTER, ASSIGNED_FILTER];
        let names = names.iter().chain(&others).zip(["t", "p", "f", "s", "l", "i", "c", "n", "h", "a"]);
        names.fold(prepare(source).unwrap(), |source, (name, short)| source.replace(name, short))
    }

    #[test]
    fn both_operands_are_counted() {
        for (source, expect) in [
            ("{{ a ~ b }}", "{{ a|t ~ b|t }}"),
            ("{{- a+b.c['+'](d)|trim ~ 'x' -}}", "{{- a|p+b.c['+'](d)|trim|p|t ~ 'x'|t -}}"),
            ("{% set a = x + (y + z)[1:] %}", "{% set a = x|p + (((y|p + z|p))|i)[1:]|s|p %}"),
            ("{%+ if -a * +b is string +%}", "{%+ if (-a)|causerie_product(b) is string +%}"),
            ("{{ f(**k) }} a + b {# c ~ d #} {{ '~' }}", "{{ f(**k) }} a + b {# c ~ d #} {{ '~' }}"),
            ("{% raw %}{{ a + b }}{% endraw %}{{ a + b }}", "{% raw +%}{{ a + b }}{% endraw %}{{ a|p + b|p }}"),
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
    fn searches_and_comparisons_are_counted() {
        for (source, expect) in [
            ("{% if a.b == 'c' and not d < e %}", "{% if ((a.b)|c) == 'c' and not ((d)|c) < ((e)|c) %}"),
            ("{{ a + b == c|d if e else f }}", "{{ ((a|p + b|p)|c) == ((c|d)|c) if e else f }}"),
            ("{% for a in b if a in c[d] %}", "{% for a in b if ((a)|n) in ((((c)|i)[((d)|n)])|h) %}"),
            ("{{ f(a not in b, 'c' in d) }}", "{{ f(((a)|n) not in ((b)|h), 'c' in ((d)|h)) }}"),
            ("{{ a is in b }}{{ a is not in b }}", "{{ a is in b }}{{ a is not in b }}"),
            ("{{ a[0] }}{{ a['b'] }}{{ a[-1] }}", "{{ a[0] }}{{ a['b'] }}{{ ((a)|i)[((-1)|n)] }}"),
            ("{{ loop.changed(a, b.c, 1) }}", "{{ loop.changed(((a)|c), ((b.c)|c), 1) }}"),
            ("{{ a(b).c[d[2]] }}{{ a is b c[d] }}", "{{ ((a(b).c)|i)[((d[2])|n)] }}{{ a is b c[d] }}"),
        ] {
            assert_eq!(short(source), expect);
        }
    }

    #[test]
    fn lists_and_slices_can_be_followed_by_subscripts_and_methods() {
        assert_eq!(short("{{ [a][0] }}{{ b[1:].c() }}"), "{{ (([a])|l)[0] }}{{ ((((b)|i)[1:])|s).c() }}");
    }

    #[test]
    fn values_assigned_to_attributes_are_made_plain() {
        assert_eq!(short("{% set a.b = a %}{% set a = b %}"), "{% set a.b = ((a)|a) %}{% set a = b %}");
        assert_eq!(short("{% set a.b, c = d, e %}"), "{% set a.b, c = ((d, e)|a) %}");
        assert_eq!(short("{% set a.b | d(x=a) %}"), "{% set a.b | d(x=a)|a %}");
    }

    #[test]
    fn names_that_hide_values_from_the_guards_are_refused() {
        for source in [
            "{% set if = a %}",
            "{% for in in a %}",
            "{% with else = a %}",
            "{% macro a(b, not) %}",
            "{{ loop.cycle() }}",
            "{{ loop.cycle(*a) }}",
        ] {
            assert!(prepare(source).is_err(), "{source}");
        }
        for source in ["{% if a is not in b and not c.if %}", "{% if a not in b %}{% else %}", "{{ a.changed }}"] {
            prepare(source).unwrap();
        }
    }

    #[test]
    fn invalid_syntax_is_left_unchanged() {
        for source in
            ["{", "{{", "{%", "{% 'a", "{{ a + }}{{ ~ }}", "{%%}", "{{-}}", "{%-%}", "{# a", "{{ ) + ( }}", "}}é{{é"]
        {
            let stripped = ["|p", "|t", "|s", "|l"].iter().fold(short(source), |text, filter| text.replace(filter, ""));
            assert_eq!(stripped, source);
        }
    }
}
