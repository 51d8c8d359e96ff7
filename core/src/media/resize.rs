//! Resizing with antialiasing: where a side shrinks, each result is a weighted mean over all that it covers.

use crate::media::decode::Picture;

/// How much the inputs near the centre of an output count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResizeFilter {
    /// A triangle.
    Bilinear,
    /// Keys' cubic with a = -1/2, which makes edges sharper.
    Bicubic,
}

/// The inputs along one axis that one output is the weighted mean of.
pub(crate) struct AxisWeights {
    /// The first input.
    pub(crate) first: usize,
    /// The weights of the inputs from the first on; their sum is 1.
    pub(crate) weights: Vec<f32>,
}

impl ResizeFilter {
    /// The distance from which on inputs have no weight.
    fn radius(self) -> f64 {
        match self {
            Self::Bilinear => 1.0,
            Self::Bicubic => 2.0,
        }
    }

    /// The weight at a distance, which is at most the radius.
    fn weight(self, distance: f64) -> f64 {
        match self {
            Self::Bilinear => (1.0 - distance).max(0.0),
            Self::Bicubic if distance < 1.0 => (1.5 * distance - 2.5) * distance * distance + 1.0,
            Self::Bicubic if distance < 2.0 => ((-0.5 * distance + 2.5) * distance - 4.0) * distance + 2.0,
            Self::Bicubic => 0.0,
        }
    }

    /// The weights of each output along an axis: the filter around its centre, at least as wide as for an input. These are
    /// Pillow's `BILINEAR` and `BICUBIC`, and torch's antialiased ones without aligned corners.
    pub(crate) fn weights(self, n_inputs: usize, n_outputs: usize) -> Vec<AxisWeights> {
        let scale = n_inputs as f64 / n_outputs as f64;
        let stretch = scale.max(1.0);
        let support = self.radius() * stretch;
        let of_output = |output: usize| {
            let center = scale * (output as f64 + 0.5);
            let first = (center - support + 0.5).max(0.0) as usize; // rounded down
            let end = n_inputs.min((center + support + 0.5) as usize).max(first + 1);
            let weight = |input: usize| self.weight((input as f64 - center + 0.5).abs() / stretch);
            let sum: f64 = (first..end).map(weight).sum();
            AxisWeights { first, weights: (first..end).map(|input| (weight(input) / sum) as f32).collect() }
        };
        (0..n_outputs).map(of_output).collect()
    }
}

impl Picture {
    /// The picture in another size. Values are rounded after each axis, as the references do.
    pub(crate) fn resized(&self, width: usize, height: usize, filter: ResizeFilter) -> Self {
        let mut rows = Vec::with_capacity(3 * width * self.height);
        let columns = filter.weights(self.width, width);
        for row in self.pixels.chunks_exact(3 * self.width) {
            for AxisWeights { first, weights } in &columns {
                let mut sums = [0f32; 3];
                for (pixel, weight) in row[3 * first..].chunks_exact(3).zip(weights) {
                    sums.iter_mut().zip(pixel).for_each(|(sum, value)| *sum += f32::from(*value) * weight);
                }
                rows.extend(sums.map(level));
            }
        }
        let mut pixels = Vec::with_capacity(3 * width * height);
        let mut sums = vec![0f32; 3 * width];
        for AxisWeights { first, weights } in filter.weights(self.height, height) {
            sums.fill(0.0);
            for (row, weight) in rows[3 * width * first..].chunks_exact(3 * width).zip(weights) {
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += f32::from(*value) * weight);
            }
            pixels.extend(sums.iter().copied().map(level));
        }
        Self { width, height, pixels }
    }

    /// A part of the picture.
    pub(crate) fn part(&self, (left, top): (usize, usize), (width, height): (usize, usize)) -> Self {
        let rows = self.pixels.chunks_exact(3 * self.width).skip(top).take(height);
        let pixels = rows.flat_map(|row| &row[3 * left..3 * (left + width)]).copied().collect();
        Self { width, height, pixels }
    }
}

/// The nearest of 256 levels.
fn level(value: f32) -> u8 {
    value.round() as u8 // values beyond the levels become the first and the last one
}
