//! The sizes of a Whisper model.

use crate::checkpoint::invalid::invalid;
use crate::error::Result;

/// More layers than any model has.
const MAX_LAYERS: usize = 256;
/// Limits of sizes, far above the sizes of known models: 128 bins, 1,280 values, 1,500 and 448 positions.
const MAX_BINS: usize = 1024;
const MAX_POSITIONS: usize = 1 << 16;
const MAX_WIDTH: usize = 1 << 16;
const MAX_TOKENS: usize = 1 << 24;

/// The sizes that a description gives. Widths of inner layers come from the tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WhisperArchitecture {
    /// Bins of a frame of the spectrogram.
    pub(crate) n_bins: usize,
    /// Positions of the encoder: a window has twice as many frames.
    pub(crate) n_sound_positions: usize,
    /// Values of a row.
    pub(crate) hidden: usize,
    pub(crate) n_sound_layers: usize,
    pub(crate) n_sound_heads: usize,
    pub(crate) n_text_layers: usize,
    pub(crate) n_text_heads: usize,
    /// Tokens that the decoder reads and writes at most.
    pub(crate) n_text_positions: usize,
    pub(crate) n_vocabulary: usize,
}

impl WhisperArchitecture {
    /// Frames of the spectrogram in a window.
    pub(crate) fn n_frames(&self) -> usize {
        2 * self.n_sound_positions
    }

    /// Refuses sizes that no model can have.
    pub(super) fn check(&self) -> Result<()> {
        let sizes = [
            ("bins of the spectrogram", self.n_bins, MAX_BINS),
            ("positions of sound", self.n_sound_positions, MAX_POSITIONS),
            ("positions of text", self.n_text_positions, MAX_POSITIONS),
            ("values of a row", self.hidden, MAX_WIDTH),
            ("layers of the encoder", self.n_sound_layers, MAX_LAYERS),
            ("layers of the decoder", self.n_text_layers, MAX_LAYERS),
            ("tokens", self.n_vocabulary, MAX_TOKENS),
        ];
        for (what, found, most) in sizes {
            if !(1..=most).contains(&found) {
                return Err(invalid(format!("the model must have 1 to {most} {what}, found {found}")));
            }
        }
        for (what, n_heads) in [("encoder", self.n_sound_heads), ("decoder", self.n_text_heads)] {
            if n_heads == 0 || !self.hidden.is_multiple_of(n_heads) {
                let hidden = self.hidden;
                return Err(invalid(format!("the heads of the {what} must divide {hidden}, found {n_heads}")));
            }
        }
        // A prompt is half of the text at most, and a reply the other half.
        match self.n_text_positions {
            ..16 => Err(invalid(format!(
                "the model must have 16 or more positions of text, found {}",
                self.n_text_positions
            ))),
            _ => Ok(()),
        }
    }
}
