//! The arguments of `causerie bundle`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BundleArguments {
    #[command(subcommand)]
    pub(crate) action: BundleAction,
}

#[derive(Subcommand)]
pub(crate) enum BundleAction {
    /// Write a bundle of a model, with its projectors and the parts that speak if it has them.
    Make {
        /// GGUF file, Hugging Face folder, manifest, or NAMESPACE/NAME[:TAG], which is downloaded if needed.
        #[arg(value_name = "MODEL")]
        model: String,
        /// Bundle to write; it must not exist.
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
        /// Projector file, if it is not beside the model. Give it twice if images and sound have files of their own.
        #[arg(long, value_name = "FILE")]
        projector: Vec<PathBuf>,
        /// File that writes frames of sound (vocoder), if it is not beside the model.
        #[arg(long, value_name = "FILE")]
        audio_decoder: Option<PathBuf>,
        /// File or folder that turns frames into sound, if it is not beside the model.
        #[arg(long, value_name = "FILE")]
        audio_tokenizer: Option<PathBuf>,
        /// Write the weights as kernels read them, so that loading maps them instead of converting them. The bundle serves the CPU
        /// alone, on all processors, and its model must be in GGUF files.
        #[arg(long)]
        packed: bool,
    },
    /// Print the files of a bundle: path, size, SHA-256.
    List {
        #[arg(value_name = "FILE")]
        bundle: PathBuf,
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Read all files of a bundle and compare them with the digests of its manifest.
    Verify {
        #[arg(value_name = "FILE")]
        bundle: PathBuf,
    },
}

const EXAMPLES: &str = "\
Examples:
  causerie bundle make LFM2-VL-450M-Q4_0.gguf --output LFM2-VL-450M.bundle
  causerie bundle make LiquidAI/LFM2-350M-GGUF:Q4_0 --output LFM2-350M.bundle
  causerie bundle make LFM2-350M-Q4_0.gguf --packed --output LFM2-350M.bundle
  causerie bundle verify LFM2-350M.bundle
  causerie chat --model LFM2-350M.bundle";
