//! The command `causerie`: chat with a model on this device, complete a prompt, or serve a model over HTTP.

mod apps;
mod arguments;
mod bench;
mod chat;
mod conformance;
mod deploy;
mod folder;
mod functions;
mod generate;
mod inspect;
mod interrupt;
mod keys;
mod model;
mod service;
mod tools;

use std::process::ExitCode;

use anstream::eprintln;
use clap::Parser;

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let installed = match &arguments.command {
        // They listen for signals themselves: they have several replies to bring to their end.
        Command::Run(_) | Command::Serve(_) => Ok(()),
        _ => interrupt::install(),
    };
    let done = installed.and_then(|()| match &arguments.command {
        Command::Apps(apps) => apps::run(apps),
        Command::Bench(bench) => bench::run(bench),
        Command::Chat(chat) => chat::run(chat),
        Command::Conformance(conformance) => conformance::run(conformance),
        Command::Deploy(deploy) => deploy::run(deploy),
        Command::Generate(generate) => generate::run(generate),
        Command::Inspect { what } => inspect::run(what),
        Command::Keys(keys) => keys::run(keys),
        Command::Run(run) => service::run_once(run),
        Command::Serve(serve) => service::run(serve),
    });
    match done {
        Ok(()) if interrupt::was_pressed() => ExitCode::from(130), // as shells report a command that Ctrl-C ended
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("causerie: {}", failure.0);
            ExitCode::FAILURE
        }
    }
}

/// Why the command failed: one line for the person.
struct Failure(String);

impl From<causerie::SdkError> for Failure {
    fn from(err: causerie::SdkError) -> Self {
        Self(err.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(err: std::io::Error) -> Self {
        Self(err.to_string())
    }
}
