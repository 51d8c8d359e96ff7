//! The tensors of an encoder of sound, by their names in GGUF files.

use crate::checkpoint::folder_tensors::{FolderTensors, RowChange};
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::sound::description::HearingArchitecture;
use crate::error::Result;
use crate::weights::{Folder, Tensor, TensorSource, TensorType, Tensors, Weights};

/// Added to variances by the norms after convolutions.
const VARIANCE_EPSILON: f32 = 1e-5;

impl HearingArchitecture {
    /// The tensors of the encoder in the files of a model, or in a projector file.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for a norm that cannot be read.
    pub(crate) fn tensors(&self, files: &Weights) -> Result<Tensors> {
        match files {
            Weights::Gguf(file) => Ok(file.named_tensors().filter(|(name, _)| self.reads(name)).collect()),
            Weights::Folder(folder) => self.folder_tensors(folder),
        }
    }

    fn folder_tensors(&self, folder: &Folder) -> Result<Tensors> {
        let mut found = FolderTensors::new(folder);
        let table = &self.family.names;
        for (part, in_folder) in table.outside {
            add(&mut found, part, in_folder)?;
        }
        for layer in 0..self.n_layers {
            let (prefix, folder_prefix) = (format!("a.blk.{layer}."), format!("{}{layer}.", table.layers));
            for (part, in_folder) in table.in_layer {
                add(&mut found, &format!("{prefix}{part}"), &format!("{folder_prefix}{in_folder}"))?;
            }
            for (part, in_folder) in table.vectors {
                let in_folder = format!("{folder_prefix}{in_folder}");
                found.add(format!("{prefix}{part}"), &[in_folder], RowChange::default())?;
            }
            if let Some((part, in_folder)) = table.folded_norm {
                fold(&mut found, &format!("{prefix}{part}"), &format!("{folder_prefix}{in_folder}"))?;
            }
            if let Some((part, in_folder)) = table.softplus {
                soften(&mut found, format!("{prefix}{part}"), &format!("{folder_prefix}{in_folder}"))?;
            }
        }
        Ok(found.tensors)
    }
}

/// Adds the weights and the bias of a part. Convolutions over single places are maps, without the last dimension of their shape.
fn add(found: &mut FolderTensors<'_>, part: &str, in_folder: &str) -> Result<()> {
    for end in [".weight", ".bias"] {
        let (name, in_folder) = (format!("{part}{end}"), format!("{in_folder}{end}"));
        match found.folder.shape(&in_folder) {
            Some(&[rows, columns, 1]) => {
                found.add_shaped(name, &[in_folder], Some(vec![rows, columns]), RowChange::default())?;
            }
            _ => found.add(name, &[in_folder], RowChange::default())?,
        }
    }
    if let Some(map) = in_folder.strip_suffix(".linear") {
        for end in ["input_min", "input_max", "output_min", "output_max"] {
            found.add(format!("{part}.{end}"), &[format!("{map}.{end}")], RowChange::default())?;
        }
    }
    Ok(())
}

/// Adds factors of which the folder has `x` as `ln(1 + e^x)`.
fn soften(found: &mut FolderTensors<'_>, name: String, in_folder: &str) -> Result<()> {
    found.tensors.name_in_files(name.clone(), in_folder.to_owned());
    let Some(file) = found.folder.tensor(in_folder) else { return Ok(()) }; // which is missing, as loading will say
    let values: Vec<f32> =
        found.values(in_folder, &file)?.into_iter().map(|x| x.max(0.0) + (-x.abs()).exp().ln_1p()).collect();
    let tensor = Tensor::new(TensorType::F32, vec![values.len()], TensorSource::of_values(&values));
    found.tensors.insert(name, tensor);
    Ok(())
}

/// Adds a norm by means and variances as the factors and the shifts that GGUF files have.
fn fold(found: &mut FolderTensors<'_>, part: &str, in_folder: &str) -> Result<()> {
    let kinds = ["weight", "bias", "running_mean", "running_var"].map(|kind| format!("{in_folder}.{kind}"));
    for (kind, in_folder) in ["weight", "bias"].iter().zip(&kinds) {
        found.tensors.name_in_files(format!("{part}.{kind}"), in_folder.clone());
    }
    let mut values = Vec::new();
    for name in &kinds {
        let Some(file) = found.folder.tensor(name) else { return Ok(()) }; // which is missing, as loading will say
        values.push(found.values(name, &file)?);
    }
    let length = values[0].len();
    if let Some((name, values)) = kinds.iter().zip(&values).find(|(_, values)| values.len() != length) {
        return Err(invalid(format!("tensor {name} must have {length} values, found {}", values.len())));
    }
    let factors: Vec<f32> = values[0]
        .iter()
        .zip(&values[3])
        .map(|(weight, variance)| weight / (variance + VARIANCE_EPSILON).sqrt())
        .collect();
    let shifts: Vec<f32> = (0..length).map(|at| values[1][at] - values[2][at] * factors[at]).collect();
    for (kind, values) in [("weight", factors), ("bias", shifts)] {
        let tensor = Tensor::new(TensorType::F32, vec![length], TensorSource::of_values(&values));
        found.tensors.insert(format!("{part}.{kind}"), tensor);
    }
    Ok(())
}
