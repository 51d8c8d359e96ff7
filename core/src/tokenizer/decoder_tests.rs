//! Compares decoders of tokenizer.json with the tokenizers library in Python.

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::scheme_tests::decoded;
use super::tests::tests_folder;
use super::*;
use crate::error::ErrorKind;

/// Recorded by `scripts/golden`.
#[derive(Deserialize)]
struct Golden {
    added: Vec<Json>,
    decoders: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    base: String,
    decoder: Json,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    ids: Vec<u32>,
    text: String,
}

/// A tokenizer of the fixtures with another decoder, and with added tokens.
fn variant(base: &str, decoder: &Json, added: &[Json]) -> Result<ModelTokenizer> {
    let json = std::fs::read(tests_folder().join(format!("fixtures/tokenizers/{base}.json"))).unwrap();
    let mut json: Json = serde_json::from_slice(&json).unwrap();
    json["decoder"] = decoder.clone();
    let ids = json["model"]["vocab"].as_object().unwrap().values().filter_map(Json::as_u64);
    let first = 1 + ids.max().unwrap();
    for (token, id) in added.iter().zip(first..) {
        let mut token = token.clone();
        token["id"] = id.into();
        json["added_tokens"].as_array_mut().unwrap().push(token);
    }
    ModelTokenizer::from_json(&json.to_string())
}

#[test]
fn decoders_in_every_order_give_the_text_of_the_reference() {
    let golden = std::fs::read(tests_folder().join("golden/decoders.json")).unwrap();
    let Golden { added, decoders } = serde_json::from_slice(&golden).unwrap();
    assert!(30 < decoders.len());
    for Record { base, decoder, cases } in decoders {
        let tokenizer = variant(&base, &decoder, &added).unwrap();
        assert!(15 < cases.len());
        for Case { ids, text } in cases {
            assert_eq!(decoded(&tokenizer, &ids), text, "{decoder}: {ids:?}");
        }
    }
}

/// The library decodes the letter to U+FFFD, because it takes it for the symbol of a byte.
#[test]
fn an_added_token_with_letters_beyond_ascii_is_itself() {
    let flags = json!({ "content": "café", "single_word": false, "lstrip": false, "rstrip": false, "special": false });
    for normalized in [false, true] {
        let mut token = flags.clone();
        token["normalized"] = normalized.into();
        let decoder =
            json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true });
        let tokenizer = variant("qwen2", &decoder, &[token]).unwrap();
        let ids = tokenizer.encode(&[Segment::Text("a café b".to_owned())]).unwrap();
        assert_eq!(decoded(&tokenizer, &ids), "a café b");
    }
}

#[test]
fn decoders_that_cannot_be_followed_are_refused_by_name() {
    let strip =
        |start, stop, content: &str| json!({ "type": "Strip", "content": content, "start": start, "stop": stop });
    let replace = |pattern: &str, content: &str| json!({ "type": "Replace", "pattern": { "String": pattern }, "content": content });
    let metaspace = json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true });
    let (bytes, fuse) = (json!({ "type": "ByteFallback" }), json!({ "type": "Fuse" }));
    let level = json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true });
    let pieces = json!({ "type": "WordPiece", "prefix": "##", "cleanup": true });
    let suffixes = json!({ "type": "BPEDecoder", "suffix": "x" });
    for (decoders, expect) in [
        (vec![fuse.clone(), strip(0, 1, " ")], "decoder Strip with stop, which needs the end of a reply,"),
        (vec![fuse.clone(), strip(1, 0, "t")], "decoder Strip with these settings"),
        (vec![bytes.clone(), strip(1, 0, " "), fuse.clone()], "decoder Strip after the other decoders"),
        (vec![fuse.clone(), strip(1, 0, " "), replace("▁", " ")], "decoder Replace after the other decoders"),
        (vec![fuse.clone(), replace("ab", "c")], "decoder Replace after the other decoders"),
        (vec![level.clone(), replace("a", "c")], "decoder Replace after the other decoders"),
        (vec![replace("a", &"b".repeat(65))], "decoder Replace with more than 64 bytes of content"),
        (vec![fuse.clone(), metaspace.clone()], "decoder Metaspace after the other decoders"),
        (vec![metaspace.clone(), replace("a", "b")], "decoder Replace after the other decoders"),
        (vec![metaspace, fuse.clone(), strip(1, 0, " ")], "decoder Strip with these settings"),
        (vec![fuse, bytes.clone()], "decoder ByteFallback after the other decoders"),
        (vec![pieces, bytes.clone()], "decoder ByteFallback after the other decoders"),
        (vec![bytes, level], "decoder ByteLevel after the other decoders"),
        (vec![suffixes], "decoder BPEDecoder"),
    ] {
        let decoder = json!({ "type": "Sequence", "decoders": decoders });
        let Err(err) = variant("llama", &decoder, &[]) else { panic!("{decoder} is accepted") };
        let message = format!("{expect} in tokenizer.json is not supported");
        assert_eq!((err.kind(), err.message()), (ErrorKind::ModelLoad, message.as_str()));
    }
}
