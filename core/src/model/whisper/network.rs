//! A model with any operations, and the computation of one window of sound.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::checkpoint::{WhisperArchitecture, WhisperCheckpoint};
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::operations::LayerMemory;
use crate::model::whisper::decoder::TextMemory;
use crate::model::whisper::encoder::{BAND, HeardBand, WhisperBuffers};
use crate::model::whisper::operations::SpeechOperations;
use crate::model::whisper::weights::WhisperWeights;

/// A model of any operations.
pub(super) trait LoadedWhisper: Send + Sync {
    fn architecture(&self) -> &WhisperArchitecture;

    fn begin(self: Arc<Self>, frames: &[f32]) -> Result<Box<dyn WindowPass>>;
}

/// The computation of one window, with any operations.
pub(super) trait WindowPass: Send {
    /// Computes a piece of the encoder; returns whether it is complete.
    fn advance(&mut self) -> Result<bool>;

    /// Forgets all but the first tokens.
    fn rewind(&mut self, n_tokens: usize) -> Result<()>;

    /// Computes tokens after those before, and the logits of the rows that are wanted.
    fn write(&mut self, tokens: &[u32], wanted: &[Range<usize>]) -> Result<Vec<f32>>;
}

pub(super) struct WhisperNetwork<O: SpeechOperations> {
    /// The operations of the encoder, which may store keys and values otherwise than the decoder's.
    sound: O,
    text: O,
    weights: WhisperWeights<O>,
    architecture: WhisperArchitecture,
    buffers: Mutex<WhisperBuffers<O>>,
}

/// A window's way through the encoder, and the text over it.
struct NetworkWindow<O: SpeechOperations> {
    network: Arc<WhisperNetwork<O>>,
    /// The spectrogram, `(frames, bins)`.
    frames: O::Rows,
    /// The first convolution of the first frames.
    convolved: O::Rows,
    n_convolved: usize,
    bands: Vec<HeardBand<O>>,
    /// Layers of the encoder that are complete, and bands that the next one has projected and mixed.
    n_layers: usize,
    n_projected: usize,
    n_mixed: usize,
    /// Keys and values of the encoder's next layer.
    mixing: Option<O::KeyValues>,
    /// Whether the encoder's last norm is applied.
    is_normalised: bool,
    /// Keys and values of the sound for the first layers of the decoder.
    heard: Vec<O::KeyValues>,
    /// Keys and values of the text so far.
    past: Vec<O::KeyValues>,
    n_tokens: usize,
}

impl<O: SpeechOperations> WhisperNetwork<O> {
    /// Both operations compute on the same device.
    pub(super) fn load(sound: O, text: O, checkpoint: &WhisperCheckpoint) -> Result<Self> {
        let weights = WhisperWeights::load(&text, checkpoint)?;
        let architecture = checkpoint.architecture.clone();
        Ok(Self { sound, text, weights, architecture, buffers: Mutex::default() })
    }
}

impl<O: SpeechOperations> LoadedWhisper for WhisperNetwork<O> {
    fn architecture(&self) -> &WhisperArchitecture {
        &self.architecture
    }

    fn begin(self: Arc<Self>, values: &[f32]) -> Result<Box<dyn WindowPass>> {
        let (n_frames, n_bins) = (self.architecture.n_frames(), self.architecture.n_bins);
        if values.len() != n_frames * n_bins {
            return Err(internal("a window must have all of its frames"));
        }
        let mut frames = O::Rows::default();
        let write = |at: usize, to: &mut [f32]| to.copy_from_slice(&values[at * n_bins..][..n_bins]);
        self.sound.upload((n_frames, n_bins), write, &mut frames)?;
        Ok(Box::new(NetworkWindow {
            frames,
            convolved: O::Rows::default(),
            n_convolved: 0,
            bands: Vec::new(),
            n_layers: 0,
            n_projected: 0,
            n_mixed: 0,
            mixing: None,
            is_normalised: false,
            heard: Vec::new(),
            past: Vec::new(),
            n_tokens: 0,
            network: self,
        }))
    }
}

impl<O: SpeechOperations> WindowPass for NetworkWindow<O> {
    fn advance(&mut self) -> Result<bool> {
        let network = Arc::clone(&self.network);
        let mut buffers = network.buffers.lock();
        let WhisperNetwork { sound, text, weights, architecture, .. } = &*network;
        let n_positions = architecture.n_sound_positions;
        if self.past.len() == weights.text_layers.len() {
            return Ok(true);
        }
        let n_ready = self.bands.last().map_or(0, |band| band.rows.end);
        if self.n_convolved < architecture.n_frames() {
            let part = self.n_convolved..architecture.n_frames().min(self.n_convolved + 2 * BAND);
            self.n_convolved = part.end;
            weights.convolve_frames(sound, &self.frames, part, &mut self.convolved, &mut buffers)?;
        } else if n_ready < n_positions {
            let rows = n_ready..n_positions.min(n_ready + BAND);
            self.bands.push(weights.begin_band(sound, &self.convolved, rows, &mut buffers)?);
        } else if self.n_layers < weights.sound_layers.len() {
            self.advance_layer(&network, &mut buffers)?;
        } else if !self.is_normalised {
            for HeardBand { stream, .. } in &mut self.bands {
                weights.sound_norm.apply(sound, stream, &[], &mut buffers.inputs)?;
                sound.input_rows(&buffers.inputs, stream)?;
            }
            self.is_normalised = true;
        } else if let Some(layer) = weights.text_layers.get(self.heard.len()) {
            let mut heard = text.key_values(layer.cross.heads)?;
            for HeardBand { rows, stream, .. } in &self.bands {
                layer.hear(text, (stream, rows.len()), &mut heard, &mut buffers)?;
            }
            self.heard.push(heard);
        } else {
            // Only the keys and values of the sound are needed from here on.
            (self.bands, self.frames, self.convolved) = (Vec::new(), O::Rows::default(), O::Rows::default());
            self.past = weights
                .text_layers
                .iter()
                .map(|layer| text.key_values(layer.attention.heads))
                .collect::<Result<_>>()?;
            return Ok(true);
        }
        Ok(false)
    }

    fn rewind(&mut self, n_tokens: usize) -> Result<()> {
        let cannot = || internal("the keys and values of text must be kept");
        let n_back = self.n_tokens.checked_sub(n_tokens).ok_or_else(cannot)?;
        let cut = self.past.iter().map(|past| past.cut(n_tokens, n_back));
        self.past = cut.collect::<Option<_>>().ok_or_else(cannot)?;
        self.n_tokens = n_tokens;
        Ok(())
    }

    fn write(&mut self, tokens: &[u32], wanted: &[Range<usize>]) -> Result<Vec<f32>> {
        let network = Arc::clone(&self.network);
        let WhisperNetwork { text, weights, architecture, .. } = &*network;
        let positions = self.n_tokens..self.n_tokens + tokens.len();
        let is_known = |token: &u32| (*token as usize) < architecture.n_vocabulary;
        if architecture.n_text_positions < positions.end || !tokens.iter().all(is_known) {
            return Err(internal("tokens and their positions must be in the tables of the model"));
        }
        if self.past.len() != weights.text_layers.len() {
            return Err(internal("text is written after the sound was encoded"));
        }
        self.n_tokens = positions.end;
        let memory = TextMemory { past: &mut self.past, heard: &self.heard };
        weights.write(text, (tokens, positions), memory, wanted, &mut network.buffers.lock())
    }
}

impl<O: SpeechOperations> NetworkWindow<O> {
    /// Projects or mixes a band of a layer of the encoder.
    fn advance_layer(&mut self, network: &WhisperNetwork<O>, buffers: &mut WhisperBuffers<O>) -> Result<()> {
        let (sound, layer) = (&network.sound, &network.weights.sound_layers[self.n_layers]);
        let past = match &mut self.mixing {
            Some(past) => past,
            none => none.insert(sound.key_values(layer.attention.heads)?),
        };
        if let Some(band) = self.bands.get_mut(self.n_projected) {
            self.n_projected += 1;
            return layer.project(sound, band, past, buffers);
        }
        if let Some(band) = self.bands.get_mut(self.n_mixed) {
            self.n_mixed += 1;
            layer.mix(sound, band, past, buffers)?;
        }
        if self.n_mixed == self.bands.len() {
            self.n_layers += 1;
            (self.n_projected, self.n_mixed, self.mixing) = (0, 0, None);
        }
        Ok(())
    }
}

fn internal(message: &str) -> SdkError {
    SdkError::new(ErrorKind::Internal, message)
}
