//! Reads the tokenizer from the metadata of a GGUF file.

use std::collections::HashMap;

use tokenizers::models::bpe::BPE;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::{BertNormalizer, NFC, Prepend, Replace, Sequence};
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{AddedToken, Error, NormalizerWrapper, Tokenizer as Encoder};

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::bytes::{LeadingSpaces, SPACE, Spelling, TokenText};
use crate::tokenizer::frames::{PairFrame, TextFrames};
use crate::tokenizer::guarded::guarded;
use crate::tokenizer::merges::merges_of_scores;
use crate::tokenizer::pair_encoding::{PairEncoding, PairSettings};
use crate::tokenizer::pair_table::PairTable;
use crate::tokenizer::parts::{Strips, TokenizerParts};
use crate::tokenizer::special::{NAMED_IDS, SpecialTokens};
use crate::tokenizer::stored::StoredVocabulary;
use crate::tokenizer::words::WordRule;
use crate::weights::GgufFile;

/// The `tokenizer.ggml.model` of BERT.
const WORD_PIECE: &str = "bert";

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

/// `stored` is the vocabulary that was stored of the same file, if one was.
pub(super) fn read(file: &GgufFile, stored: Option<StoredVocabulary>) -> Result<TokenizerParts> {
    let vocabulary = GgufVocabulary::read(file)?;
    let texts = stored.as_ref().and_then(|stored| stored.texts(vocabulary.tokens.len()));
    // A table of another form is built again.
    let stored = stored.and_then(|stored| vocabulary.check(PairTable::read(stored.table).ok()?).ok());
    let table = stored.map_or_else(|| vocabulary.table(file), Ok)?;
    let scheme = match file.text("tokenizer.ggml.model")? {
        Some("gpt2") => Scheme::byte_level(file, &vocabulary, table)?,
        Some("llama") => Scheme::sentence_piece(file, &vocabulary, table, (true, vocabulary.user_defined()))?,
        Some("gemma4") => Scheme::sentence_piece(file, &vocabulary, table, (false, vocabulary.with_line_feeds()))?,
        Some(WORD_PIECE) => Scheme::word_piece(&vocabulary)?,
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
    let bos_id = id("tokenizer.ggml.bos_token_id")?;
    let adds_bos = file.boolean("tokenizer.ggml.add_bos_token")?.unwrap_or(scheme.adds_bos);
    let frames = match file.text("tokenizer.ggml.model")? {
        Some(WORD_PIECE) => {
            let found = |key: &str, spelling: &str| {
                let stated = id(&format!("tokenizer.ggml.{key}"))?;
                let missing = || wrong(format!("metadata tokenizer.ggml.{key} is missing"));
                stated.or_else(|| vocabulary.control_id(spelling)).ok_or_else(missing)
            };
            // Newer files name the first token as BOS. The misspelling is the key's name.
            let begin = id("tokenizer.ggml.cls_token_id")?.map_or_else(|| found("bos_token_id", "[CLS]"), Ok)?;
            word_piece_frames(begin, found("seperator_token_id", "[SEP]")?)
        }
        _ => {
            let adds_eos = file.boolean("tokenizer.ggml.add_eos_token")?.unwrap_or(false);
            let end = id("tokenizer.ggml.eos_token_id")?.filter(|_| adds_eos);
            let begin = bos_id.filter(|_| adds_bos);
            TextFrames { before: begin.into_iter().collect(), after: end.into_iter().collect(), pair: None }
        }
    };
    Ok(TokenizerParts {
        encoder: scheme.encoder,
        pairs: scheme.pairs,
        texts: texts.unwrap_or_else(|| vocabulary.texts(&scheme.spelling)),
        leading: LeadingSpaces::dropped_if(scheme.drops_space),
        unknown_id: scheme.unknown_id,
        bos_id,
        adds_bos,
        end_ids,
        special,
        strips: strips(file, &vocabulary)?,
        frames: Some(frames),
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
    /// `None` if the encoder encodes words.
    pairs: Option<PairEncoding>,
    spelling: Spelling,
    /// The token for text that no other token can represent.
    unknown_id: Option<u32>,
    /// Whether prompts begin with BOS if the file does not say.
    adds_bos: bool,
    drops_space: bool,
}

impl Scheme {
    fn byte_level(file: &GgufFile, vocabulary: &GgufVocabulary<'_>, table: PairTable) -> Result<Self> {
        let pre = file.text("tokenizer.ggml.pre")?;
        let rule = pre.and_then(WordRule::named).ok_or_else(|| unsupported("tokenizer.ggml.pre", pre))?;
        let encoder = guarded("the vocabulary", || {
            let mut encoder = splitting_encoder(&table, vocabulary.user_defined())?;
            encoder.with_normalizer(rule.composes.then_some(NFC))?;
            encoder.with_pre_tokenizer(Some(rule.splitter()?));
            Ok(encoder)
        })?;
        let settings = PairSettings { ignores_merges: rule.ignores_merges, ..PairSettings::default() };
        let pairs = Some(PairEncoding::new(table, settings));
        let unknown_id = vocabulary.unknown().map(|(id, _)| id);
        let spelling = Spelling::byte_level();
        Ok(Self { encoder, pairs, spelling, unknown_id, adds_bos: rule.adds_bos, drops_space: false })
    }

    /// `adds_space` is the default for files that do not say whether a space is added before the text. The `added` tokens
    /// are searched in text before all others.
    fn sentence_piece(
        file: &GgufFile,
        vocabulary: &GgufVocabulary<'_>,
        table: PairTable,
        (adds_space, added): (bool, Vec<AddedToken>),
    ) -> Result<Self> {
        let adds_space = file.boolean("tokenizer.ggml.add_space_prefix")?.unwrap_or(adds_space);
        let encoder = guarded("the vocabulary", || {
            let mut encoder = splitting_encoder(&table, added)?;
            let prepend = adds_space.then(|| Prepend::new(SPACE.to_owned()).into());
            let replace: NormalizerWrapper = Replace::new(" ", SPACE)?.into();
            encoder.with_normalizer(Some(Sequence::new(prepend.into_iter().chain([replace]).collect())))?;
            Ok(encoder)
        })?;
        let unknown = vocabulary.unknown().map(|(id, _)| id);
        let settings = PairSettings { falls_back_to_bytes: true, unknown, ..PairSettings::default() };
        let pairs = Some(PairEncoding::new(table, settings));
        let spelling = Spelling::Pieces;
        Ok(Self { encoder, pairs, spelling, unknown_id: unknown, adds_bos: true, drops_space: adds_space })
    }

    /// The WordPiece of BERT. In these files, tokens that begin words begin with `▁`, and the others have no prefix.
    fn word_piece(vocabulary: &GgufVocabulary<'_>) -> Result<Self> {
        const PREFIX: &str = "##";
        const UNKNOWN_WORD: &str = "[UNK]";
        let spelled = |(id, token, token_type): (u32, &str, i64)| {
            let spelled = match token.strip_prefix(SPACE) {
                _ if matches!(token_type, CONTROL | UNKNOWN) || token == UNKNOWN_WORD => token.to_owned(),
                Some(word) => word.to_owned(),
                None => format!("{PREFIX}{token}"),
            };
            (spelled, id)
        };
        let ids = vocabulary.iter().map(spelled).collect::<ahash::AHashMap<_, _>>();
        let unknown_id = ids.get(UNKNOWN_WORD).copied();
        if unknown_id.is_none() {
            return Err(wrong(format!("metadata tokenizer.ggml.tokens must have the token {UNKNOWN_WORD}")));
        }
        // No key says whether letters are lowercased: a vocabulary without capitals needs it.
        let is_capital = |(_, token, token_type): (u32, &str, i64)| {
            token_type == NORMAL && !token.starts_with('[') && token.chars().any(char::is_uppercase)
        };
        let lowercases = !vocabulary.iter().any(is_capital);
        let encoder = guarded("the vocabulary", || {
            let pieces = WordPiece::builder().vocab(ids).unk_token(UNKNOWN_WORD.to_owned());
            let mut encoder = Encoder::new(pieces.continuing_subword_prefix(PREFIX.to_owned()).build()?);
            encoder.with_normalizer(Some(BertNormalizer::new(true, true, None, lowercases)))?;
            encoder.with_pre_tokenizer(Some(BertPreTokenizer));
            Ok(encoder)
        })?;
        Ok(Self { encoder, pairs: None, spelling: Spelling::Pieces, unknown_id, adds_bos: false, drops_space: true })
    }
}

/// The tokens of BERT around texts.
fn word_piece_frames(begin: u32, end: u32) -> TextFrames {
    let pair = PairFrame { before: vec![begin], between: vec![end], after: vec![end], second_type: 1 };
    TextFrames { before: vec![begin], after: vec![end], pair: Some(pair) }
}

/// An encoder that knows only the tokens that are searched in text before all others.
fn splitting_encoder(table: &PairTable, added: Vec<AddedToken>) -> Result<Encoder, Error> {
    let id = |token: &AddedToken| Some((token.content.clone(), table.id(&token.content)?));
    let ids = added.iter().filter_map(id).collect::<ahash::AHashMap<_, _>>();
    let mut encoder = Encoder::new(BPE::builder().vocab_and_merges(ids, Vec::new()).build()?);
    encoder.add_tokens(added)?;
    Ok(encoder)
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

    /// The control token of this spelling.
    fn control_id(&self, spelling: &str) -> Option<u32> {
        self.iter().find(|(_, token, token_type)| *token == spelling && *token_type == CONTROL).map(|(id, ..)| id)
    }

    /// The table of the tokens and the merges, which files without them state by scores.
    fn table(&self, file: &GgufFile) -> Result<PairTable> {
        let has_scores = match file.text("tokenizer.ggml.model")? {
            Some(WORD_PIECE) => return PairTable::new(&self.tokens, |_| Ok(Vec::new())),
            Some("gpt2") => false,
            Some("llama" | "gemma4") => true,
            other => return Err(unsupported("tokenizer.ggml.model", other)),
        };
        PairTable::new(&self.tokens, |alone| match merges(file, alone)? {
            Some(merges) => Ok(merges),
            None if has_scores => self.merges_of_scores(file),
            None => Err(wrong("metadata tokenizer.ggml.merges is missing")),
        })
    }

    /// Checks that a table may be that of this vocabulary.
    fn check(&self, table: PairTable) -> Result<PairTable> {
        let (expected, found) = (self.tokens.len(), table.n_tokens());
        if expected == found {
            return Ok(table);
        }
        Err(wrong(format!("the packed vocabulary must have {expected} tokens, found {found}")))
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

    fn merges_of_scores(&self, file: &GgufFile) -> Result<Vec<(u32, u32)>> {
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

/// The merges that the file states, by the ids of their parts; `None` if it states none.
fn merges(file: &GgufFile, tokens: &PairTable) -> Result<Option<Vec<(u32, u32)>>> {
    let Some(merges) = texts(file, "tokenizer.ggml.merges")? else { return Ok(None) };
    let id = |token: &str| {
        let unknown = || wrong(format!("merges must join tokens of the vocabulary, found {token:?}"));
        tokens.id(token).ok_or_else(unknown)
    };
    let pair = |merge: &str| {
        let (left, right) = merge
            .split_once(' ')
            .ok_or_else(|| wrong(format!("merges must be two strings with a space between, found {merge:?}")))?;
        Ok((id(left)?, id(right)?))
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
