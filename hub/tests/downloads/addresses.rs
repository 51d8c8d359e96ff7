//! Models at addresses: files, bundles, and manifests that name files by their addresses.

use std::fs;
use std::ops::ControlFlow;

use causerie::{AccessFault, DownloadFault, ErrorKind, ModelInfo, ModelRunner, SdkError};
use causerie_hub::{DownloadPlan, FileState, ModelLock};
use serde_json::json;

use super::companions::{speech, vision};
use super::{Setting, check_cache, content, demo, digest};
use crate::fake::{Act, Repository};

const FILE: &str = "demo-Q4_0.gguf";

fn kind(setting: &Setting, address: &str) -> ErrorKind {
    setting.pull(address).unwrap_err().kind()
}

#[test]
fn a_file_with_a_pinned_digest_is_exactly_that_file() {
    let setting = Setting::demo();
    let right = digest(&content(4, 150_000), 64);
    let address = format!("{}#sha256={right}", setting.fake.web(FILE));
    let path = setting.pull(&address).unwrap();
    assert_eq!(fs::read(&path).unwrap(), content(4, 150_000));
    assert!(path.ends_with(FILE));
    check_cache(&setting.cache());
    setting.fake.journal();
    assert_eq!(setting.hub().find(&address).unwrap(), path);
    assert!(setting.fake.journal().is_empty(), "downloaded models are found without a request");

    let wrong = format!("{}#sha256={}", setting.fake.web(FILE), "a".repeat(64));
    assert_eq!(kind(&setting, &wrong), ErrorKind::Download(DownloadFault::Corrupt));
    assert_eq!(setting.hub().find(&wrong).unwrap_err().kind(), ErrorKind::ModelNotFound);
    check_cache(&setting.cache());
}

#[test]
fn the_digest_of_a_file_without_one_is_recorded() {
    let setting = Setting::demo();
    let address = setting.fake.web(FILE);
    let plan = setting.hub().plan(&address).unwrap();
    assert_eq!(DownloadPlan::from_json(&plan.to_json()).unwrap(), plan);
    assert_eq!(plan.size(), 150_000);
    let path = setting.hub().fetch(&plan, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(fs::read(&path).unwrap(), content(4, 150_000));
    check_cache(&setting.cache());
    let states = setting.hub().verify(&address, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(states.iter().map(|file| file.state).collect::<Vec<_>>(), [FileState::Right]);
    // A lock file has the digest, and is enough elsewhere.
    let lock = ModelLock::new(vec![setting.hub().recorded(&plan)]).to_json();
    assert!(lock.contains(&digest(&content(4, 150_000), 64)), "{lock}");
    let elsewhere = Setting::demo();
    let locked = ModelLock::from_json(&lock).unwrap().models.remove(0);
    assert_eq!(
        fs::read(elsewhere.hub().fetch(&locked, |_| ControlFlow::Continue(())).unwrap()).unwrap().len(),
        150_000
    );

    setting.fake.journal();
    assert_eq!(setting.pull(&address).unwrap(), path);
    assert_eq!(setting.fake.journal().len(), 1, "the server is asked whether the file is still the same");
    setting.fake.change("ns/demo", |repository| repository.files.get_mut(FILE).unwrap()[7] ^= 1);
    let changed = setting.pull(&address).unwrap();
    assert_ne!(fs::read(changed).unwrap(), content(4, 150_000), "the present file, of the same size");
    check_cache(&setting.cache());
    setting.hub().remove(&address).unwrap();
    assert!(setting.hub().find(&address).is_err());
}

#[test]
fn a_download_from_an_address_goes_on_where_it_stopped() {
    for fragment in [String::new(), format!("#sha256={}", digest(&content(4, 150_000), 64))] {
        let setting = Setting::demo();
        let address = format!("{}{fragment}", setting.fake.web(FILE));
        // The first request only asks for the size.
        setting.fake.fault_after(1, "/web/", 1, Act::Cut(60_000));
        setting.fake.fault("/web/", 100, Act::Answer(500, Vec::new(), ""));
        assert!(setting.pull(&address).unwrap_err().is_retryable());
        assert_eq!(setting.hub().parts()[0].size, 60_000);
        assert!(setting.hub().find(&address).is_err());
        setting.fake.heal();
        setting.fake.journal();
        assert_eq!(fs::read(setting.pull(&address).unwrap()).unwrap(), content(4, 150_000));
        assert!(setting.fake.journal().iter().any(|request| request.header("range") == Some("bytes=60000-")));
        assert!(setting.hub().parts().is_empty());
        check_cache(&setting.cache());
    }
}

#[test]
fn a_hub_that_says_the_digest_is_believed_and_checked() {
    let setting = Setting::demo();
    let address = format!("{}/ns/demo/resolve/main/{FILE}", setting.fake.url());
    let plan = setting.hub().plan(&address).unwrap();
    assert_eq!(plan.files[0].digest.hex(), digest(&content(4, 150_000), 64));
    setting.fake.fault("store GET", 100, Act::Flip(9));
    assert_eq!(kind(&setting, &address), ErrorKind::Download(DownloadFault::Corrupt));
    setting.fake.heal();
    assert_eq!(fs::read(setting.pull(&address).unwrap()).unwrap(), content(4, 150_000));
}

#[test]
fn refusals_of_a_server_are_final() {
    let setting = Setting::demo();
    let address = setting.fake.web(FILE);
    let page = Act::Answer(200, vec![("Content-Type", "text/html".to_owned())], "<html>Sign in</html>");
    let network = ErrorKind::Download(DownloadFault::Network { is_retryable: false });
    for (act, expect) in [
        (Act::Answer(403, Vec::new(), ""), ErrorKind::Download(DownloadFault::AccessDenied(AccessFault::Forbidden))),
        (Act::Answer(404, Vec::new(), ""), ErrorKind::ModelNotFound),
        (Act::Answer(410, Vec::new(), ""), ErrorKind::ModelNotFound),
        (page, ErrorKind::Download(DownloadFault::Corrupt)),
        (Act::Headers(vec![("Content-Encoding", "gzip".to_owned())]), network),
    ] {
        setting.fake.fault("/web/", 1, act.clone());
        setting.fake.journal();
        let err = setting.pull(&address).unwrap_err();
        assert_eq!(err.kind(), expect, "{act:?}: {err}");
        assert_eq!(setting.fake.journal().len(), 1, "{act:?}");
        setting.fake.heal();
    }
    assert!(!setting.cache().join(".locks").exists(), "nothing was begun");
}

/// The server of a vision model, its projector and a manifest, and the address of that manifest.
fn with_manifest(change: impl FnOnce(&mut serde_json::Value)) -> (Setting, String) {
    let setting = Setting::new([(
        "ns/demo",
        Repository::new(&[
            ("see-F16.gguf", vision("lfm2vl-f16.gguf")),
            ("projector-F16.gguf", vision("mmproj-lfm2vl-f16.gguf")),
            ("vocoder-F16.gguf", speech("vocoder-lfm2a-speech-f16.gguf")),
            ("codec.safetensors", b"of another kind".to_vec()),
        ]),
    )]);
    let hub = format!("{}/ns/demo/resolve/main", setting.fake.url());
    let mut manifest = json!({
        "schema_version": "1.0.0",
        "inference_type": "llama.cpp/image-to-text",
        "load_time_parameters": {
            "model": format!("{hub}/see-F16.gguf"),
            "multimodal_projector": "./projector-F16.gguf",
            "audio_decoder": format!("{hub}/vocoder-F16.gguf"),
            "audio_tokenizer": "codec.safetensors",
            "chat_template": "from the manifest",
        },
        "generation_time_parameters": {"sampling_parameters": {"temperature": 0.1}},
    });
    change(&mut manifest);
    setting.fake.change("ns/demo", |repository| {
        repository.files.insert("Q4_0.json".to_owned(), manifest.to_string().into_bytes());
    });
    let address = setting.fake.web("Q4_0.json");
    (setting, address)
}

#[test]
fn a_manifest_brings_its_files_and_what_it_says() {
    let (setting, address) = with_manifest(|_| {});
    let plan = setting.hub().plan(&address).unwrap();
    let paths: Vec<&str> = plan.files.iter().map(|file| file.path.as_str()).collect();
    let parts = ["projector-F16.gguf", "vocoder-F16.gguf", "codec.safetensors"];
    assert_eq!(paths, [&["manifest.json", "see-F16.gguf"][..], &parts].concat());
    let path = setting.pull(&address).unwrap();
    check_cache(&setting.cache());
    assert_eq!(setting.hub().find(&address).unwrap(), path);
    assert!(ModelInfo::read(path.to_str().unwrap()).is_ok());
    let runner = ModelRunner::load(path.to_str().unwrap()).unwrap();
    assert_eq!(runner.sampling_defaults().temperature, Some(0.1));
    assert_eq!(runner.render_prompt(&[causerie::ChatMessage::user("Hi")], true).unwrap(), "from the manifest");
    // The same from a lock file, without the manifest's server.
    let lock = ModelLock::new(vec![setting.hub().recorded(&plan)]).to_json();
    setting.hub().remove(&address).unwrap();
    let locked = ModelLock::from_json(&lock).unwrap().models.remove(0);
    assert_eq!(setting.hub().missing_files(&locked).len(), 4, "the manifest is in the plan");
    setting.fake.fault("Q4_0.json", 100, Act::Answer(500, Vec::new(), ""));
    assert_eq!(setting.hub().fetch(&locked, |_| ControlFlow::Continue(())).unwrap(), path);
}

#[test]
fn invalid_manifests_are_refused() {
    let refused = |(setting, address): (Setting, String), expect: &str| {
        let err: SdkError = setting.pull(&address).unwrap_err();
        assert!(err.to_string().contains(expect), "{err} must contain {expect:?}");
        assert!(!setting.cache().exists());
    };
    for (key, value, expect) in [
        ("model", json!(null), "load_time_parameters.model must be a string"),
        ("model", json!(7), "load_time_parameters.model must be a string"),
        ("model", json!("file:///etc/passwd"), "must be a safe address"),
        ("model", json!("ftp://example.org/m.gguf"), "must be a safe address"),
        ("model", json!("./../../etc/passwd"), "must be a GGUF file of its own, found \"passwd\""),
        ("multimodal_projector", json!("see-F16.gguf"), "must be a GGUF file of its own, found \"see-F16.gguf\""),
        ("multimodal_projector", json!("gone.gguf"), "answers 404 for gone.gguf"),
        ("audio_projector", json!("projector-F16.gguf"), "must be a GGUF file of its own"),
        ("audio_decoder", json!("codec.safetensors"), "audio_decoder must be a GGUF file of its own"),
        ("audio_tokenizer", json!(7), "load_time_parameters.audio_tokenizer must be a string"),
    ] {
        refused(with_manifest(|manifest| manifest["load_time_parameters"][key] = value), expect);
    }
    refused(with_manifest(|manifest| *manifest = json!([])), "it must be a JSON object");
    refused(
        with_manifest(|manifest| manifest["load_time_parameters"] = json!([])),
        "load_time_parameters must be an object",
    );
    refused(with_manifest(|manifest| manifest["x"] = "x".repeat(5 << 20).into()), "more than 4194304 bytes");
}

#[test]
fn a_bundle_is_loaded_from_its_address() {
    let bundle = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/bundles/lfm2.bundle");
    let mut repository = demo();
    repository.files.insert("lfm2.bundle".to_owned(), fs::read(bundle).unwrap());
    let setting = Setting::new([("ns/demo", repository)]);
    let path = setting.pull(&setting.fake.web("lfm2.bundle")).unwrap();
    assert_eq!(ModelInfo::read(path.to_str().unwrap()).unwrap().architecture, "lfm2");
}
