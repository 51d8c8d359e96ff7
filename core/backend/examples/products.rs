//! Measures the speed of matrix products on one thread, in processor time, so that other programs hardly disturb it.
//!
//! `cargo run --release -p causerie-backend --example products` uses the fastest instructions; with `-- AVX2 portable`, it uses
//! these.

use std::time::Duration;

use causerie_backend::{Activations, Cpu, Format, Product};

/// Large enough that weights come from memory: 150 MB in the smallest format.
const N_COLUMNS: usize = 1024;
const N_ROWS: usize = 262144;

fn main() -> std::io::Result<()> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let all: Vec<_> = Cpu::each(1).collect();
    let chosen: Vec<_> = match names.is_empty() {
        true => all.iter().rev().take(1).collect(),
        false => all.iter().filter(|(name, _)| names.iter().any(|wanted| wanted == name)).collect(),
    };
    if chosen.is_empty() {
        let known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        return Err(std::io::Error::other(format!("instructions must be one of {}", known.join(", "))));
    }
    chosen.into_iter().try_for_each(|(name, cpu)| measure(name, cpu))
}

fn measure(name: &str, cpu: &Cpu) -> std::io::Result<()> {
    println!("{name}\n");
    println!("| format | 1 row, GB/s | 1 row in cache, GB/s | 8 rows, TOP/s | 16 rows, TOP/s | 128 rows, TOP/s |");
    println!("|---|---|---|---|---|---|");
    for format in
        [Format::Q4_0, Format::Q8_0, Format::Q5_1, Format::Q4K, Format::Q5K, Format::Q6K, Format::F16, Format::F32]
    {
        let large = matrix(cpu, format, N_ROWS)?;
        let small = matrix(cpu, format, 1024)?;
        let gigabytes = |n_rows| format.row_bytes(N_COLUMNS) as f64 * n_rows as f64 / 1e9;
        let operations = |n: usize| 2.0 * (n * 1024 * N_COLUMNS) as f64 / 1e12;
        println!(
            "| {format:?} | {:.1} | {:.1} | {:.3} | {:.3} | {:.3} |",
            gigabytes(N_ROWS) / seconds(cpu, &large, 1),
            gigabytes(1024) / seconds(cpu, &small, 1),
            operations(8) / seconds(cpu, &small, 8),
            operations(16) / seconds(cpu, &small, 16),
            operations(128) / seconds(cpu, &small, 128),
        );
    }
    println!();
    Ok(())
}

fn matrix(cpu: &Cpu, format: Format, n_rows: usize) -> std::io::Result<causerie_backend::Matrix> {
    let n_bytes = format.row_bytes(N_COLUMNS);
    // Bytes from 32 to 60 are small values in every format, and none is subnormal, which would slow processors down.
    let row: Vec<u8> = (0..n_bytes).map(|at| (32 + at * 7 % 29) as u8).collect();
    cpu.matrix(format, (n_rows, N_COLUMNS), |range| {
        Ok(row.iter().cycle().skip(range.start % n_bytes).take(range.len()).copied().collect::<Vec<u8>>())
    })
}

/// Seconds of a product: the best of some runs.
fn seconds(cpu: &Cpu, matrix: &causerie_backend::Matrix, n_rows: usize) -> f64 {
    let mut x = Activations::default();
    cpu.inputs(&mut x, (n_rows, N_COLUMNS), matrix.format().is_quantised(), |row, x| {
        x.iter_mut().enumerate().for_each(|(at, x)| *x = ((at * 31 + row) % 17) as f32 - 8.0);
    });
    let mut out = vec![0.0; n_rows * matrix.n_rows()];
    let mut best = f64::INFINITY;
    for _ in 0..4 {
        let (start, mut n_runs) = (processor_time(), 0);
        // The system's clock has steps of milliseconds.
        while processor_time() - start < Duration::from_millis(100) {
            (0..4).for_each(|_| cpu.product(&x, [Product { matrix, out: &mut out, adds: false }]));
            n_runs += 4;
        }
        best = best.min((processor_time() - start).as_secs_f64() / f64::from(n_runs));
    }
    best
}

/// Processor time of this thread so far.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}
