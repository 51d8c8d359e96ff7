//! Reads the tokenizer of a Hugging Face folder from tokenizer.json and tokenizer_config.json.

use std::collections::HashMap;

use serde_json::Value as Json;
use tokenizers::{ModelWrapper, Tokenizer as Encoder};

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::bytes::{LeadingSpaces, TokenText};
use crate::tokenizer::decoding::Decoding;
use crate::tokenizer::folder_words;
use crate::tokenizer::frames::TextFrames;
use crate::tokenizer::guarded::guarded;
use crate::tokenizer::pair_encoding::PairEncoding;
use crate::tokenizer::pair_table::PairTable;
use crate::tokenizer::parts::{Strips, TokenizerParts};
use crate::tokenizer::special::{SpecialTokens, token_text};
use crate::tokenizer::stored::{self, NamedSections, StoredVocabulary};
use crate::weights::TokenizerFiles;

/// `stored` is the vocabulary that was stored of the same files, if one was.
pub(super) fn read(files: &TokenizerFiles<'_>, stored: Option<StoredVocabulary>) -> Result<TokenizerParts> {
    // What was stored in another form is read from the file again.
    let stored = stored.and_then(FolderWords::stored).and_then(Result::ok);
    let words = stored.map_or_else(|| FolderWords::read(&files.json()?), Ok)?;
    parts(words, &files.settings, &configs(files))
}

/// As [`read`], with the sections in which the vocabulary can be stored; none for a vocabulary that cannot.
pub(super) fn read_to_store(files: &TokenizerFiles<'_>) -> Result<(TokenizerParts, NamedSections)> {
    let json = files.json()?;
    let words = FolderWords::read(&json)?;
    let sections = match folder_words::table(&words.encoder, &json, words.texts.len()) {
        Ok((table, steps)) => StoredVocabulary::sections(&table, &words.texts, Some(&steps)),
        Err(err) => {
            log::info!("{err}");
            Vec::new()
        }
    };
    Ok((parts(words, &files.settings, &configs(files))?, sections))
}

fn configs<'a>(files: &'a TokenizerFiles<'_>) -> [(&'static str, &'a Json); 2] {
    [("config.json", files.config), ("generation_config.json", &files.generation)]
}

/// What a tokenizer.json says.
pub(super) struct FolderWords {
    encoder: Encoder,
    /// Encodes words instead of the encoder, which then knows the added tokens alone.
    pairs: Option<PairEncoding>,
    texts: Vec<TokenText>,
    leading: LeadingSpaces,
    /// `None` for what the encoder's own steps add.
    frames: Option<TextFrames>,
}

impl FolderWords {
    /// Reads the content of a tokenizer.json.
    pub(super) fn read(json: &str) -> Result<Self> {
        let encoder = stored::encoder(json)?;
        let decoding = Decoding::new(&encoder)?;
        let texts = texts(&encoder, &decoding)?;
        Ok(Self { texts, leading: decoding.leading, encoder, pairs: None, frames: None })
    }

    /// Reads what was stored of a tokenizer.json; `None` if a part is missing.
    fn stored(stored: StoredVocabulary) -> Option<Result<Self>> {
        let steps = stored.steps()?;
        let read = |table: PairTable, texts| {
            let encoder = steps.encoder()?;
            let leading = Decoding::new(&encoder)?.leading;
            let unknown = unknown_token(encoder.get_model()).and_then(|token| id(&encoder, Some(&table), token));
            let pairs = Some(folder_words::pairs(table, &steps, unknown));
            Ok(Self { encoder, pairs, texts, leading, frames: Some(steps.frames) })
        };
        let (table, texts) = stored.into_table()?;
        Some(read(table, texts))
    }

    /// The id of a token.
    fn id(&self, token: &str) -> Option<u32> {
        id(&self.encoder, self.pairs.as_ref().map(PairEncoding::table), token)
    }
}

fn id(encoder: &Encoder, table: Option<&PairTable>, token: &str) -> Option<u32> {
    encoder.token_to_id(token).or_else(|| table?.id(token))
}

/// The parts of a tokenizer from what tokenizer.json says, tokenizer_config.json, and the model's configurations.
pub(super) fn parts(words: FolderWords, settings: &Json, configs: &[(&str, &Json)]) -> Result<TokenizerParts> {
    let token_id = |key: &str| settings.get(key).and_then(token_text).and_then(|token| words.id(token));
    let stated = StatedIds { configs, n_tokens: words.texts.len() };
    let bos_id = match (settings.get("bos_token"), token_id("bos_token")) {
        (Some(Json::Null), _) => None, // explicitly none, so the configuration does not count
        (_, None) => stated.known("bos_token_id").next(),
        (_, named) => named,
    };
    let end_ids: Vec<u32> = token_id("eos_token").into_iter().chain(stated.known("eos_token_id")).collect();
    if end_ids.is_empty() {
        stated.check("eos_token_id")?;
    }
    let adds_bos = match settings.get("add_bos_token").and_then(Json::as_bool) {
        Some(adds_bos) => {
            if adds_bos && bos_id.is_none() && settings.get("bos_token") != Some(&Json::Null) {
                stated.check("bos_token_id")?;
            }
            adds_bos
        }
        None => {
            let empty = guarded("tokenizer.json", || words.encoder.encode_fast("", true))?;
            bos_id.is_some() && empty.get_ids().first().copied() == bos_id
        }
    };
    let unknown_id = unknown_token(words.encoder.get_model()).and_then(|token| words.id(token));
    let FolderWords { encoder, pairs, texts, leading, frames } = words;
    Ok(TokenizerParts {
        texts,
        leading,
        unknown_id,
        bos_id,
        adds_bos,
        end_ids,
        special: SpecialTokens::read(settings),
        strips: strips(&encoder),
        frames,
        encoder,
        pairs,
    })
}

/// The token for text that no other token can represent.
fn unknown_token(model: &ModelWrapper) -> Option<&str> {
    match model {
        ModelWrapper::BPE(bpe) => bpe.unk_token.as_deref(),
        ModelWrapper::WordPiece(pieces) => Some(&pieces.unk_token),
        _ => None,
    }
}

fn texts(encoder: &Encoder, decoding: &Decoding) -> Result<Vec<TokenText>> {
    let added = encoder.get_added_tokens_decoder();
    let vocabulary = encoder.get_vocab(true);
    let highest = vocabulary.values().max().map_or(0, |id| *id as usize + 1); // ids are u32
    if highest > 16 * vocabulary.len() + 1024 {
        return Err(wrong("token ids in tokenizer.json must be near the size of the vocabulary"));
    }
    let mut texts = vec![TokenText::Bytes(Box::default()); highest];
    for (token, id) in vocabulary {
        texts[id as usize] = match added.get(&id) {
            Some(added) if added.special => TokenText::Control(token.into()),
            Some(_) => {
                let normalized = encoder.get_added_vocabulary().simple_id_to_token(id);
                TokenText::added(&token, decoding.added_bytes(&token, normalized.as_deref().unwrap_or(&token))?)
            }
            None => TokenText::Bytes(decoding.bytes(&token)?),
        };
    }
    Ok(texts)
}

/// The control tokens that take white space beside them.
fn strips(encoder: &Encoder) -> HashMap<Box<str>, Strips> {
    let added = encoder.get_added_tokens_decoder().into_values();
    let strips = added.map(|token| (token.content.into(), Strips { before: token.lstrip, after: token.rstrip }));
    strips.filter(|(_, strips)| *strips != Strips::default()).collect()
}

/// The ids of tokens in a model's configurations. Models whose vocabulary was replaced may still state ids of the earlier one;
/// they are refused only where no other id can be used.
struct StatedIds<'a> {
    /// Each with the name of its file.
    configs: &'a [(&'a str, &'a Json)],
    n_tokens: usize,
}

impl StatedIds<'_> {
    /// The ids under a key, each with its file.
    fn all(&self, key: &str) -> impl Iterator<Item = (&str, u32)> {
        let named = self.configs.iter().filter_map(move |(file, config)| Some((*file, config.get(key)?)));
        named.flat_map(|(file, json)| ids(json).into_iter().map(move |id| (file, id)))
    }

    /// The ids under a key that are in the vocabulary.
    fn known(&self, key: &str) -> impl Iterator<Item = u32> {
        self.all(key).map(|(_, id)| id).filter(|id| (*id as usize) < self.n_tokens)
    }

    /// Refuses ids outside of the vocabulary.
    fn check(&self, key: &str) -> Result<()> {
        let n_tokens = self.n_tokens;
        match self.all(key).find(|(_, id)| n_tokens <= *id as usize) {
            None => Ok(()),
            Some((file, id)) => {
                Err(wrong(format!("{key} in {file} must be a token of the vocabulary, below {n_tokens}, found {id}")))
            }
        }
    }
}

/// The ids of one id or an array of ids.
fn ids(json: &Json) -> Vec<u32> {
    let ids = json.as_array().map_or(std::slice::from_ref(json), Vec::as_slice);
    ids.iter().filter_map(Json::as_u64).filter_map(|id| u32::try_from(id).ok()).collect()
}

fn wrong(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}
