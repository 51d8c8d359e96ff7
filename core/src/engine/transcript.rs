//! A reply's tokens, taken down: text out of bytes, parts out of text, and out of those the message and its events.

use crate::engine::reply::Reply;
use crate::engine::token_log::{Standing, TokenLog};
use crate::function::SdkFunction;
use crate::options::{GenerationOptions, PositionalArguments, ToolChoice};
use crate::parse::{Piece, ReplyEnd, ReplyParser};
use crate::response::ReplySection;
use crate::tokenizer::{ModelTokenizer, TokenText, Utf8Pieces};

/// What was made of the tokens so far.
pub(crate) struct Transcript {
    pieces: Utf8Pieces,
    parser: ReplyParser,
    pub(crate) reply: Reply,
    /// How likely the tokens were, where that is asked for.
    log: Option<TokenLog>,
    /// Whether arguments without names are taken.
    maps_positional: bool,
    /// Whether calls count without markers.
    takes_bare: bool,
}

impl Transcript {
    pub(crate) fn new(options: GenerationOptions, tokenizer: &ModelTokenizer) -> Self {
        Self {
            pieces: tokenizer.pieces(),
            parser: ReplyParser::new(options.function_call_parser)
                .strictness(options.parser_strictness)
                .rejected_call_text(options.rejected_call_text),
            log: TokenLog::new(&options),
            maps_positional: options.positional_arguments == PositionalArguments::MapByOrder,
            takes_bare: options.bare_calls && options.tool_choice != ToolChoice::None,
            reply: Reply::new(options),
        }
    }

    /// Begins behind a prompt that offers these functions, and may have opened reasoning. Text that is held to a schema goes on
    /// to the end.
    pub(crate) fn begin(&mut self, functions: Vec<SdkFunction>, in_reasoning: bool, holds_text: bool) {
        let mut parser = std::mem::replace(&mut self.parser, ReplyParser::new(None));
        if self.takes_bare {
            parser = parser.bare_calls_of(&functions);
        }
        if self.maps_positional {
            parser = parser.positional_arguments_of(functions.clone());
        }
        if in_reasoning {
            parser = parser.starting_in_reasoning();
        }
        if holds_text {
            parser = parser.text_last();
        }
        self.parser = parser;
        self.reply.compare_with(functions);
    }

    /// Takes a space at the beginning for what it is, since the reply goes on with a text.
    pub(crate) fn keep_space(&mut self) {
        self.pieces = Utf8Pieces::new(false);
    }

    /// Where the reply stands now.
    pub(crate) fn place(&self) -> ReplySection {
        self.parser.place()
    }

    /// What is held back because it may be the beginning of a marker.
    pub(crate) fn held(&self) -> &str {
        self.parser.held()
    }

    /// What stands in the block that is open now.
    pub(crate) fn open_block(&self) -> String {
        self.parser.open_block()
    }

    /// Whether it is to be known of every token how likely it was.
    pub(crate) fn is_logged(&self) -> bool {
        self.log.is_some()
    }

    /// Takes note of what the model computed for the next token.
    pub(crate) fn compare_with(&mut self, logits: &[f32]) {
        if let Some(log) = &mut self.log {
            log.read(logits);
        }
    }

    /// Takes down a token; returns the text that it made whole.
    pub(crate) fn push(&mut self, token: u32, tokenizer: &ModelTokenizer) -> String {
        let Some(token_text) = tokenizer.text(token) else { return String::new() };
        if let Some(log) = &mut self.log {
            let bytes = match token_text {
                TokenText::Bytes(bytes) => Some(self.pieces.kept(bytes)),
                TokenText::Control(_) => None,
            };
            log.note(token, bytes, tokenizer);
        }
        let (text, control) = match token_text {
            TokenText::Bytes(bytes) => (self.pieces.push(bytes), None),
            TokenText::Control(spelling) => (self.pieces.finish(), Some(spelling)),
        };
        let (before, n_events) = (self.standing(), self.reply.events.len());
        let reply = &mut self.reply;
        if !text.is_empty() {
            self.parser.push(Piece::Text(&text), &mut |parsed| reply.push(parsed));
        }
        if let Some(spelling) = control {
            self.parser.push(Piece::Control(spelling), &mut |parsed| reply.push(parsed));
        }
        let (now, has_left_out) = (self.standing(), self.reply.take_left_out());
        if let Some(log) = &mut self.log {
            // Without a parser, control tokens are text as they are spelt.
            let n_spelt = control.filter(|_| self.parser.is_off()).map_or(0, |spelling| spelling.len());
            log.follow(text.len() + n_spelt, before, now, has_left_out);
            let told = log.told(now.n_undecided + self.reply.n_undecided());
            told.into_iter().for_each(|told| self.reply.events.insert(n_events, told));
        }
        text
    }

    /// Gives out what the stages hold back.
    pub(crate) fn finish(&mut self, end: ReplyEnd) {
        let (before, n_events) = (self.standing(), self.reply.events.len());
        let reply = &mut self.reply;
        let rest = self.pieces.finish();
        if !rest.is_empty() {
            self.parser.push(Piece::Text(&rest), &mut |parsed| reply.push(parsed));
        }
        self.parser.finish(end, &mut |parsed| reply.push(parsed));
        reply.finish();
        let now = self.standing();
        if let Some(log) = &mut self.log {
            let told = log.rest(rest.len(), self.reply.n_undecided(), before, now);
            told.into_iter().for_each(|told| self.reply.events.insert(n_events, told));
        }
    }

    fn standing(&self) -> Standing {
        Standing {
            place: self.parser.place(),
            n_undecided: self.parser.n_undecided(),
            n_calls: self.reply.n_calls(),
            n_text: self.reply.n_text(),
        }
    }
}
