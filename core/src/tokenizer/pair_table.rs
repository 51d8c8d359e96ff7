//! The tokens and the merges of a vocabulary in one block of bytes, which can lie in a mapped file. Both are found by hash tables.
//!
//! The tokenizers library has maps of strings instead, which take most of a second and a hundred megabytes for the largest
//! vocabularies.
//!
//! All numbers are little-endian integers of 32 bits. The block has a head (version, number of tokens, bits of the number of their slots,
//! bytes of all spellings, bits of the number of slots of merges), the end of each token's spelling, slots of tokens (id plus one, or
//! 0), the spellings, and slots of merges (left token plus one, or 0; right token; rank; merged token).

use crate::error::{ErrorKind, Result, SdkError};
use crate::memory::exhausted;
use crate::weights::SectionBytes;

/// The version of the block.
const VERSION: u32 = 1;
/// Bytes of the head.
const HEAD: usize = 20;
/// Bytes of a number.
const NUMBER: usize = 4;
/// Bytes of the slot of a merge.
const MERGE: usize = 4 * NUMBER;
/// Slots that are looked at for one key. Tables are at most two thirds full, so that real vocabularies need some dozens; a vocabulary
/// that was made to need more is refused.
const MAX_PROBES: usize = 1024;
/// Bits of the number of slots at most.
const MAX_BITS: u32 = 26;

/// The tokens and the merges of a vocabulary.
pub(crate) struct PairTable {
    bytes: SectionBytes,
    n_tokens: usize,
    places: BlockPlaces,
    token_bits: u32,
    merge_bits: u32,
}

/// A merge of two tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PairMerge {
    /// Merges of lower rank come first.
    pub(super) rank: u32,
    pub(super) merged: u32,
}

impl PairTable {
    /// The table of these tokens, by id, and of the merges that `merges` gives, in their order. It gets the table of the tokens alone.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`] for tokens that occur twice, and for merges to a token that does not exist.
    pub(super) fn new(tokens: &[&str], merges: impl FnOnce(&Self) -> Result<Vec<(u32, u32)>>) -> Result<Self> {
        Self::of_words(&tokens.iter().map(|token| Some(*token)).collect::<Vec<_>>(), merges)
    }

    /// As [`new`](Self::new), with ids that have no token, or one that is never found.
    pub(super) fn of_words(
        tokens: &[Option<&str>],
        merges: impl FnOnce(&Self) -> Result<Vec<(u32, u32)>>,
    ) -> Result<Self> {
        let table = Self::of_tokens(tokens)?;
        let merges = merges(&table)?;
        table.with_merges(&merges)
    }

    fn of_tokens(words: &[Option<&str>]) -> Result<Self> {
        let tokens = || words.iter().map(|word| word.unwrap_or_default());
        let n_spelled: usize = tokens().map(str::len).sum();
        let count = |n: usize| u32::try_from(n).map_err(|_| too_large());
        let head = [VERSION, count(words.len())?, bits(words.len())?, count(n_spelled)?, 0];
        let places = BlockPlaces::new(head).ok_or_else(too_large)?;
        let mut bytes = head.map(u32::to_le_bytes).concat();
        reserve(&mut bytes, places.end)?;
        let mut end = 0;
        for token in tokens() {
            end += token.len();
            bytes.extend((end as u32).to_le_bytes()); // at most `n_spelled`
        }
        bytes.resize(places.spellings, 0);
        tokens().for_each(|token| bytes.extend_from_slice(token.as_bytes()));
        bytes.resize(places.end, 0);
        let mut table = Self::read(SectionBytes::Owned(bytes))?;
        for (word, id) in words.iter().zip(0u32..) {
            word.map_or(Ok(()), |word| table.put_token(word, id))?;
        }
        Ok(table)
    }

    fn with_merges(self, merges: &[(u32, u32)]) -> Result<Self> {
        let SectionBytes::Owned(mut bytes) = self.bytes else { return Err(wrong("a mapped table is complete")) };
        let merge_bits = bits(merges.len())?;
        bytes[HEAD - NUMBER..HEAD].copy_from_slice(&merge_bits.to_le_bytes());
        bytes.truncate(self.places.merges);
        let end = self.places.merges + (MERGE << merge_bits);
        reserve(&mut bytes, end)?;
        bytes.resize(end, 0);
        let mut table = Self::read(SectionBytes::Owned(bytes))?;
        let mut spelled = String::new();
        for ((left, right), rank) in merges.iter().zip(0u32..) {
            spelled.clear();
            [left, right].into_iter().for_each(|id| spelled.push_str(table.spelling(*id).unwrap_or_default()));
            let merged = table
                .id(&spelled)
                .ok_or_else(|| wrong(format!("merges must lead to a token of the vocabulary, found {spelled:?}")))?;
            table.put_merge((*left, *right), PairMerge { rank, merged })?;
        }
        Ok(table)
    }

    /// Reads a block. Its numbers are checked when they are used.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`] for a block of another version, or whose parts do not fill it.
    pub(super) fn read(bytes: SectionBytes) -> Result<Self> {
        let broken = || wrong("the packed vocabulary must be complete");
        let head: Vec<u32> = (0..5).map_while(|at| number(bytes.bytes(), at * NUMBER)).collect();
        let head: [u32; 5] = head.try_into().map_err(|_| broken())?;
        let [version, n_tokens, token_bits, _, merge_bits] = head;
        let places = BlockPlaces::new(head).filter(|places| version == VERSION && places.end == bytes.bytes().len());
        let places = places.ok_or_else(broken)?;
        Ok(Self { bytes, n_tokens: n_tokens as usize, places, token_bits, merge_bits })
    }

    /// The block.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.bytes()
    }

    /// The number of tokens.
    pub(super) fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// How a token is spelled.
    pub(super) fn spelling(&self, id: u32) -> Option<&str> {
        let end = |id: usize| number(self.bytes(), HEAD + id * NUMBER).map(|end| end as usize);
        let id = Some(id as usize).filter(|id| *id < self.n_tokens)?;
        let start = if id == 0 { 0 } else { end(id - 1)? };
        let spellings = self.bytes().get(self.places.spellings..self.places.merges)?;
        std::str::from_utf8(spellings.get(start..end(id)?)?).ok()
    }

    /// The token with this spelling.
    pub(super) fn id(&self, spelling: &str) -> Option<u32> {
        let probes = probes(hash(spelling.as_bytes()), self.token_bits);
        for slot in probes {
            let id = number(self.bytes(), self.places.tokens + slot * NUMBER)?.checked_sub(1)?;
            if self.spelling(id) == Some(spelling) {
                return Some(id);
            }
        }
        None
    }

    /// The merge of two tokens.
    pub(super) fn merge(&self, (left, right): (u32, u32)) -> Option<PairMerge> {
        for slot in probes(pair_hash((left, right)), self.merge_bits) {
            let start = self.places.merges + slot * MERGE;
            let [found, after, rank, merged] =
                std::array::from_fn(|at| number(self.bytes(), start + at * NUMBER).unwrap_or_default());
            if (found.checked_sub(1)?, after) == (left, right) {
                return Some(PairMerge { rank, merged }).filter(|merge| (merge.merged as usize) < self.n_tokens);
            }
        }
        None
    }

    fn put_token(&mut self, token: &str, id: u32) -> Result<()> {
        for slot in probes(hash(token.as_bytes()), self.token_bits) {
            let start = self.places.tokens + slot * NUMBER;
            match number(self.bytes(), start).unwrap_or_default().checked_sub(1) {
                None => return self.put(start, [id + 1]),
                Some(other) if self.spelling(other) == Some(token) => {
                    return Err(wrong(format!("a token occurs twice: {token:?}")));
                }
                Some(_) => {}
            }
        }
        Err(wrong("the vocabulary has too many similar tokens"))
    }

    /// Adds a merge, or replaces the one of the same tokens.
    fn put_merge(&mut self, (left, right): (u32, u32), PairMerge { rank, merged }: PairMerge) -> Result<()> {
        let key = [left + 1, right]; // ids are below the number of tokens
        for slot in probes(pair_hash((left, right)), self.merge_bits) {
            let start = self.places.merges + slot * MERGE;
            let found = [0, NUMBER].map(|at| number(self.bytes(), start + at).unwrap_or_default());
            if found[0] == 0 || found == key {
                return self.put(start, [key[0], key[1], rank, merged]);
            }
        }
        Err(wrong("the vocabulary has too many similar merges"))
    }

    fn put<const N: usize>(&mut self, start: usize, numbers: [u32; N]) -> Result<()> {
        let SectionBytes::Owned(bytes) = &mut self.bytes else { return Err(wrong("a mapped table is complete")) };
        for (to, number) in bytes[start..].chunks_exact_mut(NUMBER).zip(numbers) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        Ok(())
    }
}

/// Where the parts of a block begin, and where it ends.
struct BlockPlaces {
    tokens: usize,
    spellings: usize,
    merges: usize,
    end: usize,
}

impl BlockPlaces {
    /// `None` for impossible numbers.
    fn new([_, n_tokens, token_bits, n_spelled, merge_bits]: [u32; 5]) -> Option<Self> {
        if MAX_BITS < token_bits.max(merge_bits) {
            return None;
        }
        let tokens = HEAD.checked_add(usize::try_from(n_tokens).ok()?.checked_mul(NUMBER)?)?;
        let spellings = tokens.checked_add(NUMBER << token_bits)?;
        let merges = spellings.checked_add(usize::try_from(n_spelled).ok()?)?;
        Some(Self { tokens, spellings, merges, end: merges.checked_add(MERGE << merge_bits)? })
    }
}

/// Bits of the number of slots for so many keys, a third of which stay free.
fn bits(n_keys: usize) -> Result<u32> {
    let n_slots = n_keys.saturating_add(n_keys / 2).saturating_add(2).checked_next_power_of_two();
    let bits = n_slots.ok_or_else(too_large)?.trailing_zeros();
    if MAX_BITS < bits { Err(too_large()) } else { Ok(bits) }
}

/// Makes room for a whole block of this many bytes.
fn reserve(bytes: &mut Vec<u8>, n_bytes: usize) -> Result<()> {
    let missing = n_bytes.saturating_sub(bytes.len());
    bytes.try_reserve_exact(missing).map_err(|_| exhausted("the vocabulary", n_bytes))
}

fn too_large() -> SdkError {
    wrong("the vocabulary is too large")
}

/// The slots where a key may be, in their order.
fn probes(hash: u64, bits: u32) -> impl Iterator<Item = usize> {
    let n_slots = 1usize << bits;
    // The shift takes the upper bits, which depend on all of the key.
    let first = (hash >> 32) as usize;
    (0..n_slots.min(MAX_PROBES)).map(move |at| (first + at) & (n_slots - 1))
}

/// Odd, with bits in no pattern.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// A hash of bytes, the same on every device. Keys that were chosen for it can collide; [`MAX_PROBES`] limits what they cost.
fn hash(bytes: &[u8]) -> u64 {
    let mut state = bytes.len() as u64 ^ FACTOR;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = folded(state ^ u64::from_le_bytes(word), FACTOR);
    }
    folded(state, FACTOR)
}

fn pair_hash((left, right): (u32, u32)) -> u64 {
    folded(folded((u64::from(left) << 32 | u64::from(right)) ^ FACTOR, FACTOR), FACTOR)
}

/// The two halves of a product, one onto the other.
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64 // the halves
}

/// The number at a place of a block.
fn number(bytes: &[u8], start: usize) -> Option<u32> {
    bytes.get(start..)?.first_chunk().map(|number| u32::from_le_bytes(*number))
}

fn wrong(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> PairTable {
        let tokens = ["a", "b", "ab", "", "abab", "é"];
        let merges = |alone: &PairTable| {
            assert_eq!(alone.merge((0, 1)), None);
            Ok(vec![(0, 1), (2, 2)])
        };
        PairTable::new(&tokens, merges).unwrap()
    }

    #[test]
    fn tokens_and_merges_are_found_also_in_a_block_that_was_stored() {
        let built = table();
        let stored = PairTable::read(SectionBytes::Owned(built.bytes().to_vec())).unwrap();
        for table in [built, stored] {
            for (spelling, id) in ["a", "b", "ab", "", "abab", "é"].into_iter().zip(0..) {
                assert_eq!((table.id(spelling), table.spelling(id)), (Some(id), Some(spelling)));
            }
            assert_eq!((table.id("ba"), table.spelling(6), table.n_tokens()), (None, None, 6));
            assert_eq!(table.merge((0, 1)), Some(PairMerge { rank: 0, merged: 2 }));
            assert_eq!(table.merge((2, 2)), Some(PairMerge { rank: 1, merged: 4 }));
            assert_eq!(table.merge((1, 0)), None);
        }
    }

    #[test]
    fn a_vocabulary_must_have_each_token_once_and_the_results_of_its_merges() {
        let none = |_: &PairTable| Ok(Vec::new());
        let message = |err: Option<SdkError>| err.unwrap().message().to_owned();
        assert!(message(PairTable::new(&["a", "b", "a"], none).err()).contains("a token occurs twice"));
        let merges = |_: &PairTable| Ok(vec![(0, 1)]);
        assert!(message(PairTable::new(&["a", "b"], merges).err()).contains(r#"found "ab""#));
        assert!(PairTable::new(&[], none).unwrap().id("").is_none());
    }

    /// The tables of all sizes are found in, and a last merge counts.
    #[test]
    fn many_tokens_are_found() {
        for n in [1usize, 2, 3, 100, 30_000] {
            let spellings: Vec<String> = (0..n).map(|at| format!("token {at}")).collect();
            let tokens: Vec<&str> = spellings.iter().map(String::as_str).collect();
            let table = PairTable::new(&tokens, |_| Ok(Vec::new())).unwrap();
            assert!(tokens.iter().zip(0..).all(|(token, id)| table.id(token) == Some(id)));
            assert_eq!(table.id("token"), None);
        }
        let table = PairTable::new(&["a", "aa"], |_| Ok(vec![(0, 0), (0, 0)])).unwrap();
        assert_eq!(table.merge((0, 0)), Some(PairMerge { rank: 1, merged: 1 }));
    }

    #[test]
    fn a_damaged_block_is_refused_or_finds_nothing_outside_of_it() {
        let whole = table().bytes().to_vec();
        for length in 0..whole.len() {
            assert!(PairTable::read(SectionBytes::Owned(whole[..length].to_vec())).is_err(), "{length} bytes");
        }
        for at in 0..whole.len() {
            for bits in [1, 0x80, 0xFF] {
                let mut bytes = whole.clone();
                bytes[at] ^= bits;
                let Ok(table) = PairTable::read(SectionBytes::Owned(bytes)) else { continue };
                for spelling in ["a", "b", "ab", "", "abab", "x"] {
                    assert!(table.id(spelling).is_none_or(|id| (id as usize) < table.n_tokens()));
                }
                let ids = || (0..7).chain([u32::MAX]);
                for pair in ids().flat_map(|left| ids().map(move |right| (left, right))) {
                    assert!(table.merge(pair).is_none_or(|merge| (merge.merged as usize) < table.n_tokens()));
                }
            }
        }
    }
}
