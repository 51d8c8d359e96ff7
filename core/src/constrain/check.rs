//! Grammars of calls without a model: what they accept, and where they stop.

use std::fmt;
use std::sync::Arc;

use crate::constrain::{BlockEdges, CallRules, Constrainer, Constraint, Edge, Fault, Vocabulary, Word};
use crate::error::{ErrorKind, Result, SdkError};
use crate::function::SdkFunction;
use crate::options::FunctionCallParser;

/// The calls that [`Typed`](crate::ToolCallConstraint::Typed) lets a model write, for some functions.
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
}

/// Where a block of calls leaves the grammar.
///
/// ```
/// use causerie::{CallGrammar, FunctionCallParser, SdkFunction};
/// let functions = [SdkFunction::new("now", "Tell the time.", vec![])];
/// let grammar = CallGrammar::new(FunctionCallParser::DefaultFunctionCallParser, &functions, false)?;
/// let refusal = grammar.check("[now(").unwrap_err();
/// assert_eq!((refusal.at, refusal.can_end), (5, false));
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRefusal {
    /// Bytes of the block that the grammar accepts.
    pub at: usize,
    /// The ASCII characters that could follow them.
    pub expected: String,
    /// Whether the block could end there.
    pub can_end: bool,
}

impl CallGrammar {
    /// The grammar of blocks of calls, in the notation of a parser. Not `parallel` ones hold one call.
    ///
    /// ```
    /// use causerie::{CallGrammar, FunctionCallParser, SdkFunction};
    /// let functions = [SdkFunction::new("now", "Tell the time.", vec![])];
    /// let grammar = CallGrammar::new(FunctionCallParser::DefaultFunctionCallParser, &functions, false)?;
    /// assert!(grammar.check("[now(), now()]").is_err()); // not in parallel
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidFunction`] where there is no function, for one that breaks a rule, for a required parameter that
    /// the notation cannot spell, and for more than the grammar engine takes.
    pub fn new(parser: FunctionCallParser, functions: &[SdkFunction], parallel: bool) -> Result<Self> {
        let (start, end) = parser.markers();
        let edges = match parser {
            FunctionCallParser::DefaultFunctionCallParser => {
                BlockEdges { start: Edge::Control(vec![START]), end: Edge::Control(vec![END]) }
            }
            FunctionCallParser::JsonStyleFunctionCallParser => {
                BlockEdges { start: Edge::Text(start), end: Edge::Text(end) }
            }
        };
        let rules = CallRules { notation: parser, functions, is_single: !parallel, edges: &edges, with_start: false };
        let refused = |fault: Fault| SdkError::new(ErrorKind::InvalidFunction, fault.message());
        let grammar = rules.grammar().map_err(refused)?;
        let text = grammar.text.clone();
        let constraint = Constrainer::new(Arc::new(Bytes)).constraint(grammar).map_err(refused)?;
        let end = match edges.end {
            Edge::Control(ids) => ids,
            Edge::Text(text) => text.bytes().map(u32::from).collect(),
        };
        Ok(Self { text, constraint, end })
    }

    /// The grammar, in llguidance's dialect of Lark. Control tokens stand as `<[256]>` and `<[257]>`, the start and the
    /// end of a block.
    ///
    /// ```
    /// use causerie::{CallGrammar, FunctionCallParser, SdkFunction};
    /// let functions = [SdkFunction::new("now", "Tell the time.", vec![])];
    /// let grammar = CallGrammar::new(FunctionCallParser::DefaultFunctionCallParser, &functions, false)?;
    /// println!("{}", grammar.text());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the grammar accepts the body of a block, without the markers around it.
    ///
    /// ```
    /// use causerie::{CallGrammar, FunctionCallParser, SdkFunction};
    /// let functions = [SdkFunction::new("now", "Tell the time.", vec![])];
    /// let grammar = CallGrammar::new(FunctionCallParser::DefaultFunctionCallParser, &functions, false)?;
    /// assert!(grammar.check("[now()]").is_ok());
    /// assert_eq!(grammar.check("[today()]").unwrap_err().at, 1);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// A [`CallRefusal`].
    pub fn check(&self, block: &str) -> Result<(), CallRefusal> {
        let mut constraint = self.constraint.clone();
        let refused = block.bytes().position(|byte| !constraint.take(byte.into()));
        let mut is_ended = || self.end.iter().all(|id| constraint.take(*id)) && constraint.is_over();
        match refused {
            None if is_ended() => Ok(()),
            at => Err(self.refusal(block, block.floor_char_boundary(at.unwrap_or(block.len())))),
        }
    }

    /// What could stand in a block at a place up to which it is accepted.
    fn refusal(&self, block: &str, at: usize) -> CallRefusal {
        let mut here = self.constraint.clone();
        let mut logits = vec![0.0; N_TOKENS];
        // Where nothing more is known, nothing is expected.
        let is_known = block[..at].bytes().all(|byte| here.take(byte.into())) && here.mask(&mut logits).is_ok();
        let is_allowed = |byte: &u8| is_known && logits[usize::from(*byte)] == 0.0;
        let expected = (b' '..=b'~').filter(is_allowed).map(char::from).collect();
        CallRefusal { at, expected, can_end: self.end.iter().all(|id| here.take(*id)) && here.is_over() }
    }
}

impl fmt::Debug for CallGrammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallGrammar").field("text", &self.text).finish_non_exhaustive()
    }
}

/// Every byte is a token; behind them come the control tokens around calls, and the end of a reply.
pub(super) struct Bytes;

pub(super) const START: u32 = 256;
pub(super) const END: u32 = 257;
const N_TOKENS: usize = 259;
const BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut at = 0;
    while at < 256 {
        bytes[at] = at as u8; // below 256
        at += 1;
    }
    bytes
};

impl Vocabulary for Bytes {
    fn words(&self) -> Vec<Word<'_>> {
        let (start, end) = FunctionCallParser::DefaultFunctionCallParser.markers();
        let control = [start, end, "<|im_end|>"].map(Word::Control);
        BYTES.chunks(1).map(Word::Text).chain(control).collect()
    }

    fn ends(&self) -> &[u32] {
        &[258]
    }

    fn encode(&self, text: &str) -> Option<Vec<u32>> {
        Some(text.bytes().map(u32::from).collect())
    }
}
