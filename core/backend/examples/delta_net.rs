//! Measures the speed of gated delta nets on one thread, with the layers of Qwen3.5-0.8B and -2B: for one token, as in decode,
//! and for a chunk of a prompt, as in prefill. Each layer has its own memory, so that one token reads all of it.
//!
//! `cargo run --release -p causerie-backend --example delta_net`

use std::time::Instant;

use causerie_backend::{ConvolutionStep, Cpu, DeltaMemory, DeltaShape, DeltaStep, DeltaTokens};

const SHAPE: DeltaShape = DeltaShape { n_keys: 16, n_values: 16, key_dim: 128, value_dim: 128 };
const LAYERS: usize = 18;
const WINDOW: usize = 4;

fn main() {
    println!("| tokens | instructions | inputs, µs per token | memory, µs per token | GFLOP/s |");
    println!("|---|---|---|---|---|");
    for n_tokens in [1, 8, 128] {
        for (name, cpu) in Cpu::each(1) {
            let (inputs, memory) = seconds(&cpu, n_tokens);
            let operations = (7 * SHAPE.n_elements() * LAYERS * n_tokens) as f64 / 1e9;
            let per_token = |seconds: f64| seconds * 1e6 / n_tokens as f64;
            let speed = operations / memory;
            println!("| {n_tokens} | {name} | {:.0} | {:.0} | {speed:.1} |", per_token(inputs), per_token(memory));
        }
    }
}

fn values(n: usize) -> Vec<f32> {
    (0..n).map(|at| (at * 31 % 17) as f32 / 8.0 - 1.0).collect()
}

/// Seconds of a step of all layers: for the inputs and for the memories, the best of some runs.
fn seconds(cpu: &Cpu, n_tokens: usize) -> (f64, f64) {
    let width = SHAPE.n_channels();
    let (projected, taps) = (values(n_tokens * width), values(WINDOW * width));
    let mut pasts = vec![vec![0.0; (WINDOW - 1) * width]; LAYERS];
    let mut memories = vec![DeltaMemory::new(SHAPE); LAYERS];
    let (mut rows, mut out) = (vec![0.0; n_tokens * width], vec![0.0; n_tokens * SHAPE.n_values * SHAPE.value_dim]);
    let (decays, rates) = (vec![0.9; n_tokens * SHAPE.n_values], vec![0.5; n_tokens * SHAPE.n_values]);
    let mut best = (f64::INFINITY, f64::INFINITY);
    for _ in 0..6 {
        let start = Instant::now();
        for past in &mut pasts {
            let step = ConvolutionStep { rows: 0..n_tokens, past };
            cpu.delta_inputs(&projected, (SHAPE, &taps), &mut [step], &mut rows);
        }
        best.0 = start.elapsed().as_secs_f64().min(best.0);
        let start = Instant::now();
        for memory in &mut memories {
            let tokens = DeltaTokens { rows: &rows, decays: &decays, rates: &rates };
            cpu.delta_net(tokens, &mut [DeltaStep { rows: 0..n_tokens, memory }], &mut out);
        }
        best.1 = start.elapsed().as_secs_f64().min(best.1);
    }
    best
}
