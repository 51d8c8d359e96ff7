//! Which files a name brings, and how the cache has them afterwards.

use std::fs;
use std::ops::ControlFlow;

use causerie::ErrorKind;
use causerie_hub::{FileState, ModelLock, PullState};

use super::{Setting, check_cache, content, demo};
use crate::fake::Repository;

#[test]
fn a_model_in_parts_is_downloaded_with_its_links_and_its_revision() {
    let setting = Setting::demo();
    let path = setting.pull("ns/demo").unwrap();
    assert!(path.ends_with("snapshots/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/demo-Q8_0-00001-of-00002.gguf"));
    assert_eq!(fs::read(&path).unwrap(), content(8, 300_000));
    assert_eq!(fs::read(path.with_file_name("demo-Q8_0-00002-of-00002.gguf")).unwrap(), content(9, 200_000));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 2, "nothing else was downloaded");
    assert_eq!(
        fs::read(setting.repository().join("refs/main")).unwrap(),
        "a".repeat(40).as_bytes(),
        "without a newline"
    );
    let target = fs::read_link(&path).unwrap();
    assert!(target.starts_with("../../blobs"), "links are relative: {}", target.display());
    assert_eq!(setting.hub().find("ns/demo").unwrap(), path);
    check_cache(&setting.cache());
}

#[test]
fn tags_and_revisions_choose_other_files() {
    let setting = Setting::demo();
    for name in
        ["ns/demo:q4_0", "ns/demo:demo-Q4_0.gguf", "hf.co/ns/demo@main:Q4_0", "hf://ns/demo@refs/pr/1/demo-Q4_0.gguf"]
    {
        assert_eq!(fs::read(setting.pull(name).unwrap()).unwrap(), content(4, 150_000), "{name}");
    }
    assert!(setting.repository().join("refs/refs/pr/1").exists());
    let commit = "a".repeat(40);
    setting.pull(&format!("ns/demo@{commit}:Q4_0")).unwrap();
    assert!(!setting.repository().join("refs").join(&commit).exists(), "a commit needs no reference");
    let err = setting.pull("ns/demo:Q5_K_M").unwrap_err();
    assert_eq!(err.to_string(), "ns/demo:Q5_K_M has no Q5_K_M: it has Q4_0, Q8_0");
    assert_eq!(err.kind(), ErrorKind::ModelNotFound);
}

#[test]
fn the_hubs_spelling_names_the_folder() {
    let setting = Setting::new([("Ns/Demo", demo())]);
    // The fake hub knows one spelling only; the real one redirects.
    setting.pull("Ns/Demo:Q4_0").unwrap();
    assert!(setting.hub().find("ns/demo:Q4_0").is_ok());
}

/// A folder of safetensors whose weights are in two files.
fn folder() -> Repository {
    let index =
        br#"{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-1.safetensors"}}"#;
    Repository::new(&[
        ("config.json", b"{}".to_vec()),
        ("tokenizer.json", content(1, 40_000)),
        ("tokenizer.model", content(1, 100)),
        ("model.safetensors.index.json", index.to_vec()),
        ("model-1.safetensors", content(2, 5000)),
        ("model-2.safetensors", content(3, 6000)),
        ("model-3.safetensors", content(3, 100)),
        ("pytorch_model.bin", content(3, 100)),
        ("additional_chat_templates/tool_use.jinja", b"{{ messages }}".to_vec()),
    ])
}

#[test]
fn a_folder_brings_exactly_the_files_of_its_index() {
    let setting = Setting::new([("ns/demo", folder())]);
    let path = setting.pull("ns/demo").unwrap();
    let mut names: Vec<String> =
        fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let expect = [
        "additional_chat_templates",
        "config.json",
        "model-1.safetensors",
        "model-2.safetensors",
        "model.safetensors.index.json",
        "tokenizer.json",
    ];
    assert_eq!(names, expect);
    assert_eq!(fs::read(path.join("additional_chat_templates/tool_use.jinja")).unwrap(), b"{{ messages }}");
    assert_eq!(setting.hub().find("ns/demo").unwrap(), path);
    check_cache(&setting.cache());
}

#[test]
fn an_index_that_names_other_files_is_an_error() {
    for (index, expect) in [
        (&br#"{"weight_map": {"a": "../../x.safetensors"}}"#[..], "must have ../../x.safetensors"),
        (br#"{"weight_map": {"a": "gone.safetensors"}}"#, "must have gone.safetensors"),
        (br#"{"weight_map": {}}"#, "must be an index"),
        (b"[]", "must be an index"),
    ] {
        let setting = Setting::new([("ns/demo", folder())]);
        setting.fake.change("ns/demo", |repository| {
            repository.files.insert("model.safetensors.index.json".to_owned(), index.to_vec());
        });
        let err = setting.pull("ns/demo").unwrap_err();
        assert!(err.to_string().contains(expect), "{err}");
        assert!(!setting.cache().join("models--ns--demo/snapshots").exists());
    }
}

#[test]
fn hostile_entries_of_a_listing_are_left_out() {
    let entries =
        ["../../x-Q4_K_M.gguf", "/x-Q4_K_M.gguf", "C:\\x-Q4_K_M.gguf", "con/x-Q4_K_M.gguf", "a\u{0}-Q4_K_M.gguf"];
    let digest = "a".repeat(64);
    let listed = |path: &str, oid: &str| serde_json::json!({"type": "file", "path": path, "size": 9, "oid": "b".repeat(40), "lfs": {"oid": oid, "size": 9}});
    let mut repository = demo();
    repository.listed = entries.iter().map(|path| listed(path, &digest)).collect();
    for oid in ["../../../../x", "", "a", &"g".repeat(64), &"a".repeat(40)] {
        repository.listed.push(listed("y-Q4_K_M.gguf", oid));
    }
    let setting = Setting::new([("ns/demo", repository)]);
    let path = setting.pull("ns/demo").unwrap();
    assert_eq!(fs::read(path).unwrap(), content(8, 300_000), "none of them is preferred to the model");
    assert!(setting.pull("ns/demo:Q4_K_M").is_err());
}

#[test]
fn a_listing_of_fifty_thousand_files_is_read() {
    let mut repository = demo();
    let entry = |n: usize| serde_json::json!({"type": "file", "path": format!("data/{n}.bin"), "size": 1, "oid": "b".repeat(40)});
    repository.listed = (0..50_000).map(entry).collect();
    let setting = Setting::new([("ns/demo", repository)]);
    setting.fake.set_page(5000);
    setting.pull("ns/demo:Q4_0").unwrap();
    setting.fake.set_page(500);
    let err = setting.pull("ns/demo@main:Q4_0").unwrap_err();
    assert!(err.to_string().contains("more than 50 pages"), "{err}");
}

#[test]
fn progress_grows_to_the_total_and_ends_ready() {
    let setting = Setting::demo();
    let mut seen = Vec::new();
    let pulled = setting.hub().pull("ns/demo", |progress| {
        seen.push(progress.clone());
        ControlFlow::Continue(())
    });
    pulled.unwrap();
    let last = seen.last().unwrap();
    assert_eq!((last.state, last.done, last.total, last.resumed_from), (PullState::Ready, 500_000, 500_000, 0));
    assert!(seen.is_sorted_by_key(|progress| progress.done));
    assert_eq!(seen.iter().filter(|progress| progress.state == PullState::Ready).count(), 1);
}

#[test]
fn a_lock_file_brings_the_same_files_without_the_api() {
    let setting = Setting::demo();
    let plan = setting.hub().plan("ns/demo").unwrap();
    assert_eq!((plan.size(), plan.license.as_deref(), plan.is_gated), (500_000, Some("apache-2.0"), false));
    let lock = ModelLock::from_json(&ModelLock::new(vec![plan]).to_json()).unwrap();
    setting.fake.journal();
    let path = setting.hub().fetch(&lock.models[0], |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(fs::read(&path).unwrap(), content(8, 300_000));
    assert!(setting.fake.journal().iter().all(|request| !request.target.contains("/api/")));
    // All of it is there: no request at all, also offline.
    let mut options = setting.options();
    options.is_offline = true;
    let hub = causerie_hub::Hub::new(options);
    assert_eq!(hub.fetch(&lock.models[0], |_| ControlFlow::Continue(())).unwrap(), path);
    assert_eq!(setting.fake.journal().len(), 0);
}

#[test]
fn an_app_can_fetch_the_files_of_a_plan_itself() {
    let setting = Setting::demo();
    let hub = setting.hub();
    let plan = hub.plan("ns/demo").unwrap();
    let received = setting.folder.path().join("received");
    fs::write(&received, content(7, 300_000)).unwrap();
    assert_eq!(
        hub.install(&plan, &received).unwrap_err().message(),
        format!("{} must be one of the files of ns/demo, found other 300000 bytes", received.display())
    );
    assert!(received.exists(), "a file that belongs to nothing stays where it is");
    fs::write(&received, content(8, 300_000)).unwrap();
    assert_eq!(hub.install(&plan, &received).unwrap().path, "demo-Q8_0-00001-of-00002.gguf");
    assert!(!received.exists(), "it was moved");
    assert!(hub.finish(&plan).unwrap_err().message().contains("must be installed first"));
    fs::write(&received, content(9, 200_000)).unwrap();
    hub.install(&plan, &received).unwrap();
    assert_eq!(hub.finish(&plan).unwrap(), hub.find("ns/demo").unwrap());
    check_cache(&setting.cache());
}

#[test]
fn cached_models_are_listed_checked_and_removed() {
    let setting = Setting::demo();
    let hub = setting.hub();
    setting.pull("ns/demo").unwrap();
    setting.pull("ns/demo:Q4_0").unwrap();
    let names: Vec<(String, u64)> = hub.models().into_iter().map(|model| (model.name, model.size)).collect();
    assert_eq!(names, [("ns/demo:Q4_0".to_owned(), 150_000), ("ns/demo:Q8_0".to_owned(), 500_000)]);
    let states = |name: &str| -> Vec<FileState> {
        let verified = hub.verify(name, |_| ControlFlow::Continue(())).unwrap();
        verified.into_iter().map(|file| file.state).collect()
    };
    assert_eq!(states("ns/demo"), [FileState::Right, FileState::Right]);
    let blob = setting.pull("ns/demo").unwrap().canonicalize().unwrap();
    let mut bytes = fs::read(&blob).unwrap();
    bytes[1000] ^= 1;
    fs::write(&blob, bytes).unwrap();
    assert_eq!(states("ns/demo"), [FileState::Damaged, FileState::Right]);
    assert_eq!(hub.remove("ns/demo:Q8_0").unwrap(), 500_000);
    assert!(hub.find("ns/demo:Q8_0").is_err());
    assert_eq!(states("ns/demo:Q4_0"), [FileState::Right], "the other model is untouched");
    hub.remove("ns/demo").unwrap();
    assert!(!setting.repository().exists());
    assert!(hub.remove("ns/demo").is_err());
}

#[test]
fn a_blob_that_another_snapshot_names_is_not_removed() {
    let setting = Setting::demo();
    setting.pull("ns/demo:Q4_0").unwrap();
    setting.fake.change("ns/demo", |repository| repository.commit = "b".repeat(40));
    let path = setting.pull("ns/demo:Q4_0").unwrap();
    setting.hub().remove(&format!("ns/demo@{}:Q4_0", "a".repeat(40))).unwrap();
    assert_eq!(fs::read(path).unwrap(), content(4, 150_000));
    assert!(!setting.repository().join("snapshots").join("a".repeat(40)).exists());
    setting.hub().remove("ns/demo:Q4_0").unwrap();
    assert!(!setting.repository().join("refs/main").exists(), "no reference is left without its snapshot");
    check_cache(&setting.cache());
}
