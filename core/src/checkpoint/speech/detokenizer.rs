//! The detokenizers of LFM2.5-Audio and LFM3-Audio, which differ in how codes become rows: their facts and their tensors.

use crate::checkpoint::architecture::Architecture;
use crate::checkpoint::families::{DETOKENIZER, LEVEL_CODEC};
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::speech::parts::{MAX_LAYERS, architecture, block_names, renamed, shapes};
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
pub(crate) struct DetokenizerCheckpoint {
    pub(crate) architecture: Architecture,
    pub(crate) tensors: Tensors,
    pub(crate) codes: CodeRows,
    pub(crate) n_codebooks: usize,
    /// Codes of a codebook that have a sound.
    pub(crate) n_codes: usize,
    /// Values of a row.
    pub(crate) width: usize,
}

/// How the codes of a frame become a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeRows {
    /// The mean of the codes' embeddings, which are one table of all codebooks.
    Embeddings,
    /// Levels of each code, the same in all codebooks, side by side, and two maps after them: to `inner` values, and to a row.
    Levels { n_levels: usize, inner: usize },
}

const LEVEL_PREFIX: &str = "a.gen.wav.";
/// Tensors of LFM3-Audio's detokenizer outside of layers, each with its name in the file.
const LEVEL_OTHERS: [(&str, &str); 8] = [
    ("output_norm.weight", "tfm.output_norm.weight"),
    ("spectrum.weight", "tfm.out_proj.weight"),
    ("spectrum.bias", "tfm.out_proj.bias"),
    ("levels.weight", "quant.first.codebook.weight"),
    ("levels_out.weight", "quant.first.out_proj.weight"),
    ("levels_out.bias", "quant.first.out_proj.bias"),
    ("rows.weight", "tfm.in_proj.weight"),
    ("rows.bias", "tfm.in_proj.bias"),
];

impl DetokenizerCheckpoint {
    /// Finds the detokenizer of LFM3-Audio in a projector file; `None` if it has none.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for sizes that do not fit together, and for tensors that are missing.
    pub(crate) fn read_levels(files: &Weights) -> Result<Option<Self>> {
        let shapes = shapes(files);
        if !shapes.keys().any(|name| name.starts_with(LEVEL_PREFIX)) {
            return Ok(None);
        }
        let matrix = |name: &str| {
            let name = format!("{LEVEL_PREFIX}{name}");
            match shapes.get(&name).map(Vec::as_slice) {
                Some(&[rows, columns]) => Ok((rows, columns)),
                Some(shape) => Err(invalid(format!("tensor {name} must be a matrix, found shape {shape:?}"))),
                None => Err(invalid(format!("tensor {name} is missing"))),
            }
        };
        let (n_codes, n_levels) = matrix("quant.first.codebook.weight")?;
        let (inner, n_inputs) = matrix("quant.first.out_proj.weight")?;
        let (width, _) = matrix("tfm.in_proj.weight")?;
        if n_levels == 0 || n_inputs % n_levels != 0 {
            return Err(invalid(format!(
                "{LEVEL_PREFIX}quant.first.out_proj must read {n_levels} levels of each codebook, found {n_inputs} columns"
            )));
        }
        let prefix = format!("{LEVEL_PREFIX}tfm.blk.");
        let n_layers =
            (0..MAX_LAYERS).take_while(|at| shapes.contains_key(&format!("{prefix}{at}.ln1.weight"))).count();
        let architecture = architecture(&LEVEL_CODEC, (n_layers, MAX_POSITIONS), None, Some(WINDOW));
        architecture.check()?;
        let mut names = block_names(&prefix, n_layers);
        names.extend(LEVEL_OTHERS.map(|(name, in_file)| (name.to_owned(), vec![format!("{LEVEL_PREFIX}{in_file}")])));
        let tensors = renamed(files, names)?;
        let codes = CodeRows::Levels { n_levels, inner };
        Ok(Some(Self { architecture, tensors, codes, n_codebooks: n_inputs / n_levels, n_codes, width }))
    }

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
        let codes = CodeRows::Embeddings;
        Ok(Some(Self { architecture, tensors, codes, n_codebooks, n_codes: N_CODES, width }))
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
