//! A small random number generator.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): the same numbers from the same
/// seed on every platform. It is not cryptographic: a few outputs reveal all others.
///
/// ```
/// use causerie_backend::SplitMix64;
///
/// let mut random = SplitMix64::new(0);
/// assert_eq!(random.next_u64(), 0xE220_A839_7B1D_CDAF);
/// assert!((0.0..1.0).contains(&random.unit()));
/// ```
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// Starts the sequence of a seed; every seed is valid.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number that is uniformly distributed in 0.0..1.0.
    pub const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64 // 53 bits are exact in f64
    }
}

#[cfg(test)]
impl SplitMix64 {
    /// Returns a number from -1 to 1.
    pub(crate) fn float(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    pub(crate) fn floats(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.float()).collect()
    }
}

/// Whether both have the same bits.
#[cfg(test)]
pub(crate) fn same(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}
