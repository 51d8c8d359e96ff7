//! Renders messages and functions to a prompt, with the model's own chat template.
//!
//! [`capabilities`] finds out in which form a template takes a conversation, and [`calls`] in which notation the model writes
//! calls. [`template`] runs the template, with the crate `causerie-jinja`.
//! [`control`] keeps text that spells control tokens apart from the control tokens that the template writes.

mod calls;
mod capabilities;
mod content_forms;
mod continuation;
mod control;
mod decisions;
mod facts;
mod fitting;
mod identifiers;
mod images;
#[cfg(test)]
mod input_tests;
mod option_rows;
mod probed;
#[cfg(test)]
mod report_tests;
mod results;
mod roles;
mod segments;
mod sounds;
mod template;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod work_tests;
mod tool_list;
mod unanswered;
mod view;

use std::borrow::Cow;
use std::sync::Arc;

use causerie_jinja::{Fuel, Value as TemplateValue};
use jiff::Zoned;

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{Arguments, FunctionNames, SdkFunction, Value};
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::notation::FunctionCallParser;
use crate::tokenizer::{ControlTokens, ModelTokenizer, SpecialTokens};
use crate::weights::TemplateSources;

pub(crate) use crate::tokenizer::Segment;
pub(crate) use causerie_jinja::MAX_PROMPT;
pub(crate) use continuation::is_in_reasoning;
pub(crate) use decisions::{DecisionOption, DecisionPrompts, DecisionTurn};
pub(crate) use facts::TemplateFacts;
pub(crate) use images::{ImageInput, ImageReader, NO_IMAGES_IN_TEMPLATE, TEXT_ONLY};
#[cfg(test)]
pub(crate) use option_rows::OptionSequence;
pub(crate) use option_rows::{OptionEncoder, OptionTexts, OptionTokens};
pub(crate) use segments::{embedded, joined};
pub(crate) use sounds::{NO_AUDIO, SoundReader};

use capabilities::{Capabilities, ToolForm};
use control::{ControlMarker, texts_of};
use fitting::{Fit, calls_alone, one_call_each, refused};
use images::{ImageSupport, replace_markers};
use probed::TemplateKey;
use sounds::{SoundSupport, embed_recordings};
use template::{PROMPT_FUEL, PromptTemplate};
use tool_list::{only_carries_functions, with_tool_list};
use view::View;

/// Renders conversations for one model.
pub(crate) struct PromptRenderer {
    template: PromptTemplate,
    /// Renders conversations with functions, if the model has a separate template for them.
    tool_use: Option<Box<PromptRenderer>>,
    control: ControlTokens,
    /// Template variables by name.
    special: SpecialTokens,
    capabilities: Capabilities,
    /// The notation in which the model writes calls.
    notation: FunctionCallParser,
    images: ImageSupport,
    sounds: SoundSupport,
}

/// Limit of the work of loading a model, with all probes of its templates together. Known templates take up to 11,000. This and
/// the limit of prompts were measured with the example `needs` of causerie-jinja (docs/adr/0024).
const LOAD_FUEL: u64 = 1_000_000;

/// The inputs of a prompt besides its messages.
pub(crate) struct Frame<'a> {
    /// Whether the prompt ends with the beginning of the model's turn.
    pub(crate) add_generation_prompt: bool,
    /// Whether the prompt ends with the text of the last message, a reply that the model continues.
    pub(crate) continue_final_message: bool,
    /// The template variable of this name; `None` leaves it undefined.
    pub(crate) enable_thinking: Option<bool>,
    /// Further template variables, by name.
    pub(crate) variables: Option<&'a Arguments>,
    /// The current time for the template.
    pub(crate) now: &'a Zoned,
    /// Whether the images and the recordings of messages are read. If not, the template's markers stand for images, and nothing for
    /// recordings.
    pub(crate) embeds_images: bool,
}

impl<'a> Frame<'a> {
    /// The inputs of a prompt that is only shown: without reasoning, variables and the data of images.
    pub(crate) fn shown(now: &'a Zoned, add_generation_prompt: bool) -> Self {
        Self {
            add_generation_prompt,
            continue_final_message: false,
            enable_thinking: Some(false),
            variables: None,
            now,
            embeds_images: false,
        }
    }
}

impl PromptRenderer {
    /// A renderer for a model with these two special tokens.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn new(source: &str, control: ControlTokens, bos: &str, eos: &str, takes_images: bool) -> Result<Self> {
        let special = [("bos_token", bos), ("eos_token", eos)].into_iter().collect();
        let mut renderer = Self::with_tokens(source, control, special, &Fuel::new(LOAD_FUEL))?;
        if takes_images {
            renderer.show_image_markers();
        }
        Ok(renderer)
    }

    /// Compiles a template and probes its capabilities, with work from `fuel`.
    fn with_tokens(source: &str, control: ControlTokens, special: SpecialTokens, fuel: &Fuel) -> Result<Self> {
        let mut renderer = Self::with_capabilities(source, control, special, Capabilities::NONE)?;
        (renderer.images, renderer.sounds) = (ImageSupport::Markers, SoundSupport::Markers);
        renderer.capabilities = Capabilities::find(source, renderer.has_call_tokens(), |assumed, messages| {
            let now = Zoned::default();
            let frame = Frame {
                add_generation_prompt: false,
                continue_final_message: false,
                enable_thinking: None,
                variables: None,
                now: &now,
                embeds_images: false,
            };
            renderer.render_as(assumed, messages, &frame, Fit::Unchanged, fuel)
        })?;
        if fuel.left() == 0 {
            let message =
                "the chat template must take less work: its limit does not suffice for some short conversations";
            return Err(SdkError::new(ErrorKind::ModelLoad, message));
        }
        renderer.images = ImageSupport::Missing(TEXT_ONLY.to_owned());
        renderer.sounds = SoundSupport::Missing(None);
        renderer.set_notation(source);
        Ok(renderer)
    }

    /// Compiles a template whose capabilities are known.
    fn with_capabilities(
        source: &str,
        control: ControlTokens,
        special: SpecialTokens,
        capabilities: Capabilities,
    ) -> Result<Self> {
        let mut renderer = Self {
            template: PromptTemplate::compile(source)?,
            tool_use: None,
            control,
            special,
            capabilities,
            notation: FunctionCallParser::default(),
            images: ImageSupport::Missing(TEXT_ONLY.to_owned()),
            sounds: SoundSupport::Missing(None),
        };
        renderer.set_notation(source);
        Ok(renderer)
    }

    fn set_notation(&mut self, source: &str) {
        let has_control = |spelling: &str| self.control.contains(spelling);
        self.notation = calls::notation(source, has_control, self.capabilities.printed);
    }

    /// Creates the renderer for a model from its templates and its tokenizer.
    pub(crate) fn from_sources(sources: &TemplateSources, tokenizer: &ModelTokenizer) -> Result<Self> {
        Self::from_facts(sources, tokenizer, &TemplateFacts::default()).map(|(renderer, _)| renderer)
    }

    /// As [`from_sources`](Self::from_sources), without rendering probes of templates whose facts are known. Returns the facts of all.
    pub(crate) fn from_facts(
        sources: &TemplateSources,
        tokenizer: &ModelTokenizer,
        known: &TemplateFacts,
    ) -> Result<(Self, TemplateFacts)> {
        let mut facts = TemplateFacts::default();
        let control = tokenizer.control_tokens()?;
        let fuel = Fuel::new(LOAD_FUEL);
        let mut renderer = |source: &str| {
            let special = tokenizer.special_tokens();
            let key = TemplateKey::new(source, &control, &special);
            if let Some(capabilities) = known.find(key).or_else(|| probed::recall(key)) {
                facts.add(key, capabilities);
                return Self::with_capabilities(source, control.clone(), special, capabilities);
            }
            let renderer = Self::with_tokens(source, control.clone(), special, &fuel)?;
            probed::remember(key, renderer.capabilities);
            facts.add(key, renderer.capabilities);
            Ok(renderer)
        };
        let tool_use = sources.tool_use.as_deref().map(&mut renderer).transpose()?;
        let chat = renderer(&sources.chat)?;
        Ok((Self { tool_use: tool_use.map(Box::new), ..chat }, facts))
    }

    /// Lets messages contain images.
    pub(crate) fn set_image_input(&mut self, image_input: ImageInput) {
        self.set_images(ImageSupport::Input(image_input));
    }

    /// Lets messages contain images, which are shown as the markers that the template prints.
    pub(crate) fn show_image_markers(&mut self) {
        self.set_images(ImageSupport::Markers);
    }

    /// Sets why messages cannot contain images.
    pub(crate) fn refuse_images(&mut self, reason: &str) {
        self.set_images(ImageSupport::Missing(reason.to_owned()));
    }

    fn set_images(&mut self, images: ImageSupport) {
        if let Some(tool_use) = &mut self.tool_use {
            tool_use.images = images.clone();
        }
        self.images = images;
    }

    /// Lets messages contain sound.
    pub(crate) fn set_sound_reader(&mut self, reader: Arc<dyn SoundReader>) {
        self.set_sounds(SoundSupport::Read(reader));
    }

    /// What reads the sound of messages, if something does.
    pub(crate) fn sound_reader(&self) -> Option<Arc<dyn SoundReader>> {
        match &self.sounds {
            SoundSupport::Read(reader) => Some(Arc::clone(reader)),
            SoundSupport::Markers | SoundSupport::Hidden | SoundSupport::Missing(_) => None,
        }
    }

    /// Lets messages contain sound, which is not shown.
    pub(crate) fn hide_sound(&mut self) {
        self.set_sounds(SoundSupport::Hidden);
    }

    /// Sets why messages cannot contain sound.
    pub(crate) fn refuse_sound(&mut self, reason: &str) {
        self.set_sounds(SoundSupport::Missing(Some(reason.to_owned())));
    }

    fn set_sounds(&mut self, sounds: SoundSupport) {
        if let Some(tool_use) = &mut self.tool_use {
            tool_use.sounds = sounds.clone();
        }
        self.sounds = sounds;
    }

    /// Replaces the markers for images in a prompt by these files.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedContent`] for images that cannot be read, and if the model takes none;
    /// [`ErrorKind::InvalidMessage`] if the prompt has more or fewer markers.
    pub(crate) fn embed(&self, segments: Vec<Segment>, files: &[Vec<u8>]) -> Result<Vec<Segment>> {
        self.images.embed(segments, files)
    }

    /// How images get into prompts.
    pub(crate) fn images(&self) -> &ImageSupport {
        &self.images
    }

    /// Whether the template prints markers for images.
    pub(crate) fn prints_images(&self) -> bool {
        self.capabilities.images
    }

    /// Whether the template can present functions to the model.
    pub(crate) fn offers_functions(&self) -> bool {
        self.tool_use.as_deref().unwrap_or(self).capabilities.tools.is_some()
    }

    /// The notation in which the model writes calls.
    pub(crate) fn function_call_parser(&self) -> FunctionCallParser {
        self.tool_use.as_deref().unwrap_or(self).notation
    }

    /// Whether the vocabulary has the control tokens that enclose Python-style calls.
    fn has_call_tokens(&self) -> bool {
        FunctionCallParser::DefaultFunctionCallParser.notation().has_markers(|spelling| self.control.contains(spelling))
    }

    /// Renders the prompt for the next reply. The system message has the functions. A history that the template
    /// refuses is [changed](Fit) as far as necessary.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedContent`] for images or audio that the model does not support,
    /// [`ErrorKind::FunctionCallingUnsupported`] if the template cannot present functions, [`ErrorKind::InvalidFunction`] for
    /// a function that is not valid, [`ErrorKind::InvalidMessage`] for a message that the template refuses.
    pub(crate) fn render(&self, given: &[ChatMessage], frame: &Frame<'_>) -> Result<Vec<Segment>> {
        let marked = frame.continue_final_message.then(|| continuation::marked(given)).transpose()?;
        let messages = &*results::in_order(marked.as_deref().unwrap_or(given));
        let renderer = match &self.tool_use {
            Some(tool_use) if messages.iter().any(|message| !message.functions.is_empty()) => tool_use,
            _ => self,
        };
        let mut functions = messages.iter().flat_map(|message| &message.functions);
        functions.try_for_each(|function| function.check_with(FunctionNames::Dotted))?;
        let messages = &*identifiers::written(messages, renderer.notation);
        let fuel = Fuel::new(PROMPT_FUEL);
        let segments = renderer.render_fitting(messages, frame, &fuel).map_err(|refusal| match refusal.kind() {
            ErrorKind::InvalidMessage if fuel.left() == 0 => refusal,
            ErrorKind::InvalidMessage if !template::lacks_feature(&refusal) => refused(refusal, messages, |first| {
                let renders = renderer.render_fitting(first, frame, &fuel).is_ok();
                (0 < fuel.left()).then_some(renders)
            }),
            ErrorKind::UnsupportedContent => match renderer.refused_part(given, frame) {
                Some((place, refusal)) => refusal.at(&place),
                None => refusal,
            },
            _ => refusal,
        })?;
        if marked.is_some() { continuation::cut(segments) } else { Ok(segments) }
    }

    /// A rendered prompt without reasoning: if the template opens it at the end of the prompt, it is closed.
    pub(crate) fn close_reasoning(&self, segments: Vec<Segment>) -> Vec<Segment> {
        continuation::close_reasoning(segments, &self.control)
    }

    /// The first content part that cannot be in a prompt, and why.
    fn refused_part(&self, messages: &[ChatMessage], frame: &Frame<'_>) -> Option<(String, SdkError)> {
        let parts = messages.iter().enumerate().flat_map(|(i, message)| {
            let place = move |j: usize| format!("messages[{i}].content[{j}]");
            message.content.iter().enumerate().map(move |(j, part)| (place(j), message.role, part))
        });
        let embeds = frame.embeds_images;
        let refusal = |role: Role, part: &ChatMessageContent| match part {
            ChatMessageContent::Text(_) => None,
            ChatMessageContent::Image(file) => self.images.read(file, self.capabilities.images, embeds).err(),
            ChatMessageContent::Audio(file) => self.sounds.read((file, role), self.images.has_input(), embeds).err(),
        };
        parts.into_iter().find_map(|(place, role, part)| Some((place, refusal(role, part)?)))
    }

    /// Renders a prompt with the first fit that the template accepts, with functions as they were given if it accepts these.
    fn render_fitting(&self, messages: &[ChatMessage], frame: &Frame<'_>, fuel: &Fuel) -> Result<Vec<Segment>> {
        let completed = Capabilities { completes_functions: true, ..self.capabilities };
        let mut functions = messages.iter().flat_map(|message| &message.functions);
        let may_complete = functions.any(|function| function.definition.is_some() || function.description.is_empty());
        let all = [self.capabilities, completed];
        let capabilities = all.into_iter().take(if may_complete { 2 } else { 1 });
        let mut fits = capabilities.flat_map(|capabilities| Fit::ALL.map(|fit| (capabilities, fit))).skip(1);
        let render = |(capabilities, fit)| self.render_as(capabilities, messages, frame, fit, fuel);
        render((self.capabilities, Fit::Unchanged)).or_else(|refusal| match refusal.kind() {
            ErrorKind::InvalidMessage if !template::lacks_feature(&refusal) => {
                fits.find_map(|fit| render(fit).ok()).ok_or(refusal)
            }
            _ => Err(refusal),
        })
    }

    /// Renders a prompt under the assumption of some capabilities.
    fn render_as(
        &self,
        capabilities: Capabilities,
        messages: &[ChatMessage],
        frame: &Frame<'_>,
        fit: Fit,
        fuel: &Fuel,
    ) -> Result<Vec<Segment>> {
        let functions: Vec<&SdkFunction> = messages.iter().flat_map(|message| &message.functions).collect();
        if !functions.is_empty() && capabilities.tools.is_none() {
            return Err(SdkError::new(
                ErrorKind::FunctionCallingUnsupported,
                "functions are registered, but the model's chat template does not support functions",
            ));
        }
        let others = Value::Object(frame.variables.cloned().unwrap_or_default());
        let printed = others.to_string();
        let mut texts = texts_of(messages);
        texts.push(printed.into());
        let marker = ControlMarker::new(&self.control, &texts)?;
        let mut view =
            View::new(capabilities, &marker, self.notation, (&self.images, &self.sounds), frame.embeds_images);
        let (tools, messages): (Vec<TemplateValue>, _) = match capabilities.tools {
            Some(ToolForm::Inserted(form)) => (Vec::new(), with_tool_list(messages, &functions, form)),
            Some(ToolForm::Carried) => (Vec::new(), Cow::Borrowed(messages)),
            form => {
                let tools = functions.iter().map(|function| view.tool(function, form));
                (tools.collect(), Cow::Borrowed(messages))
            }
        };
        let mut messages = capabilities.roles.adapted(&messages);
        if let Some(changed) = fit.apply(&messages) {
            messages = Cow::Owned(changed);
        }
        if capabilities.calls.is_some_and(|form| form.single)
            && let Some(changed) = one_call_each(&messages)
        {
            messages = Cow::Owned(changed);
        }
        if capabilities.calls.is_some_and(|form| form.alone)
            && let Some(changed) = calls_alone(&messages)
        {
            messages = Cow::Owned(changed);
        }
        let is_shown = |message: &&ChatMessage| !only_carries_functions(message) || view.carries_functions(message);
        let messages: Vec<&ChatMessage> = messages.iter().filter(is_shown).collect();
        let messages = messages.into_iter().map(|message| view.message(message)).collect::<Result<Vec<_>>>()?;
        let variables = causerie_jinja::context! {
            messages,
            tools => (!tools.is_empty()).then_some(tools),
            add_generation_prompt => frame.add_generation_prompt,
        };
        let variables = match frame.enable_thinking {
            Some(enable_thinking) => causerie_jinja::context! { enable_thinking, ..variables },
            None => variables,
        };
        let special = TemplateValue::from_pairs(self.special.iter());
        let variables = causerie_jinja::context! { ..variables, ..view.value(&others, false), ..special };
        let (images, recordings) = (view.shown_images, view.recordings);
        let segments = marker.split(&self.template.render(variables, frame.now, marker.stand_ins(), fuel)?);
        let segments = match self.sounds.marker() {
            Some(marker) if capabilities.sounds => replace_markers(segments, (marker, "recordings"), recordings)?,
            None if self.sounds.has_marker() => segments,
            _ => embed_recordings(segments, marker.content(), recordings)?,
        };
        match &self.images {
            ImageSupport::Input(image_input) if frame.embeds_images => image_input.embed(segments, images),
            _ => Ok(segments),
        }
    }
}
