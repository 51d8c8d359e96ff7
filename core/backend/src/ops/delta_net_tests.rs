//! Tests of delta nets, like the tests of the other operations.

use std::ops::Range;

use super::tests::{assert_near, rows_of, same_on_all};
use crate::activations::Activations;
use crate::arguments::{ConvolutionStep, DeltaStep};
use crate::cpu::Cpu;
use crate::delta_memory::DeltaMemory;
use crate::ops::delta_net::{DeltaShape, DeltaTokens};
use crate::random::{SplitMix64, same};

/// Four and two value heads for two key heads, with keys and values of several sizes.
fn delta_shapes() -> impl Iterator<Item = DeltaShape> {
    let sizes = [(4, 32, 64), (4, 64, 32), (2, 256, 32)];
    sizes.into_iter().map(|(n_values, key_dim, value_dim)| DeltaShape { n_keys: 2, n_values, key_dim, value_dim })
}

#[test]
fn inputs_of_delta_nets_are_right_and_the_same() {
    let mut random = SplitMix64::new(11);
    for (shape, window) in delta_shapes().zip([4, 2, 3]) {
        let (width, lengths) = (shape.n_channels(), [1, 30, 2]);
        let projected = random.floats(33 * width);
        let taps = random.floats(window * width);
        let pasts = lengths.map(|_| random.floats((window - 1) * width));
        let found = same_on_all(|cpu| {
            let (mut pasts, mut mixed) = (pasts.clone(), vec![f32::NAN; projected.len()]);
            let rows = [0..1, 1..31, 31..33].into_iter();
            let mut steps: Vec<_> = rows.zip(&mut pasts).map(|(rows, past)| ConvolutionStep { rows, past }).collect();
            cpu.delta_inputs(&projected, (shape, &taps), &mut steps, &mut mixed);
            [mixed, pasts.concat()].concat()
        });
        let (mut exact, mut kept) = (Vec::new(), Vec::new());
        let mut rows = projected.chunks_exact(width);
        for (past, length) in pasts.iter().zip(lengths) {
            let mut inputs: Vec<f64> = past.iter().map(|x| f64::from(*x)).collect();
            for row in 0..length {
                inputs.extend(rows.next().unwrap().iter().map(|x| f64::from(*x)));
                let tap = |tap: usize, at: usize| f64::from(taps[tap * width + at]) * inputs[(row + tap) * width + at];
                let sum = |at: usize| (0..window).map(|number| tap(number, at)).sum::<f64>();
                let mut y: Vec<f64> = (0..width).map(|at| sum(at) / (1.0 + (-sum(at)).exp())).collect();
                for head in 0..2 * shape.n_keys {
                    let y = &mut y[head * shape.key_dim..][..shape.key_dim];
                    let length = (y.iter().map(|x| x * x).sum::<f64>() + 1e-6).sqrt();
                    let size = if head < shape.n_keys { shape.key_dim as f64 } else { 1.0 };
                    y.iter_mut().for_each(|x| *x /= length * size.sqrt());
                }
                exact.extend(y);
            }
            kept.extend_from_slice(&inputs[length * width..]);
        }
        assert_near(&found, exact.into_iter().chain(kept));
    }
}

/// Tokens with the lengths of queries and keys that models have.
struct DeltaSequence {
    rows: Vec<f32>,
    decays: Vec<f32>,
    rates: Vec<f32>,
}

impl DeltaSequence {
    fn new(random: &mut SplitMix64, shape: DeltaShape, n_tokens: usize) -> Self {
        let mut rows = random.floats(n_tokens * shape.n_channels());
        for row in rows.chunks_exact_mut(shape.n_channels()) {
            for head in row[..2 * shape.n_keys * shape.key_dim].chunks_exact_mut(shape.key_dim) {
                let length = head.iter().map(|x| x * x).sum::<f32>().sqrt();
                head.iter_mut().for_each(|x| *x /= length);
            }
        }
        let n = n_tokens * shape.n_values;
        let [decays, rates] = [0.2, 0.5].map(|step| random.floats(n).iter().map(|x| 1.0 - step * x.abs()).collect());
        Self { rows, decays, rates }
    }

    fn tokens(&self) -> DeltaTokens<'_> {
        DeltaTokens { rows: &self.rows, decays: &self.decays, rates: &self.rates }
    }

    /// The outputs in f64, by the definition.
    fn exact(&self, shape: DeltaShape) -> Vec<f64> {
        let DeltaShape { n_keys, n_values, key_dim, value_dim } = shape;
        let mut memory = vec![0.0f64; shape.n_elements()];
        let mut outputs = Vec::new();
        for (token, row) in self.rows.chunks_exact(shape.n_channels()).enumerate() {
            let row: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
            for head in 0..n_values {
                let key_head = head % n_keys;
                let (q, k) = (&row[key_head * key_dim..][..key_dim], &row[(n_keys + key_head) * key_dim..][..key_dim]);
                let v = &row[2 * n_keys * key_dim + head * value_dim..][..value_dim];
                let (decay, rate) = (self.decays[token * n_values + head], self.rates[token * n_values + head]);
                for (column, v) in v.iter().enumerate() {
                    let mut column: Vec<&mut f64> = memory[head * key_dim * value_dim..]
                        .iter_mut()
                        .skip(column)
                        .step_by(value_dim)
                        .take(key_dim)
                        .collect();
                    column.iter_mut().for_each(|x| **x *= f64::from(decay));
                    let recalled: f64 = column.iter().zip(k).map(|(x, k)| **x * k).sum();
                    column.iter_mut().zip(k).for_each(|(x, k)| **x += k * f64::from(rate) * (v - recalled));
                    outputs.push(column.iter().zip(q).map(|(x, q)| **x * q).sum());
                }
            }
        }
        outputs
    }
}

#[test]
fn delta_nets_are_right_and_the_same() {
    let mut random = SplitMix64::new(12);
    for shape in delta_shapes() {
        let sequence = DeltaSequence::new(&mut random, shape, 60);
        let width = shape.n_values * shape.value_dim;
        // Two sequences side by side, whole and in steps.
        let compute = |cpu: &Cpu, ends: &[usize]| {
            let mut memories = [DeltaMemory::new(shape), DeltaMemory::new(shape)];
            let (mut out, mut start) = (vec![f32::NAN; 60 * width], 0);
            for end in ends {
                let middle = usize::midpoint(start, *end);
                let ranges = [0..middle - start, middle - start..end - start].into_iter();
                let steps = ranges.zip(&mut memories).map(|(rows, memory)| DeltaStep { rows, memory });
                let mut steps: Vec<_> = steps.filter(|step| !step.rows.is_empty()).collect();
                cpu.delta_net(
                    sequence.tokens().part(&(start..*end), shape),
                    &mut steps,
                    &mut out[start * width..end * width],
                );
                start = *end;
            }
            [out, memories[0].to_floats(), memories[1].to_floats()].concat()
        };
        same_on_all(|cpu| compute(cpu, &[2, 4, 44, 60]));
        let whole = same_on_all(|cpu| {
            let (mut memory, mut out) = (DeltaMemory::new(shape), vec![f32::NAN; 60 * width]);
            cpu.delta_net(sequence.tokens(), &mut [DeltaStep { rows: 0..60, memory: &mut memory }], &mut out);
            out
        });
        assert_near(&whole, sequence.exact(shape));
    }
}

#[test]
fn steps_of_a_delta_net_make_no_difference_and_can_be_undone() {
    let mut random = SplitMix64::new(13);
    for shape in delta_shapes() {
        let sequence = DeltaSequence::new(&mut random, shape, 40);
        let width = shape.n_values * shape.value_dim;
        let run = |cpu: &Cpu, memory: &mut DeltaMemory, tokens: Range<usize>| {
            let mut out = vec![f32::NAN; tokens.len() * width];
            let mut steps = [DeltaStep { rows: 0..tokens.len(), memory }];
            cpu.delta_net(sequence.tokens().part(&tokens, shape), &mut steps, &mut out);
            out
        };
        same_on_all(|cpu| {
            let mut whole = DeltaMemory::new(shape);
            let expect = run(cpu, &mut whole, 0..40);
            let mut memory = DeltaMemory::new(shape);
            let mut found = run(cpu, &mut memory, 0..1);
            found.extend(run(cpu, &mut memory, 1..20));
            let snapshot = memory.clone();
            assert!(memory.without(1).is_none(), "the step was not to be undone");
            // Steps that may be undone, one after the other, of which some tokens are.
            memory.expect_undo(true);
            found.extend(run(cpu, &mut memory, 20..25));
            assert!(memory.without(6).is_none());
            found.extend_from_slice(&run(cpu, &mut memory, 25..33)[..3 * width]);
            memory = memory.without(5).unwrap();
            let saved = DeltaMemory::from_floats(shape, memory.to_floats()).unwrap();
            for mut memory in [memory, saved] {
                memory.expect_undo(false);
                assert!(same(&run(cpu, &mut memory, 28..40), &expect[28 * width..]));
                assert!(same(&memory.to_floats(), &whole.to_floats()));
            }
            found.extend(run(cpu, &mut snapshot.clone(), 20..40).split_off(8 * width));
            assert!(same(&found, &expect));
            found
        });
    }
}

#[test]
fn gated_heads_are_right_and_the_same() {
    let mut random = SplitMix64::new(14);
    for head_dim in [32, 128] {
        let n = 20 * 3 * head_dim;
        let (x, gates, weight) = (random.floats(n), random.floats(n), random.floats(head_dim));
        let gates: Vec<f32> = gates.iter().map(|gate| 20.0 * gate).collect();
        let found = same_on_all(|cpu| {
            let mut y = Activations::default();
            cpu.gated_norm(&x, &gates, (3 * head_dim, &weight, 1e-5), false, &mut y);
            rows_of(&y)
        });
        let exact = x.chunks_exact(head_dim).zip(gates.chunks_exact(head_dim)).flat_map(|(x, gates)| {
            let mean = x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / head_dim as f64;
            x.iter().zip(&weight).zip(gates).map(move |((x, weight), gate)| {
                let gate = f64::from(*gate);
                f64::from(*x) / (mean + 1e-5).sqrt() * f64::from(*weight) * gate / (1.0 + (-gate).exp())
            })
        });
        assert_near(&found, exact);
    }
}
