//! Models with packed weights compute the same bits as their files; what is wrong with packed weights is noticed.

use std::fs::{self, File};
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::folder::{LOCK, PARTIAL};
use super::model::write_model_to;
use super::*;
use crate::checkpoint::Checkpoint;
use crate::model::{Inputs, Model, survey, weight_bytes};
use crate::options::{CacheType, WeightMemory};

pub(super) const MEMORY: [WeightMemory; 3] = [WeightMemory::Mapped, WeightMemory::Copied, WeightMemory::Auto];

/// A folder of a test, which is removed at the end.
pub(super) struct TestFolder(PathBuf);

impl TestFolder {
    pub(super) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("causerie-packing-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The packed weights in the folder.
    pub(super) fn packed(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION)).collect()
    }

    pub(super) fn options(&self, weight_memory: WeightMemory) -> LoadOptions {
        let packed_folder = Some(self.0.clone());
        LoadOptions { packed_folder, weight_memory, ..LoadOptions::default() }
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

pub(super) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/models").join(name)
}

pub(super) fn open(path: &Path) -> Weights {
    Weights::open(path.to_str().unwrap()).unwrap()
}

pub(super) fn compute() -> Compute {
    Compute::native(2, CacheType::F16)
}

pub(super) fn packed(weights: &Weights, options: &LoadOptions) -> Option<Arc<PackedWeights>> {
    packed_weights(weights, options, &compute(), &mut |_| ControlFlow::Continue(())).unwrap()
}

pub(super) fn load(weights: &Weights, packed: Option<Arc<PackedWeights>>) -> Model {
    Model::load(weights, packed, compute(), 64, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// The bits of the logits after some tokens.
pub(super) fn logits(model: &Model) -> Vec<u32> {
    let (mut state, mut logits) = (model.start().unwrap(), Vec::new());
    model.forward_one(Inputs::Tokens(&[1, 7, 23, 5, 90, 4, 3]), &mut *state, &mut logits).unwrap();
    model.forward_one(Inputs::Tokens(&[11]), &mut *state, &mut logits).unwrap();
    logits.into_iter().map(f32::to_bits).collect()
}

#[test]
fn packed_weights_are_written_once_and_give_the_same_bits() {
    for file in [
        "lfm2-f32.gguf",
        "lfm2-q4_k.gguf",
        "lfm2-q2_k.gguf",
        "lfm2moe-q8_0.gguf",
        "gemma3-q8_0.gguf",
        "gemma4-q8_0.gguf",
        "phi4-q8_0.gguf",
        "qwen35-q8_0.gguf",
        "smollm2-q4_1.gguf",
        "lfm2-split-00001-of-00003.gguf",
        "lfm2-hf",
        "llama3",
        "../bundles/lfm2.bundle",
    ] {
        let (folder, weights) = (TestFolder::new("bits"), open(&fixture(file)));
        let plain = logits(&load(&weights, None));
        let written = packed(&weights, &folder.options(WeightMemory::Mapped)).unwrap();
        assert!(written.is_mapped() && !folder.path(PARTIAL).exists());
        let (n_matrices, n_bytes) = PackedFile::open(&folder.packed()[0]).unwrap().n_bytes();
        assert!(2 < n_matrices && 0 < n_bytes);
        let before = fs::metadata(&folder.packed()[0]).unwrap().modified().unwrap();
        for memory in MEMORY {
            let model = load(&weights, packed(&weights, &folder.options(memory)));
            assert_eq!(logits(&model), plain, "{file}, {memory:?}");
            let copies = std::iter::repeat_with(|| model.copy_mapped()).take_while(|more| *more).count();
            assert!(copies == 0 || memory == WeightMemory::Auto, "{file}, {memory:?}");
            assert_eq!(logits(&model), plain, "{file}, {memory:?}, copied");
        }
        assert_eq!(folder.packed().len(), 1);
        assert_eq!(fs::metadata(&folder.packed()[0]).unwrap().modified().unwrap(), before, "{file} is packed once");
    }
}

/// A model whose first matrices are mapped and whose last ones are copied is the ordinary state of `Auto`.
#[test]
fn matrices_are_copied_while_the_model_is_used() {
    let (folder, weights) = (TestFolder::new("copied"), open(&fixture("lfm2-f32.gguf")));
    let plain = logits(&load(&weights, None));
    let model = load(&weights, packed(&weights, &folder.options(WeightMemory::Auto)));
    let path = &folder.packed()[0];
    while model.copy_mapped() {
        assert_eq!(logits(&model), plain);
    }
    // The file is not used any more.
    File::options().write(true).open(path).unwrap().set_len(0).unwrap();
    assert_eq!(logits(&model), plain);
}

#[test]
fn a_file_that_is_changed_while_it_is_mapped_ends_replies_with_an_error() {
    let (folder, weights) = (TestFolder::new("changed"), open(&fixture("lfm2-q4_0.gguf")));
    let model = load(&weights, packed(&weights, &folder.options(WeightMemory::Mapped)));
    let plain = logits(&model);
    let copied = load(&weights, packed(&weights, &folder.options(WeightMemory::Copied)));
    let file = File::options().append(true).open(&folder.packed()[0]).unwrap();
    (&file).write_all(b"more").unwrap();
    let (mut state, mut logits_of_step) = (model.start().unwrap(), Vec::new());
    let err = model.forward_one(Inputs::Tokens(&[1]), &mut *state, &mut logits_of_step).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::ModelLoad);
    assert!(err.message().contains("packed weights was changed"), "{err}");
    assert_eq!(logits(&copied), plain);
}

/// What a file holds before its table, which has the time of packing.
fn content(packed: &[u8]) -> &[u8] {
    &packed[64..u64::from_le_bytes(*packed[16..].first_chunk().unwrap()) as usize]
}

#[test]
fn damaged_or_foreign_packed_weights_are_packed_again() {
    let (folder, weights) = (TestFolder::new("damaged"), open(&fixture("lfm2-q4_0.gguf")));
    let options = folder.options(WeightMemory::Mapped);
    drop(packed(&weights, &options));
    let path = folder.packed().remove(0);
    let whole = fs::read(&path).unwrap();
    let other = {
        let folder = TestFolder::new("other");
        drop(packed(&open(&fixture("lfm2-q8_0.gguf")), &folder.options(WeightMemory::Mapped)));
        fs::read(&folder.packed()[0]).unwrap()
    };
    let changed = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let first_matrix = 16 << 10;
    for (what, bytes) in [
        ("empty", Vec::new()),
        ("cut", whole[..whole.len() - 1].to_vec()),
        ("of another version", changed(8)),
        ("of another layout", changed(12)),
        ("with another table", changed(whole.len() - 2)),
        ("with another digest", changed(40)),
        ("with another matrix", changed(first_matrix)),
        ("of another model", other),
    ] {
        fs::write(&path, bytes).unwrap();
        let model = load(&weights, packed(&weights, &options));
        assert_eq!(content(&fs::read(&path).unwrap()), content(&whole), "{what}");
        assert_eq!(logits(&model), logits(&load(&weights, None)));
    }
}

#[test]
fn a_model_that_changes_is_packed_again_and_its_old_weights_go_with_it() {
    let folder = TestFolder::new("source");
    let (model, other) = (folder.path("model.gguf"), folder.path("other.gguf"));
    let options = folder.options(WeightMemory::Mapped);
    fs::copy(fixture("lfm2-q4_0.gguf"), &model).unwrap();
    drop(packed(&open(&model), &options));
    let first = folder.packed().remove(0);
    // The same file at another place and with its time is the same model.
    fs::rename(&model, &other).unwrap();
    drop(packed(&open(&other), &options));
    assert_eq!(folder.packed(), std::slice::from_ref(&first));
    // Another one is packed, and the packed weights of the path that is gone are removed.
    fs::copy(fixture("lfm2-q8_0.gguf"), &other).unwrap();
    let weights = open(&other);
    let of_other = packed(&weights, &options);
    assert_eq!(logits(&load(&weights, of_other)), logits(&load(&weights, None)));
    assert!(folder.packed().len() == 1 && !first.exists(), "{:?}", folder.packed());
}

#[test]
fn the_oldest_packed_weights_make_place_for_new_ones() {
    let folder = TestFolder::new("limit");
    let files = ["lfm2-q4_0.gguf", "lfm2-q8_0.gguf", "lfm2-f16.gguf"];
    let mut written = Vec::new();
    for (age, file) in files.iter().enumerate() {
        drop(packed(&open(&fixture(file)), &folder.options(WeightMemory::Mapped)));
        let new = folder.packed().into_iter().find(|path| !written.contains(path)).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000 * age as u64);
        File::options().write(true).open(&new).unwrap().set_modified(time).unwrap();
        written.push(new);
    }
    assert_eq!(folder.packed().len(), 3);
    let sizes: Vec<u64> = written.iter().map(|path| fs::metadata(path).unwrap().len()).collect();
    let fourth = open(&fixture("lfm2-q4_k.gguf"));
    let checkpoint = Checkpoint::read(&fourth).unwrap();
    survey(&checkpoint).unwrap();
    let packed_bytes = sizes[1] + sizes[2] + weight_bytes(&checkpoint.tensors);
    let limited = LoadOptions { packed_bytes, ..folder.options(WeightMemory::Mapped) };
    assert!(packed(&fourth, &limited).is_some());
    assert!(!written[0].exists() && written[1].exists() && written[2].exists());
    let none = LoadOptions { packed_bytes: 1000, ..folder.options(WeightMemory::Mapped) };
    assert!(packed(&open(&fixture("lfm2-q6_k.gguf")), &none).is_none());
    assert!(written[1].exists(), "nothing is removed for what is not written");
}

#[test]
fn what_a_killed_process_left_is_overwritten() {
    let (folder, weights) = (TestFolder::new("killed"), open(&fixture("lfm2-q4_0.gguf")));
    fs::write(folder.path(PARTIAL), vec![1; 1 << 20]).unwrap();
    fs::write(folder.path(LOCK), "").unwrap();
    let options = folder.options(WeightMemory::Mapped);
    let model = load(&weights, packed(&weights, &options));
    assert_eq!(logits(&model), logits(&load(&weights, None)));
    assert!(!folder.path(PARTIAL).exists());
}

#[test]
fn a_model_is_loaded_from_its_file_while_another_process_packs() {
    let (folder, weights) = (TestFolder::new("locked"), open(&fixture("lfm2-q4_0.gguf")));
    let lock = File::create(folder.path(LOCK)).unwrap();
    lock.lock().unwrap();
    assert!(packed(&weights, &folder.options(WeightMemory::Mapped)).is_none());
    drop(lock);
    assert!(packed(&weights, &folder.options(WeightMemory::Mapped)).is_some());
    // Packed weights are found without the lock.
    let lock = File::options().write(true).open(folder.path(LOCK)).unwrap();
    lock.lock().unwrap();
    assert!(packed(&weights, &folder.options(WeightMemory::Mapped)).is_some());
}

#[test]
fn a_folder_that_cannot_be_written_is_done_without() {
    let (folder, weights) = (TestFolder::new("refused"), open(&fixture("lfm2-q4_0.gguf")));
    fs::create_dir(folder.path(PARTIAL)).unwrap();
    assert!(packed(&weights, &folder.options(WeightMemory::Mapped)).is_none());
    let file = folder.path("file");
    fs::write(&file, "").unwrap();
    let options = LoadOptions { packed_folder: Some(file.clone()), ..LoadOptions::default() };
    assert!(packed(&weights, &options).is_none());
}

#[test]
fn packing_can_be_cancelled() {
    let (folder, weights) = (TestFolder::new("cancelled"), open(&fixture("lfm2-q4_0.gguf")));
    let mut n_reports = 0;
    let cancelled = packed_weights(&weights, &folder.options(WeightMemory::Mapped), &compute(), &mut |_| {
        n_reports += 1;
        if n_reports == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(cancelled.err().map(|err| err.kind()), Some(ErrorKind::LoadCancelled));
    assert!(folder.packed().is_empty() && !folder.path(PARTIAL).exists());
}

#[test]
fn a_model_in_memory_is_not_packed() {
    let folder = TestFolder::new("memory");
    let weights = Weights::from_bytes(fs::read(fixture("lfm2-q4_0.gguf")).unwrap().into()).unwrap();
    assert!(packed(&weights, &folder.options(WeightMemory::Mapped)).is_none());
}

/// A model in one file of packed weights.
pub(super) fn packed_model(model: &str) -> Vec<u8> {
    let written = write_model_to(&open(&fixture(model)), Cursor::new(Vec::new()), &mut |_| ControlFlow::Continue(()));
    written.unwrap().into_inner()
}

#[test]
fn a_packed_model_needs_no_other_file() {
    let folder = TestFolder::new("model");
    for model in [
        "lfm2-q4_k.gguf",
        "lfm2-q2_k.gguf",
        "lfm2moe-q8_0.gguf",
        "gemma4-q8_0.gguf",
        "phi4-q8_0.gguf",
        "lfm2-split-00001-of-00003.gguf",
    ] {
        let path = folder.path("model.packed");
        fs::write(&path, packed_model(model)).unwrap();
        let (weights, plain) = (open(&path), open(&fixture(model)));
        let expected = logits(&load(&plain, None));
        for weight_memory in MEMORY {
            let options = LoadOptions { weight_memory, ..LoadOptions::default() };
            let model_in_memory = load(&weights, packed(&weights, &options));
            assert_eq!(logits(&model_in_memory), expected, "{model}, {weight_memory:?}");
        }
        let kind =
            |options: &LoadOptions| packed_weights(&weights, options, &compute(), &mut |_| ControlFlow::Continue(()));
        let metal = LoadOptions { device: Device::Metal, ..LoadOptions::default() };
        assert_eq!(kind(&metal).err().map(|err| err.kind()), Some(ErrorKind::InvalidOption("device")));
        let again = write_model_to(&weights, Cursor::new(Vec::new()), &mut |_| ControlFlow::Continue(()));
        assert_eq!(again.err().map(|err| err.kind()), Some(ErrorKind::InvalidOption("model")));
        let quantised = crate::quantize(path.to_str().unwrap(), crate::GgufType::Q8_0, folder.path("q"), |_| {
            ControlFlow::Continue(())
        });
        assert_eq!(quantised.err().map(|err| err.kind()), Some(ErrorKind::InvalidOption("model")));
        assert!(!folder.path("q").exists());
    }
    let folder_of_weights =
        write_model_to(&open(&fixture("lfm2-hf")), Cursor::new(Vec::new()), &mut |_| ControlFlow::Continue(()));
    assert_eq!(folder_of_weights.err().map(|err| err.kind()), Some(ErrorKind::InvalidOption("model")));
}

/// Packed weights beside a model have no header, so that they are no model.
#[test]
fn packed_weights_of_a_folder_are_not_a_model() {
    let (folder, weights) = (TestFolder::new("alone"), open(&fixture("lfm2-q4_0.gguf")));
    drop(packed(&weights, &folder.options(WeightMemory::Mapped)));
    let err = Weights::open(folder.packed()[0].to_str().unwrap()).err().unwrap();
    assert!(err.to_string().contains("packed weights of another file"), "{err}");
}

/// A disk with place for some bytes.
struct SmallDisk {
    n_left: usize,
    content: Cursor<Vec<u8>>,
}

impl Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.n_left < bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.n_left -= bytes.len();
        self.content.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for SmallDisk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.content.seek(to)
    }
}

#[test]
fn a_full_disk_is_an_error_at_every_size() {
    let (model, whole) = (open(&fixture("lfm2-q4_0.gguf")), packed_model("lfm2-q4_0.gguf").len());
    for n_left in (0..whole).step_by(whole / 50) {
        let disk = SmallDisk { n_left, content: Cursor::default() };
        let written = write_model_to(&model, disk, &mut |_| ControlFlow::Continue(()));
        assert_eq!(written.err().map(|err| err.kind()), Some(ErrorKind::ModelLoad));
    }
}
