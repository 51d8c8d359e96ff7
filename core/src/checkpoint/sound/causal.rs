//! The encoder of LFM3-Audio: a stack of causal layers after three convolutions. Its facts and its tensors, which are in the projector file.

use crate::checkpoint::architecture::Architecture;
use crate::checkpoint::families::SOUND_STACK;
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::speech::parts::{architecture, block_names, renamed};
use crate::error::Result;
use crate::weights::{Tensors, Weights};

/// Rows that attention reads, including its own, if the file does not say it.
const WINDOW: usize = 32;
/// A recording of a day has a million rows. Positions up to here are exact in f32.
const MAX_POSITIONS: usize = 1 << 24;
/// Tensors outside of layers.
const OTHERS: [&str; 8] = [
    "a.conv1d.0",
    "a.conv1d.2",
    "a.conv1d.3",
    "a.conv1d.5",
    "a.conv1d.6",
    "a.pre_encode.out",
    "mm.a.mlp.1",
    "mm.a.mlp.3",
];
const NORMS: [&str; 3] = ["a.post_ln.weight", "mm.a.mlp.0.weight", "mm.a.mlp.0.bias"];

/// The tensors and the facts of a causal encoder.
pub(crate) struct CausalEncoderCheckpoint {
    /// The facts of the layers.
    pub(crate) architecture: Architecture,
    pub(crate) tensors: Tensors,
}

impl CausalEncoderCheckpoint {
    /// Reads an encoder of `n_layers` layers.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for facts that are impossible.
    pub(crate) fn read(files: &Weights, n_layers: usize, norm_eps: f32) -> Result<Self> {
        let window = files.metadata_count("clip.audio.window_size")?.unwrap_or(WINDOW);
        if window == 0 {
            return Err(invalid("clip.audio.window_size must be 1 or more, found 0"));
        }
        let mut architecture = architecture(&SOUND_STACK, (n_layers, MAX_POSITIONS), None, Some(window));
        architecture.norm_eps = norm_eps;
        architecture.check()?;
        let mut names = block_names("a.blk.", n_layers);
        let with_bias = |name: &str| ["weight", "bias"].map(|kind| format!("{name}.{kind}"));
        let others = OTHERS.into_iter().flat_map(with_bias).chain(NORMS.map(str::to_owned));
        names.extend(others.map(|name| (name.clone(), vec![name])));
        Ok(Self { architecture, tensors: renamed(files, names)? })
    }
}
