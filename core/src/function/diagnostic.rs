//! Remarks about a call, compared with the function that it means.

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
    /// Where: `config.items[2].id`; empty for the call as a whole.
    pub path: String,
    /// One readable line, fit to be sent back to the model.
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
    /// The value was changed, and fits.
    Coerced,
    /// Nothing to compare with; the app decides.
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
    /// All arguments stood inside one, under a name such as `arguments`.
    UnwrappedArguments,
    /// Text that spells a number became one.
    StringToNumber,
    /// Text that spells true or false became that.
    StringToBool,
    /// A number became its text.
    NumberToString,
    /// A whole number written with a fraction of zero became whole.
    FloatToInt,
    /// Text of JSON became the list or map that it holds.
    StringToJson,
    /// Null for an optional parameter, or for what a map may leave out, was left out.
    NullDropped,
    /// Text became the enum value that differs in case only.
    EnumCase,
    /// A required argument, or property, is missing.
    MissingRequired,
    /// A value of another type, or one that breaks a limit, a pattern, or a combination of its schema.
    WrongType,
    /// None of the allowed values.
    NotInEnum,
    /// Null for a required parameter.
    NullForRequired,
    /// An argument that the function does not declare; it is kept.
    UndeclaredArgument,
    /// A function that was not offered to the model.
    UndeclaredFunction,
    /// A function that [`allowed_tools`](crate::GenerationOptions::allowed_tools) leaves out.
    ToolNotAllowed,
    /// A call beyond the first, where [`parallel_tool_calls`](crate::GenerationOptions::parallel_tool_calls) is off.
    ParallelLimit,
}

impl DiagnosticCode {
    /// Every code.
    ///
    /// ```
    /// use causerie::DiagnosticCode;
    ///
    /// assert!(DiagnosticCode::ALL.contains(&DiagnosticCode::MissingRequired));
    /// ```
    pub const ALL: [Self; 16] = [
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
            | Self::UndeclaredArgument => Severity::Error,
            Self::UndeclaredFunction | Self::ToolNotAllowed | Self::ParallelLimit => Severity::Warning,
            _ => Severity::Coerced,
        }
    }

    /// Its name in every language and in JSON.
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
        }
    }
}
