//! Calls as the model wrote them: delivered, repaired or rejected.

use crate::function::diagnostic::Diagnostic;
use crate::function::value::Arguments;

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
    /// The name of the function, which may not be a registered one.
    pub name: String,
    /// The arguments exactly as the model wrote them; some may be missing or have the wrong type.
    pub arguments: Arguments,
    /// Identifies the call within its message: `call_0`, `call_1`, … in order.
    pub call_id: String,
    /// The text of this call as the model wrote it.
    pub raw_text: String,
    /// Repairs that were needed to read the call (`missing_brackets`, `leading_zero`, …); empty for clean calls.
    pub repairs: Vec<Repair>,
    /// What [`validate_among`](crate::validate_among) reports for the conversation's functions; empty if none are registered.
    /// The arguments above stay as written; validating returns arguments that fit.
    pub diagnostics: Vec<Diagnostic>,
}

/// A deviation from clean call syntax that was repaired; the call was delivered nevertheless.
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
/// let Parsed::Calls(calls) = &parsed[0] else { panic!("the text is a call") };
/// assert_eq!(calls[0].arguments["a"], causerie::Value::Integer(7));
/// assert_eq!(calls[0].repairs, [causerie::Repair::LeadingZero]);
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Repair {
    /// The list's brackets were left out.
    MissingBrackets,
    /// There was no comma between two calls.
    MissingSeparator,
    /// Two lists of calls followed each other.
    AdjacentLists,
    /// The block was complete but its end marker was missing.
    UnclosedBlock,
    /// The calls were wrapped in a Markdown code fence.
    CodeFence,
    /// A number had leading zeros.
    LeadingZero,
    /// A tuple was read as an array.
    TupleAsList,
    /// A set was read as an array.
    SetAsList,
    /// An f-string without placeholders was read as a string.
    PlainFstring,
    /// Adjacent strings were joined.
    ImplicitConcat,
    /// `**{…}` was merged into the arguments.
    KwargsUnpacked,
    /// Quotes inside a string were not escaped; exactly one reading was possible.
    InnerQuotes,
    /// A dictionary key that was not a string became one.
    KeyAsString,
    /// Half of a surrogate pair became U+FFFD.
    LoneSurrogate,
    /// JSON was written where Python calls were expected.
    JsonBody,
    /// `parameters` was read as `arguments`.
    AliasKey,
    /// Arguments given as a string of JSON were decoded once.
    ArgumentsDecoded,
    /// Absent arguments became an empty object.
    MissingArguments,
    /// The arguments were beside the function's name.
    ArgumentsBesideName,
    /// A trailing comma in JSON was ignored.
    TrailingComma,
    /// JSON contained Python literals.
    PythonLiterals,
    /// One pair of tags contained several calls.
    SeveralObjects,
    /// The markers around the calls were missing.
    MissingMarkers,
    /// A tag within the block, or the end of one, was missing.
    MissingTag,
    /// A string had no delimiters, or not the ones of the notation, or a name had some.
    StringDelimiters,
    /// Doubled braces, as in a template that shows the form of a call, were read as single ones.
    DoubledBraces,
    /// A string had an escape that the notation lacks, as in a path of Windows: its backslashes were read as they are.
    PlainBackslashes,
    /// Closing brackets after complete calls, which nothing had opened, were left out.
    SurplusBrackets,
    /// White space of JSON that was written as an escape, such as `\n`, was left out.
    EscapedSpace,
    /// An underscore in the name stood for a hyphen in the name of the function.
    NameSpelling,
}

/// Text of a call that could not be delivered.
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
/// let Parsed::Rejected(rejected) = &parsed[0] else { panic!("the text is not a call") };
/// assert_eq!((rejected[0].name.as_deref(), rejected[0].reason.code()), (Some("f"), "unsupported_expression"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RejectedCall {
    /// Why the text was rejected.
    pub reason: RejectionReason,
    /// The function's name, if it could be read.
    pub name: Option<String>,
    /// The rejected text, complete up to the size limit of a block.
    pub raw_text: String,
    /// The position at which `raw_text` starts in its block, in bytes.
    pub byte_offset: usize,
    /// The call, if it could be read from a cut or unbalanced block, or if strict parsing rejected it; an app may accept
    /// it deliberately.
    pub candidate: Option<SdkFunctionCall>,
    /// One readable line, which quotes at most 120 characters of the model's text.
    pub message: String,
}

/// Why the text of a call was rejected.
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
    /// The text is not a list of calls.
    MalformedSyntax,
    /// The block was cut off.
    IncompleteBlock,
    /// A call has no name.
    MissingName,
    /// An argument has no name.
    PositionalArgument,
    /// An argument or a key was given twice.
    DuplicateArgument,
    /// `**` precedes a value that cannot be merged.
    InvalidUnpacking,
    /// A value is not a literal, but a variable, an operator, a call or something else.
    UnsupportedExpression,
    /// A number is infinite, NaN, or too large for a float.
    NonFiniteNumber,
    /// The arguments are not an object.
    ArgumentsNotObject,
    /// Unescaped quotes allow several readings, or none.
    AmbiguousQuotes,
    /// Brackets nest deeper than the limit.
    NestingTooDeep,
    /// The block, or a number in it, exceeds its size limit.
    TooLarge,
    /// The block contains more calls than the limit.
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
    pub const ALL: [Self; 30] = [
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
        Self::MissingMarkers,
        Self::MissingTag,
        Self::StringDelimiters,
        Self::DoubledBraces,
        Self::PlainBackslashes,
        Self::SurplusBrackets,
        Self::EscapedSpace,
        Self::NameSpelling,
    ];

    /// The name in every language and in JSON.
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
            Self::MissingMarkers => "missing_markers",
            Self::MissingTag => "missing_tag",
            Self::StringDelimiters => "string_delimiters",
            Self::DoubledBraces => "doubled_braces",
            Self::PlainBackslashes => "plain_backslashes",
            Self::SurplusBrackets => "surplus_brackets",
            Self::EscapedSpace => "escaped_space",
            Self::NameSpelling => "name_spelling",
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

    /// The name in every language and in JSON.
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
