//! Counts of what the server does, in Prometheus' text format 0.0.4, which is what `/metrics` promises.
//! `prometheus-client` writes OpenMetrics, where counters have other names, so it would not say the same.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use causerie::GenerationStats;
use hyper::StatusCode;
use parking_lot::Mutex;

use crate::serve::admission::{Admission, Permit, PermitWait};
use crate::serve::error::HttpError;

pub(super) struct Metrics {
    admission: Arc<Admission>,
    /// Counts by route and status.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    cancelled: AtomicU64,
    prompt_tokens: AtomicU64,
    cached_tokens: AtomicU64,
    completion_tokens: AtomicU64,
    first_token: Histogram,
    between_tokens: Histogram,
}

impl Metrics {
    pub(super) fn new(admission: Arc<Admission>) -> Self {
        Self {
            admission,
            requests: Mutex::default(),
            cancelled: AtomicU64::new(0),
            prompt_tokens: AtomicU64::new(0),
            cached_tokens: AtomicU64::new(0),
            completion_tokens: AtomicU64::new(0),
            first_token: Histogram::new([0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]),
            between_tokens: Histogram::new([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0]),
        }
    }

    /// Counts the tokens of a reply that has ended.
    pub(super) fn count_tokens(&self, stats: &GenerationStats) {
        let add = |count: &AtomicU64, tokens: usize| count.fetch_add(tokens as u64, Ordering::Relaxed);
        add(&self.prompt_tokens, stats.prompt_tokens);
        add(&self.cached_tokens, stats.cached_prompt_tokens);
        add(&self.completion_tokens, stats.completion_tokens);
    }

    /// Counts the tokens of a prompt that had no reply.
    pub(super) fn count_prompt(&self, n_tokens: usize, n_cached: usize) {
        self.prompt_tokens.fetch_add(n_tokens as u64, Ordering::Relaxed);
        self.cached_tokens.fetch_add(n_cached as u64, Ordering::Relaxed);
    }

    fn count_request(&self, route: &'static str, status: u16) {
        let mut requests = self.requests.lock();
        *requests.entry((route, status)).or_default() += 1;
    }

    /// All counts, as text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        head(
            &mut text,
            "requests_total",
            "counter",
            "Responses by route and status; 499 if the client disconnected before.",
        );
        for ((route, status), count) in &*self.requests.lock() {
            let _ = writeln!(text, "causerie_requests_total{{route=\"{route}\",status=\"{status}\"}} {count}");
        }
        let running = self.admission.n_running() as u64;
        one(&mut text, "requests_running", "gauge", "Requests that are being answered.", running);
        let waiting = self.admission.n_waiting() as u64;
        one(&mut text, "requests_waiting", "gauge", "Requests in the queue.", waiting);
        for (name, help, count) in [
            ("requests_cancelled_total", "Requests whose client disconnected before their end.", &self.cancelled),
            ("prompt_tokens_total", "Tokens of prompts.", &self.prompt_tokens),
            ("cached_tokens_total", "Tokens of prompts that came from the cache.", &self.cached_tokens),
            ("completion_tokens_total", "Tokens that the model generated.", &self.completion_tokens),
        ] {
            one(&mut text, name, "counter", help, count.load(Ordering::Relaxed));
        }
        self.first_token.write(
            &mut text,
            "time_to_first_token_seconds",
            "From a request to its first token, with its wait in the queue.",
        );
        self.between_tokens.write(
            &mut text,
            "time_per_token_seconds",
            "From one token to the next, the mean of each reply.",
        );
        text
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = write!(text, "# HELP causerie_{name} {help}\n# TYPE causerie_{name} {kind}\n"); // never fails
}

fn one(text: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    head(text, name, kind, help);
    let _ = writeln!(text, "causerie_{name} {value}");
}

/// The status of a request whose client disconnected before the response, as nginx counts it.
const CLIENT_DISCONNECTED: u16 = 499;

/// Counts a request when it is answered, or when its client disconnects.
pub(super) struct RequestCount {
    metrics: Arc<Metrics>,
    route: &'static str,
    status: u16,
}

impl RequestCount {
    pub(super) fn begin(metrics: &Arc<Metrics>, route: &'static str) -> Self {
        Self { metrics: Arc::clone(metrics), route, status: CLIENT_DISCONNECTED }
    }

    pub(super) fn end(mut self, status: StatusCode) {
        self.status = status.as_u16();
    }
}

impl Drop for RequestCount {
    fn drop(&mut self) {
        self.metrics.count_request(self.route, self.status);
    }
}

/// Times a request that waits for a permit and generates. Dropped before its end, it counts as cancelled.
pub(super) struct GenerationTimer {
    metrics: Arc<Metrics>,
    begun: Instant,
    /// How long it waited for its permit; `None` once the first token has been counted.
    waited: Option<Duration>,
    has_ended: bool,
}

impl GenerationTimer {
    pub(super) fn start(metrics: &Arc<Metrics>) -> Self {
        Self { metrics: Arc::clone(metrics), begun: Instant::now(), waited: None, has_ended: false }
    }

    /// Waits for a permit. A refusal is an end, too.
    pub(super) async fn wait(&mut self, wait: &mut PermitWait) -> Result<Permit, HttpError> {
        let permit = wait.await;
        self.waited = Some(self.begun.elapsed());
        self.has_ended = permit.is_err();
        permit
    }

    /// Counts the times of a reply that has ended. The first of several has the first token of the request.
    pub(super) fn count(&mut self, stats: &GenerationStats) {
        if 0 < stats.completion_tokens
            && let Some(waited) = self.waited.take()
        {
            self.metrics.first_token.observe(waited + stats.time_to_first_token);
        }
        if let Some(steps) =
            u32::try_from(stats.completion_tokens).ok().and_then(|n| n.checked_sub(1)).filter(|n| 0 < *n)
        {
            self.metrics.between_tokens.observe(stats.decode_time / steps);
        }
    }

    /// The answer is complete, or has failed.
    pub(super) fn end(mut self) {
        self.has_ended = true;
    }
}

impl Drop for GenerationTimer {
    fn drop(&mut self) {
        if !self.has_ended {
            self.metrics.cancelled.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Times, counted in buckets.
struct Histogram {
    /// Upper bounds of the buckets, in seconds.
    bounds: [f64; 7],
    /// One more than bounds: the last bucket has no bound.
    counts: [AtomicU64; 8],
    microseconds: AtomicU64,
}

impl Histogram {
    fn new(bounds: [f64; 7]) -> Self {
        Self { bounds, counts: Default::default(), microseconds: AtomicU64::new(0) }
    }

    fn observe(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        let bucket = self.bounds.iter().position(|bound| seconds <= *bound).unwrap_or(self.bounds.len());
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Ordering::Relaxed);
    }

    fn write(&self, text: &mut String, name: &str, help: &str) {
        head(text, name, "histogram", help);
        let mut sum = 0;
        let bounds = self.bounds.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(&self.counts) {
            sum += count.load(Ordering::Relaxed);
            let _ = writeln!(text, "causerie_{name}_bucket{{le=\"{bound}\"}} {sum}");
        }
        let seconds = self.microseconds.load(Ordering::Relaxed) as f64 / 1e6;
        let _ = write!(text, "causerie_{name}_sum {seconds}\ncauserie_{name}_count {sum}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use causerie::MessageResponse;
    use causerie::testing::ScriptedModel;

    #[test]
    fn buckets_count_all_times_up_to_their_bounds() {
        let histogram = Histogram::new([0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]);
        for milliseconds in [5, 10, 200, 60_000] {
            histogram.observe(Duration::from_millis(milliseconds));
        }
        let mut text = String::new();
        histogram.write(&mut text, "t", "T.");
        let counts: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("causerie_t_")).collect();
        assert_eq!(counts[0], r#"bucket{le="0.01"} 2"#);
        assert_eq!(counts[3], r#"bucket{le="0.3"} 3"#);
        assert_eq!(counts[7..], [r#"bucket{le="+Inf"} 4"#, "sum 60.215", "count 4"]);
    }

    #[test]
    fn the_wait_in_the_queue_is_part_of_the_time_to_first_token() {
        let metrics = Arc::new(Metrics::new(Arc::new(Admission::new(1, 1))));
        let mut timer = GenerationTimer::start(&metrics);
        timer.waited = Some(Duration::from_secs(5));
        let runner = ScriptedModel::new().reply("Hi").load().unwrap();
        let Some(Ok(MessageResponse::Complete(completion))) =
            runner.complete("a", Default::default()).into_iter().last()
        else {
            unreachable!("a scripted reply ends")
        };
        let stats = GenerationStats { time_to_first_token: Duration::from_secs(1), ..completion.stats };
        // Two choices: the request has one first token.
        timer.count(&stats);
        timer.count(&stats);
        timer.end();
        let text = metrics.text();
        let name = "causerie_time_to_first_token_seconds";
        assert!(text.contains(&format!("{name}_sum 6\n{name}_count 1\n")), "{text}");
    }
}
