//! Compares operations on a device with the CPU's kernels, bit by bit: for the owner of a device to report.

use std::borrow::Cow;
use std::sync::Arc;

use causerie_backend::{
    Activations, AttentionMask, AttentionStep, CacheShape, CacheType, Cpu, Format, GateFunction, KeyValues, Matrix,
    Pairing, Product, Rotation, SplitMix64,
};
use half::{bf16, f16};

use crate::device::Gpu;
use crate::error::GpuError;
use crate::kernels::{CacheFormat, GateCurve, PairForm};
use crate::matrix::GpuMatrix;
use crate::operations::{AttentionRow, RowRotation};
use crate::past::{GpuKeyValues, KeyValueShape};
use crate::recorder::Recorder;
use crate::rows::{GpuInputs, GpuRows, GpuVector};

/// Outputs and inputs of the products that are compared.
const SHAPE: (usize, usize) = (200, 1024);
const HEAD_DIM: usize = 64;
const EPSILON: f32 = 1e-5;

/// An operation that was compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationCheck {
    /// The operation, its format, and the number of rows.
    pub name: String,
    /// Values that were compared.
    pub n_values: usize,
    /// Values whose bits differ.
    pub n_different: usize,
}

impl OperationCheck {
    fn new(name: String, found: &[f32], expect: &[f32]) -> Self {
        let different = found.iter().zip(expect).filter(|(found, expect)| found.to_bits() != expect.to_bits()).count();
        let n_different = different + found.len().abs_diff(expect.len());
        Self { name, n_values: expect.len(), n_different }
    }
}

/// Compares all operations that a device may round in a way of its own.
///
/// # Errors
/// A fault of the device.
pub fn check_operations(gpu: &Arc<Gpu>) -> Result<Vec<OperationCheck>, GpuError> {
    let recorder = Recorder::new(Arc::clone(gpu))?;
    let cpu = Cpu::new(1);
    let mut checks = Vec::new();
    for format in Format::ALL {
        for n_rows in [1, 4, 70] {
            checks.push(product(&recorder, &cpu, format, n_rows)?);
        }
    }
    checks.push(norm(&recorder, &cpu)?);
    checks.push(gate(&recorder, &cpu, (GateCurve::Silu, GateFunction::Silu))?);
    checks.push(gate(&recorder, &cpu, (GateCurve::GeluTanh, GateFunction::GeluTanh))?);
    checks.push(rotation(&recorder, &cpu)?);
    for formats in
        [(CacheFormat::F16, CacheType::F16), (CacheFormat::F32, CacheType::F32), (CacheFormat::Q8_0, CacheType::Q8_0)]
    {
        checks.push(attention(&recorder, &cpu, formats)?);
    }
    Ok(checks)
}

/// Values between -2 and 2.
pub(crate) fn random_values(seed: u64, n: usize) -> Vec<f32> {
    let mut random = SplitMix64::new(seed);
    (0..n).map(|_| (random.unit() * 4.0 - 2.0) as f32).collect()
}

/// Random bytes of a matrix in a file, whose scales are of ordinary size.
pub(crate) fn random_file(format: Format, (n_rows, n_columns): (usize, usize)) -> Vec<u8> {
    let mut random = SplitMix64::new(3);
    let mut bytes: Vec<u8> = (0..n_rows * format.row_bytes(n_columns)).map(|_| random.next_u64() as u8).collect();
    let scales: &[usize] = match format {
        Format::F32 | Format::F16 | Format::Bf16 => &[],
        Format::Q8_0 | Format::Q4_0 => &[0],
        Format::Q5_1 | Format::Q4K | Format::Q5K => &[0, 2],
        Format::Q6K => &[208],
    };
    for block in bytes.chunks_exact_mut(format.row_bytes(format.block())) {
        let value = (random.unit() * 0.02 - 0.01) as f32;
        match format {
            Format::F32 => block.copy_from_slice(&value.to_le_bytes()),
            Format::F16 => block.copy_from_slice(&f16::from_f32(value).to_le_bytes()),
            Format::Bf16 => block.copy_from_slice(&bf16::from_f32(value).to_le_bytes()),
            _ => {}
        }
        for at in scales {
            block[*at..at + 2].copy_from_slice(&f16::from_f32(value).to_le_bytes());
        }
    }
    bytes
}

/// A random matrix on both sides.
pub(crate) fn random_matrices(
    recorder: &Recorder,
    format: Format,
    shape: (usize, usize),
) -> Result<(GpuMatrix, Matrix), GpuError> {
    let bytes = random_file(format, shape);
    let on_gpu = GpuMatrix::new(recorder.gpu(), format, shape, |range| Ok(Cow::Borrowed(&bytes[range])))?;
    let on_cpu = Cpu::new(1).matrix(format, shape, |range| Ok(&bytes[range]));
    Ok((on_gpu, on_cpu.map_err(|err| GpuError::Failed(err.to_string()))?))
}

pub(crate) fn uploaded(recorder: &Recorder, values: &[f32], width: usize) -> Result<GpuRows, GpuError> {
    let mut rows = GpuRows::default();
    recorder.upload(values, width, &mut rows)?;
    Ok(rows)
}

fn read(recorder: &Recorder, rows: &GpuRows) -> Result<Vec<f32>, GpuError> {
    let mut found = Vec::new();
    recorder.read(rows, 0..rows.n_rows(), &mut found)?;
    recorder.end_step().map(|()| found)
}

fn read_inputs(recorder: &Recorder, inputs: &GpuInputs) -> Result<Vec<f32>, GpuError> {
    let mut rows = GpuRows::default();
    recorder.input_rows(inputs, &mut rows)?;
    read(recorder, &rows)
}

fn floats(x: &Activations) -> Vec<f32> {
    (0..x.n_rows()).flat_map(|row| x.row(row).to_vec()).collect()
}

fn product(recorder: &Recorder, cpu: &Cpu, format: Format, n_rows: usize) -> Result<OperationCheck, GpuError> {
    let (n_outputs, n_columns) = SHAPE;
    let (on_gpu, on_cpu) = random_matrices(recorder, format, SHAPE)?;
    let x = random_values(1, n_rows * n_columns);
    let (mut inputs, mut outputs) = (GpuInputs::default(), GpuRows::default());
    recorder.inputs(&uploaded(recorder, &x, n_columns)?, format.is_quantised(), &mut inputs)?;
    recorder.product(&inputs, &on_gpu, None, &mut outputs)?;
    let (mut activations, mut expect) = (Activations::default(), vec![0.0; n_rows * n_outputs]);
    cpu.inputs(&mut activations, (n_rows, n_columns), format.is_quantised(), |row, to| {
        to.copy_from_slice(&x[row * n_columns..][..n_columns]);
    });
    cpu.product(&activations, [Product { matrix: &on_cpu, out: &mut expect, adds: false }]);
    let name = format!("product {} x {n_rows}", format.name());
    Ok(OperationCheck::new(name, &read(recorder, &outputs)?, &expect))
}

fn norm(recorder: &Recorder, cpu: &Cpu) -> Result<OperationCheck, GpuError> {
    let width = SHAPE.1;
    let (x, weight) = (random_values(1, 5 * width), random_values(2, width));
    let (mut inputs, mut expect) = (GpuInputs::default(), Activations::default());
    let on_gpu = GpuVector::new(recorder.gpu(), &weight)?;
    recorder.norm(&uploaded(recorder, &x, width)?, (&on_gpu, EPSILON), true, &mut inputs)?;
    cpu.norm(&x, &weight, EPSILON, true, &mut expect);
    Ok(OperationCheck::new("norm".to_owned(), &read_inputs(recorder, &inputs)?, &floats(&expect)))
}

fn gate(
    recorder: &Recorder,
    cpu: &Cpu,
    (curve, function): (GateCurve, GateFunction),
) -> Result<OperationCheck, GpuError> {
    let width = SHAPE.1;
    let gates: Vec<f32> = random_values(1, 5 * width).iter().map(|x| x * 8.0).collect();
    let ups = random_values(2, 5 * width);
    let (mut inputs, mut expect) = (GpuInputs::default(), Activations::default());
    let [gates_on_gpu, ups_on_gpu] = [uploaded(recorder, &gates, width)?, uploaded(recorder, &ups, width)?];
    recorder.gate(curve, &gates_on_gpu, &ups_on_gpu, true, &mut inputs)?;
    cpu.gate(function, (&gates, &ups, width), true, &mut expect);
    Ok(OperationCheck::new(format!("gate {curve:?}"), &read_inputs(recorder, &inputs)?, &floats(&expect)))
}

fn rotation(recorder: &Recorder, cpu: &Cpu) -> Result<OperationCheck, GpuError> {
    let (width, n_pairs) = (4 * HEAD_DIM, HEAD_DIM / 2);
    let (mut x, weight) = (random_values(1, 5 * width), random_values(2, HEAD_DIM));
    let (cosines, sines) = (random_values(3, 5 * n_pairs), random_values(4, 5 * n_pairs));
    let on_gpu = GpuVector::new(recorder.gpu(), &weight)?;
    let mut rows = uploaded(recorder, &x, width)?;
    let tables = [recorder.table(&cosines)?, recorder.table(&sines)?];
    let rotation = RowRotation { n_pairs, pairs: PairForm::Halves, cosines: tables[0], sines: tables[1] };
    recorder.rotate(&mut rows, HEAD_DIM, Some((&on_gpu, EPSILON)), Some(rotation))?;
    let rotation = Rotation { cosines: &cosines, sines: &sines, n_pairs, pairing: Pairing::Halves };
    cpu.rotate(&mut x, (width, HEAD_DIM), Some((&weight, EPSILON)), Some(rotation));
    Ok(OperationCheck::new("head norms and rotation".to_owned(), &read(recorder, &rows)?, &x))
}

fn attention(
    recorder: &Recorder,
    cpu: &Cpu,
    (format, cache_type): (CacheFormat, CacheType),
) -> Result<OperationCheck, GpuError> {
    let (n_tokens, n_heads) = (150, 2);
    let width = n_heads * HEAD_DIM;
    let (keys, values) = (random_values(1, n_tokens * width), random_values(2, n_tokens * width));
    let queries = random_values(3, n_tokens * 2 * width);
    let mut past = GpuKeyValues::new(recorder, KeyValueShape { n_heads, head_dim: HEAD_DIM, format });
    past.append(recorder, 0..n_tokens, &uploaded(recorder, &keys, width)?, &uploaded(recorder, &values, width)?)?;
    let rows: Vec<_> = (0..n_tokens).map(|row| AttentionRow { past: &past, seen: 0..row + 1 }).collect();
    let mut mixed = GpuRows::default();
    recorder.attention(&uploaded(recorder, &queries, 2 * width)?, &rows, 0.125, &mut mixed)?;
    let mut on_cpu = KeyValues::new(CacheShape { n_heads, head_dim: HEAD_DIM, cache_type });
    on_cpu.append(&keys, &values);
    let mut expect = vec![0.0; queries.len()];
    let mask = AttentionMask::Causal { window: usize::MAX };
    cpu.attention(&queries, &[AttentionStep { rows: 0..n_tokens, past: &on_cpu, mask }], 0.125, &mut expect);
    Ok(OperationCheck::new(format!("attention {format:?}"), &read(recorder, &mixed)?, &expect))
}
