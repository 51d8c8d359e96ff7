//! Our logits compared with transformers' logits, recorded by `scripts/golden`.

mod agreement;
#[cfg(feature = "candle")]
mod candle;
mod decision_values;
mod descriptions;
mod documented;
#[cfg(feature = "gpu")]
pub(crate) mod gpu;
#[cfg(feature = "gpu")]
mod gpu_steps;
#[cfg(feature = "gpu")]
pub(crate) mod lost_gpu;
mod operations;
mod refused;
mod same_bits;
mod speech_operations;

use std::ops::ControlFlow;
use std::path::Path;

use serde::Deserialize;

use super::*;
use crate::options::CacheType;

/// Positions of a sequence at most. The context of a fixture whose LongRoPE is to have its short factors is larger.
const CONTEXT: usize = 128;

#[derive(Deserialize)]
struct Golden {
    model: String,
    prompt: Vec<u32>,
    greedy: Vec<u32>,
    rows: Vec<Row>,
}

/// The logits after the token at a position of prompt and reply.
#[derive(Deserialize)]
struct Row {
    position: usize,
    logits: Vec<f32>,
}

fn tests_folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests")
}

fn fixture(file: &str) -> std::path::PathBuf {
    tests_folder().join("fixtures/models").join(file)
}

fn golden(record: &str) -> Golden {
    let golden = std::fs::read(tests_folder().join("golden/logits").join(format!("{record}.json"))).unwrap();
    serde_json::from_slice(&golden).unwrap()
}

fn load(file: &str) -> Model {
    load_with(file, native(CacheType::F32))
}

fn load_with(file: &str, compute: Compute) -> Model {
    let weights = Weights::open(fixture(file).to_str().unwrap()).unwrap();
    Model::load(&weights, None, compute, CONTEXT, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn load_from(weights: &Weights) -> Result<Model> {
    Model::load(weights, None, native(CacheType::F32), CONTEXT, &mut |_| ControlFlow::Continue(()))
}

fn native(cache_type: CacheType) -> Compute {
    Compute::native(2, cache_type)
}

/// Everything that this build can compute with on the CPU.
fn computes(cache_type: CacheType) -> Vec<Compute> {
    vec![
        native(cache_type),
        #[cfg(feature = "candle")]
        Compute::Candle(candle_core::Device::Cpu),
    ]
}

fn read(model: &Model, ids: &[u32], state: &mut Box<dyn SequenceState>) -> Vec<f32> {
    let mut logits = Vec::new();
    model.forward_one(Inputs::Tokens(ids), &mut **state, &mut logits).unwrap();
    logits
}

/// Computes the tokens in chunks of these lengths, over and over, and returns the logits at the end of each chunk.
fn logits(model: &Model, ids: &[u32], lengths: &[usize]) -> Vec<(usize, Vec<f32>)> {
    let (mut state, mut rest, mut found) = (model.start().unwrap(), ids, Vec::new());
    for length in lengths.iter().cycle() {
        let (now, later) = rest.split_at(rest.len().min(*length));
        let logits = read(model, now, &mut state);
        found.push((state.n_positions() - 1, logits));
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    found
}

fn best(logits: &[f32]) -> u32 {
    (0..).zip(logits).max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0
}

fn greedy(model: &Model, golden: &Golden, prompt_chunk: usize) -> Vec<u32> {
    let mut state = model.start().unwrap();
    let mut last = Vec::new();
    for chunk in golden.prompt.chunks(prompt_chunk) {
        last = read(model, chunk, &mut state);
    }
    let mut reply = vec![best(&last)];
    while reply.len() < golden.greedy.len() {
        let token = reply[reply.len() - 1];
        reply.push(best(&read(model, &[token], &mut state)));
    }
    reply
}

/// The largest difference of any logit, over the recorded rows at the ends of chunks of these lengths.
fn largest_difference(golden: &Golden, model: &Model, lengths: &[usize]) -> f32 {
    let ids: Vec<u32> = golden.prompt.iter().chain(&golden.greedy).copied().collect();
    let found = logits(model, &ids, lengths);
    let mut largest = 0f32;
    let mut n_compared = 0;
    for (position, logits) in found {
        for row in golden.rows.iter().filter(|row| row.position == position) {
            n_compared += 1;
            assert_eq!(logits.len(), row.logits.len());
            assert!(logits.iter().all(|logit| logit.is_finite()));
            for (ours, theirs) in logits.iter().zip(&row.logits) {
                largest = largest.max((ours - theirs).abs());
            }
        }
    }
    assert!(0 < n_compared, "some recorded row is compared");
    largest
}

/// A line of the table that `cargo test -p causerie --lib model::tests -- --nocapture` prints.
fn print_row(file: &str, measure: &str, greedy: usize, golden: &Golden) {
    println!("| {file} | {measure} | {greedy}/{} |", golden.greedy.len());
}

/// Unquantised files: the same arithmetic in another order; 1e-4 is ten times the difference that rounding makes.
#[track_caller]
fn check_exact(record: &str, file: &str) {
    computes(CacheType::F32).into_iter().for_each(|compute| check_exact_with(record, file, compute));
}

#[track_caller]
fn check_exact_with(record: &str, file: &str, compute: Compute) {
    let (golden, model) = (golden(record), load_with(file, compute));
    let n_ids = golden.prompt.len() + golden.greedy.len();
    let mut largest = 0f32;
    for lengths in [&[n_ids][..], &[1], &[7, 1, 13, 2], &[golden.prompt.len(), 1]] {
        let difference = largest_difference(&golden, &model, lengths);
        assert!(difference <= 1e-4, "{file}, chunks {lengths:?}: {difference}");
        largest = largest.max(difference);
    }
    for chunk in [golden.prompt.len(), 1, 5] {
        assert_eq!(greedy(&model, &golden, chunk), golden.greedy, "{file}, chunks of {chunk}");
    }
    print_row(file, &format!("{largest:.1e}"), golden.greedy.len(), &golden);
}

/// Quantised files: our products round activations to 8 bits, the reference does not. The bound is on the
/// divergence of the distributions (Kullback-Leibler, nats), which that rounding moves by some thousandths.
#[track_caller]
fn check_quantised(record: &str) {
    computes(CacheType::F16).into_iter().for_each(|compute| check_quantised_with(record, compute));
}

#[track_caller]
fn check_quantised_with(record: &str, compute: Compute) {
    let golden = golden(record);
    let (file, model) = (&golden.model, load_with(&golden.model, compute));
    let ids: Vec<u32> = golden.prompt.iter().chain(&golden.greedy).copied().collect();
    let found = logits(&model, &ids, &[1]);
    let mut largest = 0f64;
    for row in &golden.rows {
        let divergence = divergence(&row.logits, &found[row.position].1);
        assert!(divergence < 0.02, "{file}, position {}: {divergence}", row.position);
        largest = largest.max(divergence);
    }
    // The token that the model would pick after each token of the reference's reply.
    let choices = found[golden.prompt.len() - 1..].iter().map(|(_, logits)| best(logits));
    let n_same = choices.zip(&golden.greedy).filter(|(ours, theirs)| ours == *theirs).count();
    print_row(file, &format!("{largest:.1e} nats"), n_same, &golden);
}

fn divergence(reference: &[f32], ours: &[f32]) -> f64 {
    let log_probabilities = |logits: &[f32]| {
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = logits.iter().map(|logit| f64::from(logit - largest).exp()).sum();
        logits.iter().map(|logit| f64::from(logit - largest) - sum.ln()).collect::<Vec<_>>()
    };
    let (reference, ours) = (log_probabilities(reference), log_probabilities(ours));
    reference.iter().zip(&ours).map(|(p, q)| p.exp() * (p - q)).sum()
}

#[test]
fn dense_lfm2_gives_the_logits_of_transformers() {
    for name in ["lfm2-f32", "lfm2-f16", "lfm2-bf16"] {
        check_exact(name, &format!("{name}.gguf"));
    }
    check_exact("lfm2-hf", "lfm2-hf");
}

#[test]
fn sharded_untied_bf16_safetensors_give_the_logits_of_transformers() {
    check_exact("lfm2-hf-sharded", "lfm2-hf-sharded");
}

#[test]
fn quantised_lfm2_stays_near_its_dequantised_weights() {
    for record in ["lfm2-q8_0", "lfm2-q4_0", "lfm2-q2_k", "lfm2-q4_k", "lfm2-q5_k", "lfm2-q6_k"] {
        check_quantised(record);
    }
}

/// A folder and two GGUF files, one of them quantised.
#[track_caller]
fn check_family(name: &str, quantisation: &str) {
    check_exact(name, name);
    check_exact(name, &format!("{name}-f32.gguf"));
    check_quantised(&format!("{name}-{quantisation}"));
}

/// Norms around operators and feed-forward blocks, a gate on each head, a window of 16 beside a layer with full attention and
/// rotates half of its pairs; a convolution of 7.
#[test]
fn lfm3_gives_the_logits_of_transformers() {
    check_family("lfm3", "q8_0");
}

/// A window of 16 in six of seven layers, scaled embeddings, GELU, and norms that lack one in folders.
#[test]
fn gemma3_gives_the_logits_of_transformers() {
    check_family("gemma3", "q8_0");
}

/// Linear scaling in the layer with full attention, bounded logits, and a folder with a part for images.
#[test]
fn gemma3_with_a_part_for_images_gives_the_logits_of_transformers() {
    check_family("gemma3-linear", "q4_0");
}

/// Five experts of which two are taken, by a bias that does not weigh them; one dense layer before them.
#[test]
fn a_mixture_of_experts_gives_the_logits_of_transformers() {
    check_family("lfm2moe", "q8_0");
}

/// A window of 16 beside a layer with full attention, each with its own rope; a convolution of 7; heads wider than their share.
#[test]
fn lfm2_with_a_window_gives_the_logits_of_transformers() {
    check_family("lfm2-sliding", "q4_0");
}

/// Biases everywhere, a matrix for the logits, and all positions closer together.
#[test]
fn llama_with_linear_scaling_gives_the_logits_of_transformers() {
    check_family("llama-linear", "q5_0");
}

/// As many key heads as query heads, no scaling, a vocabulary of SentencePiece.
#[test]
fn llama2_gives_the_logits_of_transformers() {
    check_exact("llama2", "llama2");
    check_exact("llama2", "llama2-f32.gguf");
}

/// One key head for all queries.
#[test]
fn smollm2_gives_the_logits_of_transformers() {
    check_family("smollm2", "q4_1");
}

/// 101 tokens where the original context was 48.
#[test]
fn llama3_scaling_gives_the_logits_of_transformers() {
    check_family("llama3", "q8_0");
}

/// Biases on queries, keys and values; YaRN from a context of 48 on.
#[test]
fn qwen2_with_yarn_gives_the_logits_of_transformers() {
    check_family("qwen2", "q5_1");
}

#[test]
fn qwen3_gives_the_logits_of_transformers() {
    check_family("qwen3", "q4_0");
}

/// Delta nets with two value heads for each key head, whose order differs between folder and GGUF; attention whose queries
/// bring their gates, and rotate a quarter of their heads.
#[test]
fn qwen35_gives_the_logits_of_transformers() {
    check_family("qwen35", "q8_0");
}

/// The fourth layer has no rotary positions.
#[test]
fn smollm3_gives_the_logits_of_transformers() {
    check_family("smollm3", "q5_0");
}

/// A window of 16 in every layer.
#[test]
fn mistral_gives_the_logits_of_transformers() {
    check_family("mistral", "q8_0");
}

/// Vectors for each layer; layers that read the keys and values of others; heads of two sizes; norms of values.
#[test]
fn gemma4_gives_the_logits_of_transformers() {
    check_family("gemma4", "q8_0");
}

/// YaRN from a context of 32 on; queries grow after 32, 64 and 96 tokens.
#[test]
fn ministral3_gives_the_logits_of_transformers() {
    check_family("ministral3", "q8_0");
}

/// Queries, keys and values in one tensor, gates and what they gate in another; three quarters of each head are rotated, by
/// the long factors of LongRoPE.
#[test]
fn phi4_gives_the_logits_of_transformers() {
    check_family("phi4", "q8_0");
}

/// A context within the original one has the short factors.
#[test]
fn phi4_with_a_short_context_gives_the_logits_of_transformers() {
    check_family("phi4-short", "q4_0");
}

/// Factors of embeddings, scores, residuals and logits; biases everywhere.
#[test]
fn granite_gives_the_logits_of_transformers() {
    check_family("granite", "q5_0");
}

/// The same factors, other names of tensors, no rotary positions.
#[test]
fn granite4_gives_the_logits_of_transformers() {
    check_family("granite4", "q8_0");
}

/// Two files that differ from others of their families in having queries, keys and values in one tensor; one has biases.
#[test]
fn queries_keys_and_values_in_one_tensor_give_the_same_logits() {
    for name in ["llama3", "qwen2"] {
        check_exact(name, &format!("{name}-joined.gguf"));
    }
}

/// Three layers with windows of 16 reach 46 tokens back. What lies before has no effect, and its pages are not read.
#[test]
fn what_lies_before_all_windows_does_not_matter() {
    let model = load("mistral-f32.gguf");
    // The tokens before `place` are others, by a factor.
    let after = |place: u32, factor: u32, lengths: &[usize]| {
        let id = |at: u32| 20 + at * (if at < place { factor } else { 7 }) % 400;
        let ids: Vec<u32> = (0..560).map(id).collect();
        logits(&model, &ids, lengths).pop().unwrap().1
    };
    let whole = after(0, 7, &[560]);
    let difference = |other: Vec<f32>| whole.iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    for (factor, lengths) in [(5, &[560][..]), (7, &[1]), (3, &[100, 1, 159])] {
        let difference = difference(after(510, factor, lengths));
        assert!(difference < 1e-4, "{factor}, {lengths:?}: {difference}");
    }
    assert!(1e-3 < difference(after(520, 3, &[560])), "tokens inside of the windows matter");
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let whole = std::fs::read(fixture("lfm2-q4_0.gguf")).unwrap();
    for length in (0..whole.len()).step_by(4096) {
        assert!(Weights::from_bytes(whole[..length].to_vec().into()).is_err(), "cut at {length}");
    }
}
