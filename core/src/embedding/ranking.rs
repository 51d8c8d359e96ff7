//! Documents ranked by how well they fit a query.

use jiff::Zoned;

use crate::checkpoint::{Pooling, Scoring};
use crate::embedding::loaded::LoadedEmbedder;
use crate::embedding::options::{EmbedOptions, RerankOptions, TextUse};
use crate::embedding::texts::{FramedText, shortened};
use crate::embedding::vectors::{late_interaction, normalise};
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::{ChatMessage, Role};
use crate::prompt::{Frame, Segment};
use crate::runner::Prompt;

/// What Qwen3-Reranker was trained on, word for word. Other models that write are asked the same.
const SYSTEM: &str = "Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be \"yes\" or \"no\".";
const INSTRUCTION: &str = "Given a web search query, retrieve relevant passages that answer the query";
/// What comes before the document in its prompt.
const DOCUMENT: &str = "<Document>: ";
/// The marks of a prompt in a GGUF file.
const MARKS: [&str; 2] = ["{query}", "{document}"];

/// The documents that fit a query, the best first.
///
/// ```no_run
/// use causerie::embedding::{EmbeddingModel, RerankOptions};
///
/// let model = EmbeddingModel::load("Qwen3-Reranker-0.6B")?;
/// let ranking = model.rerank("Who eats?", ["The rocket flies.", "A man eats bread."], RerankOptions::default())?;
/// assert_eq!(ranking.results[0].index, 1);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The best first; of equal ones, the earlier first.
    pub results: Vec<RankedDocument>,
    /// Tokens that were read.
    pub n_tokens: usize,
    /// The documents that were cut, as indices.
    pub truncated: Vec<usize>,
}

/// A document's place in a ranking.
///
/// ```no_run
/// # use causerie::embedding::{EmbeddingModel, RerankOptions};
/// # let model = EmbeddingModel::load("Qwen3-Reranker-0.6B")?;
/// for document in model.rerank("Who eats?", ["A man eats bread."], RerankOptions::default())?.results {
///     println!("{}: {}", document.index, document.relevance);
/// }
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedDocument {
    /// The document's index among those that were given.
    pub index: usize,
    /// How well it fits: a probability for most models; for some cross-encoders a logit, and for models with a vector for each token
    /// a sum of cosines.
    pub relevance: f32,
}

impl LoadedEmbedder {
    /// Whether the model ranks.
    pub(super) fn ranks(&self) -> bool {
        match &self.facts.scoring {
            Some(Scoring::Head { .. }) => self.tokenizer.frames().pair.is_some(),
            Some(Scoring::Labels { template, .. }) => template.is_some() || self.renderer.is_some(),
            None => self.facts.pooling == Some(Pooling::Rows),
        }
    }

    pub(super) fn rank(&self, query: &str, documents: &[&str], options: &RerankOptions) -> Result<Ranking> {
        if !self.ranks() {
            let message = format!(
                "a model that ranks must have a head for scores, a vector for each token, or a chat template and the labels yes \
                 and no: the model {:?} has none of them",
                self.architecture
            );
            return Err(SdkError::new(ErrorKind::UnsupportedContent, message));
        }
        if options.instruction.is_some() && !self.takes_instructions() {
            let message = "instruction must be left out: this model is not asked in words";
            return Err(SdkError::new(ErrorKind::InvalidOption("instruction"), message));
        }
        if options.top_n == Some(0) {
            return Err(SdkError::new(ErrorKind::InvalidOption("top_n"), "top_n must be 1 or more, found 0"));
        }
        let (scores, texts): (Vec<f32>, _) = match &self.facts.scoring {
            None => self.token_scores(query, documents)?,
            Some(scoring) => {
                let texts = documents.iter().map(|document| self.question(scoring, query, document, options));
                let texts = texts.collect::<Result<Vec<_>>>()?;
                let outputs = self.vectors(&texts, self.facts.pooling.unwrap_or(Pooling::Last))?;
                (outputs.iter().map(|outputs| score(scoring, outputs)).collect(), texts)
            }
        };
        let results = scores.into_iter().enumerate();
        let mut results: Vec<_> = results.map(|(index, relevance)| RankedDocument { index, relevance }).collect();
        results.sort_by(|a, b| b.relevance.total_cmp(&a.relevance));
        results.truncate(options.top_n.unwrap_or(usize::MAX));
        // In a model with vectors for tokens, the query comes first.
        let n_before = texts.len() - documents.len();
        let cut = texts[n_before..].iter().enumerate().filter(|(_, text)| text.is_cut);
        Ok(Ranking {
            results,
            n_tokens: texts.iter().map(|text| text.ids.len()).sum(),
            truncated: cut.map(|(at, _)| at).collect(),
        })
    }

    /// Whether the question is a text of ours.
    fn takes_instructions(&self) -> bool {
        matches!(&self.facts.scoring, Some(Scoring::Labels { template: None, .. }))
    }

    /// The scores of documents by the vectors of tokens, and the texts that were read.
    fn token_scores(&self, query: &str, documents: &[&str]) -> Result<(Vec<f32>, Vec<FramedText>)> {
        let of_use = |text_use: TextUse| EmbedOptions { text_use, ..EmbedOptions::default() };
        let mut texts = self.framed(&[Prompt::from(query)], &of_use(TextUse::Query))?;
        let prompts: Vec<Prompt> = documents.iter().map(|document| Prompt::from(*document)).collect();
        let query_vectors = self.token_vectors(&texts, TextUse::Query)?;
        let documents = self.framed(&prompts, &of_use(TextUse::Document))?;
        let vectors = self.token_vectors(&documents, TextUse::Document)?;
        texts.extend(documents);
        let query = query_vectors.into_iter().next().unwrap_or_default();
        Ok((vectors.iter().map(|document| late_interaction(&query, document)).collect(), texts))
    }

    /// The vectors of the tokens of texts, of length 1.
    pub(super) fn token_vectors(&self, texts: &[FramedText], text_use: TextUse) -> Result<Vec<Vec<Vec<f32>>>> {
        let width = self.network.n_outputs();
        let is_skipped = |id: u32| text_use == TextUse::Document && self.skipped_ids.contains(&id);
        let of_text = |(text, rows): (&FramedText, Vec<f32>)| {
            let kept = rows.chunks_exact(width).zip(&text.ids).filter(|(_, id)| !is_skipped(**id));
            let unit = |(row, _): (&[f32], &u32)| {
                let mut vector = row.to_vec();
                normalise(&mut vector);
                vector
            };
            kept.map(unit).collect()
        };
        Ok(texts.iter().zip(self.vectors(texts, Pooling::Rows)?).map(of_text).collect())
    }

    /// The text of which the outputs say how well a document fits.
    fn question(&self, scoring: &Scoring, query: &str, document: &str, options: &RerankOptions) -> Result<FramedText> {
        let internal = || SdkError::new(ErrorKind::Internal, "a model that ranks must have a form of questions");
        let [query, document] = [query, document].map(|text| shortened(text, self.facts.max_tokens).0);
        let (segments, at) = match (scoring, &self.renderer) {
            (Scoring::Head { .. }, _) => {
                let frame = self.tokenizer.frames().pair.as_ref().ok_or_else(internal)?;
                return self.framer().pair(frame, query, document);
            }
            (Scoring::Labels { template: Some(template), .. }, _) => {
                let mut segments = self.control.split(template);
                let has_mark = |segment: &Segment| matches!(segment, Segment::Text(text) if text.contains(MARKS[1]));
                let at = segments.iter().rposition(has_mark);
                for segment in &mut segments {
                    if let Segment::Text(text) = segment {
                        *text = filled(text, [query, document]);
                    }
                }
                (segments, at)
            }
            (Scoring::Labels { template: None, .. }, Some(renderer)) => {
                let instruction = options.instruction.as_deref().unwrap_or(INSTRUCTION);
                let asked = format!("<Instruct>: {instruction}\n<Query>: {query}\n{DOCUMENT}{document}");
                let messages = [ChatMessage::new(Role::System, SYSTEM), ChatMessage::user(asked)];
                let segments = renderer.render(&messages, &Frame::shown(&Zoned::now(), true))?;
                let has_document =
                    |segment: &Segment| matches!(segment, Segment::Text(text) if text.contains(DOCUMENT.trim_end()));
                let at = segments.iter().rposition(has_document);
                (segments, at)
            }
            (Scoring::Labels { template: None, .. }, None) => return Err(internal()),
        };
        let at = at.map_or(segments.len(), |at| at + 1);
        let mut ids = self.tokenizer.encode_with_bos(&segments[..at])?;
        let after = self.tokenizer.encode(&segments[at..])?;
        let limit = self.facts.max_tokens;
        let is_cut = limit < ids.len() + after.len();
        if limit <= after.len() {
            let (needed, available) = (after.len() + 1, limit);
            let message = format!("the context must hold the question, {needed} tokens, found {available}");
            return Err(SdkError::new(ErrorKind::PromptExceedsContext { needed, available }, message));
        }
        // The document is the end of its text.
        ids.truncate(limit - after.len());
        ids.extend(after);
        Ok(FramedText { ids, types: Vec::new(), n_prompt: 0, is_cut })
    }
}

/// The score of a model's outputs.
fn score(scoring: &Scoring, outputs: &[f32]) -> f32 {
    let sigmoid = |x: f32| (1.0 / (1.0 + (-f64::from(x)).exp())) as f32; // from 0 to 1
    match (scoring, outputs) {
        (Scoring::Head { is_sigmoid: true }, [output, ..]) => sigmoid(*output),
        (Scoring::Head { is_sigmoid: false }, [output, ..]) => *output,
        // The softmax of two logits.
        (Scoring::Labels { yes_at, .. }, [first, second, ..]) => {
            sigmoid(if *yes_at == 0 { first - second } else { second - first })
        }
        _ => f32::NEG_INFINITY,
    }
}

/// A text with the query and the document in the places of their marks.
fn filled(text: &str, texts: [&str; 2]) -> String {
    let (mut filled, mut rest) = (String::new(), text);
    let next = |rest: &str| {
        let found = MARKS.iter().zip(texts).filter_map(|(mark, text)| Some((rest.find(mark)?, mark.len(), text)));
        found.min_by_key(|(at, ..)| *at)
    };
    while let Some((at, length, text)) = next(rest) {
        filled.push_str(&rest[..at]);
        filled.push_str(text);
        rest = &rest[at + length..];
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_in_a_query_are_text() {
        assert_eq!(filled("a {query} b {document}", ["{document}", "{query}"]), "a {document} b {query}");
    }

    #[test]
    fn labels_give_the_softmax() {
        // transformers 5.24, of a tiny Qwen3.
        let labels = |yes_at| Scoring::Labels { yes_at, template: None };
        assert!((score(&labels(0), &[2.184546, 2.9585633]) - 0.3156107).abs() < 1e-6);
        assert!((score(&labels(1), &[0.630_776_76, 1.888_375_4]) - 0.778_612_5).abs() < 1e-6);
    }
}
