//! Limits how much longer the normalization steps of a tokenizer.json can make a text. A sequence of steps could require more
//! memory than there is, which aborts the process.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value as Json;
use tokenizers::{NormalizerWrapper, PreTokenizerWrapper};

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::guarded::guarded;

/// Bytes that one byte of text may become. Tokenizers in use need a few dozen at most.
const MAX_GROWTH: f64 = 1024.0;

/// The steps of a tokenizer.json, as the tokenizers library reads them.
#[derive(Deserialize)]
struct Steps {
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: Option<PreTokenizerWrapper>,
}

/// Checks the steps of a tokenizer.json.
///
/// # Errors
/// [`ErrorKind::ModelLoad`] if the steps can make a text far too long, or cannot be read.
pub(super) fn check(json: &str) -> Result<()> {
    // Also refuses steps that are given twice, because another JSON reader could use the other one.
    let steps: Steps = guarded("tokenizer.json", || Ok(serde_json::from_str(json)?))?;
    let normalizer = serde_json::to_value(steps.normalizer).unwrap_or_default();
    let pre_tokenizer = serde_json::to_value(steps.pre_tokenizer).unwrap_or_default();
    let growth = factor(&normalizer) * factor(&pre_tokenizer);
    if growth <= MAX_GROWTH {
        return Ok(());
    }
    let message = format!(
        "the steps of tokenizer.json must make a text at most {MAX_GROWTH} times longer, found {growth:e} times"
    );
    Err(SdkError::new(ErrorKind::ModelLoad, message))
}

/// The largest number of bytes that a step makes of one. For Unicode's normalization forms, the values are from its FAQ.
fn factor(step: &Json) -> f64 {
    let length = |text: Option<&Json>| text.and_then(Json::as_str).map_or(0.0, |text| text.len() as f64);
    let steps = step.get("normalizers").or_else(|| step.get("pretokenizers")).and_then(Json::as_array);
    match step.get("type").and_then(Json::as_str).unwrap_or_default() {
        "Sequence" => steps.into_iter().flatten().map(factor).product(),
        "NFC" | "NFD" => 3.0,
        "NFKC" | "NFKD" => 11.0,
        "BertNormalizer" => 6.0, // decomposes, lowercases, and puts spaces around characters of three bytes
        "Lowercase" => 1.5,
        "ByteLevel" => 2.0,
        "Metaspace" => 4.0,
        "Prepend" => 1.0 + length(step.get("prepend")),
        "Replace" => match length(step.pointer("/pattern/String")) {
            0.0 => 1.0 + length(step.get("content")), // a regular expression may match one byte, or none
            replaced => (length(step.get("content")) / replaced).max(1.0),
        },
        "Precompiled" => longest_piece(step).max(1) as f64,
        _ => 1.0,
    }
}

/// Size in bytes of the longest replacement in SentencePiece's character map. The map has the length of a table, the table,
/// and then the replacements, which end with a zero byte.
fn longest_piece(step: &Json) -> usize {
    let map = step.get("precompiled_charsmap").and_then(Json::as_str).unwrap_or_default();
    let Ok(bytes) = STANDARD.decode(map) else { return 1 };
    let n_table = bytes.first_chunk().map_or(0, |length| u32::from_le_bytes(*length) as usize);
    let texts = bytes.get(4usize.saturating_add(n_table)..).unwrap_or_default();
    texts.split(|byte| *byte == 0).map(<[u8]>::len).max().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn growth_of(normalizer: Json, pre_tokenizer: Json) -> Result<()> {
        check(&json!({ "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "model": {} }).to_string())
    }

    #[test]
    fn steps_that_double_a_text_repeatedly_are_refused() {
        let doubled = json!({ "type": "Replace", "pattern": { "String": "a" }, "content": "aa" });
        let steps = |n| json!({ "type": "Sequence", "normalizers": vec![doubled.clone(); n] });
        assert!(growth_of(steps(10), Json::Null).is_ok());
        assert_eq!(growth_of(steps(40), Json::Null).unwrap_err().kind(), ErrorKind::ModelLoad);
        let bytes = json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false });
        let steps = json!({ "type": "Sequence", "pretokenizers": vec![bytes; 40] });
        assert!(growth_of(Json::Null, steps).is_err());
        let anything = json!({ "type": "Replace", "pattern": { "Regex": "" }, "content": "a".repeat(2000) });
        assert!(growth_of(anything, Json::Null).is_err());
        let mapped = [&4u32.to_le_bytes()[..], b"0000", &[b'a'; 2000]].concat();
        let mapped = json!({ "type": "Precompiled", "precompiled_charsmap": STANDARD.encode(mapped) });
        assert!(growth_of(mapped, Json::Null).is_err());
    }

    #[test]
    fn steps_given_twice_are_refused() {
        assert!(check(r#"{"normalizer": null}"#).is_ok());
        assert!(check(r#"{"normalizer": null, "normalizer": null}"#).is_err());
    }

    #[test]
    fn steps_of_real_tokenizers_are_accepted() {
        let spaces = json!({ "type": "Replace", "pattern": { "String": " " }, "content": "▁" });
        let normalizers = [json!({ "type": "NFKC" }), json!({ "type": "Prepend", "prepend": "▁" }), spaces];
        let metaspace = json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true });
        assert!(growth_of(json!({ "type": "Sequence", "normalizers": normalizers }), metaspace).is_ok());
        assert!(growth_of(json!({ "type": "NFC" }), Json::Null).is_ok());
    }
}
