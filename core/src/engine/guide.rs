//! Holds a reply to what its options ask for, token by token: calls of declared functions, text that fits a schema.
//!
//! Free text costs nothing: a constraint follows a block of calls from where the model begins it to its end. Only a reply
//! that must begin with something is followed from its first token, or from the end of its reasoning.

use std::time::{Duration, Instant};

use crate::constrain::{BlockEdges, CallRules, Constraint, Edge, Fault, Grammar};
use crate::engine::LoadedModel;
use crate::error::{ErrorKind, Result, SdkError};
use crate::function::SdkFunction;
use crate::options::{FunctionCallParser, GenerationOptions, ToolCallConstraint, ToolChoice};
use crate::response::ReplySection;
use crate::tokenizer::{ModelTokenizer, TokenText};

/// What may be written next.
#[derive(Default)]
pub(crate) struct Guide {
    /// Followed now.
    active: Option<Constraint>,
    /// Whether that was demanded, rather than begun by the model.
    is_demanded: bool,
    /// What the reply must begin with, outside of reasoning. Of several the last comes first: it also lets reasoning
    /// begin, behind which the next one counts.
    openings: Vec<Constraint>,
    /// For each block that the model begins of itself.
    block: Option<Constraint>,
    /// How a block begins, where one can.
    start: Option<Edge>,
    /// Whether no block may begin.
    bans_calls: bool,
    /// Whether one call is all there may be.
    is_single: bool,
    /// Whether the reply is over when its opening is.
    is_whole: bool,
    is_done: bool,
    /// Whether the reply cannot go on as it must.
    has_failed: bool,
    /// Why nothing is followed that should be.
    fault: Option<Fault>,
    /// Spent here.
    pub(crate) time: Duration,
}

impl Guide {
    /// The guide for a reply. Grammars are compiled here, unless they were before.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`] for a function that is chosen or allowed and not offered, for a call that is required
    /// where none can be made, and for a schema that is none, or asks for what cannot be enforced.
    pub(crate) fn new(
        loaded: &LoadedModel,
        options: &GenerationOptions,
        functions: &[SdkFunction],
        in_reasoning: bool,
    ) -> Result<Self> {
        let begun = Instant::now();
        let edges = options.function_call_parser.and_then(|parser| edges(parser, &loaded.tokenizer));
        let callable = Callable::of(options, functions)?;
        let mut guide = Self {
            start: edges.as_ref().map(|edges| edges.start.clone()),
            bans_calls: callable.functions.is_empty() && !functions.is_empty(),
            is_single: !options.parallel_tool_calls,
            ..Self::default()
        };
        let rules = options.function_call_parser.zip(edges.as_ref()).map(|(notation, edges)| CallRules {
            notation,
            functions: &callable.functions,
            is_single: guide.is_single,
            edges,
            with_start: false,
        });
        let compile = |grammar: Result<Grammar, Fault>| loaded.constrainer.constraint(grammar?);
        let mut opening = None;
        if callable.is_required {
            let rules = rules.as_ref().ok_or_else(|| no_calls("the parser or the model knows no calls"))?;
            let rules = CallRules { with_start: true, ..*rules };
            opening = Some(("tool_choice", rules.grammar()));
        } else if let Some(schema) = &options.json_schema_constraint {
            let grammar = match &rules {
                Some(rules) if !callable.functions.is_empty() => {
                    let rules = CallRules { with_start: true, ..*rules };
                    rules.grammar().and_then(|grammar| grammar.or_schema(schema))
                }
                _ => Grammar::of_schema(schema),
            };
            guide.is_whole = true;
            opening = Some(("json_schema_constraint", grammar));
        }
        if let Some((option, grammar)) = opening {
            let refused = |fault: Fault| fault.into_error(option);
            guide.openings.push(compile(grammar.clone()).map_err(refused)?);
            let may_reason = options.enable_thinking || options.inline_thinking_tags;
            if may_reason && !in_reasoning && options.function_call_parser.is_some() {
                let think = edge("<think>", &loaded.tokenizer);
                guide.openings.push(compile(grammar.map(|grammar| grammar.or_edge(&think))).map_err(refused)?);
            }
        }
        let is_typed = options.tool_call_constraint == ToolCallConstraint::Typed || callable.is_required;
        if let Some(rules) = rules.filter(|_| is_typed && !callable.functions.is_empty()) {
            match compile(rules.grammar()) {
                Ok(block) => guide.block = Some(block),
                Err(fault) => guide.fault = Some(fault),
            }
        }
        guide.time = begun.elapsed();
        Ok(guide)
    }

    /// The tokens that must come next, whatever the model computes; empty where it has a choice.
    pub(crate) fn forced(&mut self, place: ReplySection) -> Vec<u32> {
        let begun = Instant::now();
        let forced = self.constraint(place).map(Constraint::forced).unwrap_or_default();
        self.time += begun.elapsed();
        forced
    }

    /// As many of these guesses, from the first on, as could come next.
    pub(crate) fn possible<'a>(&mut self, draft: &'a [u32]) -> &'a [u32] {
        let begun = Instant::now();
        let n_possible = self.active.as_mut().map_or(draft.len(), |constraint| constraint.n_possible(draft));
        self.time += begun.elapsed();
        &draft[..n_possible]
    }

    /// Excludes tokens that may not come next.
    pub(crate) fn mask(&mut self, place: ReplySection, logits: &mut [f32]) {
        let begun = Instant::now();
        match self.constraint(place).map(|constraint| constraint.mask(logits)) {
            None => {
                if let (Some(Edge::Control(starts)), true) =
                    (&self.start, self.bans_calls && place == ReplySection::Text)
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

    /// A block that the model began goes on without a constraint; what was demanded ends.
    fn give_up(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
        self.active = None;
        self.block = None;
        self.has_failed = self.is_demanded;
    }

    /// Whether the reply cannot go on as it must.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Whether a token that the mask allows may come, with text held back as the beginning of a marker.
    pub(crate) fn allows(&self, token: u32, held: &str, place: ReplySection, tokenizer: &ModelTokenizer) -> bool {
        if let Some(constraint) = &self.active {
            return !constraint.repeats_key(token);
        }
        let (Some(Edge::Text(start)), Some(TokenText::Bytes(bytes))) = (&self.start, tokenizer.text(token)) else {
            return true;
        };
        if place != ReplySection::Text || !(self.bans_calls || self.block.is_some()) {
            return true;
        }
        // A token may complete the marker and go on behind it.
        let text = held.to_owned() + &String::from_utf8_lossy(bytes);
        let Some(at) = text.find(*start) else { return true };
        let begins_well = |block: &Constraint| block.clone().take_text(&text[at + start.len()..]);
        !self.bans_calls && self.block.as_ref().is_none_or(begins_well)
    }

    /// Whether a constraint is followed now.
    pub(crate) fn is_following(&self) -> bool {
        self.active.is_some()
    }

    /// Whether something is excluded, so that it may be the reason why no token is left.
    pub(crate) fn is_active(&self) -> bool {
        self.is_following() || self.bans_calls || self.block.is_some()
    }

    /// Follows a token before it is parsed.
    pub(crate) fn take(&mut self, token: u32) {
        let begun = Instant::now();
        if let Some(constraint) = &mut self.active {
            if !constraint.take(token) {
                self.give_up(Fault::of_limit());
            } else if constraint.is_over() {
                self.active = None;
                self.is_done = self.is_whole;
            }
        }
        self.time += begun.elapsed();
    }

    /// Follows what the parser made of a token: `block` is what stands in the block that is open now.
    pub(crate) fn follow(
        &mut self,
        before: ReplySection,
        now: ReplySection,
        block: impl Fn() -> String,
        n_calls: usize,
    ) {
        if now == ReplySection::Reasoning {
            self.is_done = false; // what was over is the word that begins it
        }
        if now == ReplySection::Calls || self.is_done {
            self.openings.clear(); // what is left lets reasoning begin, and it did not
        }
        if self.is_single && 0 < n_calls {
            self.bans_calls = true;
        }
        if before != ReplySection::Calls && now == ReplySection::Calls && !self.is_following() {
            let mut constraint = self.block.clone();
            if constraint.as_mut().is_some_and(|constraint| !constraint.take_text(&block())) {
                constraint = None;
            }
            self.active = constraint;
            self.is_demanded = false;
        } else if before == ReplySection::Calls && now != ReplySection::Calls {
            self.active = None;
        }
    }

    /// Whether the reply's text, where it has one, is held to a schema to its end.
    pub(crate) fn holds_text(&self) -> bool {
        self.is_whole
    }

    /// Whether the reply is all that it may be.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Why calls were not constrained that should have been.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.fault.as_ref().map(Fault::message)
    }

    /// What is followed at this place.
    fn constraint(&mut self, place: ReplySection) -> Option<&mut Constraint> {
        if self.active.is_none() && place == ReplySection::Text {
            self.active = self.openings.pop();
            self.is_demanded = self.active.is_some();
        }
        self.active.as_mut()
    }
}

/// The functions that may be called.
struct Callable {
    functions: Vec<SdkFunction>,
    is_required: bool,
}

impl Callable {
    fn of(options: &GenerationOptions, functions: &[SdkFunction]) -> Result<Self> {
        let is_offered = |name: &String| functions.iter().any(|function| function.name == *name);
        let unknown = |option: &'static str, name: &str| {
            Err(SdkError::new(
                ErrorKind::InvalidOption(option),
                format!("{option} names {name:?}, which is not offered"),
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

/// What stands around blocks of calls; `None` where the model has no way to write them.
fn edges(parser: FunctionCallParser, tokenizer: &ModelTokenizer) -> Option<BlockEdges> {
    let (start, end) = parser.markers();
    let edges = BlockEdges { start: edge(start, tokenizer), end: edge(end, tokenizer) };
    let is_control = |edge: &Edge| matches!(edge, Edge::Control(_));
    match parser {
        // Text that spells these markers is text.
        FunctionCallParser::DefaultFunctionCallParser => {
            (is_control(&edges.start) && is_control(&edges.end)).then_some(edges)
        }
        FunctionCallParser::JsonStyleFunctionCallParser => Some(edges),
    }
}

fn edge(spelling: &'static str, tokenizer: &ModelTokenizer) -> Edge {
    match tokenizer.control_ids(spelling) {
        [] => Edge::Text(spelling),
        ids => Edge::Control(ids.to_vec()),
    }
}
