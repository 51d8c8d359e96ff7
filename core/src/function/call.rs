//! Calls as the model wrote them: delivered, mended or rejected.

use crate::function::{Arguments, Diagnostic};

/// A call that the model wants made. Validate the arguments before running anything.
///
/// ```
/// use causerie::{SdkFunctionCall, Value};
///
/// fn run(call: &SdkFunctionCall) -> String {
///     match (call.name.as_str(), call.arguments.get("city").and_then(Value::as_str)) {
///         ("get_weather", Some(city)) => format!("sunny in {city}"),
///         ("get_weather", None) => "which city?".to_owned(),
///         (name, _) => format!("there is no function {name}"),
///     }
/// }
/// # assert_eq!(run(&SdkFunctionCall { name: "get_weather".into(), ..Default::default() }), "which city?");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SdkFunctionCall {
    /// The function wanted. It need not be a registered one.
    pub name: String,
    /// Exactly what the model wrote; arguments may be missing or of the wrong type.
    pub arguments: Arguments,
    /// Tells the calls of a message apart: `call_0`, `call_1`, … in order.
    pub call_id: String,
    /// The text of this call as the model wrote it.
    pub raw_text: String,
    /// What was mended to read it, by code (`missing_brackets`, `leading_zero`, …); empty for clean calls.
    pub repairs: Vec<Repair>,
    /// What [`validate_among`](crate::validate_among) says of it and the conversation's functions; empty where none are
    /// registered. The arguments above are as written; validating gives those that fit.
    pub diagnostics: Vec<Diagnostic>,
}

/// A deviation from clean call syntax that was mended; the call was delivered all the same.
///
/// ```
/// # use causerie::{FunctionCallParser, Parsed, Piece, ReplyEnd, ReplyParser};
/// # let mut parsed = Vec::new();
/// # let mut parser = ReplyParser::new(Some(FunctionCallParser::DefaultFunctionCallParser));
/// # for piece in [Piece::Control("<|tool_call_start|>"), Piece::Text("[f(a=007)]"), Piece::Control("<|tool_call_end|>")] {
/// #     parser.push(piece, &mut |found| parsed.push(found));
/// # }
/// # parser.finish(ReplyEnd::Ended, &mut |found| parsed.push(found));
/// // The model wrote `[f(a=007)]`.
/// let Parsed::Calls(calls) = &parsed[0] else { panic!("it is a call") };
/// assert_eq!(calls[0].arguments["a"], causerie::Value::Integer(7));
/// assert_eq!(calls[0].repairs, [causerie::Repair::LeadingZero]);
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Repair {
    /// The list's brackets were left out.
    MissingBrackets,
    /// Two calls stood without a comma between them.
    MissingSeparator,
    /// Two lists of calls stood side by side.
    AdjacentLists,
    /// The block was complete but its end marker was missing.
    UnclosedBlock,
    /// The calls were wrapped in a Markdown code fence.
    CodeFence,
    /// A number began with needless zeros.
    LeadingZero,
    /// A tuple was read as a list.
    TupleAsList,
    /// A set was read as a list.
    SetAsList,
    /// An f-string without placeholders was read as a string.
    PlainFstring,
    /// Neighbouring strings were joined.
    ImplicitConcat,
    /// `**{…}` was merged into the arguments.
    KwargsUnpacked,
    /// Quotes inside a string were not escaped; only one reading made sense.
    InnerQuotes,
    /// A dictionary key that was no string became one.
    KeyAsString,
    /// Half of a surrogate pair became U+FFFD.
    LoneSurrogate,
    /// JSON stood where Python calls were expected.
    JsonBody,
    /// `parameters` was read as `arguments`.
    AliasKey,
    /// Arguments given as JSON text were decoded once.
    ArgumentsDecoded,
    /// Absent arguments became an empty map.
    MissingArguments,
    /// The arguments stood beside the function's name.
    ArgumentsBesideName,
    /// A trailing comma in JSON was ignored.
    TrailingComma,
    /// Python literals stood inside JSON.
    PythonLiterals,
    /// One tag held several calls.
    SeveralObjects,
    /// Arguments without names took those of the function's parameters, in their order.
    PositionalMapped,
}

/// Call text that could not be delivered as a call.
///
/// ```
/// # use causerie::{FunctionCallParser, Parsed, Piece, ReplyEnd, ReplyParser};
/// # let mut parsed = Vec::new();
/// # let mut parser = ReplyParser::new(Some(FunctionCallParser::DefaultFunctionCallParser));
/// # for piece in [Piece::Control("<|tool_call_start|>"), Piece::Text("[f(a=b)]"), Piece::Control("<|tool_call_end|>")] {
/// #     parser.push(piece, &mut |found| parsed.push(found));
/// # }
/// # parser.finish(ReplyEnd::Ended, &mut |found| parsed.push(found));
/// // The model wrote `[f(a=b)]`.
/// let Parsed::Rejected(rejected) = &parsed[0] else { panic!("it is no call") };
/// assert_eq!((rejected[0].name.as_deref(), rejected[0].reason.code()), (Some("f"), "unsupported_expression"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RejectedCall {
    /// Why.
    pub reason: RejectionReason,
    /// The function's name, where it could be read.
    pub name: Option<String>,
    /// The refused text, complete up to the size cap of a block.
    pub raw_text: String,
    /// Where `raw_text` starts in its block, in bytes.
    pub byte_offset: usize,
    /// The call as it could be read from a cut or unbalanced block, or as strict parsing refused it; an app may accept
    /// it deliberately.
    pub candidate: Option<SdkFunctionCall>,
    /// One readable line; quotes at most 120 characters of the model's text.
    pub message: String,
}

/// Why call text was refused.
///
/// ```
/// use causerie::{RejectedCall, RejectionReason};
///
/// fn is_worth_another_try(call: &RejectedCall) -> bool {
///     !matches!(call.reason, RejectionReason::TooLarge | RejectionReason::TooManyCalls)
/// }
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RejectionReason {
    /// Not a list of calls.
    MalformedSyntax,
    /// The block was cut off.
    IncompleteBlock,
    /// A call without a name.
    MissingName,
    /// An argument without a name.
    PositionalArgument,
    /// One argument, or one key, given twice.
    DuplicateArgument,
    /// `**` before something that cannot be merged.
    InvalidUnpacking,
    /// A variable, an operator, a call or anything else that is no literal.
    UnsupportedExpression,
    /// Infinity, not-a-number, or a number too large for a float.
    NonFiniteNumber,
    /// The arguments are no map.
    ArgumentsNotObject,
    /// Unescaped quotes allow several readings, or none.
    AmbiguousQuotes,
    /// Brackets nest deeper than the cap.
    NestingTooDeep,
    /// The block, or a number in it, exceeds the size cap.
    TooLarge,
    /// The block holds more calls than the cap.
    TooManyCalls,
}

impl Repair {
    /// Every repair.
    ///
    /// ```
    /// use causerie::Repair;
    ///
    /// assert!(Repair::ALL.contains(&Repair::UnclosedBlock));
    /// ```
    pub const ALL: [Self; 23] = [
        Self::MissingBrackets,
        Self::MissingSeparator,
        Self::AdjacentLists,
        Self::UnclosedBlock,
        Self::CodeFence,
        Self::LeadingZero,
        Self::TupleAsList,
        Self::SetAsList,
        Self::PlainFstring,
        Self::ImplicitConcat,
        Self::KwargsUnpacked,
        Self::InnerQuotes,
        Self::KeyAsString,
        Self::LoneSurrogate,
        Self::JsonBody,
        Self::AliasKey,
        Self::ArgumentsDecoded,
        Self::MissingArguments,
        Self::ArgumentsBesideName,
        Self::TrailingComma,
        Self::PythonLiterals,
        Self::SeveralObjects,
        Self::PositionalMapped,
    ];

    /// Its name in every language and in JSON.
    ///
    /// ```
    /// assert_eq!(causerie::Repair::LeadingZero.code(), "leading_zero");
    /// ```
    pub fn code(self) -> &'static str {
        match self {
            Self::MissingBrackets => "missing_brackets",
            Self::MissingSeparator => "missing_separator",
            Self::AdjacentLists => "adjacent_lists",
            Self::UnclosedBlock => "unclosed_block",
            Self::CodeFence => "code_fence",
            Self::LeadingZero => "leading_zero",
            Self::TupleAsList => "tuple_as_list",
            Self::SetAsList => "set_as_list",
            Self::PlainFstring => "plain_fstring",
            Self::ImplicitConcat => "implicit_concat",
            Self::KwargsUnpacked => "kwargs_unpacked",
            Self::InnerQuotes => "inner_quotes",
            Self::KeyAsString => "key_as_string",
            Self::LoneSurrogate => "lone_surrogate",
            Self::JsonBody => "json_body",
            Self::AliasKey => "alias_key",
            Self::ArgumentsDecoded => "arguments_decoded",
            Self::MissingArguments => "missing_arguments",
            Self::ArgumentsBesideName => "arguments_beside_name",
            Self::TrailingComma => "trailing_comma",
            Self::PythonLiterals => "python_literals",
            Self::SeveralObjects => "several_objects",
            Self::PositionalMapped => "positional_mapped",
        }
    }
}

impl RejectionReason {
    /// Every reason.
    ///
    /// ```
    /// use causerie::RejectionReason;
    ///
    /// assert!(RejectionReason::ALL.contains(&RejectionReason::NonFiniteNumber));
    /// ```
    pub const ALL: [Self; 13] = [
        Self::MalformedSyntax,
        Self::IncompleteBlock,
        Self::MissingName,
        Self::PositionalArgument,
        Self::DuplicateArgument,
        Self::InvalidUnpacking,
        Self::UnsupportedExpression,
        Self::NonFiniteNumber,
        Self::ArgumentsNotObject,
        Self::AmbiguousQuotes,
        Self::NestingTooDeep,
        Self::TooLarge,
        Self::TooManyCalls,
    ];

    /// Its name in every language and in JSON.
    ///
    /// ```
    /// assert_eq!(causerie::RejectionReason::MissingName.code(), "missing_name");
    /// ```
    pub fn code(self) -> &'static str {
        match self {
            Self::MalformedSyntax => "malformed_syntax",
            Self::IncompleteBlock => "incomplete_block",
            Self::MissingName => "missing_name",
            Self::PositionalArgument => "positional_argument",
            Self::DuplicateArgument => "duplicate_argument",
            Self::InvalidUnpacking => "invalid_unpacking",
            Self::UnsupportedExpression => "unsupported_expression",
            Self::NonFiniteNumber => "non_finite_number",
            Self::ArgumentsNotObject => "arguments_not_object",
            Self::AmbiguousQuotes => "ambiguous_quotes",
            Self::NestingTooDeep => "nesting_too_deep",
            Self::TooLarge => "too_large",
            Self::TooManyCalls => "too_many_calls",
        }
    }
}
