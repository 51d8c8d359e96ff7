//! Adds filters to the tags of a chat template, for four classes of work and values that the template engine's own fuel does not
//! limit:
//! - **Lists that are put together when they are read.** A sum, a slice, a product or a reversed list refers to the lists that it
//!   was made from, so each one made from another is slower to read. A filter makes them lists of their own. Another one
//!   does so with the characters of a string that a loop goes through. The engine charges each filter for its string.
//! - **Comparisons.** `==`, `<`, `in`, `loop.changed` and a computed subscript take one step, however much they compare or hash.
//!   Filters around their operands charge it; a filter takes the place of the subscript.
//! - **Values that nest.** A list in a list, repeatedly, is small, but all that visits it recurses. A filter after each list, tuple and
//!   dictionary limits its depth.
//! - **Values that contain themselves.** A namespace in itself makes every visit endless. A filter makes each value that is
//!   assigned to an attribute a plain copy.
//!
//! Apart from these, operands of `~` are converted as Python prints them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::tag_tokens::{TagTokens, ends_operand};

/// The filter that makes a list of its own, and the one that also does so with the characters of a string.
pub(crate) const FLAT_FILTER: &str = "causerie_flat";
pub(crate) const LOOPED_FILTER: &str = "causerie_looped";
/// The filters around operands of comparisons, and around the right operand of `in`.
pub(crate) const COMPARED_FILTER: &str = "causerie_compared";
pub(crate) const SEARCHED_FILTER: &str = "causerie_searched";
/// The filter in place of a computed subscript.
pub(crate) const ITEM_FILTER: &str = "causerie_item";
/// The filter after a literal list, tuple or dictionary.
pub(crate) const NESTED_FILTER: &str = "causerie_nested";
/// The filter around a value that is assigned to an attribute.
pub(crate) const STORED_FILTER: &str = "causerie_stored";
/// The filter after operands of `~`.
pub(crate) const TEXT_FILTER: &str = "causerie_text";

/// The tag with all filters added.
pub(crate) fn guarded(tag: &str, ranges: &[Range<usize>]) -> String {
    let tokens = TagTokens::new(tag, ranges);
    let mut filters = Filters::default();
    guard_values(&tokens, &mut filters);
    guard_operators(&tokens, &mut filters);
    guard_subscripts(&tokens, &mut filters);
    guard_loops(&tokens, &mut filters);
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
            "[" if follows_operand && tokens.contains(i..end, ":") => (tokens.operand_start(end), FLAT_FILTER),
            "[" | "{" if !follows_operand => (i, NESTED_FILTER),
            "(" if !follows_operand && tokens.contains(i..end, ",") => (i, NESTED_FILTER),
            _ => continue,
        };
        // A filter cannot be followed by a subscript.
        match tokens.at(end + 1) {
            "[" | "." | "(" => filters.put_around(start..end + 1, filter),
            _ => filters.put_after(end, filter),
        }
    }
}

/// Adds filters after both operands of operators that join.
fn guard_operators(tokens: &TagTokens<'_>, filters: &mut Filters) {
    for i in 1..tokens.len() {
        let filter = match tokens.at(i) {
            "~" => TEXT_FILTER,
            // A `*` is left only after a test.
            "+" | "*" => FLAT_FILTER,
            _ => continue,
        };
        if ends_operand(tokens.at(i - 1)) {
            filters.put_after(i - 1, filter);
            filters.put_after(tokens.operand_end(i + 1), filter);
        }
    }
}

/// Puts filters in place of computed subscripts, and around values with a slice.
fn guard_subscripts(tokens: &TagTokens<'_>, filters: &mut Filters) {
    for i in 1..tokens.len() {
        if tokens.at(i) != "[" || !ends_operand(tokens.at(i - 1)) {
            continue;
        }
        let end = tokens.group_end(i);
        let start = tokens.operand_start(i - 1);
        if tokens.contains(i..end, ":") {
            filters.put_around(start..i, FLAT_FILTER);
        } else if !tokens.is_cheap_subscript(&(i + 1..end)) && i + 1 < end {
            filters.put_in_place(start, i, end, ITEM_FILTER);
        }
    }
}

/// Adds filters around what a loop goes through, and around the argument of a call of a recursive loop.
fn guard_loops(tokens: &TagTokens<'_>, filters: &mut Filters) {
    if tokens.statement() == "for" {
        let start = tokens.targets_end() + 1;
        filters.put_around(start..tokens.iterable_end(start), LOOPED_FILTER);
    }
    for i in tokens.targets_end()..tokens.len() {
        if tokens.at(i) == "loop" && !tokens.is_attribute(i) && tokens.at(i + 1) == "(" {
            filters.put_around(i + 2..tokens.argument_end(i + 2), LOOPED_FILTER);
        }
    }
}

/// Adds filters around both sides of comparisons.
fn guard_comparisons(tokens: &TagTokens<'_>, filters: &mut Filters) {
    let is_loop = tokens.statement() == "for";
    for i in tokens.targets_end() + usize::from(is_loop)..tokens.len() {
        let (left, right) = match tokens.at(i) {
            "==" | "!=" | "<=" | ">=" | "<" | ">" => (COMPARED_FILTER, COMPARED_FILTER),
            "in" if !tokens.is_test(i) && !tokens.is_attribute(i) => (COMPARED_FILTER, SEARCHED_FILTER),
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
        filters.put_around(end + 1..tokens.len(), STORED_FILTER);
    } else if tokens.contains(0..end, "|") {
        filters.put_after(end - 1, STORED_FILTER);
    }
}

/// The filters to add to a tag, by the indices of its tokens.
#[derive(Default)]
struct Filters {
    after: BTreeMap<usize, Vec<&'static str>>,
    /// Last token, first token and filter. Of the filters that end at the same token, the inner ones come first.
    around: BTreeSet<(usize, Reverse<usize>, &'static str)>,
    /// First tokens of values with a subscript, and what takes the place of the brackets.
    in_place: Vec<(usize, usize, usize, &'static str)>,
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

    /// Puts a filter in the place of the brackets `open` and `close`, after the value that begins with the token `start`.
    fn put_in_place(&mut self, start: usize, open: usize, close: usize, filter: &'static str) {
        self.in_place.push((start, open, close, filter));
    }

    fn apply_to(&self, tag: &str, tokens: &[Range<usize>]) -> String {
        let opened: BTreeMap<usize, &str> = self.in_place.iter().map(|(_, open, _, filter)| (*open, *filter)).collect();
        let closed: BTreeSet<usize> = self.in_place.iter().map(|(_, _, close, _)| *close).collect();
        let mut n_opened: BTreeMap<usize, usize> = BTreeMap::new(); // before which token
        let starts = self.around.iter().map(|(_, first, _)| first.0).chain(self.in_place.iter().map(|found| found.0));
        starts.for_each(|first| *n_opened.entry(first).or_default() += 1);
        let mut out = String::with_capacity(tag.len());
        let mut copied = 0;
        for (i, token) in tokens.iter().enumerate() {
            out.push_str(&tag[copied..token.start]);
            out.push_str(&"((".repeat(n_opened.get(&i).copied().unwrap_or_default()));
            match opened.get(&i) {
                Some(filter) => out.extend([")|", *filter, "("]),
                None => out.push_str(if closed.contains(&i) { "))" } else { &tag[token.clone()] }),
            }
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
        let names = [
            (TEXT_FILTER, "t"),
            (FLAT_FILTER, "f"),
            (LOOPED_FILTER, "l"),
            (COMPARED_FILTER, "c"),
            (SEARCHED_FILTER, "s"),
            (NESTED_FILTER, "n"),
            (ITEM_FILTER, "i"),
            (STORED_FILTER, "a"),
        ];
        names.into_iter().fold(prepare(source).unwrap(), |source, (name, short)| source.replace(name, short))
    }

    #[test]
    fn both_operands_are_counted() {
        for (source, expect) in [
            ("{{ a ~ b }}", "{{ a|t ~ b|t }}"),
            ("{{- a+b.c['+'](d)|trim ~ 'x' -}}", "{{- a|f+b.c['+'](d)|trim|f|t ~ 'x'|t -}}"),
            ("{% set a = x + (y + z)[1:] %}", "{% set a = x|f + (((y|f + z|f))|f)[1:]|f %}"),
            ("{%+ if -a * +b is string +%}", "{%+ if (-a)|causerie_product(b) is string +%}"),
            ("{{ f(**k) }} a + b {# c ~ d #} {{ '~' }}", "{{ f(**k) }} a + b {# c ~ d #} {{ '~' }}"),
            ("{% raw %}{{ a + b }}{% endraw %}{{ a + b }}", "{% raw +%}{{ a + b }}{% endraw %}{{ a|f + b|f }}"),
            ("{{ {'}}': 1 + 2} }}", "{{ {'}}': 1|f + 2|f}|n }}"),
            (
                "{% for a in b[::-1] %}{{ c[d[1:]:2] }}",
                "{% for a in ((((b)|f)[::-1]|f)|l) %}{{ ((c)|f)[((d)|f)[1:]|f:2]|f }}",
            ),
            ("{% for (a, b) in [(1, 2)] + c %}", "{% for (a, b) in (([(1, 2)|n]|n|f + c|f)|l) %}"),
            ("{% set a, b = (c), {} %}{{ f(a, [b]) }}", "{% set a, b = (c), {}|n %}{{ f(a, [b]|n) }}"),
            ("{{ a if b else -1 }}{{ loop.index0 + 1 }}", "{{ a if b else -1 }}{{ loop.index0|f + 1|f }}"),
        ] {
            assert_eq!(short(source), expect);
        }
    }

    #[test]
    fn searches_and_comparisons_are_counted() {
        for (source, expect) in [
            ("{% if a.b == 'c' and not d < e %}", "{% if ((a.b)|c) == 'c' and not ((d)|c) < ((e)|c) %}"),
            ("{{ a + b == c|d if e else f }}", "{{ ((a|f + b|f)|c) == ((c|d)|c) if e else f }}"),
            ("{% for a in b if a in c[d] %}", "{% for a in ((b)|l) if ((a)|c) in ((((c)|i(d)))|s) %}"),
            ("{{ f(a not in b, 'c' in d) }}", "{{ f(((a)|c) not in ((b)|s), 'c' in ((d)|s)) }}"),
            ("{{ a is in b }}{{ a is not in b }}", "{{ a is in b }}{{ a is not in b }}"),
            ("{{ a[0] }}{{ a['b'] }}{{ a[-1] }}", "{{ a[0] }}{{ a['b'] }}{{ ((a)|i(-1)) }}"),
            ("{{ loop.changed(a, b.c, 1) }}", "{{ loop.changed(((a)|c), ((b.c)|c), 1) }}"),
            ("{{ a(b).c[d[2]] }}{{ a is b c[d] }}", "{{ ((a(b).c)|i(d[2])) }}{{ a is b ((c)|i(d)) }}"),
            ("{{ a[b][c[d]].e[f] }}", "{{ ((((((a)|i(b)))|i(((c)|i(d)))).e)|i(f)) }}"),
        ] {
            assert_eq!(short(source), expect);
        }
    }

    #[test]
    fn what_a_loop_goes_through_is_a_list_of_its_own() {
        for (source, expect) in [
            ("{% for a in b if c recursive %}", "{% for a in ((b)|l) if c recursive %}"),
            ("{% for a in b or [] recursive %}", "{% for a in ((b or []|n)|l) recursive %}"),
            ("{% for a in (b if c else d.if) %}", "{% for a in (((b if c else d.if))|l) %}"),
            ("{% for a, b in c, d %}", "{% for a, b in ((c, d)|l) %}"),
            ("{{ loop(a.b) }}{{ a.loop(b) }}{{ loop() }}", "{{ loop(((a.b)|l)) }}{{ a.loop(b) }}{{ loop() }}"),
        ] {
            assert_eq!(short(source), expect);
        }
    }

    #[test]
    fn lists_and_slices_can_be_followed_by_subscripts_and_methods() {
        assert_eq!(short("{{ [a][0] }}{{ b[1:].c() }}"), "{{ (([a])|n)[0] }}{{ ((((b)|f)[1:])|f).c() }}");
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
            let stripped = ["|f", "|t", "|n", "|l"].iter().fold(short(source), |text, filter| text.replace(filter, ""));
            assert_eq!(stripped, source);
        }
    }
}
