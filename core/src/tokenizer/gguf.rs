//! Reads the tokenizer from the metadata of a GGUF file.

use std::collections::HashMap;

use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::{NFC, Prepend, Replace, Sequence};
use tokenizers::{AddedToken, Error, NormalizerWrapper, Tokenizer as Encoder};

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::bytes::{LeadingSpaces, SPACE, Spelling, TokenText};
use crate::tokenizer::guarded::guarded;
use crate::tokenizer::merges::{Merge, merges_of_scores};
use crate::tokenizer::parts::{Strips, TokenizerParts};
use crate::tokenizer::special::{NAMED_IDS, SpecialTokens};
use crate::tokenizer::words::WordRule;
use crate::weights::GgufFile;

/// Values of `tokenizer.ggml.token_type`.
const NORMAL: i64 = 1;
const UNKNOWN: i64 = 2;
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;
const UNUSED: i64 = 5;

/// The names of the scheme and of the rule that splits words, as the file has them.
pub(super) fn name(file: &GgufFile) -> Result<String> {
    let scheme = file.text("tokenizer.ggml.model")?.unwrap_or_default();
    Ok(file.text("tokenizer.ggml.pre")?.map_or(scheme.to_owned(), |rule| format!("{scheme} ({rule})")))
}

pub(super) fn read(file: &GgufFile) -> Result<TokenizerParts> {
    let vocabulary = GgufVocabulary::read(file)?;
    let scheme = match file.text("tokenizer.ggml.model")? {
        Some("gpt2") => Scheme::byte_level(file, &vocabulary)?,
        Some("llama") => Scheme::sentence_piece(file, &vocabulary, true, vocabulary.user_defined())?,
        Some("gemma4") => Scheme::sentence_piece(file, &vocabulary, false, vocabulary.with_line_feeds())?,
        other => return Err(unsupported("tokenizer.ggml.model", other)),
    };
    let n_tokens = vocabulary.tokens.len();
    let id = |key: &str| match file.count(key)? {
        Some(id) if n_tokens <= id => {
            Err(wrong(format!("metadata {key} must be a token of the vocabulary, below {n_tokens}, found {id}")))
        }
        id => Ok(id.and_then(|id| u32::try_from(id).ok())),
    };
    let end_keys = ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"];
    let mut end_ids = Vec::new();
    for key in end_keys {
        end_ids.extend(id(key)?);
    }
    // For templates of files without these, as llama.cpp has it.
    let mut special: SpecialTokens = [("bos_token", ""), ("eos_token", "")].into_iter().collect();
    for (name, key) in NAMED_IDS {
        if let Some(spelling) = id(&format!("tokenizer.ggml.{key}"))?.and_then(|id| vocabulary.tokens.get(id as usize))
        {
            special.insert(name, spelling);
        }
    }
    Ok(TokenizerParts {
        encoder: scheme.encoder,
        texts: vocabulary.texts(&scheme.spelling),
        leading: LeadingSpaces::dropped_if(scheme.drops_space),
        unknown_id: vocabulary.unknown().map(|(id, _)| id),
        bos_id: id("tokenizer.ggml.bos_token_id")?,
        adds_bos: file.boolean("tokenizer.ggml.add_bos_token")?.unwrap_or(scheme.adds_bos),
        end_ids,
        special,
        strips: strips(file, &vocabulary)?,
    })
}

/// The control tokens that take white space beside them. GGUF files do not say; llama.cpp knows Phi 3 by its name.
fn strips(file: &GgufFile, vocabulary: &GgufVocabulary<'_>) -> Result<HashMap<Box<str>, Strips>> {
    let name = file.text("general.name")?.unwrap_or_default().to_lowercase();
    if !name.contains("phi-3") && !name.contains("phi3") {
        return Ok(HashMap::new());
    }
    let is_stripping = |token: &str, token_type| token_type == CONTROL && !["<s>", "<|endoftext|>"].contains(&token);
    let control = vocabulary.iter().filter(|(_, token, token_type)| is_stripping(token, *token_type));
    Ok(control.map(|(_, token, _)| (token.into(), Strips { before: false, after: true })).collect())
}

/// The settings that depend on the kind of tokenizer.
struct Scheme {
    encoder: Encoder,
    spelling: Spelling,
    /// Whether prompts begin with BOS if the file does not say.
    adds_bos: bool,
    drops_space: bool,
}

impl Scheme {
    fn byte_level(file: &GgufFile, vocabulary: &GgufVocabulary<'_>) -> Result<Self> {
        let pre = file.text("tokenizer.ggml.pre")?;
        let rule = pre.and_then(WordRule::named).ok_or_else(|| unsupported("tokenizer.ggml.pre", pre))?;
        let merges = merges(file)?.ok_or_else(|| wrong("metadata tokenizer.ggml.merges is missing"))?;
        let encoder = guarded("the vocabulary", || {
            let bpe = BPE::builder().vocab_and_merges(vocabulary.ids()?, merges).ignore_merges(rule.ignores_merges);
            let mut encoder = Encoder::new(bpe.build()?);
            encoder.with_normalizer(rule.composes.then_some(NFC))?;
            encoder.with_pre_tokenizer(Some(rule.splitter()?));
            encoder.add_tokens(vocabulary.user_defined())?;
            Ok(encoder)
        })?;
        Ok(Self { encoder, spelling: Spelling::byte_level(), adds_bos: rule.adds_bos, drops_space: false })
    }

    /// `adds_space` is the default for files that do not say whether a space is added before the text. The `added` tokens
    /// are searched in text before all others.
    fn sentence_piece(
        file: &GgufFile,
        vocabulary: &GgufVocabulary<'_>,
        adds_space: bool,
        added: Vec<AddedToken>,
    ) -> Result<Self> {
        let merges = match merges(file)? {
            Some(merges) => merges,
            None => vocabulary.merges_of_scores(file)?,
        };
        let adds_space = file.boolean("tokenizer.ggml.add_space_prefix")?.unwrap_or(adds_space);
        let encoder = guarded("the vocabulary", || {
            let mut bpe = BPE::builder().vocab_and_merges(vocabulary.ids()?, merges).byte_fallback(true).fuse_unk(true);
            if let Some((_, unknown)) = vocabulary.unknown() {
                bpe = bpe.unk_token(unknown.to_owned());
            }
            let mut encoder = Encoder::new(bpe.build()?);
            let prepend = adds_space.then(|| Prepend::new(SPACE.to_owned()).into());
            let replace: NormalizerWrapper = Replace::new(" ", SPACE)?.into();
            encoder.with_normalizer(Some(Sequence::new(prepend.into_iter().chain([replace]).collect())))?;
            encoder.add_tokens(added)?;
            Ok(encoder)
        })?;
        Ok(Self { encoder, spelling: Spelling::Pieces, adds_bos: true, drops_space: adds_space })
    }
}

/// The tokens by id, and the type of each.
struct GgufVocabulary<'a> {
    tokens: Vec<&'a str>,
    types: Vec<i64>,
}

impl<'a> GgufVocabulary<'a> {
    fn read(file: &'a GgufFile) -> Result<Self> {
        let key = "tokenizer.ggml.tokens";
        let tokens = texts(file, key)?.ok_or_else(|| wrong(format!("metadata {key} is missing")))?;
        let types = file.integers("tokenizer.ggml.token_type")?.unwrap_or_else(|| vec![NORMAL; tokens.len()]);
        if types.len() != tokens.len() {
            return Err(wrong(format!(
                "metadata tokenizer.ggml.token_type must have {} values, found {}",
                tokens.len(),
                types.len()
            )));
        }
        Ok(Self { tokens, types })
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &'a str, i64)> {
        let tokens = (0u32..).zip(&self.tokens).zip(&self.types);
        tokens.map(|((id, token), token_type)| (id, *token, *token_type))
    }

    fn ids(&self) -> Result<ahash::AHashMap<String, u32>, Error> {
        let ids: ahash::AHashMap<String, u32> = self.iter().map(|(id, token, _)| (token.to_owned(), id)).collect();
        if ids.len() == self.tokens.len() { Ok(ids) } else { Err("a token occurs twice".into()) }
    }

    fn texts(&self, spelling: &Spelling) -> Vec<TokenText> {
        let text_of = |(_, token, token_type): (u32, &str, i64)| match token_type {
            CONTROL | UNKNOWN => TokenText::Control(token.into()),
            USER_DEFINED => TokenText::added(token, spelling.added_bytes(token)),
            UNUSED => TokenText::Bytes(Box::default()),
            _ => TokenText::Bytes(spelling.bytes(token)),
        };
        self.iter().map(text_of).collect()
    }

    /// Tokens that are searched in text before all others, the longest first.
    fn user_defined(&self) -> Vec<AddedToken> {
        self.added(|_, token_type| token_type == USER_DEFINED)
    }

    /// The same, with runs of line feeds. Gemma 4 has no merges that lead to these tokens.
    fn with_line_feeds(&self) -> Vec<AddedToken> {
        let is_line_feeds = |token: &str| !token.is_empty() && token.bytes().all(|byte| byte == b'\n');
        self.added(|token, token_type| token_type == USER_DEFINED || token_type == NORMAL && is_line_feeds(token))
    }

    fn added(&self, is_added: impl Fn(&str, i64) -> bool) -> Vec<AddedToken> {
        let tokens = self.iter().filter(|(_, token, token_type)| is_added(token, *token_type));
        tokens.map(|(_, token, _)| AddedToken::from(token, false).normalized(false)).collect()
    }

    /// The token for text that no other token can represent.
    fn unknown(&self) -> Option<(u32, &'a str)> {
        self.iter().find(|(_, _, token_type)| *token_type == UNKNOWN).map(|(id, token, _)| (id, token))
    }

    fn merges_of_scores(&self, file: &GgufFile) -> Result<Vec<Merge>> {
        let key = "tokenizer.ggml.scores";
        let scores = file.numbers(key)?.ok_or_else(|| wrong(format!("metadata {key} is missing")))?;
        if scores.len() != self.tokens.len() {
            return Err(wrong(format!(
                "metadata {key} must have {} values, found {}",
                self.tokens.len(),
                scores.len()
            )));
        }
        if scores.iter().any(|score| !score.is_finite()) {
            return Err(wrong(format!("metadata {key} must hold finite numbers")));
        }
        let is_mergeable = |id: usize| !matches!(self.types[id], CONTROL | UNKNOWN | UNUSED);
        merges_of_scores(&self.tokens, &scores, is_mergeable)
            .ok_or_else(|| wrong("the vocabulary has too many ways to merge tokens"))
    }
}

/// The merges that the file states; `None` if it states none.
fn merges(file: &GgufFile) -> Result<Option<Vec<Merge>>> {
    let Some(merges) = texts(file, "tokenizer.ggml.merges")? else { return Ok(None) };
    let pair = |merge: &str| {
        let (left, right) = merge
            .split_once(' ')
            .ok_or_else(|| wrong(format!("merges must be two strings with a space between, found {merge:?}")))?;
        Ok((left.to_owned(), right.to_owned()))
    };
    merges.into_iter().map(pair).collect::<Result<_>>().map(Some)
}

fn texts<'a>(file: &'a GgufFile, key: &str) -> Result<Option<Vec<&'a str>>> {
    let Some(strings) = file.byte_strings(key)? else { return Ok(None) };
    let texts: Result<Vec<&str>, _> = strings.into_iter().map(std::str::from_utf8).collect();
    texts.map(Some).map_err(|_| wrong(format!("metadata {key} must be valid UTF-8")))
}

fn unsupported(key: &str, value: Option<&str>) -> SdkError {
    match value {
        Some(value) => wrong(format!("metadata {key} has the unsupported value {value:?}")),
        None => wrong(format!("metadata {key} is missing")),
    }
}

fn wrong(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}
