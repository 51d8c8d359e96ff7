//! One grammar, followed as tokens are written.

use llguidance::Matcher;
use llguidance::toktrie::TokEnv;

use crate::constrain::Fault;
use crate::constrain::keys::Keys;

/// Which tokens may come next. A copy goes its own way.
pub(crate) struct Constraint {
    matcher: Matcher,
    tokens: TokEnv,
    /// Where maps may hold names that are not declared.
    keys: Option<Keys>,
}

impl Clone for Constraint {
    fn clone(&self) -> Self {
        // Deep, so that what one reply explores is never counted against the limits of another.
        Self { matcher: self.matcher.deep_clone(), tokens: self.tokens.clone(), keys: self.keys.clone() }
    }
}

impl Constraint {
    pub(super) fn new(matcher: Matcher, tokens: TokEnv, has_free_maps: bool) -> Self {
        Self { matcher, tokens, keys: has_free_maps.then(Keys::default) }
    }

    /// The tokens that must come next, whatever the model computes; empty where it has a choice.
    pub(crate) fn forced(&mut self) -> Vec<u32> {
        self.matcher.compute_ff_tokens()
    }

    /// How many of these tokens, from the first on, the grammar allows one after the other.
    pub(crate) fn n_possible(&mut self, tokens: &[u32]) -> usize {
        self.matcher.validate_tokens(tokens).unwrap_or(0)
    }

    /// Excludes the tokens that may not come next.
    ///
    /// # Errors
    /// A [`Fault`] when the grammar's limits are exceeded; nothing is known of the next token then.
    pub(crate) fn mask(&mut self, logits: &mut [f32]) -> Result<(), Fault> {
        let mask = self.matcher.compute_mask().map_err(Fault::of_engine)?;
        for (logit, id) in logits.iter_mut().zip(0u32..) {
            if mask.len() <= id as usize || !mask.is_allowed(id) {
                *logit = f32::NEG_INFINITY;
            }
        }
        Ok(())
    }

    /// Whether a token that the mask allows must not come all the same: it would give a map a name twice.
    pub(crate) fn repeats_key(&self, token: u32) -> bool {
        let Some(keys) = &self.keys else { return false };
        !keys.clone().push(self.tokens.tok_trie().token(token))
    }

    /// Follows a token; false when the grammar does not allow it, and the constraint is of no use then.
    pub(crate) fn take(&mut self, token: u32) -> bool {
        let is_allowed = self.matcher.try_consume_tokens(&[token]).is_ok_and(|n_taken| n_taken == 1);
        is_allowed && self.keys.as_mut().is_none_or(|keys| keys.push(self.tokens.tok_trie().token(token)))
    }

    /// Follows text that came in the token which opened the block, up to where the grammar is over.
    pub(crate) fn take_text(&mut self, text: &str) -> bool {
        let trie = self.tokens.tok_trie();
        let bytes = text.as_bytes().chunks(1);
        // A byte at a time, because the grammar may be over in the midst of what a longer token spells.
        let ids: Option<Vec<u32>> = bytes.map(|byte| trie.token_id_at_bytes(byte)).collect();
        let ids = ids.unwrap_or_else(|| trie.greedy_tokenize(text.as_bytes()));
        ids.into_iter().all(|id| self.is_over() || self.take(id))
    }

    /// Whether nothing more can come.
    pub(crate) fn is_over(&self) -> bool {
        self.matcher.is_stopped()
    }
}
