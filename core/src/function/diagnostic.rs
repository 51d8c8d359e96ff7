//! Remarks about a call, from comparing it with its function.

/// One remark about a call, or about one of its arguments.
///
/// ```
/// # use causerie::{SdkFunction, SdkFunctionCall, SdkFunctionParameter, SdkFunctionParameterType, validate};
/// let city = SdkFunctionParameter::new("city", SdkFunctionParameterType::string(), "The city.");
/// let weather = SdkFunction::new("get_weather", "Get the weather.", vec![city]);
/// let validation = validate(&SdkFunctionCall::default(), &weather);
/// let diagnostic = &validation.diagnostics[0];
/// assert_eq!((diagnostic.path.as_str(), diagnostic.message.as_str()), ("city", "city is missing"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// What was found.
    pub code: DiagnosticCode,
    /// The argument or a part of it, as in `config.items[2].id`; empty for the call as a whole.
    pub path: String,
    /// One readable line that can be sent back to the model.
    pub message: String,
}

/// How much a diagnostic matters.
///
/// ```
/// use causerie::{DiagnosticCode, Severity};
/// assert!(Severity::Coerced < Severity::Error);
/// assert_eq!(DiagnosticCode::MissingRequired.severity(), Severity::Error);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The value was changed and fits now.
    Coerced,
    /// There is nothing to compare with; the app decides.
    Warning,
    /// The value does not fit.
    Error,
}

/// What a diagnostic is about.
///
/// ```
/// use causerie::DiagnosticCode;
/// for code in DiagnosticCode::ALL {
///     println!("{}: {:?}", code.code(), code.severity());
/// }
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiagnosticCode {
    /// All arguments were inside a single one with a name such as `arguments`.
    UnwrappedArguments,
    /// A string that spells a number became the number.
    StringToNumber,
    /// A string that spells true or false became the boolean.
    StringToBool,
    /// A number became a string.
    NumberToString,
    /// A number with a fraction of zero became an integer.
    FloatToInt,
    /// A string of JSON became the array or object that it contains.
    StringToJson,
    /// Null for an optional parameter, or for an optional property of an object, was left out.
    NullDropped,
    /// A string became the enum value that differs only in case.
    EnumCase,
    /// A required argument, or property, is missing.
    MissingRequired,
    /// The value has another type, or violates a limit, a pattern or a combination of schemas.
    WrongType,
    /// The value is not one of the allowed values.
    NotInEnum,
    /// A required argument is null.
    NullForRequired,
    /// The function does not declare this argument; it is kept.
    UndeclaredArgument,
    /// The function was not offered to the model.
    UndeclaredFunction,
    /// [`allowed_tools`](crate::GenerationOptions::allowed_tools) does not list the function.
    ToolNotAllowed,
    /// The call is not the first, and [`parallel_tool_calls`](crate::GenerationOptions::parallel_tool_calls) is off.
    ParallelLimit,
    /// The model wrote the call without the markers of its notation.
    MissingMarkers,
    /// No function was called, and the text of the reply looks like a call of this one.
    MissedCall,
    /// The end of the reply only repeated itself, and [`stop_on_repetition`](crate::GenerationOptions::stop_on_repetition)
    /// ended it.
    RepeatedTail,
}

impl DiagnosticCode {
    /// Every code.
    ///
    /// ```
    /// use causerie::DiagnosticCode;
    ///
    /// assert!(DiagnosticCode::ALL.contains(&DiagnosticCode::MissingRequired));
    /// ```
    pub const ALL: [Self; 19] = [
        Self::UnwrappedArguments,
        Self::StringToNumber,
        Self::StringToBool,
        Self::NumberToString,
        Self::FloatToInt,
        Self::StringToJson,
        Self::NullDropped,
        Self::EnumCase,
        Self::MissingRequired,
        Self::WrongType,
        Self::NotInEnum,
        Self::NullForRequired,
        Self::UndeclaredArgument,
        Self::UndeclaredFunction,
        Self::ToolNotAllowed,
        Self::ParallelLimit,
        Self::MissingMarkers,
        Self::MissedCall,
        Self::RepeatedTail,
    ];

    /// How much it matters.
    ///
    /// ```
    /// use causerie::{DiagnosticCode, Severity};
    /// assert_eq!(DiagnosticCode::StringToNumber.severity(), Severity::Coerced);
    /// ```
    pub fn severity(self) -> Severity {
        match self {
            Self::MissingRequired
            | Self::WrongType
            | Self::NotInEnum
            | Self::NullForRequired
            | Self::UndeclaredArgument
            | Self::UndeclaredFunction => Severity::Error,
            Self::ToolNotAllowed
            | Self::ParallelLimit
            | Self::MissingMarkers
            | Self::MissedCall
            | Self::RepeatedTail => Severity::Warning,
            _ => Severity::Coerced,
        }
    }

    /// The name in every language and in JSON.
    ///
    /// ```
    /// assert_eq!(causerie::DiagnosticCode::MissingRequired.code(), "missing_required");
    /// ```
    pub fn code(self) -> &'static str {
        match self {
            Self::UnwrappedArguments => "unwrapped_arguments",
            Self::StringToNumber => "string_to_number",
            Self::StringToBool => "string_to_bool",
            Self::NumberToString => "number_to_string",
            Self::FloatToInt => "float_to_int",
            Self::StringToJson => "string_to_json",
            Self::NullDropped => "null_dropped",
            Self::EnumCase => "enum_case",
            Self::MissingRequired => "missing_required",
            Self::WrongType => "wrong_type",
            Self::NotInEnum => "not_in_enum",
            Self::NullForRequired => "null_for_required",
            Self::UndeclaredArgument => "undeclared_argument",
            Self::UndeclaredFunction => "undeclared_function",
            Self::ToolNotAllowed => "tool_not_allowed",
            Self::ParallelLimit => "parallel_limit",
            Self::MissingMarkers => "missing_markers",
            Self::MissedCall => "missed_call",
            Self::RepeatedTail => "repeated_tail",
        }
    }
}
