//! Creates the constraints of one model, and caches the compiled grammars.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once, OnceLock};

use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::InferenceCapabilities;
use llguidance::{Matcher, ParserFactory};
use parking_lot::Mutex;

use crate::constrain::constraint::Constraint;
use crate::constrain::fault::GrammarFault;
use crate::constrain::grammar::Grammar;
use crate::constrain::refusal;
use crate::constrain::vocabulary::{Vocabulary, environment};
use crate::deep_stack::{self, DeepStackError};
use crate::memory;

/// Number of cached grammars. An app has a few sets of functions, a server the sets of its clients.
const MAX_PREPARED: usize = 16;
/// Size limit of a grammar in bytes; enough for some thousand functions.
const MAX_GRAMMAR: usize = 1 << 20;
/// Limit of lexer states, of one or two kilobytes each. Real sets of functions need some hundred.
const MAX_LEXER_STATES: usize = 20_000;

/// Creates constraints for one model. The trie of its tokens is built with the first constraint.
pub(crate) struct Constrainer {
    vocabulary: Arc<dyn Vocabulary>,
    factory: OnceLock<Result<ParserFactory, GrammarFault>>,
    /// Ordered by use; the one used last is at the end.
    prepared: Mutex<Vec<(Grammar, Constraint)>>,
}

impl Constrainer {
    pub(crate) fn new(vocabulary: Arc<dyn Vocabulary>) -> Self {
        Self { vocabulary, factory: OnceLock::new(), prepared: Mutex::default() }
    }

    /// A constraint at the start of a grammar. Compiles the grammar unless it is cached.
    ///
    /// # Errors
    /// A [`GrammarFault`] for a grammar that exceeds the limits, or that llguidance does not support.
    pub(crate) fn constraint(&self, grammar: Grammar) -> Result<Constraint, GrammarFault> {
        if let Some(constraint) = self.cached(&grammar) {
            return Ok(constraint);
        }
        // Without the lock, so that a cached grammar need not wait. Two replies may compile the same grammar.
        let constraint = self.compile(grammar.clone())?;
        let mut prepared = self.prepared.lock();
        prepared.retain(|(cached, _)| *cached != grammar);
        prepared.push((grammar, constraint.clone()));
        let n_beyond = prepared.len().saturating_sub(MAX_PREPARED);
        prepared.drain(..n_beyond);
        Ok(constraint)
    }

    fn cached(&self, grammar: &Grammar) -> Option<Constraint> {
        let mut prepared = self.prepared.lock();
        let at = prepared.iter().position(|(cached, _)| cached == grammar)?;
        let entry = prepared.remove(at);
        let constraint = entry.1.clone();
        prepared.push(entry);
        Some(constraint)
    }

    /// Compiles on a stack that is large enough for nested schemas and functions.
    fn compile(&self, grammar: Grammar) -> Result<Constraint, GrammarFault> {
        deep_stack::run(|| self.compile_here(grammar)).unwrap_or_else(|err| match err {
            DeepStackError::Spawn(_) => Err(GrammarFault::new(memory::no_deep_thread("the grammar").message())),
            DeepStackError::Panic => Err(GrammarFault::new("the grammar engine failed")),
        })
    }

    fn compile_here(&self, grammar: Grammar) -> Result<Constraint, GrammarFault> {
        let Grammar { text, loose, has_free_maps, answer } = grammar;
        let compiled = self.compile_text(text, has_free_maps);
        let compiled = match loose {
            Some(loose) if compiled.is_err() => self.compile_text(loose, has_free_maps),
            _ => compiled,
        };
        compiled.map_err(|fault| answer.and_then(|schema| refusal::of(&schema)).unwrap_or(fault))
    }

    fn compile_text(&self, text: String, has_free_maps: bool) -> Result<Constraint, GrammarFault> {
        if MAX_GRAMMAR < text.len() {
            return Err(GrammarFault::new(format!(
                "the grammar must have at most {MAX_GRAMMAR} bytes, found {}",
                text.len()
            )));
        }
        let factory = self.factory.get_or_init(|| guarded(|| factory(&self.vocabulary))).as_ref();
        let factory = factory.map_err(Clone::clone)?;
        let parser = factory.create_parser(TopLevelGrammar::from_lark(text)).map_err(GrammarFault::of_engine)?;
        let mut matcher = Matcher::new(Ok(parser));
        // The first mask shows whether the limits hold, and its result is shared by all clones.
        matcher.compute_mask().map_err(GrammarFault::of_engine)?;
        Ok(Constraint::new(matcher, factory.tok_env().clone(), has_free_maps))
    }
}

fn factory(vocabulary: &Arc<dyn Vocabulary>) -> Result<ParserFactory, GrammarFault> {
    let tokens = environment(Arc::clone(vocabulary))?;
    let capabilities = InferenceCapabilities { ff_tokens: tokens.tokenize_is_canonical(), ..Default::default() };
    // No slices: they speed up masks within free text, but slow down the start with tries of their own.
    let mut factory = ParserFactory::new(&tokens, capabilities, &[]).map_err(GrammarFault::of_engine)?;
    factory.quiet();
    let limits = factory.limits_mut();
    limits.verbose_errors = false;
    limits.max_lexer_states = MAX_LEXER_STATES;
    keep_panic_hook(&factory);
    Ok(factory)
}

/// Restores the app's panic hook: on first use, llguidance wraps the hook of the process to silence its own panics.
fn keep_panic_hook(factory: &ParserFactory) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        let _ = factory.create_parser(TopLevelGrammar::from_lark("start: \"a\"".to_owned()));
        std::panic::set_hook(hook);
    });
}

/// Runs code of llguidance that does not catch panics itself.
fn guarded<T>(run: impl FnOnce() -> Result<T, GrammarFault>) -> Result<T, GrammarFault> {
    let run = catch_unwind(AssertUnwindSafe(run));
    run.unwrap_or_else(|_| Err(GrammarFault::new("the grammar engine failed on the model's vocabulary")))
}
