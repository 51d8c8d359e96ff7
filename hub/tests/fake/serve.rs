//! The fake hub as a program, for clients in other languages. It prints its address. Then it answers each line of its standard
//! input with lines of which the last one is empty: an empty line with the requests since the last one, and a step of a
//! scenario, which is JSON, with nothing.

#![allow(clippy::unwrap_used, reason = "a program of the tests")]

#[path = "mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "tests of several crates use it")]
mod fake;

use std::io::Write;

use fake::{FakeHub, demo, folder, loadable};

fn main() {
    let fake = FakeHub::start([("ns/demo", demo()), ("ns/folder", folder()), ("ns/tiny", loadable())]);
    fake.set_page(1000);
    let mut out = std::io::stdout();
    writeln!(out, "{}", fake.url()).unwrap();
    out.flush().unwrap();
    for line in std::io::stdin().lines().map_while(Result::ok) {
        if line.is_empty() {
            for request in fake.journal() {
                writeln!(out, "{}", request.line()).unwrap();
            }
        } else {
            fake.play(&serde_json::from_str(&line).unwrap());
        }
        writeln!(out).unwrap();
        out.flush().unwrap();
    }
}
