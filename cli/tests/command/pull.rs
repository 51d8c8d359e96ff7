//! Models by name: downloaded from a fake hub on loopback, and used without a request afterwards.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value as Json;
use tempfile::TempDir;

use crate::fake::{Act, FakeHub, Repository};
use crate::{causerie, check_failure, fixture, text};

struct Setting {
    fake: FakeHub,
    folder: TempDir,
    test: &'static str,
}

impl Setting {
    fn new(test: &'static str) -> Self {
        let model = fs::read(fixture("models/lfm2-q4_k.gguf")).unwrap();
        let repository = Repository::new(&[("README.md", b"# Tiny\n".to_vec()), ("tiny-Q4_K_M.gguf", model)]);
        let fake = FakeHub::start([("ns/tiny", repository)]);
        Self { fake, folder: tempfile::tempdir().unwrap(), test }
    }

    fn causerie(&self, arguments: &[&str]) -> Command {
        let mut command = causerie(self.test);
        command.env("HF_HUB_OFFLINE", "0").env("HF_HOME", self.folder.path()).env("HF_ENDPOINT", self.fake.url());
        for variable in
            ["HF_TOKEN", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
        {
            command.env_remove(variable);
        }
        command.args(arguments);
        command
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> Output {
        let output = self.causerie(arguments).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        output
    }

    fn events(&self, arguments: &[&str]) -> Vec<Json> {
        let output = self.causerie(arguments).output().unwrap();
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

const GENERATE: [&str; 7] = ["generate", "--model", "ns/tiny", "--prompt", "Once", "--raw", "--max-tokens=2"];

#[test]
fn a_pulled_model_is_used_without_a_request() {
    let setting = Setting::new("pull");
    let output = setting.run(&["pull", "ns/tiny"]);
    let path = PathBuf::from(text(&output.stdout).trim());
    assert_eq!(fs::read(path).unwrap(), fs::read(fixture("models/lfm2-q4_k.gguf")).unwrap());
    let said = text(&output.stderr);
    assert!(said.starts_with("ns/tiny: ") && said.contains("licence: apache-2.0, at http"), "{said}");
    setting.fake.journal();
    let output = setting.run(&GENERATE);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(setting.fake.journal().len(), 0);
}

#[test]
fn a_command_downloads_the_model_that_it_names() {
    let setting = Setting::new("ensure");
    let offline = [&GENERATE[..], &["--offline"]].concat();
    check_failure(
        &mut setting.causerie(&offline),
        1,
        "ns/tiny is not in the local cache, and requests are switched off",
    );
    assert_eq!(setting.fake.journal().len(), 0);
    let output = setting.run(&GENERATE);
    assert!(text(&output.stderr).starts_with("ns/tiny: "), "{}", text(&output.stderr));
    setting.run(&offline);
    setting.fake.journal();
    assert!(text(&setting.run(&["pull", "ns/tiny", "--offline"]).stdout).trim_end().ends_with("tiny-Q4_K_M.gguf"));
    assert_eq!(setting.fake.journal().len(), 0);
    let output = setting.run(&["inspect", "model", "ns/tiny:q4_k_m", "--json"]);
    assert!(text(&output.stdout).contains("lfm2"));
}

#[test]
fn scripts_get_one_object_per_line() {
    let setting = Setting::new("json");
    setting.fake.fault("store GET", 1, Act::Flip(100));
    let events = setting.events(&["pull", "ns/tiny", "--json"]);
    let kinds: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], *kinds.last().unwrap()), ("plan", "ready"));
    assert_eq!(events[0]["missing"], events[0]["size"]);
    let progress = &events[events.len() - 2];
    assert_eq!((&progress["state"], &progress["done"]), (&Json::from("ready"), &events[0]["size"]));
    let events = setting.events(&["pull", "ns/tiny:Q8_0", "--json"]);
    assert_eq!(events[0]["code"], "model_not_found");
    assert_eq!(events[0]["message"], "ns/tiny:Q8_0 has no Q8_0: it has Q4_K_M");
}

#[cfg(unix)]
#[test]
fn what_cannot_be_written_ends_a_download_and_is_said_once() {
    for words in
        [&["pull", "ns/tiny"][..], &["pull", "ns/tiny", "--json"], &["models", "list"], &["models", "list", "--json"]]
    {
        let setting = Setting::new("unwritten");
        if words[0] == "models" {
            setting.run(&["pull", "ns/tiny"]);
        }
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = setting.causerie(words).stdout(full).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        let n_causes = said.lines().filter(|line| line.contains("No space left on device")).count();
        assert!(n_causes == 1 && !said.contains("panicked"), "{words:?}: {said}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = setting.causerie(words).stdout(writer).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {said}");
        assert!(!said.contains("panicked") && !said.contains("pipe"), "{words:?}: {said}");
    }
}

#[test]
fn a_lock_file_pulls_the_same_files_elsewhere() {
    let (setting, other) = (Setting::new("lock"), Setting::new("locked"));
    let lock = setting.folder.path().join("models.lock");
    let lock = lock.to_str().unwrap();
    setting.run(&["pull", "--lock", lock, "ns/tiny"]);
    let json: Json = serde_json::from_slice(&fs::read(lock).unwrap()).unwrap();
    assert_eq!(json["models"][0]["commit"], "a".repeat(40));
    let folder = other.folder.path().join("shipped");
    other.run(&["pull", "--lock", lock, "--to", folder.to_str().unwrap()]);
    assert!(
        other.fake.journal().iter().all(|request| !request.target.contains("/api/")),
        "it is planned without requests"
    );
    let shipped = folder.join("tiny-Q4_K_M.gguf");
    assert!(!fs::symlink_metadata(&shipped).unwrap().is_symlink());
    assert_eq!(fs::read(shipped).unwrap(), fs::read(fixture("models/lfm2-q4_k.gguf")).unwrap());
    // Other bytes than the lock file's are never taken.
    let changed = fs::read_to_string(lock).unwrap().replace("\"sha256\": \"", "\"sha256\": \"0");
    fs::write(lock, changed).unwrap();
    check_failure(&mut other.causerie(&["pull", "--lock", lock]), 1, "must be a relative path with a digest");
}

#[test]
fn models_are_listed_verified_and_removed() {
    let setting = Setting::new("models");
    let path = PathBuf::from(text(&setting.run(&["pull", "ns/tiny"]).stdout).trim());
    let listed = text(&setting.run(&["models", "list"]).stdout);
    assert!(listed.starts_with("ns/tiny:Q4_K_M  ") && listed.trim_end().ends_with("aaaaaaaaaaaa"), "{listed}");
    assert_eq!(text(&setting.run(&["models", "verify", "ns/tiny"]).stdout), "tiny-Q4_K_M.gguf: right\n");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(path.canonicalize().unwrap(), bytes).unwrap();
    check_failure(
        &mut setting.causerie(&["models", "verify", "ns/tiny"]),
        1,
        "ns/tiny is damaged: `causerie models remove",
    );
    setting.run(&["models", "remove", "ns/tiny:Q4_K_M"]);
    setting.fake.fault("store GET", 1, Act::Cut(50));
    setting.fake.fault("store GET", 1000, Act::Answer(404, Vec::new(), ""));
    check_failure(&mut setting.causerie(&["pull", "ns/tiny"]), 1, "");
    assert!(text(&setting.run(&["models", "list"]).stdout).starts_with("ns/tiny: 0.0 KiB of an interrupted download"));
    let swept = text(&setting.run(&["models", "sweep", "--days", "0"]).stdout);
    assert!(swept.starts_with("1 incomplete file removed"), "{swept}");
    assert_eq!(text(&setting.run(&["models", "list"]).stdout), "");
}

#[test]
fn a_projector_is_listed_with_its_model() {
    let file = |name: &str| fs::read(fixture("models/lfm2vl").join(name)).unwrap();
    let mut setting = Setting::new("projector");
    let files = [("see-F16.gguf", file("lfm2vl-f16.gguf")), ("mmproj-see-F16.gguf", file("mmproj-lfm2vl-f16.gguf"))];
    setting.fake = FakeHub::start([("ns/see", Repository::new(&files))]);
    let output = setting.run(&["models", "list"]);
    assert!(text(&output.stderr).contains("`causerie pull NAME` downloads one"), "{}", text(&output.stderr));
    setting.run(&["pull", "ns/see"]);
    let listed = text(&setting.run(&["models", "list"]).stdout);
    assert!(listed.trim_end().ends_with("  with mmproj-see-F16.gguf"), "{listed}");
    let verified = text(&setting.run(&["models", "verify", "ns/see"]).stdout);
    assert_eq!(verified, "see-F16.gguf: right\nmmproj-see-F16.gguf: right\n");
}

#[test]
fn a_model_that_deploy_names_is_downloaded_into_the_image() {
    let setting = Setting::new("deploy");
    let out = setting.folder.path().join("out");
    let deploy = ["deploy", "--app-name", "tiny", "--auth", "public", "--model", "ns/tiny", "--base", "debian:trixie"];
    let output = setting.run(&[&deploy[..], &["--dry-run", "--out", out.to_str().unwrap()]].concat());
    assert!(text(&output.stderr).starts_with("ns/tiny: "), "{}", text(&output.stderr));
    let recipe = fs::read_to_string(out.join("Containerfile")).unwrap();
    assert!(recipe.contains(r#""--model", "/model/tiny-Q4_K_M.gguf", "--model-id", "ns/tiny""#), "{recipe}");
}
