//! What defines a notation of calls: its markers, its reader, its renderer, its grammar, and the signs by which it is recognised.

use crate::function::SdkFunctionCall;
use crate::notation::block_text::BlockText;
use crate::notation::grammar::GrammarForm;
use crate::notation::list::List;
use crate::notation::marker::{Marker, MarkerSpelling, THINK, THINK_END};
use crate::notation::offered::OfferedFunctions;
use crate::notation::written::Written;

/// A notation of calls. Each folder beside this file defines one.
#[derive(Debug)]
pub(crate) struct Notation {
    /// The markers before and after a block, a pair for each family of models. The end is empty if a block lasts until the next
    /// one or the end of the reply.
    pub(crate) blocks: &'static [(&'static str, &'static str)],
    /// Control tokens that are part of a block's body.
    pub(crate) inner: &'static [&'static str],
    /// Whether text can spell the markers of blocks. If not, text that looks like one was typed.
    pub(crate) is_in_text: bool,
    /// Whether calls may be written without their markers, and then are the whole reply.
    pub(crate) has_optional_markers: bool,
    /// All control tokens with a meaning, except inner ones.
    pub(crate) control: &'static [MarkerSpelling],
    /// The markers that text can spell outside of blocks.
    pub(crate) in_text: &'static [MarkerSpelling],
    /// The markers that count inside reasoning: its end, and what looks like the start of a block.
    pub(crate) in_reasoning: &'static [MarkerSpelling],
    /// The markers that text can spell inside a block.
    pub(crate) in_block: &'static [MarkerSpelling],
    /// Whether each call has tags of its own: they may be written without the tags of a block, and end reasoning that has no end.
    pub(crate) is_tagged: bool,
    /// Whether a block without the name of an offered function is text.
    pub(crate) only_offered: bool,
    /// Whether functions have identifiers in prompts and calls, because calls cannot express all of their names.
    pub(crate) writes_identifiers: bool,
    /// Reads the calls of a block.
    pub(crate) read: fn(CallBody<'_>) -> List,
    /// The name of the first call in the text of a block that is too large.
    pub(crate) name_of: fn(&str, &OfferedFunctions) -> Option<String>,
    /// Writes calls with markers; `None` if a name or a string cannot be written.
    pub(crate) render: fn(&[SdkFunctionCall], &BlockSpelling<'_>) -> Option<Vec<Written>>,
    /// The forms of calls without markers that are read; `None` for none.
    pub(crate) untagged: Option<UntaggedForms>,
    pub(crate) grammar: GrammarForm,
    /// Whether the chat template of a model shows that it writes this notation.
    pub(crate) is_shown_by: fn(&ModelSigns<'_>) -> bool,
    /// Whether the markers of blocks, as control tokens of a vocabulary, also show this.
    pub(crate) is_shown_by_markers: bool,
}

/// What a notation reads as calls although they have no markers.
#[derive(Debug)]
pub(crate) struct UntaggedForms {
    /// Where calls without markers are no exception: they are read by strict parsers, too, and need no repair.
    pub(crate) regular: RegularPlace,
    /// A word that may stand before a list of objects; empty if there is none.
    pub(crate) word: &'static str,
    /// Whether bare calls may also be names with arguments after them.
    pub(crate) has_names: bool,
    /// Whether the arguments of objects have the key `parameters`, as the declarations of functions have.
    pub(crate) has_parameters: bool,
    /// Where calls may also be a list in Python.
    pub(crate) python_lists: PythonPlaces,
    /// What separates bare objects besides commas and white space.
    pub(crate) separator: Option<u8>,
    /// The languages of fences around calls.
    pub(crate) languages: &'static [&'static str],
    /// The notation of objects in fences and tags; `None` for the notation itself.
    pub(crate) elsewhere: Option<&'static Notation>,
    /// The notation whose grammar applies to objects from the first name on; `None` for the notation itself.
    pub(crate) objects: Option<&'static Notation>,
}

/// Where calls regularly have no markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegularPlace {
    Nowhere,
    /// As the whole reply.
    Bare,
    /// After the word, anywhere in the text.
    AfterWord,
}

/// Where a list of calls in Python is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PythonPlaces {
    Nowhere,
    Bare,
    /// In all places, and several lists in a row.
    Everywhere,
}

/// The body of a block that is read.
#[derive(Clone, Copy)]
pub(crate) struct CallBody<'a> {
    pub(crate) block: BlockText<'a>,
    /// Where the calls start.
    pub(crate) from: usize,
    pub(crate) offered: &'a OfferedFunctions,
    /// Whether the block was ended by its marker.
    pub(crate) is_closed: bool,
}

/// How a model spells the markers of blocks.
pub(crate) struct BlockSpelling<'a> {
    pub(crate) start: &'static str,
    pub(crate) end: &'static str,
    /// Whether the vocabulary has a control token.
    pub(crate) has_control: &'a dyn Fn(&str) -> bool,
}

/// The parts of a model that show its notation.
pub(crate) struct ModelSigns<'a> {
    /// The source of the chat template.
    pub(crate) template: &'a str,
    /// Whether the vocabulary has a control token.
    pub(crate) has_control: &'a dyn Fn(&str) -> bool,
}

impl Notation {
    /// The control tokens that begin reasoning.
    pub(crate) fn reasoning_starts(&self) -> impl Iterator<Item = &'static str> {
        let starts = self.control.iter();
        starts
            .filter(|(_, marker)| matches!(marker, Marker::ReasoningStart | Marker::ChannelStart))
            .map(|(spelling, _)| *spelling)
    }

    /// Whether blocks have an end marker.
    pub(crate) fn has_ends(&self) -> bool {
        self.blocks.iter().any(|(_, end)| !end.is_empty())
    }

    /// The marker that a control token stands for, by the token's spelling.
    pub(crate) fn of_control(&self, spelling: &str) -> Option<Marker> {
        self.control.iter().find(|(known, _)| *known == spelling).map(|(_, marker)| *marker)
    }

    /// The spelling of an inner control token, if it is one.
    pub(crate) fn inner_control(&self, spelling: &str) -> Option<&'static str> {
        self.inner.iter().find(|known| **known == spelling).copied()
    }

    /// The end marker of a block, if text can spell it.
    pub(crate) fn end_in_text(&self) -> Option<&'static str> {
        self.in_block.iter().find(|(_, marker)| *marker == Marker::BlockEnd).map(|(spelling, _)| *spelling)
    }

    /// Whether the vocabulary of a model has the control tokens around blocks.
    pub(crate) fn has_markers(&self, has_control: impl Fn(&str) -> bool) -> bool {
        let has = |marker: &str| marker.is_empty() || has_control(marker);
        self.blocks.iter().any(|(start, end)| has(start) && has(end))
    }
}

impl ModelSigns<'_> {
    /// Whether the source of the chat template contains a text.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.template.contains(text)
    }
}

/// The markers of reasoning in text, for notations whose other markers only count as control tokens.
pub(crate) const REASONING: &[MarkerSpelling] = &[THINK, THINK_END];
/// The end of reasoning, for the same notations.
pub(crate) const REASONING_END: &[MarkerSpelling] = &[THINK_END];
