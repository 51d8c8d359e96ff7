//! Rejects numbers in a reply's schema that llguidance, which computes in f64, would enforce wrongly.

use std::borrow::Cow;

use serde_json::{Map, Value as Json, json};

use crate::constrain::fault::GrammarFault;

/// The limit of integers: a value that fits 64 bits and is exact as a float.
const MAX_INTEGER: f64 = 9e18;

/// How far a limit is moved, as a share of the range.
const INSIDE: f64 = 1e-6;

/// The keywords with limits that llguidance can compute with: one that every 64-bit float meets is left out, another one beyond
/// [`MAX_INTEGER`] takes its place there.
pub(super) fn clamped(keywords: &Map<String, Json>) -> Cow<'_, Map<String, Json>> {
    let mut clamped = Cow::Borrowed(keywords);
    for (keyword, side) in [("minimum", -1.0), ("exclusiveMinimum", -1.0), ("maximum", 1.0), ("exclusiveMaximum", 1.0)]
    {
        // How far the limit lies on the side where it excludes little.
        match keywords.get(keyword).and_then(Json::as_f64).map(|limit| limit * side) {
            Some(distance) if f64::MAX <= distance => drop(clamped.to_mut().shift_remove(keyword)),
            Some(distance) if MAX_INTEGER < distance => {
                clamped.to_mut().insert(keyword.to_owned(), json!(MAX_INTEGER * side));
            }
            _ => {}
        }
    }
    clamped
}

/// Rejects limits and constants that f64 cannot hold exactly.
///
/// # Errors
/// A [`GrammarFault`] that names the place and the keyword.
pub(super) fn check(keywords: &Map<String, Json>, place: &str) -> Result<(), GrammarFault> {
    let number = |keyword: &str| keywords.get(keyword).and_then(Json::as_f64);
    let refused = |keyword: &str| {
        GrammarFault::new(format!("{place} has the keyword {keyword:?}, which cannot be enforced for this value"))
    };
    let is_changed = |keyword: &&&str| {
        let is_far = number(keyword).is_some_and(|limit| match **keyword {
            "minimum" | "exclusiveMinimum" => MAX_INTEGER < limit,
            _ => limit < -MAX_INTEGER,
        });
        is_far || keywords.get(**keyword).is_some_and(is_rounded)
    };
    if let Some(keyword) = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"].iter().find(is_changed) {
        return Err(refused(keyword));
    }
    match ["const", "enum"].iter().find(|keyword| keywords.get(**keyword).is_some_and(|value| !is_exact(value))) {
        Some(keyword) => Err(refused(keyword)),
        None => Ok(()),
    }
}

/// Replaces an exclusive limit by an inclusive one slightly inside of it, because llguidance accepts the limit itself if it is an
/// integer and both limits share their integer part.
pub(super) fn inside(keywords: &Map<String, Json>, keyword: &str) -> Option<(&'static str, Json)> {
    let number = |keyword: &str| keywords.get(keyword).and_then(Json::as_f64);
    let (name, limit, other) = match keyword {
        "exclusiveMinimum" => ("minimum", number(keyword)?, number("maximum").or_else(|| number("exclusiveMaximum"))?),
        _ => ("maximum", number(keyword)?, number("minimum").or_else(|| number("exclusiveMinimum"))?),
    };
    let lets_limit = limit.fract() == 0.0 && limit.trunc() == other.trunc() && limit != other;
    (lets_limit && !keywords.contains_key(name)).then(|| (name, json!(limit + (other - limit) * INSIDE)))
}

/// The limit of an integer, moved to where llguidance can compute with it: it negates limits of 64 bits.
pub(super) fn near(limit: &Json) -> Json {
    match limit.as_f64() {
        Some(far) if MAX_INTEGER < far.abs() => json!(MAX_INTEGER.copysign(far) as i64), // exact, and in range
        _ => limit.clone(),
    }
}

/// Whether every number in a value survived the conversion to f64. One beyond the limit may have been written as an integer that
/// f64 cannot hold.
fn is_exact(value: &Json) -> bool {
    match value {
        Json::Number(number) => number.as_f64().is_some_and(|number| number.abs() <= MAX_INTEGER) && !is_rounded(value),
        Json::Array(items) => items.iter().all(is_exact),
        Json::Object(entries) => entries.values().all(is_exact),
        _ => true,
    }
}

/// Whether a value is an integer within the limit that no float holds.
fn is_rounded(value: &Json) -> bool {
    let is_within = |integer: &i64| integer.unsigned_abs() <= MAX_INTEGER as u64; // exact
    value.as_i64().filter(is_within).is_some_and(|integer| integer as f64 as i64 != integer) // rounding is the question
}

/// A number with a zero fraction as an integer; llguidance takes no others as counts.
pub(super) fn whole(value: &Json) -> Json {
    let whole = value.as_f64().filter(|count| count.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(count));
    whole.map_or_else(|| value.clone(), |count| json!(count as u32)) // exact: whole, and in range
}
