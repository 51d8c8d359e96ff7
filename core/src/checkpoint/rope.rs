//! Rotary position embeddings: each pair of values of a head is rotated by an angle that grows with the position.

use std::f64::consts::PI;
use std::ops::Range;

use crate::checkpoint::invalid::invalid;
use crate::error::Result;
use crate::weights::Tensors;

/// GGUF files of Llama 3 hold the divisors of the frequencies instead of the settings that they follow from.
pub(crate) const DIVISORS: &str = "rope_freqs.weight";

/// The largest setting: the bases of known models are at most 1e11.
const MAX_SETTING: f64 = 1e15;
/// The divisor of pairs that do not rotate.
const NEVER: f32 = 1e30;

/// How fast the pairs rotate, as the files describe it.
#[derive(Clone, Debug)]
pub(crate) struct RopeSettings {
    pub(crate) theta: f32,
    pub(crate) scaling: RopeScaling,
    /// Elements of each head that are rotated, the first ones; `None` for all.
    pub(crate) n_rotated: Option<usize>,
    pub(crate) query_growth: Option<QueryGrowth>,
    /// How many pairs count positions of images by time, by row and by column, interleaved; `None` if all count by time.
    pub(crate) sections: Option<[usize; 3]>,
}

/// Queries grow with their position, so that attention stays sharp in long contexts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QueryGrowth {
    pub(crate) beta: f32,
    pub(crate) original_context: usize,
}

impl QueryGrowth {
    /// The factor of queries at a position: `1 + beta * ln(1 + floor(position / original_context))`.
    pub(crate) fn factor(&self, position: usize) -> f32 {
        1.0 + self.beta * (1.0 + (position / self.original_context) as f32).ln() // exact: positions stay below 2^24
    }
}

/// How the positions that a model was first trained on are scaled to a longer context.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RopeScaling {
    None,
    /// All pairs rotate slower.
    Linear {
        factor: f64,
    },
    /// The fastest pairs rotate slower by a factor, the others do not rotate.
    Proportional {
        share: f64,
        factor: f64,
    },
    /// Slow pairs rotate slower, fast ones do not, and those in between in part.
    Llama3 {
        factor: f64,
        low: f64,
        high: f64,
        original_context: usize,
    },
    /// The same with other bounds; queries and keys are also multiplied by a factor.
    Yarn(Yarn),
    /// Each pair rotates slower by a factor of its own.
    Long(LongRope),
}

/// LongRoPE: factors that were found by a search, and others for contexts that are longer than the original one. Queries and
/// keys are also multiplied by a factor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LongRope {
    pub(crate) short: Vec<f32>,
    pub(crate) long: Vec<f32>,
    pub(crate) original_context: usize,
    pub(crate) attention_factor: f64,
    /// Positions that a sequence may have. They choose the factors for all positions: keys that were rotated by one kind do
    /// not match queries that were rotated by the other.
    pub(crate) context_size: usize,
}

impl LongRope {
    fn divisors(&self) -> &[f32] {
        if self.original_context < self.context_size { &self.long } else { &self.short }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Yarn {
    pub(crate) factor: f64,
    pub(crate) original_context: usize,
    pub(crate) attention_factor: f64,
    /// Rotations within the original context from which a pair keeps its speed.
    pub(crate) beta_fast: f64,
    /// Rotations within the original context below which a pair is slowed by the whole factor.
    pub(crate) beta_slow: f64,
    /// Whether the bounds are rounded to whole pairs.
    pub(crate) truncate: bool,
}

/// The factor that LongRoPE recommends for queries and keys, each, for a context that is longer by `factor`.
pub(crate) fn long_attention_factor(factor: f64, original_context: usize) -> f64 {
    if factor <= 1.0 { 1.0 } else { (1.0 + factor.ln() / (original_context as f64).ln()).sqrt() }
}

/// The factor that YaRN recommends for queries and keys, each.
pub(crate) fn yarn_attention_factor(factor: f64, multiplier: f64) -> f64 {
    if factor <= 1.0 { 1.0 } else { 0.1 * multiplier * factor.ln() + 1.0 }
}

impl RopeSettings {
    /// Limits the positions of a sequence.
    pub(crate) fn limit_context(&mut self, context_size: usize) {
        if let RopeScaling::Long(long) = &mut self.scaling {
            long.context_size = context_size;
        }
    }

    /// Refuses values that cannot be computed with.
    pub(crate) fn check(&self) -> Result<()> {
        let is_valid = |value: f64| 0.0 < value && value <= MAX_SETTING;
        let values = match &self.scaling {
            RopeScaling::None => vec![],
            RopeScaling::Linear { factor } => vec![*factor],
            RopeScaling::Proportional { share, factor } => vec![*share, *factor],
            RopeScaling::Llama3 { factor, low, high, original_context } => {
                vec![*factor, *low, high - low, *original_context as f64]
            }
            RopeScaling::Yarn(yarn) => vec![
                yarn.factor,
                yarn.original_context as f64,
                yarn.attention_factor,
                yarn.beta_fast,
                yarn.beta_slow,
                f64::from(self.theta) - 1.0, // its logarithm divides
            ],
            RopeScaling::Long(long) => {
                let factors = [&long.short, &long.long].into_iter().flatten().map(|factor| f64::from(*factor));
                factors.chain([long.original_context as f64, long.attention_factor]).collect()
            }
        };
        let growth = self.query_growth.map(|growth| [growth.beta.into(), growth.original_context as f64]);
        let is_valid =
            is_valid(self.theta.into()) && values.into_iter().chain(growth.into_iter().flatten()).all(is_valid);
        if is_valid {
            Ok(())
        } else {
            Err(invalid(format!(
                "settings of rotary positions must be above 0 and at most {MAX_SETTING:e}, found {self:?}"
            )))
        }
    }
}

/// The rotary positions of some rows of a sequence. Each is a place in time, by row and by column; all three are the same for
/// tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RotaryPlaces {
    /// Rows one after the other.
    Line(Range<usize>),
    /// Cells of an image's grid, whose first one is at `start`.
    Grid { start: usize, cells: Range<usize>, n_columns: usize },
}

impl RotaryPlaces {
    /// The places of the last rows.
    pub(crate) fn last(&self, n_rows: usize) -> Self {
        let last = |rows: &Range<usize>| rows.end - n_rows.min(rows.len())..rows.end;
        match self {
            Self::Line(rows) => Self::Line(last(rows)),
            Self::Grid { start, cells, n_columns } => {
                Self::Grid { start: *start, cells: last(cells), n_columns: *n_columns }
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = [usize; 3]> {
        let (rows, grid) = match self {
            Self::Line(rows) => (rows.clone(), None),
            Self::Grid { start, cells, n_columns } => (cells.clone(), Some((*start, *n_columns))),
        };
        rows.map(move |at| match grid {
            Some((start, n_columns)) => [start, start + at / n_columns, start + at % n_columns],
            None => [at; 3],
        })
    }
}

/// Which values of a head make a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RopePairing {
    /// The values at the same place of both halves.
    Halves,
    /// Neighbours.
    Neighbours,
}

/// The rotary positions of one layer.
#[derive(PartialEq)]
pub(crate) struct Rope {
    /// The angle of each pair per position, in radians: `(n_rotated / 2)`.
    frequencies: Vec<f32>,
    /// Which place of a row each pair counts.
    axes: Vec<usize>,
    attention_factor: f32,
    pub(crate) pairing: RopePairing,
    pub(crate) query_growth: Option<QueryGrowth>,
}

impl Rope {
    /// `divisors` of the frequencies, one for each pair.
    pub(crate) fn new(
        settings: &RopeSettings,
        divisors: Option<Vec<f32>>,
        pairing: RopePairing,
        head_dim: usize,
    ) -> Result<Self> {
        let n_rotated = settings.n_rotated.unwrap_or(head_dim);
        if !n_rotated.is_multiple_of(2) || !(1..=head_dim).contains(&n_rotated) {
            return Err(invalid(format!(
                "the rotated elements of a head of {head_dim} must be pairs of these, found {n_rotated}"
            )));
        }
        if let RopeScaling::Long(long) = &settings.scaling
            && long.divisors().len() != n_rotated / 2
        {
            let (n_pairs, found) = (n_rotated / 2, long.divisors().len());
            return Err(invalid(format!("LongRoPE must have a factor for each of {n_pairs} pairs, found {found}")));
        }
        let mut frequencies = frequencies(settings, n_rotated);
        if let Some(divisors) = divisors {
            if divisors.len() != frequencies.len() {
                let (n_pairs, found) = (frequencies.len(), divisors.len());
                return Err(invalid(format!("tensor {DIVISORS} must have {n_pairs} values, found {found}")));
            }
            frequencies.iter_mut().zip(divisors).for_each(|(frequency, divisor)| *frequency /= divisor);
        }
        let attention_factor = match &settings.scaling {
            // In the tensors' own precision.
            RopeScaling::Yarn(Yarn { attention_factor, .. }) | RopeScaling::Long(LongRope { attention_factor, .. }) => {
                *attention_factor as f32
            }
            _ => 1.0,
        };
        let axes = (0..frequencies.len()).map(|pair| axis(pair, settings.sections)).collect();
        Ok(Self { frequencies, axes, attention_factor, pairing, query_growth: settings.query_growth })
    }

    /// Pairs of each head that are rotated.
    pub(crate) fn n_pairs(&self) -> usize {
        self.frequencies.len()
    }

    /// Appends the cosines and sines of a row's angles, one for each pair.
    pub(crate) fn angles(&self, places: [usize; 3], cosines: &mut Vec<f32>, sines: &mut Vec<f32>) {
        for (frequency, axis) in self.frequencies.iter().zip(&self.axes) {
            let angle = places[*axis] as f32 * frequency; // exact: positions stay below 2^24
            cosines.push(angle.cos() * self.attention_factor);
            sines.push(angle.sin() * self.attention_factor);
        }
    }
}

/// Which place of a row a pair counts: pairs of the three axes take turns, as far as an axis has pairs, and the rest counts time.
fn axis(pair: usize, sections: Option<[usize; 3]>) -> usize {
    match (sections, pair % 3) {
        (Some(sections), axis @ 1..) if pair / 3 < sections[axis] => axis,
        _ => 0,
    }
}

/// The divisors of the frequencies that files have in place of settings, if they do.
pub(crate) fn divisors(settings: &RopeSettings, tensors: &Tensors, are_needed: bool) -> Result<Option<Vec<f32>>> {
    // The divisors that follow from these settings are in the settings already.
    if let RopeScaling::Llama3 { .. } | RopeScaling::Proportional { .. } = settings.scaling {
        return Ok(None);
    }
    let Some(shape) = tensors.shape(DIVISORS) else {
        return if are_needed { Err(tensors.missing(DIVISORS)) } else { Ok(None) };
    };
    let divisors = tensors.floats(DIVISORS, shape)?;
    match divisors.iter().all(|divisor| divisor.is_finite() && 0.0 < *divisor) {
        true => Ok(Some(divisors)),
        false => Err(invalid(format!("tensor {DIVISORS} must hold finite values above 0"))),
    }
}

/// In f32 and in this order, as in the implementations that models are trained with: every bit counts at far positions.
fn frequencies(settings: &RopeSettings, n_rotated: usize) -> Vec<f32> {
    let powers = (0..n_rotated).step_by(2).map(|pair| settings.theta.powf(pair as f32 / n_rotated as f32));
    match &settings.scaling {
        RopeScaling::None => powers.map(|power| 1.0 / power).collect(),
        RopeScaling::Linear { factor } => powers.map(|power| 1.0 / power / *factor as f32).collect(),
        RopeScaling::Proportional { share, factor } => {
            let n_rotating = (share * n_rotated as f64 / 2.0) as usize; // rounded down
            let rotates = |pair: usize| if pair < n_rotating { 1.0 } else { 0.0 };
            powers.enumerate().map(|(pair, power)| rotates(pair) / power / *factor as f32).collect()
        }
        RopeScaling::Llama3 { factor, low, high, original_context } => {
            let (factor, low, high) = (*factor as f32, *low as f32, *high as f32);
            let context = *original_context as f32;
            powers
                .map(|power| {
                    let frequency = 1.0 / power;
                    let wavelength = 2.0 * PI as f32 / frequency;
                    if wavelength < context / high {
                        frequency
                    } else if context / low < wavelength {
                        frequency / factor
                    } else {
                        let share = (context / wavelength - low) / (high - low);
                        (1.0 - share) * frequency / factor + share * frequency
                    }
                })
                .collect()
        }
        RopeScaling::Long(long) => powers.zip(long.divisors()).map(|(power, factor)| 1.0 / (factor * power)).collect(),
        RopeScaling::Yarn(yarn) => {
            let (first, last) = yarn.bounds(settings.theta.into(), n_rotated);
            let width = if first == last { 0.001 } else { last - first };
            powers
                .enumerate()
                .map(|(pair, power)| {
                    let slowed = ((pair as f32 - first as f32) / width as f32).clamp(0.0, 1.0);
                    let kept = 1.0 - slowed;
                    1.0 / (yarn.factor as f32 * power) * (1.0 - kept) + 1.0 / power * kept
                })
                .collect()
        }
    }
}

/// The divisors that GGUF files have in place of scalings without metadata of their own.
pub(crate) fn exported_divisors(settings: &RopeSettings, head_dim: usize) -> Option<Vec<f32>> {
    match settings.scaling {
        RopeScaling::Llama3 { .. } | RopeScaling::Proportional { .. } => {}
        _ => return None,
    }
    let plain = frequencies(&RopeSettings { scaling: RopeScaling::None, ..settings.clone() }, head_dim);
    let scaled = frequencies(settings, head_dim);
    let divisor = |(plain, scaled): (f32, f32)| if scaled == 0.0 { NEVER } else { plain / scaled };
    Some(plain.into_iter().zip(scaled).map(divisor).collect())
}

impl Yarn {
    /// The last pair that keeps its speed, and the first that is slowed by the whole factor.
    fn bounds(&self, theta: f64, head_dim: usize) -> (f64, f64) {
        let pair_of = |n_rotations: f64| {
            head_dim as f64 * (self.original_context as f64 / (n_rotations * 2.0 * PI)).ln() / (2.0 * theta.ln())
        };
        let (first, last) = (pair_of(self.beta_fast), pair_of(self.beta_slow));
        let (first, last) = if self.truncate { (first.floor(), last.ceil()) } else { (first, last) };
        (first.max(0.0), last.min(head_dim as f64 - 1.0))
    }
}
