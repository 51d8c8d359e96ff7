//! Cached states and embedded content: a state is never cut inside of it.

use super::*;
use crate::model::Inputs;
use crate::position::ContentDigest;

#[test]
fn a_cached_state_is_cut_before_or_after_an_image_never_inside() {
    let engine = engine_of("qwen3", true);
    let loaded = engine.loaded().unwrap();
    let model = &loaded.model;
    let (tokens, rows) = ([20, 21, 22], vec![0.1; 5 * model.hidden_size()]);
    let (mut state, mut logits) = (model.start().unwrap(), Vec::new());
    for inputs in [Inputs::Tokens(&tokens), Inputs::Rows { rows: &rows, n_rows: 5 }, Inputs::Tokens(&tokens[..2])] {
        model.forward_one(inputs, &mut *state, &mut logits).unwrap();
    }
    let digest = ContentDigest::from_parts(&[b"image"]);
    let image = (0..5).map(|row| Position::Embedded { digest, row });
    let positions: Vec<Position> =
        tokens.map(Position::Token).into_iter().chain(image).chain(tokens.map(Position::Token)).collect();
    let mut cache = PrefixCache::new(1 << 20, 8);
    cache.keep(&positions[..10], state, Owner::default());
    let mut found = |prompt: &[Position]| cache.find(prompt, Owner::default()).map_or(0, |state| state.n_positions());
    let lengths: Vec<usize> = (1..=positions.len()).map(|length| found(&positions[..length])).collect();
    // Never the whole prompt, whose last position is computed for its logits.
    assert_eq!(lengths, [0, 1, 2, 3, 3, 3, 3, 3, 8, 9, 10]);
    let mut other = positions.clone();
    other[5] = Position::Token(23);
    assert_eq!(found(&other), 3);
}
