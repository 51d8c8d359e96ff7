//! A vision tower on the CPU: from the pixels of an image to rows of the decoder's embedding, in pieces of one layer.
use std::sync::Arc;

use causerie_backend::GateFunction;
use parking_lot::Mutex;

use crate::checkpoint::VisionArchitecture;
use crate::checkpoint::invalid;
use crate::error::Result;
use crate::media::{AxisWeights, Picture, ResizeFilter};
use crate::model::native::backend::Native;
use crate::model::native::buffers::resize;
use crate::model::native::tower_layer::{PLAINLY, TowerBuffers, TowerStream};
use crate::model::native::tower_weights::{Positions, Projector, TowerWeights};
use crate::weights::Weights;

/// Rows that a layer projects or mixes at once.
const BAND: usize = 1024;
/// Rows of a piece. A layer projects and mixes its rows, so an image of 1,024 patches takes one layer at a time.
const PIECE: usize = 2 * BAND;

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

/// The computation of one image.
pub(crate) struct TowerPass {
    tower: VisionTower,
    image: Picture,
    /// Empty before the first piece.
    stream: TowerStream,
    /// Layers computed so far.
    n_layers: usize,
    /// Rows that the next layer has projected and mixed so far.
    n_projected: usize,
    n_mixed: usize,
}

impl VisionTower {
    pub(crate) fn load(native: Native, files: &Weights, architecture: &VisionArchitecture) -> Result<Self> {
        let tower = TowerWeights::load(&native, &architecture.tensors(files)?, architecture)?;
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
        TowerPass {
            tower: self.clone(),
            image,
            stream: TowerStream::default(),
            n_layers: 0,
            n_projected: 0,
            n_mixed: 0,
        }
    }
}

impl TowerPass {
    /// Computes the patches, then the layers, a piece at a time, then the rows, `(rows, row size)`. They come last.
    pub(crate) fn advance(&mut self) -> Option<Arc<[f32]>> {
        let tower = self.tower.clone();
        let tower = &*tower.shared;
        let mut buffers = tower.buffers.lock();
        if self.stream.rows.is_empty() {
            self.stream = tower.patches(&self.image, &mut buffers);
            return None;
        }
        if self.n_layers < tower.weights.layers.len() {
            let mut n_rows = 0;
            while n_rows < PIECE && self.n_layers < tower.weights.layers.len() {
                n_rows += self.advance_layer(tower, &mut buffers);
            }
            return None;
        }
        Some(tower.project(&self.stream, &mut buffers).into())
    }

    /// Computes a band of rows of a layer, and returns how many.
    fn advance_layer(&mut self, tower: &LoadedTower, buffers: &mut TowerBuffers) -> usize {
        let (cpu, layer, n_rows) = (&*tower.native.cpu, &tower.weights.layers[self.n_layers], self.stream.n_rows());
        if self.n_projected < n_rows {
            let rows = self.n_projected..n_rows.min(self.n_projected + BAND);
            self.n_projected = rows.end;
            let n_heads = (tower.architecture.n_heads, tower.architecture.n_key_heads);
            layer.project(cpu, &mut self.stream, rows.clone(), n_heads, buffers);
            return rows.len();
        }
        let rows = self.n_mixed..n_rows.min(self.n_mixed + BAND);
        self.n_mixed = rows.end;
        layer.mix(cpu, &mut self.stream, rows.clone(), buffers);
        if self.n_mixed == n_rows {
            self.n_layers += 1;
            (self.n_projected, self.n_mixed) = (0, 0);
        }
        rows.len()
    }
}

impl LoadedTower {
    /// The embedding of an image's patches, with their positions.
    fn patches(&self, image: &Picture, buffers: &mut TowerBuffers) -> TowerStream {
        let VisionArchitecture { rules, mean, deviation, .. } = &self.architecture;
        let (side, map, hidden, cpu) = (rules.patch, &self.weights.patch, self.weights.hidden, &self.native.cpu);
        let (n_rows, n_columns) = (image.height / side, image.width / side);
        let inputs = &mut buffers.inputs;
        cpu.inputs(inputs, (n_rows * n_columns, 3 * side * side), map.is_quantised(), |patch, x| {
            let (top, left) = (patch / n_columns * side, patch % n_columns * side);
            for (line, x) in x.chunks_exact_mut(3 * side).enumerate() {
                let pixels = &image.pixels[3 * ((top + line) * image.width + left)..];
                for (at, (x, level)) in x.iter_mut().zip(pixels).enumerate() {
                    *x = (f32::from(*level) / 255.0 - mean[at % 3]) / deviation[at % 3];
                }
            }
        });
        let mut stream = TowerStream::new(hidden, n_columns);
        match &self.weights.positions {
            Positions::Table(table, side) => stream.rows = self.positions((table, *side), (n_rows, n_columns)),
            Positions::Axial(frequencies) => {
                stream.rows = vec![0.0; n_rows * n_columns * hidden];
                for (row, column) in (0..n_rows).flat_map(|row| (0..n_columns).map(move |column| (row, column))) {
                    for angle in [row, column].into_iter().flat_map(|at| frequencies.iter().map(move |f| at as f32 * f))
                    {
                        stream.cosines.push(angle.cos());
                        stream.sines.push(angle.sin());
                    }
                }
            }
        }
        map.add_to((cpu, inputs), PLAINLY, &mut buffers.mixed, &mut stream.rows);
        if let Some(norm) = &self.weights.patch_norm {
            norm.apply(cpu, &stream.rows, false, inputs);
            cpu.for_rows(&mut stream.rows, hidden, |row, x| x.copy_from_slice(inputs.row(row)));
        }
        stream
    }

    /// The table of positions, resized to a grid of rows and columns.
    fn positions(&self, (table, side): (&[f32], usize), (n_rows, n_columns): (usize, usize)) -> Vec<f32> {
        let hidden = self.weights.hidden;
        let across = ResizeFilter::Bilinear.weights(side, n_columns);
        let mut wide = vec![0.0; side * n_columns * hidden];
        self.native.cpu.for_rows(&mut wide, hidden, |at, to| {
            mix(&table[at / n_columns * side * hidden..], hidden, &across[at % n_columns], to);
        });
        let down = ResizeFilter::Bilinear.weights(side, n_rows);
        let mut positions = vec![0.0; n_rows * n_columns * hidden];
        self.native.cpu.for_rows(&mut positions, hidden, |at, to| {
            mix(&wide[at % n_columns * hidden..], n_columns * hidden, &down[at / n_columns], to);
        });
        positions
    }

    /// Joins the patches of each square, and maps them to rows of the decoder's embedding.
    fn project(&self, stream: &TowerStream, buffers: &mut TowerBuffers) -> Vec<f32> {
        let (cpu, hidden, merge) = (&*self.native.cpu, self.weights.hidden, self.architecture.rules.merge);
        let (n_rows, n_columns) = (stream.n_rows() / stream.n_columns, stream.n_columns);
        let Projector { norm, first, second } = &self.weights.projector;
        let TowerBuffers { inputs, projected: [inner, ..], mixed } = buffers;
        self.weights.output_norm.apply(cpu, &stream.rows, false, inputs);
        let (n_outputs, across) = (n_rows / merge * (n_columns / merge), n_columns / merge);
        resize(mixed, n_outputs * merge * merge * hidden);
        cpu.for_rows(mixed, merge * merge * hidden, |at, joined| {
            let (top, left) = (at / across * merge, at % across * merge);
            for (part, to) in joined.chunks_exact_mut(hidden).enumerate() {
                to.copy_from_slice(inputs.row((top + part / merge) * n_columns + left + part % merge));
            }
        });
        match norm {
            Some(norm) => norm.apply(cpu, mixed, first.is_quantised(), inputs),
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
}

/// The weighted mean of vectors that are `stride` apart.
fn mix(from: &[f32], stride: usize, axis: &AxisWeights, to: &mut [f32]) {
    for (at, weight) in axis.weights.iter().enumerate() {
        let vector = &from[(axis.first + at) * stride..][..to.len()];
        to.iter_mut().zip(vector).for_each(|(to, value)| *to += value * weight);
    }
}
