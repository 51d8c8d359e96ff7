//! Products of a row that a kernel makes itself have the bits of the kernels that make it first.

use causerie_backend::Format;

use super::*;
use crate::checks::random_matrices;
use crate::{AttentionRow, CacheFormat, GpuKeyValues, PairForm, RowRotation};
use crate::{
    GateCurve, GpuMatrix, GpuVector, GpuWindow, KeyValueShape, NormedRow, OutputNorm, PlacedHeads, WindowSizes,
};

const EPSILON: f32 = 1e-5;
/// More than lanes have blocks, and a multiple of all blocks.
const COLUMNS: usize = 1280;

const QUANTISED: [Format; 6] = [Format::Q8_0, Format::Q4_0, Format::Q5_1, Format::Q4K, Format::Q5K, Format::Q6K];

fn vector(recorder: &Recorder, seed: u64, n: usize) -> GpuVector {
    GpuVector::new(recorder.gpu(), &values(seed, n)).unwrap()
}

fn matrix(recorder: &Recorder, format: Format, shape: (usize, usize)) -> GpuMatrix {
    random_matrices(recorder, format, shape).unwrap().0
}

#[test]
fn products_of_a_norm_have_the_bits_of_norm_and_product() {
    let Some(recorder) = recorder() else { return };
    let (row, weight) = (uploaded(&recorder, &values(1, COLUMNS), COLUMNS), vector(&recorder, 2, COLUMNS));
    for (at, format) in QUANTISED.into_iter().enumerate() {
        // Rows that are not a multiple of a workgroup's, and another format beside it.
        let other = QUANTISED[(at + 3) % QUANTISED.len()];
        let matrices = [(format, 100), (other, 33), (format, 8)];
        let matrices = matrices.map(|(format, n_rows)| matrix(&recorder, format, (n_rows, COLUMNS)));
        let mut inputs = GpuInputs::default();
        recorder.norm(&row, (&weight, EPSILON), true, &mut inputs).unwrap();
        for n in 1..=3 {
            let chosen: Vec<&GpuMatrix> = matrices[..n].iter().collect();
            assert!(recorder.fits_norm_product(&row, &chosen), "{format:?}");
            let mut outputs = [GpuRows::default(), GpuRows::default(), GpuRows::default()];
            let mut products: Vec<_> = chosen.iter().copied().zip(&mut outputs).collect();
            recorder.norm_product(NormedRow { rows: &row, norm: (&weight, EPSILON) }, &mut products).unwrap();
            for (matrix, outputs) in chosen.iter().zip(&outputs) {
                let mut expect = GpuRows::default();
                recorder.product(&inputs, matrix, None, &mut expect).unwrap();
                let expect = read(&recorder, &expect);
                assert_same_bits(&format!("{format:?}"), &read(&recorder, outputs), &expect);
            }
        }
    }
}

#[test]
fn gates_of_a_norm_have_the_bits_of_norm_products_and_gate() {
    let Some(recorder) = recorder() else { return };
    let (row, weight) = (uploaded(&recorder, &values(1, COLUMNS), COLUMNS), vector(&recorder, 2, COLUMNS));
    for (at, format) in QUANTISED.into_iter().enumerate() {
        let matrices =
            [format, QUANTISED[(at + 1) % QUANTISED.len()]].map(|format| matrix(&recorder, format, (96, COLUMNS)));
        let matrices = [&matrices[0], &matrices[1]];
        for (curve, is_quantised) in [(GateCurve::Silu, true), (GateCurve::GeluTanh, false)] {
            let (mut normed, mut expect, mut found) = <(GpuInputs, GpuInputs, GpuInputs)>::default();
            let [mut gates, mut ups] = <[GpuRows; 2]>::default();
            recorder.norm(&row, (&weight, EPSILON), true, &mut normed).unwrap();
            recorder.product(&normed, matrices[0], None, &mut gates).unwrap();
            recorder.product(&normed, matrices[1], None, &mut ups).unwrap();
            recorder.gate(curve, &gates, &ups, is_quantised, &mut expect).unwrap();
            assert!(recorder.fits_norm_gate(&row, matrices, is_quantised));
            let normed = NormedRow { rows: &row, norm: (&weight, EPSILON) };
            recorder.norm_gate(normed, matrices, curve, is_quantised, &mut found).unwrap();
            let what = format!("{format:?}, {curve:?}");
            assert_same_bits(&what, &read_inputs(&recorder, &found), &read_inputs(&recorder, &expect));
            if is_quantised {
                // The bytes as well, by a product that reads them.
                let down = matrix(&recorder, Format::Q8_0, (40, 96));
                let [mut a, mut b] = <[GpuRows; 2]>::default();
                recorder.product(&found, &down, None, &mut a).unwrap();
                recorder.product(&expect, &down, None, &mut b).unwrap();
                let b = read(&recorder, &b);
                assert_same_bits(&what, &read(&recorder, &a), &b);
            }
        }
    }
}

#[test]
fn products_of_a_convolution_have_the_bits_of_convolution_and_product() {
    let Some(recorder) = recorder() else { return };
    let (taps, bias) = (vector(&recorder, 1, 3 * COLUMNS), vector(&recorder, 2, COLUMNS));
    let sizes = WindowSizes { n_past: 2, n_channels: COLUMNS };
    for (format, bias) in [(Format::Q4_0, Some(&bias)), (Format::Q6K, None)] {
        let matrix = matrix(&recorder, format, (50, COLUMNS));
        let mut windows = [GpuWindow::new(&recorder, sizes), GpuWindow::new(&recorder, sizes)];
        let mut streams = [3, 3].map(|seed| uploaded(&recorder, &values(seed, 50), 50));
        for step in 0..4 {
            let projected = uploaded(&recorder, &values(10 + step, 3 * COLUMNS), 3 * COLUMNS);
            let [first, second] = windows.each_mut();
            let (mut inputs, mut spare) = (GpuInputs::default(), GpuRows::default());
            let part = |window| std::iter::once((0..1, window));
            recorder.convolve(&projected, (&taps, bias), part(first), true, &mut inputs).unwrap();
            let how = OutputNorm { norm: None, factor: 1.0 };
            recorder.add_product(&inputs, (&matrix, None), how, &mut spare, &mut streams[0]).unwrap();
            assert!(recorder.fits_convolved(&projected, &matrix));
            recorder.add_convolved(&projected, (&taps, bias), part(second), &matrix, &mut streams[1]).unwrap();
            let expect = read(&recorder, &streams[0]);
            assert_same_bits(&format!("{format:?}, step {step}"), &read(&recorder, &streams[1]), &expect);
        }
        let [expect, found] = windows.map(|window| window.to_floats(&recorder).unwrap());
        assert_same_bits("window", &found, &expect);
    }
}

#[test]
fn heads_have_the_bits_of_rotation_and_append() {
    let Some(recorder) = recorder() else { return };
    const ROWS: usize = 70; // more than a page
    for (format, head_dim, n_pairs, pairs, has_norms) in [
        (CacheFormat::F16, 64, 32, PairForm::Halves, true),
        (CacheFormat::Q8_0, 96, 20, PairForm::Neighbours, false),
        (CacheFormat::F32, 80, 40, PairForm::Halves, true),
    ] {
        let (n_keys, n_queries) = (2, 6);
        let uploads = || {
            [(1, n_queries), (2, n_keys), (3, n_keys)]
                .map(|(seed, n)| uploaded(&recorder, &values(seed, ROWS * n * head_dim), n * head_dim))
        };
        let weights = [vector(&recorder, 4, head_dim), vector(&recorder, 5, head_dim)];
        let tables = [6, 7].map(|seed| recorder.table(&values(seed, ROWS * n_pairs)).unwrap());
        let rotation = Some(RowRotation { n_pairs, pairs, cosines: tables[0], sines: tables[1] });
        let shape = KeyValueShape { n_heads: n_keys, head_dim, format };
        let [mut expect, mut found] = [GpuKeyValues::new(&recorder, shape), GpuKeyValues::new(&recorder, shape)];
        let [mut queries, mut keys, values] = uploads();
        recorder.rotate(&mut queries, head_dim, has_norms.then_some((&weights[0], EPSILON)), rotation).unwrap();
        recorder.rotate(&mut keys, head_dim, has_norms.then_some((&weights[1], EPSILON)), rotation).unwrap();
        expect.append(&recorder, 0..ROWS, &keys, &values).unwrap();
        let [mut same_queries, keys, values] = uploads();
        let norms = has_norms.then_some(([&weights[0], &weights[1]], EPSILON));
        let heads = PlacedHeads { queries: &mut same_queries, keys: &keys, values: &values, norms, rotation };
        recorder.append_heads(heads, &mut found).unwrap();
        assert_eq!(found.n_tokens(), ROWS);
        // Attention as inputs, too.
        if recorder.fits_attention_inputs(head_dim) {
            let rows: Vec<_> = (0..ROWS).map(|row| AttentionRow { past: &found, seen: 0..row + 1 }).collect();
            let (mut mixed, mut inputs, mut direct) = <(GpuRows, GpuInputs, GpuInputs)>::default();
            recorder.attention(&same_queries, &rows, 0.125, &mut mixed).unwrap();
            recorder.inputs(&mixed, true, &mut inputs).unwrap();
            recorder.attention_inputs(&same_queries, &rows, 0.125, true, &mut direct).unwrap();
            let expect = read_inputs(&recorder, &inputs);
            assert_same_bits("inputs", &read_inputs(&recorder, &direct), &expect);
        }
        let queries = read(&recorder, &queries);
        assert_same_bits("queries", &read(&recorder, &same_queries), &queries);
        let (keys, values) = expect.to_floats(&recorder).unwrap();
        let (found_keys, found_values) = found.to_floats(&recorder).unwrap();
        assert_same_bits("keys", &found_keys, &keys);
        assert_same_bits("values", &found_values, &values);
    }
}
