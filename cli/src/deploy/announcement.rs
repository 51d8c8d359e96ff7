//! Announces a temporary server.

use std::io::{self, Write};

use crate::output::remark;

/// Prints the address and the key of the server: on standard output for programs, on standard error with an example for
/// people.
pub(super) fn print(base_url: &str, key: Option<&str>, model_id: &str) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "base_url {base_url}")?;
    let mut header = String::new();
    if let Some(key) = key {
        writeln!(out, "api_key {key}")?;
        header = format!(" -H 'authorization: Key {key}'");
    }
    out.flush()?;
    remark(format_args!(
        "Until Ctrl-C, send requests with:\n  curl {base_url}/chat/completions{header} -H 'content-type: application/json' \\\n    \
         -d '{{\"model\": \"{model_id}\", \"messages\": [{{\"role\": \"user\", \"content\": \"Hello!\"}}]}}'"
    ));
    Ok(())
}
