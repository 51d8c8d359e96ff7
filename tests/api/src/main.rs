//! `causerie-api causerie.json`: prints the public interface in rustdoc's JSON, one item per line. Fails if items have no
//! example in their documentation, and lists them.

mod examples;

use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    match describe() {
        Ok(missing) if missing.is_empty() => ExitCode::SUCCESS,
        Ok(missing) => {
            eprintln!("items must have an example in their documentation: {}", missing.join(", "));
            ExitCode::FAILURE
        }
        Err(err) => {
            eprintln!("{err}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the interface, and returns the items without an example.
fn describe() -> Result<Vec<String>, Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: causerie-api FILE")?;
    // Blanket and automatic implementations are omitted: every type has them.
    let api =
        public_api::Builder::from_rustdoc_json(&path).omit_blanket_impls(true).omit_auto_trait_impls(true).build()?;
    print!("{api}");
    Ok(examples::missing(&serde_json::from_slice(&std::fs::read(&path)?)?))
}
