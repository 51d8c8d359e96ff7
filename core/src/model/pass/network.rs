//! A step of the decoder for several sequences at once.

use std::any::Any;
use std::time::Instant;

use parking_lot::Mutex;

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::backend::{CopyOutcome, UsedGpu};
use crate::model::decoder::Decoder;
use crate::model::network::{ForwardOutcome, Inputs, Network, PerSequence, SequenceState, Step, WantedChoice};
use crate::model::operations::Operations;
use crate::model::pass::ahead::is_begun;
use crate::model::pass::buffers::Buffers;
use crate::model::pass::stack::StackSequence;
use crate::model::pass::state::DecoderState;

/// The id of the padding token in models with per-layer embeddings.
const PADDING: u32 = 0;

/// What a step of a sequence computes from its rows of the stream.
struct StepOutputs<'a> {
    logits: &'a mut Vec<f32>,
    n_logits: usize,
    choice: Option<WantedChoice<'a>>,
    hidden: Option<&'a mut Vec<f32>>,
}

/// A decoder, and the buffers of its steps.
pub(crate) struct DecoderNetwork<O: Operations> {
    decoder: Decoder<O>,
    buffers: Mutex<Buffers<O>>,
}

impl<O: Operations> DecoderNetwork<O> {
    pub(crate) fn new(decoder: Decoder<O>) -> Self {
        Self { decoder, buffers: Mutex::default() }
    }

    /// Takes the memory that the state of a step grows by. A step that was begun ahead has its memory, if it is computed alone; another
    /// one gives it back.
    ///
    /// # Errors
    /// A device without memory. The state is unchanged then.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "the CPU takes memory as it goes"))]
    pub(crate) fn reserve(&self, step: &mut Step<'_>, is_alone: bool) -> Result<()> {
        if is_alone && is_begun::<O>(step) {
            return Ok(());
        }
        let state = (&mut *step.state as &mut dyn Any).downcast_mut::<DecoderState<O>>();
        state.map_or(Ok(()), |state| {
            state.drop_ahead();
            state.reserve(step.inputs.len(), 1 < step.n_logits)
        })
    }
}

impl<O: Operations> Network for DecoderNetwork<O> {
    fn n_vocabulary(&self) -> usize {
        self.decoder.n_vocabulary
    }

    fn hidden_size(&self) -> usize {
        self.decoder.hidden
    }

    fn shares_passes(&self) -> bool {
        O::SHARES_PASSES
    }

    fn start(&self) -> Result<Box<dyn SequenceState>> {
        Ok(Box::new(self.decoder.stack.empty_state(&self.decoder.backend)?))
    }

    fn load_state(&self, bytes: &[u8]) -> Option<Box<dyn SequenceState>> {
        Some(Box::new(self.decoder.stack.empty_state(&self.decoder.backend).ok()?.load(bytes)?))
    }

    fn forward(&self, steps: &mut [Step<'_>]) -> PerSequence<Result<ForwardOutcome>> {
        let n_steps = steps.len();
        let mut buffers = self.buffers.lock();
        let ahead = match steps {
            [step] => self.decoder.go_on(step, &mut buffers),
            _ => None,
        };
        let outcome = ahead.unwrap_or_else(|| self.decoder.compute(steps, &mut buffers));
        let outcome = self.decoder.backend.end_step().and(outcome);
        (0..n_steps).map(|_| outcome.clone().map(|()| ForwardOutcome::Done)).collect()
    }

    fn gpu(&self) -> Option<UsedGpu> {
        self.decoder.backend.gpu()
    }

    fn copy_mapped(&self, deadline: Instant) -> CopyOutcome {
        self.decoder.backend.copy_mapped(deadline)
    }
}

impl<O: Operations> Decoder<O> {
    fn compute(&self, steps: &mut [Step<'_>], buffers: &mut Buffers<O>) -> Result<()> {
        let operations = &self.backend;
        let inputs: PerSequence<_> = steps.iter().map(|step| step.inputs).collect();
        if inputs.iter().any(|inputs| !inputs.fits(self.hidden)) {
            return Err(SdkError::new(ErrorKind::Internal, "a step must have rows of the network's size"));
        }
        let (mut sequences, mut outputs): (PerSequence<_>, PerSequence<_>) = parts(steps)?;
        operations.embed(&self.embedding.weight, &inputs, self.scales.embedding, &mut buffers.stream)?;
        if let Some(embedding) = &self.per_layer {
            let tokens = inputs.iter().flat_map(|inputs| token_ids(*inputs));
            embedding.forward(operations, tokens, self.stack.norm_eps, buffers)?;
        }
        let n_last: PerSequence<_> = outputs.iter().map(StepOutputs::n_last).collect();
        self.stack.forward_last(operations, &mut sequences, &n_last, buffers)?;
        self.outputs(&outputs, buffers)?;
        if let ([sequence], [StepOutputs { logits, choice: Some(choice), .. }]) = (&mut sequences[..], &mut outputs[..])
            && choice.goes_on
            && self.runs_ahead()
            && let Some(pending) = operations.begin_choice(&buffers.logits, choice.n_tokens)?
        {
            operations.end_step()?;
            logits.clear();
            return self.choose_ahead(sequence.state, pending, choice, buffers);
        }
        self.hand_out(outputs, buffers)
    }

    /// Computes the logits of the last rows of each step that asks for them, and the vectors that logits are computed from. The stream has
    /// no other rows.
    fn outputs(&self, steps: &[StepOutputs<'_>], buffers: &mut Buffers<O>) -> Result<()> {
        let has_logits = steps.iter().any(|step| 0 < step.n_logits);
        if steps.iter().all(|step| step.hidden.is_none()) {
            return if has_logits { self.logits(buffers) } else { Ok(()) };
        }
        let (operations, head) = (&self.backend, self.head());
        let Buffers { stream, inputs, mixed, logits, .. } = buffers;
        operations.norm(stream, (&self.output_norm, self.stack.norm_eps), &[head], inputs)?;
        operations.input_rows(inputs, mixed)?;
        if !has_logits {
            return Ok(());
        }
        operations.product(inputs, [(head, &mut *logits)])?;
        self.scale_logits(buffers)
    }

    /// Applies what comes after the products of logits.
    pub(super) fn scale_logits(&self, Buffers { logits, .. }: &mut Buffers<O>) -> Result<()> {
        if self.scales.logits != 1.0 {
            self.backend.scale(logits, self.scales.logits)?;
        }
        match self.scales.logit_softcap {
            Some(bound) => self.backend.bound(logits, bound),
            None => Ok(()),
        }
    }

    /// Gives each step what it asks for.
    fn hand_out(&self, steps: PerSequence<StepOutputs<'_>>, buffers: &Buffers<O>) -> Result<()> {
        let (operations, Buffers { mixed, logits, .. }) = (&self.backend, buffers);
        let n_tokens = steps.iter().find_map(|step| Some(step.choice.as_ref()?.n_tokens));
        let choices = n_tokens.map(|n_tokens| operations.choose(logits, n_tokens)).transpose()?.flatten();
        let mut end = 0;
        for step in steps {
            end += step.n_last();
            step.logits.clear();
            if let (Some(choices), Some(choice)) = (&choices, step.choice) {
                *choice.chosen = choices.get(end - 1).copied();
            } else if 0 < step.n_logits {
                operations.read(logits, end - step.n_logits..end, step.logits)?;
            }
            if let Some(hidden) = step.hidden {
                hidden.clear();
                operations.read(mixed, end - 1..end, hidden)?;
            }
        }
        Ok(())
    }
}

impl StepOutputs<'_> {
    /// The number of last rows from which something is computed.
    fn n_last(&self) -> usize {
        self.n_logits.max(usize::from(self.hidden.is_some()))
    }
}

/// The two sides of each step: what it adds to the stream, and what it computes from it.
fn parts<'a, O: Operations>(
    steps: &'a mut [Step<'_>],
) -> Result<(PerSequence<StackSequence<'a, O>>, PerSequence<StepOutputs<'a>>)> {
    let (mut sequences, mut outputs, mut end) = (PerSequence::new(), PerSequence::new(), 0);
    for Step { inputs, state, logits, n_logits, choice, hidden, content } in steps {
        let rows = end..end + inputs.len();
        end = rows.end;
        let state = (&mut **state as &mut dyn Any).downcast_mut();
        let foreign = || SdkError::new(ErrorKind::Internal, "a step does not belong to this network");
        let (state, content) = (state.ok_or_else(foreign)?, *content);
        let sequence: StackSequence<'_, O> = StackSequence { rows, state, content };
        sequence.state.drop_ahead();
        sequence.state.expect_cut(1 < *n_logits);
        sequences.push(sequence);
        let choice = choice.as_mut().map(WantedChoice::reborrow);
        outputs.push(StepOutputs { logits, n_logits: *n_logits, choice, hidden: hidden.as_deref_mut() });
    }
    Ok((sequences, outputs))
}

/// The tokens of a step. Rows that are embeddings of something else count as padding.
fn token_ids<'a>(inputs: Inputs<'a>) -> impl Iterator<Item = u32> + 'a {
    let tokens = match inputs {
        Inputs::Tokens(tokens) => tokens,
        Inputs::Rows { .. } => &[],
    };
    tokens.iter().copied().chain(std::iter::repeat(PADDING)).take(inputs.len())
}
