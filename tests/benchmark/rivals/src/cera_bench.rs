//! Measures cera like `causerie bench` measures causerie: a prompt of random tokens, then a greedy reply.
//!
//! ```text
//! cera-bench MODEL PROMPT_TOKENS REPLY_TOKENS
//! ```
//!
//! Prints one JSON object. cera takes its numbers of threads from `CERA_THREADS`, `CERA_DECODE_THREADS` and
//! `RAYON_NUM_THREADS`.

use std::error::Error;
use std::time::{Duration, Instant};

use cera::{BackendPreference, CeraEngine, EngineConfig, FinishReason, GenerateOpts, ModalitySink, SessionConfig};

const WARM_UP: (usize, u32) = (16, 4);
/// Ids below are control tokens in many vocabularies, ids above are missing in some.
const FIRST_TOKEN: u32 = 300;
const N_TOKENS: u32 = 30_000;

/// When the first token of a reply came, and how many came.
#[derive(Default)]
struct Arrivals {
    first: Option<Instant>,
    n_tokens: u32,
}

impl ModalitySink for Arrivals {
    fn on_text_tokens(&mut self, tokens: &[u32]) {
        self.first.get_or_insert_with(Instant::now);
        self.n_tokens += tokens.len() as u32;
    }

    fn on_done(&mut self, _: FinishReason) {}
}

/// The times from the prompt to the first token, and from there to the last one, and the number of tokens.
fn measure(engine: &CeraEngine, prompt: &[u32], n_reply: u32) -> Result<(Duration, Duration, u32), Box<dyn Error>> {
    let mut session = engine.new_session(SessionConfig::default())?;
    let options = GenerateOpts { max_tokens: n_reply, ignore_eos: true, temperature: 0.0, ..GenerateOpts::default() };
    let mut arrivals = Arrivals::default();
    let start = Instant::now();
    session.append_tokens(prompt)?;
    session.generate(&options, &mut arrivals)?;
    let first = arrivals.first.ok_or("no token arrived")?;
    Ok((first - start, first.elapsed(), arrivals.n_tokens))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, model, n_prompt, n_reply] = arguments.as_slice() else {
        return Err("expected MODEL PROMPT_TOKENS REPLY_TOKENS".into());
    };
    let (n_prompt, n_reply): (usize, u32) = (n_prompt.parse()?, n_reply.parse()?);
    let config = EngineConfig {
        context_size: n_prompt + n_reply as usize + 64,
        backend: BackendPreference::Cpu,
        ..EngineConfig::default()
    };
    let start = Instant::now();
    let engine = CeraEngine::from_path(model, config)?;
    let load = start.elapsed();
    let mut state = 1_u64;
    let prompt: Vec<u32> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        FIRST_TOKEN + (state >> 33) as u32 % N_TOKENS
    })
    .take(n_prompt)
    .collect();
    measure(&engine, &prompt[..WARM_UP.0.min(n_prompt)], WARM_UP.1)?;
    let (to_first, rest, n_tokens) = measure(&engine, &prompt, n_reply)?;
    println!(
        r#"{{"load_seconds": {}, "prefill_tokens_per_second": {}, "decode_tokens_per_second": {}}}"#,
        load.as_secs_f64(),
        n_prompt as f64 / to_first.as_secs_f64(),
        f64::from(n_tokens.saturating_sub(1)) / rest.as_secs_f64().max(1e-9)
    );
    Ok(())
}
