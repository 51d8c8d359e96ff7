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
#[cfg(feature = "candle")]
use crate::model::candle::Candle;
use crate::model::decoder::Decoder;
use crate::model::embedding::EmbeddingModelNetwork;
#[cfg(feature = "gpu")]
use crate::model::gpu::{Wgsl, gpu_error};
use crate::model::hearing::SoundEncoder;
use crate::model::native::{MatrixPacker, Native};
use crate::model::network::Network;
use crate::model::operations::Operations;
use crate::model::pass::DecoderNetwork;
use crate::model::progress::LoadProgress;
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
                    Ok(gpu) => Ok(Self::on_gpu(DecoderGpu { gpu, may_leave }, n_threads(), options.cache_type)),
                    Err(err) if may_leave => {
                        log::info!("the model is computed on the CPU: {err}");
                        Ok(Self::native(n_threads(), options.cache_type))
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
        }
    }

    /// A GPU for decoders, and the CPU for all other parts of a model.
    #[cfg(feature = "gpu")]
    pub(crate) fn on_gpu(gpu: DecoderGpu, n_threads: usize, cache_type: CacheType) -> Self {
        Self::Native { cpu: Arc::new(Cpu::new(n_threads)), cache_type, gpu: Some(gpu) }
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
    pub(super) fn load(self, checkpoint: &Checkpoint, progress: LoadProgress<'_>) -> Result<Box<dyn Network>> {
        match self {
            #[cfg(feature = "gpu")]
            Self::Native { cpu, cache_type, gpu: Some(DecoderGpu { gpu, may_leave }) } => {
                match load_on_gpu(&gpu, cache_type, checkpoint, &mut *progress) {
                    Err(err) if may_leave && err.kind() != ErrorKind::LoadCancelled => {
                        log::info!("the model is computed on the CPU: {err}");
                        load_decoder(Native::new(cpu, cache_type), checkpoint, progress)
                    }
                    loaded => loaded,
                }
            }
            Self::Native { cpu, cache_type, .. } => load_decoder(Native::new(cpu, cache_type), checkpoint, progress),
            #[cfg(feature = "candle")]
            Self::Candle(device) => load_decoder(Candle { device }, checkpoint, progress),
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
    gpu: &Arc<Gpu>,
    cache_type: CacheType,
    checkpoint: &Checkpoint,
    progress: LoadProgress<'_>,
) -> Result<Box<dyn Network>> {
    for difference in gpu.differences() {
        log::warn!("replies of {} may differ from the CPU's: {difference}", gpu.name());
    }
    load_decoder(Wgsl::new(gpu, cache_type)?, checkpoint, progress)
}

#[cfg(any(feature = "candle", not(feature = "gpu")))]
fn missing(message: &str) -> crate::error::SdkError {
    crate::error::SdkError::new(ErrorKind::InvalidOption("device"), message)
}
