//! Prompts of decision models: by the template in the model's files, or in the form that models of type lfm2-d1 were trained on.

use std::borrow::Cow;

use causerie_jinja::{Fuel, Value as TemplateValue};
use jiff::Zoned;

use crate::error::{ErrorKind, Result, SdkError};
use crate::prompt::control::ControlMarker;
use crate::prompt::images::{ImageSupport, TEXT_ONLY};
use crate::prompt::template::{PROMPT_FUEL, PromptTemplate};
use crate::tokenizer::{ControlTokens, ModelTokenizer, Segment, SpecialTokens};

/// The prompts of one decision model.
pub(crate) struct DecisionPrompts {
    template: Option<PromptTemplate>,
    control: ControlTokens,
    special: SpecialTokens,
    /// The spelling of the token that begins a prompt; empty if there is none.
    bos: String,
    images: ImageSupport,
}

/// A question with its state.
pub(crate) struct DecisionTurn<'a> {
    /// `noul` for yes or no, `choice` or `score`.
    pub(crate) type_name: &'static str,
    pub(crate) state: Option<&'a str>,
    pub(crate) instructions: &'a str,
    pub(crate) options: &'a [DecisionOption],
    /// The user's text in the built-in form: all of it.
    pub(crate) text: &'a str,
    pub(crate) images: &'a [&'a [u8]],
}

/// A possible answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DecisionOption {
    /// What the model replies.
    pub(crate) key: String,
    pub(crate) description: Option<String>,
    pub(crate) label: String,
}

impl DecisionPrompts {
    /// The prompts by this template, or in the built-in form. `images` says how images get into prompts; without it, they do not.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`] for a template that is not valid, and for a vocabulary without the tokens of the built-in form.
    pub(crate) fn new(
        template: Option<&str>,
        tokenizer: &ModelTokenizer,
        images: Option<&ImageSupport>,
    ) -> Result<Self> {
        let control = tokenizer.control_tokens()?;
        let special = tokenizer.special_tokens();
        let missing = ["<|im_start|>", "<|im_end|>"].into_iter().find(|spelling| !control.contains(spelling));
        if let (None, Some(spelling)) = (template, missing) {
            let message = format!("the vocabulary of a decision model must have {spelling}, found no such token");
            return Err(SdkError::new(ErrorKind::ModelLoad, message));
        }
        let bos = tokenizer.begin_spelling().to_owned();
        let images = images.cloned().unwrap_or_else(|| ImageSupport::Missing(TEXT_ONLY.to_owned()));
        Ok(Self { template: template.map(PromptTemplate::compile).transpose()?, control, special, bos, images })
    }

    /// Renders a prompt.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedContent`] for images that the model does not take, and [`ErrorKind::InvalidMessage`] for a question that
    /// the template refuses.
    pub(crate) fn render(&self, turn: &DecisionTurn<'_>, now: &Zoned) -> Result<Vec<Segment>> {
        match &self.template {
            Some(template) => self.by_template(template, turn, now),
            None => self.built_in(turn),
        }
    }

    fn built_in(&self, turn: &DecisionTurn<'_>) -> Result<Vec<Segment>> {
        let control = |spelling: &str| Segment::Control(spelling.to_owned());
        let mut segments = Vec::new();
        if !self.bos.is_empty() {
            segments.push(control(&self.bos));
        }
        segments.push(control("<|im_start|>"));
        push_text(&mut segments, "user\n");
        for image in turn.images {
            for segment in self.images.segments(image)? {
                match segment {
                    Segment::Text(text) => push_text(&mut segments, &text),
                    segment => segments.push(segment),
                }
            }
        }
        push_text(&mut segments, turn.text);
        segments.push(control("<|im_end|>"));
        push_text(&mut segments, "\n");
        segments.push(control("<|im_start|>"));
        push_text(&mut segments, "assistant\n");
        Ok(segments)
    }

    fn by_template(&self, template: &PromptTemplate, turn: &DecisionTurn<'_>, now: &Zoned) -> Result<Vec<Segment>> {
        let mut texts: Vec<Cow<'_, str>> = vec![turn.instructions.into()];
        texts.extend(turn.state.map(Cow::from));
        for option in turn.options {
            texts.extend([Cow::from(&option.key), Cow::from(&option.label)]);
            texts.extend(option.description.as_deref().map(Cow::from));
        }
        let marker = ControlMarker::new(&self.control, &texts)?;
        let marked = |text: &str| marker.mark(text).into_owned();
        let options: Vec<TemplateValue> = turn
            .options
            .iter()
            .map(|option| {
                causerie_jinja::context! {
                    key => marked(&option.key),
                    description => option.description.as_deref().map(marked),
                    label => marked(&option.label),
                }
            })
            .collect();
        let images: Vec<TemplateValue> =
            turn.images.iter().map(|_| causerie_jinja::context! { type => "image" }).collect();
        let variables = causerie_jinja::context! {
            type => turn.type_name,
            instructions => marked(turn.instructions),
            state => turn.state.map(marked),
            options,
            images,
        };
        let special = TemplateValue::from_pairs(self.special.iter());
        let variables = causerie_jinja::context! { ..variables, ..special };
        let rendered = template.render(variables, now, marker.stand_ins(), &Fuel::new(PROMPT_FUEL))?;
        let segments = marker.split(&rendered);
        let files: Vec<Vec<u8>> = turn.images.iter().map(|file| file.to_vec()).collect();
        self.images.embed(segments, &files)
    }
}

/// Adds text, which joins text before it: they are encoded together.
fn push_text(segments: &mut Vec<Segment>, text: &str) {
    match segments.last_mut() {
        Some(Segment::Text(before)) => before.push_str(text),
        _ => segments.push(Segment::Text(text.to_owned())),
    }
}
