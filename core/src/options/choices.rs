//! Options that choose among alternatives.

__choices!(choices);

/// Whether the model may or must call functions.
///
/// ```
/// use causerie::{GenerationOptions, ToolChoice};
///
/// let tool_choice = ToolChoice::Function("get_weather".to_owned());
/// let options = GenerationOptions { tool_choice, ..Default::default() };
/// # assert!(options.check().is_ok());
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No function is called. The prompt still offers them, so that the cached prefix of the prompt stays valid.
    None,
    /// The reply begins with a call, after its reasoning if it has any.
    Required,
    /// The reply begins with a call of this function, and calls no other function.
    Function(String),
}

/// How a history that does not fit the context is handled. The history itself is never edited.
///
/// ```
/// use causerie::{ContextPolicy, GenerationOptions};
///
/// let context_policy = ContextPolicy::Slide { shrink_tool_results: true };
/// let endless_chat = GenerationOptions { context_policy, ..Default::default() };
/// # assert!(endless_chat.check().is_ok());
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextPolicy {
    /// Fails with [`ErrorKind::PromptExceedsContext`](crate::ErrorKind::PromptExceedsContext) if the prompt and one token of
    /// reply do not fit.
    #[default]
    Error,
    /// Leaves whole turns out of the prompt, the oldest first, until it fits together with a reply of `max_tokens`, or of 256
    /// tokens if that is `None`, but of half the context at most. Leaves out up to a quarter of the context more than
    /// necessary, so that the following prompts leave out the same turns and the prefix cache stays valid. The system
    /// message, the functions and the user's last turn are always kept. Calls and their results are kept or left out with
    /// their turn.
    Slide {
        /// Whether results of functions in older turns are shortened before any turn is left out.
        shrink_tool_results: bool,
    },
}
