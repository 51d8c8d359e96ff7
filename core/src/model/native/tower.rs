//! A vision tower on the CPU: from the pixels of an image to rows of the decoder's embedding, in pieces of one layer.

use std::sync::{Arc, Mutex, PoisonError};

use causerie_backend::{
    Activations, AttentionMask, AttentionStep, CacheShape, CacheType, GateFunction, KeyValues, ResidualAddition,
};

use crate::error::Result;
use crate::media::{AxisWeights, Picture, bilinear_weights};
use crate::model::invalid::invalid;
use crate::model::native::backend::Native;
use crate::model::native::buffers::resize;
use crate::model::native::tower_weights::{LayerNormWeights, Projector, TowerLayer, TowerWeights};
use crate::model::vision::VisionArchitecture;
use crate::weights::Weights;

/// How outputs are added to the residual stream: as they are.
const PLAINLY: ResidualAddition<'static> = ResidualAddition { norm: None, factor: 1.0 };

/// The part of a model that sees. Clones share it.
#[derive(Clone)]
pub(crate) struct VisionTower {
    shared: Arc<LoadedTower>,
}

struct LoadedTower {
    native: Native,
    weights: TowerWeights,
    architecture: VisionArchitecture,
    buffers: Mutex<TowerBuffers>,
}

/// Values between operations, in memory that is reused.
#[derive(Default)]
struct TowerBuffers {
    inputs: Activations,
    /// Queries, keys and values, or the values of a feed-forward block.
    projected: [Vec<f32>; 3],
    mixed: Vec<f32>,
}

/// The computation of one image.
pub(crate) struct TowerPass {
    tower: VisionTower,
    image: Picture,
    /// `(patches, hidden)`; empty before the first piece.
    stream: Vec<f32>,
    /// Layers computed so far.
    n_layers: usize,
}

impl VisionTower {
    pub(crate) fn load(native: Native, weights: &Weights, architecture: &VisionArchitecture) -> Result<Self> {
        let tower = TowerWeights::load(&native, weights, architecture)?;
        let architecture = architecture.clone();
        let shared = LoadedTower { native, weights: tower, architecture, buffers: Mutex::default() };
        Ok(Self { shared: Arc::new(shared) })
    }

    pub(crate) fn architecture(&self) -> &VisionArchitecture {
        &self.shared.architecture
    }

    /// Checks that rows are as long as those of the decoder.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad).
    pub(crate) fn check_row_size(&self, hidden: usize) -> Result<()> {
        match self.shared.weights.projector.second.weight.n_rows() {
            found if found == hidden => Ok(()),
            found => Err(invalid(format!("the projector of images must give rows of {hidden} values, found {found}"))),
        }
    }

    /// Values that differ between towers, with their storage formats: a few kilobytes that name it.
    pub(crate) fn fingerprint(&self) -> Vec<u8> {
        let TowerWeights { patch, projector, output_norm, .. } = &self.shared.weights;
        let rows = [patch, &projector.first, &projector.second].map(|map| {
            let mut row = vec![0.0; map.weight.n_columns()];
            map.weight.read_row(0, &mut row);
            row
        });
        let floats = rows.iter().flatten().chain(&output_norm.weight);
        let mut bytes: Vec<u8> = floats.flat_map(|value| value.to_le_bytes()).collect();
        bytes.extend(format!("{:?} {:?}", projector.first.weight.format(), self.shared.architecture).into_bytes());
        bytes
    }

    /// Begins with an image, whose sides are whole units of the model's rules.
    pub(crate) fn begin(&self, image: Picture) -> TowerPass {
        TowerPass { tower: self.clone(), image, stream: Vec::new(), n_layers: 0 }
    }
}

impl TowerPass {
    /// Computes the patches, then one layer, then the rows, `(rows, row size)`. They come last.
    pub(crate) fn advance(&mut self) -> Option<Arc<[f32]>> {
        let tower = &*self.tower.shared;
        let mut buffers = tower.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stream.is_empty() {
            self.stream = tower.patches(&self.image, &mut buffers);
            return None;
        }
        if let Some(layer) = tower.weights.layers.get(self.n_layers) {
            tower.layer(layer, &mut self.stream, &mut buffers);
            self.n_layers += 1;
            return None;
        }
        let patch = tower.architecture.rules.patch;
        let grid = (self.image.height / patch, self.image.width / patch);
        Some(tower.project(&self.stream, grid, &mut buffers).into())
    }
}

impl LoadedTower {
    /// The embedding of an image's patches, with their positions.
    fn patches(&self, image: &Picture, buffers: &mut TowerBuffers) -> Vec<f32> {
        let VisionArchitecture { rules, mean, deviation, .. } = &self.architecture;
        let (side, map) = (rules.patch, &self.weights.patch);
        let (n_rows, n_columns) = (image.height / side, image.width / side);
        let inputs = &mut buffers.inputs;
        self.native.cpu.inputs(inputs, (n_rows * n_columns, 3 * side * side), map.is_quantised(), |patch, x| {
            let (top, left) = (patch / n_columns * side, patch % n_columns * side);
            for (line, x) in x.chunks_exact_mut(3 * side).enumerate() {
                let pixels = &image.pixels[3 * ((top + line) * image.width + left)..];
                for (at, (x, level)) in x.iter_mut().zip(pixels).enumerate() {
                    *x = (f32::from(*level) / 255.0 - mean[at % 3]) / deviation[at % 3];
                }
            }
        });
        let mut stream = self.positions(n_rows, n_columns);
        map.add_to((&self.native.cpu, inputs), PLAINLY, &mut buffers.mixed, &mut stream);
        stream
    }

    /// The table of positions, resized to a grid.
    fn positions(&self, n_rows: usize, n_columns: usize) -> Vec<f32> {
        let ((table, side), hidden) = (&self.weights.positions, self.weights.hidden);
        let across = bilinear_weights(*side, n_columns);
        let mut wide = vec![0.0; side * n_columns * hidden];
        self.native.cpu.for_rows(&mut wide, hidden, |at, to| {
            mix(&table[at / n_columns * side * hidden..], hidden, &across[at % n_columns], to);
        });
        let down = bilinear_weights(*side, n_rows);
        let mut positions = vec![0.0; n_rows * n_columns * hidden];
        self.native.cpu.for_rows(&mut positions, hidden, |at, to| {
            mix(&wide[at % n_columns * hidden..], n_columns * hidden, &down[at / n_columns], to);
        });
        positions
    }

    fn layer(&self, layer: &TowerLayer, stream: &mut [f32], buffers: &mut TowerBuffers) {
        let (cpu, hidden) = (&*self.native.cpu, self.weights.hidden);
        let n_rows = stream.len() / hidden;
        let TowerBuffers { inputs, projected: [q, k, v], mixed } = buffers;
        let [queries, keys, values] = &layer.projections;
        let quantises = layer.projections.iter().any(|map| map.is_quantised());
        self.norm(stream, &layer.attention_norm, quantises, inputs);
        cpu.product(inputs, [queries.product(q, n_rows), keys.product(k, n_rows), values.product(v, n_rows)]);
        queries.add_bias(cpu, q);
        keys.add_bias(cpu, k);
        values.add_bias(cpu, v);
        let n_heads = self.architecture.n_heads;
        let shape = CacheShape { n_heads, head_dim: hidden / n_heads, cache_type: CacheType::F32 };
        let mut past = KeyValues::new(shape);
        past.append(k, v);
        resize(mixed, q.len());
        let scale = ((hidden / n_heads) as f32).sqrt().recip();
        let steps = [AttentionStep { rows: 0..n_rows, past: &past }];
        cpu.attention(q, &steps, (AttentionMask::Bidirectional, scale), mixed);
        cpu.inputs(inputs, (n_rows, hidden), layer.out.is_quantised(), |row, x| {
            x.copy_from_slice(&mixed[row * hidden..][..hidden]);
        });
        layer.out.add_to((cpu, inputs), PLAINLY, q, stream);

        self.norm(stream, &layer.feed_forward_norm, layer.up.is_quantised(), inputs);
        cpu.product(inputs, [layer.up.product(k, n_rows)]);
        layer.up.add_bias(cpu, k);
        let width = layer.up.weight.n_rows();
        cpu.activate(GateFunction::GeluTanh, (k, width), layer.down.is_quantised(), inputs);
        layer.down.add_to((cpu, inputs), PLAINLY, q, stream);
    }

    /// Joins the patches of each square, and maps them to rows of the decoder's embedding. The grid is `(rows, columns)`.
    fn project(&self, stream: &[f32], (n_rows, n_columns): (usize, usize), buffers: &mut TowerBuffers) -> Vec<f32> {
        let (cpu, hidden, merge) = (&*self.native.cpu, self.weights.hidden, self.architecture.rules.merge);
        let Projector { norm, first, second } = &self.weights.projector;
        let TowerBuffers { inputs, projected: [inner, ..], mixed } = buffers;
        self.norm(stream, &self.weights.output_norm, false, inputs);
        let (n_outputs, across) = (n_rows / merge * (n_columns / merge), n_columns / merge);
        resize(mixed, n_outputs * merge * merge * hidden);
        cpu.for_rows(mixed, merge * merge * hidden, |at, joined| {
            let (top, left) = (at / across * merge, at % across * merge);
            for (part, to) in joined.chunks_exact_mut(hidden).enumerate() {
                to.copy_from_slice(inputs.row((top + part / merge) * n_columns + left + part % merge));
            }
        });
        match norm {
            Some(norm) => self.norm(mixed, norm, first.is_quantised(), inputs),
            None => {
                let width = merge * merge * hidden;
                cpu.inputs(inputs, (n_outputs, width), first.is_quantised(), |row, x| {
                    x.copy_from_slice(&mixed[row * width..][..width]);
                });
            }
        }
        cpu.product(inputs, [first.product(inner, n_outputs)]);
        first.add_bias(cpu, inner);
        cpu.activate(GateFunction::Gelu, (inner, first.weight.n_rows()), second.is_quantised(), inputs);
        let mut rows = Vec::new();
        cpu.product(inputs, [second.product(&mut rows, n_outputs)]);
        second.add_bias(cpu, &mut rows);
        rows
    }

    fn norm(&self, rows: &[f32], norm: &LayerNormWeights, quantises: bool, inputs: &mut Activations) {
        self.native.cpu.layer_norm(rows, (&norm.weight, &norm.bias, norm.epsilon), quantises, inputs);
    }
}

/// The weighted mean of vectors that are `stride` apart.
fn mix(from: &[f32], stride: usize, axis: &AxisWeights, to: &mut [f32]) {
    for (at, weight) in axis.weights.iter().enumerate() {
        let vector = &from[(axis.first + at) * stride..][..to.len()];
        to.iter_mut().zip(vector).for_each(|(to, value)| *to += value * weight);
    }
}
