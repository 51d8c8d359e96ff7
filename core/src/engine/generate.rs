//! One reply, from its prompt to its last token: the heart of the engine. [`token_step`](super::token_step) picks its tokens,
//! [`finish`](super::finish) ends it.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::engine::cache::{Owner, PrefixCache};
use crate::engine::channel::EventSender;
use crate::engine::constraint::ReplyConstraint;
use crate::engine::embeddings::Embeddings;
use crate::engine::loaded::LoadedModel;
use crate::engine::pending_prompt::PendingPrompt;
use crate::engine::pool::PreparationPool;
use crate::engine::repetition::RepetitionFinder;
use crate::engine::request::{Prepared, ReplyOwner, Request};
use crate::engine::speculative::Drafter;
use crate::engine::speech::Speech;
use crate::engine::step_plan::{PlannedInputs, StepPlan};
use crate::engine::timing::Timing;
use crate::engine::token_reading::TokenReading;
use crate::engine::transcript::ReplyTranscript;
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::ChatMessage;
use crate::model::{ContentRows, ForwardOutcome, Inputs, SequenceState, Step, TokenChoice, WantedChoice};
use crate::options::SpeechSampling;
use crate::position::{EmbeddedKind, MutualAttention, Position, n_rows_of, tokens};
use crate::response::{FinishReason, GenerationStats, MessageResponse, PromptReport};
use crate::sample::{Sampler, random_seed};

/// The outcome of one attempt to advance a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyProgress {
    /// The reply advanced; it may advance again at once.
    Worked,
    /// The model is to compute its next step, in one pass with the steps of other replies.
    Planned,
    /// Something else must happen first: the reader must pull, an earlier reply must end, or the prompt must be ready.
    Waiting,
    /// The last event is sent.
    Finished,
}

/// A reply that is being generated.
pub(crate) struct Generation {
    /// `None` once the prompt is ready, and after the end.
    pub(super) pending_prompt: Option<PendingPrompt>,
    pub(super) prompt_report: PromptReport,
    /// The positions of the prompt, then the tokens of the reply.
    pub(super) positions: Vec<Position>,
    pub(super) embeddings: Embeddings,
    /// The owner whose cached states it may continue, besides everyone's.
    pub(super) owner: Owner,
    pub(super) max_tokens: usize,
    pub(super) ignores_end: bool,
    /// The model's state after the positions computed so far; `None` before the first step, and after the end.
    pub(super) state: Option<Box<dyn SequenceState>>,
    /// States from which a spoken reply can go on after it was cut, where its own state cannot be cut.
    pub(super) pauses: Vec<Box<dyn SequenceState>>,
    /// The step that the model computes next.
    plan: Option<StepPlan>,
    /// The logits of the last step.
    pub(super) logits: Vec<f32>,
    /// The most probable token after the last step, if the model gave it in place of logits.
    pub(super) choice: Option<TokenChoice>,
    /// Tokens from which the model may choose the most probable one; `None` if the next token needs the logits.
    n_choosable: Option<usize>,
    pub(super) constraint: ReplyConstraint,
    pub(super) drafter: Drafter,
    /// Finds loops, if they end the reply.
    pub(super) repetition: Option<RepetitionFinder>,
    /// Whether the reply was ended in a loop.
    pub(super) repeats: bool,
    pub(super) sampler: Sampler,
    pub(super) speech_sampling: SpeechSampling,
    /// What the reply speaks with; `None` for text alone.
    pub(super) speech: Option<Speech>,
    /// What is read after the prompt, in place of a reply.
    pub(super) reading: Option<TokenReading>,
    /// Tokens that the reply must not have.
    pub(super) banned: Vec<u32>,
    pub(super) transcript: ReplyTranscript,
    pub(super) sender: EventSender,
    /// Taken at the end, which is reported to it once.
    pub(super) reply_owner: Option<Box<dyn ReplyOwner>>,
    /// The reply so far, for a reader that receives an error.
    pub(super) partial: Arc<OnceLock<ChatMessage>>,
    /// The last event, kept until the reader has taken all events before it.
    pub(super) terminal: Option<Result<MessageResponse>>,
    pub(super) has_ended: bool,
    timing: Timing,
    pub(super) stats: GenerationStats,
}

impl Generation {
    pub(crate) fn new(loaded: &LoadedModel, request: Request, sender: EventSender) -> Self {
        let options = request.options;
        let seed = options.seed.unwrap_or_else(random_seed);
        Self {
            pending_prompt: Some(PendingPrompt::Waiting),
            prompt_report: PromptReport::default(),
            positions: Vec::new(),
            embeddings: Embeddings::default(),
            owner: Owner::default(),
            max_tokens: options.max_tokens.unwrap_or(usize::MAX),
            ignores_end: options.ignore_end,
            state: None,
            pauses: Vec::new(),
            plan: None,
            logits: Vec::new(),
            choice: None,
            n_choosable: None,
            constraint: ReplyConstraint::default(),
            drafter: Drafter::new(),
            repetition: options.stop_on_repetition.unwrap_or(loaded.stops_on_repetition).then(RepetitionFinder::new),
            repeats: false,
            sampler: Sampler::new(request.sampling, options.logit_bias.clone(), seed),
            speech_sampling: options.speech_sampling(),
            speech: None,
            reading: None,
            banned: Vec::new(),
            partial: sender.partial(),
            timing: Timing::start(options.timeout),
            transcript: ReplyTranscript::new(options, &loaded.tokenizer),
            sender,
            reply_owner: Some(request.owner),
            terminal: None,
            has_ended: false,
            stats: GenerationStats::new(seed, request.sampling, loaded.context_size),
        }
    }

    /// Sends waiting events, then takes the prompt when it is ready, or plans the model's next step: a chunk of the prompt, or
    /// one token.
    pub(crate) fn advance(
        &mut self,
        loaded: &Arc<LoadedModel>,
        pool: &PreparationPool,
        cache: &mut PrefixCache,
    ) -> ReplyProgress {
        let is_cancelled = self.is_cancelled();
        if is_cancelled {
            self.end(FinishReason::Interrupted);
            self.cache_state(cache);
        }
        if !self.send() {
            // The reader may be gone for long; a reply that waits for this one's end can still go on.
            return if is_cancelled { ReplyProgress::Worked } else { ReplyProgress::Waiting };
        }
        if self.has_ended {
            return ReplyProgress::Finished;
        }
        match self.prompt_or_plan(loaded, pool, cache) {
            Ok(progress) => progress,
            Err(err) => {
                self.fail(err);
                ReplyProgress::Worked
            }
        }
    }

    /// When this reply must be advanced again, whatever else happens.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.timing.deadline.filter(|_| !self.has_ended)
    }

    fn is_cancelled(&self) -> bool {
        !self.has_ended && (self.timing.is_over() || self.sender.is_cancelled())
    }

    fn prompt_or_plan(
        &mut self,
        loaded: &Arc<LoadedModel>,
        pool: &PreparationPool,
        cache: &mut PrefixCache,
    ) -> Result<ReplyProgress> {
        let Some(pending) = &mut self.pending_prompt else { return self.plan(loaded, pool, cache) };
        self.sampler.check(loaded.tokenizer.n_tokens())?; // before the message is in the history
        let Some(owner) = self.reply_owner.as_deref_mut() else { return Ok(ReplyProgress::Waiting) };
        let Some(prepared) = pending.poll(owner, loaded, pool) else { return Ok(ReplyProgress::Waiting) };
        self.pending_prompt = None;
        self.begin(prepared?, loaded)?;
        Ok(ReplyProgress::Worked)
    }

    /// Plans a chunk of the prompt, or the token picked last. Waits for the rows of embedded content.
    fn plan(&mut self, loaded: &LoadedModel, pool: &PreparationPool, cache: &mut PrefixCache) -> Result<ReplyProgress> {
        let state = match &mut self.state {
            Some(state) => state,
            empty => {
                let state = cache.find(&self.positions, self.owner).map_or_else(|| loaded.model.start(), Ok)?;
                self.stats.cached_prompt_tokens = state.n_positions().min(self.stats.prompt_tokens);
                self.sender.progress().set(state.n_positions(), &self.positions[..self.stats.prompt_tokens]);
                empty.insert(state)
            }
        };
        let n_computed = state.n_positions();
        // The prompt ends a step even where it is computed again, with a reply after it.
        let end = if n_computed < self.stats.prompt_tokens { self.stats.prompt_tokens } else { self.positions.len() };
        let all = &self.positions[..end];
        let (within, splits) = self.reading.as_ref().map_or((all, true), |reading| reading.within(all, n_computed));
        let is_end = |token| splits && loaded.tokenizer.is_end(token);
        let is_known = |digest| self.embeddings.is_known(digest);
        let is_whole = |digest| self.embeddings.layout(digest).mutual != MutualAttention::Nowhere;
        let mut plan = StepPlan::after(n_computed, within, is_end, is_known, is_whole);
        match &plan.inputs {
            PlannedInputs::KnownRows(digests) => self.embeddings.prepare_known(digests, loaded.model.hidden_size())?,
            &PlannedInputs::Rows { digest, .. } => {
                if !self.embeddings.prepare(digest, pool)? {
                    self.release_cached_state();
                    return Ok(ReplyProgress::Waiting);
                }
            }
            PlannedInputs::Tokens(_) => self.embeddings.release(),
        }
        let looks_ahead = loaded.looks_ahead && self.speech.is_none() && self.reading.is_none();
        if plan.end == self.positions.len() && looks_ahead && loaded.model.shares_passes() {
            let draft = self.drafter.draft(self.transcript.section(), &self.positions, &loaded.tokenizer);
            plan.add_draft(self.constraint.possible(&draft));
        }
        self.n_choosable = self.needs_no_logits().then(|| loaded.tokenizer.n_tokens());
        self.plan = Some(plan);
        Ok(ReplyProgress::Planned)
    }

    /// Whether the next token is the most probable one, and nothing else is to be known of the logits.
    fn needs_no_logits(&self) -> bool {
        let is_plain = self.speech.is_none() && self.reading.is_none() && self.banned.is_empty();
        is_plain
            && self.sampler.takes_most_probable()
            && !self.transcript.has_logprobs()
            && !self.constraint.is_active()
    }

    /// Whether the prompt waits for a piece of an embedding that [`compute_embedding`](Self::compute_embedding) computes.
    pub(crate) fn can_compute_embedding(&self) -> bool {
        !self.has_ended && self.embeddings.can_compute()
    }

    /// Computes one piece of the embedding that the prompt waits for.
    pub(crate) fn compute_embedding(&mut self, loaded: &LoadedModel) -> ReplyProgress {
        if let Err(err) = self.embeddings.compute(loaded.model.hidden_size()) {
            self.fail(err);
        }
        ReplyProgress::Worked
    }

    fn begin(&mut self, prepared: Prepared, loaded: &LoadedModel) -> Result<()> {
        if let Some(owner) = &mut self.reply_owner {
            owner.begin(prepared.messages);
        }
        self.constraint = prepared.constraint;
        self.reading = prepared.reading;
        self.positions = prepared.positions;
        self.begin_speech(prepared.speech, loaded)?;
        self.timing.record_start(&mut self.stats, self.positions.len());
        self.sampler.add_prompt(tokens(&self.positions));
        self.stats.audio_tokens = n_rows_of(&prepared.embedded, EmbeddedKind::Sound);
        self.embeddings = Embeddings::new(prepared.embedded);
        self.owner = prepared.owner;
        self.prompt_report = prepared.report;
        self.transcript.begin(prepared.functions, prepared.in_reasoning, &self.constraint);
        if prepared.continues_text {
            self.transcript.keep_space();
        }
        self.begin_mixed();
        Ok(())
    }

    /// Whether a chunk of the prompt is planned.
    pub(crate) fn is_prefilling(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.end <= self.stats.prompt_tokens)
    }

    /// Whether the planned positions are still to be computed for another prompt as well.
    pub(crate) fn goes_on_as(&self, other: &Self) -> bool {
        let end = self.plan.as_ref().map_or(0, |plan| plan.end);
        other.n_computed() < end && other.positions.starts_with(&self.positions[..end])
    }

    /// Positions that are still to be computed.
    pub(crate) fn n_left(&self) -> usize {
        self.positions.len() - self.n_computed()
    }

    fn n_computed(&self) -> usize {
        self.state.as_ref().map_or(0, |state| state.n_positions())
    }

    /// Takes its part of a step's token budget. A chunk of a prompt that exceeds the budget waits for a later step; a reply
    /// goes on with as many of its tokens as the budget allows, and with one at least.
    pub(crate) fn fit(&mut self, n_left: &mut usize) {
        let is_prompt = self.is_prefilling();
        let Some(plan) = &mut self.plan else { return };
        if plan.fit(n_left) {
            return;
        }
        if !is_prompt {
            plan.shorten(*n_left);
            *n_left = 0;
            return;
        }
        self.plan = None;
        self.release_cached_state();
    }

    /// Releases a state from the cache that was not continued, before the reply waits: another prompt that is computed
    /// meanwhile may begin as this one does.
    fn release_cached_state(&mut self) {
        if self.state.as_ref().is_some_and(|state| state.n_positions() == self.stats.cached_prompt_tokens) {
            self.state = None;
        }
    }

    /// Whether a step is planned.
    pub(crate) fn has_plan(&self) -> bool {
        self.plan.is_some() && self.state.is_some()
    }

    /// The planned step, for the model.
    pub(crate) fn step(&mut self) -> Option<Step<'_>> {
        let plan = self.plan.as_ref()?;
        let is_last = plan.end == self.positions.len();
        let is_sound = self.speech.as_ref().is_some_and(Speech::is_sound);
        let n_logits = if is_last && !is_sound { 1 + plan.draft().len() } else { 0 };
        let hidden = self.speech.as_mut().filter(|_| is_last && is_sound).map(|speech| &mut speech.hidden);
        let (inputs, content) = match &plan.inputs {
            PlannedInputs::Tokens(ids) => (Inputs::Tokens(ids), None),
            PlannedInputs::Rows { digest, rows } => {
                let layout = self.embeddings.layout(*digest);
                (self.embeddings.inputs(rows.clone()), Some(ContentRows { first: rows.start, layout }))
            }
            PlannedInputs::KnownRows(digests) => (self.embeddings.known_inputs(digests.len()), None),
        };
        self.choice = None;
        let n_choosable = self.n_choosable.filter(|_| n_logits == 1);
        let (n_more, n_total) = (self.stats.completion_tokens + 1, self.stats.total_tokens() + 1);
        let goes_on = n_more < self.max_tokens && n_total < self.stats.context_size;
        let choice = n_choosable.map(|n_tokens| WantedChoice { n_tokens, chosen: &mut self.choice, goes_on });
        let (state, logits) = (self.state.as_deref_mut()?, &mut self.logits);
        Some(Step { inputs, state, logits, n_logits, choice, hidden, content })
    }

    /// Takes the outcome of the planned step.
    pub(crate) fn take(
        &mut self,
        outcome: Result<ForwardOutcome>,
        loaded: &LoadedModel,
        cache: &mut PrefixCache,
    ) -> ReplyProgress {
        let Some(plan) = self.plan.take() else { return ReplyProgress::Waiting };
        let outcome = match outcome {
            Ok(ForwardOutcome::NotYet) => return ReplyProgress::Waiting,
            // The states are freed, or adopted, first.
            Ok(ForwardOutcome::Full | ForwardOutcome::Moved) => return ReplyProgress::Worked,
            Ok(ForwardOutcome::Done) => self.complete_step(&plan, loaded, cache),
            Err(err) => Err(err),
        };
        if let Err(err) = outcome {
            self.fail(err);
        }
        if self.has_ended {
            self.cache_state(cache);
        }
        self.send(); // now, because the other replies' steps come before the next advance
        ReplyProgress::Worked
    }

    /// Forgets the state, which is lost, so that all positions are computed again: with the same logits, whatever computes them.
    fn start_again(&mut self) -> Result<()> {
        self.state = None;
        self.pauses.clear();
        match self.stats.spoken_tokens {
            0 => Ok(()),
            // The rows of its frames are kept nowhere else.
            _ => Err(SdkError::new(ErrorKind::Generation, "the GPU failed while the reply was spoken")),
        }
    }

    /// Takes over the states of a network that moved.
    ///
    /// # Errors
    /// [`ErrorKind::Generation`] for a spoken reply whose state is lost.
    pub(crate) fn adopt_states(&mut self, loaded: &LoadedModel) -> Result<()> {
        let Some(state) = self.state.take() else { return Ok(()) };
        self.state = loaded.model.adopt(state);
        if self.state.is_none() {
            return self.start_again();
        }
        let pauses = std::mem::take(&mut self.pauses);
        self.pauses = pauses.into_iter().filter_map(|state| loaded.model.adopt(state)).collect();
        Ok(())
    }

    /// Caches the state for later prompts; after the last token, picks the next one, or reads what is asked for.
    fn complete_step(&mut self, plan: &StepPlan, loaded: &LoadedModel, cache: &mut PrefixCache) -> Result<()> {
        let Some(state) = &self.state else { return Ok(()) };
        let is_end = |position: &Position| position.token().is_some_and(|token| loaded.tokenizer.is_end(token));
        let computed = &self.positions[..plan.end];
        if plan.end <= self.stats.prompt_tokens {
            Timing::record_prefill(&mut self.stats, plan);
            self.sender.progress().set(plan.end, &self.positions[..self.stats.prompt_tokens]);
            // Prompts part at ends of messages. A state that can be cut serves from there anyway.
            let is_pause = plan.end == self.stats.prompt_tokens || computed.last().is_some_and(is_end);
            let is_pause = is_pause && !state.can_be_cut();
            if self.reading.as_ref().map_or(is_pause, |reading| reading.is_kept(plan.end, is_pause)) {
                cache.keep(computed, state.clone(), self.owner);
            }
        }
        if plan.end < self.positions.len() {
            return Ok(());
        }
        if self.read(loaded)? {
            return Ok(());
        }
        self.timing.record_decode(&mut self.stats, plan);
        if self.speech.as_ref().is_some_and(Speech::is_sound) {
            return self.speak(loaded.model.hidden_size());
        }
        let n_calls = self.transcript.reply.n_calls();
        let mut logits = std::mem::take(&mut self.logits);
        self.decode(&mut logits, plan.draft(), loaded)?;
        self.logits = logits;
        // The result of a call is often sent before the reply has ended.
        if n_calls < self.transcript.reply.n_calls()
            && let Some(state) = &self.state
        {
            cache.keep(&self.positions[..state.n_positions()], state.clone(), self.owner);
        }
        Ok(())
    }
}
