//! Our ids against those of the tokenizers library in Python, recorded by `scripts/golden`.

use std::path::Path;

use serde::Deserialize;

use super::*;

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

fn tests_folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests")
}

fn golden() -> Golden {
    serde_json::from_slice(&std::fs::read(tests_folder().join("golden/tokens.json")).unwrap()).unwrap()
}

fn load(model: &str) -> (Tokenizer, Option<String>) {
    let path = tests_folder().join("fixtures/models").join(model);
    Tokenizer::load(&Weights::open(path.to_str().unwrap()).unwrap()).unwrap()
}

const FORMS: [&str; 3] = ["lfm2-f32.gguf", "lfm2-hf", "lfm2-hf-sharded"];

#[test]
fn text_gives_the_ids_of_the_reference_from_every_form_of_file() {
    for form in FORMS {
        let (tokenizer, _) = load(form);
        for case in golden().cases {
            let ids = tokenizer.encode(&[Segment::Text(case.text.clone())]).unwrap();
            assert_eq!(ids, case.ids, "{form}: {:?}", case.text);
        }
    }
}

#[test]
fn control_tokens_of_a_prompt_are_found() {
    for form in FORMS {
        let (tokenizer, _) = load(form);
        let control = tokenizer.control_tokens().unwrap();
        for case in golden().cases {
            assert_eq!(tokenizer.encode(&control.split(&case.text)).unwrap(), case.parsed, "{form}: {:?}", case.text);
        }
    }
}

#[test]
fn every_token_has_the_bytes_of_the_reference() {
    for form in FORMS {
        let (tokenizer, _) = load(form);
        let golden = golden();
        assert_eq!(tokenizer.n_tokens(), golden.bytes.len());
        for (id, expect) in (0..).zip(&golden.bytes) {
            let bytes = match tokenizer.text(id).unwrap() {
                TokenText::Bytes(bytes) => bytes,
                TokenText::Control(spelling) => spelling.as_bytes(),
            };
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(&hex, expect, "{form}, token {id}");
        }
    }
}

#[test]
fn both_places_of_a_chat_template_are_read() {
    for form in FORMS {
        let (tokenizer, template) = load(form);
        assert!(template.unwrap().contains("im_start"), "{form}");
        assert_eq!(tokenizer.bos_token(), "<|startoftext|>", "{form}");
        assert!(tokenizer.is_end(7), "{form}");
    }
}

#[test]
fn the_beginning_of_text_is_put_before_a_prompt_once() {
    let (tokenizer, _) = load("lfm2-f32.gguf");
    let ids = tokenizer.encode_with_bos(&[Segment::Text("a".into())]).unwrap();
    assert_eq!(ids, [1, 78]);
    let bos = Segment::Control("<|startoftext|>".into());
    assert_eq!(tokenizer.encode_with_bos(&[bos, Segment::Text("a".into())]).unwrap(), [1, 78]);
}
