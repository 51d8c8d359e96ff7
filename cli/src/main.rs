//! The command `causerie`: chat with a model on this device, complete a prompt, or serve a model over HTTP.

// They panic when the output cannot be written; `output` does not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

// The order of dependence: a module uses only those above it.
mod failure;
mod output;

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
mod check_gpu;
mod decide;
mod embed;
mod generate;
mod inspect;
mod quantize;
mod service;
mod speak;
mod transcribe;

mod deploy;

use std::process::ExitCode;

use clap::Parser;

use arguments::{CauserieCommand, CommandLine};
use causerie_backend::ProgramAllocator;
use failure::Failure;

#[global_allocator]
static ALLOCATOR: ProgramAllocator = ProgramAllocator;

fn main() -> ExitCode {
    ProgramAllocator::exit_without_memory();
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(shown) => return show(&shown),
    };
    let installed = match &line.command {
        // These handle signals themselves: they let running replies finish.
        CauserieCommand::Run(_) | CauserieCommand::Serve(_) => Ok(()),
        _ => interrupt::install(),
    };
    let model = installed.and_then(|()| models::pull::ensure(line.command.model_to_load(), line.offline, |_| {}));
    let done = model.and_then(|model| match &line.command {
        CauserieCommand::Apps(apps) => deploy::apps::run(apps),
        CauserieCommand::Bench(bench) => bench::run(bench, &model),
        CauserieCommand::CheckGpu(check) => check_gpu::run(check, &model),
        CauserieCommand::Bundle(bundle) => bundle::run(&bundle.action, &model),
        CauserieCommand::Chat(chat) => chat::run(chat, &model),
        CauserieCommand::Decide(decide) => decide::run(decide, &model),
        CauserieCommand::Deploy(deploy) => deploy::cluster::run(deploy, line.offline),
        CauserieCommand::Embed(arguments) => embed::embed(arguments, &model),
        CauserieCommand::Generate(generate) => generate::run(generate, &model),
        CauserieCommand::Inspect { command } => inspect::run(command, &model),
        CauserieCommand::Models(models) => models::cache::run(models),
        CauserieCommand::Pull(pull) => models::pull::run(pull, line.offline),
        CauserieCommand::Keys(keys) => deploy::keys::run(keys),
        CauserieCommand::Quantize(quantize) => quantize::run(quantize, &model),
        CauserieCommand::Rerank(arguments) => embed::rerank(arguments, &model),
        CauserieCommand::Run(run) if run.container => deploy::container::run(run, line.offline),
        CauserieCommand::Run(run) => deploy::temporary::run(run, line.offline),
        CauserieCommand::Speak(speak) => speak::run(speak, &model),
        CauserieCommand::Transcribe(arguments) => transcribe::run(arguments, &model),
        CauserieCommand::Serve(serve) => service::run(serve, line.offline),
    });
    match done {
        Ok(()) if interrupt::was_pressed() => ExitCode::from(130), // as shells report a command that Ctrl-C ended
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => fail(&failure),
    }
}

/// Shows the help that was asked for, or what is wrong with the arguments.
fn show(shown: &clap::Error) -> ExitCode {
    if shown.use_stderr() {
        let _ = shown.print(); // the exit status says it, too
        return ExitCode::from(u8::try_from(shown.exit_code()).unwrap_or(2));
    }
    match output::print_styled(&shown.render().ansi().to_string()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => fail(&err.into()),
    }
}

fn fail(failure: &Failure) -> ExitCode {
    // A reader that leaves, as `head` does, has all that it wants.
    if output::is_unread() {
        return ExitCode::SUCCESS;
    }
    output::remark(format_args!("causerie: {}", failure.0));
    ExitCode::FAILURE
}
