//! The arguments of `causerie run` and `causerie keys`.

use std::path::PathBuf;

use causerie_server::access::BasePath;
use clap::{Args, Subcommand};

use crate::arguments::deploy::ImageOptions;
use crate::arguments::options::{AuthMode, ContextOption};
use crate::arguments::serving::ServerLimits;

#[derive(Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArguments {
    /// Run in a container of podman or docker, from the image that `deploy` would build.
    #[arg(long)]
    pub(crate) container: bool,
    #[command(flatten)]
    pub(crate) image: ImageOptions,
    #[command(flatten)]
    pub(crate) context: ContextOption,
    /// The organization in the address; the app's name is random.
    #[arg(long, value_name = "ORG", default_value = "default", value_parser = org)]
    pub(crate) org: String,
    /// Which keys are accepted: private and shared need the key that is printed.
    #[arg(long, value_name = "MODE", default_value = "private")]
    pub(crate) auth: AuthMode,
    /// Address or host name to listen on.
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub(crate) host: String,
    /// Port to listen on; 0 takes any free port.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    #[command(flatten)]
    pub(crate) limits: ServerLimits,
}

const RUN_EXAMPLES: &str = "\
Examples:
  causerie run
  causerie run --model LFM2-1.2B-Q4_K_M.gguf --auth public
  causerie run --container --binary \"$(scripts/static)\"

Prints the address and the key. Both are valid until Ctrl-C.";

#[derive(Args)]
#[command(after_help = KEYS_EXAMPLES)]
pub(crate) struct KeysArguments {
    #[command(subcommand)]
    pub(crate) action: KeysAction,
    /// The file of keys [default: keys.json in the user's data folder].
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) keys: Option<PathBuf>,
}

#[derive(Subcommand)]
pub(crate) enum KeysAction {
    /// Create a key and print it; only its hash is stored.
    Create {
        /// The organization that the key belongs to.
        #[arg(long, value_name = "ORG", default_value = "default", value_parser = org)]
        org: String,
    },
    /// Print the keys, one per line: id, organization, and when each was created and revoked.
    List,
    /// Revoke a key, at once and for good.
    Revoke {
        /// The part of the key before the colon.
        id: String,
    },
}

/// Parses an organization that may stand in a base path.
fn org(text: &str) -> Result<String, String> {
    format!("/{text}/app").parse().map(|path: BasePath| path.org().to_owned())
}

const KEYS_EXAMPLES: &str = "\
Examples:
  causerie keys create --org acme
  causerie keys list
  causerie keys revoke 1f6e0c2ab94d7d35";
