//! A model in memory, and what it makes of framed texts.

use std::ops::ControlFlow;

use crate::checkpoint::{EmbeddingCheckpoint, EmbeddingFacts, MapActivation, MapPlan, MapSource, Pooling, Scoring};
use crate::embedding::options::{EmbedOptions, EmbeddingModelOptions};
use crate::embedding::pooling::{pooled, wanted};
use crate::embedding::texts::{FramedText, TextFramer};
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::{Compute, EmbeddingModelNetwork, TextTokens};
use crate::plain_prompt::Prompt;
use crate::prompt::PromptRenderer;
use crate::tokenizer::{ControlTokens, ModelTokenizer};
use crate::weights::{TemplateSources, Weights};

/// Rows of several texts that are computed in one pass.
const BATCH: usize = 1024;

/// The labels that models without a head answer with, the first of which means that a document is relevant.
const LABELS: [&str; 2] = ["yes", "no"];

/// Receives the share of the texts that is computed, from 0 to 1; `Break` cancels the call.
pub(super) type EmbedProgress<'a> = &'a mut dyn FnMut(f32) -> ControlFlow<()>;

/// A model that all calls share.
pub(super) struct LoadedEmbedder {
    pub(super) architecture: &'static str,
    pub(super) network: EmbeddingModelNetwork,
    pub(super) tokenizer: ModelTokenizer,
    pub(super) control: ControlTokens,
    /// Renders the questions of models that rank by labels.
    pub(super) renderer: Option<PromptRenderer>,
    pub(super) facts: EmbeddingFacts,
    /// Tokens that give no vector of a document.
    pub(super) skipped_ids: Vec<u32>,
    /// Whether the files say how texts become vectors.
    pub(super) is_pooled: bool,
}

impl LoadedEmbedder {
    pub(super) fn load(weights: &Weights, options: &EmbeddingModelOptions) -> Result<Self> {
        let options = options.load_options();
        options.check()?;
        let compute = Compute::new(&options)?;
        let mut checkpoint = EmbeddingCheckpoint::read(weights)?;
        let limit = options.context_size.unwrap_or(usize::MAX);
        checkpoint.network.limit_context(limit);
        let tokenizer = ModelTokenizer::load(weights)?;
        let control = tokenizer.control_tokens()?;
        let is_pooled = checkpoint.facts.pooling.is_some();
        if !is_pooled && !checkpoint.network.is_bidirectional() {
            ask_by_labels(&mut checkpoint.facts, &tokenizer)?;
        }
        let asks = matches!(&checkpoint.facts.scoring, Some(Scoring::Labels { template: None, .. }));
        let templates = if asks { TemplateSources::read(weights)? } else { None };
        let renderer = templates.map(|sources| PromptRenderer::from_sources(&sources, &tokenizer)).transpose()?;
        let network = compute.load_embedding(&checkpoint, &mut |_| ControlFlow::Continue(()))?;
        weights.check_unchanged()?;
        let (n_rows, n_tokens) = (network.n_vocabulary(), tokenizer.n_tokens());
        if n_rows < n_tokens {
            let message = format!("the vocabulary must have at most {n_rows} tokens, found {n_tokens}");
            return Err(SdkError::new(ErrorKind::ModelLoad, message));
        }
        let architecture = checkpoint.network.name();
        let mut facts = checkpoint.facts;
        for most in [&mut facts.max_tokens, &mut facts.max_query_tokens] {
            *most = (*most).min(network.n_positions()).min(limit);
        }
        let skipped_ids = skipped_ids(&facts, &tokenizer)?;
        Ok(Self { architecture, network, tokenizer, control, renderer, facts, skipped_ids, is_pooled })
    }

    pub(super) fn framer(&self) -> TextFramer<'_> {
        let n_vocabulary = self.network.n_vocabulary();
        TextFramer { tokenizer: &self.tokenizer, facts: &self.facts, n_vocabulary }
    }

    /// Frames texts.
    ///
    /// # Errors
    /// As [`TextFramer::frame`], with the place of the text; [`ErrorKind::LoadCancelled`] after `Break`.
    pub(super) fn framed(
        &self,
        texts: &[Prompt],
        options: &EmbedOptions,
        progress: EmbedProgress<'_>,
    ) -> Result<Vec<FramedText>> {
        let framer = self.framer();
        let framed = texts.iter().enumerate().map(|(at, text)| {
            report(progress, 0.0)?;
            let placed = |err: SdkError| SdkError::new(err.kind(), format!("texts[{at}]: {}", err.message()));
            framer.frame(text, options).map_err(placed)
        });
        framed.collect()
    }

    /// The vectors of texts after pooling and all maps, in the order of the texts. In a model with a vector for each token, all of a
    /// text are one after the other.
    ///
    /// # Errors
    /// [`ErrorKind::Generation`] if the computation fails, or gives values that are not finite; [`ErrorKind::LoadCancelled`] after
    /// `Break`.
    pub(super) fn for_each_vector(
        &self,
        texts: &[FramedText],
        pooling: Pooling,
        progress: EmbedProgress<'_>,
        mut take: impl FnMut(&FramedText, &[f32]),
    ) -> Result<()> {
        let width = self.network.hidden();
        let mut n_done = 0;
        for batch in batches(texts) {
            report(progress, n_done as f32 / texts.len() as f32)?;
            let tokens: Vec<_> = batch.iter().map(|text| TextTokens { ids: &text.ids, types: &text.types }).collect();
            let rows = self.network.rows(&tokens, wanted(pooling))?;
            let of_texts = rows.into_iter().zip(batch).map(|(rows, text)| pooled(pooling, rows, width, text.n_prompt));
            let of_texts: Vec<Vec<f32>> = of_texts.collect();
            let mapped = self.network.map(of_texts.concat())?;
            if !mapped.iter().all(|value| value.is_finite()) {
                let message = "the model gave values that are not finite: its weights may be damaged";
                return Err(SdkError::new(ErrorKind::Generation, message));
            }
            let mut rest = &mapped[..];
            for (text, rows) in batch.iter().zip(of_texts) {
                let (first, others) = rest.split_at(rows.len() / width * self.network.n_outputs());
                take(text, first);
                rest = others;
            }
            n_done += batch.len();
        }
        report(progress, 1.0)
    }
}

/// Reports the share of the texts that is computed.
///
/// # Errors
/// [`ErrorKind::LoadCancelled`] after `Break`.
pub(super) fn report(progress: EmbedProgress<'_>, share: f32) -> Result<()> {
    match progress(share) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(SdkError::new(ErrorKind::LoadCancelled, "the computation was cancelled")),
    }
}

/// Consecutive texts that are computed together: a long one is alone.
fn batches(mut texts: &[FramedText]) -> Vec<&[FramedText]> {
    let mut batches = Vec::new();
    while !texts.is_empty() {
        let mut n_rows = 0;
        let n = texts.iter().take_while(|text| {
            n_rows += text.ids.len();
            n_rows <= BATCH
        });
        let (batch, rest) = texts.split_at(n.count().max(1));
        batches.push(batch);
        texts = rest;
    }
    batches
}

/// Lets a model that writes rank by the logits of two labels, if its vocabulary has both as one token.
fn ask_by_labels(facts: &mut EmbeddingFacts, tokenizer: &ModelTokenizer) -> Result<()> {
    let mut ids = Vec::new();
    for label in LABELS {
        match tokenizer.encode_plain(label)?[..] {
            [id] => ids.push(id),
            _ => return Ok(()),
        }
    }
    facts.pooling = Some(Pooling::Last);
    facts.maps = vec![MapPlan { source: MapSource::LogitRows(ids), activation: MapActivation::Identity }];
    facts.scoring = Some(Scoring::Labels { yes_at: 0, template: None });
    Ok(())
}

fn skipped_ids(facts: &EmbeddingFacts, tokenizer: &ModelTokenizer) -> Result<Vec<u32>> {
    let mut ids = Vec::new();
    for word in &facts.skipped_words {
        if let [id] = tokenizer.encode_plain(word)?[..] {
            ids.push(id);
        }
    }
    Ok(ids)
}
