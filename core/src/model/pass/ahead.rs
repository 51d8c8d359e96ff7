//! Steps that are begun before their token is known, where it is chosen on the device: while the host learns of a token, the device
//! computes the next one already.
//!
//! Such a step leaves the state before it as it is. If the sequence ends, or goes on otherwise, the step is dropped.

use std::any::Any;

use crate::error::Result;
use crate::model::decoder::Decoder;
use crate::model::feed_forward::FeedForward;
use crate::model::network::{Inputs, Step, TokenChoice, WantedChoice};
use crate::model::operations::Operations;
use crate::model::pass::buffers::Buffers;
use crate::model::pass::stack::StackSequence;
use crate::model::pass::state::{AheadStep, DecoderState};

/// Whether a step is the one that its state has begun.
pub(super) fn is_begun<O: Operations>(step: &Step<'_>) -> bool {
    let state = (&*step.state as &dyn Any).downcast_ref::<DecoderState<O>>();
    let (Some(ahead), Some(choice)) = (state.and_then(|state| state.ahead.as_ref()), &step.choice) else {
        return false;
    };
    let is_same = matches!(step.inputs, Inputs::Tokens(&[token]) if token == ahead.token);
    is_same && step.n_logits == 1 && step.hidden.is_none() && choice.n_tokens == ahead.n_tokens
}

impl<O: Operations> Decoder<O> {
    /// Whether steps of this network can be begun ahead: the host has nothing to do between their operations.
    pub(super) fn runs_ahead(&self) -> bool {
        let is_routed = |feed_forward: &FeedForward<O>| match feed_forward {
            FeedForward::Dense(_) => true,
            FeedForward::Experts(experts) => self.backend.routes(experts),
        };
        O::RUNS_AHEAD
            && self.per_layer.is_none()
            && self.stack.layers.iter().all(|layer| is_routed(&layer.feed_forward))
    }

    /// Completes a step that was begun ahead, and begins the next one; `None` if this step was not, or was not begun so.
    pub(super) fn go_on(&self, step: &mut Step<'_>, buffers: &mut Buffers<O>) -> Option<Result<()>> {
        let is_begun = is_begun::<O>(step);
        let state = (&mut *step.state as &mut dyn Any).downcast_mut::<DecoderState<O>>()?;
        let ahead = state.ahead.take().filter(|_| is_begun)?;
        let choice = step.choice.as_mut()?;
        state.settle(ahead.layers);
        step.logits.clear();
        Some(self.choose_ahead(state, ahead.choice, choice, buffers))
    }

    /// Takes a choice that is pending, after the next step has been begun.
    ///
    /// # Errors
    /// A device that fails.
    pub(super) fn choose_ahead(
        &self,
        state: &mut DecoderState<O>,
        pending: O::PendingChoice,
        choice: &mut WantedChoice<'_>,
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        let n_tokens = choice.n_tokens;
        let next = if choice.goes_on { self.begin_ahead(state, &pending, n_tokens, buffers) } else { None };
        let chosen = self.backend.finish_choice(pending)?;
        if let (TokenChoice::Token(token), Some((after, choice))) = (chosen, next) {
            state.ahead = Some(AheadStep { token, n_tokens, layers: after.layers, choice });
        }
        *choice.chosen = Some(chosen);
        Ok(())
    }

    /// Begins the step of a token that is still to be chosen. Returns the state after it, and the choice after that; `None` if there is
    /// no memory for it, in which case it is computed once the token is known.
    fn begin_ahead(
        &self,
        state: &DecoderState<O>,
        pending: &O::PendingChoice,
        n_tokens: usize,
        buffers: &mut Buffers<O>,
    ) -> Option<(DecoderState<O>, O::PendingChoice)> {
        let mut after = state.ahead();
        let begun = self.compute_ahead(&mut after, pending, n_tokens, buffers);
        // Also after an error: what was recorded reads the table of this step.
        self.backend.end_step().and(begun).ok()?.map(|choice| (after, choice))
    }

    fn compute_ahead(
        &self,
        after: &mut DecoderState<O>,
        pending: &O::PendingChoice,
        n_tokens: usize,
        buffers: &mut Buffers<O>,
    ) -> Result<Option<O::PendingChoice>> {
        let (operations, table) = (&self.backend, &self.embedding.weight);
        after.expect_cut(false);
        if !operations.embed_chosen(pending, table, self.scales.embedding, &mut buffers.stream)? {
            return Ok(None);
        }
        let sequence = StackSequence { rows: 0..1, state: after, content: None };
        self.stack.forward_last(operations, &mut [sequence], &[1], buffers)?;
        self.logits(buffers)?;
        operations.begin_choice(&buffers.logits, n_tokens)
    }

    /// Computes the logits of all rows of the stream.
    pub(super) fn logits(&self, buffers: &mut Buffers<O>) -> Result<()> {
        let norm = (&self.output_norm, self.stack.norm_eps);
        let Buffers { stream, inputs, logits, .. } = buffers;
        self.backend.norm_product(stream, norm, [(self.head(), &mut *logits)], inputs)?;
        self.scale_logits(buffers)
    }
}
