//! Converts text to token ids and back.
//!
//! The tokenizers library normalises text and splits it into words, configured from tokenizer.json or from GGUF metadata. It also
//! encodes the words of a tokenizer.json. For GGUF files `pair_encoding` does, which takes less time and memory to load. Text is never
//! encoded to a control token: control tokens are given as [`Segment::Control`]. Decoding is our own code and works on bytes, so
//! that a stream of tokens yields whole characters.

mod bytes;
mod control;
#[cfg(test)]
mod decoder_tests;
mod decoding;
mod export;
mod folder;
mod folder_words;
mod frames;
mod gguf;
mod growth;
mod guarded;
mod merges;
mod pair_encoding;
mod pair_table;
mod parts;
mod ranks;
#[cfg(test)]
mod scheme_tests;
mod scripted;
mod special;
mod stored;
#[cfg(test)]
mod tests;
mod text_table;
mod words;

use std::collections::HashMap;
use std::sync::OnceLock;

use tokenizers::pre_tokenizers::metaspace::PrependScheme;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::{Model, ModelWrapper, OffsetReferential, OffsetType, PreTokenizer, PreTokenizerWrapper, Token};

use crate::error::Result;
use crate::position::Position;
use crate::weights::{TokenizerSource, Weights};

pub(crate) use bytes::{LeadingSpaces, TokenText, Utf8Pieces};
pub(crate) use control::{ControlTokens, Segment};
pub(crate) use export::{ExportRules, metadata as export_metadata};
pub(crate) use frames::{PairFrame, TextFrames};
pub(crate) use special::SpecialTokens;
pub(crate) use stored::StoredVocabulary;

use guarded::guarded;
use pair_encoding::PairEncoding;
use parts::{Strips, TokenizerParts, check_lengths};
use stored::NamedSections;

/// Control tokens that end a reply of a chat model, in addition to those that its files name.
const TURN_ENDS: [&str; 15] = [
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
    "<end_of_turn>",
    "<turn|>",
    // FunctionGemma and Gemma 4 begin the result of a call themselves.
    "<start_function_response>",
    "<|tool_response>",
];

/// Encodes and decodes text for one model.
pub(crate) struct ModelTokenizer {
    name: String,
    encoder: tokenizers::Tokenizer,
    /// Encodes words instead of the encoder, if there is one.
    pairs: Option<PairEncoding>,
    /// Splits text after the first control token into words, if that differs from the beginning of the prompt.
    later_splitter: Option<PreTokenizerWrapper>,
    texts: Vec<TokenText>,
    /// Size of the longest token in bytes; at least 1.
    longest: usize,
    leading: LeadingSpaces,
    unknown_id: Option<u32>,
    /// The ids of each spelling; prompts use the first.
    control_ids: HashMap<Box<str>, Vec<u32>>,
    /// The spellings of the control tokens, once they are needed.
    control: OnceLock<ControlTokens>,
    /// For each byte, a token of that byte alone.
    byte_ids: Box<[Option<u32>; 256]>,
    bos_id: Option<u32>,
    adds_bos: bool,
    /// The end-of-text token that the model's files name.
    eos_id: Option<u32>,
    /// All tokens that end a reply.
    end_ids: Vec<u32>,
    special: SpecialTokens,
    strips: HashMap<Box<str>, Strips>,
    frames: TextFrames,
    /// Whether the model was trained on text as it is encoded here.
    is_learned: bool,
}

impl ModelTokenizer {
    /// Reads the tokenizer from a model's files.
    pub(crate) fn load(weights: &Weights) -> Result<Self> {
        Self::load_packed(weights, None)
    }

    /// As [`load`](Self::load), with the vocabulary that was [stored](Self::load_to_store) of the same files.
    pub(crate) fn load_packed(weights: &Weights, stored: Option<StoredVocabulary>) -> Result<Self> {
        match TokenizerSource::from_weights(weights)? {
            TokenizerSource::Metadata(file) => Self::named(gguf::read(file, stored)?, Some(gguf::name(file)?)),
            TokenizerSource::Files(files) => Self::named(folder::read(&files, stored)?, None),
        }
    }

    /// As [`load`](Self::load), with the sections in which the vocabulary can be stored; none for a vocabulary that cannot.
    pub(crate) fn load_to_store(weights: &Weights) -> Result<(Self, NamedSections)> {
        match TokenizerSource::from_weights(weights)? {
            TokenizerSource::Metadata(file) => {
                let parts = gguf::read(file, None)?;
                let pairs = parts.pairs.as_ref();
                let sections = pairs.map(|pairs| StoredVocabulary::sections(pairs.table(), &parts.texts, None));
                Ok((Self::named(parts, Some(gguf::name(file)?))?, sections.unwrap_or_default()))
            }
            TokenizerSource::Files(files) => {
                let (parts, sections) = folder::read_to_store(&files)?;
                Ok((Self::named(parts, None)?, sections))
            }
        }
    }

    fn named(parts: TokenizerParts, name: Option<String>) -> Result<Self> {
        check_lengths(&parts.texts)?;
        let tokenizer = Self::new(parts)?;
        Ok(Self { name: name.unwrap_or_else(|| tokenizer.kind().to_owned()), ..tokenizer })
    }

    /// Creates the tokenizer of tokens of text that are in the order in which they were merged.
    pub(crate) fn of_ranks(tokens: &[Box<[u8]>]) -> Result<Self> {
        let parts = ranks::parts(tokens)?;
        check_lengths(&parts.texts)?;
        Self::new(parts)
    }

    /// Creates the tokenizer from the content of a tokenizer.json.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn from_json(json: &str) -> Result<Self> {
        let settings = serde_json::json!({ "bos_token": "<|startoftext|>", "eos_token": "<|im_end|>" });
        Self::new(folder::parts(folder::FolderWords::read(json)?, &settings, &[])?)
    }

    /// Creates a tokenizer whose last tokens are the tokens of a script, and returns the id of the first of them. Text of prompts
    /// is encoded to single bytes.
    pub(crate) fn scripted(script: impl IntoIterator<Item = TokenText>) -> Result<(Self, u32)> {
        let (parts, first_id) = scripted::parts(script)?;
        // Replies of a script use its own tokens, and never the tokens of single bytes.
        Ok((Self { is_learned: false, ..Self::new(parts)? }, first_id))
    }

    fn new(mut parts: TokenizerParts) -> Result<Self> {
        parts.encoder.set_encode_special_tokens(true);
        // Files contain settings for training, which would truncate or pad every prompt, or randomise its tokens.
        without_dropout(&mut parts.encoder);
        parts.encoder.with_padding(None);
        let untruncated = parts.encoder.with_truncation(None).map(drop);
        guarded("the vocabulary", || untruncated)?;
        let frames = parts.frames.unwrap_or_else(|| TextFrames::probe(&parts.encoder));
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
        let mut end_ids = parts.end_ids;
        let eos_id = end_ids.first().copied();
        end_ids.extend(TURN_ENDS.iter().filter_map(|end| control_ids.get(*end)?.first()));
        end_ids.sort_unstable();
        end_ids.dedup();
        Ok(Self {
            name: String::new(),
            later_splitter: parts.encoder.get_pre_tokenizer().and_then(without_prefix),
            encoder: parts.encoder,
            pairs: parts.pairs,
            longest: parts.texts.iter().map(TokenText::n_bytes).max().unwrap_or(1).max(1),
            texts: parts.texts,
            leading: parts.leading,
            unknown_id: parts.unknown_id,
            control_ids,
            control: OnceLock::new(),
            byte_ids,
            bos_id: parts.bos_id,
            adds_bos: parts.adds_bos,
            eos_id,
            end_ids,
            special: parts.special,
            strips: parts.strips,
            frames,
            is_learned: true,
        })
    }

    /// The name of its kind: as a GGUF file has it, or else the tokenizers library's.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The tokenizers library's name of the tokenization model.
    fn kind(&self) -> &'static str {
        match self.encoder.get_model() {
            ModelWrapper::BPE(_) => "BPE",
            ModelWrapper::Unigram(_) => "Unigram",
            ModelWrapper::WordLevel(_) => "WordLevel",
            ModelWrapper::WordPiece(_) => "WordPiece",
        }
    }

    /// A lower bound of the tokens of a text with this many bytes.
    pub(crate) fn fewest_tokens(&self, n_bytes: usize) -> usize {
        n_bytes / self.most_bytes_of_token()
    }

    /// An upper bound of the bytes of a text with this many tokens.
    pub(crate) fn most_bytes(&self, n_tokens: usize) -> usize {
        self.most_bytes_of_token().saturating_mul(n_tokens)
    }

    fn most_bytes_of_token(&self) -> usize {
        // Composition makes a text at most three times shorter.
        let shrinks = if self.encoder.get_normalizer().is_some() { 3 } else { 1 };
        self.longest * shrinks
    }

    /// The number of tokens.
    pub(crate) fn n_tokens(&self) -> usize {
        self.texts.len()
    }

    /// The spellings of the control tokens.
    pub(crate) fn control_tokens(&self) -> Result<ControlTokens> {
        if let Some(control) = self.control.get() {
            return Ok(control.clone());
        }
        let spellings: Vec<&str> = self.control_ids.keys().map(AsRef::as_ref).collect();
        let control = ControlTokens::new(&spellings)?;
        Ok(self.control.get_or_init(|| control).clone())
    }

    /// The special tokens by name, for templates.
    pub(crate) fn special_tokens(&self) -> SpecialTokens {
        let mut special = self.special.clone();
        for (name, id) in [("bos_token", self.bos_id), ("eos_token", self.eos_id)] {
            if id.is_some() {
                special.insert(name, self.spelling(id));
            }
        }
        special
    }

    /// The spelling of the control token that begins prompts; empty if there is none.
    pub(crate) fn begin_spelling(&self) -> &str {
        self.spelling(self.bos_id)
    }

    /// The spelling of a control token; empty for other tokens.
    fn spelling(&self, id: Option<u32>) -> &str {
        match id.and_then(|id| self.text(id)) {
            Some(TokenText::Control(spelling)) => spelling,
            _ => "",
        }
    }

    /// The ids of the control tokens with this spelling; empty if there are none.
    pub(crate) fn control_ids(&self, spelling: &str) -> &[u32] {
        self.control_ids.get(spelling).map_or(&[], Vec::as_slice)
    }

    /// The first token that ends a reply; `None` if there is none.
    pub(crate) fn end_id(&self) -> Option<u32> {
        self.end_ids.first().copied()
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

    /// What a token adds to the text; `None` for an id without a token, which padded vocabularies have.
    pub(crate) fn text(&self, id: u32) -> Option<&TokenText> {
        self.texts.get(id as usize)
    }

    /// A decoder for the tokens of one reply.
    pub(crate) fn pieces(&self) -> Utf8Pieces {
        Utf8Pieces::new(self.leading)
    }

    /// Whether a prompt ends with text that a reply continues, and not with a control token.
    pub(crate) fn ends_in_text(&self, prompt: &[Position]) -> bool {
        let is_text = |id: u32| matches!(self.text(id), Some(TokenText::Bytes(_))) && self.bos_id != Some(id);
        prompt.last().and_then(|position| position.token()).is_some_and(is_text)
    }

    /// The token ids of a prompt, without its embedded content.
    pub(crate) fn encode(&self, segments: &[Segment]) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        for at in 0..segments.len() {
            self.encode_segment(segments, at, &mut ids)?;
        }
        Ok(ids)
    }

    fn encode_segment(&self, segments: &[Segment], at: usize, ids: &mut Vec<u32>) -> Result<()> {
        match &segments[at] {
            Segment::Text(text) => self.encode_text(self.stripped(text, segments, at), at == 0, ids)?,
            Segment::Control(spelling) => ids.extend(self.control_ids(spelling).first()),
            Segment::Embedded(_) => {}
        }
        Ok(())
    }

    /// The text at this place without the white space that belongs to the control tokens beside it.
    fn stripped<'a>(&self, text: &'a str, segments: &[Segment], at: usize) -> &'a str {
        let strips = |beside: Option<&Segment>| match beside {
            Some(Segment::Control(spelling)) => self.strips.get(spelling.as_str()).copied().unwrap_or_default(),
            _ => Strips::default(),
        };
        let text = if strips(segments[..at].last()).after { text.trim_start() } else { text };
        if strips(segments.get(at + 1)).before { text.trim_end() } else { text }
    }

    /// The positions of a prompt, with BOS at the beginning if the model expects it.
    pub(crate) fn positions(&self, segments: &[Segment]) -> Result<Vec<Position>> {
        let (mut positions, mut ids) = (Vec::new(), Vec::new());
        for (at, segment) in segments.iter().enumerate() {
            self.encode_segment(segments, at, &mut ids)?;
            positions.extend(ids.drain(..).map(Position::Token));
            if let Segment::Embedded(content) = segment {
                positions.extend(content.positions());
            }
        }
        let is_bos = |id: &u32| positions.first() == Some(&Position::Token(*id));
        if let Some(bos_id) = self.bos_id.filter(|bos_id| self.adds_bos && !is_bos(bos_id)) {
            positions.insert(0, Position::Token(bos_id));
        }
        Ok(positions)
    }

    /// The token ids of a prompt, with BOS at the beginning if the model expects it.
    pub(crate) fn encode_with_bos(&self, segments: &[Segment]) -> Result<Vec<u32>> {
        let mut ids = self.encode(segments)?;
        if let Some(bos_id) = self.bos_id.filter(|bos_id| self.adds_bos && ids.first() != Some(bos_id)) {
            ids.insert(0, bos_id);
        }
        Ok(ids)
    }

    /// The tokens around a text that is read as a whole.
    pub(crate) fn frames(&self) -> &TextFrames {
        &self.frames
    }

    /// The token ids of a text that is read as a whole, without the tokens around it. Spellings of control tokens are text.
    pub(crate) fn encode_plain(&self, text: &str) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        self.encode_text(text, true, &mut ids)?;
        Ok(ids)
    }

    /// The token ids of text that follows other text. `None` if the model was not trained to read text in these tokens, or
    /// the text cannot be encoded.
    pub(crate) fn encode_continuation(&self, text: &str) -> Option<Vec<u32>> {
        let mut ids = Vec::new();
        (self.is_learned && self.encode_text(text, false, &mut ids).is_ok()).then_some(ids)
    }

    /// Appends the token ids of a text. `is_first` says whether the text begins the prompt.
    fn encode_text(&self, text: &str, is_first: bool, ids: &mut Vec<u32>) -> Result<()> {
        let encoder = &self.encoder;
        let later_splitter = self.later_splitter.as_ref().filter(|_| !is_first);
        let words = guarded("the prompt", || {
            let mut words = encoder.get_added_vocabulary().extract_and_normalize(encoder.get_normalizer(), text);
            if let Some(splitter) = later_splitter.or(encoder.get_pre_tokenizer()) {
                splitter.pre_tokenize(&mut words)?;
            }
            words.tokenize(|word| match &self.pairs {
                Some(pairs) => Ok(pairs.encode(word.get()).into_iter().map(unplaced).collect()),
                None => encoder.get_model().tokenize(word.get()),
            })?;
            Ok(words)
        })?;
        let words = words.get_splits(OffsetReferential::Original, OffsetType::None);
        for token in words.iter().filter_map(|(_, _, tokens)| tokens.as_ref()).flatten() {
            match self.texts.get(token.id as usize) {
                // In some vocabularies, merges lead from text to a control token.
                Some(TokenText::Control(spelling)) if self.unknown_id != Some(token.id) => {
                    ids.extend(spelling.bytes().filter_map(|byte| self.byte_ids[usize::from(byte)]));
                }
                _ => ids.push(token.id),
            }
        }
        Ok(())
    }
}

/// A token whose place in the text nobody asks for.
fn unplaced(id: u32) -> Token {
    Token::new(id, String::new(), (0, 0))
}

/// Removes the dropout, which skips merges at random.
fn without_dropout(encoder: &mut tokenizers::Tokenizer) {
    if let ModelWrapper::BPE(bpe) = encoder.get_model()
        && bpe.dropout.is_some()
    {
        let mut bpe = bpe.clone();
        bpe.dropout = None;
        encoder.with_model(bpe);
    }
}

/// A copy of the splitter that adds no space before the text, if this one adds a space at the beginning of a prompt.
fn without_prefix(splitter: &PreTokenizerWrapper) -> Option<PreTokenizerWrapper> {
    let steps = match splitter {
        PreTokenizerWrapper::Sequence(steps) => steps.as_ref(),
        single => std::slice::from_ref(single),
    };
    let adds_prefix = |step: &PreTokenizerWrapper| match step {
        PreTokenizerWrapper::Metaspace(metaspace) => metaspace.prepend_scheme == PrependScheme::First,
        _ => false,
    };
    // Before the copy, which compiles regular expressions anew.
    if !steps.iter().any(adds_prefix) {
        return None;
    }
    let without = |step: &PreTokenizerWrapper| match step.clone() {
        PreTokenizerWrapper::Metaspace(mut metaspace) if adds_prefix(step) => {
            metaspace.prepend_scheme = PrependScheme::Never;
            metaspace.into()
        }
        step => step,
    };
    Some(Sequence::new(steps.iter().map(without).collect()).into())
}
