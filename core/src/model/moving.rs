//! A decoder on a GPU, which goes on on the CPU when the GPU fails: when it is lost, drops a step, or has no memory left.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::Arc;

use causerie_backend::Cpu;
use causerie_gpu::GpuError;
use parking_lot::RwLock;

use crate::checkpoint::Checkpoint;
use crate::error::{ErrorKind, Result, SdkError};
use crate::memory::MemoryNeed;
use crate::model::backend::UsedGpu;
use crate::model::decoder::Decoder;
use crate::model::gpu::{Wgsl, gpu_fault};
use crate::model::native::{Native, weight_bytes};
use crate::model::network::{ForwardOutcome, Network, PerSequence, SequenceState, Step};
use crate::model::pass::{DecoderNetwork, DecoderState};
use crate::options::CacheType;

/// A decoder on a GPU, and what it takes to compute it on the CPU.
pub(crate) struct MovingNetwork {
    place: RwLock<NetworkPlace>,
    /// Also keeps the model's files open.
    checkpoint: Arc<Checkpoint>,
    cpu: Arc<Cpu>,
    cache_type: CacheType,
    n_vocabulary: usize,
    hidden_size: usize,
}

enum NetworkPlace {
    Gpu(DecoderNetwork<Wgsl>),
    /// The GPU failed, and the CPU has not taken over so far.
    Nowhere(GpuError),
    Cpu(DecoderNetwork<Native>, GpuError),
}

impl MovingNetwork {
    /// Moves the decoder of these files to this CPU when the GPU fails.
    pub(crate) fn new(
        decoder: Decoder<Wgsl>,
        checkpoint: Arc<Checkpoint>,
        cpu: Arc<Cpu>,
        cache_type: CacheType,
    ) -> Self {
        let (n_vocabulary, hidden_size) = (decoder.n_vocabulary, decoder.hidden);
        let place = RwLock::new(NetworkPlace::Gpu(DecoderNetwork::new(decoder)));
        Self { place, checkpoint, cpu, cache_type, n_vocabulary, hidden_size }
    }

    /// Loads the decoder on the CPU.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`], and [`ErrorKind::ModelLoad`] for files that changed or cannot be read any more.
    fn leave(&self, fault: GpuError) -> Result<()> {
        let mut place = self.place.write();
        if matches!(&*place, NetworkPlace::Cpu(..)) {
            return Ok(()); // another thread was first
        }
        log::warn!("the model goes on on the CPU: {fault}");
        if !matches!(fault, GpuError::OutOfMemory(_)) {
            // First, because GPU and CPU may share their memory.
            *place = NetworkPlace::Nowhere(fault.clone());
        }
        let n_bytes = weight_bytes(&self.checkpoint.tensors);
        MemoryNeed { written: n_bytes, reserved: n_bytes }.check("the model")?;
        let native = Native::new(Arc::clone(&self.cpu), self.cache_type);
        let decoder = Decoder::load(native, &self.checkpoint, &mut |_| ControlFlow::Continue(()))?;
        // Afterwards, so that no part of them is newer.
        if !self.checkpoint.tensors.are_unchanged() {
            return Err(SdkError::new(
                ErrorKind::ModelLoad,
                "the GPU failed, and the model's files changed since they were loaded",
            ));
        }
        *place = NetworkPlace::Cpu(DecoderNetwork::new(decoder), fault);
        Ok(())
    }

    /// Leaves the GPU; the steps are to be computed again.
    fn leave_with(&self, steps: &[Step<'_>], fault: GpuError) -> PerSequence<Result<ForwardOutcome>> {
        let outcome = self.leave(fault).map(|()| ForwardOutcome::Moved);
        steps.iter().map(|_| outcome.clone()).collect()
    }
}

impl Network for MovingNetwork {
    fn n_vocabulary(&self) -> usize {
        self.n_vocabulary
    }

    fn hidden_size(&self) -> usize {
        self.hidden_size
    }

    fn shares_passes(&self) -> bool {
        true
    }

    fn start(&self) -> Result<Box<dyn SequenceState>> {
        let fault = match &*self.place.read() {
            NetworkPlace::Gpu(network) => return network.start(),
            NetworkPlace::Cpu(network, _) => return network.start(),
            NetworkPlace::Nowhere(fault) => fault.clone(),
        };
        self.leave(fault)?;
        self.start()
    }

    fn load_state(&self, bytes: &[u8]) -> Option<Box<dyn SequenceState>> {
        match &*self.place.read() {
            NetworkPlace::Gpu(network) => network.load_state(bytes),
            NetworkPlace::Cpu(network, _) => network.load_state(bytes),
            NetworkPlace::Nowhere(_) => None,
        }
    }

    fn forward(&self, steps: &mut [Step<'_>]) -> PerSequence<Result<ForwardOutcome>> {
        let place = self.place.read();
        let fault = match &*place {
            NetworkPlace::Gpu(network) => {
                let outcomes = network.forward(steps);
                let fault = outcomes.iter().find_map(|outcome| gpu_fault(outcome.as_ref().err()?).cloned());
                let Some(fault) = fault else { return outcomes };
                fault
            }
            NetworkPlace::Nowhere(fault) => fault.clone(),
            NetworkPlace::Cpu(network, _) if steps.iter().all(|step| is_on_cpu(&*step.state)) => {
                return network.forward(steps);
            }
            NetworkPlace::Cpu(..) => {
                let outcome = |step: &Step<'_>| match is_on_cpu(&*step.state) {
                    true => Ok(ForwardOutcome::NotYet),
                    false => Ok(ForwardOutcome::Moved),
                };
                return steps.iter().map(outcome).collect();
            }
        };
        drop(place);
        self.leave_with(steps, fault)
    }

    fn adopt(&self, state: Box<dyn SequenceState>) -> Option<Box<dyn SequenceState>> {
        match &*self.place.read() {
            NetworkPlace::Gpu(_) => Some(state),
            NetworkPlace::Cpu(..) if is_on_cpu(&*state) => Some(state),
            NetworkPlace::Cpu(network, GpuError::OutOfMemory(_)) => network.load_state(&state.save().ok()??),
            // A device that is lost may have dropped steps whose results nothing has read.
            NetworkPlace::Cpu(..) | NetworkPlace::Nowhere(_) => None,
        }
    }

    fn device_note(&self) -> Option<String> {
        match &*self.place.read() {
            NetworkPlace::Gpu(_) => None,
            NetworkPlace::Nowhere(fault) | NetworkPlace::Cpu(_, fault) => Some(fault.to_string()),
        }
    }

    fn gpu(&self) -> Option<UsedGpu> {
        match &*self.place.read() {
            NetworkPlace::Gpu(network) => network.gpu(),
            _ => None,
        }
    }
}

fn is_on_cpu(state: &dyn SequenceState) -> bool {
    (state as &dyn Any).is::<DecoderState<Native>>()
}
