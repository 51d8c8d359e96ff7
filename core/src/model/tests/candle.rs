//! The network with candle's tensors, on its CPU device.

use candle_core::{Device, Tensor};

use super::same_bits::{bits, decoder, ids, step, with_rows};
use super::*;
use crate::model::candle::Candle;

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
        let embedding = |ids: &[u32]| {
            let ids = Tensor::new(ids, &Device::Cpu).unwrap();
            decoder.embedding.embedding(&ids).unwrap().flatten_all().unwrap().to_vec1().unwrap()
        };
        let rows = with_rows(&decoder, &ids(97, 3), embedding);
        let model = load_with(file, compute());
        let expect: Vec<_> = logits(&model, &ids(97, 3), &[17]).iter().map(|(_, logits)| bits(logits)).collect();
        assert_eq!(rows, expect, "{file}");
    }
}

#[test]
fn families_of_the_cpu_alone_are_refused() {
    let weights = Weights::open(fixture("lfm3-f32.gguf").to_str().unwrap()).unwrap();
    let err =
        Model::load(&weights, compute(), CONTEXT, &mut |_| ControlFlow::Continue(())).err().expect("it is refused");
    assert_eq!(err.kind(), ErrorKind::InvalidOption("device"));
    assert!(err.to_string().contains("does not support architecture \"lfm3\""), "{err}");
}
