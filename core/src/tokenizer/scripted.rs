//! The vocabulary of a scripted model: control tokens, single bytes, and the tokens of the script.

use std::collections::HashMap;

use tokenizers::models::bpe::BPE;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

use crate::error::Result;
use crate::tokenizer::bytes::{LeadingSpaces, Spelling};
use crate::tokenizer::special::SpecialTokens;
use crate::tokenizer::{ModelTokenizer, TokenText, TokenizerParts, guarded};

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

impl ModelTokenizer {
    /// Creates a tokenizer whose last tokens are those of a script, and returns the id of the first of them. Text of prompts
    /// is encoded to single bytes.
    pub(crate) fn scripted(script: impl IntoIterator<Item = TokenText>) -> Result<(Self, u32)> {
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
        let mut tokenizer = Self::of(TokenizerParts {
            encoder,
            texts,
            leading: LeadingSpaces::Kept,
            unknown_id: None,
            bos_id: id(BOS),
            adds_bos: true,
            end_ids: id(END).into_iter().collect(),
            special: SpecialTokens::default(),
            strips: HashMap::new(),
        })?;
        // Replies of a script use its own tokens, and never those of single bytes.
        tokenizer.is_learned = false;
        Ok((tokenizer, first_id))
    }

    /// The first token that ends a reply; `None` if there is none.
    pub(crate) fn end_id(&self) -> Option<u32> {
        self.end_ids.first().copied()
    }
}
