//! Mimi, the codec of the first LFM2-Audio: the facts and the tensors of its decoder, under the names that Kyutai gave them.

use crate::checkpoint::invalid::invalid;
use crate::checkpoint::rope::{RopeScaling, RopeSettings};
use crate::checkpoint::speech::parts::{MAX_LAYERS, renamed, shapes};
use crate::error::Result;
use crate::weights::{Tensors, Weights};

/// Heads of a layer, and positions that attention reads, including its own. The files of tensors do not say them.
const N_HEADS: usize = 8;
const WINDOW: usize = 250;
const THETA: f32 = 10_000.0;
/// Codebooks and stages of convolutions at most; known files have 32 and 4.
const MAX_CODEBOOKS: usize = 64;
const MAX_STAGES: usize = 8;

/// The tensors and the facts of Mimi's decoder.
pub(crate) struct MimiCheckpoint {
    pub(crate) tensors: Tensors,
    pub(crate) n_codebooks: usize,
    /// Codes of a codebook.
    pub(crate) n_codes: usize,
    /// Values of a code's vector.
    pub(crate) code_width: usize,
    /// Values of a position in the transformer, and inside of its blocks.
    pub(crate) width: usize,
    pub(crate) inner: usize,
    pub(crate) n_layers: usize,
    pub(crate) n_heads: usize,
    /// Positions that a position attends to, including itself.
    pub(crate) window: usize,
    pub(crate) rope: RopeSettings,
    /// Stages of convolutions, each of which makes more rows of fewer channels.
    pub(crate) n_stages: usize,
}

impl MimiCheckpoint {
    /// Finds Mimi in a file of tensors; `None` if it has none.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for sizes that do not fit together.
    pub(crate) fn read(files: &Weights) -> Result<Option<Self>> {
        let shapes = shapes(files);
        if !shapes.contains_key(&codebook_name(0, "embedding_sum")) {
            return Ok(None);
        }
        let matrix = |name: &str| match shapes.get(name).map(Vec::as_slice) {
            Some(&[rows, columns] | &[rows, columns, 1]) => Ok((rows, columns)),
            Some(shape) => Err(invalid(format!("tensor {name} must be a matrix, found shape {shape:?}"))),
            None => Err(invalid(format!("tensor {name} is missing"))),
        };
        let count = |name: &dyn Fn(usize) -> String, most: usize| {
            (0..most).take_while(|at| shapes.contains_key(&name(*at))).count()
        };
        let n_layers = count(&|at| format!("{LAYERS}{at}.linear1.weight"), MAX_LAYERS);
        let n_stages = count(&|at| format!("decoder.model.{}.convtr.convtr.weight", 2 + 3 * at), MAX_STAGES);
        let (n_codes, code_width) = matrix(&codebook_name(0, "embedding_sum"))?;
        let (width, _) = matrix("quantizer.rvq_first.output_proj.weight")?;
        let (inner, _) = if n_layers == 0 { (0, 0) } else { matrix(&format!("{LAYERS}0.linear1.weight"))? };
        if n_layers == 0 || n_stages == 0 || !width.is_multiple_of(2 * N_HEADS) {
            return Err(invalid(format!(
                "Mimi must have layers and convolutions, and heads of an even size that divide its width, found {n_layers} layers, \
                 {n_stages} stages and a width of {width}"
            )));
        }
        let n_codebooks = count(&|at| codebook_name(at, "embedding_sum"), MAX_CODEBOOKS);
        let rope = RopeSettings {
            theta: THETA,
            scaling: RopeScaling::None,
            n_rotated: None,
            query_growth: None,
            sections: None,
        };
        Ok(Some(Self {
            tensors: renamed(files, names(n_codebooks, n_layers, n_stages))?,
            n_codebooks,
            n_codes,
            code_width,
            width,
            inner,
            n_layers,
            n_heads: N_HEADS,
            window: WINDOW,
            rope,
            n_stages,
        }))
    }
}

const LAYERS: &str = "decoder_transformer.transformer.layers.";

/// The name of a part of a codebook in the files: the first one stands apart.
fn codebook_name(codebook: usize, part: &str) -> String {
    match codebook.checked_sub(1) {
        None => format!("quantizer.rvq_first.vq.layers.0._codebook.{part}"),
        Some(layer) => format!("quantizer.rvq_rest.vq.layers.{layer}._codebook.{part}"),
    }
}

/// Names, each with those that files may have.
fn names(n_codebooks: usize, n_layers: usize, n_stages: usize) -> Vec<(String, Vec<String>)> {
    let mut names = Vec::new();
    for codebook in 0..n_codebooks {
        for part in ["embedding_sum", "cluster_usage"] {
            names.push((format!("codebooks.{codebook}.{part}"), vec![codebook_name(codebook, part)]));
        }
    }
    for layer in 0..n_layers {
        let name = |part: &str| format!("{LAYERS}{layer}.{part}");
        for part in [
            "norm1.weight",
            "norm1.bias",
            "norm2.weight",
            "norm2.bias",
            "linear1.weight",
            "linear2.weight",
            "layer_scale_1.scale",
            "layer_scale_2.scale",
        ] {
            names.push((name(part), vec![name(part)]));
        }
        // Newer files have a list of maps, of which this decoder has one.
        for (part, newer) in [("in_proj_weight", "in_projs.0.weight"), ("out_proj.weight", "out_projs.0.weight")] {
            let possible = [part, newer].map(|part| name(&format!("self_attn.{part}")));
            names.push((possible[0].clone(), possible.to_vec()));
        }
    }
    let mut add = |name: String| names.push((name.clone(), vec![name]));
    for part in ["rvq_first", "rvq_rest"] {
        add(format!("quantizer.{part}.output_proj.weight"));
    }
    add("upsample.convtr.convtr.convtr.weight".to_owned());
    let mut convolution = |name: String| ["weight", "bias"].into_iter().for_each(|kind| add(format!("{name}.{kind}")));
    convolution("decoder.model.0.conv.conv".to_owned());
    for at in (0..n_stages).map(|stage| 2 + 3 * stage) {
        convolution(format!("decoder.model.{at}.convtr.convtr"));
        [1, 3].into_iter().for_each(|part| convolution(format!("decoder.model.{}.block.{part}.conv.conv", at + 1)));
    }
    convolution(format!("decoder.model.{}.conv.conv", 2 + 3 * n_stages));
    names
}
