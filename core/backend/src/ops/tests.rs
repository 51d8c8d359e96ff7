//! Compares each instruction set with the portable one, bit by bit, and that one with arithmetic in f64.

use std::ops::Range;

use crate::activations::Activations;
use crate::arguments::{AttentionStep, ConvolutionStep, ResidualAddition, Rotation};
use crate::cpu::Cpu;
use crate::kernels::Tier;
use crate::ops::attention::AttentionMask;
use crate::ops::gate::GateFunction;
use crate::ops::grid_convolution::PatchGrid;
use crate::ops::rotation::Pairing;
use crate::pages::{CacheShape, CacheType, KeyValues};
use crate::pool::Pool;
use crate::random::{SplitMix64, same};

const CACHE_TYPES: [CacheType; 3] = [CacheType::F16, CacheType::F32, CacheType::Q8_0];
/// Widths of full vectors, and widths whose last vector is not full.
const WIDTHS: [usize; 4] = [64, 128, 96, 37];

/// Checks that all instruction sets compute the same, with one thread and with three. Returns the result.
#[track_caller]
pub(super) fn same_on_all(work: impl Fn(&Cpu) -> Vec<f32>) -> Vec<f32> {
    let portable = work(&Cpu::with(Tier::Portable, Pool::new(1)));
    for tier in Tier::all() {
        for n_threads in [1, 3] {
            let found = work(&Cpu::with(tier, Pool::new(n_threads)));
            assert!(same(&found, &portable), "{tier:?}, {n_threads} threads");
        }
    }
    portable
}

/// Sums in f32 are off by some units in the last place.
#[track_caller]
pub(super) fn assert_near(found: &[f32], exact: impl IntoIterator<Item = f64>) {
    let mut n = 0;
    for (found, exact) in found.iter().zip(exact) {
        n += 1;
        assert!((f64::from(*found) - exact).abs() < 1e-5 * exact.abs().max(1.0), "found {found}, expected {exact}");
    }
    assert_eq!(n, found.len());
}

pub(super) fn rows_of(x: &Activations) -> Vec<f32> {
    (0..x.n_rows()).flat_map(|row| x.row(row)).copied().collect()
}

#[test]
fn attention_is_right_and_the_same() {
    let mut random = SplitMix64::new(5);
    for cache_type in CACHE_TYPES {
        for (head_dim, n_heads, n_sharing, mask, scale) in [
            (64, 2, 2, AttentionMask::Causal { window: usize::MAX }, 0.125),
            (80, 1, 3, AttentionMask::Causal { window: 50 }, 0.1),
            (24, 3, 1, AttentionMask::Causal { window: 70 }, 0.3),
            (128, 1, 4, AttentionMask::Causal { window: 1 }, 0.1),
            (72, 2, 1, AttentionMask::Bidirectional, 0.1),
            (64, 1, 2, AttentionMask::TwoWay { window: usize::MAX, n_after: usize::MAX }, 0.1),
            (80, 2, 1, AttentionMask::TwoWay { window: 50, n_after: usize::MAX }, 0.2),
            (64, 1, 2, AttentionMask::TwoWay { window: 40, n_after: 39 }, 0.2),
        ] {
            let shape = CacheShape { n_heads, head_dim, cache_type };
            // Two sequences, each with tokens before the rows that are computed.
            let pasts = [(3, 140), (45, 5)].map(|(n_before, n_rows)| {
                let mut past = KeyValues::new(shape);
                let n = (n_before + n_rows) * n_heads * head_dim;
                past.append(&random.floats(n), &random.floats(n));
                (past, n_before, n_rows)
            });
            let width = n_sharing * n_heads * head_dim;
            let queries: Vec<f32> = random.floats(145 * width).iter().map(|x| 3.0 * x).collect();
            let found = same_on_all(|cpu| {
                let steps = [0..140, 140..145].into_iter().zip(&pasts);
                let steps: Vec<_> = steps.map(|(rows, (past, ..))| AttentionStep { rows, past, mask }).collect();
                let mut mixed = vec![f32::NAN; queries.len()];
                cpu.attention(&queries, &steps, scale, &mut mixed);
                mixed
            });
            let (mut rows, mut exact) = (queries.chunks_exact(head_dim), Vec::new());
            for (past, n_before, n_rows) in &pasts {
                let (keys, values) = past.to_floats();
                for row in 0..*n_rows {
                    for query_head in 0..n_sharing * n_heads {
                        let head = query_head / n_sharing * past.n_tokens();
                        let of = |all: &[f32], token: usize, at: usize| f64::from(all[(head + token) * head_dim + at]);
                        let query = rows.next().unwrap();
                        let end = n_before + row + 1;
                        let seen = match mask {
                            AttentionMask::Causal { window } => end.saturating_sub(window)..end,
                            AttentionMask::TwoWay { window, n_after } => {
                                end.saturating_sub(window)..end.saturating_add(n_after).min(past.n_tokens())
                            }
                            AttentionMask::Bidirectional => 0..past.n_tokens(),
                        };
                        let score = |token| -> f64 {
                            let products = query.iter().enumerate().map(|(at, q)| f64::from(*q) * of(&keys, token, at));
                            products.sum::<f64>() * f64::from(scale)
                        };
                        let weights: Vec<f64> = seen.clone().map(|token| score(token).exp()).collect();
                        let sum: f64 = weights.iter().sum();
                        exact.extend((0..head_dim).map(|at| {
                            let parts =
                                seen.clone().zip(&weights).map(|(token, weight)| weight * of(&values, token, at));
                            parts.sum::<f64>() / sum
                        }));
                    }
                }
            }
            assert_near(&found, exact);
        }
    }
}

#[test]
fn norms_are_right_and_the_same() {
    let mut random = SplitMix64::new(6);
    for width in WIDTHS {
        let (x, weight) = (random.floats(40 * width), random.floats(width));
        let found = same_on_all(|cpu| {
            let mut y = Activations::default();
            cpu.norm(&x, &weight, 1e-5, false, &mut y);
            rows_of(&y)
        });
        let heads = same_on_all(|cpu| {
            let mut heads = x.clone();
            cpu.rotate(&mut heads, (2 * width, width), Some((&weight, 1e-5)), None);
            heads
        });
        let exact = x.chunks_exact(width).flat_map(|row| {
            let mean = row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / width as f64;
            row.iter().zip(&weight).map(move |(x, w)| f64::from(*x) / (mean + 1e-5).sqrt() * f64::from(*w))
        });
        let exact: Vec<f64> = exact.collect();
        assert_near(&found, exact.clone());
        assert_near(&heads, exact);
    }
}

#[test]
fn layer_norms_are_right_and_the_same() {
    let mut random = SplitMix64::new(17);
    for width in WIDTHS {
        let [x, weight, bias] = [40 * width, width, width].map(|n| random.floats(n));
        let x: Vec<f32> = x.iter().map(|x| x + 2.0).collect();
        let found = same_on_all(|cpu| {
            let mut y = Activations::default();
            cpu.layer_norm(&x, (&weight, &bias, 1e-6), false, &mut y);
            rows_of(&y)
        });
        let exact = x.chunks_exact(width).flat_map(|row| {
            let mean = row.iter().map(|x| f64::from(*x)).sum::<f64>() / width as f64;
            let variance = row.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / width as f64;
            let scale = (variance + 1e-6).sqrt().recip();
            let affine = weight.iter().zip(&bias);
            row.iter()
                .zip(affine)
                .map(move |(x, (w, b))| (f64::from(*x) - mean) * scale * f64::from(*w) + f64::from(*b))
        });
        assert_near(&found, exact.collect::<Vec<_>>());
    }
}

/// The error function, by Simpson's rule.
fn erf(x: f64) -> f64 {
    const N: u32 = 400;
    let end = x.clamp(-6.0, 6.0);
    let density = |at: u32| (-(end * f64::from(at) / f64::from(N)).powi(2)).exp();
    let inner: f64 = (1..N).map(|at| if at % 2 == 0 { 2.0 * density(at) } else { 4.0 * density(at) }).sum();
    (density(0) + inner + density(N)) * end / (3.0 * f64::from(N)) * std::f64::consts::FRAC_2_SQRT_PI
}

#[test]
fn gates_are_right_and_the_same() {
    let mut random = SplitMix64::new(7);
    let silu = |x: f64| x / (1.0 + (-x).exp());
    let gelu = |x: f64| 0.5 * x * (1.0 + erf(x * std::f64::consts::FRAC_1_SQRT_2));
    let gelu_tanh =
        |x: f64| 0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh());
    let functions =
        [(GateFunction::Silu, silu as fn(f64) -> f64), (GateFunction::Gelu, gelu), (GateFunction::GeluTanh, gelu_tanh)];
    for ((function, exact), width) in functions.into_iter().flat_map(|function| WIDTHS.map(|width| (function, width))) {
        for spread in [3.0, 90.0] {
            let gate: Vec<f32> = random.floats(20 * width).iter().map(|x| spread * x).collect();
            let up = random.floats(20 * width);
            let found = same_on_all(|cpu| {
                let mut y = Activations::default();
                cpu.gate(function, (&gate, &up, width), false, &mut y);
                rows_of(&y)
            });
            assert_near(&found, gate.iter().zip(&up).map(|(gate, up)| exact(f64::from(*gate)) * f64::from(*up)));
            let found = same_on_all(|cpu| {
                let mut y = Activations::default();
                cpu.activate(function, (&gate, width), false, &mut y);
                rows_of(&y)
            });
            assert_near(&found, gate.iter().map(|x| exact(f64::from(*x))));
        }
    }
}

#[test]
fn outputs_are_added_right_and_the_same() {
    let mut random = SplitMix64::new(11);
    for width in WIDTHS {
        let [stream, outputs, weight] = [40 * width, 40 * width, width].map(|n| random.floats(n));
        for (norm, factor) in
            [(None, 0.22), (Some((weight.as_slice(), 1e-5)), 1.0), (Some((weight.as_slice(), 1e-6)), 0.5)]
        {
            let found = same_on_all(|cpu| {
                let mut stream = stream.clone();
                cpu.add_outputs(&mut stream, &outputs, width, ResidualAddition { norm, factor });
                stream
            });
            let exact = outputs.chunks_exact(width).flat_map(|row| {
                let mean = row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / width as f64;
                row.iter().enumerate().map(move |(at, x)| {
                    let normed =
                        |(weight, epsilon): (&[f32], f32)| f64::from(weight[at]) / (mean + f64::from(epsilon)).sqrt();
                    f64::from(*x) * norm.map_or(1.0, normed) * f64::from(factor)
                })
            });
            assert_near(&found, stream.iter().zip(exact).map(|(x, added)| f64::from(*x) + added));
        }
    }
}

#[test]
fn sigmoids_are_right_and_the_same() {
    let mut random = SplitMix64::new(13);
    let values: Vec<f32> = random.floats(77).iter().map(|x| 50.0 * x).collect();
    let found = same_on_all(|cpu| {
        let mut values = values.clone();
        cpu.sigmoid(&mut values);
        values
    });
    assert_near(&found, values.iter().map(|x| 1.0 / (1.0 + (-f64::from(*x)).exp())));
}

#[test]
fn decays_are_right_and_the_same() {
    let mut random = SplitMix64::new(14);
    for n_heads in [16, 37] {
        let bias = random.floats(n_heads);
        let log_decays: Vec<f32> = random.floats(n_heads).iter().map(|x| -16.0 * x.abs()).collect();
        let values: Vec<f32> = random.floats(9 * n_heads).iter().map(|x| 60.0 * x.powi(3)).collect();
        let found = same_on_all(|cpu| {
            let mut values = values.clone();
            cpu.decays(&mut values, &log_decays, &bias);
            values
        });
        let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
        let exact = |(at, x): (usize, &f32)| {
            let (bias, log_decay) = (bias[at % n_heads], f64::from(log_decays[at % n_heads]));
            (log_decay * softplus(f64::from(*x + bias))).exp()
        };
        let exact: Vec<f64> = values.iter().enumerate().map(exact).collect();
        // Near 1, where a decay lasts for many tokens, to within the distance of f32 values.
        let is_near = |(found, exact): (&f32, &f64)| (f64::from(*found) - exact).abs() <= 2e-7 * exact.max(0.5);
        assert!(found.iter().zip(&exact).all(is_near), "{found:?} {exact:?}");
    }
}

#[test]
fn bounds_are_right_and_the_same() {
    let mut random = SplitMix64::new(12);
    let values: Vec<f32> = random.floats(9001).iter().map(|x| 200.0 * x).collect();
    for bound in [5.0, 30.0] {
        let found = same_on_all(|cpu| {
            let mut values = values.clone();
            cpu.bound(&mut values, 9001, bound);
            values
        });
        let bound = f64::from(bound);
        assert_near(&found, values.iter().map(|x| bound * (f64::from(*x) / bound).tanh()));
    }
}

#[test]
fn rotations_are_right_and_the_same() {
    let mut random = SplitMix64::new(8);
    for (pairing, head_dim, n_pairs) in [
        (Pairing::Halves, 64, 32),
        (Pairing::Neighbours, 64, 32),
        (Pairing::Halves, 24, 12),
        (Pairing::Neighbours, 24, 12),
        (Pairing::Halves, 64, 8),
        (Pairing::Neighbours, 24, 3),
    ] {
        let (n_rows, n_heads) = (20, 3);
        let x = random.floats(n_rows * n_heads * head_dim);
        let angles = random.floats(n_rows * n_pairs);
        let [cosines, sines] =
            [f32::cos, f32::sin].map(|of| angles.iter().map(|angle| of(3.0 * angle)).collect::<Vec<_>>());
        let found = same_on_all(|cpu| {
            let mut rows = x.clone();
            let rotation = Rotation { cosines: &cosines, sines: &sines, n_pairs, pairing };
            cpu.rotate(&mut rows, (n_heads * head_dim, head_dim), None, Some(rotation));
            rows
        });
        let mut exact: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        for (head, (x, y)) in x.chunks_exact(head_dim).zip(exact.chunks_exact_mut(head_dim)).enumerate() {
            for pair in 0..n_pairs {
                let (a, b) = match pairing {
                    Pairing::Halves => (pair, pair + n_pairs),
                    Pairing::Neighbours => (2 * pair, 2 * pair + 1),
                };
                let at = head / n_heads * n_pairs + pair;
                let (cosine, sine) = (f64::from(cosines[at]), f64::from(sines[at]));
                y[a] = f64::from(x[a]) * cosine - f64::from(x[b]) * sine;
                y[b] = f64::from(x[b]) * cosine + f64::from(x[a]) * sine;
            }
        }
        assert_near(&found, exact);
    }
}

#[test]
fn convolutions_are_right_and_the_same() {
    let mut random = SplitMix64::new(9);
    for (hidden, window) in WIDTHS.into_iter().zip([3, 2, 7, 4]) {
        let lengths = [1, 30, 2];
        let n_rows: usize = lengths.iter().sum();
        let projected = random.floats(n_rows * 3 * hidden);
        let (taps, bias) = (random.floats(window * hidden), random.floats(hidden));
        let pasts = lengths.map(|_| random.floats((window - 1) * hidden));
        for bias in [None, Some(bias.as_slice())] {
            let found = same_on_all(|cpu| {
                let (mut pasts, mut end, mut y) = (pasts.clone(), 0, Activations::default());
                let mut steps = Vec::new();
                for (past, length) in pasts.iter_mut().zip(lengths) {
                    steps.push(ConvolutionStep { rows: end..end + length, past });
                    end += length;
                }
                cpu.convolution(&projected, (&taps, bias, hidden), &mut steps, false, &mut y);
                [rows_of(&y), pasts.concat()].concat()
            });
            let (mut exact, mut kept) = (Vec::new(), Vec::new());
            let mut rows = projected.chunks_exact(3 * hidden);
            for (past, length) in pasts.iter().zip(lengths) {
                let mut inputs: Vec<f64> = past.iter().map(|x| f64::from(*x)).collect();
                for row in 0..length {
                    let (b, cx) = rows.next().unwrap().split_at(hidden);
                    let (c, x) = cx.split_at(hidden);
                    inputs.extend(b.iter().zip(x).map(|(b, x)| f64::from(*b) * f64::from(*x)));
                    exact.extend((0..hidden).map(|at| {
                        let tap = |tap: usize| f64::from(taps[tap * hidden + at]) * inputs[(row + tap) * hidden + at];
                        let sum = bias.map_or(0.0, |bias| f64::from(bias[at])) + (0..window).map(tap).sum::<f64>();
                        f64::from(c[at]) * sum
                    }));
                }
                kept.extend_from_slice(&inputs[length * hidden..]);
            }
            assert_near(&found, exact.into_iter().chain(kept));
        }
    }
}

#[test]
fn centred_convolutions_are_right_and_the_same() {
    let mut random = SplitMix64::new(10);
    for (hidden, window) in WIDTHS.into_iter().zip([3, 1, 7, 5]) {
        let sequences = [0..1, 1..31, 31..33];
        let projected = random.floats(33 * 3 * hidden);
        let (taps, bias) = (random.floats(window * hidden), random.floats(hidden));
        for bias in [None, Some(bias.as_slice())] {
            let found = same_on_all(|cpu| {
                let mut y = Activations::default();
                cpu.centred_convolution(&projected, (&taps, bias, hidden), &sequences, false, &mut y);
                rows_of(&y)
            });
            let value = |row: usize, part: usize, at: usize| f64::from(projected[(3 * row + part) * hidden + at]);
            let of_row = |rows: &Range<usize>, row: usize| {
                let rows = rows.clone();
                (0..hidden).map(move |at| (rows.clone(), row, at))
            };
            let places = sequences.iter().flat_map(|rows| rows.clone().flat_map(|row| of_row(rows, row)));
            let exact = places.map(|(rows, row, at)| {
                let tap = |tap: usize| match (row + tap).checked_sub(window / 2).filter(|input| rows.contains(input)) {
                    Some(input) => f64::from(taps[tap * hidden + at]) * value(input, 0, at) * value(input, 2, at),
                    None => 0.0,
                };
                let sum = bias.map_or(0.0, |bias| f64::from(bias[at])) + (0..window).map(tap).sum::<f64>();
                value(row, 1, at) * sum
            });
            assert_near(&found, exact);
        }
    }
}

#[test]
fn convolutions_over_grids_are_right_and_the_same() {
    let mut random = SplitMix64::new(11);
    for (hidden, (n_rows, n_columns, side)) in WIDTHS.into_iter().zip([(3, 5, 3), (1, 4, 3), (6, 2, 1), (4, 4, 5)]) {
        let [projected, taps] = [n_rows * n_columns * 3 * hidden, side * side * hidden].map(|n| random.floats(n));
        let grid = PatchGrid { projected: &projected, n_columns, taps: &taps, side, hidden };
        let of = |patches: Range<usize>| {
            same_on_all(|cpu| {
                let mut y = Activations::default();
                cpu.grid_convolution(grid, patches.clone(), false, &mut y);
                rows_of(&y)
            })
        };
        let found = of(0..n_rows * n_columns);
        let part = |row: usize, column: usize, part: usize, at: usize| {
            f64::from(projected[(3 * (row * n_columns + column) + part) * hidden + at])
        };
        let mut exact = Vec::new();
        for (row, column) in (0..n_rows).flat_map(|row| (0..n_columns).map(move |column| (row, column))) {
            for at in 0..hidden {
                let mut sum = 0.0;
                for (down, across) in (0..side).flat_map(|down| (0..side).map(move |across| (down, across))) {
                    let (y, x) = ((row + down).wrapping_sub(side / 2), (column + across).wrapping_sub(side / 2));
                    if y < n_rows && x < n_columns {
                        let tap = f64::from(taps[(down * side + across) * hidden + at]);
                        sum += tap * part(y, x, 0, at) * part(y, x, 2, at);
                    }
                }
                exact.push(part(row, column, 1, at) * sum);
            }
        }
        assert_near(&found, exact);
        assert_eq!(of(1..n_rows * n_columns), found[hidden..]);
    }
}

#[test]
fn q8_0_is_near_and_stores_again_without_change() {
    let mut random = SplitMix64::new(10);
    for head_dim in [64, 40] {
        let shape = CacheShape { n_heads: 2, head_dim, cache_type: CacheType::Q8_0 };
        let mut past = KeyValues::new(shape);
        let [keys, values] =
            [1e-6, 50.0].map(|scale| random.floats(70 * 2 * head_dim).iter().map(|x| scale * x).collect::<Vec<_>>());
        past.append(&keys, &values);
        let kept = past.to_floats();
        for (given, kept) in [(&keys, &kept.0), (&values, &kept.1)] {
            for token in 0..70 {
                for head in 0..2 {
                    let given = &given[(token * 2 + head) * head_dim..][..head_dim];
                    let kept = &kept[(head * 70 + token) * head_dim..][..head_dim];
                    for (given, kept) in given.chunks(32).zip(kept.chunks(32)) {
                        let largest = given.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
                        let is_near = |(given, kept): (&f32, &f32)| (given - kept).abs() <= largest / 253.0;
                        assert!(given.iter().zip(kept).all(is_near));
                    }
                }
            }
        }
        let mut again = KeyValues::new(shape);
        again.append_heads(&kept.0, &kept.1);
        let again = again.to_floats();
        assert!(same(&again.0, &kept.0) && same(&again.1, &kept.1));
    }
}

#[test]
fn q8_0_of_values_that_are_not_finite_is_finite() {
    let shape = CacheShape { n_heads: 1, head_dim: 4, cache_type: CacheType::Q8_0 };
    let mut past = KeyValues::new(shape);
    past.append(&[0.0; 4], &[f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-45]);
    let (keys, values) = past.to_floats();
    assert!(same(&keys, &[0.0; 4]) && values.iter().all(|value| value.is_finite()));
}
