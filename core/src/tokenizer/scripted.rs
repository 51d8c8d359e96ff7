//! The vocabulary of a scripted model: control tokens, single bytes, and the tokens of the script.

use std::collections::HashMap;

use tokenizers::models::bpe::BPE;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

use crate::error::Result;
use crate::tokenizer::bytes::{LeadingSpaces, Spelling, TokenText};
use crate::tokenizer::frames::TextFrames;
use crate::tokenizer::guarded::guarded;
use crate::tokenizer::parts::TokenizerParts;
use crate::tokenizer::special::SpecialTokens;

const BOS: &str = "<|startoftext|>";
const END: &str = "<|im_end|>";
/// LFM2's control tokens.
const CONTROL: [&str; 9] = [
    BOS,
    "<|im_start|>",
    END,
    "<|tool_list_start|>",
    "<|tool_list_end|>",
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "<|tool_response_start|>",
    "<|tool_response_end|>",
];

/// The parts of a tokenizer whose last tokens are the tokens of a script, and the id of the first of them.
pub(super) fn parts(script: impl IntoIterator<Item = TokenText>) -> Result<(TokenizerParts, u32)> {
    let mut texts: Vec<TokenText> = CONTROL.iter().map(|spelling| TokenText::Control((*spelling).into())).collect();
    let mut alphabet: Vec<char> = ByteLevel::alphabet().into_iter().collect();
    alphabet.sort_unstable();
    let n_control = texts.len() as u32;
    let vocabulary = alphabet.iter().zip(n_control..).map(|(letter, id)| (letter.to_string(), id)).collect();
    let spelling = Spelling::byte_level();
    texts.extend(alphabet.iter().map(|letter| TokenText::Bytes(spelling.bytes(&letter.to_string()))));
    let first_id = texts.len() as u32;
    texts.extend(script);
    let bytes: ahash::AHashMap<String, u32> = vocabulary;
    let model = guarded("the script", || BPE::builder().vocab_and_merges(bytes, Vec::new()).build())?;
    let mut encoder = tokenizers::Tokenizer::new(model);
    encoder.with_pre_tokenizer(Some(ByteLevel::new(false, true, false)));
    let id = |spelling| CONTROL.iter().position(|control| *control == spelling).map(|id| id as u32);
    let parts = TokenizerParts {
        encoder,
        pairs: None,
        texts,
        leading: LeadingSpaces::Kept,
        unknown_id: None,
        bos_id: id(BOS),
        adds_bos: true,
        end_ids: id(END).into_iter().collect(),
        special: SpecialTokens::default(),
        strips: HashMap::new(),
        frames: Some(TextFrames::default()),
    };
    Ok((parts, first_id))
}
