//! The fake hub as a program, for clients in other languages: prints its address, and at the end of its standard input the
//! requests that it got.

#![allow(clippy::unwrap_used, reason = "a program of the tests")]

#[path = "mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "tests of several crates use it")]
mod fake;

use std::io::Write;

use fake::{FakeHub, Repository, demo};

fn main() {
    let folder = Repository::new(&[
        ("config.json", b"{}".to_vec()),
        ("tokenizer.json", fake::content(1, 40_000)),
        ("model.safetensors", fake::content(2, 50_000)),
    ]);
    let fake = FakeHub::start([("ns/demo", demo()), ("ns/folder", folder)]);
    fake.set_page(1000);
    let mut out = std::io::stdout();
    writeln!(out, "{}", fake.url()).unwrap();
    out.flush().unwrap();
    // An empty line asks for the requests since the last one.
    for _ in std::io::stdin().lines() {
        for request in fake.journal() {
            writeln!(out, "{}", request.line()).unwrap();
        }
        writeln!(out).unwrap();
        out.flush().unwrap();
    }
}
