//! The rows of a tensor to be written, from a GGUF file or from a folder.

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::{ExportSource, FolderRows};
use crate::weights::{TensorBlocks, TensorType, Weights, dequantise};

/// Values above this have no scale in half precision. No trained weight comes near.
const LARGEST: f32 = 65504.0;

/// Where the values of a tensor come from. Several threads may read at once.
pub(super) enum TensorSource<'a> {
    Parts { parts: Vec<TensorBlocks<'a>>, order: Option<&'a [usize]>, columns: Option<&'a [usize]>, adds_one: bool },
    Values(&'a [f32]),
}

impl<'a> TensorSource<'a> {
    /// A tensor of a GGUF file.
    pub(super) fn of_file(weights: &'a Weights, name: &'a str) -> Result<Self> {
        Ok(Self::Parts { parts: vec![weights.tensor_blocks(name)?], order: None, columns: None, adds_one: false })
    }

    /// A tensor that a folder's tensors make.
    pub(super) fn of_folder(weights: &'a Weights, source: &'a ExportSource) -> Result<Self> {
        match source {
            ExportSource::Values(values) => Ok(Self::Values(values)),
            ExportSource::Folder(FolderRows { names, order, columns, adds_one }) => {
                let parts = names.iter().map(|name| weights.tensor_blocks(name)).collect::<Result<_>>()?;
                Ok(Self::Parts { parts, order: order.as_deref(), columns: columns.as_deref(), adds_one: *adds_one })
            }
        }
    }

    /// The type in the files; parts of a tensor have the same.
    pub(super) fn tensor_type(&self) -> TensorType {
        match self {
            Self::Parts { parts, .. } => parts.first().map_or(TensorType::F32, TensorBlocks::tensor_type),
            Self::Values(_) => TensorType::F32,
        }
    }

    /// Whether the values lie in one tensor as they are.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::Parts { parts, order: None, columns: None, adds_one: false } if parts.len() == 1)
    }

    /// Whether rows have another order than in the files.
    pub(super) fn is_reordered(&self) -> bool {
        matches!(self, Self::Parts { order: Some(_), .. })
    }

    /// Appends the values of a row; rows have `columns` values.
    pub(super) fn read_row(&self, row: usize, columns: usize, values: &mut Vec<f32>) -> Result<()> {
        let start = values.len();
        match self {
            Self::Values(all) => {
                values.extend_from_slice(&all[row * columns..(row + 1) * columns]);
                return Ok(()); // stored as F32, and checked where they come from
            }
            Self::Parts { parts, order, columns: column_order, adds_one } => {
                let row = order.map_or(row, |order| order[row]);
                let n_bytes = row_bytes(columns, self.tensor_type());
                let rows_of_part = parts.first().map_or(0, TensorBlocks::n_bytes) / n_bytes.max(1);
                let (part, row) = (parts.get(row / rows_of_part.max(1)), row % rows_of_part.max(1));
                let part =
                    part.ok_or_else(|| SdkError::new(ErrorKind::ModelLoad, "it has fewer rows than its matrix"))?;
                let blocks = part.read(row * n_bytes..(row + 1) * n_bytes).map_err(|err| part.unreadable(err))?;
                dequantise(part.tensor_type(), &blocks, values);
                if let Some(order) = column_order {
                    let row = values.split_off(start);
                    values.extend(order.iter().map(|column| row[*column]));
                }
                if *adds_one {
                    values[start..].iter_mut().for_each(|value| *value += 1.0);
                }
            }
        }
        match values[start..].iter().find(|value| !value.is_finite() || LARGEST < value.abs()) {
            Some(value) => Err(SdkError::new(
                ErrorKind::ModelLoad,
                format!("weights must be finite and at most {LARGEST}, found {value}"),
            )),
            None => Ok(()),
        }
    }

    /// The bytes of a row in the type of the files.
    pub(super) fn copy_row(&self, row: usize, columns: usize, blocks: &mut Vec<u8>) -> Result<()> {
        if let Self::Parts { parts, .. } = self
            && let [part] = &parts[..]
        {
            let n_bytes = row_bytes(columns, part.tensor_type());
            let row = part.read(row * n_bytes..(row + 1) * n_bytes).map_err(|err| part.unreadable(err))?;
            blocks.extend_from_slice(&row);
        }
        Ok(())
    }
}

/// Bytes of a row, which has whole blocks.
pub(super) fn row_bytes(columns: usize, tensor_type: TensorType) -> usize {
    columns / tensor_type.block() * tensor_type.block_bytes()
}
