//! Prepares the source of a chat template for the template engine.
//!
//! Templates mark the model's own turns with `{% generation %}` for training. The tag has no meaning in a prompt. It is
//! replaced by `{% if true %}`, which preserves the tag's whitespace control.
//!
//! The operators `%`, which also formats strings in Python, and `*`, whose results need limits, become filters; a `+` before an
//! operand is left out. Strings lose the escapes that only Python knows. The default of a macro's argument that mentions an
//! earlier one moves into the macro: the engine computes defaults from the last to the first. All other changes are made by
//! [`guards`](crate::guards).

use std::collections::BTreeSet;
use std::ops::Range;

use crate::guards::guarded;
use crate::strings::{string_end, with_plain_strings};
use crate::tag_tokens::{TagTokens, ends_operand, token_ranges};

/// The filters in place of the operators `%` and `*`.
pub(super) const PERCENT_FILTER: &str = "causerie_percent";
pub(super) const PRODUCT_FILTER: &str = "causerie_product";

/// A variable that no template sets.
const UNSET: &str = "causerie_unset";

/// Size limit of a template in bytes; real templates have some thousand.
const MAX_SOURCE: usize = 1 << 20;
/// Limits of the tags of a template, of the tokens of a tag, and of all tokens. They limit the nesting, and so the stack that the template
/// engine needs, and the time to compile a template, which grows with the square of a tag's tokens.
const MAX_TAGS: usize = 4096;
const MAX_TOKENS: usize = 1024;
const MAX_TOKENS_IN_ALL: usize = 128 << 10;

/// The prepared source, or the reason for refusing it. Invalid syntax is left unchanged, so that the engine reports it.
pub(super) fn prepare(source: &str) -> Result<String, &'static str> {
    if MAX_SOURCE < source.len() {
        return Err("it must have at most 1 MiB");
    }
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    let (mut n_tags, mut n_tokens) = (0, 0);
    let mut macros = MacroNames::default();
    while let Some((before, tag, after)) = next_tag(rest) {
        out.push_str(before);
        let tag = &*with_plain_strings(tag, &token_ranges(tag))?;
        let tokens = token_ranges(tag);
        n_tags += 1;
        n_tokens += tokens.len();
        if MAX_TAGS < n_tags || MAX_TOKENS < tokens.len() || MAX_TOKENS_IN_ALL < n_tokens {
            return Err("it must have at most 4096 tags with at most 1024 tokens each, and 131072 tokens in all");
        }
        match tokens.first().map(|token| &tag[token.clone()]) {
            Some("generation") if tag.starts_with("{%") => out.push_str(&replaced(tag, &tokens[0], "if true")),
            Some("endgeneration") if tag.starts_with("{%") => out.push_str(&replaced(tag, &tokens[0], "endif")),
            Some("raw") if tag.starts_with("{%") => {
                let length = raw_length(after);
                out.push_str(&with_kept_line_feed(tag));
                out.push_str(&after[..length]);
                rest = &after[length..];
                continue;
            }
            _ => {
                macros.check(&TagTokens::new(tag, &tokens))?;
                for tag in with_late_defaults(tag, &tokens).unwrap_or_else(|| vec![tag.to_owned()]) {
                    out.push_str(&prepared(&tag)?);
                }
            }
        }
        rest = after;
    }
    Ok(out + rest)
}

/// A tag with its operators replaced, and guarded.
fn prepared(tag: &str) -> Result<String, &'static str> {
    let tokens = token_ranges(tag);
    TagTokens::new(tag, &tokens).check()?;
    Ok(match without_python_operators(tag, &tokens) {
        Some(tag) => guarded(&tag, &token_ranges(&tag)),
        None => guarded(tag, &tokens),
    })
}

/// The tag that opens a macro, and tags that set those arguments whose default mentions an earlier argument; `None` if there are
/// no such defaults.
fn with_late_defaults(tag: &str, ranges: &[Range<usize>]) -> Option<Vec<String>> {
    let tokens = TagTokens::new(tag, ranges);
    let end = tokens.group_end(2);
    if tokens.statement() != "macro" || tokens.at(2) != "(" || tokens.at(end) != ")" {
        return None;
    }
    let (mut opening, mut copied) = (String::new(), 0);
    let mut late = Vec::new();
    let mut earlier = BTreeSet::new();
    let mut start = 3;
    while start < end {
        let argument_end = tokens.argument_end(start).min(end);
        let default = start + 2..argument_end;
        let mentions_earlier = |i: usize| earlier.contains(tokens.at(i)) && !tokens.is_attribute(i);
        if tokens.at(start + 1) == "=" && !default.is_empty() && default.clone().any(mentions_earlier) {
            let bytes = ranges[default.start].start..ranges[default.end - 1].end;
            opening.push_str(&tag[copied..bytes.start]);
            opening.push_str(UNSET);
            copied = bytes.end;
            let name = tokens.at(start);
            let default = &tag[bytes];
            late.push(format!("{{% if {name} is undefined %}}"));
            late.push(format!("{{% set {name} = ({default}) %}}"));
            late.push("{% endif %}".to_owned());
        }
        earlier.insert(tokens.at(start));
        start = argument_end + 1;
    }
    // The last tag keeps the control of the whitespace after the first one.
    let closing = &tag[ranges.last()?.end..];
    *late.last_mut()? = format!("{{% endif{closing}");
    opening.push_str(&tag[copied..ranges.last()?.end]);
    opening.push_str(" %}");
    late.insert(0, opening);
    Some(late)
}

/// The names of surplus arguments that each open macro, or block of a call, defines itself. The engine does not set them as
/// Jinja2 does: it refuses surplus arguments.
#[derive(Default)]
struct MacroNames(Vec<Vec<&'static str>>);

impl MacroNames {
    fn check(&mut self, tag: &TagTokens<'_>) -> Result<(), &'static str> {
        const SURPLUS: [(&str, &str); 2] = [
            ("varargs", "varargs of macros are not supported, only arguments with names"),
            ("kwargs", "kwargs of macros are not supported, only arguments with names"),
        ];
        let header_end = match tag.statement() {
            "macro" => tag.len(),
            "call" if tag.at(1) == "(" => tag.group_end(1),
            _ => tag.targets_end(),
        };
        let mut defined = Vec::new();
        for i in 0..tag.len() {
            let Some((name, reason)) = SURPLUS.iter().find(|(name, _)| tag.at(i) == *name && !tag.is_attribute(i))
            else {
                continue;
            };
            let is_argument = tag.at(i + 1) == "=";
            if i < header_end || is_argument && tag.statement() == "with" {
                defined.push(*name);
            } else if !is_argument && self.0.last().is_some_and(|known| !known.contains(name)) {
                return Err(reason);
            }
        }
        match tag.statement() {
            "macro" | "call" => self.0.push(defined),
            "endmacro" | "endcall" => drop(self.0.pop()),
            _ => self.0.last_mut().into_iter().for_each(|known| known.append(&mut defined)),
        }
        Ok(())
    }
}

/// The text before the next tag, the tag with its delimiters, and the source after it. A comment counts as text.
fn next_tag(source: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let start = from + source[from..].find('{')?;
        let close = match source[start..].get(..2) {
            Some("{%") => "%}",
            Some("{{") => "}}",
            Some("{#") => {
                from = start + 2 + source[start + 2..].find("#}")? + 2;
                continue;
            }
            _ => {
                from = start + 1;
                continue;
            }
        };
        let end = tag_end(source, start + 2, close)?;
        return Some((&source[..start], &source[start..end], &source[end..]));
    }
}

/// The end of the delimiter that closes a tag: the first one outside strings and brackets.
fn tag_end(source: &str, from: usize, close: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = from;
    while at < source.len() {
        let byte = source.as_bytes()[at];
        if depth == 0 && source[at..].starts_with(close) {
            return Some(at + close.len());
        }
        match byte {
            b'"' | b'\'' => at = string_end(source, at)?,
            b'(' | b'[' | b'{' => (depth, at) = (depth + 1, at + 1),
            b')' | b']' | b'}' => (depth, at) = (depth.saturating_sub(1), at + 1),
            _ => at += source[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    None
}

/// The tag that opens raw text. The engine drops the line feed after it as after other tags, Jinja2 does not.
fn with_kept_line_feed(tag: &str) -> String {
    let inside =
        tag.strip_suffix("%}").filter(|inside| !inside.ends_with('-')).map(|inside| inside.trim_end_matches('+'));
    inside.map_or_else(|| tag.to_owned(), |inside| format!("{inside}+%}}"))
}

/// The length of the raw text after `{% raw %}`.
fn raw_length(source: &str) -> usize {
    let is_end = |(at, _): &(usize, &str)| {
        let word = source[at + 2..].trim_start_matches(['-', '+']).trim_start();
        word.starts_with("endraw")
    };
    source.match_indices("{%").find(is_end).map_or(source.len(), |(at, _)| at)
}

/// The tag without the operators that the template engine lacks or does not limit; `None` if there are none. Filters take the
/// place of each `%` and `*`. A `+` without a left operand changes nothing.
fn without_python_operators(tag: &str, ranges: &[Range<usize>]) -> Option<String> {
    let tokens = TagTokens::new(tag, ranges);
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for i in 0..tokens.len().saturating_sub(1) {
        if tokens.at(i) == "+" && (i == 0 || !ends_operand(tokens.at(i - 1))) {
            edits.push((ranges[i].clone(), String::new()));
        }
        let filter = match tokens.at(i) {
            "%" => PERCENT_FILTER,
            "*" => PRODUCT_FILTER,
            _ => continue,
        };
        if i == 0 || !ends_operand(tokens.at(i - 1)) {
            continue;
        }
        let (operand, start) = (tokens.operand_start(i - 1), tokens.factors_start(i - 1));
        if tokens.is_test(operand) || 0 < operand && tokens.is_test(operand - 1) {
            continue;
        }
        let (open, close) = if start < operand { ("(", ")") } else { ("", "") };
        let end = tokens.power_end(i + 1);
        edits.push((ranges[start].start..ranges[start].start, open.to_owned()));
        edits.push((ranges[i - 1].end..ranges[i + 1].start, format!("{close}|{filter}(")));
        edits.push((ranges[end].end..ranges[end].end, ")".to_owned()));
    }
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(tag.len());
    let mut copied = 0;
    for (range, text) in &edits {
        out.push_str(tag.get(copied..range.start)?); // edits overlap in invalid syntax
        out.push_str(text);
        copied = range.end;
    }
    (!edits.is_empty()).then(|| out + &tag[copied..])
}

fn replaced(tag: &str, word: &Range<usize>, by: &str) -> String {
    format!("{}{by}{}", &tag[..word.start], &tag[word.end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_operators_become_filters() {
        for (source, expect) in [
            ("{{ '%s' % a }}", "{{ '%s'|causerie_percent(a) }}"),
            ("{{ '%s' % ('a' % b.c) ~ d }}", "{{ '%s'|causerie_percent(('a'|causerie_percent(b.c))) ~ d }}"),
            ("{% set a = 'b' % c | upper %}", "{% set a = 'b'|causerie_percent(c | upper) %}"),
            ("{{ a.b[0] % 2 * c }}", "{{ (a.b[0]|causerie_percent(2))|causerie_product(c) }}"),
            ("{{ d - 2 * '%s' % a }}", "{{ d - (2|causerie_product('%s'))|causerie_percent(a) }}"),
            ("{{ a * b ** 2 / -c|d * e|f(g) }}", "{{ (a|causerie_product(b ** 2) / -c|d)|causerie_product(e|f(g)) }}"),
            ("{{ d and -a // b ** c % e }}", "{{ d and (-a // b ** c)|causerie_percent(e) }}"),
            ("{{ a % b % c }}", "{{ (a|causerie_percent(b))|causerie_percent(c) }}"),
            ("{{ +a % +b % c }}", "{{ (a|causerie_percent(b))|causerie_percent(c) }}"),
            ("{{ 'a' % 2 ** -b ** 3 - 1 }}", "{{ 'a'|causerie_percent(2 ** -b ** 3) - 1 }}"),
        ] {
            assert_eq!(without_python_operators(source, &token_ranges(source)).as_deref(), Some(expect));
        }
        for source in ["{{ 'a' % }}", "{{ % a }}", "{{ a % .b % c }}", "{{ a is b % c }}", "{% if 'a' %}"] {
            assert_eq!(without_python_operators(source, &token_ranges(source)), None, "{source}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { cases: 4096, failure_persistence: None, ..Default::default() })]
        #[test]
        fn any_order_of_operators_is_rewritten_or_left(words in proptest::collection::vec(
            proptest::sample::select("a a a a % % % % + - * ** // ( ) [ ] { } . , | is not if".split(' ').collect::<Vec<_>>()),
            0..12,
        )) {
            let tag = format!("{{{{ {} }}}}", words.join(" "));
            let rewritten = without_python_operators(&tag, &token_ranges(&tag)).unwrap_or(tag);
            proptest::prop_assert!(rewritten.starts_with("{{") && rewritten.ends_with("}}"), "{rewritten}");
        }
    }

    #[test]
    fn a_plus_without_a_left_operand_is_left_out() {
        for (source, expect) in [("{{ +a - (+b) }}", "{{ a - (b) }}"), ("{% if +c %}", "{% if c %}")] {
            assert_eq!(without_python_operators(source, &token_ranges(source)).as_deref(), Some(expect));
        }
        for source in ["{{ a + b }}", "{{+ a }}", "{{ 'a' + 'b' }}", "{{ [a] + (b) +}}"] {
            assert_eq!(without_python_operators(source, &token_ranges(source)), None, "{source}");
        }
    }

    #[test]
    fn defaults_that_mention_earlier_arguments_are_set_in_the_macro() {
        let prepared = |source: &str| prepare(source).unwrap();
        assert_eq!(
            prepared("{%- macro m(a, b=a, c='x', d=[b.a]) -%} {% endmacro %}"),
            "{%- macro m(a, b=causerie_unset, c='x', d=causerie_unset) %}{% if b is undefined %}{% set b = (a) %}{% endif %}\
             {% if d is undefined %}{% set d = ([b.a]|causerie_nested) %}{% endif -%} {% endmacro %}"
        );
        for source in
            ["{% macro m(a, b=c.a, c='a') %}", "{% macro m(a=a) %}", "{% macro m(a, b=) %}", "{% macro m(a, b=a %}"]
        {
            assert_eq!(prepared(source), source);
        }
    }

    #[test]
    fn surplus_arguments_of_macros_are_refused_by_name() {
        let fault = |source: &str| prepare(source).err().unwrap_or_default();
        for source in [
            "{% macro m(a) %}{{ varargs }}{% endmacro %}",
            "{% macro m() %}{% for a in varargs[1:] %}{% endfor %}{% endmacro %}",
            "{% macro m(varargs) %}{% endmacro %}{% macro n() %}{{ f(*varargs) }}{% endmacro %}",
            "{% call m() %}{{ varargs | length }}{% endcall %}",
        ] {
            assert!(fault(source).starts_with("varargs of macros"), "{source}");
        }
        for source in [
            "{% macro m() %}{{ f(a=1, **kwargs) }}{% endmacro %}",
            "{% macro m() %}{% call(a) n(**kwargs) %}{% endcall %}{% endmacro %}",
            "{% macro m() %}{% with a = kwargs %}{% endwith %}{% endmacro %}",
        ] {
            assert!(fault(source).starts_with("kwargs of macros"), "{source}");
        }
        for source in [
            "{{ kwargs }}{% macro m(kwargs={}) %}{{ kwargs }}{{ a.varargs }}{{ f(varargs=1) }}{% endmacro %}{{ varargs }}",
            "{% macro m() %}{% set kwargs = 1 %}{{ kwargs }}{% endmacro %}",
            "{% macro m() %}{% for varargs in a %}{{ varargs }}{% endfor %}{{ 'kwargs' }}{% endmacro %}",
            "{% macro m() %}{% with kwargs = 1 %}{{ kwargs }}{% endwith %}{% endmacro %}",
            "{% macro m() %}{% call(kwargs) n() %}{{ kwargs }}{% endcall %}{% endmacro %}",
        ] {
            assert!(prepare(source).is_ok(), "{source}");
        }
    }

    #[test]
    fn the_generation_tag_becomes_a_condition() {
        assert_eq!(
            prepare("{%- generation -%}a{% endgeneration +%}{{ generation }}").unwrap(),
            "{%- if true -%}a{% endif +%}{{ generation }}"
        );
    }
}
