//! Which type each tensor gets: the rules of llama.cpp's `llama-quantize` without an importance matrix.
//!
//! The output matrix, and in the mixed types some of the matrices that matter most, have six bits. Matrices whose rows are not
//! whole blocks fall back to a type with smaller blocks.

use crate::quantise::gguf_type::GgufType;
use crate::weights::TensorType;

/// Names of tensors that stay as they are, beside those that are no matrices: they are small, or convolutions.
const KEPT: [&str; 5] = [
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ssm_conv1d.weight",
    "shortconv.conv.weight",
    "per_layer_model_proj.weight",
];

/// What the choice depends on beside the tensor.
pub(super) struct TypeMixture {
    gguf_type: GgufType,
    n_layers: usize,
    /// Layers with values of attention, or with fused queries, keys and values.
    value_layers: Vec<usize>,
    is_tied: bool,
}

impl TypeMixture {
    /// For a file with these tensors.
    pub(super) fn new<'a>(gguf_type: GgufType, names: impl Iterator<Item = &'a str> + Clone) -> Self {
        let mut value_layers: Vec<usize> = names.clone().filter(|name| holds_values(name)).filter_map(layer).collect();
        value_layers.sort_unstable();
        Self {
            gguf_type,
            n_layers: names.clone().filter_map(layer).max().map_or(0, |last| last + 1),
            value_layers,
            is_tied: names.clone().all(|name| name != "output.weight"),
        }
    }

    /// The type of a tensor; `None` for one that stays as it is.
    pub(super) fn tensor_type(&self, name: &str, shape: &[usize]) -> Option<TensorType> {
        let &[.., _, columns] = shape else { return None };
        let is_kept = !name.ends_with("weight") || KEPT.iter().any(|kept| name.ends_with(kept));
        (!is_kept).then(|| fallback(self.wanted(name), columns))
    }

    fn wanted(&self, name: &str) -> TensorType {
        let is_output = name == "output.weight" || self.is_tied && is_embedding(name);
        let usual = self.gguf_type.tensor_type();
        match self.gguf_type {
            GgufType::Q8_0 => usual,
            _ if is_output => TensorType::Q6K,
            GgufType::Q4KM | GgufType::Q5KM if self.has_more_bits(name) => TensorType::Q6K,
            _ => usual,
        }
    }

    /// Whether this is one of the matrices of values or of `ffn_down` that have six bits in mixed types.
    fn has_more_bits(&self, name: &str) -> bool {
        let Some(layer) = layer(name) else { return false };
        if holds_values(name) {
            let place = self.value_layers.iter().position(|other| *other == layer);
            return place.is_some_and(|place| has_more_bits(place, self.value_layers.len()));
        }
        name.contains("ffn_down") && has_more_bits(layer, self.n_layers)
    }
}

/// The first and the last eighth of the layers, and every third one between them.
fn has_more_bits(layer: usize, n_layers: usize) -> bool {
    let eighth = n_layers / 8;
    layer < eighth || 7 * n_layers / 8 <= layer || (layer - eighth) % 3 == 2
}

fn is_embedding(name: &str) -> bool {
    ["token_embd.weight", "per_layer_token_embd.weight"].contains(&name)
}

fn holds_values(name: &str) -> bool {
    ["attn_v.weight", "attn_qkv.weight"].iter().any(|part| name.ends_with(part))
}

/// The layer of a tensor `blk.N.…`.
fn layer(name: &str) -> Option<usize> {
    name.strip_prefix("blk.")?.split('.').next()?.parse().ok()
}

/// The type itself if rows of this length are whole blocks, otherwise one with smaller blocks.
fn fallback(wanted: TensorType, columns: usize) -> TensorType {
    let smaller = match wanted {
        TensorType::Q4K => TensorType::Q5_0,
        TensorType::Q5K => TensorType::Q5_1,
        TensorType::Q6K => TensorType::Q8_0,
        other => other,
    };
    let fits = |tensor_type: &TensorType| columns.is_multiple_of(tensor_type.block());
    [wanted, smaller].into_iter().find(fits).unwrap_or(TensorType::F16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(gguf_type: GgufType, names: &[&str], columns: usize) -> Vec<Option<TensorType>> {
        let mixture = TypeMixture::new(gguf_type, names.iter().copied());
        names.iter().map(|name| mixture.tensor_type(name, &[8, columns])).collect()
    }

    #[test]
    fn vectors_norms_and_routers_stay_as_they_are() {
        let mixture = TypeMixture::new(GgufType::Q4_0, [].into_iter());
        assert_eq!(mixture.tensor_type("blk.0.attn_q.weight", &[256]), None);
        for name in
            ["blk.0.attn_norm.weight", "blk.0.ffn_gate_inp.weight", "blk.0.shortconv.conv.weight", "blk.0.ssm_a"]
        {
            assert_eq!(mixture.tensor_type(name, &[8, 256]), None, "{name}");
        }
    }

    #[test]
    fn the_matrix_that_gives_the_logits_has_six_bits() {
        use TensorType::{Q4_0, Q4K, Q6K, Q8_0};
        let tied = |gguf_type| types(gguf_type, &["token_embd.weight"], 512)[0];
        let apart = |gguf_type| types(gguf_type, &["token_embd.weight", "output.weight"], 512);
        assert_eq!([GgufType::Q4_0, GgufType::Q4KM, GgufType::Q8_0].map(tied), [Some(Q6K), Some(Q6K), Some(Q8_0)]);
        assert_eq!(apart(GgufType::Q4_0), [Some(Q4_0), Some(Q6K)]);
        assert_eq!(apart(GgufType::Q4KM), [Some(Q4K), Some(Q6K)]);
    }

    #[test]
    fn rows_that_are_not_whole_blocks_fall_back() {
        use TensorType::{F16, Q5_0, Q5_1, Q8_0};
        for (gguf_type, expect) in [(GgufType::Q4KM, Q5_0), (GgufType::Q5KM, Q5_1), (GgufType::Q6K, Q8_0)] {
            assert_eq!(types(gguf_type, &["blk.0.attn_q.weight", "output.weight"], 96), [Some(expect), Some(Q8_0)]);
            assert_eq!(types(gguf_type, &["blk.0.attn_q.weight"], 100), [Some(F16)]);
        }
        assert_eq!(types(GgufType::Q4_0, &["blk.0.attn_q.weight", "output.weight"], 48), [Some(F16), Some(F16)]);
    }
}
