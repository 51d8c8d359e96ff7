#!/usr/bin/env bash
# anstream's println! removes more than styles from output that is not a terminal: control characters and whole escape sequences of the
# printed data are lost, so a program that prints data with it prints other bytes into a pipe or a file.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cargo init --quiet --name strips --vcs none
cargo add --quiet anstream@=1.0.0
cat >src/main.rs <<'RUST'
fn main() {
    let data = "a\u{7}b\u{8}c\u{1b}[31md\u{0}e";
    match std::env::args().nth(1).as_deref() {
        Some("std") => println!("{data}"),
        _ => anstream::println!("{data}"),
    }
}
RUST
cargo build --quiet
standard=$(./target/debug/strips std | od -An -c | tr -s ' ')
stripped=$(./target/debug/strips | od -An -c | tr -s ' ')
echo "anstream 1.0.0: println! of std writes $standard, that of anstream $stripped"
[ "$stripped" = ' a b c d e \n' ] && [ "$standard" != "$stripped" ]
