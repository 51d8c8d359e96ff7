use std::borrow::Cow;
use std::ops::Range;

use causerie_backend::Format;

use super::*;
use crate::checks::random_file;
use crate::{ChosenExperts, ExpertChoice, GateCurve, GpuMatrix, GpuVector};

const EXPERTS: usize = 6;
const USED: usize = 3;
const ROWS: usize = 3;
/// Outputs and inputs of an expert; rows of weights end within the bands that are copied, and workgroups within an expert's.
const SHAPE: (usize, usize) = (88, 256);

/// The experts of each row, and their weights, as the core's `Experts::route` finds them.
fn routed(shares: &[f32], bias: &[f32], choice: ExpertChoice) -> Vec<(usize, f32)> {
    let merit = |expert: usize| shares[expert] + bias[expert];
    let mut order: Vec<usize> = (0..EXPERTS).collect();
    order.sort_by(|a, b| merit(*b).total_cmp(&merit(*a)).then(a.cmp(b)));
    order.truncate(choice.n_used);
    let sum: f32 = order.iter().map(|expert| shares[*expert]).sum();
    let factor = if choice.is_normalised { choice.scale / (sum + 1e-6) } else { choice.scale };
    order.sort_unstable();
    order.into_iter().map(|expert| (expert, shares[expert] * factor)).collect()
}

/// The experts' matrices, in one file.
fn stack(recorder: &Recorder, format: Format) -> Vec<GpuMatrix> {
    let bytes = random_file(format, (EXPERTS * SHAPE.0, SHAPE.1));
    let n_bytes = SHAPE.0 * format.row_bytes(SHAPE.1);
    let read = |at: usize, range: Range<usize>| Ok(Cow::Borrowed(&bytes[at * n_bytes..][..n_bytes][range]));
    GpuMatrix::stack(recorder.gpu(), format, EXPERTS, SHAPE, read).unwrap()
}

#[test]
fn experts_that_the_device_chooses_are_those_of_the_host() {
    for format in [Format::Q8_0, Format::Q4_0, Format::Q4K, Format::Q6K] {
        for is_normalised in [false, true] {
            let Some(recorder) = recorder() else { return };
            let (rows, columns) = SHAPE;
            let stack = stack(&recorder, format);
            assert!(recorder.fits_chosen([&stack[0]; 3], EXPERTS, USED));
            assert!(!recorder.fits_chosen([&stack[1]; 3], EXPERTS, USED));

            // Two experts of the second row are as good as each other.
            let mut shares: Vec<f32> = values(1, ROWS * EXPERTS).iter().map(|x| 0.5 + x / 4.0).collect();
            let mut bias = values(2, EXPERTS);
            (shares[EXPERTS + 4], bias[4]) = (shares[EXPERTS + 1], bias[1]);
            let choice = ExpertChoice { n_used: USED, is_normalised, scale: 1.5 };
            let mut chosen = ChosenExperts::default();
            let shares_there = uploaded(&recorder, &shares, EXPERTS);
            let bias_there = GpuVector::new(recorder.gpu(), &bias).unwrap();
            recorder.choose_experts(&shares_there, &bias_there, choice, &mut chosen).unwrap();

            let (x, stream) = (values(3, ROWS * columns), values(4, ROWS * rows));
            let (mut plain, mut inputs) = (GpuInputs::default(), GpuInputs::default());
            recorder.inputs(&uploaded(&recorder, &x, columns), false, &mut plain).unwrap();
            recorder.quantised_inputs(&plain, &mut inputs).unwrap();
            let (mut out, mut sum) = (GpuRows::default(), uploaded(&recorder, &stream, rows));
            recorder.product_of_chosen(&inputs, &stack[0], &chosen, &mut out).unwrap();
            recorder.add_chosen(&out, &chosen, &mut sum).unwrap();

            let mut expect = stream;
            let (mut outputs, mut all) = (GpuRows::default(), Vec::new());
            for matrix in &stack {
                recorder.product(&inputs, matrix, None, &mut outputs).unwrap();
                all.push(read(&recorder, &outputs));
            }
            for row in 0..ROWS {
                for (expert, weight) in routed(&shares[row * EXPERTS..][..EXPERTS], &bias, choice) {
                    for at in row * rows..(row + 1) * rows {
                        expect[at] += weight * all[expert][at];
                    }
                }
            }
            assert_same_bits(&format!("{format:?}"), &read(&recorder, &sum), &expect);
            // A matrix of the stack is the same as one alone.
            let bytes = random_file(format, (EXPERTS * rows, columns)).split_off(5 * rows * format.row_bytes(columns));
            let alone =
                GpuMatrix::new(recorder.gpu(), format, SHAPE, |range| Ok(Cow::Borrowed(&bytes[range]))).unwrap();
            recorder.product(&inputs, &alone, None, &mut outputs).unwrap();
            assert_same_bits("alone", &read(&recorder, &outputs), &all[5]);
        }
    }
}

#[test]
fn each_chosen_expert_may_have_inputs_of_its_own() {
    let Some(recorder) = recorder() else { return };
    let (rows, columns) = SHAPE;
    let stack = stack(&recorder, Format::Q8_0);
    let shares: Vec<f32> = values(1, EXPERTS).iter().map(|x| 0.5 + x / 4.0).collect();
    let bias = vec![0.0; EXPERTS];
    let choice = ExpertChoice { n_used: USED, is_normalised: true, scale: 1.0 };
    let mut chosen = ChosenExperts::default();
    let bias_there = GpuVector::new(recorder.gpu(), &bias).unwrap();
    recorder.choose_experts(&uploaded(&recorder, &shares, EXPERTS), &bias_there, choice, &mut chosen).unwrap();
    let (gates, ups) = (values(2, USED * columns), values(3, USED * columns));
    let mut inputs = GpuInputs::default();
    let [gates, ups] = [gates, ups].map(|values| uploaded(&recorder, &values, columns));
    recorder.gate(GateCurve::Silu, &gates, &ups, true, &mut inputs).unwrap();
    let mut out = GpuRows::default();
    recorder.product_of_chosen(&inputs, &stack[0], &chosen, &mut out).unwrap();
    let (found, mut outputs) = (read(&recorder, &out), GpuRows::default());
    for (at, (expert, _)) in routed(&shares, &bias, choice).into_iter().enumerate() {
        recorder.product(&inputs, &stack[expert], None, &mut outputs).unwrap();
        let expect = read(&recorder, &outputs);
        assert_same_bits("own inputs", &found[at * rows..][..rows], &expect[at * rows..][..rows]);
    }
}
