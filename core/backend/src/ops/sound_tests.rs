//! The operations of sound encoders: each instruction set against the portable one, and that one against arithmetic in f64.

use crate::cpu::Cpu;
use crate::ops::channel_convolution::ChannelGrid;
use crate::ops::gate::GateFunction;
use crate::ops::relative_attention::RelativeAttention;
use crate::ops::tests::{assert_near, same_on_all};
use crate::random::SplitMix64;

#[test]
fn depthwise_convolutions_are_right_and_the_same() {
    let mut random = SplitMix64::new(21);
    for (kernel, before, stride, n_columns, n_channels, first_row) in [
        ((3, 3), (1, 1), 2, 6, 20, 0),
        ((3, 3), (1, 1), 2, 5, 16, 3),
        ((9, 1), (4, 0), 1, 1, 37, 0),
        ((5, 1), (4, 0), 1, 1, 32, 2),
    ] {
        let n_rows = 7;
        let x = random.floats(n_rows * n_columns * n_channels);
        let taps = random.floats(kernel.0 * kernel.1 * n_channels);
        let bias = random.floats(n_channels);
        let grid = ChannelGrid {
            values: &x,
            first_row,
            n_columns,
            n_channels,
            taps: &taps,
            bias: Some(&bias),
            kernel,
            before,
            stride,
        };
        let (rows, n_outputs) = (first_row.div_ceil(stride)..(first_row + n_rows).div_ceil(stride), grid.n_outputs());
        let found = same_on_all(|cpu| {
            let mut out = vec![0.0; rows.len() * n_outputs * n_channels];
            cpu.channel_convolution(grid, rows.clone(), &mut out);
            out
        });
        let exact = (0..found.len()).map(|at| {
            let (place, channel) = (at / n_channels, at % n_channels);
            let (row, column) = (rows.start + place / n_outputs, place % n_outputs);
            let mut sum = f64::from(bias[channel]);
            for (i, j) in (0..kernel.0).flat_map(|i| (0..kernel.1).map(move |j| (i, j))) {
                let (y, x_at) = ((row * stride + i).checked_sub(before.0), (column * stride + j).checked_sub(before.1));
                let y = y.and_then(|y| y.checked_sub(first_row)).filter(|y| *y < n_rows);
                if let (Some(y), Some(x_at)) = (y, x_at.filter(|x_at| *x_at < n_columns)) {
                    let input = x[(y * n_columns + x_at) * n_channels + channel];
                    sum += f64::from(input) * f64::from(taps[(i * kernel.1 + j) * n_channels + channel]);
                }
            }
            sum
        });
        assert_near(&found, exact);
    }
}

#[test]
fn relative_attention_is_right_and_the_same_for_any_number_of_queries() {
    let mut random = SplitMix64::new(22);
    for (n_keys, n_heads, head_dim, window, bound) in [
        (41, 2, 16, None, None),
        (7, 3, 8, None, None),
        (50, 1, 72, Some((11, 0)), None),
        (50, 2, 8, Some((11, 0)), Some(1.5)),
    ] {
        let width = n_heads * head_dim;
        let (n_before, n_after) = window.unwrap_or((n_keys - 1, n_keys - 1));
        let [queries, keys, values_] = [0; 3].map(|_| random.floats(n_keys * width));
        let positions = random.floats((n_before + 1 + n_after) * width);
        let [u, v] = [0; 2].map(|_| random.floats(width));
        let all = RelativeAttention {
            queries: &queries,
            first_query: 0,
            keys: &keys,
            values: &values_,
            positions: &positions,
            content_bias: &u,
            position_bias: &v,
            n_heads,
            n_before,
            n_after,
            scale: 0.3,
            bound,
        };
        let in_parts = |cpu: &Cpu, n: usize| {
            let mut out = vec![0.0; n_keys * width];
            for (at, out) in out.chunks_mut(n * width).enumerate() {
                let queries = &queries[at * n * width..][..out.len()];
                cpu.relative_attention(RelativeAttention { queries, first_query: at * n, ..all }, out);
            }
            out
        };
        let found = same_on_all(|cpu| in_parts(cpu, n_keys));
        for n in [1, 3, 17] {
            assert_eq!(same_on_all(|cpu| in_parts(cpu, n)), found, "{n} queries at a time");
        }
        let exact = |at: usize| {
            let (i, column) = (at / width, at % width);
            let head = column / head_dim * head_dim;
            let seen = i.saturating_sub(n_before)..n_keys.min(i + n_after + 1);
            let weight = |j: usize| {
                let score = |dim: usize| {
                    let query = f64::from(queries[i * width + dim]);
                    (query + f64::from(u[dim])) * f64::from(keys[j * width + dim])
                        + (query + f64::from(v[dim])) * f64::from(positions[(n_before + j - i) * width + dim])
                };
                let score = (head..head + head_dim).map(score).sum::<f64>() * f64::from(0.3f32);
                bound.map_or(score, |bound| f64::from(bound) * (score / f64::from(bound)).tanh()).exp()
            };
            let total: f64 = seen.clone().map(weight).sum();
            seen.map(|j| weight(j) * f64::from(values_[j * width + column])).sum::<f64>() / total
        };
        assert_near(&found, (0..found.len()).map(exact));
    }
}

#[test]
fn halves_of_rows_gate_each_other() {
    let mut random = SplitMix64::new(23);
    let pairs = random.floats(5 * 2 * 37);
    let gated = same_on_all(|cpu| {
        let mut out = vec![0.0; 5 * 37];
        cpu.gate_halves(GateFunction::Sigmoid, &pairs, &mut out, 37);
        out
    });
    let exact = (0..gated.len()).map(|at| {
        let (row, column) = (at / 37 * 74, at % 37);
        f64::from(pairs[row + column]) / (1.0 + (-f64::from(pairs[row + 37 + column])).exp())
    });
    assert_near(&gated, exact);
}
