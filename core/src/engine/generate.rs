//! One reply, from the prompt to the last event. Read this and you have read the product.

use std::fs;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::engine::cache::{Owner, PrefixCache};
use crate::engine::draft::Drafter;
use crate::engine::guide::Guide;
use crate::engine::reading::Reading;
use crate::engine::stream::Outlet;
use crate::engine::transcript::Transcript;
use crate::engine::{Listener, LoadedModel, Prepare, Prepared, ReplyNews, Request};
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::ChatMessage;
use crate::model::{State, Step};
use crate::parse::ReplyEnd;
use crate::response::{Completion, FinishReason, GenerationStats, MessageResponse, PromptReport, ReplySection};
use crate::sample::{Sampler, random_seed};
use crate::tokenizer::ModelTokenizer;

/// What a turn of work brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// A step forward; another may follow at once.
    Worked,
    /// The model is to read for it next, with all others that wait for that.
    Reading,
    /// Something else must happen first: a pull of the reader, or the end of the reply before this one.
    Waiting,
    /// The last event is sent.
    Finished,
}

/// A reply being generated.
pub(crate) struct Generation {
    /// Makes the prompt when its turn has come, and is gone then.
    prepare: Option<Prepare>,
    prompt_report: PromptReport,
    /// The tokens of the prompt, then those of the reply.
    tokens: Vec<u32>,
    /// Whose states serve it.
    owner: Owner,
    max_tokens: usize,
    ignores_end: bool,
    /// What the model has read of the tokens; `None` before the first step, and after the end.
    state: Option<State>,
    /// What the model reads next.
    reading: Option<Reading>,
    /// What came of the last reading.
    logits: Vec<f32>,
    /// What may be written.
    guide: Guide,
    /// What may be guessed of it.
    drafter: Drafter,
    sampler: Sampler,
    transcript: Transcript,
    outlet: Outlet,
    /// Taken at the end, which it hears once.
    listener: Option<Listener>,
    /// The reply so far, for a reader that meets an error.
    partial: Arc<OnceLock<ChatMessage>>,
    /// The last event, kept until the reader has taken all before it.
    terminal: Option<Result<MessageResponse>>,
    has_ended: bool,
    clock: Clock,
    stats: GenerationStats,
}

/// When the phases of a reply began.
struct Clock {
    requested: Instant,
    /// When the reply is cancelled.
    deadline: Option<Instant>,
}

impl Generation {
    pub(crate) fn new(loaded: &LoadedModel, request: Request, outlet: Outlet) -> Self {
        let options = request.options;
        let seed = options.seed.unwrap_or_else(random_seed);
        let requested = Instant::now();
        let deadline = options.timeout.and_then(|timeout| requested.checked_add(timeout));
        Self {
            prepare: Some(request.prepare),
            prompt_report: PromptReport::default(),
            tokens: Vec::new(),
            owner: Owner::default(),
            max_tokens: options.max_tokens.unwrap_or(usize::MAX),
            ignores_end: options.ignore_end,
            state: None,
            reading: None,
            logits: Vec::new(),
            guide: Guide::default(),
            drafter: Drafter::new(),
            sampler: Sampler::new(request.sampling, options.logit_bias.clone(), seed),
            partial: outlet.partial(),
            transcript: Transcript::new(options, &loaded.tokenizer),
            outlet,
            listener: Some(request.listener),
            terminal: None,
            has_ended: false,
            clock: Clock { requested, deadline },
            stats: GenerationStats::new(seed, request.sampling, loaded.context_size),
        }
    }

    /// Sends what waits, then makes the prompt, or plans what the model reads next: a stretch of the prompt, or one token.
    pub(crate) fn advance(&mut self, loaded: &LoadedModel, cache: &mut PrefixCache) -> Progress {
        let is_cancelled = self.is_cancelled();
        if is_cancelled {
            self.end(FinishReason::Interrupted);
            self.keep(cache);
        }
        if !self.send() {
            // The reader may be gone for long; a reply that waited for this one's end need not be.
            return if is_cancelled { Progress::Worked } else { Progress::Waiting };
        }
        if self.has_ended {
            return Progress::Finished;
        }
        match self.plan(loaded, cache) {
            Ok(progress) => progress,
            Err(err) => {
                self.fail(err);
                Progress::Worked
            }
        }
    }

    /// What the model is to read for this reply, if anything is planned.
    pub(crate) fn reading(&mut self) -> Option<Step<'_>> {
        let reading = self.reading.as_ref()?;
        let n_logits = if reading.end == self.tokens.len() { 1 + reading.draft().len() } else { 0 };
        Some(Step { ids: &reading.ids, state: self.state.as_mut()?, logits: &mut self.logits, n_logits })
    }

    /// Whether a stretch of the prompt is planned.
    pub(crate) fn reads_prompt(&self) -> bool {
        self.reading.as_ref().is_some_and(|reading| reading.end <= self.stats.prompt_tokens)
    }

    /// Whether what is planned to be read is still to be read for another prompt as well.
    pub(crate) fn goes_on_as(&self, other: &Self) -> bool {
        let end = self.reading.as_ref().map_or(0, |reading| reading.end);
        other.n_read() < end && other.tokens.starts_with(&self.tokens[..end])
    }

    /// Tokens that are still to be read.
    pub(crate) fn n_unread(&self) -> usize {
        self.tokens.len() - self.n_read()
    }

    fn n_read(&self) -> usize {
        self.state.as_ref().map_or(0, State::n_tokens)
    }

    /// Takes its part of the tokens that a step has left. A stretch of a prompt for which no room is left waits for a later
    /// step; a reply goes on with as many of its tokens as have room, and with one at least.
    pub(crate) fn fit(&mut self, n_left: &mut usize) {
        let is_prompt = self.reads_prompt();
        let Some(reading) = &mut self.reading else { return };
        if reading.fit(n_left) {
            return;
        }
        if !is_prompt {
            reading.shorten(*n_left);
            *n_left = 0;
            return;
        }
        self.reading = None;
        // What is read meanwhile may serve as the beginning of this prompt.
        if self.state.as_ref().is_some_and(|state| state.n_tokens() == self.stats.cached_prompt_tokens) {
            self.state = None;
        }
    }

    /// Whether something is planned.
    pub(crate) fn is_reading(&self) -> bool {
        self.reading.is_some() && self.state.is_some()
    }

    /// Takes in what came of the reading.
    pub(crate) fn take(&mut self, outcome: Result<bool>, loaded: &LoadedModel, cache: &mut PrefixCache) -> Progress {
        let Some(reading) = self.reading.take() else { return Progress::Waiting };
        let outcome = match outcome {
            Ok(false) => return Progress::Waiting, // there is nothing to say yet
            Ok(true) => self.read(&reading, loaded, cache),
            Err(err) => Err(err),
        };
        if let Err(err) = outcome {
            self.fail(err);
        }
        if self.has_ended {
            self.keep(cache);
        }
        self.send(); // at once: the other replies' steps come first next time
        Progress::Worked
    }

    /// When this reply must be looked at again, whatever else happens.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.clock.deadline.filter(|_| !self.has_ended)
    }

    fn is_cancelled(&self) -> bool {
        let is_late = self.clock.deadline.is_some_and(|deadline| deadline <= Instant::now());
        !self.has_ended && (is_late || self.outlet.is_cancelled())
    }

    /// Ends the reply where it stands, and lets go of all that belongs to the model.
    pub(crate) fn unload(&mut self) {
        if !self.has_ended {
            self.end(FinishReason::Interrupted);
        }
        self.state = None;
    }

    /// Sends events in order; false when the reader must pull before all are sent.
    pub(crate) fn send(&mut self) -> bool {
        let events = &mut self.transcript.reply.events;
        while let Some(event) = events.pop_front() {
            if let Some(Ok(event)) = self.outlet.send(Ok(event)) {
                events.push_front(event);
                return false;
            }
        }
        self.terminal = self.terminal.take().and_then(|terminal| self.outlet.send(terminal));
        self.terminal.is_none()
    }

    /// Makes the prompt, or plans to read a stretch of it, or the token picked last.
    fn plan(&mut self, loaded: &LoadedModel, cache: &mut PrefixCache) -> Result<Progress> {
        if let Some(prepare) = &mut self.prepare {
            self.sampler.check(loaded.tokenizer.n_tokens())?; // before the message is in the history
            let Some(prepared) = prepare(loaded) else { return Ok(Progress::Waiting) };
            self.prepare = None;
            self.begin(prepared?);
            return Ok(Progress::Worked);
        }
        let state = match &mut self.state {
            Some(state) => state,
            empty => {
                let state = cache.find(&self.tokens, self.owner).map_or_else(|| loaded.model.start(), Ok)?;
                self.stats.cached_prompt_tokens = state.n_tokens();
                empty.insert(state)
            }
        };
        let mut reading = Reading::behind(state.n_tokens(), &self.tokens, |token| loaded.tokenizer.is_end(*token));
        if reading.end == self.tokens.len() && loaded.looks_ahead && loaded.model.shares_passes() {
            let draft = self.drafter.guess(self.transcript.place(), &self.tokens, &loaded.tokenizer);
            reading.guess(self.guide.possible(draft));
        }
        self.reading = Some(reading);
        Ok(Progress::Reading)
    }

    /// Keeps states for later prompts, and behind the last token picks another.
    fn read(&mut self, reading: &Reading, loaded: &LoadedModel, cache: &mut PrefixCache) -> Result<()> {
        let &Reading { begun, end, .. } = reading;
        let Some(state) = &self.state else { return Ok(()) };
        let is_end = |token: &u32| loaded.tokenizer.is_end(*token);
        let read = &self.tokens[..end];
        if end <= self.stats.prompt_tokens {
            self.stats.prefill_time += begun.elapsed();
            // Prompts part at ends of messages. A state that can be cut serves from there anyway.
            if !state.can_be_cut() && (end == self.stats.prompt_tokens || read.last().is_some_and(is_end)) {
                cache.keep(read, state.clone(), self.owner);
            }
        }
        if end < self.tokens.len() {
            return Ok(());
        }
        if 0 < self.stats.completion_tokens {
            self.stats.decode_time += begun.elapsed();
        } else {
            self.stats.time_to_first_token = self.clock.requested.elapsed();
        }
        let n_calls = self.transcript.reply.n_calls();
        let mut logits = std::mem::take(&mut self.logits);
        self.write_behind(&mut logits, reading.draft(), loaded)?;
        self.logits = logits;
        // The result of a call is often sent before the reply has ended.
        if n_calls < self.transcript.reply.n_calls()
            && let Some(state) = &self.state
        {
            cache.keep(&self.tokens[..state.n_tokens()], state.clone(), self.owner);
        }
        Ok(())
    }

    fn begin(&mut self, prepared: Prepared) {
        self.stats.queue_time = self.clock.requested.elapsed();
        self.stats.prompt_tokens = prepared.tokens.len();
        self.sampler.read(&prepared.tokens);
        self.tokens = prepared.tokens;
        self.owner = prepared.owner;
        self.prompt_report = prepared.report;
        self.transcript.begin(prepared.functions, prepared.in_reasoning, prepared.guide.holds_text());
        if prepared.continues_text {
            self.transcript.keep_space();
        }
        self.guide = prepared.guide;
    }

    /// Leaves the state to prompts that go on from here.
    fn keep(&mut self, cache: &mut PrefixCache) {
        if let Some(state) = self.state.take().filter(State::can_be_kept) {
            cache.keep(&self.tokens[..state.n_tokens()], state, self.owner);
        }
    }

    /// Writes what follows from the logits behind the last token, and from those behind each guess that comes true.
    fn write_behind(&mut self, logits: &mut [f32], draft: &[u32], loaded: &LoadedModel) -> Result<()> {
        let (n_logits, n_before) = (logits.len() / (1 + draft.len()), self.tokens.len());
        let mut n_right = 0;
        loop {
            self.pick(&mut logits[n_right * n_logits..][..n_logits], loaded)?;
            let written = &self.tokens[n_before..];
            n_right = written.iter().zip(draft).take_while(|(written, guessed)| written == guessed).count();
            if self.has_ended || n_right < written.len() {
                break;
            }
        }
        if !draft.is_empty() {
            self.drafter.settle(draft.len(), n_right);
            self.stats.drafted_tokens += draft.len();
            self.stats.accepted_draft_tokens += n_right;
            self.state = self.state.as_ref().and_then(|state| state.cut(n_before + n_right));
        }
        Ok(())
    }

    /// Writes the next token, and those behind it that are the only ones possible: the model reads them in one step.
    fn pick(&mut self, logits: &mut [f32], loaded: &LoadedModel) -> Result<()> {
        let tokenizer = &loaded.tokenizer;
        let n_known = logits.len().min(tokenizer.n_tokens()); // a padded vocabulary has logits that stand for nothing
        self.transcript.compare_with(&logits[..n_known]);
        // How likely a token was is known behind the one before it, and nowhere else.
        let reads_together = loaded.looks_ahead && !self.transcript.is_logged();
        let mut forced = self.guide.forced(self.transcript.place());
        if forced.is_empty() {
            match self.choose(&mut logits[..n_known], tokenizer)? {
                Some(token) => self.write(token, tokenizer),
                None => self.end(FinishReason::Constraint),
            }
            if reads_together {
                forced = self.forced_behind();
            }
        }
        while !forced.is_empty() {
            for token in forced {
                if self.has_ended {
                    return Ok(());
                }
                self.sampler.note(token);
                self.stats.forced_tokens += 1;
                self.write(token, tokenizer);
                if !reads_together {
                    return Ok(());
                }
            }
            forced = self.forced_behind();
        }
        Ok(())
    }

    fn forced_behind(&mut self) -> Vec<u32> {
        if self.has_ended { Vec::new() } else { self.guide.forced(self.transcript.place()) }
    }

    /// The token that the model wants, among those that are allowed; `None` when there is none.
    fn choose(&mut self, logits: &mut [f32], tokenizer: &ModelTokenizer) -> Result<Option<u32>> {
        let (guide, place, held) = (&mut self.guide, self.transcript.place(), self.transcript.held());
        guide.mask(place, logits);
        if guide.has_failed() {
            return Ok(None);
        }
        let picked = self.sampler.pick(logits, |token| guide.allows(token, held, place, tokenizer))?;
        if picked.is_none() && !guide.is_active() {
            return Err(SdkError::new(ErrorKind::Generation, "the model excludes every token"));
        }
        Ok(picked)
    }

    fn write(&mut self, token: u32, tokenizer: &ModelTokenizer) {
        self.tokens.push(token);
        self.guide.take(token);
        self.stats.completion_tokens += 1;
        match (tokenizer.is_end(token), self.ignores_end) {
            (true, false) => {
                return self.end(FinishReason::Stop);
            }
            (true, true) => {}
            (false, _) => self.parse(token, tokenizer),
        }
        if self.guide.has_failed() {
            self.end(FinishReason::Constraint);
        } else if self.transcript.reply.has_stopped() || self.guide.is_done() && !self.ignores_end {
            self.end(FinishReason::Stop);
        } else if self.max_tokens <= self.stats.completion_tokens {
            self.end(FinishReason::MaxTokens);
        } else if self.stats.context_size <= self.stats.total_tokens() {
            self.end(FinishReason::ExceedContext);
        }
    }

    fn parse(&mut self, token: u32, tokenizer: &ModelTokenizer) {
        let transcript = &mut self.transcript;
        let (n_calls, before) = (transcript.reply.n_calls(), transcript.place());
        let text = transcript.push(token, tokenizer);
        let (reply, now) = (&transcript.reply, transcript.place());
        self.drafter.follow(now, &text);
        self.guide.follow(before, now, || transcript.open_block(), reply.n_calls());
        // The markers around a part belong to it.
        match (before, now) {
            (ReplySection::Calls, _) | (_, ReplySection::Calls) => self.stats.call_tokens += 1,
            (ReplySection::Reasoning, _) | (_, ReplySection::Reasoning) => self.stats.reasoning_tokens += 1,
            (ReplySection::Text, ReplySection::Text) => {}
        }
        if n_calls < reply.n_calls()
            && let Some(listener) = &mut self.listener
        {
            listener(ReplyNews::Called(&reply.message(false)));
        }
    }

    fn end(&mut self, reason: FinishReason) {
        let is_interrupted = reason == FinishReason::Interrupted;
        let is_cut = is_interrupted || reason == FinishReason::Constraint;
        self.transcript.finish(if is_cut { ReplyEnd::Interrupted } else { ReplyEnd::Ended });
        let reply = &self.transcript.reply;
        let stop_sequence = reply.stop_sequence().map(str::to_owned);
        let (full_message, has_calls) = (reply.message(is_interrupted), 0 < reply.n_calls());
        self.tell_end(Some(&full_message));
        let finish_reason = if reason == FinishReason::Stop && has_calls { FinishReason::ToolCalls } else { reason };
        let prompt = std::mem::take(&mut self.prompt_report);
        self.stats.constraint_time = self.guide.time;
        self.stats.peak_memory = peak_memory();
        let unconstrained = self.guide.fault().map(str::to_owned);
        let (stats, earlier_rounds) = (self.stats, Vec::new());
        let completion =
            Completion { full_message, finish_reason, stop_sequence, stats, earlier_rounds, prompt, unconstrained };
        self.terminal = Some(Ok(MessageResponse::Complete(Box::new(completion))));
        self.has_ended = true;
    }

    /// Ends with an error; what was parsed before it is still delivered.
    pub(crate) fn fail(&mut self, err: SdkError) {
        self.state = None; // it may have read half a step
        self.terminal = Some(Err(err)); // whatever happens below
        self.has_ended = true;
        if 0 < self.stats.prompt_tokens {
            self.transcript.finish(ReplyEnd::Interrupted);
            let _ = self.partial.set(self.transcript.reply.message(true)); // set once: a reply ends once
        }
        self.tell_end(None);
    }

    /// Drops the reply without a word to its listener.
    pub(crate) fn abandon(mut self) {
        self.listener = None;
    }

    fn tell_end(&mut self, reply: Option<&ChatMessage>) {
        if let Some(mut listener) = self.listener.take() {
            listener(ReplyNews::Ended(reply));
        }
    }
}

/// The most that the process had in memory, in bytes.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    peak.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The end of a reply that is dropped unfinished, with its engine, is told as well.
impl Drop for Generation {
    fn drop(&mut self) {
        self.tell_end(None);
    }
}
