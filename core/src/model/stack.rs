//! A stack of layers: what a decoder is between its embedding and its logits. Smaller networks, such as those that speak, are
//! stacks with other things before and after them.

use crate::checkpoint::Architecture;
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::layer::Layer;
use crate::model::layer_weights::LayerWeights;
use crate::model::progress::{LoadProgress, report_progress};
use crate::weights::Tensors;

pub(crate) struct Stack<B: Backend> {
    pub(crate) layers: Vec<Layer<B>>,
    pub(crate) norm_eps: f32,
    /// Factor of what layers add to the residual stream.
    pub(crate) residual: f32,
}

impl<B: Backend> Stack<B> {
    /// Loads the layers that the architecture plans, and reports progress before each.
    pub(crate) fn load(
        backend: &B,
        tensors: &Tensors,
        architecture: &Architecture,
        hidden: usize,
        progress: LoadProgress<'_>,
    ) -> Result<Self> {
        let n_layers = architecture.layers.len();
        let layers = (0..n_layers).map(|layer| {
            report_progress(progress, layer as f32 / n_layers as f32)?;
            Layer::load(&LayerWeights { backend, tensors, architecture, layer, hidden })
        });
        let layers = layers.collect::<Result<_>>()?;
        Ok(Self { layers, norm_eps: architecture.norm_eps, residual: architecture.scales.residual })
    }
}
