//! The command `causerie`: chat with a model on this device, complete a prompt, or serve a model over HTTP.

// The order of dependence: a module uses only those above it.
mod failure;

mod byte_size;
mod folder;
mod functions;
mod interrupt;
mod model;

mod arguments;

mod models;

mod bench;
mod bundle;
mod chat;
mod generate;
mod inspect;
mod quantize;
mod service;

mod deploy;

use std::process::ExitCode;

use anstream::eprintln;
use clap::Parser;

use arguments::{CauserieCommand, CommandLine};

fn main() -> ExitCode {
    let line = CommandLine::parse();
    let installed = match &line.command {
        // These handle signals themselves: they let running replies finish.
        CauserieCommand::Run(_) | CauserieCommand::Serve(_) => Ok(()),
        _ => interrupt::install(),
    };
    let present = installed.and_then(|()| models::pull::ensure(line.command.model_to_load(), line.offline, |_| {}));
    let done = present.and_then(|()| match &line.command {
        CauserieCommand::Apps(apps) => deploy::apps::run(apps),
        CauserieCommand::Bench(bench) => bench::run(bench),
        CauserieCommand::Bundle(bundle) => bundle::run(&bundle.action),
        CauserieCommand::Chat(chat) => chat::run(chat),
        CauserieCommand::Deploy(deploy) => deploy::cluster::run(deploy, line.offline),
        CauserieCommand::Generate(generate) => generate::run(generate),
        CauserieCommand::Inspect { command } => inspect::run(command),
        CauserieCommand::Models(models) => models::cache::run(models),
        CauserieCommand::Pull(pull) => models::pull::run(pull, line.offline),
        CauserieCommand::Keys(keys) => deploy::keys::run(keys),
        CauserieCommand::Quantize(quantize) => quantize::run(quantize),
        CauserieCommand::Run(run) if run.container => deploy::container::run(run, line.offline),
        CauserieCommand::Run(run) => deploy::temporary::run(run, line.offline),
        CauserieCommand::Serve(serve) => service::run(serve, line.offline),
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
