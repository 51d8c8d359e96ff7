//! A changed bit anywhere in packed weights gives no other reply: it is noticed, and what was packed is read from the model's files, or
//! packed again. The bytes of matrices in a bundle are the exception (docs/packed-weights.md).

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::SystemTime;

use causerie_backend::Format;
use serde::Deserialize;

use super::tests::{MEMORY, TestFolder, compute, fixture, load, logits, open, packed, packed_model};
use super::*;
use crate::error::ErrorKind;
use crate::message::ChatMessage;
use crate::model::Model;
use crate::options::WeightMemory;
use crate::prompt::{Frame, PromptRenderer, TemplateFacts, joined};
use crate::tokenizer::ModelTokenizer;
use crate::weights::TemplateSources;

/// Tries for each part of a file.
const N_TRIES: usize = 20;

/// The parts of a table that have a place.
#[derive(Deserialize)]
struct PlacedParts {
    matrices: Vec<PlacedMatrix>,
    headers: Vec<PlacedPart>,
    tensors: Vec<PlacedPart>,
    sections: Vec<PlacedPart>,
}

#[derive(Deserialize)]
struct PlacedMatrix {
    start: usize,
    format: String,
    rows: usize,
    columns: usize,
}

impl PlacedMatrix {
    fn end(&self) -> usize {
        self.start + Format::named(&self.format).unwrap().checked_matrix_bytes((self.rows, self.columns)).unwrap()
    }
}

#[derive(Deserialize)]
struct PlacedPart {
    #[serde(default)]
    name: String,
    start: usize,
    length: usize,
}

fn number(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(*bytes[at..].first_chunk().unwrap()) as usize
}

fn places(packed: &[u8]) -> PlacedParts {
    serde_json::from_slice(&packed[number(packed, 16)..]).unwrap()
}

/// The text that a model reads for a question, its tokens, and the logits.
fn reads(weights: &Weights, packed: Option<Arc<PackedWeights>>) -> (Vec<u32>, String, Vec<u32>) {
    let tokenizer = ModelTokenizer::load_packed(weights, packed.as_deref().and_then(packed_vocabulary)).unwrap();
    let known = packed.as_deref().map(packed_facts).unwrap_or_default();
    let sources = TemplateSources::read(weights).unwrap().unwrap();
    let (renderer, _) = PromptRenderer::from_facts(&sources, &tokenizer, &known).unwrap();
    let now = jiff::Zoned::default();
    let question = [ChatMessage::system("Be brief."), ChatMessage::user("How high is Monte Rosa, in metres?")];
    let prompt = renderer.render(&question, &Frame::shown(&now, true)).unwrap();
    (tokenizer.encode(&prompt).unwrap(), joined(&prompt), logits(&load(weights, packed)))
}

/// A file with one bit changed; its modification time is the one given.
fn change(path: &Path, whole: &[u8], (at, bit): (usize, usize), time: Option<SystemTime>) {
    let mut bytes = whole.to_vec();
    bytes[at] ^= 1 << bit;
    fs::write(path, bytes).unwrap();
    if let Some(time) = time {
        File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }
}

/// PlacedParts at equal distances.
fn spread(start: usize, end: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..N_TRIES).map(move |i| (start + (end - start - 1) * i / (N_TRIES - 1), i % 8))
}

#[test]
fn a_changed_bit_in_a_folder_gives_no_other_reply() {
    for model in ["lfm2-q4_0.gguf", "lfm2-hf"] {
        let (folder, weights) = (TestFolder::new(&format!("bit-{model}")), open(&fixture(model)));
        let options = folder.options(WeightMemory::Mapped);
        let plain = reads(&weights, None);
        assert_eq!(reads(&weights, packed(&weights, &options)), plain, "{model}");
        let path = folder.packed().remove(0);
        let (whole, time) = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
        let PlacedParts { matrices, sections, .. } = places(&whole);
        let names: Vec<&str> = sections.iter().map(|section| section.name.as_str()).collect();
        let own = if model == "lfm2-hf" { &["tokenizer"][..] } else { &[] };
        assert_eq!(names, [&["vocabulary", "texts"], own, &["templates"]].concat(), "{model}");
        let table = number(&whole, 16);
        let section = |place: &PlacedPart| (place.name.clone(), place.start, place.start + place.length);
        let mut parts: Vec<(String, usize, usize)> = sections.iter().map(section).collect();
        parts.extend([("head".to_owned(), 0, 64), ("table".to_owned(), table, whole.len())]);
        for (name, start, end) in parts {
            for (i, at) in spread(start, end).enumerate() {
                // As a failing disk does it, and as another program.
                let time = Some(time).filter(|_| i % 2 == 0);
                change(&path, &whole, at, time);
                assert_eq!(reads(&weights, packed(&weights, &options)), plain, "{model}: {name}, {at:?}");
            }
        }
        // Bytes of matrices, in the middle too.
        for at in spread(matrices[0].start, matrices.last().unwrap().end()) {
            change(&path, &whole, at, None);
            assert_eq!(reads(&weights, packed(&weights, &options)), plain, "{model}: matrices, {at:?}");
            assert_eq!(fs::read(&path).unwrap().len(), whole.len());
        }
    }
}

/// A file that was copied, say, has another time.
#[test]
fn an_unchanged_file_with_another_time_is_checked_once_and_gets_its_time_back() {
    let (folder, weights) = (TestFolder::new("time"), open(&fixture("lfm2-q4_0.gguf")));
    let options = folder.options(WeightMemory::Mapped);
    drop(packed(&weights, &options));
    let path = folder.packed().remove(0);
    let state = || (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    let before = state();
    let later = before.1 + std::time::Duration::from_secs(7);
    File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
    let model = load(&weights, packed(&weights, &options));
    assert_eq!(state(), before);
    assert_eq!(logits(&model), logits(&load(&weights, None)), "it is not taken for a file that changes");
}

#[test]
fn a_changed_bit_in_a_packed_model_is_refused_or_gives_no_other_reply() {
    let (folder, whole) = (TestFolder::new("bit-model"), packed_model("lfm2-q4_0.gguf"));
    let plain = reads(&open(&fixture("lfm2-q4_0.gguf")), None);
    let path = folder.path("model.packed");
    let PlacedParts { matrices, headers, tensors, sections } = places(&whole);
    let found = |weight_memory| {
        let weights = Weights::open(path.to_str().unwrap()).map_err(|err| err.kind())?;
        let options = LoadOptions { weight_memory, ..LoadOptions::default() };
        Ok::<_, ErrorKind>(reads(&weights, packed(&weights, &options)))
    };
    let of = |name: &str, places: Vec<PlacedPart>| {
        let named = |place: PlacedPart| (format!("{name} {}", place.name), place.start, place.start + place.length);
        places.into_iter().map(named).collect::<Vec<_>>()
    };
    let mut refused = of("header", headers);
    refused.extend(of("tensor", tensors).into_iter().take(2));
    refused.extend([("head".to_owned(), 0, 64), ("table".to_owned(), number(&whole, 16), whole.len())]);
    for (name, start, end) in refused {
        for at in spread(start, end) {
            change(&path, &whole, at, None);
            assert!(found(WeightMemory::Mapped).is_err(), "{name}, {at:?}");
        }
    }
    for (name, start, end) in of("section", sections) {
        for at in spread(start, end) {
            change(&path, &whole, at, None);
            for memory in MEMORY {
                assert_eq!(found(memory).as_ref(), Ok(&plain), "{name}, {at:?}");
            }
        }
    }
    // Weights that are read are checked.
    let weights = || {
        let weights = Weights::open(path.to_str().unwrap())?;
        let options = LoadOptions { weight_memory: WeightMemory::Copied, ..LoadOptions::default() };
        let packed = packed(&weights, &options);
        Model::load(&weights, packed, compute(), 64, &mut |_| ControlFlow::Continue(())).map(drop)
    };
    let largest = matrices.iter().max_by_key(|matrix| matrix.rows * matrix.columns).unwrap();
    for (at, bit) in spread(largest.start, largest.end()) {
        change(&path, &whole, (at, bit), None);
        // The samples at its ends are checked when the file is opened, and all of it when it is read.
        let err = weights().unwrap_err();
        assert!(err.kind() == ErrorKind::ModelLoad, "{at}: {err}");
    }
}

/// Facts that no probe finds show that none is rendered.
#[test]
fn templates_whose_facts_are_stored_are_not_probed() {
    let weights = open(&fixture("lfm2-q4_0.gguf"));
    let tokenizer = ModelTokenizer::load(&weights).unwrap();
    let sources = TemplateSources::read(&weights).unwrap().unwrap();
    let renderer = |known: &TemplateFacts| PromptRenderer::from_facts(&sources, &tokenizer, known).unwrap();
    let (probed, facts) = renderer(&TemplateFacts::default());
    assert!(probed.offers_functions() && !probed.prints_images());
    assert_eq!(TemplateFacts::read(&facts.to_bytes()), facts);
    let json = String::from_utf8(facts.to_bytes()).unwrap();
    let other = json.replace("\"images\":false", "\"images\":true");
    let (known, found) = renderer(&TemplateFacts::read(other.as_bytes()));
    assert!(known.prints_images() && found != facts);
    // They are of this model alone, and not remembered for others.
    assert!(!renderer(&TemplateFacts::default()).0.prints_images());
    // Another template is probed.
    let changed = TemplateSources::from(sources.chat.clone() + "{# changed #}");
    let (renderer, of_changed) = PromptRenderer::from_facts(&changed, &tokenizer, &facts).unwrap();
    assert!(renderer.offers_functions() && of_changed != facts);
    for damaged in ["", "{}", "[{}]", &json.replace("\"template\":\"", "\"template\":\"x"), &json[1..]] {
        assert!(TemplateFacts::read(damaged.as_bytes()).is_empty(), "{damaged}");
    }
}

/// Facts and texts are conclusions of a release; the vocabulary is what the files say.
#[test]
fn what_another_release_concluded_is_not_used() {
    let folder = TestFolder::new("release");
    let model = packed_model("lfm2-q4_0.gguf");
    let path = folder.path("model.packed");
    let table = number(&model, 16);
    let json = String::from_utf8(model[table..].to_vec()).unwrap();
    let release = format!("\"release\":\"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(json.contains(&release));
    let other = json.replace(&release, "\"release\":\"0.0.1\"");
    let head = crate::weights::packed_head(table as u64, other.as_bytes());
    fs::write(&path, [&head, &model[64..table], other.as_bytes()].concat()).unwrap();
    let weights = open(&path);
    let found = packed(&weights, &LoadOptions::default()).unwrap();
    assert!(found.section("templates").is_some() && found.section_of_release("templates").is_none());
    assert!(packed_facts(&found).is_empty() && packed_vocabulary(&found).is_some());
    assert_eq!(reads(&weights, Some(found)), reads(&open(&fixture("lfm2-q4_0.gguf")), None));
}

/// A device that has no space: the partial file leads there.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_model_as_it_is() {
    let (folder, weights) = (TestFolder::new("full"), open(&fixture("lfm2-q4_0.gguf")));
    std::os::unix::fs::symlink("/dev/full", folder.path(super::folder::PARTIAL)).unwrap();
    assert!(packed(&weights, &folder.options(WeightMemory::Mapped)).is_none());
    assert!(folder.packed().is_empty() && fs::symlink_metadata(folder.path(super::folder::PARTIAL)).is_err());
    // With space again, the next load packs.
    assert!(packed(&weights, &folder.options(WeightMemory::Mapped)).is_some());
}

/// The versions, layouts and lengths that no file of this release has.
#[test]
fn files_of_other_versions_are_packed_again() {
    let (folder, weights) = (TestFolder::new("versions"), open(&fixture("lfm2-q4_0.gguf")));
    let options = folder.options(WeightMemory::Mapped);
    let plain = reads(&weights, packed(&weights, &options));
    let path = folder.packed().remove(0);
    let whole = fs::read(&path).unwrap();
    for i in 0..N_TRIES {
        for at in [8, 12] {
            let mut other = whole.clone();
            let found = u32::from_le_bytes(*other[at..].first_chunk().unwrap());
            other[at..at + 4].copy_from_slice(&(found + 1 + 7919 * i as u32).to_le_bytes());
            fs::write(&path, other).unwrap();
            assert_eq!(reads(&weights, packed(&weights, &options)), plain, "{at}, {i}");
        }
        fs::write(&path, &whole[..whole.len() * i / N_TRIES]).unwrap();
        assert_eq!(reads(&weights, packed(&weights, &options)), plain, "cut, {i}");
    }
}
