//! The state of one grammar within a reply.

use llguidance::Matcher;
use llguidance::toktrie::TokEnv;

use crate::constrain::fault::GrammarFault;
use crate::constrain::keys::ObjectNames;

/// Decides which tokens may come next. Clones are independent.
pub(crate) struct Constraint {
    matcher: Matcher,
    tokens: TokEnv,
    /// Detects repeated names, if objects may have undeclared names.
    keys: Option<ObjectNames>,
}

impl Clone for Constraint {
    fn clone(&self) -> Self {
        // A deep clone, so that the states that one reply explores do not count against the limits of another.
        Self { matcher: self.matcher.deep_clone(), tokens: self.tokens.clone(), keys: self.keys.clone() }
    }
}

impl Constraint {
    pub(super) fn new(matcher: Matcher, tokens: TokEnv, has_free_maps: bool) -> Self {
        Self { matcher, tokens, keys: has_free_maps.then(ObjectNames::default) }
    }

    /// The tokens that must come next, whatever the model computes; empty if it has a choice.
    pub(crate) fn forced(&mut self) -> Vec<u32> {
        self.matcher.compute_ff_tokens()
    }

    /// The number of these tokens, from the first on, that the grammar allows in sequence.
    pub(crate) fn n_possible(&mut self, tokens: &[u32]) -> usize {
        self.matcher.validate_tokens(tokens).unwrap_or(0)
    }

    /// Excludes the tokens that may not come next.
    ///
    /// # Errors
    /// A [`GrammarFault`] if the grammar exceeds its limits. The next token cannot be constrained then.
    pub(crate) fn mask(&mut self, logits: &mut [f32]) -> Result<(), GrammarFault> {
        let mask = self.matcher.compute_mask().map_err(GrammarFault::of_engine)?;
        for (logit, id) in logits.iter_mut().zip(0u32..) {
            if mask.len() <= id as usize || !mask.is_allowed(id) {
                *logit = f32::NEG_INFINITY;
            }
        }
        Ok(())
    }

    /// Whether a token that the mask allows would repeat a name in an object.
    pub(crate) fn repeats_key(&self, token: u32) -> bool {
        let Some(keys) = &self.keys else { return false };
        !keys.clone().push(self.tokens.tok_trie().token(token))
    }

    /// Advances by a token. Returns false if the grammar does not allow it; the constraint must not be used afterwards.
    pub(crate) fn take(&mut self, token: u32) -> bool {
        let is_allowed = self.matcher.try_consume_tokens(&[token]).is_ok_and(|n_taken| n_taken == 1);
        is_allowed && self.keys.as_mut().is_none_or(|keys| keys.push(self.tokens.tok_trie().token(token)))
    }

    /// Advances by text that the token that opened the block contains, up to the end of the grammar.
    pub(crate) fn take_text(&mut self, text: &str) -> bool {
        let trie = self.tokens.tok_trie();
        let bytes = text.as_bytes().chunks(1);
        // Byte by byte, because the grammar may end within the text of a longer token.
        let ids: Option<Vec<u32>> = bytes.map(|byte| trie.token_id_at_bytes(byte)).collect();
        let ids = ids.unwrap_or_else(|| trie.greedy_tokenize(text.as_bytes()));
        ids.into_iter().all(|id| self.is_over() || self.take(id))
    }

    /// Whether the grammar is complete.
    pub(crate) fn is_over(&self) -> bool {
        self.matcher.is_stopped()
    }
}
