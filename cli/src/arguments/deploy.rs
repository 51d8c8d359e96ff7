//! The arguments of `causerie deploy` and `causerie apps`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::arguments::options::{AuthMode, ContextOption, origin};

#[derive(Args)]
#[command(after_help = DEPLOY_EXAMPLES)]
pub(crate) struct DeployArguments {
    /// Name of the app: lower-case letters, digits and hyphens.
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub(crate) app_name: String,
    /// Which keys are accepted: keys of the organization, keys of any organization, or no key is needed.
    #[arg(long, value_name = "MODE", default_value = "private")]
    pub(crate) auth: AuthMode,
    /// Organization, which is also the namespace.
    #[arg(long, value_name = "ORG", default_value = "default", value_parser = label)]
    pub(crate) org: String,
    /// Platform to deploy to.
    #[arg(long, value_name = "TARGET", default_value = "knative")]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) image: ImageOptions,
    #[command(flatten)]
    pub(crate) context: ContextOption,
    /// Registry to push the image to: `registry.example.org/team`.
    #[arg(long, value_name = "PREFIX", conflicts_with = "image")]
    pub(crate) registry: Option<String>,
    /// Volume claim that holds the model; --model is then a path in that volume.
    #[arg(long, value_name = "CLAIM", requires = "model", value_parser = label)]
    pub(crate) model_volume: Option<String>,
    /// Model id for clients [default: the name of the model's file].
    #[arg(long, value_name = "ID")]
    pub(crate) model_id: Option<String>,
    /// File of keys; the app gets their hashes [default: in the user's data folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) keys: Option<PathBuf>,
    /// Processors per pod.
    #[arg(long, value_name = "QUANTITY", default_value = "2", value_parser = quantity)]
    pub(crate) cpu: String,
    /// Memory per pod [default: what the model needs when all slots are busy].
    #[arg(long, value_name = "QUANTITY", value_parser = quantity)]
    pub(crate) memory: Option<String>,
    /// Requests that a pod answers at the same time.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) slots: u32,
    /// Minimum number of pods [default: the app's current value, else 0, or 1 on plain Kubernetes].
    #[arg(long, value_name = "N")]
    pub(crate) min_scale: Option<u32>,
    /// Maximum number of pods [default: the app's current value, else 3].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_scale: Option<u32>,
    /// How long an idle pod is kept: 30s, 5m, at most 1h.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = retention)]
    pub(crate) retention: Retention,
    /// Answer /metrics without a key.
    #[arg(long)]
    pub(crate) open_metrics: bool,
    /// An origin whose pages may use the app: `https://example.org`. May be given several times.
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    pub(crate) allow_origin: Vec<String>,
    /// Create the namespace as well.
    #[arg(long)]
    pub(crate) create_namespace: bool,
    /// Folder to write the artefacts to [default: NAME-deploy].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Write and print the artefacts, without building or applying anything.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterOption,
}

const DEPLOY_EXAMPLES: &str = "\
Examples:
  causerie keys create
  causerie deploy --app-name notes --auth private --model LFM2-1.2B-Q4_K_M.gguf \\
    --binary \"$(scripts/static)\" --registry registry.example.org/team
  causerie deploy --app-name notes --image registry.example.org/team/notes:1 --memory 1Gi --dry-run
  causerie deploy --app-name notes --target kubernetes --memory 4Gi \\
    --model-volume models --model lfm2/LFM2-1.2B-Q4_K_M.gguf \\
    --binary \"$(scripts/static)\" --registry registry.example.org/team

The image is built with buildah, podman or docker; kubectl applies the manifests. See docs/hosting.md.";

/// The contents of an image, and the program that builds it.
#[derive(Args)]
pub(crate) struct ImageOptions {
    /// GGUF file, Hugging Face folder, or NAMESPACE/NAME[:TAG], which is downloaded if needed, to put into the image [default:
    /// the embedded demo model].
    #[arg(long, value_name = "PATH")]
    pub(crate) model: Option<String>,
    /// An existing image to use instead of building one.
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["builder", "base", "binary"])]
    pub(crate) image: Option<String>,
    /// Program that builds the image [default: the first one found on PATH].
    #[arg(long, value_name = "BUILDER")]
    pub(crate) builder: Option<Builder>,
    /// Base image; it must contain a C library if the program is linked dynamically.
    #[arg(long, value_name = "IMAGE", default_value = "scratch")]
    pub(crate) base: String,
    /// Program for the image: causerie for Linux, linked statically by scripts/static [default: this program].
    #[arg(long, value_name = "FILE")]
    pub(crate) binary: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// A Knative service: it scales to zero pods while there are no requests.
    Knative,
    /// A Deployment, a Service and a HorizontalPodAutoscaler.
    Kubernetes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Builder {
    Buildah,
    Podman,
    Docker,
}

/// The cluster to use.
#[derive(Args)]
pub(crate) struct ClusterOption {
    /// Context of kubectl [default: its current one].
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) kube_context: Option<String>,
}

/// A duration in the notation of clusters.
#[derive(Clone, Debug)]
pub(crate) struct Retention {
    pub(crate) written: String,
    pub(crate) seconds: u32,
}

#[derive(Args)]
#[command(after_help = APPS_EXAMPLES)]
pub(crate) struct AppsArguments {
    #[command(subcommand)]
    pub(crate) action: AppsAction,
    /// Platform that the apps run on.
    #[arg(long, value_name = "TARGET", default_value = "knative", global = true)]
    pub(crate) target: Target,
    /// Organization, which is also the namespace.
    #[arg(long, value_name = "ORG", default_value = "default", value_parser = label, global = true)]
    pub(crate) org: String,
    #[command(flatten)]
    pub(crate) cluster: ClusterOption,
}

#[derive(Subcommand)]
pub(crate) enum AppsAction {
    /// Print the apps of all organizations.
    List,
    /// Print the logs of the app's pods.
    Logs {
        #[arg(value_parser = label)]
        app: String,
        /// Continue until Ctrl-C.
        #[arg(long)]
        follow: bool,
        /// Number of lines per pod.
        #[arg(long, value_name = "N", default_value_t = 100)]
        tail: u32,
    },
    /// Change the minimum and maximum number of pods.
    Scale {
        #[arg(value_parser = label)]
        app: String,
        /// Minimum number of pods.
        #[arg(long, value_name = "N", required_unless_present = "max")]
        min: Option<u32>,
        /// Maximum number of pods.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        max: Option<u32>,
    },
    /// Serve an earlier revision again.
    Rollback {
        #[arg(value_parser = label)]
        app: String,
        /// Name of the revision, or its number on plain Kubernetes [default: the previous one].
        #[arg(long, value_name = "REVISION")]
        to: Option<String>,
    },
    /// Delete the app and its keys from the cluster.
    Delete {
        #[arg(value_parser = label)]
        app: String,
    },
}

const APPS_EXAMPLES: &str = "\
Examples:
  causerie apps list
  causerie apps logs notes --follow
  causerie apps scale notes --min 1 --max 5
  causerie apps rollback notes
  causerie apps delete notes --target kubernetes";

/// Parses a name that is valid in a cluster and in its DNS.
fn label(text: &str) -> Result<String, String> {
    let is_label = text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    is_label.then(|| text.to_owned()).ok_or_else(|| {
        "must be at most 63 lower-case letters, digits and hyphens, start with a letter and not end with a hyphen"
            .to_owned()
    })
}

/// Parses an amount in the notation of clusters.
fn quantity(text: &str) -> Result<String, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = text[..text.len() - unit.len()].parse::<f64>();
    let is_quantity =
        number.is_ok_and(|number| 0.0 < number) && ["", "m", "M", "G", "T", "Mi", "Gi", "Ti"].contains(&unit);
    is_quantity.then(|| text.to_owned()).ok_or_else(|| "must be an amount such as 2, 500m or 3Gi".to_owned())
}

/// Parses a duration in the notation of clusters.
fn retention(text: &str) -> Result<Retention, String> {
    let seconds = || {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let scale = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            _ => return None,
        };
        number.parse::<u32>().ok()?.checked_mul(scale).filter(|seconds| *seconds <= 3600)
    };
    let seconds = seconds().ok_or_else(|| "must be a duration from 0s to 1h, such as 30s or 5m".to_owned())?;
    Ok(Retention { written: text.to_owned(), seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_in_dns() {
        for good in ["a", "notes", "notes-2", &"a".repeat(63)] {
            assert!(label(good).is_ok(), "{good}");
        }
        for wrong in ["", "2notes", "Notes", "notes-", "-notes", "no_tes", "no.tes", "é", &"a".repeat(64)] {
            assert!(label(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn amounts_and_durations_have_the_notation_of_clusters() {
        for good in ["2", "0.5", "500m", "3Gi", "512M"] {
            assert!(quantity(good).is_ok(), "{good}");
        }
        for wrong in ["", "0", "-1", "2 ", "3gb", "Gi", "1.2.3", "inf"] {
            assert!(quantity(wrong).is_err(), "{wrong}");
        }
        assert_eq!(["0s", "30s", "5m", "1h"].map(|text| retention(text).unwrap().seconds), [0, 30, 300, 3600]);
        for wrong in ["", "m", "5", "61m", "2h", "-1s", "5é"] {
            assert!(retention(wrong).is_err(), "{wrong}");
        }
    }
}
