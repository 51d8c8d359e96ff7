//! The notations in which models write calls: which markers they have. [`block_reader`](super::block_reader) reads the blocks
//! between them.

use crate::options::FunctionCallParser;
use crate::parse::gemma::STRING_TOKENS;
use crate::parse::marker::{Marker, MarkerSpelling};
use crate::parse::mistral::{ARGUMENTS, CALL_ID};

/// The markers of one notation.
pub(crate) struct Notation {
    /// The markers before and after a block, a pair for each family of models. The end is empty if a block lasts until the next
    /// one or the end of the reply.
    pub(crate) blocks: &'static [(&'static str, &'static str)],
    /// Control tokens that are part of a block's body.
    pub(crate) inner: &'static [&'static str],
    /// Whether text can spell the markers of blocks. If not, text that looks like one was typed.
    pub(crate) is_in_text: bool,
    /// All control tokens with a meaning, except inner ones.
    pub(super) control: &'static [MarkerSpelling],
    /// The markers that text can spell outside of blocks.
    pub(super) in_text: &'static [MarkerSpelling],
    /// The markers that count inside reasoning: its end, and what looks like the start of a block.
    pub(super) in_reasoning: &'static [MarkerSpelling],
    /// The markers that text can spell inside a block.
    pub(super) in_block: &'static [MarkerSpelling],
}

pub(super) const THINK: MarkerSpelling = ("<think>", Marker::ReasoningStart);
pub(super) const THINK_END: MarkerSpelling = ("</think>", Marker::ReasoningEnd);
pub(super) const TAG: MarkerSpelling = ("<tool_call>", Marker::BlockStart);
pub(super) const TAG_END: MarkerSpelling = ("</tool_call>", Marker::BlockEnd);

static PYTHON: Notation = Notation {
    blocks: &[("<|tool_call_start|>", "<|tool_call_end|>")],
    inner: &[],
    is_in_text: false,
    control: &[("<|tool_call_start|>", Marker::BlockStart), ("<|tool_call_end|>", Marker::BlockEnd), THINK, THINK_END],
    in_text: &[THINK, THINK_END],
    in_reasoning: &[THINK_END],
    in_block: &[],
};

static JSON: Notation = TAGS;

/// The same tags as for JSON. Which of the two a block contains shows in its first character.
static XML: Notation = TAGS;

const TAGS: Notation = Notation {
    blocks: &[(TAG.0, TAG_END.0)],
    inner: &[],
    is_in_text: true,
    control: &[TAG, TAG_END, THINK, THINK_END],
    in_text: &[TAG, TAG_END, THINK, THINK_END],
    in_reasoning: &[THINK_END, TAG],
    in_block: &[TAG, TAG_END],
};

static GEMMA: Notation = Notation {
    blocks: &[("<start_function_call>", "<end_function_call>"), ("<|tool_call>", "<tool_call|>")],
    inner: &STRING_TOKENS,
    is_in_text: false,
    control: &[
        ("<start_function_call>", Marker::BlockStart),
        ("<end_function_call>", Marker::BlockEnd),
        ("<start_function_response>", Marker::Response),
        ("<|tool_call>", Marker::BlockStart),
        ("<tool_call|>", Marker::BlockEnd),
        ("<|tool_response>", Marker::Response),
        ("<|channel>", Marker::ChannelStart),
        ("<channel|>", Marker::ReasoningEnd),
        THINK,
        THINK_END,
    ],
    in_text: &[THINK, THINK_END],
    in_reasoning: &[THINK_END],
    in_block: &[],
};

static MISTRAL: Notation = Notation {
    blocks: &[("[TOOL_CALLS]", "")],
    inner: &[CALL_ID, ARGUMENTS],
    is_in_text: false,
    control: &[
        ("[TOOL_CALLS]", Marker::BlockStart),
        ("[THINK]", Marker::ReasoningStart),
        ("[/THINK]", Marker::ReasoningEnd),
        THINK,
        THINK_END,
    ],
    in_text: &[THINK, THINK_END],
    in_reasoning: &[THINK_END],
    in_block: &[],
};

static LLAMA: Notation = Notation {
    blocks: &[("<|python_tag|>", "")],
    inner: &[],
    is_in_text: false,
    control: &[("<|python_tag|>", Marker::BlockStart), THINK, THINK_END],
    in_text: &[THINK, THINK_END],
    in_reasoning: &[THINK_END],
    in_block: &[],
};

static PHI: Notation = Notation {
    blocks: &[("<|tool_call|>", "<|/tool_call|>")],
    inner: &[],
    is_in_text: false,
    control: &[("<|tool_call|>", Marker::BlockStart), ("<|/tool_call|>", Marker::BlockEnd), THINK, THINK_END],
    in_text: &[THINK, THINK_END],
    in_reasoning: &[THINK_END],
    in_block: &[],
};

impl FunctionCallParser {
    /// The control tokens that have a meaning in this notation, by their spellings; without tags, which count as text, too.
    ///
    /// ```
    /// use causerie::FunctionCallParser::PhiFunctionCallParser;
    ///
    /// assert_eq!(PhiFunctionCallParser.control_tokens(), ["<|tool_call|>", "<|/tool_call|>"]);
    /// ```
    pub fn control_tokens(self) -> Vec<&'static str> {
        let notation = Notation::of(self);
        let control = notation.control.iter().filter(|marker| !notation.in_text.contains(marker));
        control.map(|(spelling, _)| *spelling).chain(notation.inner.iter().copied()).collect()
    }
}

impl Notation {
    pub(crate) fn of(parser: FunctionCallParser) -> &'static Self {
        match parser {
            FunctionCallParser::ModelFunctionCallParser | FunctionCallParser::DefaultFunctionCallParser => &PYTHON,
            FunctionCallParser::JsonStyleFunctionCallParser => &JSON,
            FunctionCallParser::XmlFunctionCallParser => &XML,
            FunctionCallParser::GemmaFunctionCallParser => &GEMMA,
            FunctionCallParser::MistralFunctionCallParser => &MISTRAL,
            FunctionCallParser::LlamaFunctionCallParser => &LLAMA,
            FunctionCallParser::PhiFunctionCallParser => &PHI,
        }
    }

    /// The control tokens that begin reasoning.
    pub(crate) fn reasoning_starts(&self) -> impl Iterator<Item = &'static str> {
        let starts = self.control.iter();
        starts
            .filter(|(_, marker)| matches!(marker, Marker::ReasoningStart | Marker::ChannelStart))
            .map(|(spelling, _)| *spelling)
    }

    /// Whether blocks have an end marker.
    pub(super) fn has_ends(&self) -> bool {
        self.blocks.iter().any(|(_, end)| !end.is_empty())
    }

    /// The marker that a control token stands for, by the token's spelling.
    pub(super) fn of_control(&self, spelling: &str) -> Option<Marker> {
        self.control.iter().find(|(known, _)| *known == spelling).map(|(_, marker)| *marker)
    }

    /// The spelling of an inner control token, if it is one.
    pub(super) fn inner_control(&self, spelling: &str) -> Option<&'static str> {
        self.inner.iter().find(|known| **known == spelling).copied()
    }

    /// The end marker of a block, if text can spell it.
    pub(super) fn end_in_text(&self) -> Option<&'static str> {
        self.in_block.iter().find(|(_, marker)| *marker == Marker::BlockEnd).map(|(spelling, _)| *spelling)
    }
}
