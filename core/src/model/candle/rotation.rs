//! Rotary positions, with tensors.

use candle_core::{D, Device, Result as TensorResult, Tensor};

use crate::checkpoint::{Rope, RopePairing, RotaryPlaces};

/// The angles of all rows.
#[derive(Default)]
pub(crate) struct TensorAngles {
    /// Cosines and sines, each `(rows, 1, pairs)`.
    angles: Option<(Tensor, Tensor)>,
    /// Factors of the queries of each row, `(rows, 1)`.
    query_factors: Option<Tensor>,
}

impl TensorAngles {
    pub(super) fn new(rope: &Rope, places: &[RotaryPlaces], device: &Device) -> TensorResult<Self> {
        let places: Vec<[usize; 3]> = places.iter().flat_map(RotaryPlaces::iter).collect();
        let (mut cosines, mut sines) = (Vec::new(), Vec::new());
        places.iter().for_each(|places| rope.angles(*places, &mut cosines, &mut sines));
        let table = |values: Vec<f32>| Tensor::from_vec(values, (places.len(), 1, rope.n_pairs()), device);
        let factors = rope.query_growth.map(|growth| {
            let factors: Vec<f32> = places.iter().map(|places| growth.factor(places[0])).collect();
            Tensor::from_vec(factors, (places.len(), 1), device)
        });
        Ok(Self { angles: Some((table(cosines)?, table(sines)?)), query_factors: factors.transpose()? })
    }

    /// Angles of rows whose cosines and sines, each `(rows, n_pairs)`, are known.
    pub(super) fn from_values(
        (cosines, sines): (Vec<f32>, Vec<f32>),
        n_pairs: usize,
        device: &Device,
    ) -> TensorResult<Self> {
        let n_rows = cosines.len() / n_pairs.max(1);
        let table = |values: Vec<f32>| Tensor::from_vec(values, (n_rows, 1, n_pairs), device);
        Ok(Self { angles: Some((table(cosines)?, table(sines)?)), query_factors: None })
    }

    pub(super) fn query_factors(&self) -> TensorResult<&Tensor> {
        self.query_factors.as_ref().ok_or_else(|| candle_core::Error::msg("queries do not grow"))
    }
}

/// Heads, `(rows, heads, head_dim)`, whose first pairs are rotated.
pub(super) fn rotated(
    heads: &Tensor,
    (n_pairs, pairing): (usize, RopePairing),
    angles: &TensorAngles,
) -> TensorResult<Tensor> {
    let Some((cosines, sines)) = &angles.angles else { candle_core::bail!("angles are read before they are computed") };
    let (n_rows, n_heads, head_dim) = heads.dims3()?;
    let first = heads.narrow(2, 0, 2 * n_pairs)?;
    let (a, b) = match pairing {
        RopePairing::Halves => (first.narrow(2, 0, n_pairs)?, first.narrow(2, n_pairs, n_pairs)?),
        RopePairing::Neighbours => {
            let pairs = first.contiguous()?.reshape((n_rows, n_heads, n_pairs, 2))?;
            (pairs.narrow(3, 0, 1)?.squeeze(3)?, pairs.narrow(3, 1, 1)?.squeeze(3)?)
        }
    };
    let (x, y) = (
        (a.broadcast_mul(cosines)? - b.broadcast_mul(sines)?)?,
        (a.broadcast_mul(sines)? + b.broadcast_mul(cosines)?)?,
    );
    let first = match pairing {
        RopePairing::Halves => Tensor::cat(&[x, y], D::Minus1)?,
        RopePairing::Neighbours => Tensor::stack(&[x, y], 3)?.reshape((n_rows, n_heads, 2 * n_pairs))?,
    };
    match head_dim - 2 * n_pairs {
        0 => Ok(first),
        n_rest => Tensor::cat(&[first, heads.narrow(2, 2 * n_pairs, n_rest)?.contiguous()?], D::Minus1),
    }
}
