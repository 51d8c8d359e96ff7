//! Calls in Python syntax: `[get_weather(city="Oslo", days=3), ping()]`, with literals as arguments.

mod calls;
mod closings;
mod expression;
pub(super) mod literal;
pub(super) mod number;
mod recovery;
mod string;

pub(crate) use calls::is_name;
pub(super) use calls::{lexemes, name_of, read};
pub(super) use recovery::recover;
