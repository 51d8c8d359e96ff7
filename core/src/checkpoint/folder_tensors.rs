//! Tensors of a folder under names of GGUF files, with their rows and columns in the order of those.

use std::collections::HashMap;

use crate::checkpoint::invalid::invalid;
use crate::error::Result;
use crate::weights::{FileBytes, Folder, MappedRows, Tensor, TensorSource, TensorType, Tensors};

/// Values of a norm at most: more than any model has.
const MAX_NORM: usize = 1 << 20;

/// How the rows of a tensor change.
#[derive(Clone, Default)]
pub(crate) struct RowChange {
    /// For each row its place in the folder, if the order differs.
    pub(crate) order: Option<Vec<usize>>,
    /// For each column its place in the folder, if the order differs.
    pub(crate) columns: Option<Vec<usize>>,
    /// Whether values are one more than in the folder.
    pub(crate) adds_one: bool,
}

impl RowChange {
    pub(crate) fn order(order: Option<Vec<usize>>) -> Self {
        Self { order, ..Self::default() }
    }

    /// Columns that are in other places in the folder.
    pub(crate) fn columns(columns: Vec<usize>) -> Self {
        Self { columns: Some(columns), ..Self::default() }
    }

    fn is_none(&self) -> bool {
        self.order.is_none() && self.columns.is_none() && !self.adds_one
    }
}

/// A folder, and its tensors that were found.
pub(crate) struct FolderTensors<'a> {
    pub(crate) folder: &'a Folder,
    pub(crate) tensors: Tensors,
    /// Names in the folder, each with the name of the tensor that it became a part of.
    pub(crate) used: HashMap<String, String>,
}

impl<'a> FolderTensors<'a> {
    pub(crate) fn new(folder: &'a Folder) -> Self {
        Self { folder, tensors: Tensors::default(), used: HashMap::new() }
    }

    /// The values of a small tensor.
    pub(crate) fn values(&self, in_folder: &str, file: &FileBytes) -> Result<Vec<f32>> {
        file.values().map_err(|err| invalid(format!("cannot read tensor {in_folder}")).caused_by(err))
    }

    /// Adds a tensor under its name in GGUF files, if the folder has it under one of its possible names. Convolutions lose the
    /// middle dimension of their shape.
    pub(crate) fn add(&mut self, name: String, possible: &[String], change: RowChange) -> Result<()> {
        let found = possible.iter().find(|name| self.folder.shape(name).is_some());
        let shape = |in_folder: &String| self.folder.shape(in_folder).map(squeezed).unwrap_or_default();
        let shape = found.map(shape);
        self.add_shaped(name, possible, shape, change)
    }

    /// As [`add`](Self::add), with the shape of the result before the number of rows changes.
    pub(crate) fn add_shaped(
        &mut self,
        name: String,
        possible: &[String],
        shape: Option<Vec<usize>>,
        change: RowChange,
    ) -> Result<()> {
        let found = possible.iter().find(|name| self.folder.shape(name).is_some()).or(possible.first());
        let Some(in_folder) = found.cloned() else { return Ok(()) };
        self.tensors.name_in_files(name.clone(), in_folder.clone());
        let (Some(shape), Some(file)) = (shape, self.folder.tensor(&in_folder)) else {
            if let Some(found) = possible.iter().find_map(|name| self.folder.unreadable(name)) {
                self.tensors.insert_unreadable(name, found.to_string());
            }
            return Ok(());
        };
        let tensor = self.changed(&in_folder, shape, file, change)?;
        self.used.insert(in_folder, name.clone());
        self.tensors.insert(name, tensor);
        Ok(())
    }

    fn changed(&self, in_folder: &str, mut shape: Vec<usize>, file: FileBytes, change: RowChange) -> Result<Tensor> {
        let tensor_type = file.tensor_type();
        if change.adds_one {
            if !matches!(shape[..], [0..=MAX_NORM]) {
                return Err(invalid(format!(
                    "tensor {in_folder} must be a vector of at most {MAX_NORM} values, found shape {shape:?}"
                )));
            }
            let values: Vec<f32> = self.values(in_folder, &file)?.into_iter().map(|value| value + 1.0).collect();
            return Ok(Tensor::new(TensorType::F32, shape, TensorSource::of_values(&values)));
        }
        if change.is_none() {
            return Ok(Tensor::new(tensor_type, shape, TensorSource::File(file)));
        }
        let in_parts = self.folder.shape(in_folder).unwrap_or_default();
        let n_columns = in_parts.iter().skip(1).product();
        if let (Some(order), Some(n_rows)) = (&change.order, shape.first_mut()) {
            *n_rows = order.len();
        }
        let rows = MappedRows::new(vec![file], n_columns, change.order, change.columns);
        let wrong = || invalid(format!("tensor {in_folder} has too few rows or columns, found shape {in_parts:?}"));
        Ok(Tensor::new(tensor_type, shape, TensorSource::Rows(rows.ok_or_else(wrong)?)))
    }
}

/// The shape without the middle dimension of convolutions.
fn squeezed(shape: &[usize]) -> Vec<usize> {
    match shape {
        &[rows, 1, columns] => vec![rows, columns],
        shape => shape.to_vec(),
    }
}
