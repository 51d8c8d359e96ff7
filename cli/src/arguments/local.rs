//! The arguments of `causerie chat`, `generate`, `bench` and `quantize`.

use std::path::PathBuf;

use causerie::GgufType;
use clap::{ArgAction, Args};

use crate::arguments::options::{
    ContextOption, LoadingArguments, ModelOption, SamplingArguments, small_count, token_count,
};

#[derive(Args)]
#[command(after_help = CHAT_EXAMPLES)]
pub(crate) struct ChatArguments {
    /// Answer this message and exit; without it and without --audio, talk until Ctrl-D.
    pub(crate) prompt: Option<String>,
    /// Show this picture with the first message; may be given several times. The model must see.
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Play this recording (WAV, FLAC, MP3, Ogg Opus) to the model with the message, answer and exit; may be given several
    /// times. The model must hear.
    #[arg(long, value_name = "FILE")]
    pub(crate) audio: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) model: ModelOption,
    #[command(flatten)]
    pub(crate) context: ContextOption,
    #[command(flatten)]
    pub(crate) loading: LoadingArguments,
    /// System prompt [default: a short text].
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
    pub(crate) sampling: SamplingArguments,
}

#[derive(Args)]
pub(crate) struct CheckGpuArguments {
    #[command(flatten)]
    pub(crate) model: ModelOption,
    /// The GPU's name, or a part of it; `causerie inspect devices` lists them [default: the first that is not software].
    #[arg(long, value_name = "NAME")]
    pub(crate) gpu_name: Option<String>,
}

const CHAT_EXAMPLES: &str = "\
Examples:
  causerie chat
  causerie chat \"How many kilometres are 26 miles?\"
  causerie chat --model LFM2-VL-450M-Q8_0.gguf --image picture.png \"What is this?\"
  causerie chat --audio request.wav
  causerie chat --model LFM2-Audio-1.5B-Q8_0.gguf --audio question.wav --system \"Perform ASR.\"
  causerie chat --functions tools.json \"Dim the lamp in the hall to 40 percent\"

Notes and timers are stored in the user's data folder; set CAUSERIE_HOME to choose another folder.
Ctrl-C cancels a reply and keeps the conversation. /help lists the commands of a chat.";

#[derive(Args)]
#[command(after_help = GENERATE_EXAMPLES)]
pub(crate) struct GenerateArguments {
    /// GGUF file, Hugging Face folder, or NAMESPACE/NAME[:TAG], which is downloaded if needed.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) context: ContextOption,
    #[command(flatten)]
    pub(crate) loading: LoadingArguments,
    /// The text to reply to.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: String,
    /// Continue the prompt without the model's chat template.
    #[arg(long)]
    pub(crate) raw: bool,
    /// Print token counts and speeds at the end.
    #[arg(long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) sampling: SamplingArguments,
}

const GENERATE_EXAMPLES: &str = "\
Examples:
  causerie generate --model LFM2-350M-Q8_0.gguf --prompt \"Name three rivers.\"
  causerie generate --model ./LFM2-350M --prompt \"Once upon a time\" --raw --temperature 0.8 --seed 7";

#[derive(Args)]
#[command(after_help = BENCH_EXAMPLES)]
pub(crate) struct BenchArguments {
    #[command(flatten)]
    pub(crate) model: ModelOption,
    #[command(flatten)]
    pub(crate) loading: LoadingArguments,
    /// Number of tokens in the prompt, drawn at random.
    #[arg(short, long, value_name = "N", default_value_t = 512, value_parser = token_count)]
    pub(crate) prompt_tokens: usize,
    /// Number of tokens in the reply.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 128, value_parser = token_count)]
    pub(crate) reply_tokens: usize,
    /// Threads to compute with; several numbers are measured one after the other [default: one per core].
    #[arg(short, long, value_name = "N", value_delimiter = ',', value_parser = small_count)]
    pub(crate) threads: Vec<usize>,
    /// Concurrent replies, each with a prompt of its own. Speeds are sums over all replies, from the first token
    /// of the first reply to the last token of the last.
    #[arg(short = 'b', long, value_name = "N", default_value_t = 1, value_parser = small_count)]
    pub(crate) at_once: usize,
    /// Number of measurements; their median is reported.
    #[arg(short, long, value_name = "N", default_value_t = 3, value_parser = token_count)]
    pub(crate) repeats: usize,
    /// Seed of the random prompts.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Measure in this process, with as many threads as the environment variables set.
    #[arg(long, hide = true)]
    pub(crate) here: bool,
}

const BENCH_EXAMPLES: &str = "\
Examples:
  causerie bench --model LFM2-350M-Q4_K_M.gguf -p 512 -n 128 -t 1,2,4
  causerie bench --json

Each number of threads is measured in a separate process, which loads the model, warms up with a short reply, and then
measures. Results on a busy machine are not reliable.";

#[derive(Args)]
#[command(after_help = QUANTIZE_EXAMPLES)]
pub(crate) struct QuantizeArguments {
    /// GGUF file, Hugging Face folder, or NAMESPACE/NAME[:TAG], which is downloaded if needed; weights in F32, F16, BF16 or Q8_0.
    pub(crate) model: String,
    /// Type of the weights: q8_0, q6_k, q5_k_m, q4_k_m or q4_0.
    #[arg(long = "type", value_name = "TYPE", value_parser = str::parse::<GgufType>)]
    pub(crate) gguf_type: GgufType,
    /// GGUF file to write; it must not exist.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

const QUANTIZE_EXAMPLES: &str = "\
Examples:
  causerie quantize ./LFM2-350M --type q4_k_m --output LFM2-350M-Q4_K_M.gguf
  causerie quantize LFM2-350M-F16.gguf --type q8_0 --output LFM2-350M-Q8_0.gguf

Names, metadata and the choice of types are llama.cpp's, so that other programs read the file, too.";
