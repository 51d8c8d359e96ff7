//! The tokenizer of a Hugging Face folder as the metadata of a GGUF file: the inverse of `gguf`.

use std::collections::HashSet;

use serde_json::Value as Json;

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::bytes::{SPACE, looks_like_control};
use crate::tokenizer::folder;
use crate::tokenizer::parts::TokenizerParts;
use crate::tokenizer::special::NAMED_IDS;
use crate::tokenizer::words::{self, WordRule};
use crate::weights::{MetadataValue, TokenizerFiles};

/// Values of `tokenizer.ggml.token_type`.
const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;
const UNUSED: i32 = 5;
const BYTE: i32 = 6;

/// Control tokens of Gemma 4 that llama.cpp's converter makes visible, so that programs can read calls and reasoning.
const VISIBLE: [&str; 7] =
    ["<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", "<|tool_response>", "<tool_response|>", "<|\"|>"];

/// What a family decides of its tokenizer's entries.
#[derive(Clone, Copy)]
pub(crate) struct ExportRules {
    /// The name of the rule that splits text into words, where several names have the same effect.
    pub(crate) word_rule: &'static str,
    /// Whether a SentencePiece-like vocabulary is spelled as merges.
    pub(crate) has_spelled_merges: bool,
}

/// The entries for the tokenizer. `n_rows` is the number of rows of the embedding, each of which needs a token.
pub(crate) fn metadata(
    files: &TokenizerFiles<'_>,
    n_rows: usize,
    rules: ExportRules,
) -> Result<Vec<(String, MetadataValue)>> {
    // Reading it as for use checks it, and finds the tokens that other files of the folder name.
    let parts = folder::read(files, None)?;
    let json: Json = serde_json::from_str(&files.json()?).unwrap_or_default();
    let tokenizer = TokenizerJson(&json);
    let mut entries = Vec::new();
    let mut add = |key: &str, value: MetadataValue| entries.push((format!("tokenizer.ggml.{key}"), value));
    let (mut tokens, mut types) = tokenizer.tokens(n_rows)?;
    let merges = tokenizer.merges()?;
    let spelled = |merges: &[(String, String)]| {
        MetadataValue::Texts(merges.iter().map(|(left, right)| format!("{left} {right}")).collect())
    };
    if tokenizer.is_byte_level() {
        add("model", "gpt2".into());
        add("pre", tokenizer.word_rule(rules.word_rule)?.into());
        add("merges", spelled(&merges));
    } else if rules.has_spelled_merges {
        respell(&mut tokens, &mut types, &merges);
        add("model", "gemma4".into());
        add("merges", spelled(&merges));
        add("add_space_prefix", tokenizer.adds_space()?.into());
    } else {
        // Merges follow from the scores. The file's own may name tokens that are spelled with spaces in GGUF files.
        add("model", "llama".into());
        add("pre", "default".into());
        add("scores", MetadataValue::Floats(scores(&tokens, &merges)));
        add("add_space_prefix", tokenizer.adds_space()?.into());
    }
    add("tokens", MetadataValue::Texts(tokens));
    add("token_type", MetadataValue::Integers(types));
    for (key, id) in special_ids(&parts) {
        add(key, MetadataValue::Count(id));
    }
    add("add_bos_token", parts.adds_bos.into());
    if let Some(adds_eos) = files.settings.get("add_eos_token").and_then(Json::as_bool) {
        add("add_eos_token", adds_eos.into());
    }
    Ok(entries)
}

/// The keys and ids of tokens with a meaning. A reply ends with any of up to three.
fn special_ids(parts: &TokenizerParts) -> Vec<(&'static str, u32)> {
    let mut ends = Vec::new();
    for id in &parts.end_ids {
        if !ends.contains(id) {
            ends.push(*id);
        }
    }
    let ends = ["eos_token_id", "eot_token_id", "eom_token_id"].into_iter().zip(ends);
    let bos = parts.bos_id.map(|id| ("bos_token_id", id));
    let named = |name: &str| parts.special.get(name).and_then(|token| parts.encoder.token_to_id(token));
    let others = NAMED_IDS.iter().filter_map(|(name, key)| match (*name, named(name)) {
        ("unk_token", None) => parts.unknown_id.map(|id| (*key, id)),
        (_, id) => id.map(|id| (*key, id)),
    });
    bos.into_iter().chain(others).chain(ends).collect()
}

/// The content of a tokenizer.json.
struct TokenizerJson<'a>(&'a Json);

impl<'a> TokenizerJson<'a> {
    fn text(&self, pointer: &str) -> Option<&'a str> {
        self.0.pointer(pointer)?.as_str()
    }

    fn is_byte_level(&self) -> bool {
        self.0.pointer("/model/byte_fallback") != Some(&Json::Bool(true))
    }

    /// The steps of `normalizer` or `pre_tokenizer`.
    fn steps(&self, stage: &str) -> Vec<&'a Json> {
        match self.0.get(stage) {
            None | Some(Json::Null) => Vec::new(),
            Some(step) => {
                let steps = ["normalizers", "pretokenizers"].iter().find_map(|key| step.get(key)?.as_array());
                steps.map_or_else(|| vec![step], |steps| steps.iter().collect())
            }
        }
    }

    /// Tokens by id, and their types.
    fn tokens(&self, n_rows: usize) -> Result<(Vec<String>, Vec<i32>)> {
        let mut tokens: Vec<String> = (0..n_rows).map(|id| format!("[PAD{id}]")).collect();
        let mut types = vec![UNUSED; n_rows];
        let mut set = |id: Option<u64>, token: &str, token_type: i32| {
            let place = id.and_then(|id| usize::try_from(id).ok()).filter(|id| *id < n_rows);
            let id = place.ok_or_else(|| wrong(format!("token {token:?} must have an id below {n_rows}")))?;
            (tokens[id], types[id]) = (token.to_owned(), token_type);
            Ok::<_, SdkError>(())
        };
        let unknown = self.text("/model/unk_token");
        let vocabulary = self.0.pointer("/model/vocab").and_then(Json::as_object);
        for (token, id) in vocabulary.into_iter().flatten() {
            let is_byte = !self.is_byte_level() && token.len() == 6 && token.starts_with("<0x") && token.ends_with('>');
            set(id.as_u64(), token, if is_byte { BYTE } else { NORMAL })?;
        }
        for added in self.0.get("added_tokens").and_then(Json::as_array).into_iter().flatten() {
            let token = added.get("content").and_then(Json::as_str).unwrap_or_default();
            let is_special = added.get("special") == Some(&Json::Bool(true));
            let (token_type, token) = match is_special || looks_like_control(token) || token.starts_with("<unused") {
                _ if Some(token) == unknown => (UNKNOWN, token.to_owned()),
                true => (CONTROL, token.to_owned()),
                false => (USER_DEFINED, token.replace(SPACE, " ")),
            };
            set(added.get("id").and_then(Json::as_u64), &token, token_type)?;
        }
        Ok((tokens, types))
    }

    fn merges(&self) -> Result<Vec<(String, String)>> {
        let merges = self.0.pointer("/model/merges").and_then(Json::as_array);
        let merges =
            merges.ok_or_else(|| wrong("GGUF files can only hold BPE tokenizers, and tokenizer.json has no merges"))?;
        let pair = |merge: &Json| {
            let pair = match merge.as_array().map(Vec::as_slice) {
                Some([left, right]) => left.as_str().zip(right.as_str()),
                _ => merge.as_str().and_then(|merge| merge.split_once(' ')),
            };
            let pair = pair.filter(|(left, right)| !left.contains(' ') && !right.contains(' '));
            let (left, right) =
                pair.ok_or_else(|| wrong(format!("merges must be two strings without spaces, found {merge}")))?;
            Ok((left.to_owned(), right.to_owned()))
        };
        merges.iter().map(pair).collect()
    }

    /// The name of the rule that splits text into words.
    fn word_rule(&self, preferred: &str) -> Result<&'static str> {
        let composes = self.steps("normalizer").iter().any(|step| step.get("type") == Some(&"NFC".into()));
        let ignores_merges = self.0.pointer("/model/ignore_merges") == Some(&Json::Bool(true));
        let patterns: Vec<String> = self.steps("pre_tokenizer").into_iter().flat_map(pattern).collect();
        let is_this = |rule: &WordRule| rule.is(&patterns, ignores_merges, composes);
        let names = words::NAMES.iter().copied();
        let matching: Vec<_> = names.filter(|name| WordRule::named(name).is_some_and(|rule| is_this(&rule))).collect();
        let own = matching.iter().find(|name| **name == preferred);
        own.or(matching.first()).copied().ok_or_else(|| {
            wrong(format!("no rule of GGUF files splits words as tokenizer.json does, with the patterns {patterns:?}"))
        })
    }

    /// Whether a space is put before the text.
    fn adds_space(&self) -> Result<bool> {
        let mut adds_space = self.steps("normalizer").iter().any(|step| step.get("type") == Some(&"Prepend".into()));
        for step in self.steps("pre_tokenizer") {
            match step.get("type").and_then(Json::as_str).unwrap_or_default() {
                "Metaspace" if step.get("split") == Some(&Json::Bool(false)) => {
                    adds_space |= step.get("prepend_scheme") != Some(&"never".into());
                }
                // Spaces have become another character by now.
                "Split" if step.pointer("/pattern/String") == Some(&" ".into()) => {}
                other => {
                    return Err(wrong(format!("GGUF files cannot describe the pre-tokenizer {other} without bytes")));
                }
            }
        }
        Ok(adds_space)
    }
}

/// The pattern of a step that splits text.
fn pattern(step: &Json) -> Option<String> {
    let is = |key: &str| step.get(key) == Some(&Json::Bool(true));
    match step.get("type")?.as_str()? {
        "Split" => step.pointer("/pattern/Regex").and_then(Json::as_str).map(str::to_owned),
        "Digits" if is("individual_digits") => Some(words::DIGIT.to_owned()),
        "ByteLevel" if is("use_regex") => Some(words::GPT2.to_owned()),
        _ => None,
    }
}

/// Changes tokens to the form of Gemma 4's files, which have merges: what merges make is spelled as they spell it, and some
/// control tokens are visible.
fn respell(tokens: &mut [String], types: &mut [i32], merges: &[(String, String)]) {
    let made: HashSet<String> = merges.iter().map(|(left, right)| format!("{left}{right}")).collect();
    for (token, token_type) in tokens.iter_mut().zip(types) {
        match *token_type {
            CONTROL if VISIBLE.contains(&token.as_str()) => *token_type = USER_DEFINED,
            USER_DEFINED => {
                let spelled = token.replace(' ', SPACE);
                if made.contains(&spelled) {
                    *token = spelled;
                }
            }
            _ => {}
        }
    }
}

/// Scores that lead to the same merges: a token is worth more the earlier its first merge comes.
fn scores(tokens: &[String], merges: &[(String, String)]) -> Vec<f32> {
    let mut ranks = std::collections::HashMap::new();
    for (rank, (left, right)) in merges.iter().enumerate() {
        ranks.entry(format!("{left}{right}")).or_insert(rank);
    }
    let score = |token: &String| -(ranks.get(token).copied().unwrap_or(merges.len()) as f32); // exact below 2^24
    tokens.iter().map(score).collect()
}

fn wrong(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::tokenizer::{ModelTokenizer, Segment};
    use crate::weights::{TokenizerSource, Weights, gguf_header};

    /// Entries as bytes, by key.
    fn by_key<'a>(entries: impl IntoIterator<Item = (&'a str, &'a MetadataValue)>) -> BTreeMap<String, Vec<u8>> {
        let bytes = |value: &MetadataValue| {
            let mut bytes = Vec::new();
            value.write(&mut bytes);
            bytes
        };
        entries.into_iter().map(|(key, value)| (key.to_owned(), bytes(value))).collect()
    }

    const LLAMA: ExportRules = ExportRules { word_rule: "llama", has_spelled_merges: false };

    /// The exported entries of a tokenizer.json of the fixtures, in a folder of its own.
    fn exported(name: &str, n_rows: usize, rules: ExportRules) -> Result<Vec<(String, MetadataValue)>> {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
        // Tests run at the same time, some of them with the same tokenizer.
        static COUNTER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = COUNTER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("causerie-export-{number}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        for file in ["config.json", "model.safetensors"] {
            fs::copy(fixtures.join("models/smollm2").join(file), folder.join(file)).unwrap();
        }
        fs::copy(fixtures.join(format!("tokenizers/{name}.json")), folder.join("tokenizer.json")).unwrap();
        let opened = Weights::open(folder.to_str().unwrap()).unwrap();
        let TokenizerSource::Files(files) = TokenizerSource::from_weights(&opened).unwrap() else {
            unreachable!("a folder")
        };
        let entries = metadata(&files, n_rows, rules);
        fs::remove_dir_all(folder).unwrap();
        entries
    }

    #[test]
    fn tokenizers_become_the_metadata_that_gguf_py_writes() {
        for name in ["default", "gpt-2", "llama-bpe", "llama-no-space", "llama", "qwen2", "smollm", "tekken"] {
            let path = format!("{}/../tests/fixtures/tokenizers/{name}.gguf", env!("CARGO_MANIFEST_DIR"));
            let golden = Weights::open(&path).unwrap();
            let n_tokens = ModelTokenizer::load(&golden).unwrap().n_tokens();
            let entries = exported(name, n_tokens, LLAMA).unwrap();
            let entries = by_key(entries.iter().map(|(key, value)| (key.as_str(), value)));
            // Scores are compared by their order; the names of the end are in another file.
            let is_compared =
                |key: &str| key.starts_with("tokenizer") && !key.ends_with("scores") && !key.ends_with("eos_token_id");
            for (key, expect) in by_key(golden.metadata().unwrap().iter().map(|(key, value)| (*key, value))) {
                if is_compared(&key) {
                    assert!(entries.get(&key) == Some(&expect), "{name}: {key}");
                }
            }
        }
    }

    #[test]
    fn the_form_of_gemma_4_keeps_the_ids_and_shows_calls() {
        let path = format!("{}/../tests/fixtures/tokenizers/gemma.gguf", env!("CARGO_MANIFEST_DIR"));
        let expect = ModelTokenizer::load(&Weights::open(&path).unwrap()).unwrap();
        let mut entries =
            exported("gemma", expect.n_tokens(), ExportRules { word_rule: "gemma4", has_spelled_merges: true })
                .unwrap();
        assert!(entries.contains(&("tokenizer.ggml.model".to_owned(), "gemma4".into())));
        assert!(entries.iter().all(|(key, _)| key != "tokenizer.ggml.scores"));
        entries.push(("general.architecture".to_owned(), "gemma4".into()));
        let found = ModelTokenizer::load(&Weights::from_bytes(gguf_header(&entries, &[]).into()).unwrap()).unwrap();
        for text in ["Hello, world!", "  two   three    four ", "a\n\n\nb\t\tc", "façade 中 👍 <table>"] {
            let ids = |tokenizer: &ModelTokenizer| tokenizer.encode(&[Segment::Text(text.to_owned())]).unwrap();
            assert_eq!(ids(&found), ids(&expect), "{text:?}");
        }
        let (mut tokens, mut types) = (vec!["<|tool_call>".to_owned(), "<eos>".to_owned()], vec![CONTROL; 2]);
        respell(&mut tokens, &mut types, &[]);
        assert_eq!(types, [USER_DEFINED, CONTROL]);
    }

    #[test]
    fn tokenizers_that_gguf_files_cannot_describe_are_refused() {
        let err = exported("llama-words", 692, LLAMA).unwrap_err();
        assert_eq!(err.message(), "GGUF files cannot describe the pre-tokenizer Metaspace without bytes");
        let err = exported("qwen2", 100, LLAMA).unwrap_err();
        assert!(err.message().ends_with("must have an id below 100"), "{err}");
    }
}
