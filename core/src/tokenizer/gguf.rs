//! The tokenizer that a GGUF file carries in its metadata.

use tokenizers::models::bpe::BPE;
use tokenizers::pre_tokenizers::byte_level::ByteLevel as ByteLevelSplit;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior;
use tokenizers::{AddedToken, PreTokenizerWrapper, Tokenizer as Encoder};

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::bytes::{ByteLevel, TokenText};
use crate::tokenizer::{Parts, guarded};
use crate::weights::GgufFile;

/// How Llama 3 cuts text into words before merging; LFM2 cuts in the same way.
const LLAMA3_WORDS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Values of `tokenizer.ggml.token_type`.
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;

pub(crate) fn read(file: &GgufFile) -> Result<Parts> {
    match file.text("tokenizer.ggml.model")? {
        Some("gpt2") => {}
        other => return Err(unsupported("tokenizer.ggml.model", other)),
    }
    let ignore_merges = match file.text("tokenizer.ggml.pre")? {
        Some("lfm2" | "llama3" | "llama-bpe" | "llama-v3") => true,
        other => return Err(unsupported("tokenizer.ggml.pre", other)),
    };
    let tokens = texts(file, "tokenizer.ggml.tokens")?;
    let merges = texts(file, "tokenizer.ggml.merges")?;
    let types = file.integers("tokenizer.ggml.token_type")?.unwrap_or_else(|| vec![1; tokens.len()]);
    if types.len() != tokens.len() {
        return Err(wrong(format!("{} token types for {} tokens", types.len(), tokens.len())));
    }
    let byte_level = ByteLevel::new();
    let text_of = |(token, kind): (&&str, &i64)| match *kind {
        CONTROL => TokenText::Control((*token).into()),
        USER_DEFINED => TokenText::Bytes(token.as_bytes().into()),
        _ => TokenText::Bytes(byte_level.bytes(token)),
    };
    let texts = tokens.iter().zip(&types).map(text_of).collect();
    let user_defined = tokens.iter().zip(&types).filter(|(_, kind)| **kind == USER_DEFINED);
    let user_defined: Vec<AddedToken> =
        user_defined.map(|(token, _)| AddedToken::from(*token, false).normalized(false)).collect();
    let encoder = guarded("the vocabulary", || encoder(&tokens, &merges, ignore_merges, &user_defined))?;
    let id = |key: &str| Ok(file.count(key)?.and_then(|id| u32::try_from(id).ok()));
    let end_keys = ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"];
    let mut end_ids = Vec::new();
    for key in end_keys {
        end_ids.extend(id(key)?);
    }
    Ok(Parts {
        encoder,
        texts,
        bos_id: id("tokenizer.ggml.bos_token_id")?,
        end_ids,
        template: file.text("tokenizer.chat_template")?.map(str::to_owned),
    })
}

fn encoder(
    tokens: &[&str],
    merges: &[&str],
    ignore_merges: bool,
    user_defined: &[AddedToken],
) -> Result<Encoder, tokenizers::Error> {
    let ids = tokens.iter().zip(0u32..).map(|(token, id)| ((*token).to_owned(), id)).collect::<ahash::AHashMap<_, _>>();
    if ids.len() != tokens.len() {
        return Err("a token stands twice".into());
    }
    let pair = |merge: &&str| {
        let (left, right) = merge.split_once(' ').ok_or_else(|| format!("merge {merge:?} is no pair"))?;
        Ok::<_, tokenizers::Error>((left.to_owned(), right.to_owned()))
    };
    let merges = merges.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
    let model = BPE::builder().vocab_and_merges(ids, merges).ignore_merges(ignore_merges).build()?;
    let mut encoder = Encoder::new(model);
    let words = Split::new(SplitPattern::Regex(LLAMA3_WORDS.to_owned()), SplitDelimiterBehavior::Isolated, false)?;
    let bytes = ByteLevelSplit::new(false, true, false);
    encoder.with_pre_tokenizer(Some(Sequence::new(vec![
        PreTokenizerWrapper::Split(words),
        PreTokenizerWrapper::ByteLevel(bytes),
    ])));
    encoder.add_tokens(user_defined.to_vec())?;
    Ok(encoder)
}

fn texts<'a>(file: &'a GgufFile, key: &str) -> Result<Vec<&'a str>> {
    let strings = file.byte_strings(key)?.ok_or_else(|| wrong(format!("metadata {key} is missing")))?;
    let texts: Result<Vec<&str>, _> = strings.into_iter().map(std::str::from_utf8).collect();
    texts.map_err(|_| wrong(format!("metadata {key} holds invalid UTF-8")))
}

fn unsupported(key: &str, value: Option<&str>) -> SdkError {
    match value {
        Some(value) => wrong(format!("{key} is {value:?}, which is not supported")),
        None => wrong(format!("metadata {key} is missing")),
    }
}

fn wrong(message: String) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}
