//! The arguments of `causerie serve`.

use std::path::PathBuf;

use causerie::LoadOptions;
use causerie_server::access::BasePath;
use clap::Args;

use crate::arguments::options::{
    AuthMode, ContextOption, LoadingArguments, ModelOption, connection_count, origin, small_count,
};
use crate::model;

#[derive(Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) model: ModelOption,
    /// Model id for clients [default: the model's name in the cache, or its file name].
    #[arg(long, value_name = "ID")]
    pub(crate) model_id: Option<String>,
    #[command(flatten)]
    pub(crate) context: ContextOption,
    #[command(flatten)]
    pub(crate) loading: LoadingArguments,
    /// Threads to compute with [default: one per processor].
    #[arg(long, value_name = "N", value_parser = small_count)]
    pub(crate) threads: Option<usize>,
    /// Address or host name to listen on; others on the network can reach any but loopback addresses [default: 127.0.0.1,
    /// or 0.0.0.0 with --base-path].
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Port to listen on; 0 takes any free port and prints it [default: 8080, or $PORT with --base-path].
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Require this API key, as `Authorization: Bearer KEY`. Other users of this machine may see it among the arguments:
    /// prefer --api-key-file or the environment variable CAUSERIE_API_KEY.
    #[arg(long, value_name = "KEY", conflicts_with_all = ["base_path", "api_key_file"])]
    pub(crate) api_key: Option<String>,
    /// Require one of the API keys of a file: one per line; blank lines and lines that begin with # are skipped.
    #[arg(long, value_name = "FILE", conflicts_with = "base_path")]
    pub(crate) api_key_file: Option<PathBuf>,
    /// Serve the hosted form, which needs a key, under this path; paths without it are answered as well.
    #[arg(long, value_name = "/ORG/APP")]
    pub(crate) base_path: Option<BasePath>,
    /// Which keys are accepted [default: private].
    #[arg(long, value_name = "MODE", requires = "base_path")]
    pub(crate) auth: Option<AuthMode>,
    /// File of keys, as `causerie keys` writes it; changes take effect at once [default: in the user's data folder].
    #[arg(long, value_name = "FILE", requires = "base_path")]
    pub(crate) keys: Option<PathBuf>,
    /// Answer /metrics without a key.
    #[arg(long, requires = "base_path")]
    pub(crate) open_metrics: bool,
    /// Whisper model that transcribes at /v1/audio/transcriptions: its Hugging Face folder, ggml file, or NAMESPACE/NAME, which is
    /// downloaded if needed.
    #[arg(long, value_name = "MODEL")]
    pub(crate) transcriber: Option<String>,
    /// Model that embeds texts at /v1/embeddings, or ranks documents at /v1/rerank: its GGUF file, Hugging Face folder, or
    /// NAMESPACE/NAME, which is downloaded if needed. May be given twice.
    #[arg(long, value_name = "MODEL")]
    pub(crate) embedding_model: Vec<String>,
    #[command(flatten)]
    pub(crate) limits: ServerLimits,
}

impl ServeArguments {
    /// Options to load the model with.
    pub(crate) fn load_options(&self) -> LoadOptions {
        LoadOptions { threads: self.threads, ..self.loading.add_to(model::load_options(self.context.size)) }
    }
}

/// Limits and permissions of a server.
#[derive(Args)]
pub(crate) struct ServerLimits {
    /// Requests answered at the same time.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = small_count)]
    pub(crate) slots: usize,
    /// Requests that wait for a slot; when more arrive, clients are asked to retry later.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) queue: usize,
    /// Maximum size of a request in megabytes.
    #[arg(long, value_name = "MB", default_value_t = 32, value_parser = small_count)]
    pub(crate) max_body: usize,
    /// Minutes that a sound may last.
    #[arg(long, value_name = "MIN", default_value_t = 60, value_parser = small_count)]
    pub(crate) max_sound: usize,
    /// Connections at the same time; further ones are asked to retry later.
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = connection_count)]
    pub(crate) max_connections: usize,
    /// Seconds that running replies may continue after Ctrl-C.
    #[arg(long, value_name = "S", default_value_t = 30)]
    pub(crate) drain_timeout: u64,
    /// Another host name of the server, besides localhost. May be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// An origin whose pages may use the server, besides local ones: `https://example.org`, or `app://*` for all origins
    /// of a scheme that is not http or https. May be given several times.
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    pub(crate) allow_origin: Vec<String>,
    /// Fetch images that requests name by their addresses from this host, `images.example.org` or with a port; its addresses
    /// must be public. May be given several times [default: a request contains its images].
    #[arg(long, value_name = "HOST", num_args = 1..)]
    pub(crate) allow_image_urls: Vec<String>,
    /// Refuse requests with unknown fields, instead of naming those fields in a header of the reply.
    #[arg(long)]
    pub(crate) strict_fields: bool,
    /// Refuse requests for another model than the one served, or for none, instead of naming it in a header of the reply.
    #[arg(long)]
    pub(crate) strict_model: bool,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  causerie serve
  causerie serve --model LiquidAI/LFM2-1.2B --port 8081
  curl http://127.0.0.1:8080/v1/chat/completions -H 'content-type: application/json' \\
    -d '{\"model\": \"causerie/demo\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello!\"}]}'
  CAUSERIE_API_KEY=sesame causerie serve --host 0.0.0.0
  causerie serve --base-path /acme/notes --auth private

Ctrl-C lets running replies finish; a second Ctrl-C exits at once.";
