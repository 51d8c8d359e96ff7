//! What a model computes with: the one place that knows all implementations of [`Network`].

use std::cell::RefCell;
use std::io::{Seek, Write};
use std::sync::Arc;

use causerie_backend::Cpu;

use crate::checkpoint::{
    Checkpoint, CodecCheckpoint, EmbeddingCheckpoint, FrameCheckpoint, HearingArchitecture, VisionArchitecture,
    WhisperCheckpoint,
};
use crate::error::{ErrorKind, Result, SdkError};
#[cfg(feature = "candle")]
use crate::model::candle::Candle;
use crate::model::decoder::Decoder;
use crate::model::embedding::EmbeddingModelNetwork;
use crate::model::hearing::SoundEncoder;
use crate::model::native::{MatrixPacker, Native};
use crate::model::network::Network;
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
    Native { cpu: Arc<Cpu>, cache_type: CacheType },
    #[cfg(feature = "candle")]
    Candle(candle_core::Device),
}

impl Compute {
    /// # Errors
    /// [`ErrorKind::InvalidOption`] if this build, or this machine, does not have the device.
    pub(crate) fn new(options: &LoadOptions) -> Result<Self> {
        match options.device {
            Device::Cpu => {
                let n_threads = options.threads.unwrap_or_else(causerie_backend::fast_cores);
                Ok(Self::native(n_threads, options.cache_type))
            }
            #[cfg(feature = "candle")]
            Device::Metal => candle_core::Device::new_metal(0).map(Self::Candle).map_err(|err| {
                missing("device is Metal, which this build or this machine does not have").caused_by(err)
            }),
            #[cfg(not(feature = "candle"))]
            Device::Metal => Err(missing("device is Metal, which this build does not have")),
        }
    }

    /// The CPU. The number of threads includes the calling one.
    pub(crate) fn native(n_threads: usize, cache_type: CacheType) -> Self {
        Self::Native { cpu: Arc::new(Cpu::new(n_threads)), cache_type }
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

    /// Loads a network that reads whole texts.
    pub(crate) fn load_embedding(&self, checkpoint: &EmbeddingCheckpoint) -> Result<EmbeddingModelNetwork> {
        match self {
            // The keys and values of a text live for one pass only.
            Self::Native { cpu, .. } => {
                EmbeddingModelNetwork::load(|| Native::new(Arc::clone(cpu), CacheType::F32), checkpoint)
            }
            #[cfg(feature = "candle")]
            Self::Candle(device) => EmbeddingModelNetwork::load(|| Candle { device: device.clone() }, checkpoint),
        }
    }

    /// Loads a Whisper model.
    pub(crate) fn load_whisper(&self, checkpoint: &WhisperCheckpoint) -> Result<WhisperModel> {
        match self {
            // The keys and values of the encoder live for one layer only.
            Self::Native { cpu, cache_type } => {
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
        Ok(match self {
            Self::Native { cpu, cache_type } => {
                let native = Native::new(cpu, cache_type);
                Box::new(DecoderNetwork::new(Decoder::load(native, checkpoint, progress)?))
            }
            #[cfg(feature = "candle")]
            Self::Candle(device) => {
                Box::new(DecoderNetwork::new(Decoder::load(Candle { device }, checkpoint, progress)?))
            }
        })
    }
}

fn missing(message: &str) -> SdkError {
    SdkError::new(ErrorKind::InvalidOption("device"), message)
}
