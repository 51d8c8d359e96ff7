//! Keys.

/// Whether a key needs no quotes.
pub(crate) fn is_word(key: &str) -> bool {
    let belongs = |character: char| character.is_alphanumeric() || "_.-".contains(character);
    !key.is_empty() && key.chars().all(belongs)
}
