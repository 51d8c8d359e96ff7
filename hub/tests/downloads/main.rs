//! Downloads from a fake hub on loopback: what arrives, what is asked for, and what is left after every fault.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod addresses;
mod companions;
mod disk;
mod encrypted;
mod fault_rows;
mod faults;
mod links;
mod names;
mod refusals;
mod requests;
mod scenarios;

#[path = "../fake/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "tests of several crates use it")]
mod fake;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use causerie::{Result, SdkError};
use causerie_hub::{Hub, HubOptions};
use fake::{FakeHub, Repository, content, demo};
use sha1::Digest as _;
use tempfile::TempDir;

/// A fake hub, and a cache to download into.
struct Setting {
    fake: FakeHub,
    folder: TempDir,
}

impl Setting {
    fn new(repositories: impl IntoIterator<Item = (&'static str, Repository)>) -> Self {
        Self { fake: FakeHub::start(repositories), folder: folder_in_memory() }
    }

    fn demo() -> Self {
        Self::new([("ns/demo", demo())])
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("hub")
    }

    fn options(&self) -> HubOptions {
        let mut options = HubOptions::new(self.cache());
        options.endpoint = self.fake.url();
        options.first_pause = Duration::from_millis(1);
        options
    }

    fn hub(&self) -> Hub {
        Hub::new(self.options())
    }

    fn pull(&self, name: &str) -> Result<PathBuf> {
        pull(&self.hub(), name)
    }

    fn repository(&self) -> PathBuf {
        self.cache().join("models--ns--demo")
    }

    /// Checks that a pull gives the files of the fake hub, and that the cache is right.
    #[track_caller]
    fn check_recovers(&self, name: &str, contents: &[&[u8]]) {
        self.check_recovers_with(&self.hub(), name, contents);
    }

    #[track_caller]
    fn check_recovers_with(&self, hub: &Hub, name: &str, contents: &[&[u8]]) {
        self.fake.heal();
        let path = pull(hub, name).unwrap();
        check_cache(&self.cache());
        let folder = path.parent().unwrap();
        let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let found: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
        assert!(found.iter().map(Vec::as_slice).eq(contents.iter().copied()), "{files:?}");
        assert!(self.hub().parts().is_empty(), "nothing is left incomplete");
    }
}

/// A folder for a cache: in memory where the system has that, because a download waits until the disk has its bytes.
fn folder_in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn pull(hub: &Hub, name: &str) -> Result<PathBuf> {
    hub.pull(name, |_| ControlFlow::Continue(()))
}

/// Checks that every file of a cache is what its name says, whatever happened before.
#[track_caller]
fn check_cache(cache: &Path) {
    let mut open = vec![cache.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.file_name().unwrap().to_str().unwrap();
            let parent = path.parent().unwrap();
            if parent.ends_with("blobs") && !name.ends_with(".incomplete") {
                assert_eq!(digest(&fs::read(&path).unwrap(), name.len()), name, "a blob has its digest as its name");
            }
            if path.components().any(|part| part.as_os_str() == "snapshots") {
                assert!(path.exists(), "{} leads to a file", path.display());
            }
            if path.components().any(|part| part.as_os_str() == "refs") {
                let commit = fs::read_to_string(&path).unwrap();
                let repository = path.ancestors().find(|path| path.ends_with("refs")).unwrap().parent().unwrap();
                assert!(repository.join("snapshots").join(commit).is_dir(), "a reference has its snapshot");
            }
        }
    }
}

/// SHA-256, or the id of git for 40 digits.
fn digest(content: &[u8], n_digits: usize) -> String {
    if n_digits == 64 {
        return format!("{:x}", sha2::Sha256::digest(content));
    }
    let mut hasher = sha1::Sha1::new();
    hasher.update(format!("blob {}\0", content.len()));
    hasher.update(content);
    format!("{:x}", hasher.finalize())
}

fn kind(result: &Result<PathBuf>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(err) => kind_of(err),
    }
}

fn kind_of(err: &SdkError) -> String {
    format!("{:?}", err.kind())
}
