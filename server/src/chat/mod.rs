//! What `causerie chat` and the page offer a model.

/// The system prompt.
pub const SYSTEM_PROMPT: &str = include_str!("system_prompt.txt");

/// The functions, as chat completions' `tools`.
pub const FUNCTIONS: &str = include_str!("functions.json");
