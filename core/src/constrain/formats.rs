//! The formats of strings that grammars enforce. All others are notes to the reader of a schema.
//!
//! Numbers of digits, labels and the like have a limit where the standard sets none: a small model would go on without an end.

/// The pattern of a format, as a schema writes it; `None` for formats that are not enforced.
pub(super) fn pattern_of(format: &str) -> Option<String> {
    expression_of(format).map(|expression| format!("^(?:{expression})$"))
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

/// A date of RFC 3339, section 5.6.
const DATE: &str = "[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|[12][0-9]))";
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
