//! A network of any operations that reads whole texts.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::checkpoint::{EmbeddingCheckpoint, EmbeddingNetwork, invalid};
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::decoder::Decoder;
use crate::model::embedding::bert::{BertBuffers, BertWeights};
use crate::model::embedding::maps::PooledMap;
use crate::model::embedding::scorer::OptionScorer;
use crate::model::embedding::text::{TextTokens, WantedRows};
use crate::model::network::Inputs;
use crate::model::pass::{Buffers, StackSequence};
use crate::model::progress::LoadProgress;
use crate::model::survey::survey;
use crate::model::whisper::SpeechOperations;

/// Tokens of a text that a decoder which reads from left to right computes at once.
const CHUNK: usize = 512;

/// A network in memory. Clones share it.
#[derive(Clone)]
pub(crate) struct EmbeddingModelNetwork(Arc<dyn LoadedTextNetwork>);

trait LoadedTextNetwork: Send + Sync {
    fn sizes(&self) -> TextNetworkSizes;

    fn rows(&self, texts: &[TextTokens<'_>], wanted: WantedRows) -> Result<Vec<Vec<f32>>>;

    fn map(&self, vectors: Vec<f32>) -> Result<Vec<f32>>;

    fn scores(&self, ids: &[u32], question_type: u32, marks: &[usize]) -> Result<Vec<f32>>;
}

#[derive(Clone, Copy)]
struct TextNetworkSizes {
    hidden: usize,
    /// Values of a vector after the maps.
    n_outputs: usize,
    n_vocabulary: usize,
    n_positions: usize,
}

struct TextNetwork<O: SpeechOperations> {
    operations: O,
    body: TextNetworkBody<O>,
    maps: Vec<PooledMap<O>>,
    /// What scores options, with its buffers.
    scorer: Option<(OptionScorer<O>, Mutex<BertBuffers<O>>)>,
    sizes: TextNetworkSizes,
}

enum TextNetworkBody<O: SpeechOperations> {
    Bert(BertWeights<O>, Mutex<BertBuffers<O>>),
    Decoder {
        decoder: Box<Decoder<O>>,
        /// Whether texts may be computed in chunks.
        is_causal: bool,
        buffers: Mutex<Buffers<O>>,
    },
}

impl EmbeddingModelNetwork {
    /// Loads a network. `new` makes operations on one device.
    pub(crate) fn load<O: SpeechOperations>(
        new: impl Fn() -> O,
        checkpoint: &EmbeddingCheckpoint,
        progress: LoadProgress<'_>,
    ) -> Result<Self> {
        let (operations, n_positions) = (new(), checkpoint.network.context_size());
        let (body, sizes) = match &checkpoint.network {
            EmbeddingNetwork::Bert(architecture, tensors) => {
                let weights = BertWeights::load(&operations, tensors, *architecture)?;
                let BertWeights { hidden, n_vocabulary, n_positions, .. } = weights;
                let sizes = TextNetworkSizes { hidden, n_outputs: hidden, n_vocabulary, n_positions };
                (TextNetworkBody::Bert(weights, Mutex::default()), sizes)
            }
            EmbeddingNetwork::Decoder(decoder) => {
                survey(decoder)?;
                let is_causal = !decoder.architecture.is_bidirectional;
                let decoder = Decoder::load(new(), decoder, progress)?;
                if decoder.per_layer.is_some() {
                    return Err(invalid("models with per-layer embeddings embed no texts"));
                }
                let (hidden, n_vocabulary) = (decoder.hidden, decoder.n_vocabulary);
                let sizes = TextNetworkSizes { hidden, n_outputs: hidden, n_vocabulary, n_positions };
                (TextNetworkBody::Decoder { decoder: Box::new(decoder), is_causal, buffers: Mutex::default() }, sizes)
            }
        };
        let scorer = match (&checkpoint.scorer, &body) {
            (Some(plan), TextNetworkBody::Decoder { decoder, .. }) => {
                Some((OptionScorer::load(decoder, &checkpoint.map_tensors, *plan)?, Mutex::default()))
            }
            _ => None,
        };
        let mut encoder = TextNetwork { operations, body, maps: Vec::new(), scorer, sizes };
        for plan in &checkpoint.facts.maps {
            let map = PooledMap::load(&encoder.operations, checkpoint, plan, encoder.sizes.n_outputs)?;
            encoder.sizes.n_outputs = map.n_outputs;
            encoder.maps.push(map);
        }
        Ok(Self(Arc::new(encoder)))
    }

    /// Values of a row.
    pub(crate) fn hidden(&self) -> usize {
        self.0.sizes().hidden
    }

    /// Values of a vector after the maps.
    pub(crate) fn n_outputs(&self) -> usize {
        self.0.sizes().n_outputs
    }

    pub(crate) fn n_vocabulary(&self) -> usize {
        self.0.sizes().n_vocabulary
    }

    /// Tokens that a text may have.
    pub(crate) fn n_positions(&self) -> usize {
        self.0.sizes().n_positions
    }

    /// The wanted rows of each text, after the last norm. No text's rows depend on the other texts.
    ///
    /// # Errors
    /// A device that fails, or memory that has ended; [`ErrorKind::Internal`] for unknown ids, and texts without tokens or with too
    /// many.
    pub(crate) fn rows(&self, texts: &[TextTokens<'_>], wanted: WantedRows) -> Result<Vec<Vec<f32>>> {
        let TextNetworkSizes { n_vocabulary, n_positions, .. } = self.0.sizes();
        let fits = |text: &TextTokens<'_>| {
            (1..=n_positions).contains(&text.ids.len()) && text.ids.iter().all(|id| (*id as usize) < n_vocabulary)
        };
        match texts.iter().all(fits) {
            true => self.0.rows(texts, wanted),
            false => Err(SdkError::new(ErrorKind::Internal, "a text must have known tokens, and as many as fit")),
        }
    }

    /// The scores of the rows at some places of a text, as options of a question of this type, in a decision model.
    ///
    /// # Errors
    /// As [`rows`](Self::rows); [`ErrorKind::Internal`] for places beyond the text, and in other models.
    pub(crate) fn scores(&self, ids: &[u32], question_type: u32, marks: &[usize]) -> Result<Vec<f32>> {
        let TextNetworkSizes { n_vocabulary, n_positions, .. } = self.0.sizes();
        let is_known = ids.iter().all(|id| (*id as usize) < n_vocabulary);
        match is_known && ids.len() <= n_positions && marks.iter().all(|mark| *mark < ids.len()) {
            true => self.0.scores(ids, question_type, marks),
            false => Err(SdkError::new(ErrorKind::Internal, "a text must have known tokens, and as many as fit")),
        }
    }

    /// What the maps make of vectors, which lie one after the other.
    ///
    /// # Errors
    /// A device that fails, or memory that has ended.
    pub(crate) fn map(&self, vectors: Vec<f32>) -> Result<Vec<f32>> {
        self.0.map(vectors)
    }
}

impl<O: SpeechOperations> LoadedTextNetwork for TextNetwork<O> {
    fn sizes(&self) -> TextNetworkSizes {
        self.sizes
    }

    fn rows(&self, texts: &[TextTokens<'_>], wanted: WantedRows) -> Result<Vec<Vec<f32>>> {
        let rows = stacked(texts);
        match &self.body {
            TextNetworkBody::Bert(weights, buffers) => {
                let mut buffers = buffers.lock();
                weights.forward(&self.operations, texts, &rows, &mut buffers)?;
                rows.iter().map(|rows| read(&self.operations, &buffers.stream, wanted.range(rows))).collect()
            }
            TextNetworkBody::Decoder { decoder, is_causal, buffers } => {
                let mut buffers = buffers.lock();
                // Only rows of a whole text may be read from its last chunk.
                if *is_causal && wanted == WantedRows::Last {
                    return texts.iter().map(|text| decoder.last_row(text.ids, &mut buffers)).collect();
                }
                decoder.read_texts(texts, &rows, &mut buffers)?;
                rows.iter().map(|rows| read(&decoder.backend, &buffers.mixed, wanted.range(rows))).collect()
            }
        }
    }

    fn map(&self, mut vectors: Vec<f32>) -> Result<Vec<f32>> {
        self.maps.iter().try_for_each(|map| map.apply(&self.operations, &mut vectors))?;
        Ok(vectors)
    }

    fn scores(&self, ids: &[u32], question_type: u32, marks: &[usize]) -> Result<Vec<f32>> {
        let (TextNetworkBody::Decoder { decoder, buffers, .. }, Some((scorer, of_scorer))) = (&self.body, &self.scorer)
        else {
            return Err(SdkError::new(ErrorKind::Internal, "the model scores no options"));
        };
        let (mut buffers, mut of_scorer) = (buffers.lock(), of_scorer.lock());
        let rows = 0..ids.len();
        decoder.read_texts(&[TextTokens { ids, types: &[] }], std::slice::from_ref(&rows), &mut buffers)?;
        std::mem::swap(&mut buffers.mixed, &mut of_scorer.stream);
        scorer.scores(&decoder.backend, question_type, (ids.len(), marks), &mut of_scorer)
    }
}

impl<O: SpeechOperations> Decoder<O> {
    /// Computes the rows of whole texts, after the last norm.
    fn read_texts(&self, texts: &[TextTokens<'_>], rows: &[Range<usize>], buffers: &mut Buffers<O>) -> Result<()> {
        let operations = &self.backend;
        let tokens: Vec<Inputs<'_>> = texts.iter().map(|text| Inputs::Tokens(text.ids)).collect();
        operations.embed(&self.embedding.weight, &tokens, self.scales.embedding, &mut buffers.stream)?;
        let states = rows.iter().map(|_| self.stack.empty_state(operations));
        let mut states = states.collect::<Result<Vec<_>>>()?;
        let sequences = rows.iter().zip(&mut states);
        let mut sequences: Vec<_> =
            sequences.map(|(rows, state)| StackSequence { rows: rows.clone(), state, content: None }).collect();
        self.stack.forward(operations, &mut sequences, buffers)?;
        let Buffers { stream, inputs, mixed, .. } = buffers;
        operations.norm(stream, (&self.output_norm, self.stack.norm_eps), &[], inputs)?;
        operations.input_rows(inputs, mixed)
    }

    /// The last row of a text that is read from left to right, in chunks.
    fn last_row(&self, ids: &[u32], buffers: &mut Buffers<O>) -> Result<Vec<f32>> {
        let operations = &self.backend;
        let mut state = self.stack.empty_state(operations)?;
        for chunk in ids.chunks(CHUNK) {
            let embedding = &self.embedding.weight;
            operations.embed(embedding, &[Inputs::Tokens(chunk)], self.scales.embedding, &mut buffers.stream)?;
            let sequence = StackSequence { rows: 0..chunk.len(), state: &mut state, content: None };
            self.stack.forward(operations, &mut [sequence], buffers)?;
        }
        let last = (ids.len() - 1) % CHUNK;
        let Buffers { stream, inputs, mixed, .. } = buffers;
        operations.select(stream, std::slice::from_ref(&(last..last + 1)), mixed)?;
        operations.norm(mixed, (&self.output_norm, self.stack.norm_eps), &[], inputs)?;
        operations.input_rows(inputs, mixed)?;
        read(operations, mixed, 0..1)
    }
}

/// The rows of each text, if they lie one below the other.
fn stacked(texts: &[TextTokens<'_>]) -> Vec<Range<usize>> {
    let mut end = 0;
    let range = |text: &TextTokens<'_>| {
        let start = end;
        end += text.ids.len();
        start..end
    };
    texts.iter().map(range).collect()
}

fn read<O: SpeechOperations>(operations: &O, rows: &O::Rows, range: Range<usize>) -> Result<Vec<f32>> {
    let mut values = Vec::new();
    operations.read(rows, range, &mut values)?;
    Ok(values)
}
