//! Inputs of products: rows of floats and, for quantised weights, the same rows quantised.

use crate::pool::Pool;
use crate::simd::round;

/// Values of a row that share a scale, as many as in a group of quantised weights.
pub(crate) const GROUP: usize = 32;
/// Rows that one thread takes at a time, and rows of a high band.
pub(crate) const BAND: usize = 16;

/// Rows of inputs, `(rows, columns)`, in a buffer that is reused.
#[derive(Default)]
pub struct Activations {
    pub(crate) n_rows: usize,
    pub(crate) n_columns: usize,
    pub(crate) floats: Vec<f32>,
    pub(crate) is_quantised: bool,
    pub(crate) quantised: Quantised,
}

/// Quantised rows. Each group of 32 values has the scale `largest / 127`, where `largest` is the group's largest magnitude;
/// values are divided by the scale and rounded to the nearest integer, ties to even. A NaN in a group makes its scale NaN.
///
/// Rows are stored in bands of one or sixteen rows, as the processor's kernels require. A band holds the first groups of all
/// its rows, then all second groups, and so on.
#[derive(Default)]
pub(crate) struct Quantised {
    pub(crate) n_rows: usize,
    pub(crate) n_groups: usize,
    /// Rows of a band, one or sixteen.
    pub(crate) height: usize,
    pub(crate) values: Vec<[i8; GROUP]>,
    pub(crate) scales: Vec<f32>,
    /// Sums of the values in each half of a group.
    pub(crate) sums: Vec<[i32; 2]>,
    /// The group's scale times the sum of its values, to multiply with the minimum of a group of weights.
    pub(crate) scaled_sums: Vec<f32>,
}

impl Quantised {
    /// Index of a group of a row.
    #[inline(always)]
    pub(crate) fn at(&self, row: usize, group: usize) -> usize {
        group_index(self.height, self.n_groups, row, group)
    }

    fn resize(&mut self, n_rows: usize, n_columns: usize, height: usize) {
        debug_assert!(height.is_power_of_two());
        (self.n_rows, self.n_groups, self.height) = (n_rows, n_columns / GROUP, height);
        let n = n_rows.next_multiple_of(height) * self.n_groups;
        self.values.resize(n, [0; GROUP]);
        self.scales.resize(n, 0.0);
        self.sums.resize(n, [0; 2]);
        self.scaled_sums.resize(n, 0.0);
    }
}

/// Elements from one row of floats to the next: an odd number of cache lines, because rows whose distance is a multiple of the
/// page size evict each other from the first-level cache.
fn stride(n_columns: usize) -> usize {
    (n_columns.div_ceil(16) | 1) * 16
}

#[inline(always)]
fn group_index(height: usize, n_groups: usize, row: usize, group: usize) -> usize {
    // Kernels call this for every group, and a division would take longer than the group's products.
    let shift = height.trailing_zeros();
    (((row >> shift) * n_groups + group) << shift) + (row & (height - 1))
}

/// Up to sixteen rows, filled by one thread.
pub(crate) struct Band<'a> {
    first_row: usize,
    floats: &'a mut [f32],
    quantised: Option<QuantisedBand<'a>>,
}

/// The quantised rows of a [`Band`].
pub(crate) struct QuantisedBand<'a> {
    height: usize,
    n_groups: usize,
    values: &'a mut [[i8; GROUP]],
    scales: &'a mut [f32],
    sums: &'a mut [[i32; 2]],
    scaled_sums: &'a mut [f32],
}

/// Quantises rows with a processor's instructions. All give the same values as [`QuantisedGroup::new`].
pub(crate) trait Quantiser: Sync {
    /// Rows of a band, for activations of `n_rows` rows: one or sixteen.
    fn band_height(&self, n_rows: usize) -> usize;

    /// Quantises a row of a band.
    fn quantise(&self, x: &[f32], to: &mut QuantisedBand<'_>, row: usize);
}

impl Activations {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Returns a row as floats.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.floats[row * stride(self.n_columns)..][..self.n_columns]
    }

    /// Fills the rows. `write` receives the index of a row and the row; several threads call it. With `quantises`, rows are
    /// also quantised; the number of columns must then be a multiple of 32.
    pub(crate) fn fill(
        &mut self,
        (quantiser, pool): (&impl Quantiser, &Pool),
        (n_rows, n_columns): (usize, usize),
        quantises: bool,
        write: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        (self.n_rows, self.n_columns, self.is_quantised) = (n_rows, n_columns, quantises);
        self.floats.resize(n_rows * stride(n_columns), 0.0);
        if quantises {
            assert!(n_columns.is_multiple_of(GROUP), "columns must be a multiple of {GROUP}, found {n_columns}");
            self.quantised.resize(n_rows, n_columns, quantiser.band_height(n_rows));
        }
        let fill = |mut band: Band<'_>| {
            for (at, floats) in band.floats.chunks_exact_mut(stride(n_columns)).enumerate() {
                let floats = &mut floats[..n_columns];
                write(band.first_row + at, floats);
                if let Some(quantised) = &mut band.quantised {
                    quantiser.quantise(floats, quantised, at);
                }
            }
        };
        match n_rows {
            0 => {}
            1..=BAND => fill(self.bands(quantises).next().unwrap_or_else(|| unreachable!("there is a row"))),
            _ => pool.for_each(self.bands(quantises).collect(), fill),
        }
    }

    fn bands(&mut self, quantises: bool) -> impl Iterator<Item = Band<'_>> {
        let n_columns = self.n_columns;
        let Quantised { n_groups, height, values, scales, sums, scaled_sums, .. } = &mut self.quantised;
        let (n_groups, height) = (*n_groups, *height);
        let n = BAND * n_groups.max(1);
        let mut parts =
            values.chunks_mut(n).zip(scales.chunks_mut(n)).zip(sums.chunks_mut(n)).zip(scaled_sums.chunks_mut(n));
        self.floats.chunks_mut(BAND * stride(n_columns)).enumerate().map(move |(at, floats)| {
            let parts = if quantises { parts.next() } else { None };
            let quantised = parts.map(|(((values, scales), sums), scaled_sums)| QuantisedBand {
                height,
                n_groups,
                values,
                scales,
                sums,
                scaled_sums,
            });
            Band { first_row: at * BAND, floats, quantised }
        })
    }
}

/// The factor that scales the largest magnitude to 127; 0 if it is not finite.
pub(crate) fn inverse(largest: f32) -> f32 {
    let inverse = 127.0 / largest;
    if inverse.is_finite() { inverse } else { 0.0 }
}

/// A quantised group.
pub(crate) struct QuantisedGroup {
    pub(crate) values: [i8; GROUP],
    pub(crate) scale: f32,
    pub(crate) sums: [i32; 2],
}

impl QuantisedGroup {
    /// Quantises a group. This is the definition, which all processors reproduce to the bit.
    pub(crate) fn new(x: &[f32; GROUP]) -> Self {
        // The bits of magnitudes, as integers, have the order of the magnitudes; infinity and NaN are the largest.
        let largest = x.iter().map(|x| x.to_bits() & !(1 << 31)).max().unwrap_or_default();
        let largest = f32::from_bits(largest);
        let inverse = inverse(largest);
        let values = x.map(|x| round(x * inverse) as i8);
        let sum = |half: &[i8]| half.iter().map(|value| i32::from(*value)).sum();
        let (first, second) = values.split_at(GROUP / 2);
        Self { values, scale: largest / 127.0, sums: [sum(first), sum(second)] }
    }
}

impl QuantisedBand<'_> {
    /// Quantises a row of the band, group by group.
    #[inline(always)]
    pub(crate) fn set_row(&mut self, row: usize, x: &[f32], quantise: impl Fn(&[f32; GROUP]) -> QuantisedGroup) {
        let (groups, _) = x.as_chunks::<GROUP>();
        for (at, x) in groups.iter().enumerate() {
            let group = quantise(x);
            let at = group_index(self.height, self.n_groups, row, at);
            self.values[at] = group.values;
            self.scales[at] = group.scale;
            self.sums[at] = group.sums;
            self.scaled_sums[at] = group.scale * (group.sums[0] + group.sums[1]) as f32;
        }
    }
}
