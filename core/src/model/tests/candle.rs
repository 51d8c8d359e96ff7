//! The network with candle's tensors, on its CPU device.

use candle_core::{Device, Tensor};

use super::same_bits::{bits, decoder, ids, step, with_rows};
use super::*;
use crate::model::candle::Candle;
use crate::model::pass::DecoderNetwork;

fn compute() -> Compute {
    Compute::Candle(Device::Cpu)
}

#[test]
fn the_reference_gives_the_logits_of_several_tokens() {
    let (native, candle) = (load("lfm2-f32.gguf"), load_with("lfm2-f32.gguf", compute()));
    let rows = |model: &Model| {
        let mut logits = Vec::new();
        let mut state = model.start().unwrap();
        let outcomes = model.forward(&mut [step(&ids(20, 8), &mut state, &mut logits, 4)]);
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(ForwardOutcome::Done))));
        logits
    };
    let (ours, theirs) = (rows(&native), rows(&candle));
    assert_eq!((ours.len(), theirs.len()), (4 * native.n_vocabulary(), 4 * native.n_vocabulary()));
    // The same arithmetic in another order.
    assert!(ours.iter().zip(&theirs).all(|(ours, theirs)| (ours - theirs).abs() <= 1e-4));
}

#[test]
fn rows_of_the_embedding_give_the_bits_of_their_tokens() {
    for file in ["lfm2-f32.gguf", "lfm2-q4_0.gguf"] {
        let decoder = decoder(file, Candle { device: Device::Cpu });
        let all = Tensor::new((0..200).collect::<Vec<u32>>(), &Device::Cpu).unwrap();
        let embeddings: Vec<Vec<f32>> = decoder.embedding.weight.embedding(&all).unwrap().to_vec2().unwrap();
        let embedding = |ids: &[u32]| ids.iter().flat_map(|id| embeddings[*id as usize].clone()).collect();
        let rows = with_rows(&DecoderNetwork::new(decoder), &ids(97, 3), embedding);
        let model = load_with(file, compute());
        let expect: Vec<_> = logits(&model, &ids(97, 3), &[17]).iter().map(|(_, logits)| bits(logits)).collect();
        assert_eq!(rows, expect, "{file}");
    }
}
