//! Computing on the CPU with the kernels of `causerie-backend`.
//!
//! The rows of all sequences at work stand one below the other, so that each product reads its weights once for all of
//! them. Numbers between two operations live in buffers that are used again for every token.

mod experts;

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use causerie_backend::{
    Activations, AttentionStep, CacheShape, CacheType, ConvolutionStep, Cpu, KeyValues, Matrix, Product, Rotation,
};

use smallvec::SmallVec;

use crate::error::Result;
use crate::model::attention::{Attention, Heads};
use crate::model::backend::Backend;
use crate::model::decoder::Decoder;
use crate::model::feed_forward::{Dense, FeedForward};
use crate::model::layer::Operator;
use crate::model::linear::Linear;
use crate::model::rope::Rope;
use crate::model::short_convolution::ShortConvolution;
use crate::model::state::{LayerState, State, Window};
use crate::model::{PerSequence, Step};
use crate::weights::{MatrixPlace, Weights};

pub(crate) struct Native {
    cpu: Cpu,
    cache_type: CacheType,
    buffers: Mutex<Buffers>,
}

/// Numbers between operations.
#[derive(Default)]
struct Buffers {
    /// The tokens of all rows.
    ids: Vec<u32>,
    /// What the layers add to: `(rows, hidden)`.
    stream: Vec<f32>,
    inputs: Activations,
    /// Outputs of products: of convolutions; queries, keys and values; gates and what they let through.
    projected: [Vec<f32>; 3],
    mixed: Vec<f32>,
    logits: Vec<f32>,
    angles: Vec<Angles>,
    experts: experts::Buffers,
}

/// Of all rows, for one kind of rotary positions.
#[derive(Default)]
struct Angles {
    cosines: Vec<f32>,
    sines: Vec<f32>,
}

impl Native {
    pub(crate) fn new(n_threads: usize, cache_type: CacheType) -> Self {
        Self { cpu: Cpu::new(n_threads), cache_type, buffers: Mutex::default() }
    }
}

impl Backend for Native {
    type Matrix = Matrix;
    type Vector = Vec<f32>;

    fn matrix(&self, weights: &Weights, place: &MatrixPlace<'_>) -> Result<Matrix> {
        weights.packed_matrix(place, &self.cpu)
    }

    fn vector(&self, numbers: Vec<f32>) -> Result<Vec<f32>> {
        Ok(numbers)
    }
}

impl Decoder<Native> {
    pub(crate) fn start(&self) -> State {
        let layers = self.layers.iter().map(|layer| match &layer.operator {
            Operator::ShortConvolution(ShortConvolution { window, hidden, .. }) => {
                LayerState::Window(Window::new(vec![0.0; (window - 1) * hidden], *hidden))
            }
            Operator::Attention(attention) => {
                let Heads { n_keys: n_heads, head_dim, .. } = attention.heads;
                let cache_type = self.backend.cache_type;
                LayerState::Pages(KeyValues::new(CacheShape { n_heads, head_dim, cache_type }))
            }
        });
        State::new(layers.collect())
    }

    /// Reads the tokens of each step, and fills in the logits of those that want them.
    pub(crate) fn forward(&self, steps: &mut [Step<'_>]) {
        let (cpu, hidden) = (&self.backend.cpu, self.hidden);
        let mut buffers = self.backend.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let buffers = &mut *buffers;
        let rows = rows(steps);
        let ropes = self.ropes();
        buffers.turn_to(steps, &ropes);
        steps.iter_mut().for_each(|step| step.state.expect_cut(1 < step.n_logits));
        let Buffers { ids, stream, .. } = &mut *buffers;
        ids.clear();
        ids.extend(steps.iter().flat_map(|step| step.ids));
        resize(stream, ids.len() * hidden);
        cpu.for_rows(stream, hidden, |row, x| self.embedding.read_row(ids[row] as usize, x));

        for (at, layer) in self.layers.iter().enumerate() {
            let quantises = match &layer.operator {
                Operator::ShortConvolution(convolution) => convolution.in_proj.is_quantised(),
                Operator::Attention(Attention { q_proj, k_proj, v_proj, .. }) => {
                    [q_proj, k_proj, v_proj].iter().any(|linear| linear.is_quantised())
                }
            };
            cpu.norm(&buffers.stream, &layer.operator_norm, self.norm_eps, quantises, &mut buffers.inputs);
            let mut states = steps.iter_mut().map(|step| &mut step.state.layers[at]).zip(&rows);
            match &layer.operator {
                Operator::ShortConvolution(convolution) => convolution.forward(cpu, &mut states, buffers),
                Operator::Attention(attention) => {
                    let angles = attention.rope.as_ref().and_then(|rope| ropes.iter().position(|known| *known == rope));
                    attention.forward(cpu, &mut states, self.norm_eps, angles, buffers);
                }
            }
            let quantises = match &layer.feed_forward {
                FeedForward::Dense(dense) => dense.quantises(),
                FeedForward::Experts(experts) => experts.router.is_quantised(),
            };
            cpu.norm(&buffers.stream, &layer.feed_forward_norm, self.norm_eps, quantises, &mut buffers.inputs);
            match &layer.feed_forward {
                FeedForward::Dense(dense) => dense.forward(cpu, buffers),
                FeedForward::Experts(experts) => experts.forward(cpu, buffers),
            }
        }
        for step in steps.iter_mut() {
            step.state.n_tokens += step.ids.len();
        }
        self.logits(steps, &rows, buffers);
    }

    /// Computes the logits after the last rows of each step that wants them.
    fn logits(&self, steps: &mut [Step<'_>], rows: &[Range<usize>], buffers: &mut Buffers) {
        let (cpu, hidden) = (&self.backend.cpu, self.hidden);
        let Buffers { stream, inputs, mixed, logits, .. } = buffers;
        mixed.clear();
        for (step, rows) in steps.iter().zip(rows) {
            mixed.extend_from_slice(&stream[(rows.end - step.n_logits) * hidden..rows.end * hidden]);
        }
        if !mixed.is_empty() {
            let head = self.head();
            cpu.norm(mixed, &self.output_norm, self.norm_eps, head.format().is_quantised(), inputs);
            resize(logits, inputs.n_rows() * self.n_vocabulary);
            cpu.product(inputs, [Product { matrix: head, out: logits, adds: false }]);
        }
        let mut rest = logits.as_slice();
        for step in steps {
            let (these, later) = rest.split_at(step.n_logits * self.n_vocabulary);
            step.logits.clear();
            step.logits.extend_from_slice(these);
            rest = later;
        }
    }

    /// The kinds of rotary positions that layers have.
    fn ropes(&self) -> SmallVec<[&Rope; 2]> {
        let mut ropes: SmallVec<[&Rope; 2]> = SmallVec::new();
        for layer in &self.layers {
            if let Operator::Attention(Attention { rope: Some(rope), .. }) = &layer.operator
                && !ropes.contains(&rope)
            {
                ropes.push(rope);
            }
        }
        ropes
    }
}

/// Which rows are whose.
fn rows(steps: &[Step<'_>]) -> PerSequence<Range<usize>> {
    let mut end = 0;
    let next = |step: &Step<'_>| {
        let start = end;
        end += step.ids.len();
        start..end
    };
    steps.iter().map(next).collect()
}

/// Makes room; what was there is garbage afterwards.
fn resize(buffer: &mut Vec<f32>, length: usize) {
    buffer.resize(length, 0.0);
}

impl Buffers {
    /// Computes the angles of all rows.
    fn turn_to(&mut self, steps: &[Step<'_>], ropes: &[&Rope]) {
        self.angles.resize_with(ropes.len(), Angles::default);
        for (angles, rope) in self.angles.iter_mut().zip(ropes) {
            angles.cosines.clear();
            angles.sines.clear();
            for step in steps {
                let start = step.state.n_tokens;
                (start..start + step.ids.len())
                    .for_each(|position| rope.angles(position, &mut angles.cosines, &mut angles.sines));
            }
        }
    }
}

impl Linear<Native> {
    fn is_quantised(&self) -> bool {
        self.weight.format().is_quantised()
    }

    fn product<'a>(&'a self, out: &'a mut Vec<f32>, n_rows: usize) -> Product<'a> {
        resize(out, n_rows * self.weight.n_rows());
        Product { matrix: &self.weight, out, adds: false }
    }

    fn add_bias(&self, cpu: &Cpu, rows: &mut [f32]) {
        if let Some(bias) = &self.bias {
            cpu.add_to_rows(rows, bias);
        }
    }

    /// Adds what the map makes of the inputs to the stream.
    fn add_to(&self, cpu: &Cpu, inputs: &Activations, stream: &mut [f32]) {
        cpu.product(inputs, [Product { matrix: &self.weight, out: stream, adds: true }]);
        self.add_bias(cpu, stream);
    }
}

/// A layer's state of each sequence, with its rows.
type States<'s, 'a> = &'s mut dyn Iterator<Item = (&'a mut LayerState, &'a Range<usize>)>;

impl ShortConvolution<Native> {
    fn forward(&self, cpu: &Cpu, states: States<'_, '_>, buffers: &mut Buffers) {
        let Buffers { stream, inputs, projected: [projected, ..], .. } = buffers;
        let n_rows = stream.len() / self.hidden;
        cpu.product(inputs, [self.in_proj.product(projected, n_rows)]);
        self.in_proj.add_bias(cpu, projected);
        let step = |(state, rows): (_, &Range<usize>)| match state {
            &mut LayerState::Window(ref mut window) => {
                window.note(&projected[3 * self.hidden * rows.start..3 * self.hidden * rows.end]);
                Some(ConvolutionStep { rows: rows.clone(), past: &mut window.inputs })
            }
            _ => None,
        };
        let mut steps: PerSequence<_> = states.filter_map(step).collect();
        let weights = (self.taps.as_slice(), self.bias.as_deref(), self.hidden);
        cpu.convolution(projected, weights, &mut steps, self.out_proj.is_quantised(), inputs);
        self.out_proj.add_to(cpu, inputs, stream);
    }
}

impl Attention<Native> {
    fn forward(&self, cpu: &Cpu, states: States<'_, '_>, norm_eps: f32, angles: Option<usize>, buffers: &mut Buffers) {
        let Buffers { stream, inputs, projected: [q, k, v], mixed, angles: all_angles, .. } = buffers;
        let Heads { n_queries, n_keys, head_dim } = self.heads;
        let n_rows = inputs.n_rows();
        cpu.product(
            inputs,
            [self.q_proj.product(q, n_rows), self.k_proj.product(k, n_rows), self.v_proj.product(v, n_rows)],
        );
        self.q_proj.add_bias(cpu, q);
        self.k_proj.add_bias(cpu, k);
        self.v_proj.add_bias(cpu, v);
        let rotation = angles.zip(self.rope.as_ref()).map(|(at, rope)| {
            let Angles { cosines, sines } = &all_angles[at];
            Rotation { cosines, sines, pairing: rope.pairing }
        });
        let norms = self.norms.as_ref();
        cpu.rotate(q, (n_queries * head_dim, head_dim), norms.map(|(norm, _)| (norm.as_slice(), norm_eps)), rotation);
        cpu.rotate(k, (n_keys * head_dim, head_dim), norms.map(|(_, norm)| (norm.as_slice(), norm_eps)), rotation);
        let width = n_keys * head_dim;
        let mut steps = PerSequence::new();
        for (state, rows) in states {
            if let LayerState::Pages(past) = state {
                let part = rows.start * width..rows.end * width;
                past.append(&k[part.clone()], &v[part]);
                steps.push(AttentionStep { rows: rows.clone(), past });
            }
        }
        resize(mixed, q.len());
        cpu.attention(q, &steps, self.window.unwrap_or(usize::MAX), mixed);
        let width = n_queries * head_dim;
        cpu.inputs(inputs, (n_rows, width), self.out_proj.is_quantised(), |row, x| {
            x.copy_from_slice(&mixed[row * width..][..width]);
        });
        self.out_proj.add_to(cpu, inputs, stream);
    }
}

impl Dense<Native> {
    fn quantises(&self) -> bool {
        self.gate.is_quantised() || self.up.is_quantised()
    }

    fn forward(&self, cpu: &Cpu, buffers: &mut Buffers) {
        let Buffers { stream, inputs, projected: [gate, up, _], .. } = buffers;
        self.gated(cpu, inputs, gate, up);
        self.down.add_to(cpu, inputs, stream);
    }

    /// From the inputs of the block to those of its last map.
    fn gated(&self, cpu: &Cpu, inputs: &mut Activations, gate: &mut Vec<f32>, up: &mut Vec<f32>) {
        let n_rows = inputs.n_rows();
        cpu.product(inputs, [self.gate.product(gate, n_rows), self.up.product(up, n_rows)]);
        self.gate.add_bias(cpu, gate);
        self.up.add_bias(cpu, up);
        cpu.gate(gate, up, self.gate.weight.n_rows(), self.down.is_quantised(), inputs);
    }
}
