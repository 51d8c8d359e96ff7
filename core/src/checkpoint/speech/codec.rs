//! What turns frames of codes into sound: the detokenizer of LFM2.5-Audio.

use crate::checkpoint::architecture::Architecture;
use crate::checkpoint::families::DETOKENIZER;
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::speech::parts::{MAX_LAYERS, architecture, renamed, shapes};
use crate::error::Result;
use crate::weights::{Tensors, Weights};

/// Positions that attention reads, including its own. The files of tensors do not say it.
const WINDOW: usize = 30;
/// A reply of half an hour has 135,000 positions. Positions up to here are exact in f32.
const MAX_POSITIONS: usize = 1 << 24;
/// Codes of a codebook. The embedding of all codebooks is one table.
const N_CODES: usize = 2048;

/// Tensors outside of layers, with their possible names.
const OTHERS: [(&str, &[&str]); 4] = [
    ("output_norm.weight", &["token_embd_norm.weight", "output_norm.weight", "lfm.embedding_norm.weight"]),
    ("spectrum.weight", &["dense_2.weight", "lin.weight"]),
    ("spectrum.bias", &["dense_2.bias", "lin.bias"]),
    ("codes.weight", &["emb.emb.weight"]),
];

/// The tensors and the facts of a detokenizer.
pub(crate) struct CodecCheckpoint {
    pub(crate) architecture: Architecture,
    pub(crate) tensors: Tensors,
    pub(crate) n_codebooks: usize,
    /// Codes of a codebook that have a sound.
    pub(crate) n_codes: usize,
    /// Values of a row.
    pub(crate) width: usize,
}

impl CodecCheckpoint {
    /// Finds a detokenizer. Its table of codes may be in another file than its layers.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for sizes that do not fit together.
    pub(crate) fn read(files: &[&Weights]) -> Result<Option<Self>> {
        let all: Vec<_> = files.iter().map(|files| shapes(files)).collect();
        let find = |names: &[&str]| {
            names.iter().find_map(|name| all.iter().find_map(|shapes| shapes.get(*name)).map(Vec::as_slice))
        };
        let first = |layer: usize| {
            [format!("blk.{layer}.attn_norm.weight"), format!("lfm.layers.{layer}.operator_norm.weight")]
        };
        let has_layer = |layer: usize| find(&first(layer).each_ref().map(String::as_str)).is_some();
        let (Some(spectrum), Some(codes), true) = (find(OTHERS[1].1), find(OTHERS[3].1), has_layer(0)) else {
            return Ok(None);
        };
        let n_layers = (0..MAX_LAYERS).take_while(|layer| has_layer(*layer)).count();
        let (n_codebooks, width) = match (spectrum, codes) {
            (&[_, width], &[n_rows, columns]) if columns == width && n_rows % N_CODES == 0 => (n_rows / N_CODES, width),
            _ => {
                return Err(invalid(format!(
                    "the table of codes must have {N_CODES} rows for each codebook, as wide as the map to the spectrum, found shapes {codes:?} and {spectrum:?}"
                )));
            }
        };
        let architecture = architecture(&DETOKENIZER, (n_layers, MAX_POSITIONS), None, Some(WINDOW));
        architecture.check()?;
        let mut tensors = Tensors::default();
        for files in files {
            tensors.extend(renamed(files, names(n_layers))?);
        }
        Ok(Some(Self { architecture, tensors, n_codebooks, n_codes: N_CODES, width }))
    }
}

fn names(n_layers: usize) -> Vec<(String, Vec<String>)> {
    let others =
        OTHERS.map(|(name, possible)| (name.to_owned(), possible.iter().map(|&name| name.to_owned()).collect()));
    let mut names = Vec::from(others);
    for layer in 0..n_layers {
        for part in DETOKENIZER.parts() {
            // In a GGUF file of the detokenizer alone, and in folders and files that hold all parts that speak.
            let name = format!("blk.{layer}.{part}.weight");
            let in_folder = DETOKENIZER.folder_names(part).map(|part| format!("lfm.layers.{layer}.{part}.weight"));
            names.push((name.clone(), [name].into_iter().chain(in_folder).collect()));
        }
    }
    names
}
