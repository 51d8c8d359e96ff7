//! What can be typed behind `causerie inspect`.

use std::path::PathBuf;

use causerie::FunctionCallParser;
use clap::{Args, Subcommand, ValueEnum};

use crate::arguments::{ContextOption, ModelOption};

#[derive(Subcommand)]
pub(crate) enum Inspect {
    /// What the parsers find in replies, given as JSON lines on standard input: `{"text": …}`, or
    /// `{"pieces": [{"control": …}, {"text": …}]}` where control tokens are told from text.
    Calls(InspectCalls),
    /// Whether constrained calls could be written, given as JSON lines `{"text": …}` on standard input, and where not.
    Constrain(InspectGrammar),
    /// The grammar that constrained calls are held to.
    Grammar(InspectGrammar),
    /// What a model is, and what it takes in memory. Reads the headers of its files only.
    Model(InspectModel),
    /// The prompt that a model reads for messages.
    Prompt(InspectPrompt),
    /// The functions of a file as JSON Schema, one a line, as a model sees them.
    Schema(InspectSchema),
    /// The tokens of the text on standard input.
    Tokens(InspectTokens),
}

#[derive(Args)]
pub(crate) struct InspectCalls {
    /// How the model family writes calls.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: CallFormat,
}

/// How a model family writes calls.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum CallFormat {
    /// Python calls between control tokens.
    Python,
    /// JSON between tags.
    Json,
}

impl CallFormat {
    pub(crate) fn parser(self) -> FunctionCallParser {
        match self {
            Self::Python => FunctionCallParser::DefaultFunctionCallParser,
            Self::Json => FunctionCallParser::JsonStyleFunctionCallParser,
        }
    }
}

#[derive(Args)]
pub(crate) struct InspectModel {
    /// GGUF file, Hugging Face folder, or NAMESPACE/NAME in the local cache [default: the embedded demo model].
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) context: ContextOption,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct InspectGrammar {
    /// Functions (chat-completions `tools`, or bare entries), as a JSON array.
    #[arg(long, value_name = "FILE")]
    pub(crate) functions: PathBuf,
    /// How the model family writes calls.
    #[arg(long, value_name = "FORMAT", default_value = "python")]
    pub(crate) format: CallFormat,
    /// One call at most.
    #[arg(long)]
    pub(crate) single: bool,
}

#[derive(Args)]
pub(crate) struct InspectPrompt {
    #[command(flatten)]
    pub(crate) model: ModelOption,
    /// Chat-completions messages, as a JSON array.
    #[arg(long, value_name = "FILE")]
    pub(crate) messages: PathBuf,
    /// Functions to offer (chat-completions `tools`).
    #[arg(long, value_name = "FILE")]
    pub(crate) functions: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct InspectSchema {
    /// Functions (chat-completions `tools`, or bare entries), as a JSON array.
    #[arg(long, value_name = "FILE")]
    pub(crate) functions: PathBuf,
    /// Print one JSON array, as chat-completions `tools`.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct InspectTokens {
    #[command(flatten)]
    pub(crate) model: ModelOption,
    /// Print one JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
}
