//! Measures the speed of attention over the given number of tokens, with the given number of threads: for one query of each
//! head, as in decode, and for many, as in prefill.
//!
//! `cargo run --release -p causerie-backend --example attention -- 8000 1` uses the fastest instructions; with `8000 1 AVX2`, it
//! uses these.

use std::time::Instant;

use causerie_backend::{AttentionMask, AttentionStep, CacheShape, CacheType, Cpu, KeyValues};

const HEAD: usize = 64;
/// Rows of a chunk of a prompt.
const MANY: usize = 64;
/// Query heads and key heads: of LFM2-350M, of a model whose queries share more heads, and of one whose queries share none.
const HEADS: [(usize, usize); 3] = [(16, 8), (16, 4), (8, 8)];

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |otherwise| arguments.next().and_then(|n| n.parse().ok()).unwrap_or(otherwise);
    let (n_tokens, n_threads) = (number(8000).max(MANY), number(1));
    let name = arguments.next();
    let is_chosen = |known: &str| name.as_ref().is_none_or(|name| name == known);
    let Some((name, cpu)) = Cpu::each(n_threads).filter(|(known, _)| is_chosen(known)).last() else {
        let known: Vec<&str> = Cpu::each(1).map(|(name, _)| name).collect();
        return Err(std::io::Error::other(format!("instructions must be one of {}", known.join(", "))));
    };
    println!("{name}\n");
    println!("| queries, keys | format | 1 row, ms | 1 row, GFLOP/s | 1 row, GB/s | 64 rows, GFLOP/s |");
    println!("|---|---|---|---|---|---|");
    for (n_queries, n_heads) in HEADS {
        for (cache_type, bytes) in [(CacheType::F16, 2.0), (CacheType::F32, 4.0), (CacheType::Q8_0, 1.125)] {
            let past = past(CacheShape { n_heads, head_dim: HEAD, cache_type }, n_tokens);
            let (one, many) = (seconds(&cpu, &past, n_queries, 1), seconds(&cpu, &past, n_queries, MANY));
            let operations = 4.0 * (n_queries * HEAD * n_tokens) as f64 / 1e9;
            let gigabytes = 2.0 * bytes * (n_heads * HEAD * n_tokens) as f64 / 1e9;
            println!(
                "| {n_queries}, {n_heads} | {cache_type:?} | {:.2} | {:.1} | {:.1} | {:.1} |",
                one * 1e3,
                operations / one,
                gigabytes / one,
                MANY as f64 * operations / many,
            );
        }
    }
    Ok(())
}

fn past(shape: CacheShape, n_tokens: usize) -> KeyValues {
    let mut past = KeyValues::new(shape);
    let row: Vec<f32> = (0..shape.n_heads * HEAD).map(|at| (at * 31 % 17) as f32 / 8.0 - 1.0).collect();
    (0..n_tokens).for_each(|_| past.append(&row, &row));
    past
}

/// Seconds of an attention step: the best of some runs.
fn seconds(cpu: &Cpu, past: &KeyValues, n_queries: usize, n_rows: usize) -> f64 {
    let queries: Vec<f32> = (0..n_rows * n_queries * HEAD).map(|at| (at * 7 % 13) as f32 / 6.0 - 1.0).collect();
    let mut mixed = vec![0.0; queries.len()];
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        cpu.attention(
            &queries,
            &[AttentionStep { rows: 0..n_rows, past, mask: AttentionMask::Causal { window: usize::MAX } }],
            1.0 / (HEAD as f32).sqrt(),
            &mut mixed,
        );
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}
