//! The vectors of texts.

use crate::error::{ErrorKind, Result, SdkError};

/// The vectors of texts, in the order of the texts.
///
/// ```
/// use causerie::embedding::{EmbedOptions, EmbeddingModel};
///
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/bert");
/// let texts = EmbeddingModel::load(model)?.embed(["one", "two"], EmbedOptions::default())?;
/// assert_eq!(texts.vectors.len(), 2);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct TextEmbeddings {
    /// A vector for each text.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens that were read, with prompts and the tokens around texts.
    pub n_tokens: usize,
    /// The texts that were cut, as indices.
    pub truncated: Vec<usize>,
}

impl TextEmbeddings {
    /// The cosine of the angle between a vector and one of `others`.
    ///
    /// ```
    /// use causerie::embedding::{EmbedOptions, EmbeddingModel};
    ///
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/bert");
    /// let texts = EmbeddingModel::load(model)?.embed(["one", "two"], EmbedOptions::default())?;
    /// assert!((texts.similarity(1, &texts, 1)? - 1.0).abs() < 1e-6);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for an index without a vector, and for vectors of different sizes.
    pub fn similarity(&self, at: usize, others: &Self, other: usize) -> Result<f32> {
        let vector = |all: &'_ Self, at: usize| {
            let n = all.vectors.len();
            let message = || format!("a vector must be one of {n}, found {at}");
            all.vectors.get(at).cloned().ok_or_else(|| SdkError::new(ErrorKind::InvalidArgument, message()))
        };
        cosine_similarity(&vector(self, at)?, &vector(others, other)?)
    }
}

/// The cosine of the angle between two vectors, from -1 to 1; 0 if one of them has the length 0.
///
/// ```
/// use causerie::embedding::cosine_similarity;
///
/// assert_eq!(cosine_similarity(&[3.0, 0.0], &[0.0, 2.0])?, 0.0);
/// # Ok::<(), causerie::SdkError>(())
/// ```
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] for vectors of different sizes.
pub fn cosine_similarity(a: &[f32], b: &[f32]) -> Result<f32> {
    if a.len() != b.len() {
        let message = format!("vectors must have the same size, found {} and {}", a.len(), b.len());
        return Err(SdkError::new(ErrorKind::InvalidArgument, message));
    }
    let lengths = length(a) * length(b);
    Ok(if lengths == 0.0 { 0.0 } else { (dot(a, b) / lengths) as f32 }) // from -1 to 1
}

/// The vectors of all tokens of texts, for models that compare texts token by token (late interaction, as in ColBERT).
///
/// ```no_run
/// use causerie::embedding::{EmbedOptions, EmbeddingModel};
///
/// let model = EmbeddingModel::load("LFM2.5-ColBERT-350M")?;
/// let texts = model.embed_tokens(["A man eats bread."], EmbedOptions::default())?;
/// println!("{} vectors", texts.texts[0].len());
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct TokenEmbeddings {
    /// For each text the vectors of its tokens, which have the length 1.
    pub texts: Vec<Vec<Vec<f32>>>,
    /// Tokens that were read, with prompts and the tokens around texts.
    pub n_tokens: usize,
    /// The texts that were cut, as indices.
    pub truncated: Vec<usize>,
}

/// Brings a vector to the length 1. A vector of zeros stays as it is.
pub(super) fn normalise(vector: &mut [f32]) {
    let length = length(vector);
    if length != 0.0 {
        // Both are finite, or the result says so.
        vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    }
}

/// The sum over the vectors of a query of the largest dot product with a vector of a document (MaxSim).
pub(super) fn late_interaction(query: &[Vec<f32>], document: &[Vec<f32>]) -> f32 {
    let best = |vector: &Vec<f32>| document.iter().map(|other| dot(vector, other)).reduce(f64::max).unwrap_or(0.0);
    query.iter().map(best).sum::<f64>() as f32
}

fn length(vector: &[f32]) -> f64 {
    dot(vector, vector).sqrt()
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}
