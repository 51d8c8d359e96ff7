//! The arguments of `causerie pull` and `causerie models`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args)]
#[command(after_help = PULL_EXAMPLES)]
pub(crate) struct PullArguments {
    /// Models: NAMESPACE/NAME[@REVISION][:TAG], where the tag is a quantisation or the name of a file; or the https address of a
    /// GGUF file, a bundle or a manifest.
    #[arg(value_name = "NAME", required_unless_present = "lock")]
    pub(crate) names: Vec<String>,
    /// With names: write a lock file, with their commits, sizes and digests. Without: download exactly what it lists.
    #[arg(long, value_name = "FILE")]
    pub(crate) lock: Option<PathBuf>,
    /// Copy the files into this folder as well, without links, to ship them with an app.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) to: Option<PathBuf>,
    /// Print one JSON object per line: plans, progress, results.
    #[arg(long)]
    pub(crate) json: bool,
}

const PULL_EXAMPLES: &str = "\
Examples:
  causerie pull LiquidAI/LFM2-350M-GGUF
  causerie pull LiquidAI/LFM2-1.2B-GGUF:Q4_K_M --to models
  causerie pull --lock models.lock LiquidAI/LFM2-350M-GGUF:Q4_0
  causerie pull --lock models.lock
  causerie pull https://example.org/model.gguf#sha256=0123…

Ctrl-C keeps what has arrived; the same command continues. Models go to the cache that Hugging Face's tools share:
HF_HUB_CACHE, HF_HOME, HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE count. See docs/downloads.md.";

#[derive(Args)]
#[command(after_help = MODELS_EXAMPLES)]
pub(crate) struct ModelsArguments {
    #[command(subcommand)]
    pub(crate) action: ModelsAction,
}

#[derive(Subcommand)]
pub(crate) enum ModelsAction {
    /// Print the models of the local cache: name, size, commit.
    List {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Read all files of a model and compare them with their digests.
    Verify {
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Remove a model; without a tag, everything of its repository.
    Remove {
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Remove what interrupted downloads have left.
    Sweep {
        /// Remove only what is older.
        #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(u32).range(..=36_500))]
        days: u32,
    },
}

const MODELS_EXAMPLES: &str = "\
Examples:
  causerie models list
  causerie models verify LiquidAI/LFM2-350M-GGUF:Q4_K_M
  causerie models remove LiquidAI/LFM2-350M-GGUF
  causerie models sweep --days 0";
