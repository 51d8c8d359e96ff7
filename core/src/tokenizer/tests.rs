//! Compares our token ids with the ids of the tokenizers library in Python, recorded by `scripts/golden`.

use std::path::Path;

use serde::Deserialize;

use super::parts::MAX_TOKEN_BYTES;
use super::*;
use crate::error::ErrorKind;
use crate::weights::SectionBytes;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
    bytes: Vec<String>,
}

#[derive(Deserialize)]
struct Case {
    text: String,
    ids: Vec<u32>,
    parsed: Vec<u32>,
}

pub(super) fn tests_folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests")
}

fn golden() -> Golden {
    serde_json::from_slice(&std::fs::read(tests_folder().join("golden/tokens.json")).unwrap()).unwrap()
}

fn load(model: &str) -> ModelTokenizer {
    let path = tests_folder().join("fixtures/models").join(model);
    ModelTokenizer::load(&Weights::open(path.to_str().unwrap()).unwrap()).unwrap()
}

const FORMS: [&str; 3] = ["lfm2-f32.gguf", "lfm2-hf", "lfm2-hf-sharded"];

#[test]
fn text_gives_the_ids_of_the_reference_from_every_file_format() {
    for form in FORMS {
        let tokenizer = load(form);
        for case in golden().cases {
            let ids = tokenizer.encode(&[Segment::Text(case.text.clone())]).unwrap();
            assert_eq!(ids, case.ids, "{form}: {:?}", case.text);
        }
    }
}

#[test]
fn control_tokens_of_a_prompt_are_found() {
    for form in FORMS {
        let tokenizer = load(form);
        let control = tokenizer.control_tokens().unwrap();
        for case in golden().cases {
            assert_eq!(tokenizer.encode(&control.split(&case.text)).unwrap(), case.parsed, "{form}: {:?}", case.text);
        }
    }
}

#[test]
fn every_token_has_the_bytes_of_the_reference() {
    for form in FORMS {
        let tokenizer = load(form);
        let golden = golden();
        assert_eq!(tokenizer.n_tokens(), golden.bytes.len());
        for (id, expect) in (0..).zip(&golden.bytes) {
            let bytes = match tokenizer.text(id).unwrap() {
                TokenText::Bytes(bytes) => bytes,
                TokenText::Control(spelling) => spelling.as_bytes(),
            };
            assert_eq!(&hex::encode(bytes), expect, "{form}, token {id}");
        }
    }
}

#[test]
fn training_settings_neither_truncate_nor_pad_a_prompt() {
    let source = tests_folder().join("fixtures/models/lfm2-hf");
    let folder = std::env::temp_dir().join(format!("causerie-truncation-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["config.json", "model.safetensors"] {
        std::fs::copy(source.join(name), folder.join(name)).unwrap();
    }
    let json = std::fs::read_to_string(source.join("tokenizer.json")).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&json).unwrap();
    json["truncation"] = serde_json::json!({
        "direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0
    });
    json["model"]["dropout"] = serde_json::json!(0.9);
    json["padding"] = serde_json::json!({
        "strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0,
        "pad_token": "<|pad|>"
    });
    std::fs::write(folder.join("tokenizer.json"), json.to_string()).unwrap();
    let tokenizer = ModelTokenizer::load(&Weights::open(folder.to_str().unwrap()).unwrap()).unwrap();
    let text = [Segment::Text("What is the weather in Lisbon today?".into())];
    assert_eq!(tokenizer.encode(&text).unwrap(), load("lfm2-hf").encode(&text).unwrap());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_begin_and_end_tokens_are_read_from_every_file_format() {
    for form in FORMS {
        let tokenizer = load(form);
        assert_eq!(tokenizer.special_tokens().get("bos_token"), Some("<|startoftext|>"), "{form}");
        assert!(tokenizer.is_end(7), "{form}");
    }
}

/// A folder that states ids, in config.json and in tokenizer_config.json.
fn stating(name: &str, config: &[(&str, u32)], settings: serde_json::Value) -> Result<ModelTokenizer> {
    let source = tests_folder().join("fixtures/models/lfm2-hf");
    let folder = std::env::temp_dir().join(format!("causerie-ids-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for file in ["model.safetensors", "tokenizer.json"] {
        std::fs::copy(source.join(file), folder.join(file)).unwrap();
    }
    let json = std::fs::read_to_string(source.join("config.json")).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for (key, id) in config {
        json[key] = (*id).into();
    }
    std::fs::write(folder.join("config.json"), json.to_string()).unwrap();
    std::fs::write(folder.join("tokenizer_config.json"), settings.to_string()).unwrap();
    let loaded = ModelTokenizer::load(&Weights::open(folder.to_str().unwrap()).unwrap());
    std::fs::remove_dir_all(folder).unwrap();
    loaded
}

// transformers loads such folders, never ends a reply at the id, and fails where it begins a reply with it.
#[test]
fn an_id_outside_of_the_vocabulary_is_refused_where_it_would_be_used() {
    const BEYOND: u32 = 128_009;
    let stale = [("bos_token_id", BEYOND), ("eos_token_id", BEYOND), ("pad_token_id", BEYOND)];
    let named = serde_json::json!({"bos_token": "<|startoftext|>", "eos_token": "<|im_end|>", "add_bos_token": true});
    let tokenizer = stating("named", &stale, named).unwrap();
    assert_eq!((tokenizer.bos_id, tokenizer.eos_id, tokenizer.is_end(BEYOND)), (Some(1), Some(7), false));
    let refused = |name: &str, config: &[(&str, u32)], settings| {
        stating(name, config, settings).err().map(|err| err.to_string()).unwrap_or_default()
    };
    let message = refused("end", &stale[1..2], serde_json::json!({}));
    assert!(message.contains("eos_token_id in config.json must be a token of the vocabulary, below "), "{message}");
    assert!(message.ends_with(", found 128009"), "{message}");
    let message = refused("begin", &stale[..1], serde_json::json!({"add_bos_token": true}));
    assert!(message.contains("bos_token_id in config.json must be a token of the vocabulary, below "), "{message}");
    assert!(stating("unused", &stale[..1], serde_json::json!({})).is_ok_and(|tokenizer| tokenizer.bos_id.is_none()));
}

#[test]
fn bos_is_added_to_a_prompt_once() {
    let tokenizer = load("lfm2-f32.gguf");
    let ids = tokenizer.encode_with_bos(&[Segment::Text("a".into())]).unwrap();
    assert_eq!(ids, [1, 78]);
    let bos = Segment::Control("<|startoftext|>".into());
    assert_eq!(tokenizer.encode_with_bos(&[bos, Segment::Text("a".into())]).unwrap(), [1, 78]);
}

fn gguf(name: &str) -> Vec<u8> {
    std::fs::read(tests_folder().join(format!("fixtures/tokenizers/{name}.gguf"))).unwrap()
}

/// The bytes with every occurrence of one string replaced by another of the same length.
fn replaced(mut bytes: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}

#[track_caller]
fn check_refused(bytes: Vec<u8>, expect: &str) {
    let err = ModelTokenizer::load(&Weights::from_bytes(bytes.into()).unwrap()).err().unwrap();
    assert_eq!(err.kind(), ErrorKind::ModelLoad);
    assert!(err.to_string().contains(expect), "{err}");
}

#[test]
fn tokenizers_of_unknown_kinds_are_named() {
    check_refused(replaced(gguf("gpt-2"), "gpt2", "rwkv"), r#"tokenizer.ggml.model has the unsupported value "rwkv""#);
    check_refused(replaced(gguf("gpt-2"), "gpt2", "bert"), "tokenizer.ggml.tokens must have the token [UNK]");
    check_refused(replaced(gguf("qwen2"), "qwen2", "qwen9"), r#"tokenizer.ggml.pre has the unsupported value "qwen9""#);
    check_refused(replaced(gguf("qwen2"), "ggml.pre", "ggml.pri"), "tokenizer.ggml.pre is missing");
    let json =
        r#"{"model": {"type": "BPE", "vocab": {}, "merges": []}, "decoder": {"type": "BPEDecoder", "suffix": "x"}}"#;
    let err = folder::FolderWords::read(json)
        .and_then(|words| folder::parts(words, &serde_json::Value::Null, &[]))
        .err()
        .unwrap();
    assert_eq!(err.message(), "decoder BPEDecoder in tokenizer.json is not supported");
}

#[test]
fn vocabularies_that_contradict_themselves_are_refused() {
    check_refused(replaced(gguf("gpt-2"), "ggml.tokens", "ggml.takens"), "tokenizer.ggml.tokens is missing");
    check_refused(replaced(gguf("gpt-2"), "ggml.merges", "ggml.marges"), "tokenizer.ggml.merges is missing");
    check_refused(replaced(gguf("llama"), "ggml.scores", "ggml.scares"), "tokenizer.ggml.scores is missing");
    check_refused(replaced(gguf("llama"), "<0xFF>", "<0xFE>"), "a token occurs twice");
}

#[test]
fn a_token_that_is_too_long_is_refused_by_its_id() {
    let texts = |n_bytes| [TokenText::Bytes(b"a"[..].into()), TokenText::Bytes(vec![0; n_bytes].into())];
    check_lengths(&texts(MAX_TOKEN_BYTES)).unwrap();
    let err = check_lengths(&texts(MAX_TOKEN_BYTES + 1)).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::ModelLoad);
    assert_eq!(err.message(), "token 1 of the vocabulary must have at most 4096 bytes, found 4097");
}

#[test]
fn a_file_with_a_token_that_is_too_long_is_refused() {
    let bytes = gguf("llama");
    let token = "▁for".as_bytes();
    let length = (token.len() as u64).to_le_bytes();
    let at = bytes.windows(8 + token.len()).position(|window| window == [&length[..], token].concat()).unwrap();
    let long = "a".repeat(MAX_TOKEN_BYTES + 1);
    let longer = (long.len() as u64).to_le_bytes();
    let bytes = [&bytes[..at], &longer, long.as_bytes(), &bytes[at + 8 + token.len()..]].concat();
    check_refused(bytes, "must have at most 4096 bytes, found 4097");
}

/// GGUF files do not say which control tokens take white space; llama.cpp knows one family of models by its name.
#[test]
fn control_tokens_of_phi_3_take_the_space_after_them() {
    let mut bytes = gguf("llama-no-space");
    let ids = |bytes: &[u8]| {
        let tokenizer = ModelTokenizer::load(&Weights::from_bytes(bytes.to_vec().into()).unwrap()).unwrap();
        let control = tokenizer.control_tokens().unwrap();
        ["<|im_end|>\n a", "<|im_end|>a"].map(|text| tokenizer.encode(&control.split(text)).unwrap())
    };
    let [spaced, close] = ids(&bytes);
    assert_ne!(spaced, close);
    let n_entries = u64::from_le_bytes(bytes[16..24].try_into().unwrap());
    bytes[16..24].copy_from_slice(&(n_entries + 1).to_le_bytes());
    let name = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let entry = [name("general.name"), 8u32.to_le_bytes().to_vec(), name("Phi-3 mini")].concat();
    bytes.splice(24..24, entry);
    let [spaced, close] = ids(&bytes);
    assert_eq!(spaced, close);
}

/// Merges lead from `<`, `s` and `>` to the control token.
const MERGES_TO_CONTROL: &str = r#"{
    "added_tokens": [{"id": 4, "content": "<s>", "special": true, "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": false}],
    "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
    "model": {"type": "BPE", "vocab": {"<": 0, "s": 1, ">": 2, "<s": 3, "<s>": 4},
        "merges": [["<", "s"], ["<s", ">"]]}
}"#;

#[test]
fn text_never_becomes_a_control_token_even_if_merges_lead_there() {
    let parts =
        folder::parts(folder::FolderWords::read(MERGES_TO_CONTROL).unwrap(), &serde_json::Value::Null, &[]).unwrap();
    let tokenizer = ModelTokenizer::new(parts).unwrap();
    assert_eq!(tokenizer.encode(&[Segment::Text("s<s>s".into())]).unwrap(), [1, 0, 1, 2, 1]);
    assert_eq!(tokenizer.encode(&[Segment::Control("<s>".into())]).unwrap(), [4]);
}

/// Some fine-tunes do not mark their added tokens as special.
#[test]
fn an_added_token_that_is_spelled_like_a_control_token_is_one() {
    let added = |id: u32, token: &str| {
        serde_json::json!({"id": id, "content": token, "special": false, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false})
    };
    let mut json: serde_json::Value = serde_json::from_str(MERGES_TO_CONTROL).unwrap();
    json["model"]["vocab"] = serde_json::json!({"<": 0, "s": 1, ">": 2, "|": 3});
    json["model"]["merges"] = serde_json::json!([]);
    json["added_tokens"] =
        serde_json::json!([added(4, "<|s|>"), added(5, "<s>"), added(6, "<|im_end|>"), added(7, "<|end|>")]);
    let settings = serde_json::json!({"bos_token": null, "eos_token": "<|im_end|>"});
    let config = serde_json::json!({"bos_token_id": 4});
    let parts =
        folder::parts(folder::FolderWords::read(&json.to_string()).unwrap(), &settings, &[("config.json", &config)])
            .unwrap();
    let tokenizer = ModelTokenizer::new(parts).unwrap();
    assert_eq!(tokenizer.encode(&[Segment::Text("<|s|><s>".into())]).unwrap(), [0, 3, 1, 3, 2, 5]);
    assert_eq!(tokenizer.encode(&[Segment::Control("<|s|>".into())]).unwrap(), [4]);
    // The stated end-of-text token, although it is not the first end; no BOS, as tokenizer_config.json says.
    let special = tokenizer.special_tokens();
    assert_eq!((special.get("eos_token"), special.get("bos_token")), (Some("<|im_end|>"), None));
    assert!(tokenizer.is_end(6) && tokenizer.is_end(7) && !tokenizer.is_end(4));
}

/// Each section by its name, as packed weights have them.
fn stored(sections: &[(&'static str, Vec<u8>)]) -> Option<StoredVocabulary> {
    let section = |name: &str| sections.iter().find(|(found, _)| *found == name);
    StoredVocabulary::find(|name, _| section(name).map(|(_, bytes)| SectionBytes::Owned(bytes.clone())))
}

const AWKWARD_TEXTS: [&str; 12] = [
    "",
    " ",
    "Hello, world!  Two spaces, a tab\t and\r\nlines\n\n\n.",
    "Don't they'll WE'VE 12345 3.14 1,000,000",
    "naïve café e\u{301} ﬁ Ångström Straße",
    "日本語のテキスト 中文 한국어 ไทย עברית العربية",
    "👍🏽 👨‍👩‍👧 \u{FFFD} \u{0} \u{7F} \u{200B}",
    "<|im_start|>user\n<|im_end|> <s></s> <unk> [PAD] <start_of_turn>",
    "fn main() { let x = vec![1, 2]; } // a comment",
    "▁▁ a▁b ĠĠ Ċ <0x0A> <0xFF>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "x\u{10FFFF}y\u{E000}z",
];

/// The tokenizers library, which encodes the words of a folder that is not packed, as an independent reference.
#[test]
fn a_stored_vocabulary_gives_the_tokens_of_its_files() {
    let models = tests_folder().join("fixtures/models");
    let mut folders: Vec<_> = std::fs::read_dir(models).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.join("tokenizer.json").exists() || path.extension().is_some_and(|ext| ext == "gguf"));
    let mut n_stored = 0;
    for path in folders {
        let Ok(weights) = Weights::open(path.to_str().unwrap()) else { continue };
        let (Ok(plain), Ok((_, sections))) = (ModelTokenizer::load(&weights), ModelTokenizer::load_to_store(&weights))
        else {
            continue;
        };
        let Some(stored) = stored(&sections) else { continue };
        n_stored += 1;
        let found = ModelTokenizer::load_packed(&weights, Some(stored)).unwrap();
        let path = path.display();
        assert!(found.pairs.is_some(), "{path}");
        assert_eq!((found.name(), found.texts()), (plain.name(), plain.texts()), "{path}");
        assert_eq!((found.frames(), found.end_ids()), (plain.frames(), plain.end_ids()), "{path}");
        assert_eq!((found.bos_id, found.eos_id, found.unknown_id), (plain.bos_id, plain.eos_id, plain.unknown_id));
        assert_eq!((found.adds_bos, &found.strips, found.leading), (plain.adds_bos, &plain.strips, plain.leading));
        assert_eq!(found.control_ids, plain.control_ids, "{path}");
        for text in AWKWARD_TEXTS {
            assert_eq!(found.encode_plain(text).unwrap(), plain.encode_plain(text).unwrap(), "{path}: {text:?}");
            assert_eq!(found.encode_continuation(text), plain.encode_continuation(text), "{path}: {text:?}");
            let segments = plain.control_tokens().unwrap().split(text);
            assert_eq!(found.positions(&segments).unwrap(), plain.positions(&segments).unwrap(), "{path}: {text:?}");
        }
    }
    assert!(30 < n_stored, "{n_stored}");
}
