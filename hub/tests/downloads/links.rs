//! Caches without symbolic links, as `HF_HUB_DISABLE_SYMLINKS` asks for: a disk that Linux and Windows share has none.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};

use causerie_hub::{FileState, Hub};

use super::{Setting, check_cache, content, pull};
use crate::fake::Repository;

fn without_links(setting: &Setting) -> Hub {
    let mut options = setting.options();
    options.uses_links = false;
    Hub::new(options)
}

/// All links below a folder.
fn links(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let below = |path: PathBuf| match (path.is_symlink(), path.is_dir()) {
        (true, _) => vec![path],
        (false, true) => links(&path),
        (false, false) => Vec::new(),
    };
    entries.flat_map(below).collect()
}

fn blobs(setting: &Setting) -> usize {
    fs::read_dir(setting.repository().join("blobs")).unwrap().count()
}

#[test]
fn files_stand_in_the_snapshot_and_nothing_is_stored_twice() {
    let setting = Setting::demo();
    let hub = without_links(&setting);
    let path = pull(&hub, "ns/demo").unwrap();
    assert_eq!(fs::read(&path).unwrap(), content(8, 300_000));
    assert!(links(&setting.cache()).is_empty());
    assert_eq!(blobs(&setting), 0);
    check_cache(&setting.cache());
    assert_eq!(hub.find("ns/demo").unwrap(), path);
    let verified = hub.verify("ns/demo", |_| std::ops::ControlFlow::Continue(())).unwrap();
    assert!(verified.iter().all(|file| file.state == FileState::Right), "{verified:?}");
    setting.fake.journal();
    // Either way, nothing is fetched again.
    for hub in [&hub, &setting.hub()] {
        assert_eq!(pull(hub, "ns/demo").unwrap(), path);
        assert!(setting.fake.journal().iter().all(|request| request.is_hub));
    }
    assert!(500_000 <= hub.remove("ns/demo:Q8_0").unwrap());
}

#[test]
fn links_of_an_earlier_download_become_files() {
    let setting = Setting::demo();
    let path = setting.pull("ns/demo").unwrap();
    assert_eq!(links(&setting.cache()).len(), 2);
    setting.fake.journal();
    assert_eq!(pull(&without_links(&setting), "ns/demo").unwrap(), path);
    assert!(setting.fake.journal().iter().all(|request| request.is_hub), "the contents were there");
    assert!(links(&setting.cache()).is_empty());
    assert_eq!((blobs(&setting), fs::read(path).unwrap()), (0, content(8, 300_000)));
}

#[test]
fn another_version_keeps_what_its_links_lead_to() {
    let files = [("a-Q4_0.gguf", content(1, 5000)), ("b-Q8_0.gguf", content(1, 5000)), ("c-F16.gguf", content(2, 700))];
    let setting = Setting::new([("ns/demo", Repository::new(&files))]);
    let old = setting.pull("ns/demo:Q4_0").unwrap();
    // The same files at another commit.
    setting.fake.change("ns/demo", |repository| repository.commit = "b".repeat(40));
    let hub = without_links(&setting);
    for name in ["ns/demo:Q4_0", "ns/demo:Q8_0"] {
        let new = pull(&hub, name).unwrap();
        assert!(new != old && !new.is_symlink());
        assert_eq!((fs::read(new).unwrap(), fs::read(&old).unwrap()), (content(1, 5000), content(1, 5000)), "{name}");
    }
    assert_eq!(links(&setting.cache()), [old]);
    check_cache(&setting.cache());
}

#[test]
fn equal_files_of_a_model_are_both_there() {
    let index = r#"{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}"#;
    let files = [
        ("config.json", b"{}".to_vec()),
        ("model.safetensors.index.json", index.as_bytes().to_vec()),
        ("model-1.safetensors", content(3, 4000)),
        ("model-2.safetensors", content(3, 4000)),
    ];
    let setting = Setting::new([("ns/demo", Repository::new(&files))]);
    for hub in [setting.hub(), without_links(&setting)] {
        let folder = pull(&hub, "ns/demo").unwrap();
        for file in ["model-1.safetensors", "model-2.safetensors"] {
            assert_eq!(fs::read(folder.join(file)).unwrap(), content(3, 4000), "{file}");
        }
    }
    assert!(links(&setting.cache()).is_empty());
}

/// huggingface_hub puts some contents into a store that all repositories of a cache share.
#[test]
fn a_blob_that_is_itself_a_link_is_copied() {
    let setting = Setting::demo();
    let path = setting.pull("ns/demo:Q4_0").unwrap();
    let blob = fs::canonicalize(&path).unwrap();
    let shared = setting.cache().join("blobs/ab");
    fs::create_dir_all(&shared).unwrap();
    fs::rename(&blob, shared.join("content")).unwrap();
    std::os::unix::fs::symlink("../../blobs/ab/content", &blob).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(pull(&without_links(&setting), "ns/demo:Q4_0").unwrap(), path);
    assert!(!path.is_symlink() && shared.join("content").exists());
    assert_eq!(fs::read(path).unwrap(), content(4, 150_000));
}
