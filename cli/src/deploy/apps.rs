//! `causerie apps`: manages deployed apps. kubectl asks the cluster each time; nothing is stored locally.

use serde_json::{Value as Json, json};

use crate::arguments::{AppsAction, AppsArguments, Target};
use crate::deploy::tool::Tool;
use crate::failure::Failure;
use crate::output::remark;

/// Label selector of the objects that `causerie deploy` created.
const OURS: &str = "app.kubernetes.io/managed-by=causerie";

pub(crate) fn run(arguments: &AppsArguments) -> Result<(), Failure> {
    let kubectl = Tool::kubectl(arguments.cluster.kube_context.as_deref())?;
    let namespace =
        AppNamespace { kubectl, target: arguments.target, namespace: format!("--namespace={}", arguments.org) };
    match &arguments.action {
        AppsAction::List => namespace.list(),
        AppsAction::Logs { app, follow, tail } => namespace.logs(app, *follow, *tail),
        AppsAction::Scale { app, min, max } => namespace.scale(app, *min, *max),
        AppsAction::Rollback { app, to } => namespace.rollback(app, to.as_deref()),
        AppsAction::Delete { app } => namespace.delete(app),
    }
}

/// A namespace of a cluster, and the platform that its apps run on.
struct AppNamespace {
    kubectl: Tool,
    target: Target,
    namespace: String,
}

impl AppNamespace {
    fn list(&self) -> Result<(), Failure> {
        let (kind, columns, selector) = match self.target {
            Target::Knative => (
                "services.serving.knative.dev",
                "REVISION:.status.latestReadyRevisionName,URL:.status.url",
                OURS.to_owned(),
            ),
            // The Deployments that Knative creates carry the labels of their services; these are left out.
            Target::Kubernetes => (
                "deployments.apps",
                "READY:.status.readyReplicas,IMAGE:.spec.template.spec.containers[0].image",
                format!("{OURS},!serving.knative.dev/service"),
            ),
        };
        let columns = format!(
            "--output=custom-columns=ORG:.metadata.namespace,APP:.metadata.name,AUTH:.metadata.annotations.causerie/auth,{columns}"
        );
        Ok(self.kubectl.show(["get", kind, "--all-namespaces", "--selector", &selector, &columns])?)
    }

    fn logs(&self, app: &str, follow: bool, tail: u32) -> Result<(), Failure> {
        let (pods, tail) = (format!("app.kubernetes.io/instance={app}"), format!("--tail={tail}"));
        let mut arguments =
            vec!["logs", &self.namespace, "--selector", &pods, "--container=causerie", "--prefix", &tail];
        if follow {
            arguments.push("--follow");
        }
        Ok(self.kubectl.show(arguments)?)
    }

    fn scale(&self, app: &str, min: Option<u32>, max: Option<u32>) -> Result<(), Failure> {
        let (kind, patch) = match self.target {
            Target::Knative => {
                let mut annotations = json!({});
                for (name, count) in [("min-scale", min), ("max-scale", max)] {
                    if let Some(count) = count {
                        annotations[format!("autoscaling.knative.dev/{name}")] = json!(count.to_string());
                    }
                }
                let patch = json!({ "spec": { "template": { "metadata": { "annotations": annotations } } } });
                ("services.serving.knative.dev", patch)
            }
            Target::Kubernetes if min == Some(0) => {
                return Err(Failure(
                    "plain Kubernetes does not scale to zero: --min must be at least 1, found 0".to_owned(),
                ));
            }
            Target::Kubernetes => {
                let mut spec = json!({});
                for (name, count) in [("minReplicas", min), ("maxReplicas", max)] {
                    if let Some(count) = count {
                        spec[name] = json!(count);
                    }
                }
                ("horizontalpodautoscalers.autoscaling", json!({ "spec": spec }))
            }
        };
        self.patch(kind, app, &patch)
    }

    fn rollback(&self, app: &str, to: Option<&str>) -> Result<(), Failure> {
        match self.target {
            Target::Knative => {
                let revision = match to {
                    Some(revision) => revision.to_owned(),
                    None => self.previous_revision(app)?,
                };
                let traffic = json!({ "spec": { "traffic": [{ "revisionName": revision, "percent": 100 }] } });
                self.patch("services.serving.knative.dev", app, &traffic)?;
                remark(format_args!("{app} is served by {revision} until it is deployed again"));
            }
            Target::Kubernetes => {
                let (deployment, revision) = (format!("deployment/{app}"), to.map(|to| format!("--to-revision={to}")));
                let undo = ["rollout", "undo", &deployment, &self.namespace];
                self.kubectl.run(undo.into_iter().chain(revision.as_deref()))?;
                self.kubectl.run(["rollout", "status", &deployment, &self.namespace, "--timeout=600s"])?;
            }
        }
        Ok(())
    }

    /// Returns the newest revision that is older than the one that is served.
    fn previous_revision(&self, app: &str) -> Result<String, Failure> {
        let service = self.json(&["get", "services.serving.knative.dev", app])?;
        let of_app = format!("serving.knative.dev/service={app}");
        let revisions = self.json(&["get", "revisions.serving.knative.dev", "--selector", &of_app])?;
        let name = |revision: &Json| Some(revision.pointer("/metadata/name")?.as_str()?.to_owned());
        let generation = |revision: &Json| {
            let labels = revision.pointer("/metadata/labels")?;
            labels["serving.knative.dev/configurationGeneration"].as_str()?.parse::<u64>().ok()
        };
        let mut known: Vec<(u64, String)> = revisions["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|revision| Some((generation(revision)?, name(revision)?)))
            .collect();
        known.sort();
        let traffic = service.pointer("/status/traffic").and_then(Json::as_array);
        let served = traffic
            .and_then(|routes| routes.iter().max_by_key(|route| route["percent"].as_u64()))
            .and_then(|route| route["revisionName"].as_str());
        let at = served.and_then(|served| known.iter().position(|(_, name)| name == served));
        match at.and_then(|at| at.checked_sub(1)) {
            Some(before) => Ok(known.swap_remove(before).1),
            None => Err(Failure(format!("{app} has no revision before {}", served.unwrap_or("the one being served")))),
        }
    }

    fn delete(&self, app: &str) -> Result<(), Failure> {
        let kinds = match self.target {
            Target::Knative => "services.serving.knative.dev,secrets,serviceaccounts,networkpolicies.networking.k8s.io",
            Target::Kubernetes => {
                "deployments.apps,services,horizontalpodautoscalers.autoscaling,poddisruptionbudgets.policy,secrets,\
                 serviceaccounts,networkpolicies.networking.k8s.io"
            }
        };
        let selector = format!("{OURS},app.kubernetes.io/instance={app}");
        Ok(self.kubectl.run(["delete", kinds, &self.namespace, "--selector", &selector])?)
    }

    fn patch(&self, kind: &str, app: &str, patch: &Json) -> Result<(), Failure> {
        let patch = format!("--patch={patch}");
        Ok(self.kubectl.run(["patch", kind, app, &self.namespace, "--type=merge", &patch])?)
    }

    fn json(&self, arguments: &[&str]) -> Result<Json, Failure> {
        let printed =
            self.kubectl.output(arguments.iter().copied().chain([self.namespace.as_str(), "--output=json"]))?;
        let invalid = |err| Failure(format!("the output of kubectl {} must be JSON: {err}", arguments.join(" ")));
        serde_json::from_str(&printed).map_err(invalid)
    }
}
