//! `causerie-api causerie.json`: the public interface that rustdoc's JSON describes, an item a line.

use std::process::ExitCode;

fn main() -> ExitCode {
    let path = std::env::args_os().nth(1).unwrap_or_default();
    // What every type has, because the compiler or the standard library gives it, tells nothing.
    match public_api::Builder::from_rustdoc_json(path).omit_blanket_impls(true).omit_auto_trait_impls(true).build() {
        Ok(api) => {
            print!("{api}");
            ExitCode::SUCCESS
        }
        Err(err) => {
            eprintln!("{err}");
            ExitCode::FAILURE
        }
    }
}
