//! Calls in Python syntax: `[get_weather(city="Oslo", days=3), ping()]`, with literals as arguments.

mod calls;
mod closings;
mod expression;
pub(super) mod literal;
pub(super) mod number;
mod recovery;
mod string;

pub(crate) use calls::is_name;
pub(super) use calls::{lexemes, name_of, read, read_paths};
pub(super) use recovery::recover;

use crate::function::Value;
use crate::parse::cursor::Cursor;
use crate::parse::limits::MAX_DEPTH;
use crate::parse::repairs::Repairs;
use closings::ValuePosition;
use literal::Literals;

/// Reads a text that is one literal.
pub(super) fn read_literal(text: &str) -> Option<(Value, Repairs)> {
    let mut literals = Literals::new(Cursor { text, at: 0 }, MAX_DEPTH);
    let value = literals.value(0, ValuePosition::Nested).ok()?;
    literals.cursor.rest().is_empty().then_some((value, literals.repairs))
}
