//! The counts and times of an answer.

use causerie::GenerationStats;
use serde_json::{Value as Json, json};

/// Counts over all choices. A prompt counts once, since further choices find it in the cache.
#[derive(Default)]
pub(in crate::serve) struct Usage {
    prompt_tokens: usize,
    cached_tokens: usize,
    audio_tokens: usize,
    completion_tokens: usize,
    spoken_tokens: usize,
    reasoning_tokens: usize,
    last: Option<GenerationStats>,
}

impl Usage {
    /// The usage of a reply that begins.
    pub(in crate::serve) fn of_prompt(prompt_tokens: usize) -> Self {
        Self { prompt_tokens, ..Self::default() }
    }

    /// Adds a prompt whose reply has not ended.
    pub(in crate::serve) fn add_prompt(&mut self, n_tokens: usize) {
        self.prompt_tokens += n_tokens;
    }

    /// Adds a token of a reply that has not ended.
    pub(super) fn add_token(&mut self) {
        self.completion_tokens += 1;
    }

    /// Adds a reply; its prompt counts if this is its first choice.
    pub(super) fn add(&mut self, stats: &GenerationStats, is_first_choice: bool) {
        if is_first_choice {
            self.prompt_tokens += stats.prompt_tokens;
            self.cached_tokens += stats.cached_prompt_tokens;
            self.audio_tokens += stats.audio_tokens;
        }
        self.completion_tokens += stats.completion_tokens;
        self.spoken_tokens += stats.spoken_tokens;
        self.reasoning_tokens += stats.reasoning_tokens;
        self.last = Some(*stats);
    }

    /// As chat completions and completions write it.
    pub(super) fn json(&self) -> Json {
        json!({
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
            "prompt_tokens_details": { "cached_tokens": self.cached_tokens, "audio_tokens": self.audio_tokens },
            "completion_tokens_details": { "reasoning_tokens": self.reasoning_tokens, "audio_tokens": self.spoken_tokens },
        })
    }

    /// As messages write it: cached tokens are not part of the input.
    pub(super) fn message_json(&self) -> Json {
        json!({
            "input_tokens": self.prompt_tokens - self.cached_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": self.cached_tokens,
            "output_tokens": self.completion_tokens,
        })
    }

    /// As responses write it.
    pub(super) fn response_json(&self) -> Json {
        json!({
            "input_tokens": self.prompt_tokens,
            "input_tokens_details": { "cached_tokens": self.cached_tokens, "cache_write_tokens": 0 },
            "output_tokens": self.completion_tokens,
            "output_tokens_details": { "reasoning_tokens": self.reasoning_tokens },
            "total_tokens": self.prompt_tokens + self.completion_tokens,
        })
    }

    /// Times of the last choice in milliseconds, and its tokens per second.
    pub(super) fn timings(&self) -> Json {
        let Some(stats) = &self.last else { return Json::Null };
        json!({
            "time_to_first_token_ms": stats.time_to_first_token.as_secs_f64() * 1e3,
            "prefill_ms": stats.prefill_time.as_secs_f64() * 1e3,
            "decode_ms": stats.decode_time.as_secs_f64() * 1e3,
            "tokens_per_second": stats.tokens_per_second(),
        })
    }
}
