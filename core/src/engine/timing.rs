//! When a reply was requested, when it is due, and how long its phases took.

use std::fs;
use std::time::{Duration, Instant};

use crate::engine::step_plan::StepPlan;
use crate::response::GenerationStats;

/// The clock of one reply.
pub(super) struct Timing {
    requested: Instant,
    /// When the reply is cancelled.
    pub(super) deadline: Option<Instant>,
}

impl Timing {
    /// Starts now.
    pub(super) fn start(timeout: Option<Duration>) -> Self {
        let requested = Instant::now();
        Self { requested, deadline: timeout.and_then(|timeout| requested.checked_add(timeout)) }
    }

    pub(super) fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Records that the prompt is ready.
    pub(super) fn record_start(&self, stats: &mut GenerationStats, n_prompt: usize) {
        stats.queue_time = self.requested.elapsed();
        stats.prompt_tokens = n_prompt;
    }

    /// Records a step of the prompt.
    pub(super) fn record_prefill(stats: &mut GenerationStats, plan: &StepPlan) {
        stats.prefill_time += plan.begun.elapsed();
    }

    /// Records a step after which the reply goes on by at least one token.
    pub(super) fn record_decode(&self, stats: &mut GenerationStats, plan: &StepPlan) {
        if 0 < stats.completion_tokens {
            stats.decode_time += plan.begun.elapsed();
        } else {
            stats.time_to_first_token = self.requested.elapsed();
        }
    }
}

/// The peak memory of the process in bytes, where the system reports it.
pub(super) fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    peak.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}
