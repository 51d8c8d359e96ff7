//! The names of a vision tower's tensors. Parts are named as in GGUF files.

use crate::model::vision::family::VisionFamily;
use crate::weights::Weights;

/// How the names of the tower's and the projector's tensors begin in GGUF files, and which words they contain in folders.
const GGUF_PREFIXES: [&str; 2] = ["v.", "mm."];
const FOLDER_PARTS: [&str; 2] = ["vision_tower.", "multi_modal_projector."];
/// How the names of a tower's tensors begin in folders. Published folders have one level more than newer ones.
const TOWERS: [&str; 4] =
    ["model.vision_tower.vision_model.", "model.vision_tower.", "vision_tower.vision_model.", "vision_tower."];
const PROJECTORS: [&str; 2] = ["model.multi_modal_projector.", "multi_modal_projector."];

/// Whether a tensor belongs to a vision tower or its projector.
pub(crate) fn is_vision(name: &str) -> bool {
    GGUF_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || FOLDER_PARTS.iter().any(|part| name.contains(part))
}

/// Finds the names in one model's files.
pub(crate) struct VisionNames<'a> {
    pub(crate) weights: &'a Weights,
    family: &'static VisionFamily,
}

impl<'a> VisionNames<'a> {
    pub(crate) fn new(weights: &'a Weights, family: &'static VisionFamily) -> Self {
        Self { weights, family }
    }

    /// The name of a part of the tower or the projector, without `.weight` or `.bias`.
    pub(crate) fn part(&self, part: &str) -> String {
        let table = &self.family.names;
        match self.weights {
            Weights::Gguf(_) => part.to_owned(),
            Weights::Folder(_) if part.starts_with("v.") => self.in_folder(&TOWERS, "", table.tower, part),
            Weights::Folder(_) => self.in_folder(&PROJECTORS, "", table.projector, part),
        }
    }

    /// The name of a part of a layer.
    pub(crate) fn in_layer(&self, layer: usize, part: &str) -> String {
        let table = &self.family.names;
        match self.weights {
            Weights::Gguf(_) => format!("v.blk.{layer}.{part}"),
            Weights::Folder(_) => self.in_folder(&TOWERS, &format!("{}{layer}.", table.layers), table.in_layer, part),
        }
    }

    /// The name under which a folder has a part; the first possible one if it has none.
    fn in_folder(&self, prefixes: &[&str], layer: &str, names: &[(&str, &str)], part: &str) -> String {
        let parts = || names.iter().filter(|(gguf, _)| *gguf == part).map(|(_, folder)| folder);
        let mut possible = prefixes.iter().flat_map(|prefix| parts().map(move |part| format!("{prefix}{layer}{part}")));
        let first = possible.clone().next().unwrap_or_else(|| part.to_owned());
        possible.find(|name| self.holds(name)).unwrap_or(first)
    }

    pub(crate) fn holds(&self, name: &str) -> bool {
        self.weights.shape(&format!("{name}.weight")).is_some()
    }
}
