//! The scenarios that all languages play. `tests/fixtures/downloads/README.md` describes them.

use std::fs;
use std::io::Read;
use std::ops::ControlFlow;

use causerie::{ErrorKind, SdkError};
use causerie_hub::{DownloadPlan, Hub, PullProgress};
use serde_json::Value as Json;

use super::fake::{FakeHub, demo, folder};
use super::{PathBuf, Result, Setting, folder_in_memory};

#[test]
fn scenarios_go_as_they_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/downloads/scenarios.json");
    let scenarios: Vec<Json> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert!(5 <= scenarios.len());
    for scenario in scenarios {
        let setting = Setting {
            fake: FakeHub::start([("ns/demo", demo()), ("ns/folder", folder())]),
            folder: folder_in_memory(),
        };
        setting.fake.set_page(1000);
        let mut player = Player { hub: setting.hub(), setting: &setting, restarts: false };
        for step in scenario["steps"].as_array().unwrap() {
            player.play(step, &format!("{}: {step}", scenario["name"]));
        }
    }
}

struct Player<'a> {
    setting: &'a Setting,
    hub: Hub,
    restarts: bool,
}

impl Player<'_> {
    fn play(&mut self, step: &Json, claim: &str) {
        let name = |key: &str| step.get(key).and_then(Json::as_str);
        if let Some(name) = name("pull") {
            check(self.pull(name, step, claim), step, claim);
        } else if let Some(name) = name("find") {
            check(self.hub.find(name), step, claim);
        } else if let Some(name) = name("load") {
            let path = self.hub.find(name).unwrap();
            let loaded = causerie::ModelRunner::load(path.to_str().unwrap());
            check(loaded.map(|_| path), step, claim);
        } else if let Some(name) = name("fetch") {
            check(self.fetch(name, step, claim), step, claim);
        } else if let Some(name) = name("remove") {
            assert!(step["freed"].as_u64().unwrap() <= self.hub.remove(name).unwrap(), "{claim}");
        } else if let Some(names) = step.get("models") {
            let found: Vec<String> = self.hub.models().into_iter().map(|model| model.name).collect();
            assert_eq!(Json::from(found), *names, "{claim}");
        } else if let Some(n_requests) = step.get("requests") {
            assert_eq!(self.setting.fake.journal().len() as u64, n_requests.as_u64().unwrap(), "{claim}");
        } else if step.get("restart").is_some() {
            self.restarts = true;
        } else {
            self.setting.fake.play(step);
        }
    }

    fn pull(&self, name: &str, step: &Json, claim: &str) -> Result<PathBuf> {
        let cancel_at = step.get("cancel_at").and_then(Json::as_u64);
        let mut last = PullProgress::default();
        let pulled = self.hub.pull(name, |progress| {
            last = progress.clone();
            match cancel_at {
                Some(bytes) if bytes <= progress.done => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        for (key, value) in [("total", last.total), ("resumed_from", last.resumed_from)] {
            assert!(step.get(key).is_none_or(|expect| *expect == value), "{claim}: {last:?}");
        }
        pulled
    }

    fn fetch(&self, name: &str, step: &Json, claim: &str) -> Result<PathBuf> {
        let mut plan = self.hub.plan(name)?;
        if self.restarts {
            plan = DownloadPlan::from_json(&plan.to_json())?;
        }
        let missing = self.hub.missing_files(&plan);
        let paths: Vec<&str> = missing.iter().map(|file| file.path.as_str()).collect();
        for (key, value) in [
            ("size", Json::from(plan.size())),
            ("missing", self.hub.missing_bytes(&plan).into()),
            ("files", paths.into()),
        ] {
            assert!(step.get(key).is_none_or(|expect| *expect == value), "{claim}: {key} is {value}");
        }
        for file in missing {
            let temporary = self.setting.folder.path().join("received");
            fs::write(&temporary, get(&self.hub.url(&plan, file))).unwrap();
            assert_eq!(self.hub.install(&plan, &temporary)?.path, file.path);
        }
        self.hub.finish(&plan)
    }
}

/// What any HTTP client gets from an address.
fn get(url: &str) -> Vec<u8> {
    let mut content = Vec::new();
    ureq::get(url).call().unwrap().into_body().into_reader().read_to_end(&mut content).unwrap();
    content
}

fn check(found: Result<PathBuf>, step: &Json, claim: &str) {
    match found {
        Ok(path) => {
            assert!(step.get("error").is_none(), "{claim}: found {}", path.display());
            let end = step.get("path").and_then(Json::as_str).unwrap_or_default();
            assert!(path.to_str().unwrap().ends_with(end), "{claim}: found {}", path.display());
        }
        Err(err) => {
            assert_eq!(step.get("error").and_then(Json::as_str), Some(&*error_name(&err)), "{claim}: {err}");
            let part = step.get("says").and_then(Json::as_str).unwrap_or_default();
            assert!(err.to_string().contains(part), "{claim}: {err}");
        }
    }
}

fn error_name(err: &SdkError) -> String {
    match err.kind() {
        ErrorKind::Download(fault) => format!("Download/{}", fault.code()),
        kind => format!("{kind:?}"),
    }
}
