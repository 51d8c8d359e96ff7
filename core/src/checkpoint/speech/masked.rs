//! LFM3-Audio's writer of frames, whose codes are revealed in passes: its facts and its tensors, which are in the projector file.

use crate::checkpoint::architecture::Architecture;
use crate::checkpoint::families::MASKED_FRAMES;
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::speech::parts::{MAX_LAYERS, architecture, block_names, renamed, shapes};
use crate::error::Result;
use crate::options::FrameSampling;
use crate::weights::{Tensors, Weights};

const PREFIX: &str = "a.gen.code.";
/// Codebooks at most; known models have 12.
const MAX_CODEBOOKS: usize = 64;

/// The tensors and the facts of a writer of frames.
pub(crate) struct MaskedCheckpoint {
    pub(crate) architecture: Architecture,
    pub(crate) tensors: Tensors,
    /// Codes of a frame.
    pub(crate) n_codebooks: usize,
    /// Values of a row in the writer.
    pub(crate) width: usize,
    /// Values of a row of the decoder.
    pub(crate) hidden: usize,
    /// Codes of a codebook, the last of which ends the sound.
    pub(crate) n_codes: usize,
    pub(crate) sampling: FrameSampling,
}

impl MaskedCheckpoint {
    /// Finds a writer of frames in a projector file; `None` if it has none.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for sizes that do not fit together, and for tensors that are missing.
    pub(crate) fn read(files: &Weights) -> Result<Option<Self>> {
        let shapes = shapes(files);
        let shape = |name: &str| {
            let name = format!("{PREFIX}{name}");
            shapes.get(&name).map(Vec::as_slice).ok_or_else(|| invalid(format!("tensor {name} is missing")))
        };
        if !shapes.keys().any(|name| name.starts_with(PREFIX)) {
            return Ok(None);
        }
        let (embedding, input, sums) = (shape("embd.weight")?, shape("proj_in.weight")?, shape("out_embd.weight")?);
        let (n_codebooks, n_codes, width, hidden) = match (embedding, input, sums) {
            (&[n_codebooks, n_codes, width], &[rows, hidden], &[n_sums, columns])
                if (1..=MAX_CODEBOOKS).contains(&n_codebooks)
                    && 1 < n_codes
                    && n_codebooks.checked_mul(width) == Some(rows)
                    && n_codebooks.checked_mul(n_codes) == Some(n_sums)
                    && columns == hidden =>
            {
                (n_codebooks, n_codes, width, hidden)
            }
            _ => {
                return Err(invalid(format!(
                    "{PREFIX}embd must have a matrix for each of up to {MAX_CODEBOOKS} codebooks that fits proj_in and out_embd, \
                     found shapes {embedding:?}, {input:?} and {sums:?}"
                )));
            }
        };
        let n_layers = (0..MAX_LAYERS).take_while(|at| shape(&format!("blk.{at}.ln1.weight")).is_ok()).count();
        let stated = files.metadata_count("clip.gen.audio.block_count")?;
        if n_layers == 0 || stated.is_some_and(|stated| stated != n_layers) {
            return Err(invalid(format!(
                "clip.gen.audio.block_count must count the layers of {PREFIX}blk, found {stated:?} and {n_layers} layers"
            )));
        }
        let mut architecture = architecture(&MASKED_FRAMES, (n_layers, n_codebooks), None, None);
        let epsilon = files.metadata_float("clip.gen.audio.attention.layer_norm_epsilon")?;
        architecture.norm_eps = epsilon.unwrap_or(architecture.norm_eps);
        architecture.check()?;
        let tensors = renamed(files, names(n_layers))?;
        Ok(Some(Self { architecture, tensors, n_codebooks, width, hidden, n_codes, sampling: sampling(files)? }))
    }
}

/// How the file says that codes are drawn; what it leaves out is as in LFM3-Omni.
fn sampling(files: &Weights) -> Result<FrameSampling> {
    let float = |key: &str| files.metadata_float(&format!("clip.gen.audio.sampling.{key}"));
    let count = |key: &str| {
        let found = files.metadata_integer(&format!("clip.gen.audio.sampling.{key}"))?;
        Ok::<_, crate::error::SdkError>(found.map(|count| usize::try_from(count).unwrap_or(0)))
    };
    let sampling = FrameSampling {
        temperature: float("temp")?.unwrap_or(0.4).max(0.0),
        top_k: count("top_k")?.unwrap_or(0),
        repetition_penalty: float("penalty_repeat")?.unwrap_or(1.2),
        penalty_window: count("penalty_last_n")?.unwrap_or(64),
    };
    let is_valid = |value: f32| value.is_finite() && 0.0 <= value;
    if is_valid(sampling.temperature) && is_valid(sampling.repetition_penalty) {
        return Ok(sampling);
    }
    Err(invalid(format!("clip.gen.audio.sampling must have numbers that are not negative, found {sampling:?}")))
}

fn names(n_layers: usize) -> Vec<(String, Vec<String>)> {
    let others = [
        "proj_in.weight",
        "proj_in.bias",
        "embd.weight",
        "out_embd.weight",
        "output_norm.weight",
        "head_norm.weight",
        "mask_embd",
    ];
    let mut names = block_names(&format!("{PREFIX}blk."), n_layers);
    names.extend(others.map(|name| (name.to_owned(), vec![format!("{PREFIX}{name}")])));
    names
}
