//! `causerie bench`: measures the speed of prefill and decode, and the memory use.
//!
//! Each number of threads is measured in a separate process: a process creates its thread pools only once, and its peak
//! memory then belongs to one run.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use causerie::{Completion, GenerationOptions, LoadOptions, MessageResponse, ModelRunner, Prompt};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::arguments::BenchArguments;
use crate::failure::Failure;
use crate::model::LocalModel;
use crate::output::print_line;
use crate::{byte_size, interrupt};

/// Tokens of prompt and reply in the warm-up, after which the weights are in memory and the threads awake.
const WARM_UP: (usize, usize) = (16, 4);

/// The results with one number of threads.
#[derive(Serialize, Deserialize)]
struct Measurement {
    threads: usize,
    load_seconds: f64,
    /// Resident memory of the process at the end; `None` if the system does not report it.
    memory_bytes: Option<u64>,
    /// The part of it that belongs to the process alone.
    private_memory_bytes: Option<u64>,
    /// The part of it that is pages of files, such as mapped weights, which processes share and the system may reclaim.
    mapped_memory_bytes: Option<u64>,
    /// Peak of the resident memory.
    peak_memory_bytes: Option<u64>,
    replies: Vec<ReplySpeed>,
}

/// The speed of one measured reply, or of several concurrent ones together.
#[derive(Serialize, Deserialize)]
struct ReplySpeed {
    prefill_tokens_per_second: f64,
    /// 0 for replies of one token, as prefill yields the first token.
    decode_tokens_per_second: f64,
    time_to_first_token_seconds: f64,
}

pub(crate) fn run(arguments: &BenchArguments, model: &LocalModel) -> Result<(), Failure> {
    if arguments.here {
        let measurement = measure(arguments, model)?;
        return Ok(print_line(json(&measurement)?)?);
    }
    let threads = match &arguments.threads[..] {
        [] => vec![std::thread::available_parallelism().map_or(1, usize::from)],
        given => given.to_vec(),
    };
    if !arguments.json {
        print_head(arguments, model)?;
    }
    let mut measurements = Vec::new();
    for threads in threads {
        let measurement = measure_in_process(arguments, model, threads)?;
        if !arguments.json {
            print_row(&measurement)?;
        }
        measurements.push(measurement);
    }
    if arguments.json {
        let info = model.info()?;
        let runs = measurements.iter().map(summary).collect::<Result<Vec<_>, _>>()?;
        let object = serde_json::json!({
            "model": model.name(),
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
        print_line(object)?;
    }
    Ok(())
}

/// Measures in a new process with this number of threads.
fn measure_in_process(arguments: &BenchArguments, model: &LocalModel, threads: usize) -> Result<Measurement, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bench", "--here"]).stderr(Stdio::inherit());
    if let Some(place) = model.to_load() {
        command.arg("--model").arg(place);
    }
    if let Some(folder) = &arguments.loading.packed_folder {
        command.arg("--packed-folder").arg(folder);
    }
    for (option, choice) in [
        ("--weight-memory", arguments.loading.weight_memory.to_possible_value()),
        ("--cache-type", arguments.loading.cache_type.to_possible_value()),
        ("--device", arguments.loading.device.to_possible_value()),
    ] {
        if let Some(choice) = choice {
            command.arg(option).arg(choice.get_name());
        }
    }
    if let Some(name) = &arguments.loading.gpu_name {
        command.arg("--gpu-name").arg(name);
    }
    for (option, number) in [
        ("--prompt-tokens", arguments.prompt_tokens as u64),
        ("--reply-tokens", arguments.reply_tokens as u64),
        ("--threads", threads as u64),
        ("--at-once", arguments.at_once as u64),
        ("--repeats", arguments.repeats as u64),
        ("--seed", arguments.seed),
    ]
    .into_iter()
    .chain(arguments.loading.gpu_bytes.map(|bytes| ("--gpu-bytes", bytes)))
    {
        command.arg(option).arg(number.to_string());
    }
    let output = command.output()?;
    if !output.status.success() {
        // The process has printed why.
        return Err(Failure(format!("measuring with {threads} threads ended with {}", output.status)));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|err| Failure(format!("measuring with {threads} threads printed invalid results: {err}")))
}

fn measure(arguments: &BenchArguments, model: &LocalModel) -> Result<Measurement, Failure> {
    let before = Instant::now();
    let threads = arguments.threads.first().copied();
    let needed = arguments.prompt_tokens.saturating_add(arguments.reply_tokens);
    let options = LoadOptions { threads, context_size: Some(needed), ..Default::default() };
    let options = arguments.loading.add_to(options);
    let runner = model.load(options)?;
    let load_time = before.elapsed();
    if runner.context_size() < needed {
        return Err(Failure(format!(
            "prompt and reply need {needed} tokens, and the context holds {}",
            runner.context_size()
        )));
    }
    // Each reply has a prompt of its own: a prefix in the cache would not be computed again.
    let mut random = fastrand::Rng::with_seed(arguments.seed);
    let (n_prompt, n_reply) = (arguments.prompt_tokens, arguments.reply_tokens);
    reply(&runner, prompt(&runner, &mut random, WARM_UP.0.min(n_prompt)), WARM_UP.1.min(n_reply))?;
    let one = |_| match arguments.at_once {
        0 | 1 => speed(&reply(&runner, prompt(&runner, &mut random, n_prompt), n_reply)?.0, n_reply),
        n => concurrent_speed(&runner, (0..n).map(|_| prompt(&runner, &mut random, n_prompt)).collect(), n_reply),
    };
    Ok(Measurement {
        threads: threads.unwrap_or(1),
        load_seconds: load_time.as_secs_f64(),
        replies: (0..arguments.repeats).map(one).collect::<Result<_, _>>()?,
        memory_bytes: memory("VmRSS:"),
        private_memory_bytes: memory("RssAnon:"),
        mapped_memory_bytes: memory("RssFile:"),
        peak_memory_bytes: memory("VmHWM:"),
    })
}

/// Draws tokens at random. Ids without a token, which padded vocabularies have, are skipped.
fn prompt(runner: &ModelRunner, random: &mut fastrand::Rng, n_tokens: usize) -> Vec<u32> {
    let n_vocabulary = runner.info().n_vocabulary as u32; // token ids are u32
    let ids = std::iter::repeat_with(|| random.u32(..n_vocabulary));
    ids.filter(|id| runner.token_text(*id).is_some()).take(n_tokens).collect()
}

/// Generates a reply; returns it with the times of its first and last token.
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
    interrupt::cancel_on_press(&stream);
    while let Some(event) = stream.iter().next() {
        if let MessageResponse::Complete(completion) = event? {
            let first = start + completion.stats.time_to_first_token;
            return Ok((*completion, first..Instant::now()));
        }
    }
    Err(Failure("the reply ended without a completion".to_owned()))
}

/// Generates several replies concurrently, and returns their speed together.
fn concurrent_speed(runner: &ModelRunner, prompts: Vec<Vec<u32>>, n_reply: usize) -> Result<ReplySpeed, Failure> {
    let start = Instant::now();
    let replies = std::thread::scope(|scope| {
        let write = |prompt| scope.spawn(move || reply(runner, prompt, n_reply));
        let threads: Vec<_> = prompts.into_iter().map(write).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(Failure("the thread of a reply panicked".to_owned()))))
            .collect::<Result<Vec<_>, _>>()
    })?;
    for (completion, _) in &replies {
        speed(completion, n_reply)?; // checks the length
    }
    let firsts = || replies.iter().map(|(_, time)| time.start);
    let (Some(first), Some(last_first)) = (firsts().min(), firsts().max()) else {
        return Err(Failure("no reply was generated".to_owned()));
    };
    let last = replies.iter().map(|(_, time)| time.end).max().unwrap_or(first);
    let n_prompt: usize = replies.iter().map(|(completion, _)| completion.stats.prompt_tokens).sum();
    Ok(ReplySpeed {
        prefill_tokens_per_second: per_second(n_prompt, last_first - start),
        decode_tokens_per_second: per_second(replies.len() * (n_reply - 1), last - first),
        time_to_first_token_seconds: (last_first - start).as_secs_f64(),
    })
}

/// Returns the speed of a reply, which must have `n_reply` tokens.
fn speed(completion: &Completion, n_reply: usize) -> Result<ReplySpeed, Failure> {
    let stats = &completion.stats;
    if stats.completion_tokens != n_reply {
        let (found, reason) = (stats.completion_tokens, completion.finish_reason);
        return Err(Failure(format!("the reply must have {n_reply} tokens, found {found} ({reason:?})")));
    }
    let n_prompt = stats.prompt_tokens - stats.cached_prompt_tokens;
    Ok(ReplySpeed {
        prefill_tokens_per_second: per_second(n_prompt, stats.prefill_time),
        decode_tokens_per_second: stats.tokens_per_second(),
        time_to_first_token_seconds: stats.time_to_first_token.as_secs_f64(),
    })
}

fn per_second(n_tokens: usize, time: Duration) -> f64 {
    n_tokens as f64 / time.max(Duration::from_nanos(1)).as_secs_f64()
}

/// Returns an entry of this process's memory in bytes; Linux reports it in a file.
fn memory(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

fn median(measurement: &Measurement, value: impl Fn(&ReplySpeed) -> f64) -> f64 {
    let mut values: Vec<f64> = measurement.replies.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// Returns a measurement as JSON, with the medians of its replies.
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

fn print_head(arguments: &BenchArguments, model: &LocalModel) -> Result<(), Failure> {
    let info = model.info()?;
    let kinds = info.quantisation.iter().map(|part| format!("{} {:.0} %", part.name, part.share * 100.0));
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    let BenchArguments { prompt_tokens, reply_tokens, at_once, repeats, .. } = arguments;
    let millions = info.n_parameters as f64 / 1e6;
    print_line(format_args!("{}, {millions:.1} million parameters, {kinds}", info.architecture))?;
    let at_once = if 1 < *at_once { format!(", {at_once} concurrent replies") } else { String::new() };
    let counts = format!("{prompt_tokens} prompt tokens, {reply_tokens} reply tokens");
    print_line(format_args!("{counts}{at_once}, median of {repeats}"))?;
    Ok(print_line("threads   prefill/s    decode/s   first token        load     private      mapped        peak")?)
}

fn print_row(measurement: &Measurement) -> io::Result<()> {
    let memory = |n_bytes: Option<u64>| n_bytes.map_or("unknown".to_owned(), byte_size::format);
    print_line(format_args!(
        "{:>7} {:>11.1} {:>11.1} {:>11.3} s {:>9.2} s {:>11} {:>11} {:>11}",
        measurement.threads,
        median(measurement, |reply| reply.prefill_tokens_per_second),
        median(measurement, |reply| reply.decode_tokens_per_second),
        median(measurement, |reply| reply.time_to_first_token_seconds),
        measurement.load_seconds,
        memory(measurement.private_memory_bytes),
        memory(measurement.mapped_memory_bytes),
        memory(measurement.peak_memory_bytes)
    ))
}
