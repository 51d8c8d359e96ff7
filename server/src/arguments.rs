//! What can be typed behind `causerie`.

use std::path::PathBuf;

use causerie::{FunctionCallParser, GenerationOptions};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

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
    /// Replies that are measured; their median is told.
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

fn threads(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1024).contains(number));
    number.ok_or_else(|| "expected a number from 1 to 1024".to_owned())
}

#[derive(Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) model: ModelOption,
    /// What clients call the model [default: its name in the cache, or of its file].
    #[arg(long, value_name = "ID")]
    pub(crate) model_id: Option<String>,
    /// Address or name to listen on; only loopback ones are safe from others on the network.
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub(crate) host: String,
    /// Port to listen on; 0 takes any that is free, and prints it.
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    pub(crate) port: u16,
    /// Requests answered at the same time.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = slots)]
    pub(crate) slots: usize,
    /// Requests that wait for a slot; beyond them clients are told to come again.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) queue: usize,
    /// Megabytes of a request.
    #[arg(long, value_name = "MB", default_value_t = 32, value_parser = megabytes)]
    pub(crate) max_body: usize,
    /// Seconds that replies under way may go on after Ctrl-C.
    #[arg(long, value_name = "S", default_value_t = 30)]
    pub(crate) drain_timeout: u64,
    /// A further name under which the server is reached, besides localhost. May be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// An origin whose pages may use the server, besides local ones: `https://example.org`. May be given several times.
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// Refuse requests with fields that are not known, instead of naming them in a header of the reply.
    #[arg(long)]
    pub(crate) strict_fields: bool,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  causerie serve
  causerie serve --model LiquidAI/LFM2-1.2B --port 8081
  curl http://127.0.0.1:8080/v1/chat/completions -H 'content-type: application/json' \\
    -d '{\"model\": \"causerie/demo\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello!\"}]}'

Ctrl-C lets replies under way finish; a second one ends at once.";

fn slots(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|slots| (1..=1024).contains(slots)).ok_or_else(|| "expected 1 to 1024".to_owned())
}

fn megabytes(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|size| (1..=1024).contains(size)).ok_or_else(|| "expected 1 to 1024".to_owned())
}

#[derive(Args)]
#[command(after_help = CONFORMANCE_EXAMPLES)]
pub(crate) struct Conformance {
    /// Where the server is, with `/v1`; http only.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: String,
    /// The model to ask [default: the first that the server lists].
    #[arg(long, value_name = "ID")]
    pub(crate) model: Option<String>,
    /// Sent as `Authorization: Bearer` [default: none].
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
}

const CONFORMANCE_EXAMPLES: &str = "\
Examples:
  causerie conformance --base-url http://127.0.0.1:8080/v1

Prints a line for each check, and fails if one did.";

#[derive(Subcommand)]
pub(crate) enum Inspect {
    /// What the parsers find in replies, given as JSON lines `{"text": …}` or `{"pieces": […]}` on standard input.
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
    /// Tokens that the memory estimate is for [default: the model's context, at most 8192].
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) context: Option<usize>,
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

#[derive(Args)]
pub(crate) struct ModelOption {
    /// GGUF file, Hugging Face folder, or NAMESPACE/NAME in the local cache [default: the embedded demo model].
    #[arg(long = "model", value_name = "MODEL")]
    pub(crate) name: Option<String>,
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
