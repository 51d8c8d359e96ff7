//! Completing a prompt without a chat template.

use std::sync::Arc;

use crate::engine::{Owner, Prepared, PromptJob, ReplyConstraint, ReplyOwner, ResponseStream};
use crate::error::{ErrorKind, SdkError};
use crate::options::GenerationOptions;
use crate::position::{Embedded, Position};
use crate::prompt::embedded;
use crate::response::PromptReport;
use crate::runner::ModelRunner;

/// A prompt, as text or as token ids.
///
/// ```
/// use causerie::Prompt;
/// assert_eq!(Prompt::from("Once upon a time"), Prompt::Text("Once upon a time".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// Text, with control tokens spelled out.
    Text(String),
    /// Token ids.
    Tokens(Vec<u32>),
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl ModelRunner {
    /// Completes a prompt without a chat template. Spellings of control tokens in the text become control tokens, and the
    /// beginning-of-text token is added if it is missing.
    ///
    /// ```
    /// use causerie::{GenerationOptions, MessageResponse};
    /// # let runner = causerie::testing::ScriptedModel::new().reply("there was a fox.").load()?;
    /// for event in runner.complete("Once upon a time", GenerationOptions::default()) {
    ///     if let MessageResponse::Chunk(text) = event? {
    ///         assert_eq!(text, "there was a fox.");
    ///     }
    /// }
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn complete(&self, prompt: impl Into<Prompt>, options: GenerationOptions) -> ResponseStream {
        self.complete_with_images(prompt, Vec::new(), options)
    }

    /// As [`complete`](Self::complete), for a prompt that shows images: the markers that the chat template prints for them, such
    /// as `<image>`, are replaced by the files, in their order.
    ///
    /// ```no_run
    /// use causerie::{ChatMessage, ChatMessageContent, GenerationOptions, ModelRunner};
    ///
    /// let runner = ModelRunner::load("LFM2-VL-450M")?;
    /// let mut question = ChatMessage::user("What is this?");
    /// question.content.insert(0, ChatMessageContent::Image(Vec::new())); // a placeholder
    /// let prompt = runner.render_prompt(&[question], true)?;
    /// let picture = std::fs::read("picture.png").unwrap();
    /// for event in runner.complete_with_images(prompt, vec![picture], GenerationOptions::default()) {
    ///     println!("{:?}", event?);
    /// }
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn complete_with_images(
        &self,
        prompt: impl Into<Prompt>,
        images: Vec<Vec<u8>>,
        options: GenerationOptions,
    ) -> ResponseStream {
        let (runner, prompt) = (self.clone(), prompt.into());
        ResponseStream::new(move |sender| {
            if options.continue_final_message {
                let message =
                    "continue_final_message must be false for a prompt that is not made of messages, found true";
                return Err(SdkError::new(ErrorKind::InvalidOption("continue_final_message"), message));
            }
            let options = runner.resolved(options);
            let (control, asked) = (Arc::clone(runner.control()), options.clone());
            let job: PromptJob = Box::new(move |loaded| {
                let (positions, embedded) = match prompt {
                    Prompt::Text(text) => {
                        loaded.check_length(text.len(), 0)?;
                        let segments = loaded.embed(control.split(&text), &images)?;
                        let embedded: Vec<Embedded> = embedded(&segments).cloned().collect();
                        (loaded.tokenizer.positions(&segments)?, embedded)
                    }
                    Prompt::Tokens(_) if !images.is_empty() => {
                        let rule = "a prompt with images must be text, found token ids";
                        return Err(SdkError::new(ErrorKind::InvalidMessage, rule));
                    }
                    Prompt::Tokens(tokens) => (tokens.into_iter().map(Position::Token).collect(), Vec::new()),
                };
                loaded.check_prompt(&positions)?;
                Ok(Prepared {
                    messages: Vec::new(),
                    in_reasoning: false,
                    continues_text: loaded.tokenizer.ends_in_text(&positions),
                    owner: Owner::default(),
                    functions: Vec::new(),
                    constraint: ReplyConstraint::new(loaded, &asked, &[], false)?,
                    report: PromptReport::default(),
                    speech: asked.speech_mode.resolved(""),
                    reading: None,
                    positions,
                    embedded,
                })
            });
            runner.submit(Box::new(SinglePrompt { job: Some(job) }), options, sender)
        })
    }
}

/// The owner of a reply to a prompt that belongs to no conversation.
struct SinglePrompt {
    job: Option<PromptJob>,
}

impl ReplyOwner for SinglePrompt {
    fn turn(&mut self) -> Option<PromptJob> {
        self.job.take()
    }
}
