//! The model's chat template, compiled and rendered on a large stack, with errors of the SDK.

use std::error::Error as _;

use causerie_jinja::{ChatTemplate, Fuel, TemplateError, TemplateErrorKind, Value};
use jiff::Zoned;

use crate::deep_stack::{self, DeepStackError};
use crate::error::{ErrorKind, Result, SdkError};
use crate::memory;

const _: () = assert!(causerie_jinja::STACK <= deep_stack::STACK);

/// Limit of the work of a prompt, with all attempts to fit its history. Known templates take up to 1,130,000 for a conversation of
/// 4,000 messages and 4 MB; no template takes more than two seconds.
pub(super) const PROMPT_FUEL: u64 = 6_000_000;

/// A compiled chat template.
pub(super) struct PromptTemplate(ChatTemplate);

impl PromptTemplate {
    /// Compiles a template.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`] for a source that is not valid or not supported.
    pub(super) fn compile(source: &str) -> Result<Self> {
        let compiled = on_deep_stack(|| ChatTemplate::compile(source))?;
        compiled
            .map(Self)
            .map_err(|err| SdkError::new(ErrorKind::ModelLoad, "the chat template does not compile").caused_by(err))
    }

    /// Renders a prompt, with work from `fuel`. The characters in `kept` are never escaped.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidMessage`] if the template refuses the messages, takes too much work, or uses an unsupported filter,
    /// test, method or function.
    pub(super) fn render(&self, variables: Value, now: &Zoned, kept: Vec<char>, fuel: &Fuel) -> Result<String> {
        on_deep_stack(|| self.0.render(variables, now, kept, fuel))?.map_err(|err| {
            let message = match err.kind() {
                TemplateErrorKind::Unsupported => {
                    "the chat template uses an unsupported filter, test, method or function"
                }
                TemplateErrorKind::Exhausted => "the chat template cannot render the messages",
                _ => "the chat template rejects the messages",
            };
            SdkError::new(ErrorKind::InvalidMessage, message).caused_by(err)
        })
    }
}

/// Whether a rendering failed because the template uses a filter, test, method or function that is not supported, or gives
/// one of them arguments that are not.
pub(super) fn lacks_feature(err: &SdkError) -> bool {
    let cause = err.source().and_then(|cause| cause.downcast_ref::<TemplateError>());
    cause.is_some_and(|cause| cause.kind() == TemplateErrorKind::Unsupported)
}

/// Runs the template engine on a large stack, because it recurses as deep as a template is nested.
fn on_deep_stack<T: Send>(run: impl FnOnce() -> T + Send) -> Result<T> {
    deep_stack::run(run).map_err(|err| match err {
        DeepStackError::Spawn(err) => memory::no_deep_thread("the chat template").caused_by(err),
        DeepStackError::Panic => SdkError::new(ErrorKind::InvalidMessage, "the chat template failed"),
    })
}
