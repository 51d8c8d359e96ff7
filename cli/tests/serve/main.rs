//! `causerie serve` and its relatives over their wire.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed, as it should")]

#[allow(dead_code, reason = "the tests of the library use the rest")]
#[path = "../../../server/tests/serve/client.rs"]
mod client;
mod command;
mod hosted;
#[allow(dead_code, reason = "the tests of the library use the rest")]
#[path = "../../../server/tests/serve/server.rs"]
mod server;
