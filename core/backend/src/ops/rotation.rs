//! Rotary positions: pairs of numbers of a head turn by angles that grow with the token's place.

/// Which numbers of a head make a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// The first of the first half with the first of the second, and so on.
    Halves,
    /// Each with its neighbour.
    Neighbours,
}

/// Turns the heads of a row. Cosines and sines are one for each pair of a head.
pub(crate) fn rotate(heads: &mut [f32], cosines: &[f32], sines: &[f32], pairing: Pairing) {
    for head in heads.chunks_exact_mut(2 * cosines.len()) {
        match pairing {
            Pairing::Halves => {
                let (first, second) = head.split_at_mut(cosines.len());
                for (((a, b), cosine), sine) in first.iter_mut().zip(second).zip(cosines).zip(sines) {
                    (*a, *b) = (*a * cosine - *b * sine, *a * sine + *b * cosine);
                }
            }
            Pairing::Neighbours => {
                let (pairs, _) = head.as_chunks_mut::<2>();
                for (([a, b], cosine), sine) in pairs.iter_mut().zip(cosines).zip(sines) {
                    (*a, *b) = (*a * cosine - *b * sine, *a * sine + *b * cosine);
                }
            }
        }
    }
}
