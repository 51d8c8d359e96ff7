//! Measures candle's `quantized_lfm2` like `causerie bench` measures causerie: a prompt of random tokens, then a greedy
//! reply.
//!
//! `candle-bench MODEL PROMPT_TOKENS REPLY_TOKENS REPEATS`; `RAYON_NUM_THREADS` sets the threads. Prints one line of JSON.

use std::time::Instant;

use candle_core::quantized::gguf_file;
use candle_core::{Device, Result, Tensor};
use candle_transformers::models::quantized_lfm2::ModelWeights;

const WARM_UP: (usize, usize) = (16, 4);

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize| arguments[at].parse::<usize>().map_err(candle_core::Error::wrap);
    let (n_prompt, n_reply, n_repeats) = (number(2)?, number(3)?, number(4)?);
    let before = Instant::now();
    let load = || {
        let mut file = std::fs::File::open(&arguments[1])?;
        let content = gguf_file::Content::read(&mut file)?;
        ModelWeights::from_gguf(content, &mut file, &Device::Cpu)
    };
    let mut model = load()?;
    let load_seconds = before.elapsed().as_secs_f64();
    reply(&mut model, WARM_UP.0, WARM_UP.1)?;
    let (mut prefill, mut decode) = (Vec::new(), Vec::new());
    for _ in 0..n_repeats {
        let speeds = reply(&mut model, n_prompt, n_reply)?;
        prefill.push(speeds.0);
        decode.push(speeds.1);
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let result = serde_json::json!({
        "prefill_tokens_per_second": median(prefill),
        "decode_tokens_per_second": median(decode),
        "load_seconds": load_seconds,
        "peak_memory_bytes": peak.map(|kilobytes| kilobytes * 1024),
    });
    println!("{result}");
    Ok(())
}

/// Position 0 starts a new sequence.
fn reply(model: &mut ModelWeights, n_prompt: usize, n_reply: usize) -> Result<(f64, f64)> {
    let prompt: Vec<u32> = (0..n_prompt as u32).map(|at| 100 + at * 7919 % 60_000).collect();
    let start = Instant::now();
    let mut token = best(&model.forward(&Tensor::new(&prompt[..], &Device::Cpu)?.unsqueeze(0)?, 0)?)?;
    let first = Instant::now();
    for at in 1..n_reply {
        token = best(&model.forward(&Tensor::new(&[[token]], &Device::Cpu)?, n_prompt + at - 1)?)?;
    }
    let speed = |n: usize, time: std::time::Duration| n as f64 / time.as_secs_f64();
    Ok((speed(n_prompt, first - start), speed(n_reply - 1, first.elapsed())))
}

fn best(logits: &Tensor) -> Result<u32> {
    logits.flatten_all()?.argmax(0)?.to_scalar()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
