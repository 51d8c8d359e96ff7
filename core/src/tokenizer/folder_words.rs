//! The tokens and merges of a tokenizer.json in the form that is stored with packed weights, in place of the maps of the tokenizers
//! library.

use serde::Deserialize;
use tokenizers::models::bpe::BPE;
use tokenizers::{ModelWrapper, Tokenizer as Encoder};

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::frames::TextFrames;
use crate::tokenizer::guarded::guarded;
use crate::tokenizer::pair_encoding::{PairEncoding, PairSettings};
use crate::tokenizer::pair_table::PairTable;
use crate::tokenizer::stored::StoredSteps;

/// The merges of a tokenizer.json, and nothing else of it.
#[derive(Deserialize)]
struct TokenizerMerges {
    model: ModelMerges,
}

#[derive(Deserialize)]
struct ModelMerges {
    merges: Vec<Merge>,
}

/// Two tokens, or both with a space between.
#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Pair(String, String),
    Spaced(String),
}

/// The tokens and merges of a tokenizer.json, with all else that its encoder does.
///
/// # Errors
/// [`ErrorKind::ModelLoad`] for an encoder whose words are encoded in another way than [`PairEncoding`] does.
pub(super) fn table(encoder: &Encoder, json: &str, n_tokens: usize) -> Result<(PairTable, StoredSteps)> {
    let ModelWrapper::BPE(bpe) = encoder.get_model() else { return Err(other("its words are not encoded by merges")) };
    let affixes = [&bpe.continuing_subword_prefix, &bpe.end_of_word_suffix];
    if affixes.into_iter().flatten().any(|affix| !affix.is_empty()) {
        return Err(other("parts of words have prefixes or suffixes"));
    }
    let vocabulary = encoder.get_vocab(false);
    if bpe.unk_token.as_ref().is_some_and(|unknown| !bpe.fuse_unk || !vocabulary.contains_key(unknown)) {
        return Err(other("unknown characters are not joined"));
    }
    let mut words: Vec<Option<&str>> = vec![None; n_tokens];
    for (token, id) in &vocabulary {
        let word = words.get_mut(*id as usize).filter(|word| word.is_none());
        *word.ok_or_else(|| other("two tokens have one id"))? = Some(token);
    }
    let merges: TokenizerMerges = serde_json::from_str(json).map_err(|_| other("its merges cannot be read"))?;
    let table = PairTable::of_words(&words, |words| {
        let id = |token: &str| words.id(token).ok_or_else(|| other("merges join unknown tokens"));
        let pair = |merge: &Merge| {
            let pair = match merge {
                Merge::Pair(left, right) => Some((left.as_str(), right.as_str())),
                Merge::Spaced(both) => both.split_once(' '),
            };
            let (left, right) = pair.ok_or_else(|| other("a merge is not of two tokens"))?;
            Ok((id(left)?, id(right)?))
        };
        merges.model.merges.iter().map(pair).collect()
    })?;
    let steps = StoredSteps {
        ignores_merges: bpe.ignore_merges,
        falls_back_to_bytes: bpe.byte_fallback,
        encoder: StoredSteps::of_encoder(&splitting_encoder(encoder, bpe)?)?,
        frames: TextFrames::probe(encoder),
    };
    Ok((table, steps))
}

/// A copy of an encoder that knows only the tokens that are searched in text before all others.
fn splitting_encoder(encoder: &Encoder, bpe: &BPE) -> Result<Encoder> {
    let added = encoder.get_added_tokens_decoder().into_iter().map(|(id, token)| (token.content, id));
    let mut pairs = BPE::builder().vocab_and_merges(added.collect::<ahash::AHashMap<_, _>>(), Vec::new());
    if let Some(unknown) = &bpe.unk_token {
        pairs = pairs.unk_token(unknown.clone());
    }
    let mut splitting = encoder.clone();
    splitting.with_model(guarded("the vocabulary", || pairs.build())?);
    Ok(splitting)
}

/// Encodes words by a table that was stored.
pub(super) fn pairs(table: PairTable, steps: &StoredSteps, unknown: Option<u32>) -> PairEncoding {
    let StoredSteps { ignores_merges, falls_back_to_bytes, .. } = *steps;
    PairEncoding::new(table, PairSettings { ignores_merges, falls_back_to_bytes, unknown })
}

fn other(reason: &str) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, format!("the vocabulary of tokenizer.json cannot be stored: {reason}"))
}
