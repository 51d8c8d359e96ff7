//! The C interface of causerie: the functions that `include/causerie.h` declares and documents.
//!
//! `border.rs` reads and writes the callers' memory, and is the only file with unsafe code. Everything that C holds is a handle:
//! a number that names an object in a table, so that a handle that is null, freed or of another kind is an error.

#[macro_use]
mod border;
mod fault;
mod handles;
mod strings;
// Objects and their functions.
mod options;
mod model;
mod embedding;
mod message;
mod conversation;
mod stream;
mod event;
#[cfg(test)]
mod tests;
