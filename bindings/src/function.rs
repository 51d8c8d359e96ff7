//! Functions, their schemas, and function calls.

use std::collections::HashMap;

use causerie as core;

use crate::error::{Result, SdkError};
use crate::json::JsonObject;
use crate::number::SdkLong;

/// A function that the model may call.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct SdkFunction {
    /// Letters, digits, `_` and `-`, at most 200; identifiers are recommended.
    pub name: String,
    /// The purpose of the function, written for the model.
    pub description: String,
    /// The parameters, in the order in which they are in the prompt.
    pub parameters: Vec<SdkFunctionParameter>,
    /// The JSON text that the function was read from, if the other fields do not show all of it. Prompts show it as it is, with
    /// the name above, as long as it has the same description and parameters.
    #[uniffi(default)]
    pub definition: Option<String>,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct SdkFunctionParameter {
    /// The name of the argument in calls.
    pub name: String,
    /// The type of its values. The parameter's description replaces that of the type.
    #[uniffi(name = "type")]
    pub parameter_type: SdkFunctionParameterType,
    /// The meaning of the parameter, written for the model.
    pub description: String,
    /// Whether a call may omit it.
    #[uniffi(default = false)]
    pub optional: bool,
    /// The JSON Schema of an imported parameter that no type can express. It replaces the type.
    #[uniffi(default)]
    pub schema: Option<JsonObject>,
}

/// The type of a parameter, translated to JSON Schema for the model. Its description is used only where the type is nested.
#[derive(Clone, Debug, PartialEq, uniffi::Enum)]
pub enum SdkFunctionParameterType {
    /// A string.
    SdkStr {
        /// The allowed values; any string when absent.
        #[uniffi(default)]
        enum_values: Option<Vec<String>>,
        /// The meaning of a nested value.
        #[uniffi(default)]
        description: Option<String>,
    },
    /// A number.
    SdkNum {
        /// The allowed values; any finite number when absent.
        #[uniffi(default)]
        enum_values: Option<Vec<f64>>,
        /// The meaning of a nested value.
        #[uniffi(default)]
        description: Option<String>,
    },
    /// An integer.
    SdkInt {
        /// The allowed values; any integer when absent.
        #[uniffi(default)]
        enum_values: Option<Vec<i64>>,
        /// The meaning of a nested value.
        #[uniffi(default)]
        description: Option<String>,
    },
    /// A boolean.
    SdkBool {
        /// The meaning of a nested value.
        #[uniffi(default)]
        description: Option<String>,
    },
    /// An array.
    SdkArr {
        /// The type of the items.
        item_type: Box<SdkFunctionParameterType>,
        /// The meaning of a nested value.
        #[uniffi(default)]
        description: Option<String>,
    },
    /// An object.
    SdkObj {
        /// The properties by name. The model reads and writes the required ones first, in their order, then the others
        /// sorted by name.
        properties: HashMap<String, SdkFunctionParameterType>,
        /// Names of the properties that must be present.
        #[uniffi(default)]
        required: Vec<String>,
        /// The meaning of a nested value.
        #[uniffi(default)]
        description: Option<String>,
    },
    /// Null.
    SdkNull,
}

/// A function call that the model made. Validate the arguments before running the function.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct SdkFunctionCall {
    /// The name of the function, which need not be registered.
    pub name: String,
    /// The arguments exactly as the model wrote them. Some may be missing or of the wrong type.
    pub arguments: JsonObject,
    /// Distinguishes the calls of a message: `call_0`, `call_1`, … in order.
    #[uniffi(default = "")]
    pub call_id: String,
    /// The text of this call as the model wrote it.
    #[uniffi(default = "")]
    pub raw_text: String,
    /// Codes of the repairs that were needed to parse the call; empty for valid calls.
    #[uniffi(default)]
    pub repairs: Vec<String>,
    /// Differences from the registered functions; empty if the call fits.
    #[uniffi(default)]
    pub diagnostics: Vec<Diagnostic>,
}

/// A finding about a call or one of its arguments.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct Diagnostic {
    /// The code of the finding: `missing_required`, `wrong_type`, …
    pub code: String,
    /// The severity.
    pub severity: Severity,
    /// The path, such as `config.items[2].id`; empty for the call as a whole.
    pub path: String,
    /// One readable line, which may be sent back to the model.
    pub text: String,
}

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum Severity {
    /// The value was converted and now fits.
    Coerced,
    /// There is nothing to compare with; the app decides.
    Warning,
    /// The value does not fit.
    Error,
}

/// Call text that could not be delivered as a call.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct RejectedCall {
    /// The code of the reason: `incomplete_block`, `positional_argument`, …
    pub reason: String,
    /// The function's name, if it could be parsed.
    pub name: Option<String>,
    /// The rejected text.
    pub raw_text: String,
    /// The offset in its block, in bytes.
    pub byte_offset: SdkLong,
    /// The call as far as it could be parsed. An app may accept it deliberately.
    pub candidate: Option<SdkFunctionCall>,
    /// One readable line.
    pub explanation: String,
}

/// A call compared with its function.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct Validation {
    /// The arguments, converted to the function's types where that is safe.
    pub arguments: JsonObject,
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether the function can run with these arguments.
    pub is_ok: bool,
    /// The errors, as a function result to be sent back to the model.
    pub errors_as_tool_text: String,
}

/// Compares a call with the function of its name; see the core's `validate_among`.
#[uniffi::export]
pub fn validate(call: SdkFunctionCall, functions: Vec<SdkFunction>) -> Validation {
    let functions: Vec<core::SdkFunction> = functions.into_iter().map(Into::into).collect();
    let validation = core::validate_among(&call.into(), &functions);
    Validation {
        is_ok: validation.is_ok(),
        errors_as_tool_text: validation.errors_as_tool_text(),
        arguments: JsonObject(validation.arguments),
        diagnostics: validation.diagnostics.into_iter().map(Into::into).collect(),
    }
}

/// The entry of a function in the tool list that the model reads, as JSON text.
#[uniffi::export]
pub fn function_schema(function: SdkFunction) -> String {
    core::function_schema(&function.into()).to_string()
}

/// Writes functions as JSON text: chat-completions `tools`.
#[uniffi::export]
pub fn functions_to_json(functions: Vec<SdkFunction>) -> String {
    let functions: Vec<core::SdkFunction> = functions.into_iter().map(Into::into).collect();
    core::functions_to_json(&functions)
}

/// Reads the JSON of a reply as the only argument, `reply`, of a function.
#[uniffi::export]
pub fn read_reply(text: String) -> Result<JsonObject> {
    let refused =
        |err: core::SdkError| SdkError::InvalidArgument { reason: err.to_string(), argument: "reply".to_owned() };
    core::typed::read_reply(&text).map(JsonObject).map_err(refused)
}

/// Reads chat-completions `tools` from JSON text.
#[uniffi::export]
pub fn functions_from_json(text: String) -> Result<Vec<SdkFunction>> {
    Ok(core::functions_from_json(&text)?.into_iter().map(Into::into).collect())
}

impl From<SdkFunction> for core::SdkFunction {
    fn from(function: SdkFunction) -> Self {
        let parameters = function.parameters.into_iter().map(|parameter| core::SdkFunctionParameter {
            name: parameter.name,
            parameter_type: parameter.parameter_type.into(),
            description: parameter.description,
            optional: parameter.optional,
            schema: parameter.schema.map(|schema| core::Value::Object(schema.0)),
        });
        let definition = function.definition.as_deref().and_then(core::read_json);
        Self { definition, ..Self::new(function.name, function.description, parameters.collect()) }
    }
}

impl From<core::SdkFunction> for SdkFunction {
    fn from(function: core::SdkFunction) -> Self {
        let parameters = function.parameters.into_iter().map(|parameter| SdkFunctionParameter {
            name: parameter.name,
            parameter_type: parameter.parameter_type.into(),
            description: parameter.description,
            optional: parameter.optional,
            schema: parameter.schema.and_then(|schema| match schema {
                core::Value::Object(entries) => Some(JsonObject(entries)),
                _ => None, // imports keep objects only
            }),
        });
        Self {
            name: function.name,
            description: function.description,
            parameters: parameters.collect(),
            definition: function.definition.map(|definition| definition.to_string()),
        }
    }
}

/// Maximum nesting of a type that is converted. It is one level more than a function may have, so that the function's check
/// refuses deeper types, and it limits the stack that a conversion takes. UniFFI's own code has no such limit.
const LEVELS: usize = 33;

/// Converts between the two enums, which have the same variants.
macro_rules! convert_types {
    ($from:ty => $to:ident, $convert:ident) => {
        impl From<$from> for $to {
            fn from(parameter_type: $from) -> Self {
                $convert(parameter_type, LEVELS)
            }
        }

        fn $convert(parameter_type: $from, n_levels: usize) -> $to {
            type From = $from;
            if n_levels == 0 {
                return $to::SdkNull;
            }
            match parameter_type {
                From::SdkStr { enum_values, description } => $to::SdkStr { enum_values, description },
                From::SdkNum { enum_values, description } => $to::SdkNum { enum_values, description },
                From::SdkInt { enum_values, description } => $to::SdkInt { enum_values, description },
                From::SdkBool { description } => $to::SdkBool { description },
                From::SdkArr { item_type, description } => {
                    $to::SdkArr { item_type: Box::new($convert(*item_type, n_levels - 1)), description }
                }
                From::SdkObj { properties, required, description } => {
                    let properties =
                        properties.into_iter().map(|(name, property)| (name, $convert(property, n_levels - 1)));
                    $to::SdkObj { properties: properties.collect(), required, description }
                }
                From::SdkNull => $to::SdkNull,
            }
        }
    };
}

use core::SdkFunctionParameterType as CoreType;
convert_types!(CoreType => SdkFunctionParameterType, from_core);
convert_types!(SdkFunctionParameterType => CoreType, into_core);

impl From<SdkFunctionCall> for core::SdkFunctionCall {
    fn from(call: SdkFunctionCall) -> Self {
        let repair = |code: &String| core::Repair::ALL.into_iter().find(|repair| repair.code() == code);
        Self {
            name: call.name,
            arguments: call.arguments.0,
            call_id: call.call_id,
            raw_text: call.raw_text,
            repairs: call.repairs.iter().filter_map(repair).collect(),
            diagnostics: call.diagnostics.into_iter().filter_map(core_diagnostic).collect(),
        }
    }
}

/// `None` for a code that is unknown to this version.
fn core_diagnostic(diagnostic: Diagnostic) -> Option<core::Diagnostic> {
    let code = core::DiagnosticCode::ALL.into_iter().find(|code| code.code() == diagnostic.code)?;
    Some(core::Diagnostic { code, path: diagnostic.path, message: diagnostic.text })
}

impl From<core::SdkFunctionCall> for SdkFunctionCall {
    fn from(call: core::SdkFunctionCall) -> Self {
        Self {
            name: call.name,
            arguments: JsonObject(call.arguments),
            call_id: call.call_id,
            raw_text: call.raw_text,
            repairs: call.repairs.into_iter().map(|repair| repair.code().to_owned()).collect(),
            diagnostics: call.diagnostics.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<core::Diagnostic> for Diagnostic {
    fn from(diagnostic: core::Diagnostic) -> Self {
        let severity = match diagnostic.code.severity() {
            core::Severity::Coerced => Severity::Coerced,
            core::Severity::Warning => Severity::Warning,
            core::Severity::Error => Severity::Error,
        };
        Self { code: diagnostic.code.code().to_owned(), severity, path: diagnostic.path, text: diagnostic.message }
    }
}

impl From<core::RejectedCall> for RejectedCall {
    fn from(rejected: core::RejectedCall) -> Self {
        Self {
            reason: rejected.reason.code().to_owned(),
            name: rejected.name,
            raw_text: rejected.raw_text,
            byte_offset: SdkLong(rejected.byte_offset as u64),
            candidate: rejected.candidate.map(Into::into),
            explanation: rejected.message,
        }
    }
}

impl RejectedCall {
    /// `None` for a reason that is unknown to this version.
    pub(crate) fn into_core(self) -> Option<core::RejectedCall> {
        Some(core::RejectedCall {
            reason: core::RejectionReason::ALL.into_iter().find(|reason| reason.code() == self.reason)?,
            name: self.name,
            raw_text: self.raw_text,
            byte_offset: self.byte_offset.size(),
            candidate: self.candidate.map(Into::into),
            message: self.explanation,
        })
    }
}
