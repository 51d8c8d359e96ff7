//! Numbers in the schema of a reply that llguidance would not follow: it computes with floats.

use serde_json::{Map, Value as Json, json};

use crate::constrain::GrammarFault;

/// The limit of integers: a value that fits 64 bits and is exact as a float.
const FARTHEST: f64 = 9e18;

/// How far a limit is moved, as a share of the range.
const INSIDE: f64 = 1e-6;

/// Refuses limits and values that would become others.
///
/// # Errors
/// A [`GrammarFault`] that names the place and the keyword.
pub(super) fn check(keywords: &Map<String, Json>, place: &str) -> Result<(), GrammarFault> {
    let number = |keyword: &str| keywords.get(keyword).and_then(Json::as_f64);
    let refused = |keyword: &str| {
        GrammarFault::new(format!("{place} has the keyword {keyword:?}, which cannot be enforced for this value"))
    };
    let is_far = |keyword: &&&str| match **keyword {
        "minimum" | "exclusiveMinimum" => number(keyword).is_some_and(|limit| FARTHEST < limit),
        _ => number(keyword).is_some_and(|limit| limit < -FARTHEST),
    };
    if let Some(keyword) = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"].iter().find(is_far) {
        return Err(refused(keyword));
    }
    match ["const", "enum"].iter().find(|keyword| keywords.get(**keyword).is_some_and(|value| !is_exact(value))) {
        Some(keyword) => Err(refused(keyword)),
        None => Ok(()),
    }
}

/// The keyword and the limit in place of an exclusive one. Where both limits have the same whole part, and the exclusive one is
/// whole, llguidance lets a number be that limit. A limit a little inside takes its place.
pub(super) fn inside(keywords: &Map<String, Json>, keyword: &str) -> Option<(&'static str, Json)> {
    let number = |keyword: &str| keywords.get(keyword).and_then(Json::as_f64);
    let (name, limit, other) = match keyword {
        "exclusiveMinimum" => ("minimum", number(keyword)?, number("maximum").or_else(|| number("exclusiveMaximum"))?),
        _ => ("maximum", number(keyword)?, number("minimum").or_else(|| number("exclusiveMinimum"))?),
    };
    let lets_limit = limit.fract() == 0.0 && limit.trunc() == other.trunc() && limit != other;
    (lets_limit && !keywords.contains_key(name)).then(|| (name, json!(limit + (other - limit) * INSIDE)))
}

/// Whether all integers in a value are exact as floats.
fn is_exact(value: &Json) -> bool {
    match value {
        Json::Number(number) => match (number.as_i128(), number.as_f64()) {
            // Exact: a float of this size is an integer that fits 128 bits.
            (Some(integer), Some(float)) => float as i128 == integer,
            _ => true,
        },
        Json::Array(items) => items.iter().all(is_exact),
        Json::Object(entries) => entries.values().all(is_exact),
        _ => true,
    }
}

/// A number with a zero fraction as an integer; llguidance takes no others as counts.
pub(super) fn whole(value: &Json) -> Json {
    let whole = value.as_f64().filter(|count| count.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(count));
    whole.map_or_else(|| value.clone(), |count| json!(count as u32)) // exact: whole, and in range
}
