//! `causerie-conformance --base-url http://127.0.0.1:8080/v1`: prints a line per check, and fails if a check fails.

use std::process::ExitCode;

use clap::Parser;

use causerie_conformance::{ConformanceOptions, run};

fn main() -> ExitCode {
    match run(&ConformanceOptions::parse(), &mut std::io::stdout()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(n_failed) => {
            eprintln!("{n_failed} checks failed");
            ExitCode::FAILURE
        }
        Err(err) => {
            eprintln!("{err}");
            ExitCode::FAILURE
        }
    }
}
