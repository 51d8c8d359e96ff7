//! `causerie deploy`: deploys the hosted form to a cluster. It writes a Containerfile and manifests, has the user's own
//! builder build and push the image, and kubectl apply the manifests. It orchestrates nothing: the cluster alone knows
//! what runs, in how many pods and in which revision.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use causerie::LoadOptions;
use causerie_server::access::Auth;
use causerie_server::access::keys::KeyFile;
use serde_json::Value as Json;

use crate::arguments::{DeployArguments, Target};
use crate::deploy::image::{self, ImageRecipe};
use crate::deploy::manifests::{self, ManifestValues};
use crate::deploy::tool::Tool;
use crate::failure::Failure;
use crate::folder::key_file;
use crate::model::LocalModel;
use crate::models::pull;
use crate::output::{print_line, remark};

/// The server's file of keys. The volume is mounted as a folder, so that the cluster can replace keys while it runs.
const KEYS: &str = "/etc/causerie/keys/keys.json";
const DEFAULT_MAX_SCALE: u32 = 3;

pub(crate) fn run(arguments: &DeployArguments, is_offline: bool) -> Result<(), Failure> {
    check_name_length(arguments)?;
    let keys = key_hashes(arguments)?;
    let folder = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}-deploy", arguments.app_name)));
    let model = local_model(arguments, is_offline)?;
    let recipe = match &arguments.image.image {
        Some(_) => None,
        None => Some(recipe(arguments, &model)?),
    };
    let tools = if arguments.dry_run { None } else { Some(DeployTools::find(arguments, recipe.is_some())?) };
    let scale = match &tools {
        Some(tools) => current_scale(arguments, &tools.kubectl)?,
        None => (None, None),
    };
    let reference = recipe.as_ref().map(|recipe| &recipe.reference).or(arguments.image.image.as_ref());
    let values = values(arguments, &model, reference.cloned().unwrap_or_default(), keys, scale)?;
    let manifests = manifests::manifests(arguments.target, &values);
    write(&folder, recipe.as_ref(), &manifests)?;
    let Some(tools) = tools else {
        print_line(manifests)?;
        remark(format_args!("written to {}; nothing was built or applied", folder.display()));
        return Ok(());
    };
    if let (Some(recipe), Some(builder)) = (&recipe, &tools.builder) {
        recipe.build(builder, &folder)?;
        remark(format_args!("pushing {}", recipe.reference));
        builder.run(["push", &recipe.reference])?;
    }
    apply(arguments, &tools.kubectl, &folder)
}

/// The programs that deployment needs. They are looked up before anything is written.
struct DeployTools {
    builder: Option<Tool>,
    kubectl: Tool,
}

impl DeployTools {
    fn find(arguments: &DeployArguments, builds: bool) -> Result<Self, Failure> {
        if builds && arguments.registry.is_none() {
            let message = "a cluster pulls its images from a registry: choose one to push to with --registry, or an \
                           existing image with --image";
            return Err(Failure(message.to_owned()));
        }
        let builder = if builds { Some(image::builder(arguments.image.builder)?) } else { None };
        Ok(Self { builder, kubectl: Tool::kubectl(arguments.cluster.kube_context.as_deref())? })
    }
}

/// Checks the length of both names together: Knative joins them to one DNS label.
fn check_name_length(arguments: &DeployArguments) -> Result<(), Failure> {
    let length = arguments.app_name.len() + 1 + arguments.org.len();
    if 63 < length {
        return Err(Failure(format!(
            "the names of app and organization must have at most 63 characters together, found {length}"
        )));
    }
    Ok(())
}

/// Returns the hashes of all keys that the app accepts, as a JSON file; `None` for a public app.
fn key_hashes(arguments: &DeployArguments) -> Result<Option<Vec<u8>>, Failure> {
    let auth = Auth::from(arguments.auth);
    if auth == Auth::Public {
        return Ok(None);
    }
    let path = key_file(arguments.keys.as_deref());
    let missing = || {
        let org = &arguments.org;
        Failure(format!("{} has no key of {org}; create one with: causerie keys create --org {org}", path.display()))
    };
    if !path.exists() {
        return Err(missing());
    }
    let mut known = KeyFile::new(&path).read()?;
    known.retain(|key| key.revoked.is_none() && (auth == Auth::Shared || key.owner == arguments.org));
    if known.is_empty() {
        return Err(missing());
    }
    Ok(Some(serde_json::to_vec(&known).map_err(std::io::Error::from)?))
}

/// The model of the image, which is downloaded if it is built from it. One in a volume is not on this machine.
fn local_model(arguments: &DeployArguments, is_offline: bool) -> Result<LocalModel, Failure> {
    let name = arguments.image.model.as_deref().filter(|_| arguments.model_volume.is_none());
    match (name, &arguments.image.image) {
        // Only its memory use may be asked for.
        (Some(name), Some(_)) => Ok(LocalModel::Named { name: name.to_owned(), place: PathBuf::from(name) }),
        _ => pull::ensure(name, is_offline, |_| {}),
    }
}

fn recipe(arguments: &DeployArguments, model: &LocalModel) -> Result<ImageRecipe, Failure> {
    ImageRecipe::new(&arguments.app_name, &arguments.image, arguments.registry.as_deref(), model)
}

fn values(
    arguments: &DeployArguments,
    model: &LocalModel,
    image: String,
    keys: Option<Vec<u8>>,
    (min_now, max_now): (Option<u32>, Option<u32>),
) -> Result<ManifestValues, Failure> {
    let least = if arguments.target == Target::Kubernetes { 1 } else { 0 };
    let min_scale = arguments.min_scale.or(min_now).unwrap_or(least);
    if min_scale < least {
        return Err(Failure(
            "plain Kubernetes does not scale to zero: --min-scale must be at least 1, found 0".to_owned(),
        ));
    }
    let max_scale = arguments.max_scale.or(max_now).unwrap_or(DEFAULT_MAX_SCALE);
    if max_scale < min_scale {
        return Err(Failure(format!("--max-scale must be at least --min-scale, found {max_scale} and {min_scale}")));
    }
    Ok(ManifestValues {
        app: arguments.app_name.clone(),
        org: arguments.org.clone(),
        auth: Auth::from(arguments.auth).name(),
        image,
        args: args(arguments),
        keys: keys.map(|keys| STANDARD.encode(keys)),
        volume: arguments.model_volume.clone(),
        cpu: arguments.cpu.clone(),
        memory: arguments.memory.clone().map_or_else(|| memory(arguments, model), Ok)?,
        slots: arguments.slots,
        min_scale,
        max_scale,
        retention: arguments.retention.written.clone(),
        retention_seconds: arguments.retention.seconds,
        open_metrics: arguments.open_metrics,
        create_namespace: arguments.create_namespace,
    })
}

/// Returns the arguments of `causerie serve` in a pod.
fn args(arguments: &DeployArguments) -> Vec<String> {
    let base_path = format!("/{}/{}", arguments.org, arguments.app_name);
    let mut args: Vec<String> =
        ["--base-path", &base_path, "--auth", Auth::from(arguments.auth).name()].map(String::from).into();
    if Auth::from(arguments.auth) != Auth::Public {
        args.extend(["--keys", KEYS].map(String::from));
    }
    args.extend(["--slots".to_owned(), arguments.slots.to_string()]);
    if let (Some(_), Some(model)) = (&arguments.model_volume, &arguments.image.model) {
        args.extend(["--model".to_owned(), format!("/models/{model}")]);
    }
    if let Some(id) = &arguments.model_id {
        args.extend(["--model-id".to_owned(), id.clone()]);
    }
    args.extend(arguments.context.size.iter().flat_map(|size| ["--context".to_owned(), size.to_string()]));
    if arguments.open_metrics {
        args.push("--open-metrics".to_owned());
    }
    args.extend(arguments.allow_origin.iter().flat_map(|origin| ["--allow-origin".to_owned(), origin.clone()]));
    args
}

/// Returns the memory that a pod needs when all slots are busy, including the server itself, rounded up to 256 MiB.
fn memory(arguments: &DeployArguments, model: &LocalModel) -> Result<String, Failure> {
    const CACHE_AND_BODIES: u64 = (512 + 256) << 20;
    const STEP: u64 = 256 << 20;
    if arguments.model_volume.is_some() || (arguments.image.image.is_some() && arguments.image.model.is_none()) {
        return Err(Failure(
            "cannot estimate the memory of a model that is not on this machine: set it with --memory".to_owned(),
        ));
    }
    let info = model.info()?;
    let context_size = arguments.context.size.unwrap_or(LoadOptions::DEFAULT_CONTEXT_SIZE);
    let estimate = info.memory_estimate(info.context_size.min(context_size));
    let sequence = estimate.key_values + estimate.convolutions + estimate.delta_nets;
    let sequences = u64::from(arguments.slots) * sequence;
    let total = estimate.weights + estimate.working + sequences + CACHE_AND_BODIES;
    Ok(format!("{}Mi", total.div_ceil(STEP) * 256))
}

fn write(folder: &Path, recipe: Option<&ImageRecipe>, manifests: &str) -> Result<(), Failure> {
    let written = || -> Result<(), Failure> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("manifests.yaml"), manifests)?;
        recipe.map_or(Ok(()), |recipe| recipe.write(folder))
    };
    written().map_err(|err| Failure(format!("cannot write the artefacts to {}: {}", folder.display(), err.0)))
}

/// Returns the minimum and maximum number of pods that the deployed app has now.
fn current_scale(arguments: &DeployArguments, kubectl: &Tool) -> Result<(Option<u32>, Option<u32>), Failure> {
    let (kind, min, max) = match arguments.target {
        Target::Knative => (
            "services.serving.knative.dev",
            "/spec/template/metadata/annotations/autoscaling.knative.dev~1min-scale",
            "/spec/template/metadata/annotations/autoscaling.knative.dev~1max-scale",
        ),
        Target::Kubernetes => ("horizontalpodautoscalers.autoscaling", "/spec/minReplicas", "/spec/maxReplicas"),
    };
    let namespace = format!("--namespace={}", arguments.org);
    let found =
        kubectl.output(["get", kind, &arguments.app_name, &namespace, "--ignore-not-found", "--output=json"])?;
    let app: Json = serde_json::from_str(&found).unwrap_or_default();
    let number = |at: &str| {
        let value = app.pointer(at)?;
        u32::try_from(value.as_u64().or_else(|| value.as_str()?.parse().ok())?).ok()
    };
    Ok((number(min), number(max)))
}

/// Applies the manifests, waits until the app is ready, and prints its address.
fn apply(arguments: &DeployArguments, kubectl: &Tool, folder: &Path) -> Result<(), Failure> {
    let (app, org) = (&arguments.app_name, &arguments.org);
    let manifests = folder.join("manifests.yaml");
    kubectl.run(["apply".as_ref(), "--filename".as_ref(), manifests.as_os_str()])?;
    remark(format_args!("waiting for {app}; the first deployment pulls the image and loads the model"));
    let namespace = format!("--namespace={org}");
    let address = match arguments.target {
        Target::Knative => {
            let service = format!("services.serving.knative.dev/{app}");
            kubectl.run(["wait", "--for=condition=Ready", &service, &namespace, "--timeout=600s"])?;
            kubectl.output(["get", &service, &namespace, "--output=jsonpath={.status.url}"])?
        }
        Target::Kubernetes => {
            kubectl.run(["rollout", "status", &format!("deployment/{app}"), &namespace, "--timeout=600s"])?;
            format!("http://{app}.{org}.svc")
        }
    };
    Ok(print_line(format_args!("{address}/{org}/{app}/v1"))?)
}
