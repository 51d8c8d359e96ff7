//! Checks whether a server implements chat completions as clients expect. It works with any server: features that the
//! server lacks may be refused, but must neither be ignored nor answered in another form.

use std::io::Write;

use clap::Parser;

mod checks;
mod client;

use client::CheckClient;

/// Check a chat-completions server, and print one line per check.
#[derive(Clone, Debug, Parser)]
#[command(name = "causerie-conformance")]
pub struct ConformanceOptions {
    /// Address of the server with `/v1`; http only.
    #[arg(long, value_name = "URL")]
    pub base_url: String,
    /// Model to use [default: the first one that the server lists].
    #[arg(long, value_name = "ID")]
    pub model: Option<String>,
    /// Key to send in the header `Authorization` [default: none].
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// Scheme before the key: `Key` for causerie's hosted form.
    #[arg(long, value_name = "SCHEME", default_value = "Bearer")]
    pub scheme: String,
}

/// Runs all checks, and writes one line per check to `out`. Returns the number of failed checks.
///
/// # Errors
/// If the address is invalid, the server has no model, or `out` cannot be written.
pub fn run(options: &ConformanceOptions, out: &mut impl Write) -> Result<usize, String> {
    let authorization = options.key.as_ref().map(|key| format!("{} {key}", options.scheme));
    let mut client = CheckClient::new(&options.base_url, authorization)?;
    client.model = match &options.model {
        Some(model) => model.clone(),
        None => client.first_model().map_err(|err| format!("cannot find a model at /models: {err}"))?,
    };
    let mut n_failed = 0;
    for (claim, check) in checks::ALL {
        let (verdict, why) = match check(&client) {
            Ok(()) => ("pass", String::new()),
            Err(why) => ("FAIL", why),
        };
        n_failed += usize::from(verdict == "FAIL");
        writeln!(out, "{verdict}  {claim:<58}  {why}").map_err(|err| err.to_string())?;
    }
    let n_checks = checks::ALL.len();
    writeln!(out, "{} of {n_checks} checks passed", n_checks - n_failed).map_err(|err| err.to_string())?;
    Ok(n_failed)
}
