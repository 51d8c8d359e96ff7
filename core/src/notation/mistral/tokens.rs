//! The control tokens inside of calls.

/// The token before the id of a call.
pub(crate) const CALL_ID: &str = "[CALL_ID]";
/// The token before the arguments.
pub(crate) const ARGUMENTS: &str = "[ARGS]";
