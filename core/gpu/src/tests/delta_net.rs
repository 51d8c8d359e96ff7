use causerie_backend::{ConvolutionStep, Cpu, DeltaMemory, DeltaShape, DeltaStep, DeltaTokens};

use super::*;
use crate::{DeltaSizes, GpuDeltaMemory, GpuVector, GpuWindow, WindowSizes};

const SHAPE: DeltaShape = DeltaShape { n_keys: 2, n_values: 4, key_dim: 64, value_dim: 32 };
const TAPS: usize = 4;
const ROWS: usize = 9;

fn sizes() -> DeltaSizes {
    let DeltaShape { n_keys, n_values, key_dim, value_dim } = SHAPE;
    DeltaSizes { n_keys, n_values, key_dim, value_dim }
}

#[test]
fn the_tokens_of_delta_nets_have_the_cpus_bits() {
    let Some(recorder) = recorder() else { return };
    let width = SHAPE.n_channels();
    let (x, taps) = (values(1, ROWS * width), values(2, TAPS * width));
    let (mut past, mut expect) = (vec![0.0; (TAPS - 1) * width], vec![0.0; ROWS * width]);
    let mut steps = [ConvolutionStep { rows: 0..ROWS, past: &mut past }];
    Cpu::new(1).delta_inputs(&x, (SHAPE, &taps), &mut steps, &mut expect);
    let (mut window, mut tokens) =
        (GpuWindow::new(&recorder, WindowSizes { n_past: TAPS - 1, n_channels: width }), GpuRows::default());
    let taps = GpuVector::new(recorder.gpu(), &taps).unwrap();
    let windows = std::iter::once((0..ROWS, &mut window));
    recorder.convolve_channels(&uploaded(&recorder, &x, width), &taps, windows, &mut tokens).unwrap();
    recorder.unit_heads(&mut tokens, sizes(), 1e-6).unwrap();
    assert_same_bits("delta_inputs", &read(&recorder, &tokens), &expect);
    assert_same_bits("window", &window.to_floats(&recorder).unwrap(), &past);
}

#[test]
fn delta_nets_have_the_cpus_bits_in_any_steps() {
    let Some(recorder) = recorder() else { return };
    let (width, n_out) = (SHAPE.n_channels(), SHAPE.n_values * SHAPE.value_dim);
    let tokens: Vec<f32> = values(1, ROWS * width).iter().map(|x| x * 0.1).collect();
    // Between 0 and 1, as all decays and rates are.
    let fractions = |seed| -> Vec<f32> { values(seed, ROWS * SHAPE.n_values).iter().map(|x| x / 4.0 + 0.5).collect() };
    let (decays, rates) = (fractions(2), fractions(3));
    let (mut on_cpu, mut expect) = (DeltaMemory::new(SHAPE), vec![0.0; ROWS * n_out]);
    let all = DeltaTokens { rows: &tokens, decays: &decays, rates: &rates };
    Cpu::new(1).delta_net(all, &mut [DeltaStep { rows: 0..ROWS, memory: &mut on_cpu }], &mut expect);

    let mut memory = GpuDeltaMemory::new(&recorder, sizes());
    let run = |memory: &mut GpuDeltaMemory, range: std::ops::Range<usize>| {
        let rows =
            |values: &[f32], width: usize| uploaded(&recorder, &values[range.start * width..range.end * width], width);
        let (tokens, decays, rates) =
            (rows(&tokens, width), rows(&decays, SHAPE.n_values), rows(&rates, SHAPE.n_values));
        let mut out = GpuRows::default();
        let memories = std::iter::once((0..range.len(), memory));
        recorder.delta_net((&tokens, &decays, &rates), memories, &mut out).unwrap();
        read(&recorder, &out)
    };
    let mut found = run(&mut memory, 0..3);
    let mut fork = memory.clone();
    // Three rows too many are undone again.
    memory.expect_cut(true);
    run(&mut memory, 3..8);
    memory = memory.cut(3).unwrap();
    found.extend(run(&mut memory, 5..9));
    assert_same_bits("first rows", &found[..3 * n_out], &expect[..3 * n_out]);
    assert_same_bits("last rows", &found[3 * n_out..], &expect[5 * n_out..]);
    assert_same_bits("matrices", &memory.to_floats(&recorder).unwrap(), &on_cpu.to_floats());
    assert_same_bits("a fork", &run(&mut fork, 3..9), &expect[3 * n_out..]);
}

#[test]
fn weighted_rows_are_added_where_they_belong() {
    let Some(recorder) = recorder() else { return };
    let (x, stream) = (values(1, 2 * 300), values(2, 3 * 300));
    let mut sum = uploaded(&recorder, &stream, 300);
    recorder.add_weighted(&uploaded(&recorder, &x, 300), &[(2, 0.3), (0, 0.7)], &mut sum).unwrap();
    let mut expect = stream;
    for (at, x) in x[..300].iter().enumerate() {
        expect[600 + at] += 0.3 * x;
    }
    for (at, x) in x[300..].iter().enumerate() {
        expect[at] += 0.7 * x;
    }
    assert_same_bits("add_weighted", &read(&recorder, &sum), &expect);
}
