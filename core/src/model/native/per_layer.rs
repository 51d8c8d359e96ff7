//! Per-layer embeddings on the CPU.

use causerie_backend::{Cpu, GateFunction, ResidualAddition};

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::native::backend::Native;
use crate::model::native::buffers::{PassBuffers, PerLayerBuffers, resize};
use crate::model::per_layer::{PerLayerBlock, PerLayerEmbedding};

impl PerLayerEmbedding<Native> {
    /// Computes the vectors of all rows of the stream, whose tokens are given.
    pub(super) fn forward(
        &self,
        cpu: &Cpu,
        tokens: impl Iterator<Item = u32>,
        norm_eps: f32,
        buffers: &mut PassBuffers,
    ) -> Result<()> {
        let PassBuffers { stream, inputs, per_layer: PerLayerBuffers { vectors, row, bytes }, .. } = buffers;
        let (hidden, n_values) = (self.hidden, self.n_layers * self.width);
        let n_rows = stream.len() / hidden;
        cpu.inputs(inputs, (n_rows, hidden), self.projection.is_quantised(), |row, x| {
            x.copy_from_slice(&stream[row * hidden..][..hidden]);
        });
        cpu.product(inputs, [self.projection.product(vectors, n_rows)]);
        let scale = 1.0 / (hidden as f32).sqrt();
        cpu.for_rows(vectors, n_values, |_, values| values.iter_mut().for_each(|value| *value *= scale));
        cpu.rotate(vectors, (n_values, self.width), Some((self.norm.as_slice(), norm_eps)), None);
        let scale = (self.width as f32).sqrt();
        for (token, vector) in tokens.zip(vectors.chunks_exact_mut(n_values)) {
            row.clear();
            self.table.read_row(token as usize, bytes, row).map_err(unreadable)?;
            let values = vector.iter_mut().zip(&*row);
            values.for_each(|(value, own)| *value = (*value + own * scale) * std::f32::consts::FRAC_1_SQRT_2);
        }
        Ok(())
    }
}

impl PerLayerBlock<Native> {
    pub(super) fn forward(&self, cpu: &Cpu, how: ResidualAddition<'_>, buffers: &mut PassBuffers) {
        let PassBuffers { stream, inputs, projected: [gate, up, outputs], per_layer, .. } = buffers;
        let (hidden, width) = (self.projection.weight.n_rows(), self.gate.weight.n_rows());
        let n_rows = stream.len() / hidden;
        cpu.inputs(inputs, (n_rows, hidden), self.gate.is_quantised(), |row, x| {
            x.copy_from_slice(&stream[row * hidden..][..hidden]);
        });
        cpu.product(inputs, [self.gate.product(gate, n_rows)]);
        resize(up, n_rows * width);
        let vectors = per_layer.vectors.chunks_exact(self.n_layers * width);
        up.chunks_exact_mut(width).zip(vectors).for_each(|(up, vector)| {
            up.copy_from_slice(&vector[self.layer * width..][..width]);
        });
        let quantises = self.projection.is_quantised();
        cpu.gate(GateFunction::GeluTanh, (gate, up, width), quantises, inputs);
        self.projection.add_to((cpu, inputs), how, outputs, stream);
    }
}

fn unreadable(err: std::io::Error) -> SdkError {
    SdkError::new(ErrorKind::Generation, "the model's file cannot be read any more").caused_by(err)
}
