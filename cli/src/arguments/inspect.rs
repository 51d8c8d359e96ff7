//! The arguments of `causerie inspect`.

use std::path::PathBuf;

use causerie::FunctionCallParser;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};

use crate::arguments::options::{ContextOption, ModelOption};

#[derive(Subcommand)]
pub(crate) enum InspectCommand {
    /// Parse replies. Standard input has one JSON object per line: `{"text": …}`, or
    /// `{"pieces": [{"control": …}, {"text": …}]}`, which keeps control tokens apart from text.
    Calls(InspectCalls),
    /// Check whether the constraint accepts calls, and where it rejects them. Standard input has one JSON object per
    /// line: `{"text": …}`.
    Constrain(InspectGrammar),
    /// List the GPUs that a model can be computed on, the preferred one first.
    Devices(InspectDevices),
    /// Print the grammar that constrains calls.
    Grammar(InspectGrammar),
    /// Describe a model and its memory use. Reads only the headers of its files.
    Model(InspectModel),
    /// Print the prompt that a model gets for messages. Pipes and files get its exact bytes; on a terminal, control characters
    /// are shown as escapes such as `\u{1b}`.
    Prompt(InspectPrompt),
    /// Print the functions of a file as JSON Schema, one per line, as they are in a prompt.
    Schema(InspectSchema),
    /// Print the tokens of the text on standard input.
    Tokens(InspectTokens),
}

impl InspectCommand {
    /// The model whose files the command reads.
    pub(crate) fn model_to_load(&self) -> Option<&str> {
        match self {
            Self::Model(model) => model.model.as_deref(),
            Self::Prompt(prompt) => prompt.model.name.as_deref(),
            Self::Tokens(tokens) => tokens.model.name.as_deref(),
            _ => None,
        }
    }
}

#[derive(Args)]
pub(crate) struct InspectCalls {
    /// Call format of the model family.
    #[arg(long, value_name = "FORMAT", value_parser = call_format())]
    pub(crate) format: FunctionCallParser,
    /// Functions that the prompt offered (chat-completions `tools`, or bare entries), as a JSON array: calls of these are also
    /// read without markers, and values in XML have their types.
    #[arg(long, value_name = "FILE")]
    pub(crate) functions: Option<PathBuf>,
}

/// Reads the name of a notation.
fn call_format() -> impl TypedValueParser<Value = FunctionCallParser> {
    let names = FunctionCallParser::ALL.iter().flat_map(|parser| parser.names());
    let named = |name: String| FunctionCallParser::named(&name).ok_or("must be the name of a notation");
    PossibleValuesParser::new(names).try_map(named)
}

#[derive(Args)]
pub(crate) struct InspectDevices {
    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct InspectModel {
    /// GGUF file, Hugging Face folder, or NAMESPACE/NAME[:TAG], which is downloaded if needed [default: the embedded demo model].
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
    /// Call format of the model family.
    #[arg(long, value_name = "FORMAT", default_value = "python", value_parser = call_format())]
    pub(crate) format: FunctionCallParser,
    /// Allow one call at most.
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
    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
}
