//! The source of a chat template, made ready for the template engine.
//!
//! Templates mark the model's own turns with `{% generation %}` for training; for a prompt the tag means nothing. It
//! becomes a condition that holds, which keeps the tag's control of white space.
//!
//! The operators `~`, `+` and `*` copy text, and a few of them in a loop make more than any memory holds. The engine
//! counts steps, not bytes; so filters that count bytes are put behind both operands of each. A slice of a list looks
//! its items up in the list behind it, and slices of slices take ever longer; so a filter behind each makes it a list.
//! And a list that holds another twice, over and over, is small, but takes ever longer to compare; so lists are measured.

use std::collections::BTreeMap;
use std::ops::Range;

/// The filters behind operands of `~`, of `+`, and of `*`.
pub(super) const OPERAND_FILTERS: [&str; 3] = ["causerie_text", "causerie_term", "causerie_factor"];
/// The filters behind a slice, and behind a list, a tuple or a map that is written out.
pub(super) const SLICE_FILTER: &str = "causerie_slice";
pub(super) const LIST_FILTER: &str = "causerie_list";

/// Bytes of a template; real ones have some thousand.
const LONGEST: usize = 1 << 20;
/// Tags of a template, and tokens of a tag. They bound how deep a template can nest, and so the stack that it takes.
const MOST_TAGS: usize = 4096;
const MOST_TOKENS: usize = 4096;

/// The prepared source, or why it is none. What is no template stays what it is: the engine says what is wrong with it.
pub(super) fn prepare(source: &str) -> Result<String, &'static str> {
    if LONGEST < source.len() {
        return Err("it is longer than 1 MiB");
    }
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    let mut n_tags = 0;
    while let Some((before, tag, behind)) = next_tag(rest) {
        out.push_str(before);
        let words = tokens(tag);
        n_tags += 1;
        if MOST_TAGS < n_tags || MOST_TOKENS < words.len() {
            return Err("it has too many tags, or too much in one");
        }
        match words.first().map(|word| &tag[word.clone()]) {
            Some("generation") if tag.starts_with("{%") => out.push_str(&replaced(tag, &words[0], "if true")),
            Some("endgeneration") if tag.starts_with("{%") => out.push_str(&replaced(tag, &words[0], "endif")),
            Some("raw") if tag.starts_with("{%") => {
                let length = raw_length(behind);
                out.push_str(tag);
                out.push_str(&behind[..length]);
                rest = &behind[length..];
                continue;
            }
            _ => out.push_str(&guarded(tag, &words)),
        }
        rest = behind;
    }
    Ok(out + rest)
}

/// The text before the next tag, the tag with its delimiters, and what stands behind it. A comment counts as text.
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

/// Behind the delimiter that closes a tag: the first outside of strings and brackets.
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

/// Behind the string that starts at `open`.
fn string_end(source: &str, open: usize) -> Option<usize> {
    let quote = source.as_bytes()[open];
    let mut is_escaped = false;
    for (at, byte) in source.bytes().enumerate().skip(open + 1) {
        if byte == quote && !is_escaped {
            return Some(at + 1);
        }
        is_escaped = byte == b'\\' && !is_escaped;
    }
    None
}

/// How far what stands behind `{% raw %}` is raw text.
fn raw_length(behind: &str) -> usize {
    let is_end = |(at, _): &(usize, &str)| {
        let word = behind[at + 2..].trim_start_matches(['-', '+']).trim_start();
        word.starts_with("endraw")
    };
    behind.match_indices("{%").find(is_end).map_or(behind.len(), |(at, _)| at)
}

/// The tokens between a tag's delimiters.
fn tokens(tag: &str) -> Vec<Range<usize>> {
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
            '*' if rest.starts_with("**") => 2,
            _ => first.len_utf8(),
        };
        if !first.is_whitespace() {
            tokens.push(at..at + length);
        }
        at += length;
    }
    tokens
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

fn replaced(tag: &str, word: &Range<usize>, by: &str) -> String {
    format!("{}{by}{}", &tag[..word.start], &tag[word.end..])
}

/// The tag with filters behind what copies, and behind lists.
fn guarded(tag: &str, tokens: &[Range<usize>]) -> String {
    let text = |i: usize| tokens.get(i).map_or("", |token| &tag[token.clone()]);
    let mut filters: BTreeMap<usize, Vec<&str>> = BTreeMap::new(); // by where they are put
    let mut put = |i: usize, filter: &'static str| {
        let here = filters.entry(tokens[i].end).or_default();
        // An operand between two operators gets one.
        if !here.contains(&filter) {
            here.push(filter);
        }
    };
    for i in targets_end(&text, tokens.len())..tokens.len() {
        let follows_operand = 0 < i && ends_operand(text(i - 1));
        let end = group_end(&text, tokens.len(), i);
        let holds = |wanted: &str| (i..end).any(|at| text(at) == wanted);
        match text(i) {
            "[" if follows_operand && holds(":") => put(end, SLICE_FILTER),
            "[" | "{" if !follows_operand => put(end, LIST_FILTER),
            "(" if !follows_operand && holds(",") => put(end, LIST_FILTER),
            _ => {}
        }
    }
    for (i, token) in tokens.iter().enumerate().skip(1) {
        let filter = match &tag[token.clone()] {
            "~" => OPERAND_FILTERS[0],
            "+" => OPERAND_FILTERS[1],
            "*" => OPERAND_FILTERS[2],
            _ => continue,
        };
        if ends_operand(text(i - 1)) {
            put(i - 1, filter);
            put(operand_end(&text, tokens.len(), i + 1), filter);
        }
    }
    let mut out = String::with_capacity(tag.len());
    let mut copied = 0;
    for (at, filters) in filters {
        out.push_str(&tag[copied..at]);
        for filter in filters {
            out.push('|');
            out.push_str(filter);
        }
        copied = at;
    }
    out + &tag[copied..]
}

/// The first token behind what a loop or an assignment gives names to: a tuple there is none.
fn targets_end<'a>(text: &impl Fn(usize) -> &'a str, n_tokens: usize) -> usize {
    let behind = match text(0) {
        "for" => "in",
        "set" => "=",
        _ => return 0,
    };
    (0..n_tokens).find(|i| text(*i) == behind).unwrap_or(n_tokens)
}

/// Whether an operator behind a token has an operand there, and is no sign.
fn ends_operand(token: &str) -> bool {
    const KEYWORDS: [&str; 8] = ["in", "not", "and", "or", "if", "else", "is", "elif"];
    token.ends_with([')', ']', '}', '"', '\'']) || token.ends_with(is_word) && !KEYWORDS.contains(&token)
}

/// The last token of the operand that starts with token `i`: a literal, a name or a group, and what is attached to it.
fn operand_end<'a>(text: &impl Fn(usize) -> &'a str, n_tokens: usize, mut i: usize) -> usize {
    let last = n_tokens - 1;
    while matches!(text(i), "-" | "+" | "not") {
        i += 1;
    }
    i = group_end(text, n_tokens, i);
    loop {
        i = match text(i + 1) {
            "." | "|" => group_end_behind_word(text, n_tokens, i + 2),
            "(" | "[" => group_end(text, n_tokens, i + 1),
            _ => return i.min(last),
        };
    }
}

/// The word at token `i`, or the end of the arguments behind it.
fn group_end_behind_word<'a>(text: &impl Fn(usize) -> &'a str, n_tokens: usize, i: usize) -> usize {
    if text(i + 1) == "(" { group_end(text, n_tokens, i + 1) } else { i }
}

/// The bracket that closes the one at token `i`; the token itself if it is no bracket.
fn group_end<'a>(text: &impl Fn(usize) -> &'a str, n_tokens: usize, i: usize) -> usize {
    let mut depth = 0usize;
    for at in i..n_tokens {
        match text(at) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    n_tokens.max(1) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The prepared source, with short names for the filters.
    fn short(source: &str) -> String {
        let names = OPERAND_FILTERS.iter().chain([&SLICE_FILTER, &LIST_FILTER]).zip(["t", "p", "f", "s", "l"]);
        names.fold(prepare(source).unwrap(), |source, (name, short)| source.replace(name, short))
    }

    #[test]
    fn both_operands_are_counted() {
        for (source, expect) in [
            ("{{ a ~ b }}", "{{ a|t ~ b|t }}"),
            ("{{- a+b.c['+'](d)|trim ~ 'x' -}}", "{{- a|p+b.c['+'](d)|trim|p|t ~ 'x'|t -}}"),
            ("{% set a = x + (y + z)[1:] %}", "{% set a = x|p + (y|p + z|p)[1:]|s|p %}"),
            ("{%+ if -a * +b is string +%}", "{%+ if -a|f * +b|f is string +%}"),
            ("{{ f(**k) }} a + b {# c ~ d #} {{ '~' }}", "{{ f(**k) }} a + b {# c ~ d #} {{ '~' }}"),
            ("{% raw %}{{ a + b }}{% endraw %}{{ a + b }}", "{% raw %}{{ a + b }}{% endraw %}{{ a|p + b|p }}"),
            ("{{ {'}}': 1 + 2} }}", "{{ {'}}': 1|p + 2|p}|l }}"),
            ("{% for a in b[::-1] %}{{ c[d[1:]:2].e[0] }}", "{% for a in b[::-1]|s %}{{ c[d[1:]|s:2]|s.e[0] }}"),
            ("{% for (a, b) in [(1, 2)] + c %}", "{% for (a, b) in [(1, 2)|l]|l|p + c|p %}"),
            ("{% set a, b = (c), {} %}{{ f(a, [b]) }}", "{% set a, b = (c), {}|l %}{{ f(a, [b]|l) }}"),
            ("{{ a if b else -1 }}{{ loop.index0 + 1 }}", "{{ a if b else -1 }}{{ loop.index0|p + 1|p }}"),
        ] {
            assert_eq!(short(source), expect);
        }
    }

    #[test]
    fn the_generation_tag_becomes_a_condition() {
        assert_eq!(
            prepare("{%- generation -%}a{% endgeneration +%}{{ generation }}").unwrap(),
            "{%- if true -%}a{% endif +%}{{ generation }}"
        );
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
