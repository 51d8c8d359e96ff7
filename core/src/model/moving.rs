//! A decoder on a GPU, which goes on on the CPU when the GPU fails: when it is lost, drops a step, or has no memory left.
//!
//! The CPU's decoder is loaded on a thread of its own. Until it is complete, steps that the GPU cannot compute are
//! [not yet](ForwardOutcome::NotYet) computed, and the threads that asked for them are woken at the end.

use std::any::Any;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, Thread};

use causerie_backend::Cpu;
use causerie_gpu::GpuError;
use parking_lot::{Condvar, Mutex, RwLock};

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
    shared: Arc<NetworkPlaces>,
    /// The thread that loads the CPU's decoder, or has loaded it.
    loader: Mutex<Option<JoinHandle<()>>>,
    n_vocabulary: usize,
    hidden_size: usize,
}

/// What the network shares with the thread that loads the CPU's decoder.
struct NetworkPlaces {
    /// Never locked for long: nothing is loaded meanwhile.
    place: RwLock<NetworkPlace>,
    move_: Mutex<NetworkMove>,
    changed: Condvar,
    /// Whether the network is gone, so that nothing needs to be loaded.
    is_abandoned: AtomicBool,
    /// Also keeps the model's files open.
    checkpoint: Arc<Checkpoint>,
    cpu: Arc<Cpu>,
    cache_type: CacheType,
}

enum NetworkPlace {
    Gpu(Box<DecoderNetwork<Wgsl>>),
    /// The GPU failed, and the CPU has not taken over so far.
    Nowhere(GpuError),
    Cpu(Box<DecoderNetwork<Native>>, GpuError),
}

/// The move to the CPU.
enum NetworkMove {
    /// It is not under way.
    Idle,
    /// The CPU's decoder is loaded; these threads are woken at the end.
    Loading(Vec<Thread>),
    /// It could not be loaded. Whoever asks for the next step learns of it; then it can be tried again.
    Failed(SdkError),
}

impl NetworkMove {
    /// What becomes of a step that waits for the CPU; `None` if nothing is under way. Wakes this thread at the end.
    fn outcome(&mut self) -> Option<Result<ForwardOutcome>> {
        match std::mem::replace(self, Self::Idle) {
            Self::Idle => None,
            Self::Failed(err) => Some(Err(err)),
            Self::Loading(mut waiting) => {
                let this = thread::current();
                if waiting.iter().all(|thread| thread.id() != this.id()) {
                    waiting.push(this);
                }
                *self = Self::Loading(waiting);
                Some(Ok(ForwardOutcome::NotYet))
            }
        }
    }
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
        let shared = NetworkPlaces {
            place: RwLock::new(NetworkPlace::Gpu(Box::new(DecoderNetwork::new(decoder)))),
            move_: Mutex::new(NetworkMove::Idle),
            changed: Condvar::new(),
            is_abandoned: AtomicBool::new(false),
            checkpoint,
            cpu,
            cache_type,
        };
        Self { shared: Arc::new(shared), loader: Mutex::new(None), n_vocabulary, hidden_size }
    }

    /// Begins to load the decoder on the CPU, unless that is under way or done. Wakes this thread when it is done.
    ///
    /// # Errors
    /// The errors of a load that failed.
    fn move_to_cpu(&self, fault: &GpuError) -> Result<ForwardOutcome> {
        let mut move_ = self.shared.move_.lock();
        if let Some(outcome) = move_.outcome() {
            return outcome;
        }
        // Steps hold the place while they lock the move, so this thread must not queue behind a writer.
        if matches!(&*self.shared.place.read_recursive(), NetworkPlace::Cpu(..)) {
            thread::current().unpark(); // it was done meanwhile
            return Ok(ForwardOutcome::NotYet);
        }
        let (shared, fault) = (Arc::clone(&self.shared), fault.clone());
        let loader = thread::Builder::new().name("causerie-move".to_owned()).spawn(move || shared.load_on_cpu(&fault));
        let loader = loader.map_err(|err| {
            SdkError::new(ErrorKind::Internal, format!("the GPU failed, and no thread can be started: {err}"))
        })?;
        *self.loader.lock() = Some(loader);
        *move_ = NetworkMove::Loading(vec![thread::current()]);
        Ok(ForwardOutcome::NotYet)
    }

    /// What becomes of a step for which the GPU has no memory.
    fn without_memory(&self) -> Result<ForwardOutcome> {
        self.shared.move_.lock().outcome().unwrap_or(Ok(ForwardOutcome::Full))
    }

    /// Computes the steps for which the GPU has memory.
    ///
    /// # Errors
    /// A fault of the GPU, which cannot go on.
    fn forward_on_gpu(
        &self,
        network: &DecoderNetwork<Wgsl>,
        steps: &mut [Step<'_>],
    ) -> std::result::Result<PerSequence<Result<ForwardOutcome>>, GpuError> {
        let mut fitting: PerSequence<Step<'_>> = PerSequence::new();
        let mut outcomes: PerSequence<Option<Result<ForwardOutcome>>> = PerSequence::new();
        let is_alone = steps.len() == 1;
        for step in steps {
            let is_spoiled = gpu_state(&mut *step.state).is_some_and(|state| state.is_spoiled());
            let reserved = network.reserve(step, is_alone);
            let outcome = match reserved.as_ref().err().and_then(gpu_fault) {
                None if is_spoiled => Some(self.without_memory()),
                None => reserved.err().map(Err),
                Some(GpuError::OutOfMemory(_)) => Some(self.without_memory()),
                Some(fault) => return Err(fault.clone()),
            };
            if outcome.is_none() {
                fitting.push(step.reborrow());
            }
            outcomes.push(outcome);
        }
        if fitting.is_empty() {
            return Ok(outcomes.into_iter().flatten().collect());
        }
        let computed = network.forward(&mut fitting);
        if let Some(fault) = computed.iter().find_map(|outcome| gpu_fault(outcome.as_ref().err()?)) {
            // The pass ended somewhere in its layers.
            fitting.iter_mut().filter_map(|step| gpu_state(&mut *step.state)).for_each(DecoderState::spoil);
            return Err(fault.clone());
        }
        let mut computed = computed.into_iter();
        let not_yet = || Ok(ForwardOutcome::NotYet);
        let outcome = |known: Option<_>| known.or_else(|| computed.next()).unwrap_or_else(not_yet);
        Ok(outcomes.into_iter().map(outcome).collect())
    }

    /// Goes to the CPU because of a fault, of which nothing is left but the steps that are to be computed.
    fn fail(&self, n_steps: usize, fault: &GpuError) -> PerSequence<Result<ForwardOutcome>> {
        if !matches!(fault, GpuError::OutOfMemory(_)) {
            let mut place = self.shared.place.write();
            if matches!(&*place, NetworkPlace::Gpu(_)) {
                // First, because GPU and CPU may share their memory.
                *place = NetworkPlace::Nowhere(fault.clone());
            }
        }
        let outcome = self.move_to_cpu(fault);
        (0..n_steps).map(|_| outcome.clone()).collect()
    }
}

impl NetworkPlaces {
    /// Loads the decoder on the CPU, and wakes those who wait for it.
    fn load_on_cpu(&self, fault: &GpuError) {
        // Those who wait must learn of a panic, too.
        let loaded = catch_unwind(AssertUnwindSafe(|| self.loaded()));
        let panicked = |_| Err(SdkError::new(ErrorKind::Internal, "the GPU failed, and loading on the CPU panicked"));
        let failed = loaded.unwrap_or_else(panicked).map(|network| {
            let mut place = self.place.write();
            // A device without memory may be lost meanwhile.
            let fault = match &*place {
                NetworkPlace::Nowhere(fault) => fault,
                _ => fault,
            };
            *place = NetworkPlace::Cpu(Box::new(network), fault.clone());
        });
        let next = failed.err().map_or(NetworkMove::Idle, NetworkMove::Failed);
        let before = std::mem::replace(&mut *self.move_.lock(), next);
        self.changed.notify_all();
        if let NetworkMove::Loading(waiting) = before {
            waiting.iter().for_each(Thread::unpark);
        }
    }

    /// The decoder on the CPU.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`], and [`ErrorKind::ModelLoad`] for files that changed or cannot be read any more.
    fn loaded(&self) -> Result<DecoderNetwork<Native>> {
        let n_bytes = weight_bytes(&self.checkpoint.tensors);
        MemoryNeed { written: n_bytes, reserved: n_bytes }.check("the model")?;
        let native = Native::new(Arc::clone(&self.cpu), self.cache_type);
        let decoder =
            Decoder::load(native, &self.checkpoint, &mut |_| match self.is_abandoned.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })?;
        // Afterwards, so that no part of them is newer.
        if !self.checkpoint.tensors.are_unchanged() {
            return Err(SdkError::new(
                ErrorKind::ModelLoad,
                "the GPU failed, and the model's files changed since they were loaded",
            ));
        }
        Ok(DecoderNetwork::new(decoder))
    }
}

impl Drop for MovingNetwork {
    fn drop(&mut self) {
        self.shared.is_abandoned.store(true, Ordering::Relaxed);
        if let Some(loader) = self.loader.lock().take() {
            let _ = loader.join(); // a panic has ended the thread
        }
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
        match &*self.shared.place.read() {
            NetworkPlace::Gpu(network) => network.start(),
            NetworkPlace::Cpu(network, _) => network.start(),
            NetworkPlace::Nowhere(_) => Ok(Box::new(UnplacedState)),
        }
    }

    fn load_state(&self, bytes: &[u8]) -> Option<Box<dyn SequenceState>> {
        match &*self.shared.place.read() {
            NetworkPlace::Gpu(network) => network.load_state(bytes),
            NetworkPlace::Cpu(network, _) => network.load_state(bytes),
            NetworkPlace::Nowhere(_) => None,
        }
    }

    fn forward(&self, steps: &mut [Step<'_>]) -> PerSequence<Result<ForwardOutcome>> {
        let place = self.shared.place.read();
        let fault = match &*place {
            NetworkPlace::Gpu(network) => match self.forward_on_gpu(network, steps) {
                Ok(outcomes) => return outcomes,
                Err(fault) => fault,
            },
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
        self.fail(steps.len(), &fault)
    }

    fn leave_full(&self) {
        let full = GpuError::OutOfMemory("keys and values of all sequences".to_owned());
        if let Err(err) = self.move_to_cpu(&full) {
            *self.shared.move_.lock() = NetworkMove::Failed(err);
        }
    }

    fn wait(&self) -> bool {
        let mut move_ = self.shared.move_.lock();
        self.shared.changed.wait_while(&mut move_, |move_| matches!(move_, NetworkMove::Loading(_)));
        true
    }

    fn adopt(&self, mut state: Box<dyn SequenceState>) -> Option<Box<dyn SequenceState>> {
        match &*self.shared.place.read() {
            NetworkPlace::Gpu(_) => Some(state),
            NetworkPlace::Cpu(..) if is_on_cpu(&*state) => Some(state),
            NetworkPlace::Cpu(..) if gpu_state(&mut *state).is_none_or(|state| state.is_spoiled()) => None,
            NetworkPlace::Cpu(network, GpuError::OutOfMemory(_)) => network.load_state(&state.save().ok()??),
            // A device that is lost may have dropped steps whose results nothing has read.
            NetworkPlace::Cpu(..) | NetworkPlace::Nowhere(_) => None,
        }
    }

    fn device_note(&self) -> Option<String> {
        match &*self.shared.place.read() {
            NetworkPlace::Gpu(_) => None,
            NetworkPlace::Nowhere(fault) | NetworkPlace::Cpu(_, fault) => Some(fault.to_string()),
        }
    }

    fn gpu(&self) -> Option<UsedGpu> {
        match &*self.shared.place.read() {
            NetworkPlace::Gpu(network) => network.gpu(),
            _ => None,
        }
    }
}

/// The state of a sequence that begins while the network is computed nowhere.
#[derive(Clone)]
struct UnplacedState;

impl SequenceState for UnplacedState {
    fn n_positions(&self) -> usize {
        0
    }

    fn can_be_cut(&self) -> bool {
        true
    }

    fn cut(&self, _: usize) -> Option<Box<dyn SequenceState>> {
        Some(self.clone_box())
    }

    fn n_bytes(&self, _: &mut HashSet<usize>) -> usize {
        0
    }

    fn save(&self) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn clone_box(&self) -> Box<dyn SequenceState> {
        Box::new(Self)
    }
}

fn is_on_cpu(state: &dyn SequenceState) -> bool {
    (state as &dyn Any).is::<DecoderState<Native>>()
}

fn gpu_state<'a>(state: &'a mut (dyn SequenceState + 'static)) -> Option<&'a mut DecoderState<Wgsl>> {
    (state as &mut dyn Any).downcast_mut()
}
