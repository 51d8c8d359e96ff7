//! The network of a model that writes nothing: its sequences cannot begin.

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::network::{ForwardOutcome, Network, PerSequence, SequenceState, Step};

pub(super) struct SilentNetwork {
    pub(super) n_vocabulary: usize,
    pub(super) hidden: usize,
}

impl Network for SilentNetwork {
    fn n_vocabulary(&self) -> usize {
        self.n_vocabulary
    }

    fn hidden_size(&self) -> usize {
        self.hidden
    }

    fn shares_passes(&self) -> bool {
        false
    }

    fn start(&self) -> Result<Box<dyn SequenceState>> {
        Err(silent())
    }

    fn load_state(&self, _bytes: &[u8]) -> Option<Box<dyn SequenceState>> {
        None
    }

    fn forward(&self, steps: &mut [Step<'_>]) -> PerSequence<Result<ForwardOutcome>> {
        steps.iter().map(|_| Err(silent())).collect()
    }
}

fn silent() -> SdkError {
    SdkError::new(ErrorKind::UnsupportedContent, "the model answers questions about a text (decide), and writes none")
}
