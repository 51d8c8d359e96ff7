//! Maps whose inputs and outputs are clamped to ranges, as Gemma 4 has them.

use crate::checkpoint::invalid;
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::linear::Linear;
use crate::model::operations::Residual;
use crate::model::tower::norm::TowerNorm;
use crate::model::tower::operations::TowerOperations;
use crate::weights::Tensors;

const UNBOUNDED: (f32, f32) = (f32::NEG_INFINITY, f32::INFINITY);

pub(in crate::model) struct ClippedLinear<B: Backend> {
    linear: Linear<B>,
    /// The ranges of inputs and of outputs; `None` if both are unbounded.
    ranges: Option<[(f32, f32); 2]>,
}

impl<O: TowerOperations> ClippedLinear<O> {
    /// A map with the ranges that the files have beside it.
    pub(in crate::model) fn new(linear: Linear<O>, tensors: &Tensors, name: &str) -> Result<Self> {
        let ranges = [range(tensors, name, "input")?, range(tensors, name, "output")?];
        Ok(Self { linear, ranges: Some(ranges).filter(|ranges| *ranges != [UNBOUNDED; 2]) })
    }

    /// The map, if neither its inputs nor its outputs are clamped.
    pub(super) fn unclipped(&self) -> Option<&Linear<O>> {
        self.ranges.is_none().then_some(&self.linear)
    }

    /// Computes the outputs for rows. `inputs` and `spare` may be overwritten.
    pub(in crate::model) fn apply(
        &self,
        operations: &O,
        rows: &O::Rows,
        (inputs, spare): (&mut O::Inputs, &mut O::Rows),
        out: &mut O::Rows,
    ) -> Result<()> {
        let Self { linear, ranges } = self;
        let Some([of_inputs, of_outputs]) = *ranges else {
            operations.inputs(rows, &[linear], inputs)?;
            return operations.product(inputs, [(linear, out)]);
        };
        operations.clamp(rows, of_inputs, spare)?;
        operations.inputs(spare, &[linear], inputs)?;
        operations.product(inputs, [(linear, &mut *spare)])?;
        operations.clamp(spare, of_outputs, out)
    }

    /// Adds the outputs for rows to the residual stream. `inputs`, `spare` and `outputs` may be overwritten.
    pub(super) fn add(
        &self,
        operations: &O,
        rows: &O::Rows,
        residual: Residual<'_, O>,
        (inputs, spare, outputs): (&mut O::Inputs, &mut O::Rows, &mut O::Rows),
        stream: &mut O::Rows,
    ) -> Result<()> {
        match self.unclipped() {
            Some(linear) => {
                operations.inputs(rows, &[linear], inputs)?;
                operations.add_product(inputs, linear, residual, spare, stream)
            }
            None => {
                self.apply(operations, rows, (inputs, spare), outputs)?;
                operations.add_outputs(outputs, residual, stream)
            }
        }
    }
}

/// Computes the outputs of maps of the same normalised rows. `inputs`, `normalised` and `spare` may be overwritten.
pub(super) fn products<O: TowerOperations, const N: usize>(
    operations: &O,
    (norm, stream): (&TowerNorm<O>, &O::Rows),
    mut maps: [(&ClippedLinear<O>, &mut O::Rows); N],
    (inputs, normalised, spare): (&mut O::Inputs, &mut O::Rows, &mut O::Rows),
) -> Result<()> {
    if maps.iter().all(|(map, _)| map.unclipped().is_some()) {
        let linears = maps.each_ref().map(|(map, _)| &map.linear);
        norm.apply(operations, stream, &linears, inputs)?;
        return operations.product(inputs, maps.map(|(map, out)| (&map.linear, out)));
    }
    norm.apply(operations, stream, &[], inputs)?;
    operations.input_rows(inputs, normalised)?;
    maps.iter_mut().try_for_each(|(map, out)| map.apply(operations, normalised, (&mut *inputs, &mut *spare), out))
}

/// The range of one side of a map. An end that the files do not have is infinite.
fn range(tensors: &Tensors, name: &str, side: &str) -> Result<(f32, f32)> {
    let end = |end: &str, missing: f32| {
        let name = format!("{name}.{side}_{end}");
        match tensors.shape(&name).map(<[usize]>::to_vec) {
            None => Ok(missing),
            Some(shape) if shape.iter().all(|size| *size == 1) => {
                Ok(tensors.floats(&name, &shape)?.first().copied().unwrap_or(missing))
            }
            Some(shape) => {
                Err(invalid(format!("tensor {} must have one value, found shape {shape:?}", tensors.file_name(&name))))
            }
        }
    };
    let (least, largest) = (end("min", UNBOUNDED.0)?, end("max", UNBOUNDED.1)?);
    if least <= largest {
        return Ok((least, largest));
    }
    let name = format!("{name}.{side}_min");
    Err(invalid(format!(
        "tensor {} must be at most the other end of its range, found {least} and {largest}",
        tensors.file_name(&name)
    )))
}
