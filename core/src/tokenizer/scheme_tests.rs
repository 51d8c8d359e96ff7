//! Compares tokenizers of every kind, from both file formats, with the tokenizers library in Python.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::tests::tests_folder;
use super::*;

#[derive(Deserialize)]
struct Golden {
    texts: Vec<String>,
    tokenizers: BTreeMap<String, Record>,
}

#[derive(Deserialize)]
struct Record {
    with_bos: Vec<u32>,
    cases: Vec<Case>,
    streams: Vec<Stream>,
    long: BTreeMap<String, Long>,
}

#[derive(Deserialize)]
struct Case {
    ids: Vec<u32>,
    parsed: Vec<u32>,
    decoded: String,
}

/// Chunks of the ids of texts, and random ids, with their text.
#[derive(Deserialize)]
struct Stream {
    ids: Vec<u32>,
    text: String,
}

/// The ids of a line of 100 kB, as their count and FNV-1a hash.
#[derive(Debug, PartialEq, Deserialize)]
struct Long {
    count: usize,
    hash: String,
}

impl Long {
    fn new(ids: &[u32]) -> Self {
        let bytes = ids.iter().flat_map(|id| id.to_le_bytes());
        let hash =
            bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        Self { count: ids.len(), hash: format!("{hash:016x}") }
    }
}

fn from_gguf(name: &str) -> Option<ModelTokenizer> {
    let bytes = std::fs::read(tests_folder().join(format!("fixtures/tokenizers/{name}.gguf"))).ok()?;
    Some(ModelTokenizer::load(&Weights::from_bytes(bytes.into()).unwrap()).unwrap())
}

fn from_json(name: &str) -> ModelTokenizer {
    let json = std::fs::read_to_string(tests_folder().join(format!("fixtures/tokenizers/{name}.json"))).unwrap();
    ModelTokenizer::from_json(&json).unwrap()
}

/// Checks every tokenizer, from both file formats if there are two.
fn with_all(check: impl Fn(&str, &ModelTokenizer, &Record, &[String])) {
    let golden = std::fs::read(tests_folder().join("golden/tokenizers.json")).unwrap();
    let Golden { texts, tokenizers } = serde_json::from_slice(&golden).unwrap();
    assert_eq!(tokenizers.len(), 15);
    for (name, record) in &tokenizers {
        check(&format!("{name}.json"), &from_json(name), record, &texts);
        if let Some(tokenizer) = from_gguf(name) {
            check(&format!("{name}.gguf"), &tokenizer, record, &texts);
        }
    }
}

/// Whether the ids of a text are the same from both file formats. Gemma's GGUF files spell runs of spaces with spaces, so
/// that SentencePiece's symbol for a space, written in a text, does not belong to a run. llama.cpp gives these ids, too.
fn is_same_in_both(name: &str, text: &str) -> bool {
    name != "gemma.gguf" || !text.contains(bytes::SPACE)
}

fn text(text: &str) -> [Segment; 1] {
    [Segment::Text(text.to_owned())]
}

/// The text of tokens, as a reply streams it.
pub(super) fn decoded(tokenizer: &ModelTokenizer, ids: &[u32]) -> String {
    let mut pieces = tokenizer.pieces();
    let mut text = String::new();
    for id in ids {
        match tokenizer.text(*id).unwrap() {
            TokenText::Bytes(bytes) => text += &pieces.push(bytes),
            TokenText::Control(spelling) => text = text + &pieces.finish() + spelling,
        }
    }
    text + &pieces.finish()
}

#[test]
fn texts_give_the_ids_of_the_reference() {
    with_all(|name, tokenizer, record, texts| {
        assert_eq!(texts.len(), record.cases.len());
        for (expect, case) in texts.iter().zip(&record.cases).filter(|(text, _)| is_same_in_both(name, text)) {
            assert_eq!(tokenizer.encode(&text(expect)).unwrap(), case.ids, "{name}: {expect:?}");
        }
    });
}

#[test]
fn control_tokens_are_found_and_text_after_them_is_not_a_beginning() {
    with_all(|name, tokenizer, record, texts| {
        let control = tokenizer.control_tokens().unwrap();
        for (expect, case) in texts.iter().zip(&record.cases).filter(|(text, _)| is_same_in_both(name, text)) {
            assert_eq!(tokenizer.encode(&control.split(expect)).unwrap(), case.parsed, "{name}: {expect:?}");
        }
    });
}

#[test]
fn prompts_begin_as_each_model_expects() {
    with_all(|name, tokenizer, record, _| {
        assert_eq!(tokenizer.encode_with_bos(&text("Hello")).unwrap(), record.with_bos, "{name}");
    });
}

#[test]
fn ids_give_the_text_of_the_reference() {
    with_all(|name, tokenizer, record, _| {
        for case in &record.cases {
            assert_eq!(decoded(tokenizer, &case.ids), case.decoded, "{name}");
        }
        // Where bytes make no character, implementations differ in how many replacement characters they print.
        let is_sound = |stream: &&Stream| !stream.text.contains('\u{FFFD}');
        assert!(record.streams.is_empty() || 10 <= record.streams.iter().filter(is_sound).count());
        for stream in record.streams.iter().filter(is_sound) {
            assert_eq!(decoded(tokenizer, &stream.ids), stream.text, "{name}: {:?}", stream.ids);
        }
    });
}

#[test]
fn lines_of_a_hundred_kilobytes_give_the_ids_of_the_reference() {
    with_all(|name, tokenizer, record, _| {
        for (unit, expect) in &record.long {
            let line = unit.repeat(100_000 / unit.len());
            assert_eq!(Long::new(&tokenizer.encode(&text(&line)).unwrap()), *expect, "{name}: {unit:?}");
        }
    });
}
