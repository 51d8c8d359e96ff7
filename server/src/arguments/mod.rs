//! What can be typed behind `causerie`.

mod deploy;
mod inspect;
mod serving;

use std::path::PathBuf;

use causerie::GenerationOptions;
use clap::{ArgAction, Args, Parser, Subcommand};

pub(crate) use deploy::{Apps, AppsAction, Builder, Deploy, ImageOptions, Target};
pub(crate) use inspect::{
    CallFormat, Inspect, InspectCalls, InspectGrammar, InspectModel, InspectPrompt, InspectSchema, InspectTokens,
};
pub(crate) use serving::{Conformance, Keys, KeysAction, Limits, Run, Serve};

/// Conversations with language models, on this device.
#[derive(Parser)]
#[command(name = "causerie", version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  causerie chat
  causerie chat \"Set a timer for 12 minutes for the pasta\"
  causerie chat --functions tools.json --model LFM2-1.2B-Q4_K_M.gguf
  causerie generate --model LFM2-350M-Q8_0.gguf --prompt \"Name three rivers.\" --max-tokens 64
  causerie serve --model LFM2-1.2B-Q4_K_M.gguf --port 8080";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Talk with a model that can call functions: clock, calculator, timers, units, notes.
    Chat(Chat),
    /// Complete one prompt.
    Generate(Generate),
    /// Measure how fast a model reads and writes on this device, and what it takes.
    Bench(Bench),
    /// Serve a model over HTTP, as chat-completions clients speak it.
    Serve(Serve),
    /// Serve the hosted form once, at a temporary address with a key of its own, until Ctrl-C.
    Run(Run),
    /// Put the hosted form on a cluster: its image, its manifests, its keys.
    Deploy(Box<Deploy>),
    /// Look after deployed apps.
    Apps(Apps),
    /// Make, list and revoke the keys of hosted servers.
    Keys(Keys),
    /// Check whether a server speaks chat completions as clients expect it: this one, or any other.
    Conformance(Conformance),
    /// See what the engine sees.
    Inspect {
        #[command(subcommand)]
        what: Inspect,
    },
}

#[derive(Args)]
#[command(after_help = CHAT_EXAMPLES)]
pub(crate) struct Chat {
    /// Answer this and end; without it, talk until Ctrl-D.
    pub(crate) prompt: Option<String>,
    #[command(flatten)]
    pub(crate) model: ModelOption,
    #[command(flatten)]
    pub(crate) context: ContextOption,
    /// What the model is told about itself [default: a short text].
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Offer the functions of this file (chat-completions `tools`) instead of the built-in ones. Their calls are
    /// printed; you type the results.
    #[arg(long, value_name = "FILE")]
    pub(crate) functions: Option<PathBuf>,
    /// Show each call and its result.
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, default_value_t = true, default_missing_value = "true")]
    pub(crate) show_calls: bool,
    #[command(flatten)]
    pub(crate) sampling: Sampling,
}

const CHAT_EXAMPLES: &str = "\
Examples:
  causerie chat
  causerie chat \"How many kilometres are 26 miles?\"
  causerie chat --functions tools.json \"Dim the lamp in the hall to 40 percent\"

Notes and timers are kept in the user's data folder; set CAUSERIE_HOME to keep them elsewhere.
Ctrl-C cancels a reply and keeps the conversation.";

#[derive(Args)]
#[command(after_help = GENERATE_EXAMPLES)]
pub(crate) struct Generate {
    /// GGUF file, Hugging Face folder, or NAMESPACE/NAME in the local cache.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) context: ContextOption,
    /// The text to reply to.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: String,
    /// Continue the prompt as it stands, without the model's chat template.
    #[arg(long)]
    pub(crate) raw: bool,
    /// Print token counts and speeds at the end.
    #[arg(long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) sampling: Sampling,
}

const GENERATE_EXAMPLES: &str = "\
Examples:
  causerie generate --model LFM2-350M-Q8_0.gguf --prompt \"Name three rivers.\"
  causerie generate --model ./LFM2-350M --prompt \"Once upon a time\" --raw --temperature 0.8 --seed 7";

#[derive(Args)]
#[command(after_help = BENCH_EXAMPLES)]
pub(crate) struct Bench {
    #[command(flatten)]
    pub(crate) model: ModelOption,
    /// Tokens of the prompt, drawn at random.
    #[arg(short, long, value_name = "N", default_value_t = 512, value_parser = count)]
    pub(crate) prompt_tokens: usize,
    /// Tokens of the reply.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 128, value_parser = count)]
    pub(crate) reply_tokens: usize,
    /// Threads to compute with; several numbers are measured one after the other [default: one for each core].
    #[arg(short, long, value_name = "N", value_delimiter = ',', value_parser = threads)]
    pub(crate) threads: Vec<usize>,
    /// Replies that are written at the same time, all with prompts of their own. What they do together is told, from the
    /// first token of the first to the last of the last.
    #[arg(short = 'b', long, value_name = "N", default_value_t = 1, value_parser = threads)]
    pub(crate) at_once: usize,
    /// Measurements; their median is told.
    #[arg(short, long, value_name = "N", default_value_t = 3, value_parser = count)]
    pub(crate) repeats: usize,
    /// Seed of the prompts.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Measure here and now, with as many threads as the environment says.
    #[arg(long, hide = true)]
    pub(crate) here: bool,
}

const BENCH_EXAMPLES: &str = "\
Examples:
  causerie bench --model LFM2-350M-Q4_K_M.gguf -p 512 -n 128 -t 1,2,4
  causerie bench --json

Every number of threads is measured in a process of its own, which loads the model, warms up with a short reply, and
then writes the replies that count. Results on a busy machine say little.";

/// At least one, and no more than any context holds.
fn count(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1 << 24).contains(number));
    number.ok_or_else(|| "expected a number from 1 to 16777216".to_owned())
}

/// Of threads, or of replies at once.
fn threads(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1024).contains(number));
    number.ok_or_else(|| "expected a number from 1 to 1024".to_owned())
}

#[derive(Args)]
pub(crate) struct ModelOption {
    /// GGUF file, Hugging Face folder, or NAMESPACE/NAME in the local cache [default: the embedded demo model].
    #[arg(long = "model", value_name = "MODEL")]
    pub(crate) name: Option<String>,
}

/// How much of a conversation a model has before it.
#[derive(Args)]
pub(crate) struct ContextOption {
    /// Tokens that a prompt and its reply can have together [default: what the model was made for, at most 8192].
    #[arg(long = "context", value_name = "N", value_parser = count)]
    pub(crate) size: Option<usize>,
}

/// Sampling options. Without one of them, the model's own default holds, else the one named.
#[derive(Args)]
pub(crate) struct Sampling {
    /// Tokens of reply at most [default: until the model ends].
    #[arg(long, value_name = "N")]
    max_tokens: Option<usize>,
    /// Randomness; 0 always takes the most probable token [default: the model's, else 1.0].
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    temperature: Option<f32>,
    /// Keep the most probable tokens up to this probability in sum [default: the model's, else 1.0].
    #[arg(long, value_name = "X")]
    top_p: Option<f32>,
    /// Keep the k most probable tokens; 0 keeps all [default: the model's, else 50].
    #[arg(long, value_name = "K")]
    top_k: Option<usize>,
    /// Keep tokens of at least this share of the best one's probability [default: the model's, else 0].
    #[arg(long, value_name = "X")]
    min_p: Option<f32>,
    /// Above 1, makes repeated tokens less probable [default: the model's, else 1.0].
    #[arg(long, value_name = "X")]
    repetition_penalty: Option<f32>,
    /// The same seed gives the same reply [default: drawn anew].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl Sampling {
    pub(crate) fn options(&self) -> GenerationOptions {
        GenerationOptions {
            temperature: self.temperature,
            top_p: self.top_p,
            top_k: self.top_k,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            seed: self.seed,
            max_tokens: self.max_tokens,
            ..Default::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn calls_are_shown_unless_told_otherwise() {
        let shows = |line: &[&str]| match Arguments::parse_from(line).command {
            Command::Chat(chat) => chat.show_calls,
            _ => unreachable!("chat was typed"),
        };
        assert!(shows(&["causerie", "chat"]));
        assert!(!shows(&["causerie", "chat", "--show-calls", "false"]));
    }
}
