//! The arguments of `causerie embed` and `rerank`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::arguments::options::small_count;

#[derive(Args)]
#[command(after_help = EMBED_EXAMPLES)]
pub(crate) struct EmbedArguments {
    /// Texts.
    #[arg(value_name = "TEXT")]
    pub(crate) texts: Vec<String>,
    /// GGUF file, Hugging Face folder, or NAMESPACE/NAME[:TAG], which is downloaded if needed. The model must embed texts.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,
    /// Embed the lines of this file as well; - reads standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) lines: Option<PathBuf>,
    /// What the texts are used for, which chooses the prompt in the model's files.
    #[arg(long = "use", value_name = "USE")]
    pub(crate) text_use: Option<TextUseName>,
    /// Text to put before each text, instead of the prompt in the model's files.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Values of a vector to keep [default: all].
    #[arg(long, value_name = "N")]
    pub(crate) dimensions: Option<usize>,
    /// Threads to compute with [default: one per core].
    #[arg(long, value_name = "N", value_parser = small_count)]
    pub(crate) threads: Option<usize>,
}

/// What texts are used for.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum TextUseName {
    Query,
    Document,
}

#[derive(Args)]
#[command(after_help = RERANK_EXAMPLES)]
pub(crate) struct RerankArguments {
    /// What is searched.
    pub(crate) query: String,
    /// Documents.
    #[arg(value_name = "DOCUMENT")]
    pub(crate) documents: Vec<String>,
    /// GGUF file, Hugging Face folder, or NAMESPACE/NAME[:TAG], which is downloaded if needed. The model must rank.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,
    /// Rank the lines of this file as well; - reads standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) lines: Option<PathBuf>,
    /// Number of documents to print [default: all].
    #[arg(long, value_name = "N", value_parser = small_count)]
    pub(crate) top: Option<usize>,
    /// What makes a document relevant, for models that are asked in words.
    #[arg(long, value_name = "TEXT")]
    pub(crate) instruction: Option<String>,
    /// Threads to compute with [default: one per core].
    #[arg(long, value_name = "N", value_parser = small_count)]
    pub(crate) threads: Option<usize>,
}

const EMBED_EXAMPLES: &str = "\
Examples:
  causerie embed --model all-MiniLM-L6-v2 \"A man eats bread.\" \"Somebody is eating food.\"
  causerie embed --model Qwen3-Embedding-0.6B --use query \"Who eats?\"
  causerie embed --model all-MiniLM-L6-v2 --lines notes.txt > notes.jsonl";

const RERANK_EXAMPLES: &str = "\
Examples:
  causerie rerank --model Qwen3-Reranker-0.6B \"Who eats?\" \"The rocket flies.\" \"A man eats bread.\"
  causerie rerank --model Qwen3-Reranker-0.6B \"Who eats?\" --lines notes.txt --top 3";
