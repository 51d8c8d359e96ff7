//! From a reply's tokens to its events: tokens become text, text becomes sections and calls, and those become the message
//! and its events.

use crate::engine::constraint::ReplyConstraint;
use crate::engine::logprobs::{LogprobLog, ParsedLength};
use crate::engine::reply_builder::ReplyBuilder;
use crate::function::SdkFunction;
use crate::options::GenerationOptions;
use crate::parse::{OpenBlock, Piece, ReplyEnd, ReplyParser};
use crate::response::ReplySection;
use crate::tokenizer::{LeadingSpaces, ModelTokenizer, TokenText, Utf8Pieces};

/// The reply up to the last token.
pub(crate) struct ReplyTranscript {
    pieces: Utf8Pieces,
    parser: ReplyParser,
    pub(crate) reply: ReplyBuilder,
    /// Log-probabilities, if requested.
    logprobs: Option<LogprobLog>,
}

impl ReplyTranscript {
    pub(crate) fn new(options: GenerationOptions, tokenizer: &ModelTokenizer) -> Self {
        Self {
            pieces: tokenizer.pieces(),
            parser: ReplyParser::new(options.function_call_parser).strictness(options.parser_strictness),
            logprobs: LogprobLog::new(&options),
            reply: ReplyBuilder::new(options),
        }
    }

    /// Begins after a prompt that offers these functions, and may have opened reasoning. Text that is constrained to a schema
    /// lasts until the end.
    pub(crate) fn begin(&mut self, functions: Vec<SdkFunction>, in_reasoning: bool, constraint: &ReplyConstraint) {
        let mut parser = std::mem::replace(&mut self.parser, ReplyParser::new(None));
        if in_reasoning {
            parser = parser.starting_in_reasoning();
        }
        if constraint.holds_text() {
            parser = parser.text_last();
        }
        if !constraint.bans_calls() {
            parser = parser.offering(&functions);
        }
        self.parser = parser;
        self.reply.set_functions(functions);
    }

    /// Keeps a leading space, because the reply continues a text.
    pub(crate) fn keep_space(&mut self) {
        self.pieces = Utf8Pieces::new(LeadingSpaces::Kept);
    }

    /// The section that the reply is in.
    pub(crate) fn section(&self) -> ReplySection {
        self.parser.place()
    }

    /// Text that is held back because it may begin a marker.
    pub(crate) fn held(&self) -> &str {
        self.parser.held()
    }

    /// The open block; `None` outside of blocks.
    pub(crate) fn open_block(&self) -> Option<OpenBlock> {
        self.parser.open_block()
    }

    /// Whether log-probabilities were requested.
    pub(crate) fn has_logprobs(&self) -> bool {
        self.logprobs.is_some()
    }

    /// Records the logits of the next token.
    pub(crate) fn record_logits(&mut self, logits: &[f32]) {
        if let Some(log) = &mut self.logprobs {
            log.record_logits(logits);
        }
    }

    /// Adds a token. Returns the text that it completed.
    pub(crate) fn push(&mut self, token: u32, tokenizer: &ModelTokenizer) -> String {
        let Some(token_text) = tokenizer.text(token) else { return String::new() };
        if let Some(log) = &mut self.logprobs {
            let bytes = match token_text {
                TokenText::Bytes(bytes) => Some(self.pieces.kept(bytes)),
                TokenText::Control(_) => None,
            };
            log.record(token, bytes.as_deref(), tokenizer);
        }
        let (text, control) = match token_text {
            TokenText::Bytes(bytes) => (self.pieces.push(bytes), None),
            TokenText::Control(spelling) => (self.pieces.finish(), Some(spelling)),
        };
        let (before, n_events) = (self.parsed_length(), self.reply.events.len());
        let reply = &mut self.reply;
        if !text.is_empty() {
            self.parser.push(Piece::Text(&text), &mut |parsed| reply.push(parsed));
        }
        if let Some(spelling) = control {
            self.parser.push(Piece::Control(spelling), &mut |parsed| reply.push(parsed));
        }
        let (now, has_dropped_text) = (self.parsed_length(), self.reply.take_dropped_text());
        if let Some(log) = &mut self.logprobs {
            // Without a parser, the spelling of a control token is text.
            let n_spelt = control.filter(|_| self.parser.is_off()).map_or(0, |spelling| spelling.len());
            log.follow(text.len() + n_spelt, before, now, has_dropped_text);
            let decided = log.take_decided(now.n_undecided + self.reply.n_undecided());
            decided.into_iter().for_each(|event| self.reply.events.insert(n_events, event));
        }
        text
    }

    /// Releases what the stages hold back.
    pub(crate) fn finish(&mut self, end: ReplyEnd) {
        let (before, n_events) = (self.parsed_length(), self.reply.events.len());
        let reply = &mut self.reply;
        self.pieces.cut();
        self.parser.finish(end, &mut |parsed| reply.push(parsed));
        reply.finish();
        let now = self.parsed_length();
        if let Some(log) = &mut self.logprobs {
            let rest = log.take_rest(0, self.reply.n_undecided(), before, now);
            rest.into_iter().for_each(|event| self.reply.events.insert(n_events, event));
        }
    }

    fn parsed_length(&self) -> ParsedLength {
        ParsedLength {
            section: self.parser.place(),
            n_undecided: self.parser.n_undecided(),
            n_calls: self.reply.n_calls(),
            n_text: self.reply.n_text(),
        }
    }
}
