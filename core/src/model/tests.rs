//! Our logits against those of transformers, recorded by `scripts/golden`.

use std::path::Path;

use serde::Deserialize;

use super::*;

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

fn load(name: &str) -> (Golden, Model) {
    let golden = std::fs::read(tests_folder().join("golden/logits").join(format!("{name}.json"))).unwrap();
    let golden: Golden = serde_json::from_slice(&golden).unwrap();
    let path = tests_folder().join("fixtures/models").join(&golden.model);
    let model = Model::load(&Weights::open(path.to_str().unwrap()).unwrap()).unwrap();
    (golden, model)
}

/// Reads the tokens in stretches of the lengths given, over and over, and returns the logits at the end of each.
fn logits(model: &Model, ids: &[u32], lengths: &[usize]) -> Vec<(usize, Vec<f32>)> {
    let (mut state, mut rest, mut found) = (model.start(), ids, Vec::new());
    for length in lengths.iter().cycle() {
        let (now, later) = rest.split_at(rest.len().min(*length));
        let logits = model.forward(now, &mut state).unwrap();
        found.push((state.n_tokens() - 1, logits));
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

fn greedy(model: &Model, golden: &Golden, prompt_stretch: usize) -> Vec<u32> {
    let mut state = model.start();
    let mut last = Vec::new();
    for stretch in golden.prompt.chunks(prompt_stretch) {
        last = model.forward(stretch, &mut state).unwrap();
    }
    let mut reply = vec![best(&last)];
    while reply.len() < golden.greedy.len() {
        let token = reply[reply.len() - 1];
        reply.push(best(&model.forward(&[token], &mut state).unwrap()));
    }
    reply
}

/// The largest difference of any logit, over the recorded rows that stretches of these lengths end at.
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
    assert!(0 < n_compared, "some recorded row is reached");
    largest
}

/// Unquantised files: the same arithmetic in another order, so 1e-4 is ten times what rounding makes of it.
#[track_caller]
fn check_exact(name: &str) {
    let (golden, model) = load(name);
    let n_ids = golden.prompt.len() + golden.greedy.len();
    for lengths in [&[n_ids][..], &[1], &[7, 1, 13, 2], &[golden.prompt.len(), 1]] {
        let difference = largest_difference(&golden, &model, lengths);
        println!("{name}, stretches {lengths:?}: {difference:.2e}");
        assert!(difference <= 1e-4, "{name}, stretches {lengths:?}: {difference}");
    }
    for stretch in [golden.prompt.len(), 1, 5] {
        assert_eq!(greedy(&model, &golden, stretch), golden.greedy, "{name}, stretches of {stretch}");
    }
}

/// Quantised files: candle rounds activations to 8 bits for the products, the reference does not. The bound is on the
/// divergence of the distributions (Kullback-Leibler, nats), which that rounding moves by some thousandths.
#[track_caller]
fn check_quantised(name: &str) {
    let (golden, model) = load(name);
    let ids: Vec<u32> = golden.prompt.iter().chain(&golden.greedy).copied().collect();
    let found = logits(&model, &ids, &[1]);
    for row in &golden.rows {
        let divergence = divergence(&row.logits, &found[row.position].1);
        println!("{name}, position {}: {divergence:.2e}", row.position);
        assert!(divergence < 0.02, "{name}, position {}: {divergence}", row.position);
    }
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
fn gguf_f32_gives_the_logits_of_transformers() {
    check_exact("lfm2-f32");
}

#[test]
fn gguf_f16_gives_the_logits_of_transformers() {
    check_exact("lfm2-f16");
}

#[test]
fn gguf_bf16_gives_the_logits_of_transformers() {
    check_exact("lfm2-bf16");
}

#[test]
fn safetensors_give_the_logits_of_transformers() {
    check_exact("lfm2-hf");
}

#[test]
fn sharded_untied_bf16_safetensors_give_the_logits_of_transformers() {
    check_exact("lfm2-hf-sharded");
}

#[test]
fn quantised_files_stay_near_their_dequantised_weights() {
    for name in ["lfm2-q8_0", "lfm2-q4_0", "lfm2-q4_k", "lfm2-q5_k", "lfm2-q6_k"] {
        check_quantised(name);
    }
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let whole = std::fs::read(tests_folder().join("fixtures/models/lfm2-q4_0.gguf")).unwrap();
    for length in (0..whole.len()).step_by(4096) {
        assert!(Weights::from_bytes(whole[..length].to_vec().into()).is_err(), "cut at {length}");
    }
}
