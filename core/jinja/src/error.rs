//! Why a template cannot be compiled or rendered.

use std::error::Error;
use std::fmt;

use minijinja::ErrorKind;

/// Why a template cannot be compiled or rendered. Its `Display` names the line of the template.
#[derive(Debug)]
pub struct TemplateError {
    kind: TemplateErrorKind,
    cause: Cause,
}

/// What went wrong with a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateErrorKind {
    /// The source is not valid, or too large.
    Source,
    /// The template uses a filter, test, method or function that is not supported, or gives one of them arguments that are not.
    Unsupported,
    /// The template refuses its variables, or takes too much work or memory with them.
    Refused,
}

#[derive(Debug)]
enum Cause {
    Reason(&'static str),
    Engine(minijinja::Error),
}

impl TemplateError {
    pub(crate) fn new(kind: TemplateErrorKind, err: minijinja::Error) -> Self {
        Self { kind, cause: Cause::Engine(err) }
    }

    pub(crate) fn in_source(reason: &'static str) -> Self {
        Self { kind: TemplateErrorKind::Source, cause: Cause::Reason(reason) }
    }

    pub(crate) fn in_rendering(err: minijinja::Error) -> Self {
        use ErrorKind::{TooManyArguments, UnknownFilter, UnknownFunction, UnknownMethod, UnknownTest};
        let kind = match err.kind() {
            UnknownFilter | UnknownTest | UnknownMethod | UnknownFunction | TooManyArguments => {
                TemplateErrorKind::Unsupported
            }
            _ => TemplateErrorKind::Refused,
        };
        Self::new(kind, err)
    }

    /// What went wrong.
    pub fn kind(&self) -> TemplateErrorKind {
        self.kind
    }

    /// The line of the template, counted from 1, if the error has one.
    pub fn line(&self) -> Option<usize> {
        match &self.cause {
            Cause::Reason(_) => None,
            Cause::Engine(err) => err.line(),
        }
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Reason(reason) => f.write_str(reason),
            Cause::Engine(err) => err.fmt(f),
        }
    }
}

impl Error for TemplateError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.cause {
            Cause::Reason(_) => None,
            Cause::Engine(err) => err.source(),
        }
    }
}
