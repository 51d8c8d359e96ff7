//! Text to token ids and back.
//!
//! Encoding is the tokenizers library's, built from tokenizer.json or from GGUF metadata. Text never becomes a control
//! token here: those come only as [`Segment::Control`]. Decoding is our own, byte by byte, so that a stream of tokens
//! gives whole characters.

mod bytes;
mod control;
mod folder;
mod gguf;
mod growth;
mod merges;
#[cfg(test)]
mod scheme_tests;
mod scripted;
#[cfg(test)]
mod tests;
mod words;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokenizers::pre_tokenizers::metaspace::PrependScheme;
use tokenizers::{Model, ModelWrapper, OffsetReferential, OffsetType, PreTokenizer, PreTokenizerWrapper};

use crate::error::{ErrorKind, Result, SdkError};
use crate::weights::Weights;

pub(crate) use bytes::{TokenText, Utf8Pieces};
pub(crate) use control::{ControlTokens, Segment};

/// Control tokens that end a chat model's turn, or what it should not go on behind, whatever its files say of ends.
const TURN_ENDS: [&str; 11] = [
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "</s>",
    "<|end|>",
    "<｜end▁of▁sentence｜>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
];

/// Bytes of a token at most; known vocabularies have some hundred. Every reply could hold thousands of the longest.
const LONGEST_TOKEN: usize = 4096;

/// Encodes and decodes for one model.
pub(crate) struct ModelTokenizer {
    encoder: tokenizers::Tokenizer,
    /// Cuts text into words behind the first control token, where that is another way than at the beginning.
    later_splitter: Option<PreTokenizerWrapper>,
    texts: Vec<TokenText>,
    /// Bytes of the longest token; 1 at least.
    longest: usize,
    drops_space: bool,
    unknown_id: Option<u32>,
    /// The ids of each spelling; prompts use the first.
    control_ids: HashMap<Box<str>, Vec<u32>>,
    /// For each byte, a token of that byte alone.
    byte_ids: Box<[Option<u32>; 256]>,
    bos_id: Option<u32>,
    adds_bos: bool,
    /// The token that its files say ends a text.
    eos_id: Option<u32>,
    /// All that end a reply.
    end_ids: Vec<u32>,
    /// Whether the model has learned to read text as it is encoded here.
    is_learned: bool,
}

/// What a file says of its tokenizer.
struct Parts {
    encoder: tokenizers::Tokenizer,
    /// What each token adds to the text, by id.
    texts: Vec<TokenText>,
    /// Whether a space at the very beginning of what tokens spell is none of their text.
    drops_space: bool,
    /// The token for what no other token can spell.
    unknown_id: Option<u32>,
    /// The token that begins a text.
    bos_id: Option<u32>,
    /// Whether every prompt begins with it.
    adds_bos: bool,
    end_ids: Vec<u32>,
}

impl ModelTokenizer {
    /// Reads the tokenizer from a model's files.
    pub(crate) fn load(weights: &Weights) -> Result<Self> {
        let parts = match weights {
            Weights::Gguf(file) => gguf::read(file)?,
            Weights::Folder(folder) => folder::read(folder)?,
        };
        check_lengths(&parts.texts)?;
        Self::of(parts)
    }

    /// The tokenizer that the text of a tokenizer.json describes.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn from_json(json: &str) -> Result<Self> {
        let settings = serde_json::json!({ "bos_token": "<|startoftext|>", "eos_token": "<|im_end|>" });
        Self::of(folder::parts(json, &settings, &[])?)
    }

    fn of(mut parts: Parts) -> Result<Self> {
        parts.encoder.set_encode_special_tokens(true);
        // Files carry settings of their training, which would cut or fill up every prompt, or vary its tokens.
        without_dropout(&mut parts.encoder);
        parts.encoder.with_padding(None);
        let untruncated = parts.encoder.with_truncation(None).map(drop);
        guarded("the vocabulary", || untruncated)?;
        let mut control_ids = HashMap::new();
        let mut byte_ids = Box::new([None; 256]);
        for (text, id) in parts.texts.iter().zip(0u32..) {
            match text {
                TokenText::Control(spelling) => {
                    let ids: &mut Vec<u32> = control_ids.entry(spelling.clone()).or_default();
                    ids.push(id);
                }
                TokenText::Bytes(bytes) => {
                    if let [byte] = bytes[..] {
                        byte_ids[usize::from(byte)].get_or_insert(id);
                    }
                }
            }
        }
        let n_tokens = parts.texts.len();
        // Models that were given another vocabulary may still state ids of the one before.
        let is_known = |id: &u32| (*id as usize) < n_tokens;
        let mut end_ids = parts.end_ids;
        end_ids.retain(is_known);
        let eos_id = end_ids.first().copied();
        end_ids.extend(TURN_ENDS.iter().filter_map(|end| control_ids.get(*end)?.first()));
        end_ids.sort_unstable();
        end_ids.dedup();
        Ok(Self {
            later_splitter: parts.encoder.get_pre_tokenizer().and_then(without_prefix),
            encoder: parts.encoder,
            longest: parts.texts.iter().map(TokenText::n_bytes).max().unwrap_or(1).max(1),
            texts: parts.texts,
            drops_space: parts.drops_space,
            unknown_id: parts.unknown_id,
            control_ids,
            byte_ids,
            bos_id: parts.bos_id.filter(is_known),
            adds_bos: parts.adds_bos,
            eos_id,
            end_ids,
            is_learned: true,
        })
    }

    /// What the tokenizers library calls the way in which text is cut.
    pub(crate) fn kind(&self) -> &'static str {
        match self.encoder.get_model() {
            ModelWrapper::BPE(_) => "BPE",
            ModelWrapper::Unigram(_) => "Unigram",
            ModelWrapper::WordLevel(_) => "WordLevel",
            ModelWrapper::WordPiece(_) => "WordPiece",
        }
    }

    /// Tokens that a text of so many bytes has at least.
    pub(crate) fn fewest_tokens(&self, n_bytes: usize) -> usize {
        // Composed characters are at most three times shorter than what they are composed of.
        let shrinks = if self.encoder.get_normalizer().is_some() { 3 } else { 1 };
        n_bytes / (self.longest * shrinks)
    }

    /// How many tokens there are.
    pub(crate) fn n_tokens(&self) -> usize {
        self.texts.len()
    }

    /// A finder of the control tokens' spellings.
    pub(crate) fn control_tokens(&self) -> Result<ControlTokens> {
        let spellings: Vec<&str> = self.control_ids.keys().map(AsRef::as_ref).collect();
        ControlTokens::new(&spellings)
    }

    /// The spelling of the token that begins a text; empty when there is none.
    pub(crate) fn bos_token(&self) -> &str {
        self.spelling(self.bos_id)
    }

    /// The spelling of the token that ends a text; empty when there is none.
    pub(crate) fn eos_token(&self) -> &str {
        self.spelling(self.eos_id)
    }

    fn spelling(&self, id: Option<u32>) -> &str {
        match id.and_then(|id| self.text(id)) {
            Some(TokenText::Control(spelling)) => spelling,
            _ => "",
        }
    }

    /// The control tokens of a spelling; empty where there is none.
    pub(crate) fn control_ids(&self, spelling: &str) -> &[u32] {
        self.control_ids.get(spelling).map_or(&[], Vec::as_slice)
    }

    /// The tokens that end a reply.
    pub(crate) fn end_ids(&self) -> &[u32] {
        &self.end_ids
    }

    /// Whether a token ends a reply.
    pub(crate) fn is_end(&self, id: u32) -> bool {
        self.end_ids.contains(&id)
    }

    /// What each token adds to the text, by id.
    pub(crate) fn texts(&self) -> &[TokenText] {
        &self.texts
    }

    /// What a token adds to the text; `None` for an id without a token, as padded vocabularies have them.
    pub(crate) fn text(&self, id: u32) -> Option<&TokenText> {
        self.texts.get(id as usize)
    }

    /// Puts the bytes of a reply's tokens together to its text.
    pub(crate) fn pieces(&self) -> Utf8Pieces {
        Utf8Pieces::new(self.drops_space)
    }

    /// Whether a prompt ends in text, which a reply goes on with, and not in a token that begins something.
    pub(crate) fn ends_in_text(&self, prompt: &[u32]) -> bool {
        let is_text = |id: &u32| matches!(self.text(*id), Some(TokenText::Bytes(_))) && self.bos_id != Some(*id);
        prompt.last().is_some_and(is_text)
    }

    /// The token ids of a prompt.
    pub(crate) fn encode(&self, segments: &[Segment]) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        for (i, segment) in segments.iter().enumerate() {
            match segment {
                Segment::Text(text) => self.encode_text(text, i == 0, &mut ids)?,
                Segment::Control(spelling) => ids.extend(self.control_ids(spelling).first()),
            }
        }
        Ok(ids)
    }

    /// The token ids of a prompt that begins as the model expects: with the token that begins a text, if it wants one.
    pub(crate) fn encode_with_bos(&self, segments: &[Segment]) -> Result<Vec<u32>> {
        let mut ids = self.encode(segments)?;
        if let Some(bos_id) = self.bos_id.filter(|bos_id| self.adds_bos && ids.first() != Some(bos_id)) {
            ids.insert(0, bos_id);
        }
        Ok(ids)
    }

    /// The token ids of text that follows other text. `None` if the model was not trained to read text in these tokens, or
    /// the text cannot be encoded.
    pub(crate) fn encode_continuation(&self, text: &str) -> Option<Vec<u32>> {
        let mut ids = Vec::new();
        (self.is_learned && self.encode_text(text, false, &mut ids).is_ok()).then_some(ids)
    }

    /// Adds the ids of a text. `is_first` says whether it begins the prompt.
    fn encode_text(&self, text: &str, is_first: bool, ids: &mut Vec<u32>) -> Result<()> {
        let encoder = &self.encoder;
        let later_splitter = self.later_splitter.as_ref().filter(|_| !is_first);
        let words = guarded("the prompt", || {
            let mut words = encoder.get_added_vocabulary().extract_and_normalize(encoder.get_normalizer(), text);
            if let Some(splitter) = later_splitter.or(encoder.get_pre_tokenizer()) {
                splitter.pre_tokenize(&mut words)?;
            }
            words.tokenize(|word| encoder.get_model().tokenize(word.get()))?;
            Ok(words)
        })?;
        let words = words.get_splits(OffsetReferential::Original, OffsetType::None);
        for token in words.iter().filter_map(|(_, _, tokens)| tokens.as_ref()).flatten() {
            match self.texts.get(token.id as usize) {
                // Some vocabularies can merge text to the spelling of a control token.
                Some(TokenText::Control(spelling)) if self.unknown_id != Some(token.id) => {
                    ids.extend(spelling.bytes().filter_map(|byte| self.byte_ids[usize::from(byte)]));
                }
                _ => ids.push(token.id),
            }
        }
        Ok(())
    }
}

/// Refuses a vocabulary with a token that is longer than any has.
fn check_lengths(texts: &[TokenText]) -> Result<()> {
    let Some((id, text)) = texts.iter().enumerate().find(|(_, text)| LONGEST_TOKEN < text.n_bytes()) else {
        return Ok(());
    };
    let n_bytes = text.n_bytes();
    let message = format!("token {id} of the vocabulary has {n_bytes} bytes, and {LONGEST_TOKEN} are the most");
    Err(SdkError::new(ErrorKind::ModelLoad, message))
}

/// Makes every merge certain.
fn without_dropout(encoder: &mut tokenizers::Tokenizer) {
    if let ModelWrapper::BPE(bpe) = encoder.get_model()
        && bpe.dropout.is_some()
    {
        let mut bpe = bpe.clone();
        bpe.dropout = None;
        encoder.with_model(bpe);
    }
}

/// A splitter that puts nothing before a text, if this one puts a space before the first.
fn without_prefix(splitter: &PreTokenizerWrapper) -> Option<PreTokenizerWrapper> {
    let mut splitter = splitter.clone();
    let steps = match &mut splitter {
        PreTokenizerWrapper::Sequence(steps) => steps.as_mut(),
        single => std::slice::from_mut(single),
    };
    let mut has_changed = false;
    for step in steps {
        if let PreTokenizerWrapper::Metaspace(metaspace) = step
            && metaspace.prepend_scheme == PrependScheme::First
        {
            metaspace.prepend_scheme = PrependScheme::Never;
            has_changed = true;
        }
    }
    has_changed.then_some(splitter)
}

/// Runs code of the tokenizers library, which panics on some broken vocabularies.
fn guarded<T>(what: &str, run: impl FnOnce() -> Result<T, tokenizers::Error>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(err)) => Err(SdkError::new(ErrorKind::ModelLoad, format!("the tokenizer cannot take {what}: {err}"))),
        Err(_) => Err(SdkError::new(ErrorKind::ModelLoad, format!("the tokenizer failed on {what}"))),
    }
}
