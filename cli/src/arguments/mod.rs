//! The command line of `causerie`.

mod options;

mod bundle;
mod decide;
mod deploy;
mod embedding;
mod inspect;
mod local;
mod models;
mod serving;
mod sound;

mod hosting;

use clap::{Parser, Subcommand};

pub(crate) use bundle::{BundleAction, BundleArguments};
pub(crate) use decide::DecideArguments;
pub(crate) use deploy::{AppsAction, AppsArguments, Builder, DeployArguments, ImageOptions, Target};
pub(crate) use embedding::{EmbedArguments, RerankArguments, TextUseName};
pub(crate) use hosting::{KeysAction, KeysArguments, RunArguments};
pub(crate) use inspect::{
    InspectCalls, InspectCommand, InspectDevices, InspectGrammar, InspectModel, InspectPrompt, InspectSchema,
    InspectTokens,
};
pub(crate) use local::{BenchArguments, ChatArguments, CheckGpuArguments, GenerateArguments, QuantizeArguments};
pub(crate) use models::{ModelsAction, ModelsArguments, PullArguments};
pub(crate) use serving::{ServeArguments, ServerLimits};
pub(crate) use sound::{SpeakArguments, TranscribeArguments, TranscriptForm};

/// Conversations with language models, on this device.
#[derive(Parser)]
#[command(name = "causerie", version, after_help = EXAMPLES)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: CauserieCommand,
    /// Send no request to a hub of models: a model must be in the local cache, or be a file.
    #[arg(long, global = true)]
    pub(crate) offline: bool,
}

const EXAMPLES: &str = "\
Examples:
  causerie chat
  causerie chat \"Set a timer for 12 minutes for the pasta\"
  causerie chat --functions tools.json --model LFM2-1.2B-Q4_K_M.gguf
  causerie chat --model LiquidAI/LFM2-1.2B-GGUF
  causerie generate --model LFM2-350M-Q8_0.gguf --prompt \"Name three rivers.\" --max-tokens 64
  causerie serve --model LFM2-1.2B-Q4_K_M.gguf --port 8080";

#[derive(Subcommand)]
pub(crate) enum CauserieCommand {
    /// Talk with a model that can call functions: clock, calculator, timers, units, notes.
    Chat(ChatArguments),
    /// Complete one prompt.
    Generate(GenerateArguments),
    /// Answer questions about a text with probabilities, without generating any.
    Decide(DecideArguments),
    /// Read a text aloud, with a model that speaks.
    Speak(SpeakArguments),
    /// Write what is said in files of sound.
    Transcribe(TranscribeArguments),
    /// Print the vectors of texts.
    Embed(EmbedArguments),
    /// Order documents by how well they fit a query.
    Rerank(RerankArguments),
    /// Measure the speed and memory use of a model on this device.
    Bench(BenchArguments),
    /// Check whether a GPU computes as the CPU does, and print a report for an issue.
    CheckGpu(CheckGpuArguments),
    /// Write a model as a quantised GGUF file.
    Quantize(QuantizeArguments),
    /// Write, list and verify bundles: one file with all files of a model.
    Bundle(BundleArguments),
    /// Serve a model over HTTP to chat-completions clients.
    Serve(ServeArguments),
    /// Serve the hosted form until Ctrl-C, with a temporary address and key.
    Run(RunArguments),
    /// Deploy the hosted form to a cluster: its image, its manifests, its keys.
    Deploy(Box<DeployArguments>),
    /// Manage deployed apps.
    Apps(AppsArguments),
    /// Create, list and revoke the keys of hosted servers.
    Keys(KeysArguments),
    /// Download models into the local cache.
    Pull(PullArguments),
    /// List, verify and remove the models of the local cache.
    Models(ModelsArguments),
    /// Show what the engine works with: exact bytes for programs, escaped control characters on a terminal.
    Inspect {
        #[command(subcommand)]
        command: InspectCommand,
    },
}

impl CauserieCommand {
    /// The model that the command loads at once. Servers load theirs while they already answer.
    pub(crate) fn model_to_load(&self) -> Option<&str> {
        match self {
            Self::Chat(chat) => chat.model.name.as_deref(),
            Self::Generate(generate) => Some(&generate.model),
            Self::Decide(decide) => Some(&decide.model),
            Self::Bench(bench) => bench.model.name.as_deref(),
            Self::CheckGpu(check) => check.model.name.as_deref(),
            Self::Speak(speak) => Some(&speak.model),
            Self::Transcribe(transcribe) => Some(&transcribe.model),
            Self::Embed(embed) => Some(&embed.model),
            Self::Rerank(rerank) => Some(&rerank.model),
            Self::Quantize(quantize) => Some(&quantize.model),
            Self::Bundle(BundleArguments { action: BundleAction::Make { model, .. } }) => Some(model),
            Self::Inspect { command } => command.model_to_load(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn calls_are_shown_by_default() {
        let shows = |line: &[&str]| match CommandLine::parse_from(line).command {
            CauserieCommand::Chat(chat) => chat.show_calls,
            _ => unreachable!("chat was typed"),
        };
        assert!(shows(&["causerie", "chat"]));
        assert!(!shows(&["causerie", "chat", "--show-calls", "false"]));
    }
}
