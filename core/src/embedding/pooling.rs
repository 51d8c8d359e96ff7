//! From the rows of a text to its vector.

use crate::checkpoint::Pooling;
use crate::model::WantedRows;

/// The rows that pooling needs.
pub(super) fn wanted(pooling: Pooling) -> WantedRows {
    match pooling {
        Pooling::Mean | Pooling::Rows => WantedRows::All,
        Pooling::First => WantedRows::First,
        Pooling::Last => WantedRows::Last,
    }
}

/// The vector of a text from the rows that it needs; with [`Pooling::Rows`], all of them. The first `n_left_out` rows do not count in
/// the mean.
pub(super) fn pooled(pooling: Pooling, rows: Vec<f32>, width: usize, n_left_out: usize) -> Vec<f32> {
    if pooling != Pooling::Mean {
        return rows;
    }
    let n_rows = rows.len() / width;
    // A text of nothing but its prompt has the mean of all rows.
    let first = if n_left_out < n_rows { n_left_out } else { 0 };
    let mut sums = vec![0.0f64; width];
    for row in rows.chunks_exact(width).skip(first) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    sums.into_iter().map(|sum| (sum / (n_rows - first) as f64) as f32).collect() // the mean of values of that type
}
