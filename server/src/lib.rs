//! The HTTP service of the command `causerie`, as a library: tests start it with models of their own.

// They panic when the output cannot be written; `output` does not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

pub mod log;
pub mod output;

pub mod access;
pub mod serve;
