//! The transcription of a sound, window by window.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::error::Result;
use crate::model::HeardWindow;
use crate::transcribe::loaded::{LoadedTranscriber, RATE};
use crate::transcribe::options::{SpeechTask, TranscribeOptions};
use crate::transcribe::quality::is_silent;
use crate::transcribe::segments::{CutWindow, cut};
use crate::transcribe::text::WindowText;
use crate::transcribe::transcript::{Transcript, TranscriptEvent, TranscriptSegment};
use crate::transcribe::window::{WindowPrompt, WindowStep, WindowWriter, log_sum};

/// Samples of a millisecond.
const MILLISECOND: u64 = RATE as u64 / 1000;
/// New samples of which a text that may still change is written.
const REFRESH: u64 = 1000 * MILLISECOND;
/// Samples after a segment that does not change any more: the model has heard what follows it.
const SETTLED: u64 = 2000 * MILLISECOND;
/// Samples at the end of a sound that are too few for a word.
const MIN_LENGTH: u64 = 100 * MILLISECOND;
/// Larger samples are not silence.
const SILENCE: f32 = 0.0005;
/// Text of a window that was written at a higher temperature is not given to the next window.
const MAX_FAITHFUL: f32 = 0.5;

/// A transcription, whose samples may still come.
pub(super) struct Transcription {
    transcriber: Arc<LoadedTranscriber>,
    options: TranscribeOptions,
    /// Samples from `position` on.
    samples: Vec<f32>,
    /// Samples before the next window.
    position: u64,
    has_ended: bool,
    /// Samples of the next window that the last text, which may still change, was written of.
    n_tried: u64,
    /// The language, once it is known.
    language: Option<SpokenLanguage>,
    /// Tokens before the next window: from the prompt, and from earlier windows.
    previous: Vec<u32>,
    n_windows: u64,
    stage: TranscriptionStage,
    segments: Vec<TranscriptSegment>,
    events: VecDeque<TranscriptEvent>,
}

/// A language by its code and its token; a model of English only has no token for it.
#[derive(Clone)]
struct SpokenLanguage {
    code: String,
    token: Option<u32>,
}

/// What the transcription does.
enum TranscriptionStage {
    /// Waits for samples.
    Waiting,
    Hearing(Box<HeardWindow>, WindowLength),
    Writing(Box<WindowWriter>, WindowLength),
    Ended,
}

/// How much of the sound a window has.
#[derive(Clone, Copy)]
struct WindowLength {
    n_samples: u64,
    /// Whether more of the window may come.
    is_open: bool,
}

/// What a step of a transcription did.
pub(super) enum TranscriptionStep {
    Event(TranscriptEvent),
    Worked,
    /// More samples are needed.
    Waits,
    /// The last event was given.
    Over,
}

impl Transcription {
    /// # Errors
    /// [`ErrorKind::InvalidOption`](crate::error::ErrorKind::InvalidOption).
    pub(super) fn new(transcriber: Arc<LoadedTranscriber>, options: TranscribeOptions) -> Result<Self> {
        options.check()?;
        let language = match &options.language {
            Some(code) => {
                let token = transcriber.language(code)?;
                Some(SpokenLanguage { code: code.clone(), token })
            }
            None if transcriber.vocabulary.tokens.languages.is_empty() => {
                Some(SpokenLanguage { code: "en".to_owned(), token: None })
            }
            None => None,
        };
        transcriber.check(&options)?;
        let events =
            language.iter().map(|language| TranscriptEvent::Language { code: language.code.clone(), probability: 1.0 });
        let events = events.collect();
        let previous = match options.prompt.as_deref().map(str::trim).filter(|prompt| !prompt.is_empty()) {
            Some(prompt) => transcriber.vocabulary.encode(&format!(" {prompt}"))?,
            None => Vec::new(),
        };
        Ok(Self {
            transcriber,
            options,
            samples: Vec::new(),
            position: 0,
            has_ended: false,
            n_tried: 0,
            language,
            previous,
            n_windows: 0,
            stage: TranscriptionStage::Waiting,
            segments: Vec::new(),
            events,
        })
    }

    /// Adds samples at the rate of the model.
    pub(super) fn samples(&mut self) -> &mut Vec<f32> {
        &mut self.samples
    }

    /// Says that no more samples come.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }

    /// Ends the transcription before its end.
    pub(super) fn cancel(&mut self) -> TranscriptEvent {
        self.stage = TranscriptionStage::Ended;
        self.events.clear();
        TranscriptEvent::Complete(Transcript { was_cancelled: true, ..self.transcript() })
    }

    /// Computes a piece.
    pub(super) fn advance(&mut self) -> Result<TranscriptionStep> {
        if let Some(event) = self.events.pop_front() {
            return Ok(TranscriptionStep::Event(event));
        }
        match std::mem::replace(&mut self.stage, TranscriptionStage::Ended) {
            TranscriptionStage::Ended => Ok(TranscriptionStep::Over),
            TranscriptionStage::Waiting => self.begin_window(),
            TranscriptionStage::Hearing(mut window, length) => {
                self.stage = match window.advance()? {
                    false => TranscriptionStage::Hearing(window, length),
                    true => TranscriptionStage::Writing(Box::new(self.begin_text(*window)?), length),
                };
                Ok(TranscriptionStep::Worked)
            }
            TranscriptionStage::Writing(mut writer, length) => {
                match writer.step(&self.transcriber.vocabulary, &self.options)? {
                    WindowStep::Wrote => {
                        let text = self.transcriber.vocabulary.decode(writer.tokens());
                        self.stage = TranscriptionStage::Writing(writer, length);
                        Ok(TranscriptionStep::Event(TranscriptEvent::Partial(text)))
                    }
                    WindowStep::Complete(text) => {
                        self.stage = TranscriptionStage::Waiting;
                        self.end_window(&text, length);
                        Ok(TranscriptionStep::Worked)
                    }
                }
            }
        }
    }

    fn begin_window(&mut self) -> Result<TranscriptionStep> {
        let n_window = self.transcriber.n_samples();
        let available = self.samples.len() as u64;
        let is_open = !self.has_ended && available < n_window;
        if is_open && available < self.n_tried + REFRESH {
            self.stage = TranscriptionStage::Waiting;
            return Ok(TranscriptionStep::Waits);
        }
        if available < MIN_LENGTH {
            self.position += available;
            self.samples.clear();
            return Ok(TranscriptionStep::Event(TranscriptEvent::Complete(self.transcript())));
        }
        let n_samples = available.min(n_window);
        let window = &self.samples[..n_samples as usize];
        if window.iter().all(|sample| sample.abs() < SILENCE) {
            match is_open {
                true => self.n_tried = n_samples,
                false => self.skip(n_samples),
            }
            self.stage = TranscriptionStage::Waiting;
            return Ok(TranscriptionStep::Worked);
        }
        let frames = self.transcriber.features(window);
        let heard = self.transcriber.model.begin(&frames)?;
        self.stage = TranscriptionStage::Hearing(Box::new(heard), WindowLength { n_samples, is_open });
        Ok(TranscriptionStep::Worked)
    }

    /// Begins to write over a window that is encoded.
    fn begin_text(&mut self, mut window: HeardWindow) -> Result<WindowWriter> {
        let language = match &self.language {
            Some(language) => language.clone(),
            None => {
                let (language, probability) = self.detect(&mut window)?;
                let code = language.code.clone();
                self.events.push_back(TranscriptEvent::Language { code, probability });
                self.language.insert(language).clone()
            }
        };
        let tokens = &self.transcriber.vocabulary.tokens;
        let n_positions = self.transcriber.model.architecture().n_text_positions;
        let mut prompt = Vec::new();
        let most = n_positions / 2 - 1;
        let previous = &self.previous[self.previous.len().saturating_sub(most)..];
        if !previous.is_empty() {
            prompt.push(tokens.previous);
            prompt.extend(previous);
        }
        let start = prompt.len();
        prompt.push(tokens.start);
        if let Some(token) = language.token {
            let task = match self.options.task {
                SpeechTask::Transcribe => tokens.transcribe,
                SpeechTask::Translate => tokens.translate,
            };
            prompt.extend([token, task]);
        }
        prompt.extend((!self.options.has_times).then_some(tokens.no_times));
        let prompt = WindowPrompt { tokens: prompt, start };
        // Attempts of windows draw different numbers.
        let seed = self.options.seed.wrapping_add(self.n_windows << 8);
        Ok(WindowWriter::new(window, prompt, n_positions, &self.options, seed))
    }

    /// The most probable language, and its probability.
    fn detect(&self, window: &mut HeardWindow) -> Result<(SpokenLanguage, f32)> {
        let tokens = &self.transcriber.vocabulary.tokens;
        let logits = window.write(&[tokens.start], std::slice::from_ref(&(0..1)))?;
        window.rewind(0)?;
        let of_languages: Vec<f32> = tokens
            .languages
            .iter()
            .map(|(_, id)| logits.get(*id as usize).copied().unwrap_or(f32::NEG_INFINITY))
            .collect();
        let largest = of_languages.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let at = of_languages.iter().position(|logit| *logit == largest).unwrap_or_default();
        let probability = (f64::from(largest) - log_sum(&of_languages)).exp() as f32;
        let (code, token) = &tokens.languages[at];
        Ok((SpokenLanguage { code: code.clone(), token: Some(*token) }, probability))
    }

    /// Keeps the segments of a window, and goes on after them.
    fn end_window(&mut self, text: &WindowText, WindowLength { n_samples, is_open }: WindowLength) {
        self.n_windows += 1;
        self.n_tried = n_samples;
        if is_silent(text, &self.options) {
            if !is_open {
                self.skip(n_samples);
            }
            return;
        }
        let length = n_samples.div_ceil(MILLISECOND);
        let start = self.position / MILLISECOND;
        let CutWindow { mut segments, next } = cut(&self.transcriber.vocabulary, text, start, length);
        let mut passed = next.map_or(n_samples, |next| next * MILLISECOND);
        if is_open {
            let settled = Duration::from_millis(start + n_samples.saturating_sub(SETTLED) / MILLISECOND);
            let n_settled = segments.iter().take_while(|segment| segment.end <= settled).count();
            // The last segment may go on.
            let later = segments.split_off(n_settled.min(segments.len().saturating_sub(1)));
            let end = segments.last().map(|segment| segment.end.as_millis() as u64 - start); // it begins after the window does
            passed = end.unwrap_or_default() * MILLISECOND;
            let text = later.iter().map(|segment| segment.text.as_str()).collect();
            self.events.push_back(TranscriptEvent::Partial(text));
        }
        if !self.options.uses_previous_text || MAX_FAITHFUL < text.temperature {
            self.previous.clear();
        }
        if self.options.uses_previous_text {
            self.previous.extend(segments.iter().flat_map(|segment| &segment.tokens));
        }
        // Segments come before the text after them.
        segments.iter().rev().cloned().map(TranscriptEvent::Segment).for_each(|event| self.events.push_front(event));
        self.segments.extend(segments);
        self.skip(passed);
    }

    fn skip(&mut self, n_samples: u64) {
        self.samples.drain(..self.samples.len().min(n_samples as usize));
        self.position += n_samples;
        self.n_tried = self.n_tried.saturating_sub(n_samples);
    }

    /// What is known so far.
    fn transcript(&self) -> Transcript {
        let text: String = self.segments.iter().map(|segment| segment.text.as_str()).collect();
        Transcript {
            text: text.trim().to_owned(),
            language: self.language.as_ref().map(|language| language.code.clone()).unwrap_or_default(),
            duration: Duration::from_micros((self.position + self.samples.len() as u64) * 1000 / MILLISECOND),
            segments: self.segments.clone(),
            was_cancelled: false,
        }
    }
}
