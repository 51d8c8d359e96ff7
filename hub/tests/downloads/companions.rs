//! Projectors and the parts that speak: chosen with their model by what their headers say.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use causerie::ModelInfo;
use causerie_hub::FileState;

use super::{Setting, check_cache, content};
use crate::fake::{Act, Repository};

/// A file of the tiny vision model.
pub(super) fn vision(file: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/models/lfm2vl").join(file)).unwrap()
}

/// A file of the tiny model that speaks.
pub(super) fn speech(file: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/models/lfm2a-speech").join(file)).unwrap()
}

fn paths(setting: &Setting, name: &str) -> Vec<String> {
    setting.hub().plan(name).unwrap().files.into_iter().map(|file| file.path).collect()
}

fn repository(projectors: &[(&str, Vec<u8>)]) -> Repository {
    let mut files = vec![("see-F16.gguf", vision("lfm2vl-f16.gguf"))];
    files.extend(projectors.iter().cloned());
    Repository::new(&files)
}

#[test]
fn a_model_that_sees_comes_with_its_projector() {
    let projectors = [
        ("mmproj-see-F16.gguf", vision("mmproj-lfm2vl-f16.gguf")),
        ("mmproj-see-Q8_0.gguf", vision("mmproj-lfm2vl-q8_0.gguf")),
    ];
    let setting = Setting::new([("ns/demo", repository(&projectors))]);
    assert_eq!(paths(&setting, "ns/demo"), ["see-F16.gguf", "mmproj-see-F16.gguf"]);
    let path = setting.pull("ns/demo").unwrap();
    assert!(ModelInfo::read(path.to_str().unwrap()).unwrap().supports_images);
    check_cache(&setting.cache());
}

#[test]
fn a_projector_is_listed_checked_and_removed_with_its_models() {
    let mut repository = repository(&[("mmproj-see-F16.gguf", vision("mmproj-lfm2vl-f16.gguf"))]);
    repository.files.insert("see-Q8_0.gguf".to_owned(), vision("lfm2vl-f16.gguf"));
    repository.large.insert("see-Q8_0.gguf".to_owned());
    let setting = Setting::new([("ns/demo", repository)]);
    let hub = setting.hub();
    let projector = setting.pull("ns/demo:F16").unwrap().with_file_name("mmproj-see-F16.gguf");
    setting.pull("ns/demo:Q8_0").unwrap();
    let [size, own] = ["lfm2vl-f16.gguf", "mmproj-lfm2vl-f16.gguf"].map(|file| vision(file).len() as u64);
    for model in hub.models() {
        assert_eq!((model.size, model.companions), (size + own, vec![projector.clone()]), "{}", model.name);
    }
    let verified = hub.verify("ns/demo:F16", |_| ControlFlow::Continue(())).unwrap();
    let states: Vec<_> = verified.iter().map(|file| (file.path.as_str(), file.state)).collect();
    assert_eq!(states, [("see-F16.gguf", FileState::Right), ("mmproj-see-F16.gguf", FileState::Right)]);

    hub.remove("ns/demo:F16").unwrap();
    assert!(projector.exists(), "another model needs it");
    let blob = projector.canonicalize().unwrap();
    assert_eq!(hub.models().len(), 1);
    hub.remove("ns/demo:Q8_0").unwrap();
    assert!(!projector.exists() && !blob.exists());
    check_cache(&setting.cache());
}

#[test]
fn a_model_that_speaks_comes_with_all_of_its_parts() {
    let files = [
        ("talk-F16.gguf", speech("lfm2a-speech-f16.gguf")),
        ("mmproj-audioencoder-talk-F16.gguf", speech("mmproj-lfm2a-speech-q8_0.gguf")),
        ("vocoder-talk-F16.gguf", speech("vocoder-lfm2a-speech-f16.gguf")),
        ("tokenizer-talk-F16.gguf", speech("tokenizer-lfm2a-speech-f16.gguf")),
    ];
    let names = files.each_ref().map(|(name, _)| *name);
    let setting = Setting::new([("ns/talk", Repository::new(&files))]);
    assert_eq!(paths(&setting, "ns/talk"), names);
    let path = setting.pull("ns/talk").unwrap();
    let info = ModelInfo::read(path.to_str().unwrap()).unwrap();
    assert!(info.supports_audio && info.supports_speech);
    let [model] = &setting.hub().models()[..] else { panic!("one model") };
    assert_eq!(model.companions, [1, 2, 3].map(|at| path.with_file_name(names[at])));
    assert_eq!(setting.hub().verify("ns/talk", |_| ControlFlow::Continue(())).unwrap().len(), 4);
    setting.hub().remove("ns/talk:F16").unwrap();
    check_cache(&setting.cache());
    assert!(setting.hub().models().is_empty());
    // Without what turns frames into sound, the model only hears.
    let setting = Setting::new([("ns/talk", Repository::new(&files[..3]))]);
    assert_eq!(paths(&setting, "ns/talk"), &names[..2]);
}

#[test]
fn only_a_projector_whose_header_fits_is_taken() {
    let q8 = vision("mmproj-lfm2vl-q8_0.gguf");
    // The rows of another model: its last map has the same type and another shape.
    let mut cut = q8.clone();
    cut.truncate(5000);
    for (name, bytes) in [
        ("of noise", content(1, 40_000)),
        (
            "of another kind",
            fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/models/lfm2-q4_0.gguf")).unwrap(),
        ),
        ("cut", cut),
    ] {
        let setting = Setting::new([("ns/demo", repository(&[("mmproj-see-F16.gguf", bytes.clone())]))]);
        assert_eq!(paths(&setting, "ns/demo"), ["see-F16.gguf"], "{name}");
        let files = [("mmproj-see-F16.gguf", bytes), ("mmproj-see-Q8_0.gguf", q8.clone())];
        let setting = Setting::new([("ns/demo", repository(&files))]);
        assert_eq!(paths(&setting, "ns/demo"), ["see-F16.gguf", "mmproj-see-Q8_0.gguf"], "{name}");
    }
    // Beside a model with embeddings of another length.
    let mut other = repository(&[("mmproj-see-Q8_0.gguf", q8)]);
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/models/lfm2-q4_0.gguf");
    other.files.insert("see-F16.gguf".to_owned(), fs::read(model).unwrap());
    let setting = Setting::new([("ns/demo", other)]);
    assert_eq!(paths(&setting, "ns/demo"), ["see-F16.gguf"]);
}

#[test]
fn a_header_that_cannot_be_asked_for_is_an_error() {
    let projectors = [("mmproj-see-F16.gguf", vision("mmproj-lfm2vl-f16.gguf"))];
    let setting = Setting::new([("ns/demo", repository(&projectors).gated())]);
    assert_eq!(paths(&setting, "ns/demo"), ["see-F16.gguf"], "the download says that access is denied");
    let setting = Setting::new([("ns/demo", repository(&projectors))]);
    setting.fake.fault("store GET", 2, Act::Cut(100));
    assert_eq!(paths(&setting, "ns/demo").len(), 2, "it is asked again");
    let page = Act::Answer(200, vec![("Content-Type", "text/html".to_owned())], "<html>Sign in</html>");
    setting.fake.fault("store GET", 1, page);
    assert_eq!(paths(&setting, "ns/demo").len(), 2, "a web page is not a file without a projector's header");
    setting.fake.fault("store GET", 100, Act::Cut(100));
    assert!(setting.hub().plan("ns/demo").unwrap_err().is_retryable());
}
