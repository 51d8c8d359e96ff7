//! The linear maps after pooling: dense layers, and the heads of models that rank.

use crate::checkpoint::{EmbeddingCheckpoint, LogitRows, MapActivation, MapPlan, MapSource, invalid};
use crate::error::Result;
use crate::model::linear::Linear;
use crate::model::tower::TowerOperations;
use crate::weights::{MatrixPlace, TensorPart};

pub(super) struct PooledMap<O: TowerOperations> {
    linear: Linear<O>,
    activation: MapActivation,
    n_inputs: usize,
    pub(super) n_outputs: usize,
}

impl<O: TowerOperations> PooledMap<O> {
    /// Loads a map of vectors with `n_inputs` values.
    pub(super) fn load(
        operations: &O,
        checkpoint: &EmbeddingCheckpoint,
        plan: &MapPlan,
        n_inputs: usize,
    ) -> Result<Self> {
        let (linear, n_outputs) = match &plan.source {
            MapSource::Tensor(name) => tensor_map(operations, checkpoint, name, n_inputs)?,
            MapSource::LogitRows(ids) => (logit_map(operations, checkpoint, ids, n_inputs)?, ids.len()),
        };
        Ok(Self { linear, activation: plan.activation, n_inputs, n_outputs })
    }

    /// Replaces vectors, one after the other, by what the map makes of them.
    pub(super) fn apply(&self, operations: &O, vectors: &mut Vec<f32>) -> Result<()> {
        let (mut rows, mut inputs) = (O::Rows::default(), O::Inputs::default());
        let n_rows = vectors.len() / self.n_inputs;
        let write = |at: usize, to: &mut [f32]| to.copy_from_slice(&vectors[at * self.n_inputs..][..self.n_inputs]);
        operations.upload((n_rows, self.n_inputs), write, &mut rows)?;
        operations.inputs(&rows, &[&self.linear], &mut inputs)?;
        operations.product(&inputs, [(&self.linear, &mut rows)])?;
        vectors.clear();
        operations.read(&rows, 0..n_rows, vectors)?;
        match self.activation {
            MapActivation::Identity => {}
            MapActivation::Tanh => vectors.iter_mut().for_each(|x| *x = f64::from(*x).tanh() as f32), // from -1 to 1
        }
        Ok(())
    }
}

fn tensor_map<O: TowerOperations>(
    operations: &O,
    checkpoint: &EmbeddingCheckpoint,
    name: &str,
    n_inputs: usize,
) -> Result<(Linear<O>, usize)> {
    let tensors = &checkpoint.map_tensors;
    let (matrix, bias) = (format!("{name}.weight"), format!("{name}.bias"));
    let n_outputs = match tensors.shape(&matrix) {
        Some(&[n_outputs, _]) => n_outputs,
        Some(found) => {
            let matrix = tensors.file_name(&matrix);
            return Err(invalid(format!("tensor {matrix} must be a matrix, found shape {found:?}")));
        }
        None => return Err(tensors.missing(&matrix)),
    };
    let place = MatrixPlace { name: &matrix, shape: (n_outputs, n_inputs), part: TensorPart::Whole };
    let bias = tensors.shape(&bias).is_some().then(|| tensors.floats(&bias, &[n_outputs])).transpose()?;
    let bias = bias.map(|bias| operations.vector(bias)).transpose()?;
    Ok((Linear { weight: operations.matrix(tensors, &place)?, bias }, n_outputs))
}

/// The map to the logits of some tokens.
fn logit_map<O: TowerOperations>(
    operations: &O,
    checkpoint: &EmbeddingCheckpoint,
    ids: &[u32],
    n_inputs: usize,
) -> Result<Linear<O>> {
    let missing = || invalid("a model without logits has no labels");
    let LogitRows { tensors, name, n_rows } = checkpoint.network.logit_rows()?.ok_or_else(missing)?;
    let mut values = Vec::new();
    for id in ids {
        let first = *id as usize;
        if n_rows <= first {
            return Err(invalid(format!("the labels must be tokens below {n_rows}, found {id}")));
        }
        let part = TensorPart::Rows { first, n_rows };
        values.extend(tensors.blocks(&MatrixPlace { name, shape: (1, n_inputs), part })?.values()?);
    }
    Ok(Linear { weight: operations.matrix_of(&values, (ids.len(), n_inputs))?, bias: None })
}
