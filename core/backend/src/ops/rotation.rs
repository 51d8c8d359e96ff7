//! Rotary position embedding (RoPE): rotates pairs of elements of a head by angles that grow with the token's position.

/// Which elements of a head form a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// The first element of the first half with the first of the second half, and so on.
    Halves,
    /// The first element with the second, the third with the fourth, and so on.
    Neighbours,
}

/// Rotates the first elements of the heads of a row in place. `cosines` and `sines` have an element for each pair of these.
pub(crate) fn rotate(heads: &mut [f32], head_dim: usize, cosines: &[f32], sines: &[f32], pairing: Pairing) {
    for head in heads.chunks_exact_mut(head_dim) {
        let head = &mut head[..2 * cosines.len()];
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
