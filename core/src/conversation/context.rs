//! From a history to a prompt that fits the context.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use jiff::Zoned;

use crate::conversation::offer::{narrow, widen};
use crate::engine::{LoadedModel, Owner, Prepared, ReplyConstraint};
use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{FunctionRanker, SdkFunction};
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::options::{ContextPolicy, GenerationOptions};
use crate::position::{Embedded, Position};
use crate::prompt::{Frame, MAX_PROMPT, Segment, embedded, is_in_reasoning, joined};
use crate::response::PromptReport;

/// Tokens kept free for the reply when turns are left out and the options set no maximum.
const REPLY_BUDGET: usize = 256;
/// What an image counts beside text when turns are measured, in bytes: as some hundred tokens.
const IMAGE_BYTES: usize = 1024;
/// Bytes of a sound file that count as a byte of text: in a WAV file of 16 bits at 16 kHz, a row of 80 ms counts as a token.
const SOUND_BYTES: usize = 640;
/// Characters kept of a result that is cut short.
const SHRUNK_RESULT: usize = 64;

/// The parts of a history that a prompt leaves out.
///
/// ```
/// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
/// conversation.append_to_history(causerie::ChatMessage::user("Hi"))?;
/// let plan = conversation.plan_context(&causerie::GenerationOptions::default())?;
/// assert!(plan.tokens_before == plan.tokens_after && plan.dropped_messages.is_empty());
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextPlan {
    /// Tokens of the whole history; a lower bound if it is many times longer than the context.
    pub tokens_before: usize,
    /// Tokens of the prompt.
    pub tokens_after: usize,
    /// Indices in the history of the messages left out.
    pub dropped_messages: Vec<usize>,
    /// Indices in the history of the function results cut short.
    pub shrunk_messages: Vec<usize>,
}

/// Makes prompts from a history, as the options ask.
pub(super) struct ContextWindow {
    options: GenerationOptions,
    now: Zoned,
    owner: Owner,
    /// Chooses functions, if the options ask for it.
    ranker: Option<Arc<dyn FunctionRanker>>,
}

impl ContextWindow {
    pub(super) fn new(
        options: &GenerationOptions,
        now: Zoned,
        owner: Owner,
        ranker: Option<Arc<dyn FunctionRanker>>,
    ) -> Self {
        Self { options: options.clone(), now, owner, ranker }
    }

    /// The prompt for a history, which is the same afterwards; after an error, it may have fewer functions.
    pub(super) fn prepare(&self, loaded: &LoadedModel, history: &mut [ChatMessage]) -> Result<Prepared> {
        let replaced = narrow(history, &self.options, self.ranker.as_deref())?;
        let prepared = self.prepare_narrowed(loaded, history, replaced.values().flatten())?;
        widen(history, replaced);
        Ok(prepared)
    }

    /// What the next prompt for a history leaves out.
    pub(super) fn plan(&self, loaded: &LoadedModel, mut history: Vec<ChatMessage>) -> Result<ContextPlan> {
        narrow(&mut history, &self.options, self.ranker.as_deref())?;
        self.fit(loaded, &history).map(|(_, plan)| plan)
    }

    /// The prompt for a history that has only functions to offer; `all` are those that it had before, if these are fewer.
    fn prepare_narrowed<'a>(
        &self,
        loaded: &LoadedModel,
        history: &[ChatMessage],
        all: impl Iterator<Item = &'a SdkFunction>,
    ) -> Result<Prepared> {
        let (prompt, plan) = self.fit(loaded, history)?;
        let report = PromptReport {
            dropped_messages: plan.dropped_messages,
            shrunk_messages: plan.shrunk_messages,
            miscounted_results: miscounted_results(history),
        };
        let functions: Vec<SdkFunction> = history.iter().flat_map(|message| &message.functions).cloned().collect();
        let options = self.allowing(&functions, all);
        let constraint = ReplyConstraint::new(loaded, &options, &functions, prompt.in_reasoning)?;
        let (RenderedPrompt { positions, embedded, in_reasoning }, owner) = (prompt, self.owner);
        let continues_text = self.options.continue_final_message && loaded.tokenizer.ends_in_text(&positions);
        Ok(Prepared {
            messages: Vec::new(),
            positions,
            embedded,
            in_reasoning,
            continues_text,
            owner,
            functions,
            constraint,
            report,
            speech: self.options.speech_mode.resolved(&system_prompt(history)),
            reading: None,
        })
    }

    /// The options, without allowed functions that were not chosen.
    fn allowing<'a>(
        &self,
        listed: &[SdkFunction],
        all: impl Iterator<Item = &'a SdkFunction>,
    ) -> Cow<'_, GenerationOptions> {
        let (Some(allowed), Some(_)) = (&self.options.allowed_tools, self.options.max_offered_functions) else {
            return Cow::Borrowed(&self.options);
        };
        let offered = self.options.offered_functions.as_ref();
        let is_offered = |name: &&str| offered.is_none_or(|offered| offered.iter().any(|known| known == name));
        let offered: Vec<&str> = all.map(|function| function.name.as_str()).filter(is_offered).collect();
        let is_listed = |name: &String| listed.iter().any(|function| function.name == *name);
        // A name that is not offered is an error, as without a choice.
        let kept = allowed.iter().filter(|name| is_listed(name) || !offered.contains(&name.as_str()));
        Cow::Owned(GenerationOptions { allowed_tools: Some(kept.cloned().collect()), ..self.options.clone() })
    }

    /// Number of positions of messages and of the generation prompt.
    pub(super) fn count(&self, loaded: &LoadedModel, messages: &[ChatMessage]) -> Result<usize> {
        Ok(self.render_up_to(loaded, messages, |_| Ok(()))?.positions.len())
    }

    /// The prompt for messages that may be far too long for the context, which is checked before they are tokenised.
    fn render_bounded(&self, loaded: &LoadedModel, messages: &[ChatMessage]) -> Result<RenderedPrompt> {
        let n_bytes = messages.iter().map(n_bytes).sum();
        // A template is not run on more text than it can print.
        if MAX_PROMPT < n_bytes {
            loaded.check_length(n_bytes, 0)?;
        }
        self.render_up_to(loaded, messages, |segments| {
            let n_rows = embedded(segments).map(|content| content.0.n_rows() as usize).sum();
            loaded.check_length(segments.iter().map(|segment| segment.text().len()).sum(), n_rows)
        })
    }

    fn render_up_to(
        &self,
        loaded: &LoadedModel,
        messages: &[ChatMessage],
        check: impl Fn(&[Segment]) -> Result<()>,
    ) -> Result<RenderedPrompt> {
        let frame = Frame {
            add_generation_prompt: !self.options.continue_final_message,
            continue_final_message: self.options.continue_final_message,
            enable_thinking: Some(self.options.enable_thinking || self.options.inline_thinking_tags),
            variables: Some(&self.options.template_variables),
            now: &self.now,
            embeds_images: true,
        };
        let segments = match self.schema_instruction() {
            // Errors name places in the history, which has no instruction.
            Some(instruction) => loaded
                .render(&with_instruction(messages, &instruction), &frame)
                .or_else(|err| loaded.render(messages, &frame).and(Err(err)))?,
            None => loaded.render(messages, &frame)?,
        };
        check(&segments)?;
        // Some templates open the model's reasoning in the generation prompt.
        let in_reasoning = match messages.last().filter(|_| self.options.continue_final_message) {
            Some(reply) => is_in_reasoning(&reply.text()),
            None => joined(&segments).trim_end().ends_with("<think>"),
        };
        let positions = loaded.tokenizer.positions(&segments)?;
        Ok(RenderedPrompt { positions, embedded: embedded(&segments).cloned().collect(), in_reasoning })
    }

    /// The instruction about the schema that the answer must fit, if the options ask for one.
    fn schema_instruction(&self) -> Option<String> {
        let schema = self.options.json_schema_constraint.as_ref().filter(|_| self.options.inject_schema_into_prompt);
        schema.map(|schema| format!("Answer with JSON that fits this schema: {schema}"))
    }

    /// The prompt for the part of a history that the policy keeps.
    fn fit(&self, loaded: &LoadedModel, history: &[ChatMessage]) -> Result<(RenderedPrompt, ContextPlan)> {
        let unchanged = |whole: RenderedPrompt| {
            let n_tokens = whole.positions.len();
            let plan = ContextPlan { tokens_before: n_tokens, tokens_after: n_tokens, ..ContextPlan::default() };
            (whole, plan)
        };
        let ContextPolicy::Slide { shrink_tool_results } = self.options.context_policy else {
            let whole = self.render_bounded(loaded, history)?;
            loaded.check_prompt(&whole.positions)?;
            return Ok(unchanged(whole));
        };
        // The maximum may exceed the context; half of the context is left to the prompt.
        let n_reply = self.options.max_tokens.unwrap_or(REPLY_BUDGET).min(loaded.context_size / 2);
        let fits = |prompt: &RenderedPrompt| prompt.positions.len().saturating_add(n_reply) <= loaded.context_size;
        let tokens_before = match self.render_bounded(loaded, history) {
            Ok(whole) if fits(&whole) => return Ok(unchanged(whole)),
            Ok(whole) => whole.positions.len(),
            Err(err) => too_long(err)?,
        };
        let turns = turns(history);
        let droppable = &turns[..turns.len().saturating_sub(1)];
        let mut history = Cow::Borrowed(history);
        let mut shrunk = Vec::new();
        if shrink_tool_results {
            shrunk = shrink(&mut history, droppable);
        }
        let without = |n_turns: usize| {
            let gone = dropped(droppable, n_turns);
            let kept = history.iter().enumerate().filter(|(at, _)| !gone.contains(at));
            self.render_bounded(loaded, &kept.map(|(_, message)| message.clone()).collect::<Vec<_>>())
        };
        // Fewer turns make a shorter prompt, so the fewest turns to drop are found by bisection.
        let (mut fewest, mut most) = (0, droppable.len());
        while fewest < most {
            let middle = usize::midpoint(fewest, most);
            let is_enough = without(middle).map(|prompt| fits(&prompt)).or_else(|err| too_long(err).map(|_| false))?;
            if is_enough { most = middle } else { fewest = middle + 1 }
        }
        let mut prompt = without(fewest)?;
        let n_dropped = stable_cut(fewest, droppable, &history, (prompt.positions.len(), loaded.context_size));
        if n_dropped != fewest {
            prompt = without(n_dropped)?;
        }
        loaded.check_prompt(&prompt.positions)?;
        let gone = dropped(droppable, n_dropped);
        shrunk.retain(|at| !gone.contains(at));
        let tokens_after = prompt.positions.len();
        let plan =
            ContextPlan { tokens_before, tokens_after, dropped_messages: gone.collect(), shrunk_messages: shrunk };
        Ok((prompt, plan))
    }
}

/// The messages, with an instruction at the end of the system message, which is added if there is none.
fn with_instruction(messages: &[ChatMessage], instruction: &str) -> Vec<ChatMessage> {
    let mut messages = messages.to_vec();
    match messages.first_mut().filter(|message| message.role == Role::System) {
        None => messages.insert(0, ChatMessage::system(instruction)),
        Some(system) => match system.content.last_mut() {
            Some(ChatMessageContent::Text(text)) if !text.is_empty() => text.push_str(&format!("\n\n{instruction}")),
            _ => system.content.push(ChatMessageContent::Text(instruction.to_owned())),
        },
    }
    messages
}

/// A prompt as positions.
pub(super) struct RenderedPrompt {
    positions: Vec<Position>,
    embedded: Vec<Embedded>,
    in_reasoning: bool,
}

/// The number of tokens that a prompt needs that is too long; returns any other error.
fn too_long(err: SdkError) -> Result<usize> {
    match err.kind() {
        ErrorKind::PromptExceedsContext { needed, .. } => Ok(needed),
        _ => Err(err),
    }
}

/// Bytes of a message's text.
fn n_bytes(message: &ChatMessage) -> usize {
    let parts = message.content.iter();
    parts.map(|part| if let ChatMessageContent::Text(text) = part { text.len() } else { 0 }).sum()
}

/// How long a message is, without reading its images and recordings.
fn length(message: &ChatMessage) -> usize {
    let is_image = |part: &&ChatMessageContent| matches!(part, ChatMessageContent::Image(_));
    let of_sound = |part: &ChatMessageContent| match part {
        ChatMessageContent::Audio(file) => file.len() / SOUND_BYTES,
        ChatMessageContent::Text(_) | ChatMessageContent::Image(_) => 0,
    };
    let n_images = message.content.iter().filter(is_image).count();
    n_bytes(message) + IMAGE_BYTES * n_images + message.content.iter().map(of_sound).sum::<usize>()
}

/// The turns of a history: each begins with a message of the user and lasts until the next one. The system message belongs
/// to no turn.
fn turns(history: &[ChatMessage]) -> Vec<Range<usize>> {
    let first = usize::from(history.first().is_some_and(|message| message.role == Role::System));
    let begins = |at: &usize| *at == first || history[*at].role == Role::User;
    let starts: Vec<usize> = (first..history.len()).filter(begins).collect();
    let ends = starts.iter().skip(1).copied().chain([history.len()]);
    starts.iter().zip(ends).map(|(start, end)| *start..end).collect()
}

/// How many turns to leave out: at least `fewest`, and the same number for some turns to come, because a prompt that left
/// out one more turn each time would be prefilled from the beginning each time.
///
/// Turns are cut only where the length of the history up to there passes a multiple of about a quarter of the context.
/// These places stay the same as the history grows.
fn stable_cut(
    fewest: usize,
    turns: &[Range<usize>],
    history: &[ChatMessage],
    (n_tokens, context_size): (usize, usize),
) -> usize {
    if fewest == 0 {
        return 0;
    }
    let length_of =
        |turns: &[Range<usize>]| -> usize { turns.iter().cloned().flatten().map(|at| length(&history[at])).sum() };
    let kept = turns.get(fewest..).unwrap_or_default();
    // Rounded to a power of two, because the exact ratio differs from prompt to prompt.
    let bytes_of_token = (length_of(kept) / n_tokens.max(1)).max(1).next_power_of_two();
    let stride = (context_size / 4).max(1) * bytes_of_token;
    let first = fewest - 1;
    let mut length_before = length_of(&turns[..first]);
    let passes_multiple = |turn: &Range<usize>| {
        let n_strides = length_before / stride;
        length_before += length_of(std::slice::from_ref(turn));
        n_strides < length_before / stride
    };
    let last = turns[first..].iter().position(passes_multiple);
    last.map_or(fewest, |last| first + last + 1)
}

/// The messages of the first `n_turns` turns.
fn dropped(turns: &[Range<usize>], n_turns: usize) -> Range<usize> {
    match turns[..n_turns] {
        [] => 0..0,
        [ref first, ..] => first.start..turns[n_turns - 1].end,
    }
}

/// Cuts long results in these turns short. Returns their indices.
fn shrink(history: &mut Cow<'_, [ChatMessage]>, turns: &[Range<usize>]) -> Vec<usize> {
    let is_long = |message: &ChatMessage| SHRUNK_RESULT < message.text().chars().count();
    let in_turns = turns.iter().cloned().flatten();
    let long: Vec<usize> = in_turns.filter(|at| history[*at].role == Role::Tool && is_long(&history[*at])).collect();
    for at in &long {
        let message = &mut history.to_mut()[*at];
        let beginning: String = message.text().chars().take(SHRUNK_RESULT).collect();
        message.content = ChatMessage::tool(beginning + "…").content;
    }
    long
}

/// Indices of the replies whose calls are not followed by one result each.
fn miscounted_results(history: &[ChatMessage]) -> Vec<usize> {
    let calls = |message: &ChatMessage| message.function_calls.as_ref().map_or(0, Vec::len);
    let is_miscounted = |at: &usize| {
        let results = history[at + 1..].iter().take_while(|message| message.role == Role::Tool).count();
        history[*at].role == Role::Assistant && calls(&history[*at]) != results
    };
    (0..history.len()).filter(is_miscounted).collect()
}

/// The text of the system message; empty without one.
fn system_prompt(history: &[ChatMessage]) -> String {
    let system = history.first().filter(|message| message.role == Role::System);
    system.map(ChatMessage::text).unwrap_or_default()
}
