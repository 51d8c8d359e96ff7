//! Tests of the engine as its users see it, one module for each subject.

mod agreement;
mod bad_files;
mod bad_inputs;
mod bundles;
mod cache;
mod calls;
mod companions;
mod constrained;
mod conversation;
mod decoders;
mod demo;
mod documents;
mod killed;
mod layers;
mod function_errors;
mod function_parts;
mod function_sets;
mod functions;
mod images;
mod loading;
mod logprobs;
mod model_text;
mod mutations;
mod scenarios;
mod scripted;
mod session;
mod speculative_decoding;
mod streams;
mod turns;
mod typed;
mod typed_forms;

/// A file of the fixtures.
fn fixture(path: &str) -> String {
    repository(&format!("tests/fixtures/{path}"))
}

/// A file of the repository.
fn repository(path: &str) -> String {
    format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))
}
