//! Why a template cannot be compiled or rendered.

use std::error::Error;
use std::fmt;

use minijinja::ErrorKind;

/// Why a template cannot be compiled or rendered. Its `Display` names the line of the template.
#[derive(Debug)]
pub struct TemplateError {
    kind: TemplateErrorKind,
    message: String,
    line: Option<usize>,
}

/// What went wrong with a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateErrorKind {
    /// The source is not valid, or too large.
    Source,
    /// The template uses a filter, test, method or function that is not supported, or gives one of them arguments that are not.
    Unsupported,
    /// The template refuses its variables, or creates a value that is nested too deep or too large.
    Refused,
    /// The template takes more work or memory than its fuel pays for.
    Exhausted,
}

impl TemplateError {
    pub(crate) fn in_source(reason: &'static str) -> Self {
        Self { kind: TemplateErrorKind::Source, message: reason.to_owned(), line: None }
    }

    pub(crate) fn in_engine_source(err: minijinja::Error) -> Self {
        Self { kind: TemplateErrorKind::Source, message: err.to_string(), line: err.line() }
    }

    pub(crate) fn in_rendering(err: minijinja::Error) -> Self {
        use ErrorKind::{OutOfFuel, TooManyArguments, UnknownFilter, UnknownFunction, UnknownMethod, UnknownTest};
        let err = innermost(&err);
        let kind = match err.kind() {
            UnknownFilter | UnknownTest | UnknownMethod | UnknownFunction | TooManyArguments => {
                TemplateErrorKind::Unsupported
            }
            OutOfFuel => TemplateErrorKind::Exhausted,
            _ => TemplateErrorKind::Refused,
        };
        let message = match (kind, err.line()) {
            (TemplateErrorKind::Exhausted, Some(line)) => format!("it takes too much work (in chat_template:{line})"),
            (TemplateErrorKind::Exhausted, None) => "it takes too much work".to_owned(),
            _ => err.to_string(),
        };
        Self { kind, message, line: err.line() }
    }

    /// What went wrong.
    pub fn kind(&self) -> TemplateErrorKind {
        self.kind
    }

    /// The line of the template, counted from 1, if the error has one.
    pub fn line(&self) -> Option<usize> {
        self.line
    }
}

/// The error inside of the template, which an outer one includes.
fn innermost(err: &minijinja::Error) -> &minijinja::Error {
    match err.source().and_then(|cause| cause.downcast_ref::<minijinja::Error>()) {
        Some(cause) if err.kind() == ErrorKind::BadInclude => innermost(cause),
        _ => err,
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for TemplateError {}
