//! What can be typed behind `causerie serve`, `run`, `keys` and `conformance`.

use std::path::PathBuf;

use causerie::{CacheType, LoadOptions};
use causerie_server::serve::{Auth, BasePath, check_origin};
use clap::{Args, Subcommand, ValueEnum};

use crate::arguments::{ContextOption, ImageOptions, ModelOption, threads};
use crate::model;

#[derive(Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) model: ModelOption,
    /// What clients call the model [default: its name in the cache, or of its file].
    #[arg(long, value_name = "ID")]
    pub(crate) model_id: Option<String>,
    #[command(flatten)]
    pub(crate) context: ContextOption,
    /// Threads to compute with [default: one for each processor].
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    /// What keys and values are kept as: f32 takes twice the memory, and is for comparing with references; q8_0 takes
    /// little more than half of what f16 takes, and is coarser.
    #[arg(long, value_name = "TYPE", default_value = "f16")]
    pub(crate) cache_type: CacheForm,
    /// Address or name to listen on; only loopback ones are safe from others on the network [default: 127.0.0.1, or
    /// 0.0.0.0 with --base-path].
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Port to listen on; 0 takes any that is free, and prints it [default: 8080, or $PORT with --base-path].
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Serve the hosted form, with a key, behind this path; paths without it are answered as well.
    #[arg(long, value_name = "/ORG/APP")]
    pub(crate) base_path: Option<BasePath>,
    /// Who may ask [default: private].
    #[arg(long, value_name = "MODE", requires = "base_path")]
    pub(crate) auth: Option<AuthMode>,
    /// The keys, as `causerie keys` writes them; changes hold at once [default: in the user's data folder].
    #[arg(long, value_name = "FILE", requires = "base_path")]
    pub(crate) keys: Option<PathBuf>,
    /// Answer /metrics without a key.
    #[arg(long, requires = "base_path")]
    pub(crate) open_metrics: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum CacheForm {
    F16,
    F32,
    #[value(name = "q8_0")]
    Q8_0,
}

impl Serve {
    /// How the model is loaded.
    pub(crate) fn load_options(&self) -> LoadOptions {
        let cache_type = match self.cache_type {
            CacheForm::F16 => CacheType::F16,
            CacheForm::F32 => CacheType::F32,
            CacheForm::Q8_0 => CacheType::Q8_0,
        };
        LoadOptions { threads: self.threads, cache_type, ..model::load_options(self.context.size) }
    }
}

/// What a server allows.
#[derive(Args)]
pub(crate) struct Limits {
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
    /// An origin whose pages may use the server, besides local ones: `https://example.org`, or `app://*` for all of a
    /// scheme that the web does not have. May be given several times.
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
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
  causerie serve --base-path /acme/notes --auth private

Ctrl-C lets replies under way finish; a second one ends at once.";

fn slots(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|slots| (1..=1024).contains(slots)).ok_or_else(|| "expected 1 to 1024".to_owned())
}

pub(crate) fn origin(text: &str) -> Result<String, String> {
    check_origin(text).map(|()| text.to_owned())
}

fn megabytes(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|size| (1..=1024).contains(size)).ok_or_else(|| "expected 1 to 1024".to_owned())
}

#[derive(Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct Run {
    /// Run it in a container of podman or docker, from the image that `deploy` would build.
    #[arg(long)]
    pub(crate) container: bool,
    #[command(flatten)]
    pub(crate) image: ImageOptions,
    #[command(flatten)]
    pub(crate) context: ContextOption,
    /// The organization in the address; the app is named at random.
    #[arg(long, value_name = "ORG", default_value = "default", value_parser = org)]
    pub(crate) org: String,
    /// Who may ask: with private and shared, who has the key that is printed.
    #[arg(long, value_name = "MODE", default_value = "private")]
    pub(crate) auth: AuthMode,
    /// Address or name to listen on.
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub(crate) host: String,
    /// Port to listen on; 0 takes any that is free.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

const RUN_EXAMPLES: &str = "\
Examples:
  causerie run
  causerie run --model LFM2-1.2B-Q4_K_M.gguf --auth public
  causerie run --container --binary \"$(scripts/static)\"

Prints the address and the key, and forgets both at Ctrl-C.";

/// Who may use a hosted server.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum AuthMode {
    /// Who has a key of the organization.
    Private,
    /// Who has a key of any organization.
    Shared,
    /// Everyone.
    Public,
}

impl From<AuthMode> for Auth {
    fn from(mode: AuthMode) -> Self {
        match mode {
            AuthMode::Private => Self::Private,
            AuthMode::Shared => Self::Shared,
            AuthMode::Public => Self::Public,
        }
    }
}

#[derive(Args)]
#[command(after_help = KEYS_EXAMPLES)]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) what: KeysAction,
    /// Where the keys are kept [default: keys.json in the user's data folder].
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) keys: Option<PathBuf>,
}

#[derive(Subcommand)]
pub(crate) enum KeysAction {
    /// Make a key and print it, this once. Its hash is kept.
    Create {
        /// The organization that the key belongs to.
        #[arg(long, value_name = "ORG", default_value = "default", value_parser = org)]
        org: String,
    },
    /// Print the keys' ids, one a line, with their organizations and since when they are or were good.
    List,
    /// Make a key good for nothing, at once and for ever.
    Revoke {
        /// What stands before the colon of the key.
        id: String,
    },
}

/// What can stand in a base path.
fn org(text: &str) -> Result<String, String> {
    format!("/{text}/app").parse().map(|path: BasePath| path.org().to_owned())
}

const KEYS_EXAMPLES: &str = "\
Examples:
  causerie keys create --org acme
  causerie keys list
  causerie keys revoke 1f6e0c2ab94d7d35";

#[derive(Args)]
#[command(after_help = CONFORMANCE_EXAMPLES)]
pub(crate) struct Conformance {
    /// Where the server is, with `/v1`; http only.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: String,
    /// The model to ask [default: the first that the server lists].
    #[arg(long, value_name = "ID")]
    pub(crate) model: Option<String>,
    /// Sent as `Authorization` [default: none].
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// The word before the key: `Key` for the hosted form.
    #[arg(long, value_name = "WORD", default_value = "Bearer")]
    pub(crate) scheme: String,
}

const CONFORMANCE_EXAMPLES: &str = "\
Examples:
  causerie conformance --base-url http://127.0.0.1:8080/v1

Prints a line for each check, and fails if one did.";
