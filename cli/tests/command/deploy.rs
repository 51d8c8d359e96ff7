//! `causerie deploy` and `causerie apps`: the artefacts that are written, and the calls of the builder and of kubectl, which
//! scripts replace.

#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Keys of three organizations, one of them revoked.
const KEYS: &str = r#"[
    {"id": "a1", "hash": "HASH", "owner": "acme", "created": "2026-01-02T03:04:05Z"},
    {"id": "a2", "hash": "HASH", "owner": "acme", "created": "2026-01-02T03:04:05Z", "revoked": "2026-02-02T03:04:05Z"},
    {"id": "b1", "hash": "HASH", "owner": "other", "created": "2026-01-02T03:04:05Z"},
    {"id": "d1", "hash": "HASH", "owner": "default", "created": "2026-01-02T03:04:05Z"}
]"#;

/// A folder with keys, a tiny program, and scripts that replace the tools.
struct DeployFolder(PathBuf);

impl DeployFolder {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("causerie-deploy-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("bin")).unwrap();
        fs::write(folder.join("keys.json"), KEYS.replace("HASH", &"0".repeat(64))).unwrap();
        fs::write(folder.join("program"), program(0)).unwrap();
        Self(folder)
    }

    /// Adds a tool that records its arguments, and then runs this script.
    fn tool(self, name: &str, script: &str) -> Self {
        let path = self.0.join("bin").join(name);
        let record = self.0.join("calls");
        fs::write(&path, format!("#!/bin/sh\necho \"{name} $*\" >>{}\n{script}\n", record.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_causerie"));
        command.args(arguments).current_dir(&self.0).env("PATH", self.0.join("bin")).env("CAUSERIE_HOME", &self.0);
        command.output().unwrap()
    }

    /// Returns the recorded calls of the tools, without the path of this folder.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.0.join("calls")).unwrap_or_default();
        calls.lines().map(|line| line.replace(&format!("{}/", self.0.display()), "")).collect()
    }
}

/// Returns the header of a Linux program with one segment of this type.
fn program(kind: u8) -> Vec<u8> {
    let mut head = b"\x7fELF\x02\x01".to_vec();
    head.resize(64 + 56, 0);
    (head[32], head[54], head[56], head[64]) = (64, 56, 1, kind);
    head
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[track_caller]
fn succeeded(output: Output) -> String {
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{out}{err}");
    out
}

#[track_caller]
fn check_failure(output: &Output, expect: &str) {
    let message = text(output.stderr.clone());
    assert!(!output.status.success() && message.contains(expect), "{message}");
}

/// Compares with the golden file of that name, or rewrites it.
#[track_caller]
fn check_golden(name: &str, written: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/golden").join(name);
    if std::env::var_os("UPDATE_ARTEFACTS").is_some() {
        fs::write(&path, written).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap();
    assert_eq!(written, golden, "{name} has changed; UPDATE_ARTEFACTS=1 rewrites it");
}

#[test]
fn the_artefacts_match_the_golden_files() {
    let folder = DeployFolder::new("golden");
    fs::create_dir(folder.0.join("tiny")).unwrap();
    for file in ["model.safetensors", "config.json"] {
        fs::write(folder.0.join("tiny").join(file), file).unwrap();
    }
    let deploy = ["deploy", "--app-name", "notes", "--dry-run", "--out", "out"];
    let program = ["--binary", "program", "--registry", "registry.example.org/team"];
    let image = ["--image", "registry.example.org/team/notes:1"];
    for (name, arguments) in [
        ("knative.yaml", [&program[..], &["--org", "acme", "--memory", "2Gi"]].concat()),
        (
            "knative-volume.yaml",
            [
                &image[..],
                &[
                    "--org",
                    "acme",
                    "--model-volume",
                    "models",
                    "--model",
                    "lfm2/a \"b\".gguf",
                    "--memory",
                    "4Gi",
                    "--model-id",
                    "LiquidAI/LFM2-1.2B",
                    "--min-scale",
                    "1",
                ],
            ]
            .concat(),
        ),
        (
            "kubernetes.yaml",
            [
                &program[..],
                &[
                    "--target",
                    "kubernetes",
                    "--auth",
                    "shared",
                    "--org",
                    "other",
                    "--model",
                    "tiny",
                    "--memory",
                    "1Gi",
                    "--open-metrics",
                    "--allow-origin",
                    "https://example.org",
                    "--create-namespace",
                ],
            ]
            .concat(),
        ),
        (
            "kubernetes-public.yaml",
            [
                &image[..],
                &[
                    "--target",
                    "kubernetes",
                    "--auth",
                    "public",
                    "--memory",
                    "1Gi",
                    "--cpu",
                    "500m",
                    "--retention",
                    "30s",
                ],
            ]
            .concat(),
        ),
    ] {
        let printed = succeeded(folder.run(&[&deploy[..], &arguments].concat()));
        let written = fs::read_to_string(folder.0.join("out/manifests.yaml")).unwrap();
        assert_eq!(printed, format!("{written}\n"));
        check_golden(name, &written);
        if arguments.contains(&"--binary") {
            let containerfile = fs::read_to_string(folder.0.join("out/Containerfile")).unwrap();
            check_golden(&name.replace("yaml", "Containerfile"), &containerfile);
        }
    }
    assert!(folder.calls().is_empty(), "nothing was built or applied");
}

#[test]
fn the_examples_of_the_help_work() {
    let folder = DeployFolder::new("help").tool("buildah", "").tool("kubectl", "");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/demo.gguf"), folder.0.join("LFM2-1.2B-Q4_K_M.gguf"))
        .unwrap();
    let help = succeeded(folder.run(&["deploy", "--help"]));
    let (_, examples) = help.split_once("\nExamples:\n").unwrap();
    let (examples, _) = examples.split_once("\n\n").unwrap();
    let examples = examples.replace("\\\n", "").replace("\"$(scripts/static)\"", "program");
    assert_eq!(examples.lines().count(), 4, "{examples}");
    for example in examples.lines() {
        let words: Vec<&str> = example.split_whitespace().collect();
        assert_eq!(words[0], "causerie");
        succeeded(folder.run(&words[1..]));
    }
}

#[test]
fn a_pod_gets_its_context_size_and_memory_for_it() {
    let folder = DeployFolder::new("context");
    let deploy = ["deploy", "--app-name", "notes", "--dry-run", "--binary", "program", "--slots", "64"];
    let deployed = |options: &[&str]| {
        let manifests = succeeded(folder.run(&[&deploy[..], options].concat()));
        let (_, memory) = manifests.split_once("memory: \"").unwrap();
        let mebibytes: u32 = memory.split_once("Mi\"").unwrap().0.parse().unwrap();
        (mebibytes, manifests)
    };
    let (most, manifests) = deployed(&[]);
    assert!(!manifests.contains("--context"));
    let (less, manifests) = deployed(&["--context", "256"]);
    assert!(manifests.contains(r#""--context","256""#), "{manifests}");
    assert!(less < most, "{less} {most}");
    assert_eq!(deployed(&["--context", "1000000"]).0, most, "the model's limit is lower");
}

#[test]
fn a_deployment_builds_pushes_applies_and_prints_the_address() {
    let kubectl = "case \"$*\" in *jsonpath*) echo http://notes.acme.example.org;; esac";
    let folder = DeployFolder::new("whole").tool("podman", "").tool("kubectl", kubectl);
    let options =
        ["--binary", "program", "--registry", "registry.example.org/team/", "--kube-context", "test", "--out", "out"];
    let printed = succeeded(folder.run(&[&["deploy", "--app-name", "notes", "--org", "acme"][..], &options].concat()));
    assert_eq!(printed, "http://notes.acme.example.org/acme/notes/v1\n");
    let manifests = fs::read_to_string(folder.0.join("out/manifests.yaml")).unwrap();
    let image = manifests.lines().find_map(|line| line.trim().strip_prefix("image: ")).unwrap().trim_matches('"');
    assert!(image.starts_with("registry.example.org/team/notes:"), "{image}");
    let service = "services.serving.knative.dev";
    assert_eq!(
        folder.calls(),
        [
            format!("kubectl --context=test get {service} notes --namespace=acme --ignore-not-found --output=json"),
            format!("podman build --file out/Containerfile --tag {image} out/image"),
            format!("podman push {image}"),
            "kubectl --context=test apply --filename out/manifests.yaml".to_owned(),
            format!(
                "kubectl --context=test wait --for=condition=Ready {service}/notes --namespace=acme --timeout=600s"
            ),
            format!("kubectl --context=test get {service}/notes --namespace=acme --output=jsonpath={{.status.url}}"),
        ]
    );
    assert!(!folder.0.join("out/image").exists(), "the copy of the model is removed");
}

#[test]
fn a_deployment_on_plain_kubernetes_waits_for_its_pods() {
    let kubectl = r#"case "$*" in *json*) echo '{"spec": {"minReplicas": 2, "maxReplicas": 7}}';; esac"#;
    let folder = DeployFolder::new("plain").tool("kubectl", kubectl);
    let options = [
        "--target",
        "kubernetes",
        "--auth",
        "public",
        "--image",
        "there/notes:1",
        "--memory",
        "1Gi",
        "--max-scale",
        "9",
    ];
    let printed = succeeded(folder.run(&[&["deploy", "--app-name", "notes"][..], &options].concat()));
    assert_eq!(printed, "http://notes.default.svc/default/notes/v1\n");
    let manifests = fs::read_to_string(folder.0.join("notes-deploy/manifests.yaml")).unwrap();
    assert!(
        manifests.contains("minReplicas: 2\n  maxReplicas: 9\n"),
        "the current scale is kept, unless an option changes it"
    );
    assert_eq!(
        folder.calls(),
        [
            "kubectl get horizontalpodautoscalers.autoscaling notes --namespace=default --ignore-not-found --output=json",
            "kubectl apply --filename notes-deploy/manifests.yaml",
            "kubectl rollout status deployment/notes --namespace=default --timeout=600s",
        ]
    );
}

#[test]
fn errors_of_a_deployment_are_reported_in_one_line() {
    let folder = DeployFolder::new("refused");
    fs::write(folder.0.join("dynamic"), program(3)).unwrap();
    fs::write(folder.0.join("script"), "#!/bin/sh\n").unwrap();
    let deploy = |arguments: &[&str]| folder.run(&[&["deploy", "--app-name", "notes"][..], arguments].concat());
    for (arguments, expect) in [
        (
            &["--binary", "program"][..],
            "causerie: a cluster pulls its images from a registry: choose one to push to with --registry",
        ),
        (
            &["--binary", "program", "--registry", "r"],
            "causerie: cannot build an image: buildah or podman or docker is not on PATH",
        ),
        (&["--image", "i", "--memory", "1Gi"], "causerie: cannot connect to a cluster: kubectl is not on PATH"),
        (&["--image", "i", "--dry-run"], "set it with --memory"),
        (
            &["--binary", "dynamic", "--dry-run"],
            "dynamic must be linked statically, as the image has no libraries: build it with scripts/static",
        ),
        (&["--binary", "script", "--dry-run"], "script must be a 64-bit program for Linux"),
        (&["--binary", "missing", "--dry-run"], "missing cannot be read: "),
        (
            &["--org", "nobody", "--binary", "program"],
            "keys.json has no key of nobody; create one with: causerie keys create --org nobody",
        ),
        (&["--keys", "none.json", "--binary", "program"], "none.json has no key of default"),
        (
            &["--model", "none.gguf", "--binary", "program", "--dry-run"],
            "cannot add the model at none.gguf to an image: ",
        ),
        (
            &["--target", "kubernetes", "--min-scale", "0", "--image", "i", "--memory", "1Gi", "--dry-run"],
            "does not scale to zero",
        ),
        (
            &["--min-scale", "4", "--image", "i", "--memory", "1Gi", "--dry-run"],
            "--max-scale must be at least --min-scale, found 3 and 4",
        ),
    ] {
        let output = deploy(arguments);
        check_failure(&output, expect);
        assert_eq!(text(output.stderr).lines().count(), 1, "{expect}");
    }
    check_failure(&deploy(&["--auth", "secret"]), "invalid value 'secret'");
    assert!(!folder.0.join("notes-deploy").exists(), "nothing was written");
}

/// Script of a container engine that runs and stops `causerie serve` as a process.
const ENGINE: &str = r#"case "$1" in
    run)
        for argument; do case "$argument" in
            --publish=*) port=${argument#--publish=127.0.0.1:}; port=${port%:8080} ;;
            --volume=*) keys=${argument#--volume=}; keys=${keys%%:*} ;;
        esac; done
        while [ "$1" != --base-path ]; do shift; done
        echo $$ >PID
        exec PROGRAM serve --host 127.0.0.1 --port "$port" --base-path "$2" --keys "$keys/keys.json" ;;
    stop) kill "$(cat PID)" ;;
    esac"#;

#[test]
fn a_temporary_container_is_removed_when_a_signal_stops_it() {
    let folder = DeployFolder::new("container");
    let script = ENGINE
        .replace("PROGRAM", env!("CARGO_BIN_EXE_causerie"))
        .replace("PID", &folder.0.join("pid").display().to_string());
    let folder = folder.tool("podman", &format!("PATH=/usr/bin:/bin\n{script}"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_causerie"));
    let options = ["--binary", "program", "--org", "acme", "--context", "512"];
    command.args(["run", "--container"]).args(options).current_dir(&folder.0);
    command.env("PATH", folder.0.join("bin")).env("TMPDIR", &folder.0).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let base_url = lines.next().unwrap().strip_prefix("base_url http://").unwrap().to_owned();
    let key = lines.next().unwrap().strip_prefix("api_key ").unwrap().to_owned();
    let (address, path) = base_url.split_once('/').unwrap();
    let name = path.strip_prefix("acme/").unwrap().strip_suffix("/v1").unwrap();
    let status = |key: &str| {
        let mut socket = TcpStream::connect(address).unwrap();
        let head = format!("Host: localhost\r\nAuthorization: Key {key}\r\nConnection: close");
        write!(socket, "GET /{path}/models HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
        let mut line = String::new();
        BufReader::new(socket).read_line(&mut line).unwrap();
        line
    };
    assert!(status(&key).contains(" 200 ") && status("other").contains(" 401 "));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(TcpStream::connect(address).is_err(), "the address is free again");
    let calls = folder.calls();
    assert!(calls[0].starts_with("podman build --file ") && calls[0].contains(" --tag localhost/run:"), "{}", calls[0]);
    let (port, data) = (address.strip_prefix("127.0.0.1:").unwrap(), format!("causerie-{name}"));
    let started = format!(
        "podman run --rm --name={name} --read-only --cap-drop=all --publish=127.0.0.1:{port}:8080 \
         --volume={data}/keys:/etc/causerie/keys:ro localhost/run:"
    );
    assert!(calls[1].starts_with(&started), "{}", calls[1]);
    let options = format!(" --base-path /acme/{name} --auth=private --keys=/etc/causerie/keys/keys.json --slots=4 ");
    assert!(calls[1].contains(&options) && calls[1].ends_with(" --context=512"), "{}", calls[1]);
    assert_eq!(calls[2], format!("podman stop -t 30 {name}"));
    assert!(!folder.0.join(data).exists(), "the folder of the image is removed");
}

#[test]
fn a_container_that_does_not_start_is_reported() {
    let folder = DeployFolder::new("container-fails").tool("docker", "exit 125");
    check_failure(
        &folder.run(&["run", "--container", "--image", "i"]),
        "causerie: the container ended by itself with status 125",
    );
    check_failure(
        &DeployFolder::new("no-engine").run(&["run", "--container", "--image", "i"]),
        "cannot run a container: podman or docker is not on PATH",
    );
    check_failure(&folder.run(&["run", "--image", "i"]), "--image, --builder and --binary require --container");
}

#[test]
fn a_tool_that_fails_ends_the_deployment() {
    let folder = DeployFolder::new("fails").tool("buildah", "echo no space left >&2; exit 3").tool("kubectl", "");
    let options = ["--binary", "program", "--registry", "r", "--org", "acme"];
    let output = folder.run(&[&["deploy", "--app-name", "notes"][..], &options].concat());
    check_failure(&output, "no space left\ncauserie: buildah build failed: exit status: 3");
    assert!(!folder.calls().iter().any(|line| line.contains("apply")), "{:?}", folder.calls());
}

#[test]
fn apps_are_managed_with_kubectl() {
    let answers = r#"case "$*" in
        *"get services.serving"*json*) echo '{"status": {"traffic": [{"revisionName": "notes-00003", "percent": 100}]}}';;
        *"get revisions"*) echo '{"items": [
            {"metadata": {"name": "notes-00003", "labels": {"serving.knative.dev/configurationGeneration": "3"}}},
            {"metadata": {"name": "notes-00010", "labels": {"serving.knative.dev/configurationGeneration": "10"}}},
            {"metadata": {"name": "notes-00002", "labels": {"serving.knative.dev/configurationGeneration": "2"}}}]}';;
        *get*columns*) echo 'ORG APP';;
        esac"#;
    let ours = "app.kubernetes.io/managed-by=causerie";
    let service = "services.serving.knative.dev";
    for (arguments, expect) in [
        (
            &["list"][..],
            vec![format!(
                "get {service} --all-namespaces --selector {ours} --output=custom-columns=ORG:.metadata.namespace,APP:.metadata.name,\
                 AUTH:.metadata.annotations.causerie/auth,REVISION:.status.latestReadyRevisionName,URL:.status.url"
            )],
        ),
        (
            &["list", "--target", "kubernetes"],
            vec![format!(
                "get deployments.apps --all-namespaces --selector {ours},!serving.knative.dev/service \
                 --output=custom-columns=ORG:.metadata.namespace,APP:.metadata.name,AUTH:.metadata.annotations.causerie/auth,\
                 READY:.status.readyReplicas,IMAGE:.spec.template.spec.containers[0].image"
            )],
        ),
        (
            &["logs", "notes", "--follow", "--org", "acme"],
            vec!["logs --namespace=acme --selector app.kubernetes.io/instance=notes --container=causerie --prefix --tail=100 --follow".to_owned()],
        ),
        (
            &["scale", "notes", "--min", "1", "--max", "5"],
            vec![format!(
                "patch {service} notes --namespace=default --type=merge --patch={{\"spec\":{{\"template\":{{\"metadata\":{{\"annotations\":\
                 {{\"autoscaling.knative.dev/min-scale\":\"1\",\"autoscaling.knative.dev/max-scale\":\"5\"}}}}}}}}}}"
            )],
        ),
        (
            &["scale", "notes", "--max", "5", "--target", "kubernetes"],
            vec!["patch horizontalpodautoscalers.autoscaling notes --namespace=default --type=merge --patch={\"spec\":{\"maxReplicas\":5}}".to_owned()],
        ),
        (
            &["rollback", "notes"],
            vec![
                format!("get {service} notes --namespace=default --output=json"),
                "get revisions.serving.knative.dev --selector serving.knative.dev/service=notes --namespace=default --output=json".to_owned(),
                format!(
                    "patch {service} notes --namespace=default --type=merge \
                     --patch={{\"spec\":{{\"traffic\":[{{\"revisionName\":\"notes-00002\",\"percent\":100}}]}}}}"
                ),
            ],
        ),
        (
            &["rollback", "notes", "--to", "4", "--target", "kubernetes"],
            vec![
                "rollout undo deployment/notes --namespace=default --to-revision=4".to_owned(),
                "rollout status deployment/notes --namespace=default --timeout=600s".to_owned(),
            ],
        ),
        (
            &["delete", "notes"],
            vec![format!(
                "delete {service},secrets,serviceaccounts,networkpolicies.networking.k8s.io --namespace=default \
                 --selector {ours},app.kubernetes.io/instance=notes"
            )],
        ),
    ] {
        let folder = DeployFolder::new("apps").tool("kubectl", answers);
        let printed = succeeded(folder.run(&[&["apps"][..], arguments].concat()));
        let expect: Vec<String> = expect.iter().map(|line| format!("kubectl {line}")).collect();
        assert_eq!(folder.calls(), expect);
        assert_eq!(printed, if arguments[0] == "list" { "ORG APP\n" } else { "" });
    }
}

#[test]
fn errors_of_apps_are_reported() {
    let folder = DeployFolder::new("apps-refused").tool("kubectl", "echo '{}'");
    check_failure(
        &folder.run(&["apps", "rollback", "notes"]),
        "causerie: notes has no revision before the one being served",
    );
    check_failure(
        &folder.run(&["apps", "scale", "notes", "--min", "0", "--target", "kubernetes"]),
        "does not scale to zero",
    );
    check_failure(&folder.run(&["apps", "scale", "notes"]), "--min");
    check_failure(&folder.run(&["apps", "logs", "../notes"]), "lower-case letters");
    let failing = DeployFolder::new("apps-fails").tool("kubectl", "echo forbidden >&2; exit 1");
    check_failure(
        &failing.run(&["apps", "delete", "notes"]),
        "forbidden\ncauserie: kubectl delete failed: exit status: 1",
    );
    check_failure(&DeployFolder::new("apps-missing").run(&["apps", "list"]), "kubectl is not on PATH");
}
