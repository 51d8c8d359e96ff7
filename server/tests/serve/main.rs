//! The service over its wire: a real server on a free port, spoken to in bytes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed, as it should")]

mod chat;
mod client;
mod compatibility;
mod completions;
mod conformance;
mod dialects;
mod embeddings;
mod framing;
mod half_closed;
mod hosted;
mod images;
mod limits;
mod logprobs;
mod page;
mod queue;
mod realtime;
mod refused;
mod requests;
mod server;
mod sockets;
mod sound;
mod speech;
mod stored;
mod streams;
mod transcriptions;
mod unknown;
mod websocket;
