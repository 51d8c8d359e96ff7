//! Padding of text to a width, within limits.

use minijinja::value::Value;
use minijinja::{Error, State};

use crate::fuel::{self, refused};

/// Limit of widths and counts. Chat templates indent by a few spaces.
const MAX_WIDTH: usize = 1024;

/// Where padding goes.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Before,
    After,
    Both,
}

/// The text with characters at its sides, as far as it is narrower than `width`.
pub(super) fn padded(
    state: &mut State<'_, '_>,
    text: &str,
    width: usize,
    fill: char,
    side: Side,
) -> Result<Value, Error> {
    check_width(width)?;
    fuel::bytes(state, text.len() + width * fill.len_utf8())?;
    let n_missing = width.saturating_sub(text.chars().count());
    let n_before = match side {
        Side::Before => n_missing,
        Side::After => 0,
        // Python puts the odd one before the text if the width is odd.
        Side::Both => n_missing / 2 + (n_missing & width & 1),
    };
    let pad = |n: usize| std::iter::repeat_n(fill, n);
    Ok(Value::from(pad(n_before).chain(text.chars()).chain(pad(n_missing - n_before)).collect::<String>()))
}

/// Refuses a width or a count that is too large.
pub(super) fn check_width(width: usize) -> Result<(), Error> {
    if MAX_WIDTH < width { Err(refused("a width or a count must be at most 1024")) } else { Ok(()) }
}
