//! Constraints of one model: its tokens in the form of a trie, and the grammars that were compiled.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::thread;

use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::InferenceCapabilities;
use llguidance::{Matcher, ParserFactory};

use crate::constrain::vocabulary::{Vocabulary, environment};
use crate::constrain::{Constraint, Fault, Grammar};

/// Grammars kept compiled: an app has a few sets of functions, a server those of its clients.
const MOST_PREPARED: usize = 16;
/// Bytes of a grammar at most: some thousand functions.
const LARGEST_GRAMMAR: usize = 1 << 20;
/// States of a lexer at most, of a kilobyte or two each. Real sets of functions need some hundred.
const MOST_LEXER_STATES: usize = 20_000;

/// Bytes of stack to compile on; a page of it is memory only once it is used.
const STACK: usize = 256 << 20;

/// Makes constraints for one model. The trie is built when the first one is wanted.
pub(crate) struct Constrainer {
    vocabulary: Arc<dyn Vocabulary>,
    factory: OnceLock<Result<ParserFactory, Fault>>,
    /// The one used last at the end.
    prepared: Mutex<Vec<(Grammar, Constraint)>>,
}

impl Constrainer {
    pub(crate) fn new(vocabulary: Arc<dyn Vocabulary>) -> Self {
        Self { vocabulary, factory: OnceLock::new(), prepared: Mutex::default() }
    }

    /// A constraint at the beginning of a grammar, compiled once.
    ///
    /// # Errors
    /// A [`Fault`] for a grammar that exceeds the limits, or asks for what llguidance does not know.
    pub(crate) fn constraint(&self, grammar: Grammar) -> Result<Constraint, Fault> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let known = prepared.iter().position(|(known, _)| *known == grammar).map(|at| prepared.remove(at));
        let entry = match known {
            Some(entry) => entry,
            None => (grammar.clone(), self.compile(grammar)?),
        };
        let constraint = entry.1.clone();
        prepared.push(entry);
        let n_beyond = prepared.len().saturating_sub(MOST_PREPARED);
        prepared.drain(..n_beyond);
        Ok(constraint)
    }

    /// Compiles on a stack that holds what a schema or a set of functions can nest.
    fn compile(&self, grammar: Grammar) -> Result<Constraint, Fault> {
        thread::scope(|scope| {
            let thread = thread::Builder::new().name("causerie-grammar".to_owned()).stack_size(STACK);
            let compiled = thread.spawn_scoped(scope, || self.compile_here(grammar));
            let compiled = compiled.map_err(|_| Fault::new("no thread could be started"))?;
            compiled.join().unwrap_or_else(|_| Err(Fault::new("the grammar engine failed")))
        })
    }

    fn compile_here(&self, grammar: Grammar) -> Result<Constraint, Fault> {
        let Grammar { text, loose, has_free_maps } = grammar;
        let compiled = self.compile_text(text, has_free_maps);
        match loose {
            Some(loose) if compiled.is_err() => self.compile_text(loose, has_free_maps),
            _ => compiled,
        }
    }

    fn compile_text(&self, text: String, has_free_maps: bool) -> Result<Constraint, Fault> {
        if LARGEST_GRAMMAR < text.len() {
            return Err(Fault::new(format!("the grammar takes more than {LARGEST_GRAMMAR} bytes")));
        }
        let factory = self.factory.get_or_init(|| guarded(|| factory(&self.vocabulary))).as_ref();
        let factory = factory.map_err(Clone::clone)?;
        let parser = factory.create_parser(TopLevelGrammar::from_lark(text)).map_err(Fault::of_engine)?;
        let mut matcher = Matcher::new(Ok(parser));
        // The first mask tells whether the limits hold, and leaves what it computed to all who follow.
        matcher.compute_mask().map_err(Fault::of_engine)?;
        Ok(Constraint::new(matcher, factory.tok_env().clone(), has_free_maps))
    }
}

fn factory(vocabulary: &Arc<dyn Vocabulary>) -> Result<ParserFactory, Fault> {
    let tokens = environment(Arc::clone(vocabulary))?;
    let capabilities = InferenceCapabilities { ff_tokens: tokens.tokenize_is_canonical(), ..Default::default() };
    // Without slices, which make masks inside of free text quicker and the start slower by tries of their own.
    let mut factory = ParserFactory::new(&tokens, capabilities, &[]).map_err(Fault::of_engine)?;
    factory.quiet();
    let limits = factory.limits_mut();
    limits.verbose_errors = false;
    limits.max_lexer_states = MOST_LEXER_STATES;
    keep_panic_hook(&factory);
    Ok(factory)
}

/// llguidance puts a hook for panics around that of the process when it is first used, for its own to be quiet. The hook
/// is the app's, so it is put back.
fn keep_panic_hook(factory: &ParserFactory) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        let _ = factory.create_parser(TopLevelGrammar::from_lark("start: \"a\"".to_owned()));
        std::panic::set_hook(hook);
    });
}

/// Runs code of llguidance's that is not guarded there.
fn guarded<T>(run: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    let run = catch_unwind(AssertUnwindSafe(run));
    run.unwrap_or_else(|_| Err(Fault::new("the grammar engine failed on the model's vocabulary")))
}
