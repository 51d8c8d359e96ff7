//! The decoder that all families are: an embedding, a stack of layers, a norm, and the logits.
//!
//! Sizes come from the tensors, because formulas and descriptions are wrong for some models.

use crate::checkpoint::{Architecture, Checkpoint, OUTPUT_NORMS, Scales, invalid};
use crate::error::{Result, SdkError};
use crate::model::backend::Backend;
use crate::model::linear::Linear;
use crate::model::per_layer::PerLayerEmbedding;
use crate::model::progress::LoadProgress;
use crate::model::stack::Stack;
use crate::weights::{MatrixPlace, TensorPart, Tensors};

const EMBEDDING: &str = "token_embd.weight";
/// The matrix that gives the logits, if it is not the embedding.
const HEAD: &str = "output.weight";

pub(crate) struct Decoder<B: Backend> {
    pub(crate) embedding: Linear<B>,
    pub(crate) per_layer: Option<PerLayerEmbedding<B>>,
    pub(crate) stack: Stack<B>,
    pub(crate) output_norm: B::Vector,
    /// `None` if the embedding also gives the logits.
    pub(crate) head: Option<Linear<B>>,
    pub(crate) scales: Scales,
    pub(crate) n_vocabulary: usize,
    pub(crate) hidden: usize,
    pub(crate) backend: B,
}

impl<B: Backend> Decoder<B> {
    pub(crate) fn load(backend: B, checkpoint: &Checkpoint, progress: LoadProgress<'_>) -> Result<Self> {
        let Checkpoint { architecture, tensors, .. } = checkpoint;
        let (n_vocabulary, hidden) = embedding_shape(tensors)?;
        architecture.stated.check_embedding((n_vocabulary, hidden))?;
        let stack = Stack::load(&backend, tensors, architecture, hidden, progress)?;
        let matrix = |name: &str| {
            let place = MatrixPlace { name, shape: (n_vocabulary, hidden), part: TensorPart::Whole };
            Ok::<_, SdkError>(Linear { weight: backend.matrix(tensors, &place)?, bias: None })
        };
        Ok(Self {
            embedding: matrix(EMBEDDING)?,
            per_layer: PerLayerEmbedding::load(&backend, tensors, architecture, (n_vocabulary, hidden))?,
            stack,
            output_norm: backend.vector(tensors.floats(&output_norm(checkpoint), &[hidden])?)?,
            head: tensors.shape(HEAD).is_some().then(|| matrix(HEAD)).transpose()?,
            scales: scales(architecture, hidden),
            n_vocabulary,
            hidden,
            backend,
        })
    }

    /// The map that gives the logits.
    pub(crate) fn head(&self) -> &Linear<B> {
        self.head.as_ref().unwrap_or(&self.embedding)
    }
}

/// Vocabulary and hidden size.
pub(crate) fn embedding_shape(tensors: &Tensors) -> Result<(usize, usize)> {
    match tensors.shape(EMBEDDING) {
        Some(&[n_vocabulary, hidden]) => Ok((n_vocabulary, hidden)),
        Some(shape) => {
            Err(invalid(format!("tensor {} must be a matrix, found shape {shape:?}", tensors.file_name(EMBEDDING))))
        }
        None => Err(tensors.missing(EMBEDDING)),
    }
}

/// The name of the norm before the logits.
fn output_norm(checkpoint: &Checkpoint) -> String {
    let names = OUTPUT_NORMS.map(|name| format!("{name}.weight"));
    let found = names.into_iter().find(|name| checkpoint.tensors.shape(name).is_some());
    found.unwrap_or_else(|| format!("{}.weight", checkpoint.architecture.family.output_norm))
}

fn scales(architecture: &Architecture, hidden: usize) -> Scales {
    let embedding = match architecture.family.scales_embedding {
        true => (hidden as f32).sqrt(),
        false => architecture.scales.embedding,
    };
    Scales { embedding, ..architecture.scales }
}
