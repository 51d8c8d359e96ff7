//! A block of calls while it is being written: the text between its start marker and its end marker.

use crate::notation::block_text::BlockText;
use crate::notation::limits::MAX_BLOCK_BYTES;
use crate::notation::offered::OfferedFunctions;
use crate::notation::quoted::QuoteState;
use crate::notation::xml::ValueTracker;
use crate::parse::block_reader::WrittenBlock;

/// Collects the body of a block.
#[derive(Debug, Default)]
pub(super) struct CallBlock {
    pub(super) body: String,
    /// The start marker, if text can spell it; else empty.
    pub(super) start: &'static str,
    /// Line ends before the start marker that are held back.
    pub(super) n_line_ends: usize,
    /// Where inner control tokens start.
    controls: Vec<usize>,
    content: BlockSyntax,
    /// Whether markers count even in strings and values: set when their ends turned out to be wrong.
    ignores_quotes: bool,
    /// Tags of blocks that are open inside of a value, while values are ignored.
    n_samples: usize,
    /// Set if the block has no start marker.
    pub(super) unmarked: Option<UnmarkedName>,
}

/// The text of a block that is being written, for a constraint that begins there.
pub(crate) enum OpenBlock {
    /// After the start marker.
    Marked(String),
    /// A block without markers: its opening bracket, and the text from the name of the first call on.
    Untagged(String),
    /// A list of calls in Python without markers: its opening bracket, and the text from the name of the first call on.
    PythonList(String),
}

/// What markers in a block could be part of.
#[derive(Debug, Default)]
enum BlockSyntax {
    /// Nothing but white space so far.
    #[default]
    Unknown,
    /// Strings in quotes.
    Quoted(QuoteState),
    /// Raw values between tags.
    Tags(ValueTracker),
}

/// Whether the name of a call without its start marker was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnmarkedName {
    Unread,
    /// It is the name of an offered function.
    Offered,
}

impl CallBlock {
    pub(super) fn new(start: &'static str, n_line_ends: usize, ignores_quotes: bool) -> Self {
        Self { start, n_line_ends, ignores_quotes, ..Self::default() }
    }

    pub(super) fn unmarked() -> Self {
        Self { unmarked: Some(UnmarkedName::Unread), ..Self::default() }
    }

    pub(super) fn ignores_quotes(&self) -> bool {
        self.ignores_quotes
    }

    /// The block as it was written, up to this end marker.
    pub(super) fn written<'a>(&'a self, end: &'a str) -> WrittenBlock<'a> {
        WrittenBlock { n_line_ends: self.n_line_ends, start: self.start, body: &self.body, end }
    }

    pub(super) fn text(&self) -> BlockText<'_> {
        BlockText { text: &self.body, controls: &self.controls }
    }

    /// Scans the spelling of a control token, which holds no quotes.
    pub(super) fn scan(&mut self, spelling: &str) {
        if let BlockSyntax::Quoted(quotes) = &mut self.content {
            *quotes = spelling.bytes().fold(*quotes, QuoteState::after);
        }
    }

    /// Where the next marker could start in `text`, which follows the body: the first `<` outside of strings.
    pub(super) fn next_angle(&mut self, text: &str) -> Option<usize> {
        if self.ignores_quotes {
            return text.find('<');
        }
        for (at, byte) in text.bytes().enumerate() {
            crate::notation::work::count(1);
            if matches!(self.content, BlockSyntax::Unknown) && byte != b'<' && !byte.is_ascii_whitespace() {
                self.content = BlockSyntax::Quoted(QuoteState::Outside);
            }
            match &mut self.content {
                BlockSyntax::Quoted(quotes) => {
                    if *quotes == QuoteState::Outside && byte == b'<' {
                        return Some(at);
                    }
                    *quotes = quotes.after(byte);
                }
                BlockSyntax::Unknown | BlockSyntax::Tags(_) if byte == b'<' => return Some(at),
                BlockSyntax::Unknown | BlockSyntax::Tags(_) => {}
            }
        }
        None
    }

    /// Whether a marker that follows is part of a value. `starts` and `ends` are whether it starts and ends a block.
    pub(super) fn hides(&mut self, starts: bool, ends: bool, offered: &OfferedFunctions) -> bool {
        let BlockSyntax::Tags(tracker) = &mut self.content else { return false };
        if !tracker.is_in_value(&self.body, offered, ends) {
            return false;
        }
        if self.ignores_quotes {
            let is_sample = starts || 0 < self.n_samples;
            self.n_samples = if starts { self.n_samples + 1 } else { self.n_samples.saturating_sub(usize::from(ends)) };
            return is_sample;
        }
        true
    }

    /// Adds text; returns how many bytes fit under the limit.
    pub(super) fn add(&mut self, text: &str) -> usize {
        if matches!(self.content, BlockSyntax::Unknown)
            && let Some(first) = text.trim_start().chars().next()
        {
            self.content = match first {
                '<' => BlockSyntax::Tags(ValueTracker::default()),
                _ => BlockSyntax::Quoted(QuoteState::Outside),
            };
        }
        let fitting = text.floor_char_boundary(MAX_BLOCK_BYTES - self.body.len());
        self.body.push_str(&text[..fitting]);
        fitting
    }

    /// Adds an inner control token; returns how many bytes fit under the limit.
    pub(super) fn add_control(&mut self, spelling: &str) -> usize {
        let at = self.body.len();
        let n_added = self.add(spelling);
        if n_added == spelling.len() {
            self.controls.push(at);
        }
        n_added
    }
}
