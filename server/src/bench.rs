//! `causerie bench`: how fast a model reads and writes, and what it takes.
//!
//! Every number of threads is measured in a process of its own: the pools that compute are made once for a process, and
//! only so the peak of the memory belongs to one run.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use causerie::{Completion, GenerationOptions, LoadOptions, MessageResponse, ModelRunner, Prompt};
use serde::{Deserialize, Serialize};

use crate::arguments::Bench;
use crate::inspect::size;
use crate::{Failure, interrupt, model};

/// Read and written once before anything counts, so that the weights are in memory and the threads awake.
const WARM_UP: (usize, usize) = (16, 4);

/// What the pools of candle and of its products ask for the number of threads, where candle computes.
const THREAD_VARIABLES: [&str; 2] = ["CANDLE_NUM_THREADS", "RAYON_NUM_THREADS"];

/// What one number of threads gave.
#[derive(Serialize, Deserialize)]
struct Measurement {
    threads: usize,
    load_seconds: f64,
    /// What the process has in memory at the end; `None` where the system does not tell.
    memory_bytes: Option<u64>,
    /// The most that it had, pages of the model's file among it, which the system could have taken back.
    peak_memory_bytes: Option<u64>,
    replies: Vec<Reply>,
}

/// One reply that counts, or several at once.
#[derive(Serialize, Deserialize)]
struct Reply {
    prefill_tokens_per_second: f64,
    /// 0 for replies of one token, which comes with the prompt.
    decode_tokens_per_second: f64,
    time_to_first_token_seconds: f64,
}

pub(crate) fn run(arguments: &Bench) -> Result<(), Failure> {
    if arguments.here {
        let measurement = measure(arguments)?;
        anstream::println!("{}", json(&measurement)?);
        return Ok(());
    }
    let threads = match &arguments.threads[..] {
        [] => vec![std::thread::available_parallelism().map_or(1, usize::from)],
        given => given.to_vec(),
    };
    if !arguments.json {
        print_head(arguments)?;
    }
    let mut measurements = Vec::new();
    for threads in threads {
        let measurement = measure_apart(arguments, threads)?;
        if !arguments.json {
            print_row(&measurement);
        }
        measurements.push(measurement);
    }
    if arguments.json {
        let info = model::info(arguments.model.name.as_deref())?;
        let runs = measurements.iter().map(summary).collect::<Result<Vec<_>, _>>()?;
        let object = serde_json::json!({
            "model": arguments.model.name,
            "architecture": info.architecture,
            "parameters": info.n_parameters,
            "quantisation": info.quantisation.first().map(|part| &part.name),
            "prompt_tokens": arguments.prompt_tokens,
            "reply_tokens": arguments.reply_tokens,
            "at_once": arguments.at_once,
            "repeats": arguments.repeats,
            "seed": arguments.seed,
            "runs": runs,
        });
        anstream::println!("{object}");
    }
    Ok(())
}

/// Measures in a process with so many threads.
fn measure_apart(arguments: &Bench, threads: usize) -> Result<Measurement, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["bench", "--here"])
        .envs(THREAD_VARIABLES.map(|name| (name, threads.to_string())))
        .stderr(Stdio::inherit());
    if let Some(name) = &arguments.model.name {
        command.arg("--model").arg(name);
    }
    for (option, number) in [
        ("--prompt-tokens", arguments.prompt_tokens as u64),
        ("--reply-tokens", arguments.reply_tokens as u64),
        ("--threads", threads as u64),
        ("--at-once", arguments.at_once as u64),
        ("--repeats", arguments.repeats as u64),
        ("--seed", arguments.seed),
    ] {
        command.arg(option).arg(number.to_string());
    }
    let output = command.output()?;
    if !output.status.success() {
        // It has said why.
        return Err(Failure(format!("measuring with {threads} threads ended with {}", output.status)));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|err| Failure(format!("measuring with {threads} threads told nothing: {err}")))
}

fn measure(arguments: &Bench) -> Result<Measurement, Failure> {
    let before = Instant::now();
    let threads = arguments.threads.first().copied();
    let needed = arguments.prompt_tokens.saturating_add(arguments.reply_tokens);
    let options = LoadOptions { threads, context_size: Some(needed), ..Default::default() };
    let runner = model::load_with(arguments.model.name.as_deref(), options)?;
    let load_time = before.elapsed();
    if runner.context_size() < needed {
        return Err(Failure(format!("{needed} tokens, and the context holds {}", runner.context_size())));
    }
    // Every reply has a prompt of its own: the beginning of one that was read before would not be read again.
    let mut random = Random(arguments.seed);
    let (n_prompt, n_reply) = (arguments.prompt_tokens, arguments.reply_tokens);
    reply(&runner, prompt(&runner, &mut random, WARM_UP.0.min(n_prompt)), WARM_UP.1.min(n_reply))?;
    let one = |_| match arguments.at_once {
        0 | 1 => told(&reply(&runner, prompt(&runner, &mut random, n_prompt), n_reply)?.0, n_reply),
        n => together(&runner, (0..n).map(|_| prompt(&runner, &mut random, n_prompt)).collect(), n_reply),
    };
    Ok(Measurement {
        threads: threads.unwrap_or(1),
        load_seconds: load_time.as_secs_f64(),
        replies: (0..arguments.repeats).map(one).collect::<Result<_, _>>()?,
        memory_bytes: memory("VmRSS:"),
        peak_memory_bytes: memory("VmHWM:"),
    })
}

/// Tokens drawn at random. Ids without a token, of a padded vocabulary, are drawn anew.
fn prompt(runner: &ModelRunner, random: &mut Random, n_tokens: usize) -> Vec<u32> {
    let n_vocabulary = runner.info().n_vocabulary as u64;
    let ids = std::iter::repeat_with(|| (random.next() % n_vocabulary) as u32); // below the vocabulary, so it fits
    ids.filter(|id| runner.token_text(*id).is_some()).take(n_tokens).collect()
}

/// Writes a reply; tells when it had its first token and its last.
fn reply(
    runner: &ModelRunner,
    prompt: Vec<u32>,
    n_reply: usize,
) -> Result<(Completion, std::ops::Range<Instant>), Failure> {
    let options = GenerationOptions {
        temperature: Some(0.0),
        seed: Some(0),
        max_tokens: Some(n_reply),
        ignore_end: true,
        function_call_parser: None,
        ..Default::default()
    };
    let start = Instant::now();
    let mut stream = runner.complete(Prompt::Tokens(prompt), options);
    interrupt::cancels(&stream);
    while let Some(event) = Iterator::next(&mut stream) {
        if let MessageResponse::Complete(completion) = event? {
            let first = start + completion.stats.time_to_first_token;
            return Ok((*completion, first..Instant::now()));
        }
    }
    Err(Failure("the reply ended without its end".to_owned()))
}

/// Writes several replies at once.
fn together(runner: &ModelRunner, prompts: Vec<Vec<u32>>, n_reply: usize) -> Result<Reply, Failure> {
    let start = Instant::now();
    let replies = std::thread::scope(|scope| {
        let write = |prompt| scope.spawn(move || reply(runner, prompt, n_reply));
        let threads: Vec<_> = prompts.into_iter().map(write).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(Failure("a reply's thread panicked".to_owned()))))
            .collect::<Result<Vec<_>, _>>()
    })?;
    for (completion, _) in &replies {
        told(completion, n_reply)?;
    }
    let firsts = || replies.iter().map(|(_, time)| time.start);
    let (Some(first), Some(last_first)) = (firsts().min(), firsts().max()) else {
        return Err(Failure("there are no replies".to_owned()));
    };
    let last = replies.iter().map(|(_, time)| time.end).max().unwrap_or(first);
    let n_read: usize = replies.iter().map(|(completion, _)| completion.stats.prompt_tokens).sum();
    let speed = |n_tokens: usize, time: Duration| n_tokens as f64 / time.max(Duration::from_nanos(1)).as_secs_f64();
    Ok(Reply {
        prefill_tokens_per_second: speed(n_read, last_first - start),
        decode_tokens_per_second: speed(replies.len() * (n_reply - 1), last - first),
        time_to_first_token_seconds: (last_first - start).as_secs_f64(),
    })
}

fn told(completion: &Completion, n_reply: usize) -> Result<Reply, Failure> {
    let stats = &completion.stats;
    if stats.completion_tokens != n_reply {
        let written = stats.completion_tokens;
        return Err(Failure(format!("the reply ended after {written} tokens: {:?}", completion.finish_reason)));
    }
    let n_read = stats.prompt_tokens - stats.cached_prompt_tokens;
    Ok(Reply {
        prefill_tokens_per_second: n_read as f64 / stats.prefill_time.max(Duration::from_nanos(1)).as_secs_f64(),
        decode_tokens_per_second: stats.tokens_per_second(),
        time_to_first_token_seconds: stats.time_to_first_token.as_secs_f64(),
    })
}

/// The same numbers from the same seed, on every machine.
struct Random(u64);

impl Random {
    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

/// Memory of this process in bytes, where the system tells: Linux does in a file.
fn memory(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

fn median(measurement: &Measurement, value: impl Fn(&Reply) -> f64) -> f64 {
    let mut values: Vec<f64> = measurement.replies.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// A measurement with the medians of its replies.
fn summary(measurement: &Measurement) -> Result<serde_json::Value, Failure> {
    let mut object = serde_json::to_value(measurement).map_err(|err| Failure(err.to_string()))?;
    object["prefill_tokens_per_second"] = median(measurement, |reply| reply.prefill_tokens_per_second).into();
    object["decode_tokens_per_second"] = median(measurement, |reply| reply.decode_tokens_per_second).into();
    object["time_to_first_token_seconds"] = median(measurement, |reply| reply.time_to_first_token_seconds).into();
    Ok(object)
}

fn json(measurement: &Measurement) -> Result<String, Failure> {
    serde_json::to_string(measurement).map_err(|err| Failure(err.to_string()))
}

fn print_head(arguments: &Bench) -> Result<(), Failure> {
    let info = model::info(arguments.model.name.as_deref())?;
    let kinds = info.quantisation.iter().map(|part| format!("{} {:.0} %", part.name, part.share * 100.0));
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    let Bench { prompt_tokens, reply_tokens, at_once, repeats, .. } = arguments;
    anstream::println!("{}, {:.1} million parameters, {kinds}", info.architecture, info.n_parameters as f64 / 1e6);
    let at_once = if 1 < *at_once { format!(", {at_once} at once") } else { String::new() };
    anstream::println!("{prompt_tokens} tokens read, {reply_tokens} written{at_once}, median of {repeats}");
    anstream::println!("threads   prefill/s    decode/s   first token        load      memory        peak");
    Ok(())
}

fn print_row(measurement: &Measurement) {
    let memory = |n_bytes: Option<u64>| n_bytes.map_or("unknown".to_owned(), size);
    anstream::println!(
        "{:>7} {:>11.1} {:>11.1} {:>11.3} s {:>9.2} s {:>11} {:>11}",
        measurement.threads,
        median(measurement, |reply| reply.prefill_tokens_per_second),
        median(measurement, |reply| reply.decode_tokens_per_second),
        median(measurement, |reply| reply.time_to_first_token_seconds),
        measurement.load_seconds,
        memory(measurement.memory_bytes),
        memory(measurement.peak_memory_bytes)
    );
}
