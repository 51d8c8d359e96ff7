//! A Whisper model, whatever computes it.

use std::ops::Range;
use std::sync::Arc;

use crate::checkpoint::{WhisperArchitecture, WhisperCheckpoint};
use crate::error::Result;
use crate::model::whisper::network::{LoadedWhisper, WhisperNetwork, WindowPass};
use crate::model::whisper::operations::SpeechOperations;

/// A Whisper model in memory. Clones share it.
#[derive(Clone)]
pub(crate) struct WhisperModel(Arc<dyn LoadedWhisper>);

/// A window of sound, and the text that is written over it.
pub(crate) struct HeardWindow(Box<dyn WindowPass>);

impl WhisperModel {
    /// Loads a model, with operations for the encoder and for the decoder.
    pub(crate) fn load<O: SpeechOperations>(sound: O, text: O, checkpoint: &WhisperCheckpoint) -> Result<Self> {
        Ok(Self(Arc::new(WhisperNetwork::load(sound, text, checkpoint)?)))
    }

    pub(crate) fn architecture(&self) -> &WhisperArchitecture {
        self.0.architecture()
    }

    /// Begins with the spectrogram of a window, `(frames, bins)`.
    pub(crate) fn begin(&self, frames: &[f32]) -> Result<HeardWindow> {
        Arc::clone(&self.0).begin(frames).map(HeardWindow)
    }
}

impl HeardWindow {
    /// Computes a piece of the encoder; returns whether it is complete. Text can be written afterwards.
    ///
    /// # Errors
    /// A device that fails, or memory that has ended. The window must not be used afterwards.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        self.0.advance()
    }

    /// Forgets all but the first tokens of the text.
    pub(crate) fn rewind(&mut self, n_tokens: usize) -> Result<()> {
        self.0.rewind(n_tokens)
    }

    /// Computes tokens after those before, and the logits of the rows that are wanted.
    pub(crate) fn write(&mut self, tokens: &[u32], wanted: &[Range<usize>]) -> Result<Vec<f32>> {
        self.0.write(tokens, wanted)
    }
}
