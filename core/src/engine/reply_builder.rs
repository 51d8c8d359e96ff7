//! Builds a reply: everything the parser finds becomes an event and a part of the message.

use std::collections::VecDeque;
use std::ops::Range;

use crate::engine::speech::{ReplyVoice, SpokenFrame};
use crate::engine::stop::StopFinder;
use crate::function::{Diagnostic, DiagnosticCode, PythonNames, RejectedCall, Repair, SdkFunction, SdkFunctionCall};
use crate::media::sound::{SoundOpening, SpokenSound};
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::options::{GenerationOptions, ToolChoice};
use crate::parse::{Note, Parsed, missed_call};
use crate::response::MessageResponse;
use crate::validate::validate_among;

/// A reply that is being built.
pub(crate) struct ReplyBuilder {
    text: String,
    /// Stretches of sound, each with the length of the text before it.
    sounds: Vec<(usize, SpokenSound)>,
    reasoning: String,
    calls: Vec<SdkFunctionCall>,
    rejected: Vec<RejectedCall>,
    /// The functions offered to the model.
    functions: Vec<SdkFunction>,
    /// Names of the functions that may be called; `None` means all.
    allowed: Option<Vec<String>>,
    /// Whether several calls may be made.
    is_parallel: bool,
    /// Whether calls are parsed.
    parses_calls: bool,
    stop: StopFinder,
    has_stopped: bool,
    /// Bytes of text after a stop.
    n_ignored: usize,
    /// Whether the parser dropped text: the echo of a block, or an unpaired marker.
    has_dropped_text: bool,
    /// Whether chunks are sent one by one, never joined.
    keeps_chunks: bool,
    stops_after_calls: bool,
    shown_reasoning: ShownReasoning,
    /// Whether a `<think>` among the chunks has not been closed.
    is_tag_open: bool,
    /// Events that have not been sent.
    pub(crate) events: VecDeque<MessageResponse>,
}

/// How reasoning appears in the events.
#[derive(Clone, Copy)]
enum ShownReasoning {
    No,
    AsReasoningChunks,
    /// As text chunks, between tags.
    Inline,
}

impl ReplyBuilder {
    pub(crate) fn new(options: GenerationOptions) -> Self {
        let shown_reasoning = match options {
            GenerationOptions { inline_thinking_tags: true, .. } => ShownReasoning::Inline,
            GenerationOptions { enable_thinking: true, .. } => ShownReasoning::AsReasoningChunks,
            _ => ShownReasoning::No,
        };
        Self {
            text: String::new(),
            sounds: Vec::new(),
            reasoning: String::new(),
            calls: Vec::new(),
            rejected: Vec::new(),
            functions: Vec::new(),
            allowed: match options.tool_choice {
                ToolChoice::Function(name) => Some(vec![name]),
                ToolChoice::None => Some(Vec::new()),
                ToolChoice::Auto | ToolChoice::Required => options.allowed_tools,
            },
            is_parallel: options.parallel_tool_calls,
            parses_calls: options.function_call_parser.is_some(),
            stop: StopFinder::new(options.stop_sequences),
            has_stopped: false,
            n_ignored: 0,
            has_dropped_text: false,
            keeps_chunks: options.logprobs.is_some(),
            stops_after_calls: options.stop_after_tool_calls,
            shown_reasoning,
            is_tag_open: false,
            events: VecDeque::new(),
        }
    }

    /// Sets the functions that calls are validated against.
    pub(crate) fn set_functions(&mut self, functions: Vec<SdkFunction>) {
        self.functions = functions;
    }

    /// Adds what the parser found. After a stop, everything is ignored.
    pub(crate) fn push(&mut self, parsed: Parsed) {
        if self.has_stopped {
            if let Parsed::Text(text) = parsed {
                self.n_ignored += text.len();
            }
            return;
        }
        match parsed {
            Parsed::Text(text) => {
                let safe = self.stop.push(&text);
                self.has_stopped = self.stop.found().is_some();
                self.chunk(safe);
            }
            Parsed::Reasoning(text) => self.reason(text),
            Parsed::Calls(mut calls) => {
                self.release();
                self.close_tag();
                if !self.functions.is_empty() {
                    let n_before = self.calls.len();
                    for (i, call) in calls.iter_mut().enumerate() {
                        call.diagnostics = validate_among(call, &self.functions).diagnostics;
                        call.diagnostics.extend(self.objections(call, n_before + i));
                    }
                }
                self.calls.extend_from_slice(&calls);
                self.events.push_back(MessageResponse::FunctionCalls(calls));
                self.has_stopped = self.stops_after_calls;
            }
            Parsed::Rejected(rejected) => {
                self.release();
                self.close_tag();
                self.rejected.extend_from_slice(&rejected);
                self.events.push_back(MessageResponse::FunctionCallsRejected(rejected));
            }
            Parsed::Note(Note::EchoRemoved | Note::StrayMarker) => self.has_dropped_text = true,
            Parsed::Note(_) => {}
        }
    }

    /// The diagnostics of a call that the options do not allow, or that is written without markers, after `n_before` others.
    fn objections(&self, call: &SdkFunctionCall, n_before: usize) -> impl Iterator<Item = Diagnostic> + use<> {
        let is_allowed = self.allowed.as_ref().is_none_or(|allowed| allowed.contains(&call.name));
        let name = &call.name;
        let found = [
            (!is_allowed, DiagnosticCode::ToolNotAllowed, format!("{name} may not be called")),
            (
                !self.is_parallel && 0 < n_before,
                DiagnosticCode::ParallelLimit,
                "one call at most was asked for".to_owned(),
            ),
            (
                call.repairs.contains(&Repair::MissingMarkers),
                DiagnosticCode::MissingMarkers,
                format!("the call of {name} must be written between its markers"),
            ),
        ];
        let found = found.into_iter().filter(|(applies, _, _)| *applies);
        found.map(|(_, code, message)| Diagnostic { code, path: String::new(), message })
    }

    /// Releases text held back for a stop sequence: no sequence continues across a block of calls or past the end.
    fn release(&mut self) {
        let held = self.stop.finish();
        self.chunk(held);
    }

    fn chunk(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(&text);
        self.close_tag();
        self.show(text);
    }

    fn reason(&mut self, text: String) {
        self.reasoning.push_str(&text);
        match self.shown_reasoning {
            ShownReasoning::No => {}
            ShownReasoning::AsReasoningChunks => self.events.push_back(MessageResponse::ReasoningChunk(text)),
            ShownReasoning::Inline => {
                if !std::mem::replace(&mut self.is_tag_open, true) {
                    self.show("<think>".to_owned());
                }
                self.show(text);
            }
        }
    }

    fn close_tag(&mut self) {
        if std::mem::take(&mut self.is_tag_open) {
            self.show("</think>".to_owned());
        }
    }

    /// Joins adjacent chunks that wait for the reader.
    fn show(&mut self, text: String) {
        match self.events.back_mut() {
            Some(MessageResponse::Chunk(waiting)) if !self.keeps_chunks => waiting.push_str(&text),
            _ => self.events.push_back(MessageResponse::Chunk(text)),
        }
    }

    /// Adds a frame of sound.
    pub(crate) fn speak(&mut self, frame: &SpokenFrame, voice: &ReplyVoice) {
        let at = self.text.len();
        let opening = frame.opening;
        let goes_on = |(last, sound): &(usize, SpokenSound)| {
            *last == at && sound.spoken.opening != SoundOpening::MixedStart // text comes after that
        };
        if opening != SoundOpening::None || self.sounds.last().is_none_or(|last| !goes_on(last)) {
            self.sounds.push((at, voice.sound(opening)));
        }
        let codes = frame.codes.iter().map(|code| u16::try_from(*code).unwrap_or(u16::MAX)); // codebooks are far smaller
        if let Some((_, sound)) = self.sounds.last_mut() {
            sound.spoken.frames.push(codes.collect());
        }
        self.sound(&frame.samples);
    }

    /// Notes that a part with text and sound in turn begins here.
    pub(crate) fn begin_mixed(&mut self, voice: &ReplyVoice) {
        self.sounds.push((self.text.len(), voice.sound(SoundOpening::MixedStart)));
    }

    /// Adds samples to the sound that was spoken last.
    pub(crate) fn sound(&mut self, samples: &[f32]) {
        let Some((_, sound)) = self.sounds.last_mut().filter(|_| !samples.is_empty()) else { return };
        sound.samples.extend_from_slice(samples);
        let (samples, sample_rate) = (samples.to_vec(), sound.sample_rate);
        self.events.push_back(MessageResponse::AudioSample { samples, sample_rate });
    }

    /// Whether a stop sequence was found, or calls after which the reply must end.
    pub(crate) fn has_stopped(&self) -> bool {
        self.has_stopped
    }

    /// The stop sequence that was found.
    pub(crate) fn stop_sequence(&self) -> Option<&str> {
        self.stop.found()
    }

    /// Bytes of text that are held back for a stop sequence, or cut off by one.
    pub(crate) fn n_undecided(&self) -> usize {
        self.stop.n_held() + self.n_ignored
    }

    /// Whether the parser dropped text since the last call.
    pub(crate) fn take_dropped_text(&mut self) -> bool {
        std::mem::take(&mut self.has_dropped_text)
    }

    /// Bytes of text so far.
    pub(crate) fn n_text(&self) -> usize {
        self.text.len()
    }

    /// Calls delivered so far.
    pub(crate) fn n_calls(&self) -> usize {
        self.calls.len()
    }

    /// The diagnostics of the reply as a whole: text that looks like a call, where calls were possible and none was made.
    pub(crate) fn diagnostics(&self) -> Vec<Diagnostic> {
        if !self.parses_calls || !self.calls.is_empty() || !self.rejected.is_empty() {
            return Vec::new();
        }
        let names = || self.functions.iter().map(|function| function.name.as_str());
        let identifiers = PythonNames::new(names());
        let callable =
            names().filter(|&name| self.allowed.as_ref().is_none_or(|allowed| allowed.iter().any(|it| it == name)));
        // In Python, the model knows some functions by identifiers.
        let spellings: Vec<(&str, &str)> =
            callable.flat_map(|name| [(name, name), (identifiers.written(name), name)]).collect();
        let missed = missed_call(&self.text, spellings.iter().map(|(spelling, _)| *spelling));
        let missed = spellings.iter().find(|(spelling, _)| Some(*spelling) == missed).map(|(_, name)| Diagnostic {
            code: DiagnosticCode::MissedCall,
            path: String::new(),
            message: format!("no function was called, but the text of the reply looks like a call of {name}"),
        });
        missed.into_iter().collect()
    }

    /// The message so far.
    pub(crate) fn message(&self, incomplete: bool) -> ChatMessage {
        let (mut content, mut start) = (Vec::new(), 0);
        let add_text = |range: Range<usize>, content: &mut Vec<ChatMessageContent>| {
            let text = &self.text[range];
            content.extend((!text.is_empty()).then(|| ChatMessageContent::Text(text.to_owned())));
        };
        for (at, sound) in &self.sounds {
            add_text(start..*at, &mut content);
            content.push(ChatMessageContent::Audio(sound.to_wav()));
            start = *at;
        }
        add_text(start..self.text.len(), &mut content);
        ChatMessage {
            role: Role::Assistant,
            content,
            reasoning_content: (!self.reasoning.is_empty()).then(|| self.reasoning.clone()),
            function_calls: (!self.calls.is_empty()).then(|| self.calls.clone()),
            rejected_calls: self.rejected.clone(),
            incomplete,
            ..ChatMessage::assistant("")
        }
    }

    /// Releases what was held back for a stop sequence that did not come.
    pub(crate) fn finish(&mut self) {
        if !self.has_stopped {
            self.release();
        }
        self.close_tag();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_validated_against_the_functions_offered() {
        let mut reply = ReplyBuilder::new(GenerationOptions::default());
        let call = SdkFunctionCall { name: "nope".into(), ..Default::default() };
        reply.push(Parsed::Calls(vec![call.clone()]));
        reply.set_functions(vec![SdkFunction::new("f", "", vec![])]);
        reply.push(Parsed::Calls(vec![call]));
        let calls = reply.message(false).function_calls.unwrap();
        let codes = |call: &SdkFunctionCall| call.diagnostics.iter().map(|found| found.code.code()).collect::<Vec<_>>();
        assert!(calls[0].diagnostics.is_empty(), "without functions there is nothing to validate against");
        assert_eq!(codes(&calls[1]), ["undeclared_function"]);
    }
}
