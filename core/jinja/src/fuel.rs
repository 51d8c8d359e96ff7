//! What work costs: all of it is charged by its size to one fuel, before it is done.
//!
//! The template engine charges its steps, the text that it writes and copies, and the items that it visits. Here is the rest: what
//! filters, methods and Python's printing do, and what the engine compares. One fuel pays for half a microsecond at most.

use std::sync::atomic::{AtomicU64, Ordering};

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

/// Bytes that are copied, searched or compared for one fuel, as in the engine.
const BYTES: usize = 64;
/// Bytes whose characters are read one by one for one fuel.
const READ_BYTES: usize = 16;
/// Nesting limit of values: all that visits them recurses.
const MAX_DEPTH: usize = 128;

/// The work that renderings may still take together.
///
/// ```
/// use causerie_jinja::{ChatTemplate, Fuel, TemplateErrorKind, context};
///
/// let (template, fuel) = (ChatTemplate::compile("{{ 'a' * 9999 }}").unwrap(), Fuel::new(1000));
/// let render = || template.render(context! {}, &jiff::Zoned::default(), Vec::new(), &fuel);
/// assert_eq!(render().unwrap().len(), 9999);
/// while render().is_ok() {}
/// assert_eq!(fuel.left(), 0);
/// assert_eq!(render().unwrap_err().kind(), TemplateErrorKind::Exhausted);
/// ```
#[derive(Debug)]
pub struct Fuel {
    left: AtomicU64,
}

impl Fuel {
    /// Fuel for this much work: a step of a template takes one, and so do 64 bytes that it copies.
    pub fn new(amount: u64) -> Self {
        Self { left: AtomicU64::new(amount) }
    }

    /// The fuel that is left.
    pub fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    pub(crate) fn set_left(&self, left: u64) {
        self.left.store(left, Ordering::Relaxed);
    }
}

/// Charges bytes that are about to be copied, searched or compared.
pub(crate) fn bytes(state: &State<'_, '_>, n_bytes: usize) -> Result<(), Error> {
    spend(state, n_bytes.div_ceil(BYTES))
}

/// Charges bytes whose characters are about to be read one by one.
pub(crate) fn characters(state: &State<'_, '_>, n_bytes: usize) -> Result<(), Error> {
    spend(state, n_bytes.div_ceil(READ_BYTES))
}

/// Charges values that are about to be visited or copied.
pub(crate) fn values(state: &State<'_, '_>, n_values: usize) -> Result<(), Error> {
    spend(state, n_values)
}

fn spend(state: &State<'_, '_>, fuel: usize) -> Result<(), Error> {
    state.consume_fuel(u64::try_from(fuel).unwrap_or(u64::MAX))
}

/// Charges a visit of a value and of all that it contains, with the bytes of its strings. A value that is contained several times
/// counts each time.
pub(crate) fn visit(state: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    visit_times(state, value, 1)
}

/// Charges several visits.
pub(crate) fn visit_times(state: &State<'_, '_>, value: &Value, n_times: usize) -> Result<(), Error> {
    visit_at(state, value, 0, n_times)
}

fn visit_at(state: &State<'_, '_>, value: &Value, depth: usize, n_times: usize) -> Result<(), Error> {
    check_depth(depth)?;
    let n_bytes = value.as_str().map_or(0, str::len);
    spend(state, (1 + n_bytes / BYTES).saturating_mul(n_times))?;
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            value.try_iter()?.try_for_each(|item| visit_at(state, &item, depth + 1, n_times))
        }
        ValueKind::Map => value.try_iter()?.try_for_each(|key| {
            visit_at(state, &key, depth + 1, n_times)?;
            visit_at(state, &value.get_item(&key)?, depth + 1, n_times)
        }),
        _ => Ok(()),
    }
}

/// Charges the search of an item by its index, in a string or in a list that is put together when it is read.
pub(crate) fn index(state: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    match (value.as_str(), value.kind()) {
        (Some(text), _) => bytes(state, text.len()),
        (None, ValueKind::Iterable) => value.try_iter()?.try_for_each(|_| values(state, 1)),
        _ => Ok(()),
    }
}

/// Refuses a value that is nested too deep.
pub(crate) fn check_depth(depth: usize) -> Result<(), Error> {
    if MAX_DEPTH < depth { Err(refused("a value must be nested at most 128 deep")) } else { Ok(()) }
}

pub(crate) fn refused(reason: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, reason)
}
