//! The HTTP service of the command `causerie`, as a library: apps and tests start it with models of their own.

// They panic when the output cannot be written; `log` does not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

pub mod log;

pub mod access;
pub mod chat;
pub mod serve;
