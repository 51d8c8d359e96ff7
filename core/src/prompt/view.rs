//! Converts a conversation to the values that a template reads, in the forms that it knows.

use causerie_jinja::{LargeInteger, Literal, Value as TemplateValue};
use indexmap::IndexMap;

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{SdkFunction, SdkFunctionCall, Value};
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::notation::written::Written;
use crate::notation::{FunctionCallParser, read_json};
use crate::parse::render;
use crate::prompt::capabilities::{CallForm, CallIdForm, Capabilities, ToolForm, ToolListForm};
use crate::prompt::content_forms::ContentForm;
use crate::prompt::control::ControlMarker;
use crate::prompt::images::ImageSupport;
use crate::prompt::roles::ResultForm;
use crate::prompt::sounds::SoundSupport;
use crate::prompt::tool_list::tool_list;
use crate::prompt::unanswered::UnansweredCalls;
use crate::schema::{completed_schema, function_schema, tool_schema, wrapped};
use crate::tokenizer::Segment;

/// Converts a conversation to template values.
pub(super) struct View<'a> {
    capabilities: Capabilities,
    marker: &'a ControlMarker<'a>,
    /// The notation of calls, for templates that ignore them.
    notation: FunctionCallParser,
    calls: UnansweredCalls,
    images: &'a ImageSupport,
    sounds: &'a SoundSupport,
    /// Whether images and recordings are read; if not, the markers of images stay in the prompt.
    embeds_images: bool,
    /// The images of the messages so far.
    pub(super) shown_images: Vec<Vec<Segment>>,
    /// The recordings of the messages so far.
    pub(super) recordings: Vec<Vec<Segment>>,
}

impl<'a> View<'a> {
    pub(super) fn new(
        capabilities: Capabilities,
        marker: &'a ControlMarker<'a>,
        notation: FunctionCallParser,
        (images, sounds): (&'a ImageSupport, &'a SoundSupport),
        embeds_images: bool,
    ) -> Self {
        let (calls, shown_images, recordings) = (UnansweredCalls::default(), Vec::new(), Vec::new());
        Self { capabilities, marker, notation, calls, images, embeds_images, shown_images, sounds, recordings }
    }

    /// The entry of a function in the variable `tools`.
    pub(super) fn tool(&self, function: &SdkFunction, form: Option<ToolForm>) -> TemplateValue {
        let is_wrapped = form == Some(ToolForm::Given(ToolListForm::Wrapped));
        let entry = match (self.capabilities.completes_functions, is_wrapped) {
            (false, true) => tool_schema(function),
            (false, false) => function_schema(function),
            (true, true) => wrapped(completed_schema(function)),
            (true, false) => completed_schema(function),
        };
        self.value(&entry, false)
    }

    pub(super) fn message(&mut self, message: &ChatMessage) -> Result<TemplateValue> {
        let mut entries: IndexMap<&str, TemplateValue> = IndexMap::new();
        entries.insert("role", message.role.as_str().into());
        // Templates test whether a key exists, so absent fields have no key.
        if let Some(name) = message.name.as_deref().filter(|name| !name.is_empty()) {
            entries.insert("name", self.marker.mark(name).as_ref().into());
        }
        let mut written = String::new();
        let mut has_no_content = false;
        if let Some(calls) = message.function_calls.as_deref().filter(|calls| !calls.is_empty()) {
            let ids =
                self.calls.replace(calls, self.capabilities.calls.is_some_and(|form| form.ids == CallIdForm::Created));
            match self.capabilities.calls {
                Some(form) => {
                    has_no_content = form.alone;
                    let calls = calls.iter().zip(ids).map(|(call, id)| self.call(call, id, form));
                    drop(entries.insert("tool_calls", calls.collect()))
                }
                None => written = self.written_calls(calls)?,
            }
        }
        let mut content = if has_no_content { TemplateValue::from(()) } else { self.content(message, &written)? };
        if message.role == Role::Tool {
            let answered = self.calls.take_answered(message.tool_call_id.as_deref());
            if self.capabilities.calls.is_some_and(|form| form.ids != CallIdForm::Absent) {
                entries.insert("tool_call_id", self.marker.mark(&answered.id).as_ref().into());
            }
            if let ResultForm::Message(form) = self.capabilities.roles.results {
                if form.named && !entries.contains_key("name") {
                    entries.insert("name", self.marker.mark(&answered.name).as_ref().into());
                }
                let is_text = |part: &ChatMessageContent| matches!(part, ChatMessageContent::Text(_));
                if form.mapped
                    && message.content.iter().all(is_text)
                    && let Some(object @ Value::Object(_)) = read_json(&message.text())
                {
                    content = self.value(&object, false);
                }
            }
        }
        if self.carries_functions(message) {
            entries
                .insert("tools", self.marker.mark(&tool_list(&message.functions, ToolListForm::Bare)).as_ref().into());
        }
        if let Some(reasoning) = message.reasoning_content.as_deref().filter(|reasoning| !reasoning.is_empty()) {
            let reasoning = TemplateValue::from(self.marker.mark(reasoning).as_ref());
            entries.insert("thinking", reasoning.clone());
            entries.insert("reasoning_content", reasoning);
        }
        entries.insert("content", content);
        Ok(TemplateValue::from_pairs(entries))
    }

    /// The content of a message, after calls that were written as text: in the form of the template if it consists of text
    /// only, otherwise an array of parts.
    fn content(&mut self, message: &ChatMessage, written: &str) -> Result<TemplateValue> {
        let has_sound_marker = self.capabilities.sounds && self.sounds.has_marker();
        let is_own_part = |part: &ChatMessageContent| match part {
            ChatMessageContent::Text(_) => false,
            ChatMessageContent::Image(_) => true,
            ChatMessageContent::Audio(_) => has_sound_marker,
        };
        if !message.content.iter().any(is_own_part) {
            let text = format!("{written}{}", self.text(message)?);
            return Ok(match self.capabilities.content.of(message.role) {
                ContentForm::Text => text.into(),
                ContentForm::Parts => [causerie_jinja::context! { type => "text", text }].into_iter().collect(),
            });
        }
        let mut part = |part: &ChatMessageContent| {
            Ok(match part {
                ChatMessageContent::Text(text) => {
                    causerie_jinja::context! { type => "text", text => self.marker.mark(text).as_ref() }
                }
                ChatMessageContent::Image(file) => {
                    self.shown_images.extend(self.images.read(file, self.capabilities.images, self.embeds_images)?);
                    causerie_jinja::context! { type => "image" }
                }
                ChatMessageContent::Audio(file) if has_sound_marker => {
                    self.recordings.push(self.recording(file, message.role)?);
                    causerie_jinja::context! { type => "audio" }
                }
                ChatMessageContent::Audio(file) => {
                    self.recordings.push(self.recording(file, message.role)?);
                    causerie_jinja::context! { type => "text", text => self.marker.content().to_string() }
                }
            })
        };
        let parts = message.content.iter().map(&mut part).collect::<Result<Vec<_>>>()?;
        let written = (!written.is_empty()).then(|| causerie_jinja::context! { type => "text", text => written });
        Ok(written.into_iter().chain(parts).collect())
    }

    /// The positions of a recording.
    fn recording(&self, file: &[u8], role: Role) -> Result<Vec<Segment>> {
        self.sounds.read((file, role), self.images.has_input(), self.embeds_images)
    }

    /// The text of a message without images. A character stands for sound of which the template prints no marker.
    fn text(&mut self, message: &ChatMessage) -> Result<String> {
        let mut text = String::new();
        let is_text = |part: &ChatMessageContent| matches!(part, ChatMessageContent::Text(_));
        for parts in message.content.chunk_by(|part, next| is_text(part) && is_text(next)) {
            match parts {
                [ChatMessageContent::Audio(file)] => {
                    self.recordings.push(self.recording(file, message.role)?);
                    text.push(self.marker.content());
                }
                _ => text.push_str(&self.marker.mark(&joined_text(parts))),
            }
        }
        Ok(text)
    }

    /// Whether the functions of a message are passed to the template as a key of the message.
    pub(super) fn carries_functions(&self, message: &ChatMessage) -> bool {
        self.capabilities.tools == Some(ToolForm::Carried) && !message.functions.is_empty()
    }

    fn call(&self, call: &SdkFunctionCall, id: String, form: CallForm) -> TemplateValue {
        let arguments = if form.as_text {
            self.marker.mark(&Value::Object(call.arguments.clone()).to_string()).as_ref().into()
        } else {
            let arguments = call.arguments.iter();
            let arguments = arguments.map(|(name, value)| (self.marker.mark(name), self.value(value, form.literals)));
            TemplateValue::from_pairs(arguments)
        };
        let name = self.marker.mark(&call.name);
        let function = causerie_jinja::context! { name, arguments };
        match form.ids {
            CallIdForm::Absent => causerie_jinja::context! { type => "function", function },
            CallIdForm::Own | CallIdForm::Created => {
                causerie_jinja::context! { type => "function", id => self.marker.mark(&id), function }
            }
        }
    }

    /// Calls in the model's notation, for templates that ignore calls.
    fn written_calls(&self, calls: &[SdkFunctionCall]) -> Result<String> {
        let has_control = |spelling: &str| self.marker.control.contains(spelling);
        let written = render(self.notation.notation(), calls, has_control).ok_or_else(|| {
            let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
            let names = names.join(", ");
            SdkError::new(
                ErrorKind::InvalidMessage,
                format!("calls must be expressible in the model's notation, found {names}"),
            )
        })?;
        let text = |part: Written| match part {
            Written::Text(text) => self.marker.mark(&text).into_owned(),
            Written::Marker(marker) => marker.to_owned(),
        };
        Ok(written.into_iter().map(text).collect())
    }

    /// A template value. With `is_literal`, a string that needs escapes prints as a Python literal.
    pub(super) fn value(&self, value: &Value, is_literal: bool) -> TemplateValue {
        match value {
            Value::Null => TemplateValue::from(()),
            Value::Bool(flag) => TemplateValue::from(*flag),
            Value::Integer(integer) => TemplateValue::from(*integer),
            Value::BigInteger(integer) => match integer.digits().parse::<i128>() {
                Ok(integer) => TemplateValue::from(integer),
                Err(_) => TemplateValue::from_object(LargeInteger(integer.digits().to_owned())),
            },
            Value::Number(number) => TemplateValue::from(*number),
            Value::String(text) if is_literal && Literal::is_needed(text) => {
                TemplateValue::from_object(Literal(self.marker.mark(text).into_owned()))
            }
            Value::String(text) => TemplateValue::from(self.marker.mark(text).as_ref()),
            Value::Array(items) => items.iter().map(|item| self.value(item, false)).collect(),
            Value::Object(entries) => {
                let entries = entries.iter().map(|(key, value)| (self.marker.mark(key), self.value(value, false)));
                TemplateValue::from_pairs(entries)
            }
        }
    }
}

/// The text of some parts.
fn joined_text(parts: &[ChatMessageContent]) -> String {
    let text = |part: &ChatMessageContent| match part {
        ChatMessageContent::Text(text) => text.clone(),
        ChatMessageContent::Image(_) | ChatMessageContent::Audio(_) => String::new(),
    };
    parts.iter().map(text).collect()
}
