//! Options of a generation that choose among alternatives.

/// Whether the model may or must call functions.
///
/// ```
/// use causerie::{GenerationOptions, ToolChoice};
///
/// let tool_choice = ToolChoice::Function("get_weather".to_owned());
/// let options = GenerationOptions { tool_choice, ..Default::default() };
/// # assert!(options.check().is_ok());
/// ```
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

/// Whether calls are constrained to the declared functions during generation.
///
/// ```
/// use causerie::{GenerationOptions, ToolCallConstraint};
///
/// let options = GenerationOptions { tool_call_constraint: ToolCallConstraint::Typed, ..Default::default() };
/// # assert!(options.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolCallConstraint {
    /// Calls are not constrained, but validated afterwards. A [required](ToolChoice::Required) call is constrained all the
    /// same.
    #[default]
    Off,
    /// Once the model begins a block of calls, it can only write calls of declared functions, with arguments of the
    /// declared names and types. Each argument is written once, the required ones always. The content of strings is free.
    /// If no allowed token can be generated, the reply ends with [`Constraint`](crate::FinishReason::Constraint).
    Typed,
}

/// How calls are handled that can be read only after a repair.
///
/// ```
/// use causerie::{FunctionCallParser, Parsed, Piece, ReplyEnd, ReplyParser, Strictness};
///
/// let parser = ReplyParser::new(Some(FunctionCallParser::DefaultFunctionCallParser));
/// let mut parser = parser.strictness(Strictness::Strict);
/// let mut parsed = Vec::new();
/// // The brackets around the list of calls are missing.
/// for piece in [Piece::Control("<|tool_call_start|>"), Piece::Text("now()"), Piece::Control("<|tool_call_end|>")] {
///     parser.push(piece, &mut |event| parsed.push(event));
/// }
/// parser.finish(ReplyEnd::Ended, &mut |event| parsed.push(event));
/// assert!(parsed.iter().any(|event| matches!(event, Parsed::Rejected(_))));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// They are delivered, with a list of the repairs.
    #[default]
    Recover,
    /// They are rejected, with the repaired call as candidate.
    Strict,
}

/// What remains of a cancelled reply in the history. A reply cancelled in the request queue leaves nothing.
///
/// ```
/// use causerie::{GenerationOptions, OnCancel};
///
/// // A reply that the user stops leaves the history as it was before the request.
/// let options = GenerationOptions { on_cancel: OnCancel::DropTurn, ..Default::default() };
/// # assert!(options.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnCancel {
    /// Keeps the text so far, if any, marked as incomplete.
    #[default]
    KeepPartial,
    /// Keeps the user's message, drops the reply.
    DropPartial,
    /// Drops the reply and the message that it answers.
    DropTurn,
}

/// How a conversation handles a request while it is generating another reply.
///
/// ```
/// use causerie::{GenerationOptions, OnBusy};
///
/// let queued = GenerationOptions { on_busy: OnBusy::Queue, ..Default::default() };
/// # assert!(queued.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBusy {
    /// Fails with [`ErrorKind::Busy`](crate::ErrorKind::Busy).
    #[default]
    Error,
    /// Puts the request in a queue, in the order of the first pulls of the streams, and answers it when the earlier replies
    /// have ended.
    Queue,
    /// Cancels all earlier requests, and answers this one when they have ended.
    Replace,
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
