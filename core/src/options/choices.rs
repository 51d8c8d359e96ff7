//! What a generation can be told to do, one choice each.

/// How a model family writes its function calls.
///
/// ```
/// use causerie::{FunctionCallParser, GenerationOptions};
///
/// let function_call_parser = Some(FunctionCallParser::JsonStyleFunctionCallParser);
/// let options = GenerationOptions { function_call_parser, ..Default::default() };
/// # assert!(options.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FunctionCallParser {
    /// Python-style calls between the control tokens `<|tool_call_start|>` and `<|tool_call_end|>`.
    #[default]
    DefaultFunctionCallParser,
    /// JSON objects between `<tool_call>` and `</tool_call>`.
    JsonStyleFunctionCallParser,
}

impl FunctionCallParser {
    /// What stands before and behind a block of calls: control tokens for the default, tags for JSON.
    ///
    /// ```
    /// use causerie::FunctionCallParser::JsonStyleFunctionCallParser;
    ///
    /// assert_eq!(JsonStyleFunctionCallParser.markers(), ("<tool_call>", "</tool_call>"));
    /// ```
    pub const fn markers(self) -> (&'static str, &'static str) {
        match self {
            Self::DefaultFunctionCallParser => ("<|tool_call_start|>", "<|tool_call_end|>"),
            Self::JsonStyleFunctionCallParser => ("<tool_call>", "</tool_call>"),
        }
    }
}

/// Whether functions are called.
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
    /// As the model likes.
    #[default]
    Auto,
    /// No function is called. The prompt still offers them, so that what was read of it before counts.
    None,
    /// The reply begins with a call, behind its reasoning if it has any.
    Required,
    /// The reply begins with a call of this function, and calls no other.
    Function(String),
}

/// Whether calls are held to the declared functions while they are written.
///
/// ```
/// use causerie::{GenerationOptions, ToolCallConstraint};
///
/// let options = GenerationOptions { tool_call_constraint: ToolCallConstraint::Typed, ..Default::default() };
/// # assert!(options.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolCallConstraint {
    /// The model writes what it likes; calls are validated afterwards. A choice of functions that is
    /// [required](ToolChoice::Required) is held all the same.
    #[default]
    Off,
    /// Once the model begins a block of calls, it can write nothing but calls of declared functions, with arguments of
    /// the declared names and types, each once, the required ones always. What stands in texts is free. Where the model
    /// can write nothing of the kind, the reply ends with [`Constraint`](crate::FinishReason::Constraint).
    Typed,
}

/// What becomes of calls that had to be mended to be read.
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
    /// They are delivered, with their repairs named.
    #[default]
    Recover,
    /// They are rejected, with the mended call as candidate.
    Strict,
}

/// What becomes of Python arguments without names.
///
/// ```
/// use causerie::{GenerationOptions, PositionalArguments};
///
/// let positional_arguments = PositionalArguments::MapByOrder;
/// let options = GenerationOptions { positional_arguments, ..Default::default() };
/// # assert!(options.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PositionalArguments {
    /// Their call is rejected.
    #[default]
    Reject,
    /// They take the names of the function's parameters, in their order, with the repair
    /// [`PositionalMapped`](crate::Repair::PositionalMapped). Calls of functions that were not offered are rejected.
    MapByOrder,
}

/// What becomes of the text of a block of calls that could not be delivered, besides its rejection.
///
/// ```
/// use causerie::{GenerationOptions, RejectedCallText};
///
/// let options = GenerationOptions { rejected_call_text: RejectedCallText::Never, ..Default::default() };
/// # assert!(options.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RejectedCallText {
    /// It is text, in its place, when no call of its block was delivered: so nothing is lost on apps that know nothing
    /// of rejections.
    #[default]
    WhenNoCall,
    /// It stands in the rejection alone.
    Never,
    /// It is text in any case, behind the calls of its block.
    Always,
}

/// What stays in the history of a reply that is cancelled. A reply cancelled before its turn came leaves no trace.
///
/// ```
/// use causerie::{GenerationOptions, OnCancel};
///
/// // As if a reply that the user stops had never been asked for.
/// let options = GenerationOptions { on_cancel: OnCancel::DropTurn, ..Default::default() };
/// # assert!(options.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnCancel {
    /// What was written, if anything, marked as incomplete.
    #[default]
    KeepPartial,
    /// Nothing of the reply; the message it answers stays.
    DropPartial,
    /// Neither the reply nor the message it answers.
    DropTurn,
}

/// What a conversation does with a request while another reply of it is being written.
///
/// ```
/// use causerie::{GenerationOptions, OnBusy};
///
/// let in_turn = GenerationOptions { on_busy: OnBusy::Queue, ..Default::default() };
/// # assert!(in_turn.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBusy {
    /// Refuses it with [`ErrorKind::Busy`](crate::ErrorKind::Busy).
    #[default]
    Error,
    /// Answers it when those before it have ended, in the order of their first pulls.
    Queue,
}

/// What happens to a history that does not fit the context. The history itself is never edited.
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
    /// [`ErrorKind::PromptExceedsContext`](crate::ErrorKind::PromptExceedsContext) when there is no room for one token of reply.
    #[default]
    Error,
    /// The prompt leaves out whole turns, the oldest first, until it fits with `max_tokens` of reply, or 256, half of the
    /// context at most. It leaves out up to a quarter of the context more than it must, so that the next turns can leave out the
    /// same, and need not be read from the beginning. The system message, the functions and the last turn of the user always
    /// stay; so do calls and their results with their turn.
    Slide {
        /// Cuts the results of functions in older turns short before it leaves out any turn.
        shrink_tool_results: bool,
    },
}
