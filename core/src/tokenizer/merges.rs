//! Derives the merges of a SentencePiece vocabulary from the scores of its tokens, because such files contain no merges.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;

/// Size limit in bytes of a token that merges can create; SentencePiece has some of a hundred. All ways to split a token are
/// tried, which would take hours for one of megabytes.
const MAX_TOKEN: usize = 512;
/// Limit of merges; Llama 2 has 61 thousand. A malicious vocabulary could have enough to fill the memory.
const MAX_MERGES: usize = 4 << 20;

/// All merges of two tokens to a third, by the ids of the two, the highest scores first, as transformers derives them.
///
/// `scores` are finite, one per token. Tokens that are not `mergeable`, above all control tokens, are never the result of a
/// merge, so that no text becomes one. `None` if there are too many merges.
pub(super) fn merges_of_scores(
    tokens: &[&str],
    scores: &[f32],
    mergeable: impl Fn(usize) -> bool,
) -> Option<Vec<(u32, u32)>> {
    let ids: HashMap<&str, usize> = tokens.iter().enumerate().map(|(id, token)| (*token, id)).collect();
    let mut merges = Vec::new();
    let made = |(id, token): &(usize, &&str)| mergeable(*id) && token.len() <= MAX_TOKEN;
    for (id, token) in tokens.iter().enumerate().filter(made) {
        let parts = token.char_indices().skip(1).filter_map(|(at, _)| {
            let (left, right) = token.split_at(at);
            Some((*ids.get(left)?, *ids.get(right)?))
        });
        let mut parts: Vec<(usize, usize)> = parts.collect();
        parts.sort_unstable();
        merges.extend(parts.into_iter().map(|parts| (scores[id], parts)));
        if MAX_MERGES < merges.len() {
            return None;
        }
    }
    let lengths: Vec<usize> = tokens.iter().map(|token| token.chars().count()).collect();
    let longer_first = |(left, right): (usize, usize)| Reverse((lengths[left], lengths[right]));
    // The sort is stable: equal merges keep the order of their ids.
    merges.sort_by(|(a, a_parts), (b, b_parts)| {
        let higher_first = b.partial_cmp(a).unwrap_or(Ordering::Equal);
        higher_first.then_with(|| longer_first(*a_parts).cmp(&longer_first(*b_parts)))
    });
    // Ids have 32 bits.
    Some(merges.into_iter().map(|(_, (left, right))| (left as u32, right as u32)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn higher_scores_come_first_and_control_tokens_never() {
        let tokens = ["<s>", "<", "s>", "a", "aa", "aaa"];
        let merges = merges_of_scores(&tokens, &[9.0, 0.0, 0.0, 0.0, 1.0, 2.0], |id| id != 0).unwrap();
        let spelled: Vec<_> =
            merges.iter().map(|(left, right)| (tokens[*left as usize], tokens[*right as usize])).collect();
        assert_eq!(spelled, [("aa", "a"), ("a", "aa"), ("a", "a")]);
    }

    #[test]
    fn a_very_long_token_has_no_merges() {
        let long = "a".repeat(32 << 20);
        let tokens = ["a", "aa", long.as_str()];
        let merges = merges_of_scores(&tokens, &[0.0; 3], |_| true).unwrap();
        assert_eq!(merges, [(0, 0)]);
    }

    #[test]
    fn a_vocabulary_with_too_many_merges_is_refused() {
        let tokens: Vec<String> =
            (0..=256).flat_map(|i| (0..=256 - i).map(move |j| "a".repeat(i) + &"b".repeat(j))).collect();
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        assert_eq!(merges_of_scores(&tokens, &vec![0.0; tokens.len()], |_| true), None);
    }
}
