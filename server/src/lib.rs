//! The HTTP service of the command `causerie`, as a library: tests start it with models of their own.

pub mod access;
pub mod serve;
