//! The tensors of a vision tower and its projector, by their names in GGUF files.

use crate::checkpoint::folder_tensors::{FolderTensors, RowChange};
use crate::checkpoint::vision::description::VisionArchitecture;
use crate::checkpoint::vision::names::is_vision;
use crate::error::Result;
use crate::weights::{Folder, Tensors, Weights};

/// How the names of a tower's tensors begin in folders. Published folders have one level more than newer ones.
const TOWERS: [&str; 6] = [
    "model.vision_tower.vision_model.",
    "model.vision_tower.",
    "vision_tower.vision_model.",
    "vision_tower.",
    "model.visual.",
    "visual.",
];
const PROJECTORS: [&str; 3] = ["model.multi_modal_projector.", "multi_modal_projector.", "model.embed_vision."];
/// The map of patches.
const PATCHES: &str = "v.patch_embd";
/// Frames that a patch may span; a picture fills them all.
const MAX_FRAMES: usize = 8;

impl VisionArchitecture {
    /// The tensors of the tower in the files of a model, or in a projector file.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for a map of patches in another form.
    pub(crate) fn tensors(&self, files: &Weights) -> Result<Tensors> {
        match files {
            Weights::Gguf(file) => Ok(file.named_tensors().filter(|(name, _)| is_vision(name)).collect()),
            Weights::Folder(folder) => self.folder_tensors(folder),
        }
    }

    fn folder_tensors(&self, folder: &Folder) -> Result<Tensors> {
        let mut found = FolderTensors::new(folder);
        let table = &self.family.names;
        for part in parts(table.tower) {
            match part {
                PATCHES => self.add_patches(&mut found)?,
                _ => add(&mut found, part, &TOWERS, "", table.tower, part)?,
            }
        }
        for layer in 0..self.n_layers {
            let prefix = format!("{}{layer}.", table.layers);
            for part in parts(table.in_layer) {
                add(&mut found, &format!("v.blk.{layer}.{part}"), &TOWERS, &prefix, table.in_layer, part)?;
            }
        }
        for part in parts(table.projector) {
            add(&mut found, part, &PROJECTORS, "", table.projector, part)?;
        }
        for (part, in_folder) in table.vectors {
            let possible = TOWERS.iter().chain(&PROJECTORS).map(|prefix| format!("{prefix}{in_folder}"));
            let possible: Vec<String> = possible.collect();
            let shape = possible.iter().find_map(|name| found.folder.shape(name)).map(<[usize]>::to_vec);
            let change = RowChange { adds_one: table.lacks_one == Some(*part), ..RowChange::default() };
            found.add_shaped((*part).to_owned(), &possible, shape, change)?;
        }
        Ok(found.tensors)
    }

    /// GGUF files have convolution kernels, `(hidden, 3, side, side)`, one for each frame that a patch spans. Folders have a map
    /// of patches, `(hidden, side * side * 3)` or `(hidden, 3 * frames * side * side)`, or a kernel for all frames, `(hidden, 3, frames,
    /// side, side)`.
    fn add_patches(&self, found: &mut FolderTensors<'_>) -> Result<()> {
        let possible = |end: &str| names(&TOWERS, "", self.family.names.tower, PATCHES, end);
        found.add(format!("{PATCHES}.bias"), &possible(".bias"), RowChange::default())?;
        let (side, names) = (self.rules.patch, possible(".weight"));
        let shape = names.iter().find_map(|name| found.folder.shape(name));
        let (area, n_columns) = (side * side, 3 * side * side);
        let n_frames = |columns: usize| match self.family.has_channels_first {
            true => {
                Some(columns / n_columns).filter(|n| columns.is_multiple_of(n_columns) && (1..=MAX_FRAMES).contains(n))
            }
            false => Some(1).filter(|_| columns == n_columns),
        };
        let Some((hidden, n_frames)) = (match shape {
            Some(&[hidden, columns]) => n_frames(columns).map(|n_frames| (hidden, n_frames)),
            // Kernels of a convolution.
            Some([hidden, kernel @ ..]) if self.family.has_channels_first => {
                let n_columns = kernel.iter().try_fold(1usize, |n, size| n.checked_mul(*size));
                n_columns.and_then(n_frames).map(|n_frames| (*hidden, n_frames))
            }
            _ => None,
        }) else {
            return found.add(format!("{PATCHES}.weight"), &names, RowChange::default()); // which is refused later
        };
        for frame in 0..n_frames {
            let place = |at: usize| match self.family.has_channels_first {
                true => (at / area * n_frames + frame) * area + at % area,
                false => at % area * 3 + at / area,
            };
            let name = if frame == 0 { format!("{PATCHES}.weight") } else { format!("{PATCHES}.weight.{frame}") };
            let change = RowChange::columns((0..n_columns).map(place).collect());
            found.add_shaped(name, &names, Some(vec![hidden, 3, side, side]), change)?;
        }
        Ok(())
    }
}

/// The parts of a table.
fn parts(table: &'static [(&'static str, &'static str)]) -> Vec<&'static str> {
    let mut parts: Vec<_> = table.iter().map(|(part, _)| *part).collect();
    parts.dedup();
    parts
}

/// The possible names of a part in folders.
fn names(prefixes: &[&str], layer: &str, table: &[(&str, &str)], part: &str, end: &str) -> Vec<String> {
    let parts = || table.iter().filter(|(gguf, _)| *gguf == part).map(|(_, in_folder)| in_folder);
    prefixes.iter().flat_map(|prefix| parts().map(move |part| format!("{prefix}{layer}{part}{end}"))).collect()
}

/// Adds the weights and the bias of a part, and the ranges of a map's inputs and outputs.
fn add(
    found: &mut FolderTensors<'_>,
    name: &str,
    prefixes: &[&str],
    layer: &str,
    table: &[(&str, &str)],
    part: &str,
) -> Result<()> {
    for end in [".weight", ".bias"] {
        found.add(format!("{name}{end}"), &names(prefixes, layer, table, part, end), RowChange::default())?;
    }
    let possible = names(prefixes, layer, table, part, "");
    let maps: Vec<&str> = possible.iter().filter_map(|name| name.strip_suffix(".linear")).collect();
    if !maps.is_empty() {
        for end in ["input_min", "input_max", "output_min", "output_max"] {
            let possible: Vec<String> = maps.iter().map(|map| format!("{map}.{end}")).collect();
            found.add(format!("{name}.{end}"), &possible, RowChange::default())?;
        }
    }
    Ok(())
}
