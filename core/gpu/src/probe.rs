//! What a device's arithmetic has in common with the CPU's. Where something differs, a reply is the same on this device each time, but
//! not the same as on the CPU.

/// Rows of numbers that are tried: a workgroup of the kernel takes 64.
pub(crate) const ROWS: usize = 1024;
/// Results of a row.
pub(crate) const RESULTS: usize = 8;

/// What was found when the device was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArithmeticReport {
    /// Whether `fma` rounds once.
    pub fuses: bool,
    /// Whether a product and a sum that are written apart are rounded apart.
    pub keeps_apart: bool,
    /// Whether such are rounded apart where the compiler cannot see that they belong together.
    pub keeps_hidden_apart: bool,
    /// Whether sums keep their order.
    pub keeps_order: bool,
    /// Whether our division has the CPU's bits.
    pub divides_exactly: bool,
    /// Whether our root has the CPU's bits.
    pub roots_exactly: bool,
    /// Whether numbers below 1.2e-38 stay; no operation of a model needs them.
    pub keeps_denormals: bool,
}

impl ArithmeticReport {
    /// Judges the results of all rows of [`numbers`].
    pub(crate) fn from_results(numbers: &[[f32; 4]], results: &[f32]) -> Self {
        let (rows, _) = results.as_chunks::<RESULTS>();
        let all =
            |is_same: fn(&[f32; 4], &[f32; RESULTS]) -> bool| numbers.iter().zip(rows).all(|(x, y)| is_same(x, y));
        Self {
            fuses: all(|[a, b, c, _], y| y[0] == a.mul_add(*b, *c)),
            keeps_apart: all(|[a, b, c, _], y| y[1] == a * b + c),
            keeps_hidden_apart: all(|[a, b, c, _], y| y[7] == a * b + c),
            keeps_order: all(|[a, b, c, _], y| y[2] == (a + b) + c),
            divides_exactly: all(|[a, b, ..], y| y[3] == a / b),
            roots_exactly: all(|[a, ..], y| y[4] == 1.0 / a.abs().sqrt()),
            keeps_denormals: all(|[.., d], y| y[5] == d * 0.5),
        }
    }

    /// What differs from the CPU, in words; empty if nothing does.
    pub fn differences(&self, can_widen: bool) -> Vec<&'static str> {
        let all = [
            (self.fuses || can_widen, "fma rounds twice"),
            (self.keeps_hidden_apart, "products and sums are fused"),
            (self.keeps_order, "sums are reordered"),
            (self.divides_exactly, "quotients differ"),
            (self.roots_exactly, "roots differ"),
        ];
        all.into_iter().filter(|(is_same, _)| !is_same).map(|(_, text)| text).collect()
    }
}

/// Numbers of about the size of a model's values, and one below the normal range.
pub(crate) fn numbers() -> Vec<[f32; 4]> {
    let mut random = causerie_backend::SplitMix64::new(7);
    let mut next = || {
        let bits = random.next_u64();
        let exponent = (bits >> 40) as i32 % 24 - 12;
        let mantissa = 1.0 + (bits & 0x7f_ffff) as f32 / 8_388_608.0;
        let value = mantissa * (exponent as f32).exp2();
        if bits >> 63 == 1 { -value } else { value }
    };
    (0..ROWS).map(|_| [next(), next(), next(), 2.0e-38]).collect()
}
