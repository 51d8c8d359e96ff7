//! The tokenizer of vocabularies whose tokens are in the order in which they were merged, as tiktoken has them. Such files have
//! no merges: the parts of a token are what the tokens before it make of its bytes.

use std::collections::HashMap;

use tokenizers::Tokenizer as Encoder;
use tokenizers::models::bpe::BPE;

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::bytes::{LeadingSpaces, TokenText, symbols_of_bytes};
use crate::tokenizer::frames::TextFrames;
use crate::tokenizer::guarded::guarded;
use crate::tokenizer::parts::TokenizerParts;
use crate::tokenizer::special::SpecialTokens;
use crate::tokenizer::words::WordRule;

/// Bytes of a token at most that merges make; known vocabularies stay below 200.
const MAX_TOKEN: usize = 512;

/// The tokenizer of tokens in their order, with GPT-2's rule for words.
pub(super) fn parts(tokens: &[Box<[u8]>]) -> Result<TokenizerParts> {
    let missing = || SdkError::new(ErrorKind::Internal, "the rule for words is missing");
    // Published vocabularies have an empty token, which no text becomes. Of equal tokens, the first counts.
    let mut ranks: HashMap<&[u8], usize> = HashMap::new();
    for (rank, token) in tokens.iter().enumerate().filter(|(_, token)| !token.is_empty()) {
        ranks.entry(token).or_insert(rank);
    }
    let rule = WordRule::named("gpt-2").ok_or_else(missing)?;
    let symbols = symbols_of_bytes();
    let spelled = |bytes: &[u8]| bytes.iter().map(|byte| symbols[usize::from(*byte)]).collect::<String>();
    let merges: Vec<(String, String)> = tokens
        .iter()
        .enumerate()
        .filter(|(rank, token)| ranks.get(&token[..]) == Some(rank))
        .filter_map(|(rank, token)| parts_of(token, rank, &ranks))
        .map(|(left, right)| (spelled(left), spelled(right)))
        .collect();
    let known = tokens.iter().zip(0u32..).filter(|(token, id)| ranks.get(&token[..]) == Some(&(*id as usize)));
    let ids = known.map(|(token, id)| (spelled(token), id)).collect::<ahash::AHashMap<_, _>>();
    let encoder = guarded("the vocabulary", || {
        let bpe = BPE::builder().vocab_and_merges(ids, merges);
        let mut encoder = Encoder::new(bpe.build()?);
        encoder.with_pre_tokenizer(Some(rule.splitter()?));
        Ok(encoder)
    })?;
    Ok(TokenizerParts {
        encoder,
        pairs: None,
        texts: tokens.iter().map(|token| TokenText::Bytes(token.clone())).collect(),
        leading: LeadingSpaces::Kept,
        unknown_id: None,
        bos_id: None,
        adds_bos: false,
        end_ids: Vec::new(),
        special: SpecialTokens::default(),
        strips: HashMap::new(),
        frames: Some(TextFrames::default()),
    })
}

/// The two parts that a token is merged from; `None` for a token that no merge makes.
fn parts_of<'a>(token: &'a [u8], rank: usize, ranks: &HashMap<&[u8], usize>) -> Option<(&'a [u8], &'a [u8])> {
    if MAX_TOKEN < token.len() {
        return None;
    }
    // Ends of the parts so far.
    let mut ends: Vec<usize> = (1..=token.len()).collect();
    while 2 < ends.len() {
        let start = |at: usize| if at == 0 { 0 } else { ends[at - 1] };
        let joined = (0..ends.len() - 1).filter_map(|at| Some((*ranks.get(&token[start(at)..ends[at + 1]])?, at)));
        let (_, at) = joined.filter(|(joined, _)| *joined < rank).min()?;
        ends.remove(at);
    }
    let [middle, _] = ends[..] else { return None };
    Some(token.split_at(middle))
}

#[cfg(test)]
mod tests {
    use crate::tokenizer::{ModelTokenizer, Segment};

    #[test]
    fn merges_follow_from_the_order_of_tokens_and_empty_or_repeated_tokens_are_never_written() {
        let bytes = (0..=255u8).map(|byte| vec![byte].into());
        let tokens: Vec<Box<[u8]>> =
            bytes.chain([&b"ab"[..], b"", b"abc", b"ab", b" abc", b"xyz"].map(Into::into)).collect();
        let tokenizer = ModelTokenizer::of_ranks(&tokens).unwrap();
        let ids = |text: &str| tokenizer.encode(&[Segment::Text(text.to_owned())]).unwrap();
        assert_eq!(ids("abc abc ab"), [258, 260, 32, 256]);
        assert_eq!(ids("xyz"), [120, 121, 122]); // no two of its parts make a token
    }
}
