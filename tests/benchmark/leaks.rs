//! Measures the overhead per event, and the threads, files and memory that remain after replies were dropped or cancelled at
//! random. The model is scripted, and computes nothing.
//!
//! `cargo run --release -p causerie-tests --example leaks`

use std::time::{Duration, Instant};

use causerie::testing::{ScriptedModel, ScriptedReply};
use causerie::{ChatMessage, GenerationOptions, ResponseStream, SdkError};

const REPLIES: usize = 10_000;
/// Tokens of a reply, and replies of a model.
const LENGTH: u64 = 20;
const PER_MODEL: usize = 100;

fn main() -> Result<(), SdkError> {
    events(20_000)?;
    let mut random = 7_u64;
    drop_at_random(200, &mut random)?; // what is set up only once does not count as a leak
    println!("before: {}", resources());
    drop_at_random(REPLIES, &mut random)?;
    println!("after {REPLIES} replies: {}", resources());
    Ok(())
}

fn requests(replies: impl IntoIterator<Item = ScriptedReply>) -> Result<impl FnMut() -> ResponseStream, SdkError> {
    let runner = replies.into_iter().fold(ScriptedModel::new(), ScriptedModel::reply).load()?;
    let request =
        move || runner.create_conversation("").generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    Ok(request)
}

fn events(n_tokens: usize) -> Result<(), SdkError> {
    let long = (0..n_tokens).fold(ScriptedReply::new(), |reply, _| reply.text("x"));
    let mut costs = Vec::new();
    let mut before = Instant::now();
    for event in requests([long])?() {
        event?;
        costs.push(before.elapsed());
        before = Instant::now();
    }
    costs.sort_unstable();
    let (median, late) = (costs[costs.len() / 2], costs[costs.len() * 95 / 100]);
    println!("per event: median {median:?}, 95 % within {late:?}, of {}", costs.len());
    Ok(())
}

fn drop_at_random(n_replies: usize, random: &mut u64) -> Result<(), SdkError> {
    for _ in 0..n_replies / PER_MODEL {
        // The reply never ends by itself.
        let endless = (0..LENGTH).fold(ScriptedReply::new(), |reply, _| reply.text("word ")).stall();
        let mut request = requests(vec![endless; PER_MODEL])?;
        for _ in 0..PER_MODEL {
            *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut reply = request();
            for _ in 0..(*random >> 33) % LENGTH {
                reply.iter().next().transpose()?;
            }
            if *random >> 63 == 0 {
                reply.cancel();
                reply.into_iter().try_for_each(|event| event.map(drop))?;
            }
        }
    }
    Ok(())
}

/// Returns the resources of this process after the engines have ended; works on Linux.
fn resources() -> String {
    let count = |folder: &str| std::fs::read_dir(folder).map_or(0, Iterator::count);
    let start = Instant::now();
    while 1 < count("/proc/self/task") && start.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("unknown").trim();
    format!("{} threads, {} open files, {memory} of memory", count("/proc/self/task"), count("/proc/self/fd"))
}
