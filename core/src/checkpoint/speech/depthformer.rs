//! LFM2-Audio's depthformer, which writes frames of codes: its facts and its tensors.

use crate::checkpoint::architecture::Architecture;
use crate::checkpoint::families::DEPTHFORMER;
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::speech::parts::{MAX_LAYERS, architecture, renamed, shapes};
use crate::error::Result;
use crate::weights::{Tensors, Weights};

/// Codebooks at most; known models have 8.
const MAX_CODEBOOKS: usize = 64;
/// Parts of a layer, and their possible names in the files.
const PARTS: [(&str, &[&str]); 9] = [
    ("attn_norm", &["operator_norm"]),
    ("attn_qkv", &["operator.qkv_proj"]),
    ("attn_output", &["operator.out_proj"]),
    ("attn_q_norm", &["operator.bounded_attention.q_layernorm", "operator.attention.q_layernorm"]),
    ("attn_k_norm", &["operator.bounded_attention.k_layernorm", "operator.attention.k_layernorm"]),
    ("ffn_norm", &["ffn_norm"]),
    ("ffn_gate", &["feed_forward.w1"]),
    ("ffn_down", &["feed_forward.w2"]),
    ("ffn_up", &["feed_forward.w3"]),
];

/// The tensors and the facts of a depthformer.
pub(crate) struct DepthformerCheckpoint {
    pub(crate) architecture: Architecture,
    pub(crate) tensors: Tensors,
    /// Codes of a frame.
    pub(crate) n_codebooks: usize,
    /// Values of a row in the depthformer.
    pub(crate) width: usize,
    /// Values of a row of the decoder.
    pub(crate) hidden: usize,
    /// Codes of a codebook, the last of which ends the sound.
    pub(crate) n_codes: usize,
}

impl DepthformerCheckpoint {
    /// Finds a depthformer in the files of a model, or in a file beside them; `None` if they have none.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for sizes that do not fit together.
    pub(crate) fn read(files: &Weights) -> Result<Option<Self>> {
        let shapes = shapes(files);
        let matrix = |name: &str| match shapes.get(name).map(Vec::as_slice) {
            Some(&[rows, columns]) => Ok((rows, columns)),
            found => Err(invalid(format!("tensor {name} must be a matrix, found {found:?}"))),
        };
        if !shapes.contains_key("depth_linear.weight") {
            return Ok(None);
        }
        let count = |name: fn(usize) -> String, max: usize| {
            (0..max + 1).take_while(|at| shapes.contains_key(&name(*at))).count()
        };
        let n_codebooks = count(|at| format!("depth_embeddings.{at}.embedding.weight"), MAX_CODEBOOKS);
        let n_layers = count(|at| format!("depthformer.layers.{at}.operator_norm.weight"), MAX_LAYERS);
        for (what, found, max) in [("codebooks", n_codebooks, MAX_CODEBOOKS), ("layers", n_layers, MAX_LAYERS)] {
            if !(1..=max).contains(&found) {
                return Err(invalid(format!("a depthformer must have 1 to {max} {what}, found {found}")));
            }
        }
        let (n_codes, width) = matrix("depth_embeddings.0.embedding.weight")?;
        let (rows, hidden) = matrix("depth_linear.weight")?;
        let (n_sums, _) = matrix("audio_embedding.embedding.weight")?;
        if width.checked_mul(n_codebooks) != Some(rows) || n_codes.checked_mul(n_codebooks) != Some(n_sums) {
            return Err(invalid(format!(
                "the embeddings of {n_codebooks} codebooks must fit depth_linear with {rows} rows and audio_embedding with {n_sums}, found {n_codes} codes and a width of {width}"
            )));
        }
        let head_dim = PARTS[3].1.iter().find_map(|norm| shapes.get(&format!("depthformer.layers.0.{norm}.weight")));
        let n_heads = head_dim.and_then(|shape| width.checked_div(*shape.first()?));
        let architecture = architecture(&DEPTHFORMER, (n_layers, n_codebooks), n_heads, None);
        architecture.check()?;
        let tensors = renamed(files, names(n_layers, n_codebooks, &shapes.into_keys().collect::<Vec<_>>()))?;
        Ok(Some(Self { architecture, tensors, n_codebooks, width, hidden, n_codes }))
    }
}

fn names(n_layers: usize, n_codebooks: usize, in_files: &[String]) -> Vec<(String, Vec<String>)> {
    let mut names = Vec::new();
    for layer in 0..n_layers {
        for (part, possible) in PARTS {
            let possible = possible.iter().map(|name| format!("depthformer.layers.{layer}.{name}.weight"));
            names.push((format!("blk.{layer}.{part}.weight"), possible.collect()));
        }
    }
    let mut add = |name: String| names.push((name.clone(), vec![name]));
    ["depth_linear.weight", "depth_linear.bias", "audio_embedding.embedding.weight"]
        .into_iter()
        .for_each(|name| add(name.to_owned()));
    for codebook in 0..n_codebooks {
        for part in ["embedding", "embedding_norm", "to_logits"] {
            let name = format!("depth_embeddings.{codebook}.{part}.weight");
            // Where the matrix of logits is missing, it is that of the embedding.
            if part != "to_logits" || in_files.contains(&name) {
                add(name);
            }
        }
    }
    names
}
