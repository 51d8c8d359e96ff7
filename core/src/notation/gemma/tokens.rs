//! The control tokens around strings.

/// FunctionGemma's token, and Gemma 4's.
pub(super) const STRING_TOKENS: [&str; 2] = ["<escape>", "<|\"|>"];
