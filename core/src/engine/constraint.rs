//! Constrains a reply to what its options ask for, token by token: calls of declared functions, text that fits a schema.
//!
//! Free text costs nothing: a grammar applies to a block of calls from where the model begins it to its end. Only a reply
//! that must begin with a call or with JSON is constrained from its first token, or from the end of its reasoning.

use std::time::{Duration, Instant};

use crate::constrain::{BlockEdges, BlockPart, CallRules, Constraint, Edge, Grammar, GrammarFault};
use crate::engine::loaded::LoadedModel;
use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{PythonNames, SdkFunction};
use crate::notation::FunctionCallParser;
use crate::notation::Notation;
use crate::notation::definition::PythonPlaces;
use crate::notation::python;
use crate::options::{GenerationOptions, ToolCallConstraint, ToolChoice};
use crate::parse::{OpenBlock, reads_untagged};
use crate::prompt::PromptRenderer;
use crate::response::ReplySection;
use crate::tokenizer::{ModelTokenizer, TokenText};

/// What applies to the next token.
#[derive(Default)]
enum ConstraintState {
    /// Nothing, until the model begins a block or an opening constraint applies.
    #[default]
    Free,
    /// A constraint that the options demand.
    Demanded(Constraint),
    /// The constraint of a block that the model has begun.
    Block(Constraint),
    /// The reply is complete.
    Done,
    /// The reply cannot go on as demanded.
    Failed,
}

impl ConstraintState {
    fn active(&self) -> Option<&Constraint> {
        match self {
            Self::Demanded(constraint) | Self::Block(constraint) => Some(constraint),
            Self::Free | Self::Done | Self::Failed => None,
        }
    }

    fn active_mut(&mut self) -> Option<&mut Constraint> {
        match self {
            Self::Demanded(constraint) | Self::Block(constraint) => Some(constraint),
            Self::Free | Self::Done | Self::Failed => None,
        }
    }
}

/// The constraints for what the model begins by itself.
#[derive(Default)]
struct BlockConstraints {
    /// A block after its marker.
    marked: Option<Constraint>,
    /// Calls without markers, from the first name on.
    untagged: Option<Constraint>,
    /// The same for a list of calls in Python.
    python_list: Option<Constraint>,
}

impl BlockConstraints {
    /// The constraint for an open block, and the text that the block has so far.
    fn of(&self, block: Option<OpenBlock>) -> (Option<Constraint>, String) {
        match block {
            Some(OpenBlock::Marked(text)) => (self.marked.clone(), text),
            Some(OpenBlock::Untagged(text)) => (self.untagged.clone(), text),
            Some(OpenBlock::PythonList(text)) => (self.python_list.clone(), text),
            None => (None, String::new()),
        }
    }
}

/// The constraint of one reply.
#[derive(Default)]
pub(crate) struct ReplyConstraint {
    state: ConstraintState,
    /// Stack of constraints for the beginning of the reply. The top one may allow reasoning; the next one applies after it.
    openings: Vec<Constraint>,
    blocks: BlockConstraints,
    /// How a block begins, if the model can write one.
    start: Option<Edge>,
    /// Whether no block may begin.
    bans_calls: bool,
    /// Whether the reply may hold one call only.
    is_single: bool,
    /// Whether the reply's text fits a schema, to its end.
    is_whole: bool,
    /// Whether the reply ends when its opening constraint does.
    ends_with_opening: bool,
    /// Why a constraint that should apply does not.
    fault: Option<GrammarFault>,
    /// Time spent on constraints.
    pub(crate) time: Duration,
}

impl ReplyConstraint {
    /// The constraint for a reply. Compiles the grammars that are not cached.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`] for a chosen or allowed function that is not offered, for a required call that cannot be
    /// made, and for a schema that is invalid or cannot be enforced.
    pub(crate) fn new(
        loaded: &LoadedModel,
        options: &GenerationOptions,
        functions: &[SdkFunction],
        in_reasoning: bool,
    ) -> Result<Self> {
        let begun = Instant::now();
        let notation = options.function_call_parser.map(FunctionCallParser::notation);
        let edges = notation.and_then(|notation| edges(notation, &loaded.tokenizer));
        let callable = CallableFunctions::new(options, functions)?;
        let mut constraint = Self {
            start: edges.as_ref().map(|edges| edges.start.clone()),
            bans_calls: callable.functions.is_empty() && !functions.is_empty(),
            is_single: !options.parallel_tool_calls,
            ..Self::default()
        };
        let identifiers = PythonNames::new(functions.iter().map(|function| function.name.as_str()));
        let rules = notation.zip(edges.as_ref()).map(|(notation, edges)| CallRules {
            notation,
            functions: &callable.functions,
            identifiers: &identifiers,
            is_single: constraint.is_single,
            edges,
            part: BlockPart::AfterStart,
        });
        let compile = |grammar: Result<Grammar, GrammarFault>| loaded.constrainer.constraint(grammar?);
        let mut opening = None;
        if callable.is_required {
            let rules = rules.as_ref().ok_or_else(|| no_parser(options.function_call_parser, loaded))?;
            let rules = CallRules { part: BlockPart::Whole, ..*rules };
            // Text after a call without markers would turn it into text.
            constraint.ends_with_opening = rules.notation.has_optional_markers;
            opening = Some(("tool_choice", rules.grammar()));
        } else if let Some(schema) = &options.json_schema_constraint {
            let grammar = match &rules {
                Some(rules) if !callable.functions.is_empty() => {
                    let rules = CallRules { part: BlockPart::Whole, ..*rules };
                    rules.grammar().and_then(|grammar| grammar.or_schema(schema))
                }
                _ => Grammar::of_schema(schema),
            };
            (constraint.is_whole, constraint.ends_with_opening) = (true, true);
            opening = Some(("json_schema_constraint", grammar));
        }
        if let Some((option, grammar)) = opening {
            let refused = |fault: GrammarFault| fault.into_error(option);
            constraint.openings.push(compile(grammar.clone()).map_err(refused)?);
            let may_reason = options.enable_thinking || options.inline_thinking_tags;
            if let Some(notation) = notation.filter(|_| may_reason && !in_reasoning) {
                let think = reasoning_start(notation, &loaded.tokenizer);
                constraint.openings.push(compile(grammar.map(|grammar| grammar.or_edge(&think))).map_err(refused)?);
            }
        }
        let is_typed = options.tool_call_constraint == ToolCallConstraint::Typed || callable.is_required;
        if let Some(rules) = rules.filter(|_| is_typed && !callable.functions.is_empty()) {
            match compile(rules.grammar()) {
                Ok(block) => constraint.blocks.marked = Some(block),
                Err(fault) => constraint.fault = Some(fault),
            }
            let untagged = rules.notation.untagged.as_ref();
            let is_read = reads_untagged(rules.notation, options.parser_strictness) && !callable.is_required;
            if let Some(forms) = untagged.filter(|_| is_read) {
                // Their faults count as faults of the block.
                let of = |notation| compile(CallRules { notation, part: BlockPart::FromName, ..rules }.grammar()).ok();
                constraint.blocks.untagged = of(forms.objects.unwrap_or(rules.notation));
                if forms.python_lists != PythonPlaces::Nowhere {
                    constraint.blocks.python_list = of(&python::NOTATION);
                }
            }
        }
        constraint.time = begun.elapsed();
        Ok(constraint)
    }

    /// The tokens that must come next, whatever the model computes; empty where several are possible.
    pub(crate) fn forced(&mut self, section: ReplySection) -> Vec<u32> {
        let begun = Instant::now();
        let forced = self.active_in(section).map(Constraint::forced).unwrap_or_default();
        self.time += begun.elapsed();
        forced
    }

    /// The longest prefix of the draft tokens that the constraint allows.
    pub(crate) fn possible<'a>(&mut self, draft: &'a [u32]) -> &'a [u32] {
        let begun = Instant::now();
        let n_possible = self.state.active_mut().map_or(draft.len(), |constraint| constraint.n_possible(draft));
        self.time += begun.elapsed();
        &draft[..n_possible]
    }

    /// Excludes tokens that may not come next.
    pub(crate) fn mask(&mut self, section: ReplySection, logits: &mut [f32]) {
        let begun = Instant::now();
        match self.active_in(section).map(|constraint| constraint.mask(logits)) {
            None => {
                if let (Some(Edge::Control(starts)), true) =
                    (&self.start, self.bans_calls && section == ReplySection::Text)
                {
                    let exclude = |id: &u32| logits.get_mut(*id as usize).map(|logit| *logit = f32::NEG_INFINITY);
                    starts.iter().filter_map(exclude).for_each(drop);
                }
            }
            Some(Ok(())) => {}
            Some(Err(fault)) => self.give_up(fault),
        }
        self.time += begun.elapsed();
    }

    /// Gives up the active constraint: a block that the model started goes on without one; a demanded one ends the reply.
    fn give_up(&mut self, fault: GrammarFault) {
        self.fault.get_or_insert(fault);
        self.blocks = BlockConstraints::default();
        self.state = match self.state {
            ConstraintState::Demanded(_) => ConstraintState::Failed,
            _ => ConstraintState::Free,
        };
    }

    /// Whether the reply cannot go on as demanded.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.state, ConstraintState::Failed)
    }

    /// Whether a token that the mask allows may come next, while `held` is held back because it may begin a marker.
    pub(crate) fn allows(&self, token: u32, held: &str, section: ReplySection, tokenizer: &ModelTokenizer) -> bool {
        if let Some(constraint) = self.state.active() {
            return !constraint.repeats_key(token);
        }
        let (Some(Edge::Text(start)), Some(TokenText::Bytes(bytes))) = (&self.start, tokenizer.text(token)) else {
            return true;
        };
        if section != ReplySection::Text || !(self.bans_calls || self.blocks.marked.is_some()) {
            return true;
        }
        // A token may complete the marker and go on after it.
        let text = held.to_owned() + &String::from_utf8_lossy(bytes);
        let Some(at) = text.find(*start) else { return true };
        let begins_well = |block: &Constraint| block.clone().take_text(&text[at + start.len()..]);
        !self.bans_calls && self.blocks.marked.as_ref().is_none_or(begins_well)
    }

    /// Whether a constraint is in force now.
    pub(crate) fn is_following(&self) -> bool {
        self.state.active().is_some()
    }

    /// Whether tokens may be excluded, so that this may be why none is left.
    pub(crate) fn is_active(&self) -> bool {
        self.is_following() || self.bans_calls || self.blocks.marked.is_some()
    }

    /// Advances by a token that is not yet parsed.
    pub(crate) fn take(&mut self, token: u32) {
        let begun = Instant::now();
        if let Some(constraint) = self.state.active_mut() {
            if !constraint.take(token) {
                self.give_up(GrammarFault::of_limit());
            } else if constraint.is_over() {
                let is_demanded = matches!(self.state, ConstraintState::Demanded(_));
                self.state = match self.ends_with_opening && (self.is_whole || is_demanded) {
                    true => ConstraintState::Done,
                    false => ConstraintState::Free,
                };
            }
        }
        self.time += begun.elapsed();
    }

    /// Follows the parser after a token; `block` returns the open block.
    pub(crate) fn follow(
        &mut self,
        before: ReplySection,
        now: ReplySection,
        block: impl Fn() -> Option<OpenBlock>,
        n_calls: usize,
    ) {
        if now == ReplySection::Reasoning && self.is_done() {
            self.state = ConstraintState::Free; // only the marker that begins the reasoning was complete
        }
        if now == ReplySection::Calls || self.is_done() {
            self.openings.clear(); // the one that is left lets reasoning begin, which it did not
        }
        if self.is_single && 0 < n_calls {
            self.bans_calls = true;
        }
        match (before, now, &self.state) {
            (ReplySection::Calls, ReplySection::Calls, _) => {}
            (_, ReplySection::Calls, ConstraintState::Free) => {
                let (constraint, text) = self.blocks.of(block());
                let goes_on = |constraint: &mut Constraint| constraint.take_text(&text) && !constraint.is_over();
                let constraint = constraint.and_then(|mut constraint| goes_on(&mut constraint).then_some(constraint));
                self.state = constraint.map_or(ConstraintState::Free, ConstraintState::Block);
            }
            (ReplySection::Calls, _, ConstraintState::Demanded(_) | ConstraintState::Block(_)) => {
                self.state = ConstraintState::Free;
            }
            _ => {}
        }
    }

    /// Whether no call may be made.
    pub(crate) fn bans_calls(&self) -> bool {
        self.bans_calls
    }

    /// Whether the reply's text, if any, is constrained to a schema to its end.
    pub(crate) fn holds_text(&self) -> bool {
        self.is_whole
    }

    /// Whether the reply is complete.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, ConstraintState::Done)
    }

    /// Whether each block that the model begins is constrained.
    pub(crate) fn constrains_blocks(&self) -> bool {
        self.blocks.marked.is_some()
    }

    /// Why calls were not constrained although they should have been.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.fault.as_ref().map(GrammarFault::message)
    }

    /// The constraint in force in this section.
    fn active_in(&mut self, section: ReplySection) -> Option<&mut Constraint> {
        if matches!(self.state, ConstraintState::Free)
            && section == ReplySection::Text
            && let Some(opening) = self.openings.pop()
        {
            self.state = ConstraintState::Demanded(opening);
        }
        self.state.active_mut()
    }
}

/// The functions that may be called.
struct CallableFunctions {
    functions: Vec<SdkFunction>,
    is_required: bool,
}

impl CallableFunctions {
    fn new(options: &GenerationOptions, functions: &[SdkFunction]) -> Result<Self> {
        let is_offered = |name: &String| functions.iter().any(|function| function.name == *name);
        let unknown = |option: &'static str, name: &str| {
            Err(SdkError::new(
                ErrorKind::InvalidOption(option),
                format!("{option} must name offered functions, found {name:?}"),
            ))
        };
        if let Some(name) = options.allowed_tools.iter().flatten().find(|name| !is_offered(name)) {
            return unknown("allowed_tools", name);
        }
        let is_allowed = |function: &&SdkFunction| {
            let is_chosen = match &options.tool_choice {
                ToolChoice::Auto | ToolChoice::Required => true,
                ToolChoice::None => false,
                ToolChoice::Function(name) => *name == function.name,
            };
            is_chosen && options.allowed_tools.as_ref().is_none_or(|names| names.contains(&function.name))
        };
        let callable: Vec<SdkFunction> = functions.iter().filter(is_allowed).cloned().collect();
        let is_required = match &options.tool_choice {
            ToolChoice::Auto | ToolChoice::None => false,
            ToolChoice::Function(name) if !is_offered(name) => return unknown("tool_choice", name),
            ToolChoice::Required | ToolChoice::Function(_) if callable.is_empty() => {
                return Err(no_calls("no function may be called"));
            }
            ToolChoice::Required | ToolChoice::Function(_) => true,
        };
        Ok(Self { functions: callable, is_required })
    }
}

fn no_calls(why: &str) -> SdkError {
    SdkError::new(ErrorKind::InvalidOption("tool_choice"), format!("tool_choice requires a call, and {why}"))
}

/// The error for a parser whose calls the model cannot write, or for none.
fn no_parser(parser: Option<FunctionCallParser>, loaded: &LoadedModel) -> SdkError {
    let why = match parser {
        Some(parser) => format!("the model cannot write the calls that {parser:?} reads"),
        None => "no parser of calls is set".to_owned(),
    };
    let written = loaded.renderer.as_ref().map(PromptRenderer::function_call_parser);
    match written.filter(|parser| edges(parser.notation(), &loaded.tokenizer).is_some()) {
        Some(parser) => no_calls(&format!("{why}; set {parser:?}")),
        None => no_calls(&why),
    }
}

/// The markers around blocks of calls; `None` if the model cannot write them.
fn edges(notation: &Notation, tokenizer: &ModelTokenizer) -> Option<BlockEdges> {
    let mut edges = notation.blocks.iter().map(|(start, end)| {
        let inner = notation.inner.iter().map(|spelling| (*spelling, edge(spelling, tokenizer)));
        let inner = inner.filter(|(_, edge)| matches!(edge, Edge::Control(_))).collect();
        BlockEdges { start: edge(start, tokenizer), end: edge(end, tokenizer), inner }
    });
    // Where text that spells the markers is text, only control tokens are markers.
    let can_be_written = |edge: &Edge| notation.is_in_text || matches!(edge, Edge::Control(_) | Edge::Text(""));
    edges.find(|edges| (notation.has_optional_markers || can_be_written(&edges.start)) && can_be_written(&edges.end))
}

/// The control token or the tag that begins reasoning.
fn reasoning_start(notation: &Notation, tokenizer: &ModelTokenizer) -> Edge {
    let mut edges = notation.reasoning_starts().map(|start| edge(start, tokenizer));
    edges.find(|edge| matches!(edge, Edge::Control(_))).unwrap_or(Edge::Text("<think>"))
}

fn edge(spelling: &'static str, tokenizer: &ModelTokenizer) -> Edge {
    match tokenizer.control_ids(spelling) {
        [] => Edge::Text(spelling),
        ids => Edge::Control(ids.to_vec()),
    }
}
