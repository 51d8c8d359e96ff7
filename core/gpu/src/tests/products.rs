use causerie_backend::{Activations, Cpu, Format, Product};

use super::*;
use crate::checks::random_matrices;
use crate::{GpuVector, OutputNorm};

const QUANTISED: [Format; 6] = [Format::Q8_0, Format::Q4_0, Format::Q5_1, Format::Q4K, Format::Q5K, Format::Q6K];

fn check(recorder: &Recorder, format: Format, (n_outputs, n_columns): (usize, usize), n_rows: usize) {
    let (on_gpu, on_cpu) = random_matrices(recorder, format, (n_outputs, n_columns)).unwrap();
    let (x, bias, stream) = (values(1, n_rows * n_columns), values(2, n_outputs), values(4, n_rows * n_outputs));
    let (mut inputs, mut outputs) = (GpuInputs::default(), GpuRows::default());
    recorder.inputs(&uploaded(recorder, &x, n_columns), format.is_quantised(), &mut inputs).unwrap();
    let bias_on_gpu = GpuVector::new(recorder.gpu(), &bias).unwrap();
    recorder.product(&inputs, &on_gpu, Some(&bias_on_gpu), &mut outputs).unwrap();
    let found = read(recorder, &outputs);
    let mut sum = uploaded(recorder, &stream, n_outputs);
    let plain = OutputNorm { norm: None, factor: 1.0 };
    recorder.add_product(&inputs, (&on_gpu, None), plain, &mut outputs, &mut sum).unwrap();
    let found_sum = read(recorder, &sum);

    for (name, cpu) in Cpu::each(1) {
        let mut activations = Activations::default();
        let shape = (n_rows, n_columns);
        cpu.inputs(&mut activations, shape, format.is_quantised(), |row, to| {
            to.copy_from_slice(&x[row * n_columns..][..n_columns]);
        });
        let mut expect = vec![0.0; n_rows * n_outputs];
        cpu.product(&activations, [Product { matrix: &on_cpu, out: &mut expect, adds: false }]);
        cpu.add_to_rows(&mut expect, &bias);
        let what = format!("{} {n_outputs} x {n_columns}, {n_rows} rows, {name}", format.name());
        assert_same_bits(&what, &found, &expect);
        let mut expect = stream.clone();
        cpu.product(&activations, [Product { matrix: &on_cpu, out: &mut expect, adds: true }]);
        assert_same_bits(&format!("{what}, added"), &found_sum, &expect);
    }
}

#[test]
fn products_of_quantised_weights_have_the_cpus_bits() {
    let Some(recorder) = recorder() else { return };
    for format in QUANTISED {
        for n_rows in [1, 2, 3, 5, 37] {
            check(&recorder, format, (77, 512), n_rows);
        }
        check(&recorder, format, (16, 1280), 1);
    }
}

#[test]
fn products_of_float_weights_have_the_cpus_bits() {
    let Some(recorder) = recorder() else { return };
    for format in [Format::F32, Format::F16, Format::Bf16] {
        for n_rows in [1, 2, 9] {
            check(&recorder, format, (70, 96), n_rows);
        }
        check(&recorder, format, (33, 37), 3);
    }
}

#[test]
fn embedded_rows_have_the_cpus_bits() {
    let Some(recorder) = recorder() else { return };
    for format in QUANTISED.into_iter().chain([Format::F32, Format::F16, Format::Bf16]) {
        let (on_gpu, on_cpu) = random_matrices(&recorder, format, (40, 512)).unwrap();
        let tokens = [0, 39, 7, 32, 31, 7];
        let mut rows = GpuRows::default();
        recorder.embedded((tokens.len() + 1, 512), &mut rows).unwrap();
        recorder.embed_rows(&values(9, 512), 0, &rows).unwrap();
        recorder.embed_tokens(&on_gpu, &tokens, 1.5, 1, &rows).unwrap();
        let found = read(&recorder, &rows);
        let mut expect = values(9, 512);
        for token in tokens {
            let mut row = vec![0.0; 512];
            on_cpu.read_row(token as usize, &mut row);
            expect.extend(row.iter().map(|x| x * 1.5));
        }
        assert_same_bits(format.name(), &found, &expect);
    }
}
