//! Invalid model files: each is refused with a typed error that names the problem, and a valid file loads afterwards.

mod folder;
mod gguf;
mod odd;

use std::fs;
use std::path::PathBuf;

use causerie::{ErrorKind, GenerationOptions, LoadOptions, MessageResponse, ModelInfo, ModelRunner, SdkError};

use crate::fixture;
use gguf::{ARRAY, F32, Gguf, TEXT, U8, U32, U64, array, text};

/// A small model of the Llama family.
fn good() -> Gguf {
    Gguf::read(&fs::read(fixture("models/smollm2-q4_1.gguf")).unwrap())
}

fn load_bytes(bytes: Vec<u8>) -> Result<ModelRunner, SdkError> {
    ModelRunner::load_from_bytes(bytes, LoadOptions::default())
}

/// The first tokens of a model's reply.
pub(super) fn reply(runner: &ModelRunner) -> String {
    let options = GenerationOptions { temperature: Some(0.0), max_tokens: Some(8), ..Default::default() };
    let events = runner.complete("Hi", options).into_iter().map(Result::unwrap);
    let text = |event| if let MessageResponse::Chunk(text) = event { text } else { String::new() };
    events.map(text).collect()
}

/// A temporary folder of one test, removed when it is dropped.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("causerie-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(super) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[track_caller]
fn check_refused(file: Gguf, expect: &str) {
    let err = load_bytes(file.bytes()).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::ModelLoad, "{err}");
    assert!(err.to_string().contains(expect), "{err}");
}

#[track_caller]
fn check_place_refused(model: &str, kind: ErrorKind) {
    let err = ModelRunner::load(model).unwrap_err();
    assert_eq!(err.kind(), kind, "{err}");
    assert!(err.to_string().contains(model), "{err}");
    load_bytes(good().bytes()).unwrap();
}

#[test]
fn a_file_built_from_its_parts_is_still_a_model() {
    load_bytes(good().bytes()).unwrap();
}

#[test]
fn tokens_and_their_metadata_agree() {
    let tokenizer = Gguf::read(&fs::read(fixture("tokenizers/llama.gguf")).unwrap());
    let tokenizer = tokenizer.values.into_iter().filter(|(key, ..)| key.starts_with("tokenizer."));
    let llama = tokenizer.fold(good(), |file, (key, value_type, value)| file.with(&key, value_type, value));
    let llama = llama.without("tokenizer.ggml.merges");
    let scores = "tokenizer.ggml.scores";
    for (file, expect) in [
        (llama.clone().with(scores, ARRAY, array(U8, &[vec![0]])), "metadata tokenizer.ggml.scores must be an array"),
        (llama.clone().with(scores, ARRAY, array(F32, &[vec![0; 4]])), "tokenizer.ggml.scores must have"),
        (llama.clone().with(scores, TEXT, text("none")), "metadata tokenizer.ggml.scores must be an array"),
        (llama.clone().without(scores), "metadata tokenizer.ggml.scores is missing"),
        (
            llama.with("tokenizer.ggml.token_type", ARRAY, array(U32, &[vec![1, 0, 0, 0]])),
            "tokenizer.ggml.token_type must have",
        ),
        (good().with("tokenizer.ggml.tokens", ARRAY, array(TEXT, &[text("a")])), "must have 1 values"),
        (good().with("tokenizer.ggml.tokens", ARRAY, array(TEXT, &[b"\x01\0\0\0\0\0\0\0\xff".to_vec()])), "UTF-8"),
        (good().with("tokenizer.ggml.eos_token_id", U64, u64::MAX.to_le_bytes()), "tokenizer.ggml.eos_token_id"),
        (good().with("tokenizer.ggml.merges", ARRAY, array(TEXT, &[text("ab")])), "merges must be two strings"),
        (good().with("tokenizer.ggml.merges", ARRAY, array(TEXT, &[text("zz qq")])), "the vocabulary"),
        (good().with("tokenizer.ggml.model", TEXT, text("rwkv")), "\"rwkv\""),
        (good().with("tokenizer.ggml.pre", TEXT, text("nonesuch")), "\"nonesuch\""),
    ] {
        check_refused(file, expect);
    }
}

#[test]
fn a_vocabulary_fits_the_embedding() {
    let mut file = good();
    let rows = &mut file.tensor("token_embd.weight").dims[1];
    *rows -= 32;
    check_refused(file, "llama.vocab_size must be at most");
}

#[test]
fn tensors_are_there_in_the_right_shape() {
    let mut renamed = good();
    renamed.tensor("blk.0.attn_q.weight").name = "blk.0.attn_Q.weight".into();
    check_refused(renamed, "blk.0.attn_q.weight");
    let mut turned = good();
    turned.tensor("blk.0.ffn_up.weight").dims.reverse();
    check_refused(turned, "blk.0.ffn_up.weight");
    let mut missing = good();
    missing.tensors.retain(|tensor| tensor.name != "output_norm.weight");
    check_refused(missing, "output_norm.weight");
    let mut unknown = good();
    unknown.tensor("blk.0.ffn_up.weight").dtype = 39;
    check_refused(unknown, "type MXFP4");
}

#[test]
fn architectures_and_their_hyperparameters_are_checked() {
    let key = |key: &str| format!("llama.{key}");
    let with = |name: &str, number: u32| good().with(&key(name), U32, number.to_le_bytes());
    for (file, expect) in [
        (good().with("general.architecture", TEXT, text("mamba9")), "\"mamba9\""),
        (good().without("general.architecture"), "general.architecture"),
        (good().without("llama.block_count"), "llama.block_count"),
        (with("block_count", 0), "layers"),
        (with("block_count", u32::MAX), "layers"),
        (with("rope.dimension_count", 0), "size of a head"),
        (with("rope.dimension_count", 7), "must divide into heads of 7"),
        (with("context_length", 0), "context"),
        (with("context_length", u32::MAX), "context"),
        (good().with("llama.attention.layer_norm_rms_epsilon", F32, f32::NAN.to_le_bytes()), "epsilon"),
        (good().with("llama.rope.freq_base", F32, 0f32.to_le_bytes()), "settings of rotary positions must be"),
    ] {
        check_refused(file, expect);
    }
}

#[test]
fn a_file_cut_short_anywhere_is_refused() {
    let bytes = good().bytes();
    for length in (0..bytes.len()).step_by(1 << 9) {
        let err = load_bytes(bytes[..length].to_vec()).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::ModelLoad, "{length}: {err}");
    }
}

#[test]
fn no_flipped_bit_of_a_header_causes_a_panic() {
    let mut bytes = good().bytes();
    for bit in (0..8 * 4096).step_by(17) {
        bytes[bit / 8] ^= 1 << (bit % 8);
        drop(ModelInfo::read_from_bytes(bytes.clone()));
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn an_endless_array_is_refused_before_it_is_read() {
    let scratch = Scratch::new("sparse");
    let path = scratch.path("sparse.gguf");
    let key = [text("bytes"), ARRAY.to_le_bytes().to_vec(), U8.to_le_bytes().to_vec()].concat();
    let head = [&b"GGUF\x03\0\0\0"[..], &0u64.to_le_bytes(), &1u64.to_le_bytes(), &key, &(500u64 << 20).to_le_bytes()];
    fs::write(&path, head.concat()).unwrap();
    // As long as it states, as a sparse file.
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(600 << 20).unwrap();
    check_place_refused(&path, ErrorKind::ModelLoad);
}

#[test]
fn weights_that_are_nan_end_a_reply_with_an_error() {
    let mut file = Gguf::read(&fs::read(fixture("models/smollm2-f32.gguf")).unwrap());
    let offset = file.tensor("output_norm.weight").offset as usize;
    for number in [f32::NAN, f32::INFINITY] {
        file.weights[offset..offset + 4].copy_from_slice(&number.to_le_bytes());
        let runner = load_bytes(file.bytes()).unwrap();
        let mut events: Vec<_> = runner.complete("Hi", GenerationOptions::default()).into_iter().collect();
        let end = events.pop().unwrap();
        assert_eq!(end.unwrap_err().kind(), ErrorKind::Generation);
        assert!(!events.iter().any(|event| matches!(event, Ok(MessageResponse::Chunk(_)))), "no random text");
    }
}

#[cfg(unix)]
#[test]
fn paths_that_are_not_files_are_refused() {
    use std::os::unix::fs::symlink;

    let scratch = Scratch::new("places");
    symlink("loop.gguf", scratch.path("loop.gguf")).unwrap();
    check_place_refused(&scratch.path("loop.gguf"), ErrorKind::ModelNotFound);
    check_place_refused(&scratch.path("absent.gguf"), ErrorKind::ModelNotFound);
    check_place_refused("/dev/zero", ErrorKind::ModelLoad);
    check_place_refused("/dev/null", ErrorKind::ModelLoad);
    fs::write(scratch.path("empty.gguf"), "").unwrap();
    check_place_refused(&scratch.path("empty.gguf"), ErrorKind::ModelLoad);
    fs::create_dir(scratch.path("folder")).unwrap();
    check_place_refused(&scratch.path("folder"), ErrorKind::ModelNotFound);
    let fifo = scratch.path("fifo.gguf");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    check_place_refused(&fifo, ErrorKind::ModelLoad);
}
