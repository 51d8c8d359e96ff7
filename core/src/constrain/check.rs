//! Checks texts against the grammar of calls without a model.

use std::fmt;
use std::sync::Arc;

use crate::constrain::block::{BlockEdges, CallRules, Edge};
use crate::constrain::constrainer::Constrainer;
use crate::constrain::constraint::Constraint;
use crate::constrain::fault::GrammarFault;
#[cfg(feature = "fuzzing")]
use crate::constrain::grammar::Grammar;
use crate::constrain::vocabulary::{Vocabulary, Word};
use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{PythonNames, SdkFunction};
use crate::notation::grammar::BlockPart;
use crate::notation::{FunctionCallParser, Notation};

/// The grammar of the calls that [`Typed`](crate::ToolCallConstraint::Typed) allows a model to write.
///
/// ```
/// use causerie::{CallGrammar, FunctionCallParser, functions_from_json};
///
/// let tools = r#"[{"name": "forecast", "parameters": {"properties": {"days": {"type": "integer"}}}}]"#;
/// let functions = functions_from_json(tools)?;
/// let grammar = CallGrammar::new(FunctionCallParser::DefaultFunctionCallParser, &functions, true)?;
/// assert!(grammar.check("[forecast(days=3), forecast()]").is_ok());
/// let refusal = grammar.check("[forecast(days='3')]").unwrap_err();
/// assert_eq!((refusal.at, refusal.expected.as_str()), (15, "-0123456789"));
/// # Ok::<(), causerie::SdkError>(())
/// ```
pub struct CallGrammar {
    text: String,
    constraint: Constraint,
    end: Vec<u32>,
    /// Control tokens that can follow the start of a block, by their spelling.
    inner: Vec<(&'static str, u32)>,
}

/// The position at which a block of calls violates the grammar.
///
/// ```
/// use causerie::{CallGrammar, FunctionCallParser, SdkFunction};
/// let functions = [SdkFunction::new("now", "Get the time.", vec![])];
/// let grammar = CallGrammar::new(FunctionCallParser::DefaultFunctionCallParser, &functions, false)?;
/// let refusal = grammar.check("[now(").unwrap_err();
/// assert_eq!((refusal.at, refusal.can_end), (5, false));
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRefusal {
    /// The number of bytes of the block that the grammar accepts.
    pub at: usize,
    /// The ASCII characters that could follow.
    pub expected: String,
    /// Whether the block could end at this position.
    pub can_end: bool,
}

impl CallGrammar {
    /// Creates the grammar of blocks of calls, in the notation of a parser. If not `parallel`, a block has one call.
    ///
    /// ```
    /// use causerie::{CallGrammar, FunctionCallParser, SdkFunction};
    /// let functions = [SdkFunction::new("now", "Get the time.", vec![])];
    /// let grammar = CallGrammar::new(FunctionCallParser::DefaultFunctionCallParser, &functions, false)?;
    /// assert!(grammar.check("[now(), now()]").is_err()); // not in parallel
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidFunction`] if there is no function, if a function is not valid, if a required parameter has a name
    /// that the notation cannot express, and if the grammar exceeds the limits.
    pub fn new(parser: FunctionCallParser, functions: &[SdkFunction], parallel: bool) -> Result<Self> {
        let edges = edges(parser.notation());
        let rules = CallRules {
            notation: parser.notation(),
            functions,
            identifiers: &PythonNames::new(functions.iter().map(|function| function.name.as_str())),
            is_single: !parallel,
            edges: &edges,
            part: BlockPart::AfterStart,
        };
        let refused = |fault: GrammarFault| SdkError::new(ErrorKind::InvalidFunction, fault.message());
        let grammar = rules.grammar().map_err(refused)?;
        let text = grammar.text.clone();
        let constraint = Constrainer::new(Arc::new(ByteVocabulary)).constraint(grammar).map_err(refused)?;
        let end = match edges.end {
            Edge::Control(ids) => ids,
            Edge::Text("") => vec![REPLY_END],
            Edge::Text(text) => text.bytes().map(u32::from).collect(),
        };
        Ok(Self { text, constraint, end, inner: body_tokens(parser.notation()) })
    }

    /// Creates the grammar of replies that fit a schema. A block is a whole reply.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`] if the schema cannot be enforced.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn of_schema(schema: &str) -> Result<Self> {
        let refused = |fault: GrammarFault| fault.into_error("json_schema");
        let grammar = Grammar::of_schema(schema).map_err(refused)?;
        let text = grammar.text.clone();
        let constraint = Constrainer::new(Arc::new(ByteVocabulary)).constraint(grammar).map_err(refused)?;
        Ok(Self { text, constraint, end: vec![REPLY_END], inner: Vec::new() })
    }

    /// The grammar in llguidance's dialect of Lark. `<[256]>` and `<[257]>` are the control tokens at the start and the end of
    /// a block, higher ids those inside of it.
    ///
    /// ```
    /// use causerie::{CallGrammar, FunctionCallParser, SdkFunction};
    /// let functions = [SdkFunction::new("now", "Get the time.", vec![])];
    /// let grammar = CallGrammar::new(FunctionCallParser::DefaultFunctionCallParser, &functions, false)?;
    /// println!("{}", grammar.text());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Checks the body of a block, without the markers around it. What spells a control token inside of blocks of the notation
    /// counts as one.
    ///
    /// ```
    /// use causerie::{CallGrammar, FunctionCallParser, SdkFunction};
    /// let functions = [SdkFunction::new("now", "Get the time.", vec![])];
    /// let grammar = CallGrammar::new(FunctionCallParser::DefaultFunctionCallParser, &functions, false)?;
    /// assert!(grammar.check("[now()]").is_ok());
    /// assert_eq!(grammar.check("[today()]").unwrap_err().at, 1);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// A [`CallRefusal`] if the grammar does not accept the body.
    pub fn check(&self, block: &str) -> Result<(), CallRefusal> {
        let mut constraint = self.constraint.clone();
        let tokens = self.tokens(block);
        let refused = tokens.iter().find(|(_, id)| !constraint.take(*id)).map(|(at, _)| *at);
        match refused {
            None if self.ends(constraint) => Ok(()),
            at => Err(self.refusal(block, block.floor_char_boundary(at.unwrap_or(block.len())))),
        }
    }

    /// Writes a block of printable ASCII: each byte of `choices` chooses among the characters that may come next. Returns `None`
    /// if the block is not complete after 200 characters or when there are no more choices, or if a name would be repeated.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn write(&self, choices: &[u8]) -> Option<String> {
        let (mut here, mut block) = (self.constraint.clone(), String::new());
        for choice in choices.iter().take(200) {
            if self.ends(here.clone()) {
                return Some(block);
            }
            let mut logits = equal_logits();
            here.mask(&mut logits).ok()?;
            let expected: Vec<u8> = (b' '..=b'~').filter(|byte| logits[usize::from(*byte)] == 0.0).collect();
            let byte = *expected.get(usize::from(*choice) % expected.len().max(1))?;
            // The grammar cannot exclude that.
            if here.repeats_key(u32::from(byte)) {
                return None;
            }
            assert!(here.take(u32::from(byte)), "the grammar must take what it expects after {block:?}");
            block.push(char::from(byte));
        }
        self.ends(here).then_some(block)
    }

    /// The refusal of a block at the position up to which it is accepted.
    fn refusal(&self, block: &str, at: usize) -> CallRefusal {
        let mut here = self.constraint.clone();
        let mut logits = equal_logits();
        let tokens = self.tokens(&block[..at]);
        // If the mask cannot be computed, `expected` is empty.
        let is_known = tokens.iter().all(|(_, id)| here.take(*id)) && here.mask(&mut logits).is_ok();
        let is_allowed = |byte: &u8| is_known && logits[usize::from(*byte)] == 0.0;
        let expected = (b' '..=b'~').filter(is_allowed).map(char::from).collect();
        CallRefusal { at, expected, can_end: self.ends(here) }
    }

    /// Whether the block may end.
    fn ends(&self, mut constraint: Constraint) -> bool {
        let is_complete = constraint.is_over() && self.end == [REPLY_END];
        is_complete || self.end.iter().all(|id| constraint.take(*id)) && constraint.is_over()
    }

    /// The tokens of a block, with their positions.
    fn tokens(&self, block: &str) -> Vec<(usize, u32)> {
        let mut tokens = Vec::new();
        let mut at = 0;
        while let Some(&byte) = block.as_bytes().get(at) {
            let rest = &block.as_bytes()[at..];
            let control = self.inner.iter().find(|(spelling, _)| rest.starts_with(spelling.as_bytes()));
            tokens.push((at, control.map_or(u32::from(byte), |(_, id)| *id)));
            at += control.map_or(1, |(spelling, _)| spelling.len());
        }
        tokens
    }
}

impl fmt::Debug for CallGrammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallGrammar").field("text", &self.text).finish_non_exhaustive()
    }
}

/// The markers of a notation in the vocabulary below.
pub(super) fn edges(notation: &Notation) -> BlockEdges {
    let (start, end) = notation.blocks[0];
    let edge = |spelling, id| match spelling {
        "" => Edge::Text(""),
        spelling if notation.is_in_text => Edge::Text(spelling),
        _ => Edge::Control(vec![id]),
    };
    let inner = notation.inner.iter().map(|spelling| (*spelling, Edge::Control(vec![inner_id(spelling)])));
    BlockEdges { start: edge(start, START), end: edge(end, END), inner: inner.collect() }
}

/// The control tokens that can follow the start of a block: those inside of calls, and the starts of further blocks.
pub(super) fn body_tokens(notation: &Notation) -> Vec<(&'static str, u32)> {
    let inner = notation.inner.iter().map(|spelling| (*spelling, inner_id(spelling)));
    let starts = notation.blocks.iter().filter(|(_, end)| end.is_empty()).map(|(start, _)| (*start, START));
    inner.chain(starts).collect()
}

/// A vocabulary with one token per byte, followed by the control tokens around calls, the end of a reply, and the control
/// tokens inside of calls.
pub(super) struct ByteVocabulary;

pub(super) const START: u32 = 256;
pub(super) const END: u32 = 257;
const REPLY_END: u32 = 258;
const BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut at = 0;
    while at < 256 {
        bytes[at] = at as u8; // below 256
        at += 1;
    }
    bytes
};

/// The control tokens inside of calls of all notations.
fn inner() -> impl Iterator<Item = &'static str> {
    FunctionCallParser::ALL.iter().flat_map(|parser| parser.notation().inner).copied()
}

/// A logit for each token, all alike.
fn equal_logits() -> Vec<f32> {
    vec![0.0; 259 + inner().count()]
}

fn inner_id(spelling: &str) -> u32 {
    (REPLY_END + 1..).zip(inner()).find(|(_, known)| *known == spelling).map_or(REPLY_END, |(id, _)| id)
}

impl Vocabulary for ByteVocabulary {
    fn words(&self) -> Vec<Word<'_>> {
        let (start, end) = FunctionCallParser::DefaultFunctionCallParser.markers();
        let control = [start, end, "<|im_end|>"].into_iter().chain(inner()).map(Word::Control);
        BYTES.chunks(1).map(Word::Text).chain(control).collect()
    }

    fn ends(&self) -> &[u32] {
        &[REPLY_END]
    }

    fn encode(&self, text: &str) -> Option<Vec<u32>> {
        Some(text.bytes().map(u32::from).collect())
    }
}
