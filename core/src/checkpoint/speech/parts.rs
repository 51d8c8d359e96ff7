//! The tensors of a part of a model, under the names that its network uses.

use std::collections::HashMap;

use crate::checkpoint::architecture::{Architecture, LayerPlan, Scales};
use crate::checkpoint::families::Family;
use crate::checkpoint::folder_tensors::{FolderTensors, RowChange};
use crate::checkpoint::rope::{RopeScaling, RopeSettings};
use crate::checkpoint::stated::StatedSizes;
use crate::error::Result;
use crate::weights::{Tensor, Tensors, Weights};

/// Layers of a part at most; known ones have 6 and 8.
pub(super) const MAX_LAYERS: usize = 64;

/// The names of all tensors in the files, with their shapes.
pub(super) fn shapes(files: &Weights) -> HashMap<String, Vec<usize>> {
    files.tensors().map(|tensor| (tensor.name.to_owned(), tensor.shape.to_vec())).collect()
}

/// Tensors under new names, each from the first of its possible names that the files have.
pub(super) fn renamed(files: &Weights, names: Vec<(String, Vec<String>)>) -> Result<Tensors> {
    match files {
        Weights::Gguf(file) => {
            let mut in_file: HashMap<String, Tensor> = file.named_tensors().collect();
            let mut tensors = Tensors::default();
            for (name, possible) in names {
                let found = possible.iter().find(|name| in_file.contains_key(*name)).or(possible.first()).cloned();
                let Some(found) = found else { continue };
                if let Some(tensor) = in_file.remove(&found) {
                    tensors.insert(name.clone(), tensor);
                }
                tensors.name_in_files(name, found);
            }
            Ok(tensors)
        }
        Weights::Folder(folder) => {
            let mut found = FolderTensors::new(folder);
            for (name, possible) in names {
                found.add(name, &possible, RowChange::default())?;
            }
            Ok(found.tensors)
        }
    }
}

/// The facts of a stack of layers that no description gives.
pub(super) fn architecture(
    family: &'static Family,
    (n_layers, n_positions): (usize, usize),
    n_heads: Option<usize>,
    window: Option<usize>,
) -> Architecture {
    let rope =
        RopeSettings { theta: family.default_theta, scaling: RopeScaling::None, n_rotated: None, query_growth: None };
    Architecture {
        family,
        name: family.gguf,
        n_further_layers: 0,
        stated: StatedSizes::default(),
        norm_eps: 1e-5,
        context_size: n_positions,
        n_heads,
        head_dim: None,
        n_delta_keys: None,
        sliding_rope: rope.clone(),
        rope,
        layers: vec![LayerPlan { window, has_rope: true, key_values_of: None }; n_layers],
        mixture: None,
        scales: Scales::default(),
    }
}
