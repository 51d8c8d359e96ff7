//! The formats of strings that grammars enforce. All others are notes to the reader of a schema.
//!
//! Numbers of digits, labels and the like have a limit where the standard sets none: a small model would go on without an end.

use llguidance::derivre::{RegexAst, RegexBuilder};
use llguidance::regex_to_lark;
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::validate::{is_pattern, matches_all};

/// Patterns that every string matches.
const EVERYTHING: [&str; 11] = ["", "^", "$", ".*", "^.*", ".*$", "[^]*", "^[^]*$", "[\\s\\S]*", "^[\\s\\S]*$", "(?:)"];

/// Strings of a format that are compared with a pattern.
const N_SAMPLES: u64 = 64;

/// States of an automaton that are visited to find out whether a format and a pattern have a string in common.
const MAX_STATES: u64 = 4_000;

/// Whether a pattern matches every string.
pub(super) fn matches_everything(pattern: &str) -> bool {
    EVERYTHING.contains(&pattern)
}

/// The patterns that express the `pattern` and the `format` of a schema together. The format counts beside a pattern if both
/// can be met: it limits numbers of digits and the like, where many patterns do not. It stands for a pattern that no grammar
/// can follow, if its strings, or the strings of a narrower form of it, match that pattern.
pub(super) fn patterns(pattern: Option<&str>, format: Option<&str>) -> Vec<String> {
    let pattern = pattern.filter(|pattern| !matches_everything(pattern));
    let expression = format.and_then(expression_of);
    match (pattern, expression) {
        (Some(pattern), Some(expression)) if is_supported(pattern) => {
            let format = whole(&expression);
            let both = can_be_met(pattern, &format).then_some(format);
            [pattern.to_owned()].into_iter().chain(both).collect()
        }
        (Some(pattern), Some(expression)) => {
            let forms = [Some(expression), format.and_then(narrow_expression_of)];
            let implies = |form: &String| matches_all(pattern, &samples(form));
            let form = forms.into_iter().flatten().find(implies);
            vec![form.map_or_else(|| pattern.to_owned(), |form| whole(&form))]
        }
        (pattern, expression) => {
            pattern.map(str::to_owned).or_else(|| expression.map(|expression| whole(&expression))).into_iter().collect()
        }
    }
}

/// The same without a pattern that no grammar can follow.
pub(super) fn enforced_patterns(pattern: Option<&str>, format: Option<&str>) -> Vec<String> {
    let mut patterns = patterns(pattern, format);
    patterns.retain(|enforced| Some(enforced.as_str()) != pattern || is_supported(enforced));
    patterns
}

/// Whether llguidance supports a pattern: it has no lookahead, lookbehind, word boundary or backreference.
fn is_supported(pattern: &str) -> bool {
    let looks = ["(?=", "(?!", "(?<=", "(?<!", "\\b", "\\B"].iter().any(|look| pattern.contains(look));
    let refers = pattern.as_bytes().windows(2).any(|pair| pair[0] == b'\\' && (b'1'..=b'9').contains(&pair[1]));
    !looks && !refers && is_pattern(pattern)
}

/// Whether some string matches both patterns, as far as that can be seen.
fn can_be_met(one: &str, other: &str) -> bool {
    let search = |pattern: &str| RegexAst::SearchRegex(regex_to_lark(pattern, "dw"));
    let mut builder = RegexBuilder::new();
    let both = builder.mk(&RegexAst::And(vec![search(one), search(other)]));
    both.and_then(|both| builder.to_regex_limited(both, MAX_STATES)).is_ok_and(|mut both| !both.always_empty())
}

/// Strings of an expression: the shortest ones, the longest, and others, always the same.
fn samples(expression: &str) -> Vec<String> {
    let Ok(parsed) = regex_syntax::parse(expression) else { return Vec::new() };
    let mut samples = Vec::new();
    for seed in 0..N_SAMPLES {
        let mut sample = String::new();
        write_sample(&parsed, &mut Choices { seed, state: seed }, &mut sample);
        samples.push(sample);
    }
    samples
}

/// Choices that only depend on a seed.
struct Choices {
    seed: u64,
    state: u64,
}

impl Choices {
    /// A number below `n`.
    fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % n.max(1)
    }

    /// The number of repetitions: the least for the first seed, the most for the second.
    fn count(&mut self, least: u32, most: u32) -> u32 {
        match self.seed {
            0 => least,
            1 => most,
            _ => least + self.below(u64::from(most - least) + 1) as u32, // at most `most`
        }
    }
}

fn write_sample(expression: &Hir, choices: &mut Choices, sample: &mut String) {
    match expression.kind() {
        HirKind::Literal(literal) => sample.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(Class::Unicode(class)) => {
            let range = class.ranges()[choices.below(class.ranges().len() as u64) as usize];
            let (start, end) = (u32::from(range.start()), u32::from(range.end()));
            let code = start + choices.below(u64::from(end - start) + 1) as u32; // within the range
            sample.push(char::from_u32(code).unwrap_or(range.start()));
        }
        HirKind::Repetition(repetition) => {
            // Our own expressions have few repetitions without a limit.
            let most = repetition.max.unwrap_or(repetition.min + 16);
            for _ in 0..choices.count(repetition.min, most) {
                write_sample(&repetition.sub, choices, sample);
            }
        }
        HirKind::Capture(group) => write_sample(&group.sub, choices, sample),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write_sample(part, choices, sample)),
        HirKind::Alternation(parts) => {
            write_sample(&parts[choices.below(parts.len() as u64) as usize], choices, sample);
        }
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(Class::Bytes(_)) => {}
    }
}

/// The pattern of an expression of whole strings, as a schema writes it.
fn whole(expression: &str) -> String {
    format!("^(?:{expression})$")
}

/// The pattern of a format, as a schema writes it; `None` for formats that are not enforced.
pub(super) fn pattern_of(format: &str) -> Option<String> {
    expression_of(format).map(|expression| whole(&expression))
}

/// The regular expression of the whole strings of a format; `None` for formats that are not enforced.
pub(super) fn expression_of(format: &str) -> Option<String> {
    Some(match format {
        "date" => DATE.to_owned(),
        "time" => TIME.to_owned(),
        "date-time" => format!("{DATE}[Tt]{TIME}"),
        "duration" => DURATION.to_owned(),
        "uuid" => UUID.to_owned(),
        "ipv4" => ipv4(),
        "ipv6" => ipv6(),
        "hostname" => hostname(),
        "email" => format!("{ATOM}(?:\\.{ATOM}){{0,7}}@(?:{}|\\[{}\\])", hostname(), ipv4()),
        "uri" => uri(),
        _ => return None,
    })
}

/// The most common strings of a format: libraries write patterns for those, with look-ahead that no grammar can follow.
fn narrow_expression_of(format: &str) -> Option<String> {
    let label = "[A-Za-z0-9](?:[A-Za-z0-9\\-]{0,20}[A-Za-z0-9])?";
    let domain = format!(r"(?:{label}\.){{1,4}}[A-Za-z]{{2,16}}");
    let day = "[12][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])";
    let time = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]";
    Some(match format {
        "date" => day.to_owned(),
        "time" => format!("{time}Z"),
        "date-time" => format!("{day}T{time}Z"),
        "duration" => "P(?:[0-9]{1,4}D|T[0-9]{1,4}[HMS])".to_owned(),
        "uuid" => "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}".to_owned(),
        "ipv6" => "(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}".to_owned(),
        "hostname" => domain,
        "email" => format!(r"[A-Za-z0-9_]{{1,24}}(?:[.\-][A-Za-z0-9_]{{1,12}}){{0,3}}@{domain}"),
        "uri" => format!("https?://{domain}(?:/[A-Za-z0-9_]{{1,24}}){{0,6}}"),
        _ => return None,
    })
}

/// A date of RFC 3339, section 5.6, with February 29 in leap years only, and without the year 0, which not all platforms have.
const DATE: &str = "(?:(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29)";
/// A time of RFC 3339, section 5.6.
const TIME: &str =
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?:[Zz]|[+\-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
/// A duration of RFC 3339, appendix A.
const DURATION: &str = "P(?:[0-9]{1,9}W|(?:[0-9]{1,9}Y(?:[0-9]{1,9}M(?:[0-9]{1,9}D)?)?|[0-9]{1,9}M(?:[0-9]{1,9}D)?|[0-9]{1,9}D)(?:T(?:[0-9]{1,9}H(?:[0-9]{1,9}M(?:[0-9]{1,9}S)?)?|[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S))?|T(?:[0-9]{1,9}H(?:[0-9]{1,9}M(?:[0-9]{1,9}S)?)?|[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S))";
/// RFC 9562, section 4.
const UUID: &str = "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}";
/// A part of the local name of an address, without quotes: RFC 5322, section 3.2.3.
const ATOM: &str = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]{1,64}";

/// Four numbers up to 255: RFC 2673, section 3.2.
fn ipv4() -> String {
    let number = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    format!(r"{number}(?:\.{number}){{3}}")
}

/// The text forms of RFC 4291, section 2.2: `::` stands for one group of zeros or more, the last two may be an IPv4 address.
fn ipv6() -> String {
    let group = "[0-9A-Fa-f]{1,4}";
    let end = format!("(?:{group}:{group}|{})", ipv4());
    let mut forms = vec![format!("(?:{group}:){{6}}{end}")];
    // `::` is one group at least. So up to `before` groups precede it, and seven less `before` follow it, `end` being two.
    for before in 0..=5 {
        let groups = if before == 0 { String::new() } else { format!("(?:{group}(?::{group}){{0,{}}})?", before - 1) };
        forms.push(format!("{groups}::(?:{group}:){{{}}}{end}", 5 - before));
    }
    forms.push(format!("(?:{group}(?::{group}){{0,5}})?::{group}"));
    forms.push(format!("(?:{group}(?::{group}){{0,6}})?::"));
    forms.join("|")
}

/// Labels with dots between them: RFC 1123, section 2.1.
fn hostname() -> String {
    let label = r"[A-Za-z0-9](?:[A-Za-z0-9\-]{0,61}[A-Za-z0-9])?";
    format!(r"{label}(?:\.{label}){{0,9}}")
}

/// An address with a scheme: RFC 3986, section 3.
fn uri() -> String {
    let plain = r"A-Za-z0-9\-._~!$&'()*+,;=";
    let escaped = "%[0-9A-Fa-f]{2}";
    let in_path = format!("(?:[{plain}:@]|{escaped})");
    let in_query = format!("(?:[{plain}:@/?]|{escaped})*");
    let authority =
        format!(r"(?:(?:[{plain}:]|{escaped})*@)?(?:\[(?:{})\]|(?:[{plain}]|{escaped})*)(?::[0-9]{{0,5}})?", ipv6());
    let path =
        format!("//{authority}(?:/{in_path}*)*|/(?:{in_path}+(?:/{in_path}*)*)?|(?:{in_path}+(?:/{in_path}*)*)?");
    format!(r"[A-Za-z][A-Za-z0-9+\-.]{{0,31}}:(?:{path})(?:\?{in_query})?(?:#{in_query})?")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The patterns that zod writes for durations, host names (4.6) and addresses of mail (4.0).
    const DURATION_OF_ZOD: &str =
        r"^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$";
    const HOSTNAME_OF_ZOD: &str = r"^(?=.{1,253}\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\.?$";
    const EMAIL_OF_ZOD: &str =
        r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$";

    #[test]
    fn a_format_stands_for_a_pattern_that_it_implies() {
        let patterns = |pattern, format| patterns(Some(pattern), Some(format));
        assert_eq!(patterns(DURATION_OF_ZOD, "duration"), [whole(DURATION)]);
        assert_eq!(patterns(HOSTNAME_OF_ZOD, "hostname"), [whole(&narrow_expression_of("hostname").unwrap())]);
        assert_eq!(patterns(EMAIL_OF_ZOD, "email"), [whole(&narrow_expression_of("email").unwrap())]);
        for (pattern, format) in
            [("^(?!P1)", "duration"), ("^(?=.{1,5}$)", "hostname"), ("^(?=x)", "uuid"), (r"^(?!.*-0[1-9]-)", "date")]
        {
            assert_eq!(patterns(pattern, format), [pattern], "{format} does not imply it");
        }
        // It takes too many steps to find out.
        assert_eq!(patterns("^(?=(a|b|ab|[^ ])*$)(([^ ]+)+)+ $", "uri"), ["^(?=(a|b|ab|[^ ])*$)(([^ ]+)+)+ $"]);
    }

    #[test]
    fn a_format_counts_beside_a_pattern_that_it_can_meet() {
        assert_eq!(patterns(Some("^2026"), Some("date")), ["^2026".to_owned(), whole(DATE)]);
        assert_eq!(patterns(Some("^[0-9]{2}:[0-9]{2}$"), Some("time")), ["^[0-9]{2}:[0-9]{2}$"]);
        assert_eq!(patterns(Some("^a"), Some("of our own")), ["^a"]);
        assert_eq!(patterns(Some(".*"), Some("date")), [whole(DATE)]);
        assert_eq!(patterns(None, Some("date")), [whole(DATE)]);
        assert_eq!(patterns(Some(""), None), [""; 0]);
        assert_eq!(enforced_patterns(Some("(?=a)"), None), [""; 0]);
    }

    #[test]
    fn samples_are_strings_of_their_format_and_always_the_same() {
        for format in ["date", "time", "date-time", "duration", "uuid", "ipv4", "ipv6", "hostname", "email", "uri"] {
            for expression in [expression_of(format), narrow_expression_of(format)].into_iter().flatten() {
                let found = samples(&expression);
                assert_eq!(found, samples(&expression));
                for expression in [expression, expression_of(format).unwrap()] {
                    let whole = fancy_regex::Regex::new(&whole(&expression)).unwrap();
                    assert!(found.iter().all(|sample| whole.is_match(sample).unwrap()), "{format}");
                }
            }
        }
    }
}
