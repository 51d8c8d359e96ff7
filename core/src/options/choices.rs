//! Options of a generation that choose among alternatives.

/// The notation in which a model writes function calls.
///
/// ```
/// use causerie::{FunctionCallParser, GenerationOptions};
///
/// let function_call_parser = Some(FunctionCallParser::JsonStyleFunctionCallParser);
/// let options = GenerationOptions { function_call_parser, ..Default::default() };
/// # assert!(options.check().is_ok());
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FunctionCallParser {
    /// The notation that the loaded model writes, as [`ModelInfo`](crate::ModelInfo) reports it. Without a model, the same as
    /// [`DefaultFunctionCallParser`](Self::DefaultFunctionCallParser).
    #[default]
    ModelFunctionCallParser,
    /// Python-style calls between the control tokens `<|tool_call_start|>` and `<|tool_call_end|>`, as LFM2 writes them.
    DefaultFunctionCallParser,
    /// JSON objects between `<tool_call>` and `</tool_call>`, as Qwen2.5, Qwen3 and Granite 4 write them.
    JsonStyleFunctionCallParser,
    /// `<function=…>` with `<parameter=…>` tags between `<tool_call>` and `</tool_call>`, as LFM3, Qwen3.5 and Qwen3-Coder
    /// write them. Values are raw text, which is read as the type that the function declares.
    XmlFunctionCallParser,
    /// `call:name{…}` between control tokens, as FunctionGemma and Gemma 4 write it.
    GemmaFunctionCallParser,
    /// Calls after the control token `[TOOL_CALLS]`, as Mistral's models write them: a list of JSON objects, or a name and
    /// `[ARGS]` before an object.
    MistralFunctionCallParser,
    /// JSON objects with `parameters` as the whole reply, as Llama 3 writes them.
    LlamaFunctionCallParser,
    /// A list of JSON objects between the control tokens `<|tool_call|>` and `<|/tool_call|>`, as Phi-4-mini writes it.
    PhiFunctionCallParser,
}

impl FunctionCallParser {
    /// The markers before and after a block of calls: control tokens, or tags for JSON and XML. The end is empty where a block
    /// lasts until the next one or the end of the reply. Gemma 4 has other markers than FunctionGemma, which are not listed
    /// here.
    ///
    /// ```
    /// use causerie::FunctionCallParser::JsonStyleFunctionCallParser;
    ///
    /// assert_eq!(JsonStyleFunctionCallParser.markers(), ("<tool_call>", "</tool_call>"));
    /// ```
    pub const fn markers(self) -> (&'static str, &'static str) {
        match self {
            Self::ModelFunctionCallParser | Self::DefaultFunctionCallParser => {
                ("<|tool_call_start|>", "<|tool_call_end|>")
            }
            Self::JsonStyleFunctionCallParser | Self::XmlFunctionCallParser => ("<tool_call>", "</tool_call>"),
            Self::GemmaFunctionCallParser => ("<start_function_call>", "<end_function_call>"),
            Self::MistralFunctionCallParser => ("[TOOL_CALLS]", ""),
            Self::LlamaFunctionCallParser => ("<|python_tag|>", ""),
            Self::PhiFunctionCallParser => ("<|tool_call|>", "<|/tool_call|>"),
        }
    }

    /// This parser, or the one of the loaded model.
    pub(crate) const fn or_of_model(self, model: Self) -> Self {
        match self {
            Self::ModelFunctionCallParser => model,
            named => named,
        }
    }
}

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
    /// The text so far, if any, marked as incomplete.
    #[default]
    KeepPartial,
    /// The message that it answers, but nothing of the reply.
    DropPartial,
    /// Neither the reply nor the message it answers.
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
