use causerie_backend::{Activations, ConvolutionStep, Cpu, GateFunction, Pairing, ResidualAddition, Rotation};

use super::*;
use crate::kernels::PairForm;
use crate::{GateCurve, GpuVector, GpuWindow, OutputNorm, RowRotation, WindowSizes};

const EPSILON: f32 = 1e-5;
/// Not a multiple of sixteen lanes, nor of a workgroup's.
const ODD: usize = 1099;
const ROWS: usize = 5;

fn vector(recorder: &Recorder, values: &[f32]) -> GpuVector {
    GpuVector::new(recorder.gpu(), values).unwrap()
}

/// The floats of activations.
fn floats(x: &Activations) -> Vec<f32> {
    (0..x.n_rows()).flat_map(|row| x.row(row).to_vec()).collect()
}

#[test]
fn norms_have_the_cpus_bits() {
    let Some(recorder) = recorder() else { return };
    for width in [64, ODD, 2560] {
        let (x, weight) = (values(1, ROWS * width), values(2, width));
        let (mut inputs, mut expect) = (GpuInputs::default(), Activations::default());
        let rows = uploaded(&recorder, &x, width);
        recorder.norm(&rows, (&vector(&recorder, &weight), EPSILON), width != ODD, &mut inputs).unwrap();
        Cpu::new(1).norm(&x, &weight, EPSILON, width != ODD, &mut expect);
        assert_same_bits("norm", &read_inputs(&recorder, &inputs), &floats(&expect));
    }
}

#[test]
fn gates_have_the_cpus_bits() {
    let Some(recorder) = recorder() else { return };
    // Exponents up to both ends of the exponential.
    let gates: Vec<f32> =
        values(1, ROWS * ODD).iter().enumerate().map(|(at, x)| x * [1.0, 8.0, 60.0][at % 3]).collect();
    let ups = values(2, ROWS * ODD);
    let curves = [(GateCurve::Silu, GateFunction::Silu), (GateCurve::GeluTanh, GateFunction::GeluTanh)];
    for (curve, function) in curves {
        let (mut inputs, mut expect) = (GpuInputs::default(), Activations::default());
        let rows = [&gates, &ups].map(|values| uploaded(&recorder, values, ODD));
        recorder.gate(curve, &rows[0], &rows[1], false, &mut inputs).unwrap();
        Cpu::new(1).gate(function, (&gates, &ups, ODD), false, &mut expect);
        // Products below the normal range are zeros on a device.
        let flushed = |x: Vec<f32>| -> Vec<f32> {
            x.into_iter().map(|x| if x.abs() < f32::MIN_POSITIVE { 0.0 } else { x }).collect()
        };
        let found = flushed(read_inputs(&recorder, &inputs));
        assert_same_bits("gate", &found, &flushed(floats(&expect)));
    }
    let mut rows = uploaded(&recorder, &gates, ODD);
    recorder.sigmoid(&mut rows).unwrap();
    let mut expect = gates;
    Cpu::new(1).sigmoid(&mut expect);
    assert_same_bits("sigmoid", &read(&recorder, &rows), &expect);
}

#[test]
fn gated_heads_have_the_cpus_bits() {
    let Some(recorder) = recorder() else { return };
    let (x, gates) = (values(1, ROWS * 96), values(2, ROWS * 3));
    let mut inputs = GpuInputs::default();
    recorder.gate_heads(&uploaded(&recorder, &x, 96), &uploaded(&recorder, &gates, 3), true, &mut inputs).unwrap();
    let expect: Vec<f32> = x.iter().enumerate().map(|(at, x)| x * gates[at / 32]).collect();
    assert_same_bits("gate_heads", &read_inputs(&recorder, &inputs), &expect);
}

#[test]
fn residual_additions_have_the_cpus_bits() {
    let Some(recorder) = recorder() else { return };
    let (x, weight, stream) = (values(1, ROWS * ODD), values(2, ODD), values(3, ROWS * ODD));
    let on_gpu = vector(&recorder, &weight);
    for (has_norm, factor) in [(false, 0.22), (true, 1.0), (true, 0.3)] {
        let mut sum = uploaded(&recorder, &stream, ODD);
        let how = OutputNorm { norm: has_norm.then_some((&on_gpu, EPSILON)), factor };
        recorder.add_rows(&uploaded(&recorder, &x, ODD), how, &mut sum).unwrap();
        let mut expect = stream.clone();
        let how = ResidualAddition { norm: has_norm.then_some((&weight, EPSILON)), factor };
        Cpu::new(1).add_outputs(&mut expect, &x, ODD, how);
        assert_same_bits("add_rows", &read(&recorder, &sum), &expect);
    }
}

#[test]
fn rotated_heads_have_the_cpus_bits() {
    let Some(recorder) = recorder() else { return };
    for (head_dim, n_pairs, has_norm) in [(64, 32, true), (80, 20, false), (96, 48, true)] {
        let width = 3 * head_dim;
        let (x, weight) = (values(1, ROWS * width), values(2, head_dim));
        let (cosines, sines) = (values(3, ROWS * n_pairs), values(4, ROWS * n_pairs));
        let on_gpu = vector(&recorder, &weight);
        for (pairs, pairing) in [(PairForm::Halves, Pairing::Halves), (PairForm::Neighbours, Pairing::Neighbours)] {
            let mut rows = uploaded(&recorder, &x, width);
            let [at_cosines, at_sines] = [&cosines, &sines].map(|values| recorder.table(values).unwrap());
            let rotation = RowRotation { n_pairs, pairs, cosines: at_cosines, sines: at_sines };
            let norm = has_norm.then_some((&on_gpu, EPSILON));
            recorder.rotate(&mut rows, head_dim, norm, Some(rotation)).unwrap();
            let mut expect = x.clone();
            let rotation = Rotation { cosines: &cosines, sines: &sines, n_pairs, pairing };
            let norm = has_norm.then_some((weight.as_slice(), EPSILON));
            Cpu::new(1).rotate(&mut expect, (width, head_dim), norm, Some(rotation));
            assert_same_bits("rotate", &read(&recorder, &rows), &expect);
        }
    }
}

#[test]
fn functions_of_values_have_the_cpus_bits() {
    let Some(recorder) = recorder() else { return };
    let x = values(1, ROWS * ODD);
    let mut rows = uploaded(&recorder, &x, ODD);
    recorder.bound(&mut rows, 0.7).unwrap();
    let mut expect = x.clone();
    Cpu::new(1).bound(&mut expect, ODD, 0.7);
    assert_same_bits("bound", &read(&recorder, &rows), &expect);

    let mut rows = uploaded(&recorder, &x, ODD);
    recorder.scale(&mut rows, 0.3).unwrap();
    let factors = values(2, ROWS);
    let at = recorder.table(&factors).unwrap();
    recorder.grow(&mut rows, at).unwrap();
    let own = values(3, ROWS * ODD);
    recorder.mix(&mut rows, &own, 16.0).unwrap();
    let grown = |at: usize| x[at] * 0.3 * factors[at / ODD];
    let mixed = |at: usize| (grown(at) + own[at] * 16.0) * std::f32::consts::FRAC_1_SQRT_2;
    let expect: Vec<f32> = (0..x.len()).map(mixed).collect();
    assert_same_bits("scale, grow and mix", &read(&recorder, &rows), &expect);
}

#[test]
fn decays_have_the_cpus_bits() {
    let Some(recorder) = recorder() else { return };
    let bias = values(2, ODD);
    let log_decays: Vec<f32> = values(3, ODD).iter().map(|x| -8.0 * x.abs()).collect();
    for factor in [1.0, 30.0, 1e4] {
        let x: Vec<f32> = values(1, ROWS * ODD).iter().map(|x| x * factor).collect();
        let mut rows = uploaded(&recorder, &x, ODD);
        recorder.decays(&mut rows, &vector(&recorder, &log_decays), &vector(&recorder, &bias)).unwrap();
        let mut expect = x;
        Cpu::new(1).decays(&mut expect, &log_decays, &bias);
        assert_same_bits("decays", &read(&recorder, &rows), &expect);
    }
}

#[test]
fn values_are_copied_from_where_they_are_asked_for() {
    let Some(recorder) = recorder() else { return };
    let x = values(1, ROWS * 64);
    let rows = uploaded(&recorder, &x, 64);
    let mut to = GpuRows::default();
    recorder.columns(&rows, 5..40, &mut to).unwrap();
    let expect: Vec<f32> = x.chunks(64).flat_map(|row| row[5..40].to_vec()).collect();
    assert_same_bits("columns", &read(&recorder, &to), &expect);
    recorder.select(&rows, &[3..5, 0..1], &mut to).unwrap();
    assert_same_bits("select", &read(&recorder, &to), &[&x[3 * 64..5 * 64], &x[..64]].concat());
    let (mut queries, mut gates) = (GpuRows::default(), GpuRows::default());
    recorder.split_heads(&rows, 16, &mut queries, &mut gates).unwrap();
    let part = |first: usize| -> Vec<f32> { x.chunks(32).flat_map(|pair| pair[first..first + 16].to_vec()).collect() };
    assert_same_bits("queries", &read(&recorder, &queries), &part(0));
    assert_same_bits("gates", &read(&recorder, &gates), &part(16));
}

#[test]
fn convolutions_have_the_cpus_bits_in_any_steps() {
    let Some(recorder) = recorder() else { return };
    const CHANNELS: usize = 288;
    const TAPS: usize = 3;
    const WINDOW: WindowSizes = WindowSizes { n_past: TAPS - 1, n_channels: CHANNELS };
    let (taps, bias) = (values(1, TAPS * CHANNELS), values(2, CHANNELS));
    let x = values(3, 9 * 3 * CHANNELS);
    let (taps_on_gpu, bias_on_gpu) = (vector(&recorder, &taps), vector(&recorder, &bias));
    let mut past = vec![0.0; WINDOW.n_past * CHANNELS];
    let mut expect = Activations::default();
    let mut steps = [ConvolutionStep { rows: 0..9, past: &mut past }];
    Cpu::new(1).convolution(&x, (&taps, Some(&bias), CHANNELS), &mut steps, true, &mut expect);

    let mut window = GpuWindow::new(&recorder, WINDOW);
    let run = |window: &mut GpuWindow, range: std::ops::Range<usize>| {
        let n = range.len();
        let rows = uploaded(&recorder, &x[range.start * 3 * CHANNELS..range.end * 3 * CHANNELS], 3 * CHANNELS);
        let mut inputs = GpuInputs::default();
        let windows = std::iter::once((0..n, window));
        recorder.convolve(&rows, (&taps_on_gpu, Some(&bias_on_gpu)), windows, true, &mut inputs).unwrap();
        read_inputs(&recorder, &inputs)
    };
    let mut found = run(&mut window, 0..1);
    found.extend(run(&mut window, 1..3));
    // Two rows too many are cut off again.
    window.expect_cut(true);
    run(&mut window, 3..8);
    window = window.cut(2).unwrap();
    let snapshot = window.clone();
    found.extend(run(&mut window, 6..9));
    assert_same_bits("last rows", &found[3 * CHANNELS..], &floats(&expect)[6 * CHANNELS..]);
    assert_same_bits("first rows", &found[..3 * CHANNELS], &floats(&expect)[..3 * CHANNELS]);
    assert_same_bits("window", &window.to_floats(&recorder).unwrap(), &past);
    // Other sequences do not write to what a snapshot holds.
    let mut loaded = GpuWindow::new(&recorder, WINDOW);
    loaded.set(&recorder, &snapshot.to_floats(&recorder).unwrap()).unwrap();
    assert_same_bits("from a snapshot", &run(&mut loaded, 6..9), &floats(&expect)[6 * CHANNELS..]);
}
