//! Chat templates as they are published: Jinja2 templates written for Python, rendered within limits.
//!
//! The template engine is minijinja. This crate adds what published templates need besides (Python's methods, formatting and
//! printing, the filters of Jinja2), and limits for templates that come from strangers. `docs/templates.md` lists the differences
//! from Jinja2.
//!
//! ```
//! use causerie_jinja::{ChatTemplate, Fuel, Value};
//!
//! let template = ChatTemplate::compile("{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}{% endfor %}").unwrap();
//! let message = Value::from_pairs([("role", "user"), ("content", " Hi ")]);
//! let variables = Value::from_pairs([("messages", Value::from(vec![message]))]);
//! assert_eq!(template.render(variables, &jiff::Zoned::default(), Vec::new(), &Fuel::new(1000)).unwrap(), "<user>Hi");
//! ```
#![forbid(unsafe_code)]

mod cycler;
mod engine_filters;
mod error;
mod field_format;
mod filters;
mod formatting;
mod fuel;
mod guard_filters;
mod guards;
mod json_filter;
mod literals;
mod markup;
mod methods;
mod operators;
mod padding;
mod printable;
mod python;
mod source;
mod strings;
mod tag_tokens;
mod template;
#[cfg(test)]
mod tests;
mod wrapping;

pub use error::{TemplateError, TemplateErrorKind};
pub use fuel::Fuel;
pub use literals::{python_float, write_json_string};
pub use minijinja::context;
pub use minijinja::value::Value;
pub use python::{LargeInteger, Literal};
pub use template::{ChatTemplate, MAX_PROMPT};

/// Stack in bytes that compiling and rendering a template need: they recurse as deep as a template is nested. Only the used part
/// of a stack takes memory.
pub const STACK: usize = 256 << 20;
