//! From messages and functions to the text that the model reads, by the model's own chat template.

mod control;
mod python;
mod template;
#[cfg(test)]
mod tests;

use indexmap::IndexMap;
use jiff::Zoned;
use minijinja::value::Value as TemplateValue;

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{Arguments, SdkFunction, SdkFunctionCall, SdkFunctionParameter, SdkFunctionParameterType, Value};
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::parse::render_calls;
use crate::schema::function_schema;

pub(crate) use control::{ControlTokens, Segment};

use control::Marker;
use python::LargeInteger;
use template::ChatTemplate;

/// Renders conversations for one model.
pub(crate) struct PromptRenderer {
    template: ChatTemplate,
    control: ControlTokens,
    bos_token: String,
    eos_token: String,
    capabilities: Capabilities,
}

/// What a prompt holds besides its messages.
pub(crate) struct Frame<'a> {
    /// Whether the prompt ends where the model's turn begins.
    pub(crate) add_generation_prompt: bool,
    /// The template's variable of that name; `None` leaves it undefined.
    pub(crate) enable_thinking: Option<bool>,
    /// The time that the template sees.
    pub(crate) now: &'a Zoned,
}

/// What a template prints, found by rendering a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Capabilities {
    tools: bool,
    calls: bool,
}

impl PromptRenderer {
    pub(crate) fn new(source: &str, control: ControlTokens, bos_token: &str, eos_token: &str) -> Result<Self> {
        let mut renderer = Self {
            template: ChatTemplate::compile(source)?,
            control,
            bos_token: bos_token.to_owned(),
            eos_token: eos_token.to_owned(),
            capabilities: Capabilities { tools: true, calls: true },
        };
        renderer.capabilities = renderer.probe();
        Ok(renderer)
    }

    /// Whether the template shows the model its functions.
    pub(crate) fn offers_functions(&self) -> bool {
        self.capabilities.tools
    }

    /// The prompt for the next reply. The functions are those that the system message carries.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedContent`] for images and audio, [`ErrorKind::FunctionCallingUnsupported`] for functions
    /// that the template cannot offer, [`ErrorKind::InvalidMessage`] for a conversation that the template refuses.
    pub(crate) fn render(&self, messages: &[ChatMessage], frame: &Frame<'_>) -> Result<Vec<Segment>> {
        let functions: Vec<&SdkFunction> = messages.iter().flat_map(|message| &message.functions).collect();
        if !functions.is_empty() && !self.capabilities.tools {
            return Err(SdkError::new(
                ErrorKind::FunctionCallingUnsupported,
                "functions are registered, but the model's chat template does not offer them",
            ));
        }
        let marker = Marker::new(&self.control, |candidate| holds(messages, candidate))?;
        let tools: Vec<TemplateValue> =
            functions.iter().map(|function| template_value(&function_schema(function), &marker)).collect();
        let messages = messages.iter().filter(|message| !only_carries_functions(message));
        let messages = messages.map(|message| self.message(message, &marker)).collect::<Result<Vec<_>>>()?;
        let variables = minijinja::context! {
            messages,
            tools => (!tools.is_empty()).then_some(tools),
            add_generation_prompt => frame.add_generation_prompt,
            bos_token => &self.bos_token,
            eos_token => &self.eos_token,
        };
        let variables = match frame.enable_thinking {
            Some(enable_thinking) => minijinja::context! { enable_thinking, ..variables },
            None => variables,
        };
        Ok(marker.split(&self.template.render(variables, frame.now)?))
    }

    fn message(&self, message: &ChatMessage, marker: &Marker<'_>) -> Result<TemplateValue> {
        if message.content.iter().any(|part| !matches!(part, ChatMessageContent::Text(_))) {
            return Err(SdkError::new(ErrorKind::UnsupportedContent, "the model takes text only, not images or audio"));
        }
        let text = message.text();
        let mut content = marker.mark(&text).into_owned();
        let mut entries: IndexMap<&str, TemplateValue> = IndexMap::new();
        entries.insert("role", message.role.as_str().into());
        // Templates test whether a key is there, so absent things have no key.
        if let Some(calls) = message.function_calls.as_deref().filter(|calls| !calls.is_empty()) {
            if self.capabilities.calls {
                entries.insert("tool_calls", calls.iter().map(|call| tool_call(call, marker)).collect());
            } else {
                let calls = render_calls(calls);
                content = format!("<|tool_call_start|>{}<|tool_call_end|>{content}", marker.mark(&calls));
            }
        }
        if let Some(reasoning) = message.reasoning_content.as_deref().filter(|reasoning| !reasoning.is_empty()) {
            let reasoning = TemplateValue::from(marker.mark(reasoning).as_ref());
            entries.insert("thinking", reasoning.clone());
            entries.insert("reasoning_content", reasoning);
        }
        entries.insert("content", content.into());
        Ok(TemplateValue::from_pairs(entries))
    }

    /// Renders one function and one call of it, and looks for both.
    fn probe(&self) -> Capabilities {
        const TOOL: &str = "probe_tool";
        const VALUE: &str = "probe_value";
        // Some templates pass over functions without parameters.
        let parameter = SdkFunctionParameter::new("a", SdkFunctionParameterType::string(), "");
        let function = SdkFunction::new(TOOL, "", vec![parameter]);
        let system = ChatMessage::with_functions(vec![function]);
        let call = SdkFunctionCall {
            name: "probe_call".to_owned(),
            arguments: Arguments::from([("a".to_owned(), Value::from(VALUE))]),
            ..Default::default()
        };
        let mut reply = ChatMessage::assistant("");
        reply.function_calls = Some(vec![call]);
        let shows = |messages: &[ChatMessage], text: &str| {
            let frame = Frame { add_generation_prompt: false, enable_thinking: None, now: &Zoned::default() };
            let rendered = self.render(messages, &frame);
            rendered.is_ok_and(|segments| joined(&segments).contains(text))
        };
        Capabilities {
            tools: shows(&[system, ChatMessage::user("a")], TOOL),
            calls: shows(&[ChatMessage::user("a"), reply], VALUE),
        }
    }
}

/// The prompt as one text.
pub(crate) fn joined(segments: &[Segment]) -> String {
    let mut text = String::new();
    for segment in segments {
        let (Segment::Text(piece) | Segment::Control(piece)) = segment;
        text.push_str(piece);
    }
    text
}

/// Whether a system message stands for functions alone: templates read those from `tools`.
fn only_carries_functions(message: &ChatMessage) -> bool {
    message.role == Role::System && message.content.is_empty()
}

fn tool_call(call: &SdkFunctionCall, marker: &Marker<'_>) -> TemplateValue {
    let arguments = template_value(&Value::Object(call.arguments.clone()), marker);
    let name = marker.mark(&call.name);
    minijinja::context! { type => "function", function => minijinja::context! { name, arguments } }
}

fn template_value(value: &Value, marker: &Marker<'_>) -> TemplateValue {
    match value {
        Value::Null => TemplateValue::from(()),
        Value::Bool(flag) => TemplateValue::from(*flag),
        Value::Integer(integer) => TemplateValue::from(*integer),
        Value::BigInteger(integer) => match integer.digits().parse::<i128>() {
            Ok(integer) => TemplateValue::from(integer),
            Err(_) => TemplateValue::from_object(LargeInteger(integer.clone())),
        },
        Value::Number(number) => TemplateValue::from(*number),
        Value::String(text) => TemplateValue::from(marker.mark(text).as_ref()),
        Value::Array(items) => items.iter().map(|item| template_value(item, marker)).collect(),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| (marker.mark(key), template_value(value, marker)));
            TemplateValue::from_pairs(entries)
        }
    }
}

/// Whether any string of the conversation holds a character.
fn holds(messages: &[ChatMessage], character: char) -> bool {
    messages.iter().any(|message| {
        let calls = message.function_calls.iter().flatten();
        message.text().contains(character)
            || message.reasoning_content.as_ref().is_some_and(|reasoning| reasoning.contains(character))
            || message.functions.iter().any(|function| function_schema(function).to_string().contains(character))
            || calls.into_iter().any(|call| {
                call.name.contains(character) || Value::Object(call.arguments.clone()).to_string().contains(character)
            })
    })
}
