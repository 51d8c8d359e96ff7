//! The manifests for a cluster, rendered from the templates beside this file.

use minijinja::{Environment, UndefinedBehavior, Value, context};

use crate::arguments::Target;

const TEMPLATES: [(&str, &str); 7] = [
    ("Containerfile", include_str!("templates/Containerfile")),
    ("container.yaml", include_str!("templates/container.yaml")),
    ("knative.yaml", include_str!("templates/knative.yaml")),
    ("kubernetes.yaml", include_str!("templates/kubernetes.yaml")),
    ("labels.yaml", include_str!("templates/labels.yaml")),
    ("namespace.yaml", include_str!("templates/namespace.yaml")),
    ("secret.yaml", include_str!("templates/secret.yaml")),
];

/// Time from the decision that a pod ends to its SIGTERM: longer than endpoints usually take to leave the pod out.
const STOP_PAUSE_SECONDS: u32 = 5;

/// The values that the templates use.
#[derive(Debug)]
pub(super) struct ManifestValues {
    pub(super) app: String,
    pub(super) org: String,
    pub(super) auth: &'static str,
    pub(super) image: String,
    /// Arguments of `causerie serve`.
    pub(super) args: Vec<String>,
    /// The file of key hashes in base64; `None` for a public app.
    pub(super) keys: Option<String>,
    /// Claim of a volume with models.
    pub(super) volume: Option<String>,
    pub(super) cpu: String,
    pub(super) memory: String,
    pub(super) slots: u32,
    pub(super) min_scale: u32,
    pub(super) max_scale: u32,
    pub(super) retention: String,
    pub(super) retention_seconds: u32,
    pub(super) open_metrics: bool,
    pub(super) create_namespace: bool,
}

impl ManifestValues {
    fn context(&self, target: Target) -> Value {
        let Self { app, org, image, keys, volume, cpu, memory, retention, .. } = self;
        context! {
            app, org, image, keys, volume, cpu, memory, retention,
            auth => self.auth,
            args => Value::from_iter(&self.args),
            slots => self.slots,
            min_scale => self.min_scale,
            max_scale => self.max_scale,
            retention_seconds => self.retention_seconds,
            open_metrics => self.open_metrics,
            create_namespace => self.create_namespace,
            // Knative's own proxy waits before it stops a pod, and lets no app do so.
            stop_pause_seconds => (target == Target::Kubernetes).then_some(STOP_PAUSE_SECONDS),
        }
    }
}

/// Returns all objects of an app as one file.
pub(super) fn manifests(target: Target, values: &ManifestValues) -> String {
    let template = match target {
        Target::Knative => "knative.yaml",
        Target::Kubernetes => "kubernetes.yaml",
    };
    render(template, values.context(target))
}

/// Renders a template. Every value in YAML is written as JSON, which is also YAML, so that no value can break out of its
/// place.
pub(super) fn render(template: &str, values: Value) -> String {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    for (name, source) in TEMPLATES {
        environment.add_template(name, source).expect("the templates are part of the program and tested");
    }
    let filled = environment.get_template(template).and_then(|template| template.render(values));
    filled.expect("the names and values of the templates are tested") + "\n"
}
