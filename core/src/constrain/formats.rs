//! The formats of strings that grammars enforce. All others are notes to the reader of a schema.

/// The formats that llguidance enforces itself.
const BY_ENGINE: [&str; 7] = ["date", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"];

/// A date of RFC 3339.
const DATE: &str = "[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|[12][0-9]))";
/// A time of RFC 3339. A small model would continue the digits of a fraction without an end, so there are nine at most.
const TIME: &str =
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?:[Zz]|[+\-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
/// A duration of RFC 3339, with nine digits at most in each number.
const DURATION: &str = "P(?:[0-9]{1,9}W|(?:[0-9]{1,9}Y(?:[0-9]{1,9}M(?:[0-9]{1,9}D)?)?|[0-9]{1,9}M(?:[0-9]{1,9}D)?|[0-9]{1,9}D)(?:T(?:[0-9]{1,9}H(?:[0-9]{1,9}M(?:[0-9]{1,9}S)?)?|[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S))?|T(?:[0-9]{1,9}H(?:[0-9]{1,9}M(?:[0-9]{1,9}S)?)?|[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S))";

pub(super) fn is_enforced(format: &str) -> bool {
    BY_ENGINE.contains(&format) || pattern_of(format).is_some()
}

/// The pattern of a format whose strings could have any length; `None` for other formats.
pub(super) fn pattern_of(format: &str) -> Option<String> {
    match format {
        "date-time" => Some(format!("^{DATE}[Tt]{TIME}$")),
        "time" => Some(format!("^{TIME}$")),
        "duration" => Some(format!("^{DURATION}$")),
        _ => None,
    }
}
