//! What each token adds to the text, in one block of bytes. Working it out from the spellings takes longer than reading it.
//!
//! All numbers are little-endian integers of 32 bits: the number of tokens, then twice the length of each token's text, plus one for a
//! control token. The texts follow.

use crate::tokenizer::bytes::TokenText;

/// Bytes of a number.
const NUMBER: usize = 4;

pub(super) fn to_bytes(texts: &[TokenText]) -> Vec<u8> {
    let number = |n: usize| (n as u32).to_le_bytes(); // vocabularies are checked to be far smaller
    let mut bytes = number(texts.len()).to_vec();
    bytes.extend(texts.iter().flat_map(|text| number(2 * text.n_bytes() + usize::from(is_control(text)))));
    for text in texts {
        match text {
            TokenText::Bytes(text) => bytes.extend_from_slice(text),
            TokenText::Control(spelling) => bytes.extend_from_slice(spelling.as_bytes()),
        }
    }
    bytes
}

/// Reads a block; `None` if its parts do not fill it.
pub(super) fn read(bytes: &[u8]) -> Option<Vec<TokenText>> {
    let (n_tokens, rest) = bytes.split_first_chunk().map(|(n, rest)| (u32::from_le_bytes(*n) as usize, rest))?;
    let (numbers, mut rest) = rest.split_at_checked(n_tokens.checked_mul(NUMBER)?)?;
    let mut texts = Vec::with_capacity(n_tokens); // at most the bytes that there are
    for number in numbers.as_chunks().0 {
        let number = u32::from_le_bytes(*number);
        let (text, after) = rest.split_at_checked((number / 2) as usize)?;
        texts.push(match number % 2 {
            0 => TokenText::Bytes(text.into()),
            _ => TokenText::Control(std::str::from_utf8(text).ok()?.into()),
        });
        rest = after;
    }
    rest.is_empty().then_some(texts)
}

fn is_control(text: &TokenText) -> bool {
    matches!(text, TokenText::Control(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_they_were_stored_and_damaged_blocks_are_refused() {
        let control = |spelling: &str| TokenText::Control(spelling.into());
        let bytes = |text: &[u8]| TokenText::Bytes(text.into());
        let texts = [control("<s>"), bytes(b""), bytes(b" a"), bytes(&[0xFF, 0xC3]), control("é"), control("")];
        // Written by hand: six tokens, and their lengths.
        let numbers: Vec<u8> = [6u32, 7, 0, 4, 4, 5, 1].iter().flat_map(|number| number.to_le_bytes()).collect();
        let block = [&numbers[..], b"<s> a", &[0xFF, 0xC3, 0xC3, 0xA9]].concat();
        assert_eq!((to_bytes(&texts), read(&block)), (block.clone(), Some(texts.to_vec())));
        for length in 0..block.len() {
            assert_eq!(read(&block[..length]), None, "{length} bytes");
        }
        assert_eq!(read(&[&block[..], b"x"].concat()), None);
        for at in 0..block.len() {
            for bits in [1, 0x80, 0xFF] {
                let mut changed = block.clone();
                changed[at] ^= bits;
                assert_ne!(read(&changed), Some(texts.to_vec()), "byte {at}");
            }
        }
        assert_eq!(read(&u32::MAX.to_le_bytes()), None);
    }
}
