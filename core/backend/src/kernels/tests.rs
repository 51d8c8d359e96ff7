//! Compares all kernels with the portable ones, bit by bit, and those with arithmetic in f64.

use super::*;
use crate::cpu::Cpu;
use crate::matrix::Format;
use crate::pool::Pool;
use crate::random::{SplitMix64, same};

impl SplitMix64 {
    /// Random bytes of a matrix in a file, with small scales.
    fn matrix(&mut self, format: Format, (n_rows, n_columns): (usize, usize)) -> Vec<u8> {
        let n_blocks = n_rows * n_columns / format.block();
        let block_bytes = format.row_bytes(format.block());
        let half = |random: &mut Self| half::f16::from_f32(random.float() / 16.0).to_le_bytes();
        let block = |random: &mut Self| match format {
            Format::F32 => random.float().to_le_bytes().to_vec(),
            Format::F16 => half(random).to_vec(),
            Format::Bf16 => half::bf16::from_f32(random.float()).to_le_bytes().to_vec(),
            _ => {
                let mut block: Vec<u8> = (0..block_bytes).map(|_| random.next_u64() as u8).collect();
                let scales = match format {
                    Format::Q6K => 208..210,
                    Format::Q5_1 | Format::Q4K | Format::Q5K => 0..4,
                    _ => 0..2,
                };
                block[scales].as_chunks_mut::<2>().0.iter_mut().for_each(|scale| *scale = half(random));
                block
            }
        };
        (0..n_blocks).flat_map(|_| block(self)).collect()
    }
}

/// All tiers of this processor, and AMX if it can be emulated.
fn tiers() -> Vec<Tier> {
    #[allow(unused_mut, reason = "changed on x86-64 Linux only")]
    let mut tiers = Tier::all();
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    if let Some(Tier::Avx512(avx512)) = tiers.last() {
        tiers.push(Tier::Amx(*avx512, amx::Amx::emulated()));
    }
    tiers
}

fn cpu(tier: Tier, n_threads: usize) -> Cpu {
    Cpu::with(tier, Pool::new(n_threads))
}

fn product(cpu: &Cpu, matrix: &Matrix, x: &[f32], adds: bool) -> Vec<f32> {
    let n_columns = matrix.n_columns();
    let n_rows = x.len() / n_columns;
    let mut activations = Activations::default();
    cpu.inputs(&mut activations, (n_rows, n_columns), matrix.format().is_quantised(), |row, to| {
        to.copy_from_slice(&x[row * n_columns..][..n_columns]);
    });
    let mut out = vec![0.5; n_rows * matrix.n_rows()];
    cpu.product(&activations, [crate::Product { matrix, out: &mut out, adds }]);
    out
}

#[test]
fn all_kernels_give_the_same_bits() {
    let mut random = SplitMix64::new(1);
    let portable = cpu(Tier::Portable, 1);
    for format in Format::ALL {
        for (n_outputs, n_columns) in [(16, 256), (37, 768), (80, 512), (112, 288), (20, 77), (40, 133)] {
            if n_columns % format.block() != 0 {
                continue;
            }
            let bytes = random.matrix(format, (n_outputs, n_columns));
            let matrix = portable.matrix(format, (n_outputs, n_columns), |range| Ok(&bytes[range])).unwrap();
            let x = random.floats(149 * n_columns);
            let expect = product(&portable, &matrix, &x, false);
            for tier in tiers() {
                for (n_threads, n_rows) in [
                    (2, 149),
                    (1, 70),
                    (2, 45),
                    (1, 32),
                    (2, 31),
                    (3, 16),
                    (2, 17),
                    (1, 12),
                    (1, 11),
                    (2, 10),
                    (1, 8),
                    (2, 7),
                    (1, 4),
                    (1, 3),
                    (2, 1),
                ] {
                    let cpu = cpu(tier, n_threads);
                    let found = product(&cpu, &matrix, &x[..n_rows * n_columns], false);
                    assert!(same(&found, &expect[..n_rows * n_outputs]), "{format:?} {tier:?} {n_rows} rows");
                }
                let added = product(&cpu(tier, 1), &matrix, &x[..11 * n_columns], true);
                let sums: Vec<f32> = expect[..11 * n_outputs].iter().map(|y| 0.5 + y).collect();
                assert!(same(&added, &sums), "{format:?} {tier:?} adds");
            }
        }
    }
}

/// Quantising activations to eight bits is off by up to half a step of 127 for each, which adds up like noise: the relative
/// error is some thousandths. Floats differ by rounding only.
#[test]
fn products_are_right() {
    let mut random = SplitMix64::new(2);
    let cpu = Cpu::new(2);
    for format in Format::ALL {
        let (n_outputs, n_columns) = (64, 1024);
        let bytes = random.matrix(format, (n_outputs, n_columns));
        let matrix = cpu.matrix(format, (n_outputs, n_columns), |range| Ok(&bytes[range])).unwrap();
        let x = random.floats(n_columns);
        let y = product(&cpu, &matrix, &x, false);
        let (mut error, mut size) = (0.0, 0.0);
        let mut weights = vec![0.0; n_columns];
        for (row, y) in y.iter().enumerate() {
            matrix.read_row(row, &mut weights);
            let exact: f64 = weights.iter().zip(&x).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
            error += (f64::from(*y) - exact).powi(2);
            size += exact.powi(2);
        }
        let most = if format.is_quantised() { 8e-3 } else { 1e-6 };
        assert!((error / size).sqrt() < most, "{format:?}: {}", (error / size).sqrt());
    }
}

#[test]
fn values_that_are_not_finite_stay_visible() {
    for tier in tiers() {
        for format in [Format::Q8_0, Format::Q4K, Format::F32] {
            let cpu = cpu(tier, 1);
            let bytes = SplitMix64::new(3).matrix(format, (64, 256));
            let matrix = cpu.matrix(format, (64, 256), |range| Ok(&bytes[range])).unwrap();
            for wrong in [f32::NAN, f32::INFINITY] {
                let mut x = vec![1.0; 20 * 256];
                x[300] = wrong;
                let y = product(&cpu, &matrix, &x, false);
                let is_finite = |row: usize| y[64 * row..][..64].iter().all(|y| y.is_finite());
                assert!(is_finite(0) && !is_finite(1) && is_finite(2), "{tier:?} {format:?}");
            }
        }
    }
}
