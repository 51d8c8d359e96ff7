//! What a model computes with: the one place that knows all implementations of [`Network`].

use std::cell::RefCell;
use std::io::{Seek, Write};
use std::sync::Arc;

use causerie_backend::Cpu;
#[cfg(feature = "gpu")]
use causerie_gpu::{Gpu, GpuAdapter};

use crate::checkpoint::{
    Checkpoint, CodecCheckpoint, EmbeddingCheckpoint, FrameCheckpoint, HearingArchitecture, VisionArchitecture,
    WhisperCheckpoint,
};
use crate::error::{ErrorKind, Result};
#[cfg(feature = "gpu")]
use crate::memory::{self, MemoryNeed};
#[cfg(feature = "candle")]
use crate::model::candle::Candle;
use crate::model::decoder::Decoder;
use crate::model::embedding::EmbeddingModelNetwork;
#[cfg(feature = "gpu")]
use crate::model::gpu::{Wgsl, gpu_error};
use crate::model::hearing::SoundEncoder;
#[cfg(feature = "gpu")]
use crate::model::moving::MovingNetwork;
#[cfg(feature = "gpu")]
use crate::model::native::weight_bytes;
use crate::model::native::{MatrixPacker, Native};
use crate::model::network::Network;
use crate::model::operations::Operations;
use crate::model::pass::DecoderNetwork;
use crate::model::progress::LoadProgress;
#[cfg(feature = "gpu")]
use crate::model::sizes::{PREFILL_CHUNK, Sizes};
use crate::model::speech::Voice;
use crate::model::tower::VisionTower;
use crate::model::whisper::WhisperModel;
use crate::options::{CacheType, Device, LoadOptions};
use crate::weights::{PackedWriter, Weights};

/// What a model computes with.
#[derive(Clone)]
pub(crate) enum Compute {
    /// The CPU, whose threads all parts of a model share.
    Native {
        cpu: Arc<Cpu>,
        cache_type: CacheType,
        /// What computes the decoder in place of the CPU.
        #[cfg(feature = "gpu")]
        gpu: Option<DecoderGpu>,
        /// Why it does not, although it was asked for.
        #[cfg(feature = "gpu")]
        note: Option<String>,
    },
    #[cfg(feature = "candle")]
    Candle(candle_core::Device),
}

/// A GPU for a decoder.
#[cfg(feature = "gpu")]
#[derive(Clone)]
pub(crate) struct DecoderGpu {
    pub(crate) gpu: Arc<Gpu>,
    /// Whether a decoder that the GPU cannot load goes to the CPU.
    pub(crate) may_leave: bool,
    /// The memory that the model may take there.
    pub(crate) max_bytes: Option<u64>,
}

/// A decoder in memory.
pub(super) struct LoadedNetwork {
    pub(super) network: Box<dyn Network>,
    /// Why it is not on the device that was asked for.
    pub(super) note: Option<String>,
}

impl Compute {
    /// # Errors
    /// [`ErrorKind::InvalidOption`] if this build, or this machine, does not have the device.
    pub(crate) fn new(options: &LoadOptions) -> Result<Self> {
        let n_threads = || options.threads.unwrap_or_else(causerie_backend::fast_cores);
        match options.device {
            Device::Cpu => Ok(Self::native(n_threads(), options.cache_type)),
            #[cfg(feature = "gpu")]
            Device::Auto if cfg!(any(target_os = "ios", target_os = "android")) => {
                Ok(Self::native(n_threads(), options.cache_type))
            }
            #[cfg(feature = "gpu")]
            device => {
                let may_leave = device == Device::Auto;
                let opened = GpuAdapter::choose(options.gpu_name.as_deref()).and_then(|adapter| Gpu::open(&adapter));
                match opened {
                    Ok(gpu) => {
                        let gpu = DecoderGpu { gpu, may_leave, max_bytes: options.gpu_bytes };
                        Ok(Self::on_gpu(gpu, n_threads(), options.cache_type))
                    }
                    Err(err) if may_leave => {
                        let (cpu, cache_type) = (Arc::new(Cpu::new(n_threads())), options.cache_type);
                        Ok(Self::Native { cpu, cache_type, gpu: None, note: Some(noted(&err)) })
                    }
                    Err(err) => Err(gpu_error(ErrorKind::InvalidOption("device"), err)),
                }
            }
            #[cfg(not(feature = "gpu"))]
            Device::Auto => Ok(Self::native(n_threads(), options.cache_type)),
            #[cfg(not(feature = "gpu"))]
            Device::Gpu => Err(missing("device is a GPU, which this build does not have")),
            #[cfg(all(feature = "candle", not(feature = "gpu")))]
            Device::Metal => candle_core::Device::new_metal(0).map(Self::Candle).map_err(|err| {
                missing("device is Metal, which this build or this machine does not have").caused_by(err)
            }),
            #[cfg(not(any(feature = "candle", feature = "gpu")))]
            Device::Metal => Err(missing("device is Metal, which this build does not have")),
        }
    }

    /// The CPU. The number of threads includes the calling one.
    pub(crate) fn native(n_threads: usize, cache_type: CacheType) -> Self {
        Self::Native {
            cpu: Arc::new(Cpu::new(n_threads)),
            cache_type,
            #[cfg(feature = "gpu")]
            gpu: None,
            #[cfg(feature = "gpu")]
            note: None,
        }
    }

    /// A GPU for decoders, and the CPU for all other parts of a model.
    #[cfg(feature = "gpu")]
    pub(crate) fn on_gpu(gpu: DecoderGpu, n_threads: usize, cache_type: CacheType) -> Self {
        Self::Native { cpu: Arc::new(Cpu::new(n_threads)), cache_type, gpu: Some(gpu), note: None }
    }

    /// Whether the CPU computes the decoder.
    pub(crate) fn is_cpu(&self) -> bool {
        match self {
            #[cfg(feature = "gpu")]
            Self::Native { gpu, .. } => gpu.is_none(),
            #[cfg(not(feature = "gpu"))]
            Self::Native { .. } => true,
            #[cfg(feature = "candle")]
            Self::Candle(_) => false,
        }
    }

    /// Loads the vision part of a model.
    pub(crate) fn load_vision(&self, weights: &Weights, architecture: &VisionArchitecture) -> Result<VisionTower> {
        match self {
            // The keys and values of an image live for one layer only.
            Self::Native { cpu, .. } => {
                VisionTower::load(Native::new(Arc::clone(cpu), CacheType::F32), weights, architecture)
            }
            #[cfg(feature = "candle")]
            Self::Candle(device) => VisionTower::load(Candle { device: device.clone() }, weights, architecture),
        }
    }

    /// Loads the audio part of a model.
    pub(crate) fn load_hearing(&self, weights: &Weights, architecture: &HearingArchitecture) -> Result<SoundEncoder> {
        match self {
            Self::Native { cpu, .. } => {
                SoundEncoder::load(Native::new(Arc::clone(cpu), CacheType::F32), weights, architecture)
            }
            #[cfg(feature = "candle")]
            Self::Candle(device) => SoundEncoder::load(Candle { device: device.clone() }, weights, architecture),
        }
    }

    /// Loads a network that reads whole texts. Reports progress before each layer of a decoder; the caller reports that loading is
    /// complete.
    pub(crate) fn load_embedding(
        &self,
        checkpoint: &EmbeddingCheckpoint,
        progress: LoadProgress<'_>,
    ) -> Result<EmbeddingModelNetwork> {
        match self {
            // The keys and values of a text live for one pass only.
            Self::Native { cpu, .. } => {
                EmbeddingModelNetwork::load(|| Native::new(Arc::clone(cpu), CacheType::F32), checkpoint, progress)
            }
            #[cfg(feature = "candle")]
            Self::Candle(device) => {
                EmbeddingModelNetwork::load(|| Candle { device: device.clone() }, checkpoint, progress)
            }
        }
    }

    /// Loads a Whisper model.
    pub(crate) fn load_whisper(&self, checkpoint: &WhisperCheckpoint) -> Result<WhisperModel> {
        match self {
            // The keys and values of the encoder live for one layer only.
            Self::Native { cpu, cache_type, .. } => {
                let [sound, text] = [CacheType::F32, *cache_type].map(|cache| Native::new(Arc::clone(cpu), cache));
                WhisperModel::load(sound, text, checkpoint)
            }
            #[cfg(feature = "candle")]
            Self::Candle(device) => {
                let [sound, text] = [device, device].map(|device| Candle { device: device.clone() });
                WhisperModel::load(sound, text, checkpoint)
            }
        }
    }

    /// Loads the parts of a model that speak.
    pub(crate) fn load_voice(&self, frames: &FrameCheckpoint, codec: &CodecCheckpoint, hidden: usize) -> Result<Voice> {
        match self {
            // Eight positions of a frame, and thirty of a window of sound: what F16 would save is little.
            Self::Native { cpu, .. } => {
                Voice::load(|| Native::new(Arc::clone(cpu), CacheType::F32), frames, codec, hidden)
            }
            #[cfg(feature = "candle")]
            Self::Candle(device) => Voice::load(|| Candle { device: device.clone() }, frames, codec, hidden),
        }
    }

    /// The storage format of keys and values.
    pub(crate) fn cache_type(&self) -> CacheType {
        match self {
            Self::Native { cache_type, .. } => *cache_type,
            #[cfg(feature = "candle")]
            Self::Candle(_) => CacheType::F32,
        }
    }

    /// Packs the matrices of a decoder for a file, and reports progress before each layer.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`] for a device that computes without packed matrices, and errors of reading and writing.
    pub(crate) fn pack<W: Write + Seek>(
        &self,
        checkpoint: &Checkpoint,
        writer: &mut PackedWriter<W>,
        progress: LoadProgress<'_>,
    ) -> Result<()> {
        match self {
            // With memory of its own, which ends with the packing.
            Self::Native { cpu, .. } => {
                let packer = MatrixPacker { cpu: Cpu::new(cpu.n_threads()), writer: RefCell::new(writer) };
                Decoder::load(packer, checkpoint, progress).map(drop)
            }
            #[cfg(feature = "candle")]
            Self::Candle(_) => Err(missing("weights are packed for the CPU alone")),
        }
    }

    /// Loads a network, and reports progress before each layer.
    pub(super) fn load(self, checkpoint: &Arc<Checkpoint>, progress: LoadProgress<'_>) -> Result<LoadedNetwork> {
        match self {
            #[cfg(feature = "gpu")]
            Self::Native { cpu, cache_type, gpu: Some(place), .. } => {
                match load_on_gpu(&place, (&cpu, cache_type), checkpoint, &mut *progress) {
                    Err(err) if place.may_leave && err.kind() != ErrorKind::LoadCancelled => {
                        let n_bytes = weight_bytes(&checkpoint.tensors);
                        MemoryNeed { written: n_bytes, reserved: n_bytes }.check("the model")?;
                        let network = load_decoder(Native::new(cpu, cache_type), checkpoint, progress)?;
                        Ok(LoadedNetwork { network, note: Some(noted(&err)) })
                    }
                    loaded => Ok(LoadedNetwork { network: loaded?, note: None }),
                }
            }
            #[cfg(feature = "gpu")]
            Self::Native { cpu, cache_type, note, .. } => {
                Ok(LoadedNetwork { network: load_decoder(Native::new(cpu, cache_type), checkpoint, progress)?, note })
            }
            #[cfg(not(feature = "gpu"))]
            Self::Native { cpu, cache_type } => {
                let network = load_decoder(Native::new(cpu, cache_type), checkpoint, progress)?;
                Ok(LoadedNetwork { network, note: None })
            }
            #[cfg(feature = "candle")]
            Self::Candle(device) => {
                Ok(LoadedNetwork { network: load_decoder(Candle { device }, checkpoint, progress)?, note: None })
            }
        }
    }
}

fn load_decoder<O: Operations>(
    operations: O,
    checkpoint: &Checkpoint,
    progress: LoadProgress<'_>,
) -> Result<Box<dyn Network>> {
    Ok(Box::new(DecoderNetwork::new(Decoder::load(operations, checkpoint, progress)?)))
}

#[cfg(feature = "gpu")]
fn load_on_gpu(
    DecoderGpu { gpu, max_bytes, .. }: &DecoderGpu,
    (cpu, cache_type): (&Arc<Cpu>, CacheType),
    checkpoint: &Arc<Checkpoint>,
    progress: LoadProgress<'_>,
) -> Result<Box<dyn Network>> {
    for difference in gpu.differences() {
        log::warn!("replies of {} may differ from the CPU's: {difference}", gpu.name());
    }
    let max_state_bytes = max_bytes.map_or(Ok(u64::MAX), |max_bytes| state_bytes(checkpoint, cache_type, max_bytes))?;
    let decoder = Decoder::load(Wgsl::new(gpu, cache_type, max_state_bytes)?, checkpoint, progress)?;
    Ok(Box::new(MovingNetwork::new(decoder, Arc::clone(checkpoint), Arc::clone(cpu), cache_type)))
}

/// The memory that is left to sequences beside a decoder's weights and the values of a step.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`] if it is less than a sequence of one page takes.
#[cfg(feature = "gpu")]
fn state_bytes(checkpoint: &Checkpoint, cache_type: CacheType, max_bytes: u64) -> Result<u64> {
    let sizes = Sizes { cache_type, ..Sizes::read(checkpoint)? };
    let model = sizes.n_weight_bytes.saturating_add(sizes.working_bytes(PREFILL_CHUNK));
    let states =
        sizes.key_value_bytes(1).saturating_add(sizes.convolution_bytes()).saturating_add(sizes.delta_net_bytes());
    match model.saturating_add(states) {
        needed if max_bytes < needed => Err(memory::too_little("the model", needed, max_bytes, "gpu_bytes")),
        _ => Ok(max_bytes - model),
    }
}

/// Logs why the CPU computes, and returns it.
#[cfg(feature = "gpu")]
fn noted(reason: &dyn std::error::Error) -> String {
    log::warn!("the model is computed on the CPU: {reason}");
    reason.to_string()
}

#[cfg(any(feature = "candle", not(feature = "gpu")))]
fn missing(message: &str) -> crate::error::SdkError {
    crate::error::SdkError::new(ErrorKind::InvalidOption("device"), message)
}
