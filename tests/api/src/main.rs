//! `causerie-api causerie.json`: the public interface that rustdoc's JSON describes, an item a line. Fails, and names them,
//! where items have no example in their documentation.

mod examples;

use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    match describe() {
        Ok(missing) if missing.is_empty() => ExitCode::SUCCESS,
        Ok(missing) => {
            eprintln!("without an example: {}", missing.join(", "));
            ExitCode::FAILURE
        }
        Err(err) => {
            eprintln!("{err}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the interface, and gives the items that have no example.
fn describe() -> Result<Vec<String>, Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("no file is named")?;
    // What every type has, because the compiler or the standard library gives it, tells nothing.
    let api =
        public_api::Builder::from_rustdoc_json(&path).omit_blanket_impls(true).omit_auto_trait_impls(true).build()?;
    print!("{api}");
    Ok(examples::missing(&serde_json::from_slice(&std::fs::read(&path)?)?))
}
