//! Byte-pair encoding of words: the merges of a vocabulary, applied to the characters of one word, the lowest rank first and of equal
//! ranks the first place first. The tokenizers library gives the same tokens; it still normalises text and splits it into words.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::tokenizer::pair_table::{PairMerge, PairTable};

/// How the characters of words become tokens before they are merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PairSettings {
    /// Whether a word that is a token as a whole becomes that token, even if no merges lead to it.
    pub(super) ignores_merges: bool,
    /// Whether a character without a token becomes the tokens of its bytes, `<0x0A>`.
    pub(super) falls_back_to_bytes: bool,
    /// The token of characters that have no other; runs of them are one token. If there is none, they are dropped.
    pub(super) unknown: Option<u32>,
}

/// Encodes words.
pub(super) struct PairEncoding {
    table: PairTable,
    settings: PairSettings,
    /// The tokens of single bytes.
    byte_ids: Box<[Option<u32>; 256]>,
}

/// A token of a word that is being merged, and its neighbours. `None` of a token that was merged with the one before it.
#[derive(Clone, Copy)]
struct WordToken {
    id: Option<u32>,
    before: Option<usize>,
    after: Option<usize>,
}

/// A merge that was possible when it was found: rank, place of the left token, and result.
type FoundMerge = Reverse<(u32, usize, u32)>;

impl PairEncoding {
    pub(super) fn new(table: PairTable, settings: PairSettings) -> Self {
        let byte_id =
            |byte: usize| settings.falls_back_to_bytes.then(|| table.id(&format!("<0x{byte:02X}>"))).flatten();
        Self { byte_ids: Box::new(std::array::from_fn(byte_id)), settings, table }
    }

    /// The tokens and merges.
    pub(super) fn table(&self) -> &PairTable {
        &self.table
    }

    /// The tokens of a word.
    pub(super) fn encode(&self, word: &str) -> Vec<u32> {
        if word.is_empty() {
            return Vec::new();
        }
        if self.settings.ignores_merges
            && let Some(id) = self.table.id(word)
        {
            return vec![id];
        }
        self.merged(self.characters(word))
    }

    /// The tokens of a word's characters.
    fn characters(&self, word: &str) -> Vec<u32> {
        let mut ids = Vec::with_capacity(word.len());
        let mut is_unknown = false;
        let mut utf8 = [0; 4];
        for character in word.chars() {
            let spelling = &*character.encode_utf8(&mut utf8);
            if let Some(id) = self.table.id(spelling) {
                ids.extend(self.settings.unknown.filter(|_| is_unknown));
                is_unknown = false;
                ids.push(id);
                continue;
            }
            let bytes = || spelling.bytes().map(|byte| self.byte_ids[usize::from(byte)]);
            match bytes().all(|id| id.is_some()) {
                true => ids.extend(bytes().flatten()),
                false => is_unknown = true,
            }
        }
        ids.extend(self.settings.unknown.filter(|_| is_unknown));
        ids
    }

    fn merged(&self, ids: Vec<u32>) -> Vec<u32> {
        let last = ids.len().saturating_sub(1);
        let token = |(at, id): (usize, u32)| WordToken {
            id: Some(id),
            before: at.checked_sub(1),
            after: Some(at + 1).filter(|_| at < last),
        };
        let mut tokens: Vec<WordToken> = ids.into_iter().enumerate().map(token).collect();
        let mut found: BinaryHeap<FoundMerge> = (0..last).filter_map(|at| self.found(&tokens, at)).collect();
        while let Some(Reverse((_, at, merged))) = found.pop() {
            // Its tokens may have been merged with others in the meantime.
            let Some((_, after)) = self.possible(&tokens, at).filter(|(merge, _)| merge.merged == merged) else {
                continue;
            };
            tokens[at].id = Some(merged);
            tokens[at].after = tokens[after].after;
            tokens[after].id = None;
            if let Some(next) = tokens[at].after {
                tokens[next].before = Some(at);
            }
            found.extend(tokens[at].before.and_then(|before| self.found(&tokens, before)));
            found.extend(self.found(&tokens, at));
        }
        tokens.into_iter().filter_map(|token| token.id).collect()
    }

    /// The merge of a token with the one after it, and the place of that.
    fn possible(&self, tokens: &[WordToken], at: usize) -> Option<(PairMerge, usize)> {
        let after = tokens[at].after?;
        Some((self.table.merge((tokens[at].id?, tokens[after].id?))?, after))
    }

    fn found(&self, tokens: &[WordToken], at: usize) -> Option<FoundMerge> {
        let (PairMerge { rank, merged }, _) = self.possible(tokens, at)?;
        Some(Reverse((rank, at, merged)))
    }
}

#[cfg(test)]
mod tests {
    use causerie_backend::SplitMix64;
    use tokenizers::Model;
    use tokenizers::models::bpe::BPE;

    use super::*;

    const LETTERS: [&str; 6] = ["a", "b", "c", "é", "▁", "👍"];

    /// A random vocabulary with its merges: pairs of earlier tokens, some of them not in the order of their lengths.
    fn vocabulary(random: &mut SplitMix64, more: &[String]) -> (Vec<String>, Vec<(u32, u32)>) {
        let mut tokens: Vec<String> = LETTERS.map(str::to_owned).to_vec();
        tokens.extend_from_slice(more);
        let mut merges = Vec::new();
        for _ in 0..60 {
            let [left, right] = [(); 2].map(|()| (random.next_u64() % tokens.len() as u64) as u32);
            let merged = tokens[left as usize].clone() + &tokens[right as usize];
            if merged.len() < 24 && !merged.contains('<') {
                merges.push((left, right));
                if !tokens.contains(&merged) {
                    tokens.push(merged);
                }
            }
        }
        (tokens, merges)
    }

    /// The tokenizers library, as an independent reference.
    #[test]
    fn words_become_the_tokens_of_the_reference() {
        let mut random = SplitMix64::new(7);
        let bytes: Vec<String> = (0..=255).map(|byte| format!("<0x{byte:02X}>")).collect();
        for round in 0..24 {
            let (has_bytes, has_unknown, ignores_merges) = (round % 2 == 1, round % 3 == 0, round % 4 < 2);
            let more = [if has_bytes { bytes.clone() } else { Vec::new() }, vec!["<unk>".to_owned()]].concat();
            let (tokens, merges) = vocabulary(&mut random, &more);
            let spellings: Vec<&str> = tokens.iter().map(String::as_str).collect();
            let ids = tokens.iter().cloned().zip(0u32..).collect::<ahash::AHashMap<_, _>>();
            let unknown = has_unknown.then(|| ids["<unk>"]);
            let pairs = |(left, right): &(u32, u32)| (tokens[*left as usize].clone(), tokens[*right as usize].clone());
            let mut reference = BPE::builder().vocab_and_merges(ids, merges.iter().map(pairs).collect());
            reference = reference.byte_fallback(has_bytes).ignore_merges(ignores_merges).fuse_unk(true);
            if has_unknown {
                reference = reference.unk_token("<unk>".to_owned());
            }
            let reference = reference.build().unwrap();
            let settings = PairSettings { ignores_merges, falls_back_to_bytes: has_bytes, unknown };
            let encoding = PairEncoding::new(PairTable::new(&spellings, |_| Ok(merges)).unwrap(), settings);
            for length in (0..40).chain([200, 3000]) {
                let letters = || LETTERS.iter().chain(&["x", "ß"]);
                let word: String =
                    (0..length).filter_map(|_| letters().nth((random.next_u64() % 8) as usize)).copied().collect();
                let expected: Vec<u32> = reference.tokenize(&word).unwrap().iter().map(|token| token.id).collect();
                assert_eq!(encoding.encode(&word), expected, "{settings:?}, {word:?}");
            }
        }
    }

    /// If each merge searched the whole word, this would take hours.
    #[test]
    fn a_long_word_takes_little_time() {
        let table = PairTable::new(&["a", "aa", "aaaa"], |_| Ok(vec![(0, 0), (1, 1)])).unwrap();
        let encoding = PairEncoding::new(table, PairSettings::default());
        assert_eq!(encoding.encode(&"a".repeat(1 << 20)), vec![2; 1 << 18]);
    }
}
