//! Documents ranked by how well they fit a query.

use std::ops::ControlFlow;

use jiff::Zoned;

use crate::checkpoint::{Pooling, Scoring};
use crate::embedding::loaded::{EmbedProgress, LoadedEmbedder, report};
use crate::embedding::options::{EmbedOptions, RerankOptions, TextUse};
use crate::embedding::texts::{FramedText, shortened};
use crate::embedding::vectors::{late_interaction, normalise};
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::{ChatMessage, Role};
use crate::plain_prompt::Prompt;
use crate::prompt::{Frame, Segment};
use crate::tokenizer::ModelTokenizer;

/// What Qwen3-Reranker was trained on, word for word. Other models that write are asked the same.
const SYSTEM: &str = "Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be \"yes\" or \"no\".";
const INSTRUCTION: &str = "Given a web search query, retrieve relevant passages that answer the query";
/// Stands for the document while its place in the prompt is searched. Noncharacters have no meaning in text.
const PLACE: &str = "\u{FDEE}\u{FDEF}\u{FDEE}";
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
    /// The documents that were cut, or read with a query that was cut, as indices.
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

    pub(super) fn rank(
        &self,
        query: &str,
        documents: &[&str],
        options: &RerankOptions,
        progress: EmbedProgress<'_>,
    ) -> Result<Ranking> {
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
            None => self.token_scores(query, documents, progress)?,
            Some(scoring) => {
                let texts = match scoring {
                    Scoring::Head { .. } => self.pairs(query, documents, progress)?,
                    Scoring::Labels { template, .. } => {
                        let asked = |document: &str| self.asked(template.as_deref(), query, document, options);
                        self.questions(&asked, documents, progress)?
                    }
                };
                let pooling = self.facts.pooling.unwrap_or(Pooling::Last);
                let mut scores = Vec::with_capacity(texts.len());
                self.for_each_vector(&texts, pooling, progress, |_, outputs| scores.push(score(scoring, outputs)))?;
                (scores, texts)
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
    fn token_scores(
        &self,
        query: &str,
        documents: &[&str],
        progress: EmbedProgress<'_>,
    ) -> Result<(Vec<f32>, Vec<FramedText>)> {
        let of_use = |text_use: TextUse| EmbedOptions { text_use, ..EmbedOptions::default() };
        let mut texts = self.framed(&[Prompt::from(query)], &of_use(TextUse::Query), progress)?;
        let query = self.token_vectors(&texts, TextUse::Query)?.into_iter().next().unwrap_or_default();
        let prompts: Vec<Prompt> = documents.iter().map(|document| Prompt::from(*document)).collect();
        let documents = self.framed(&prompts, &of_use(TextUse::Document), progress)?;
        let mut scores = Vec::with_capacity(documents.len());
        // Scored at once: the vectors of all tokens of many documents would take much memory.
        self.for_each_vector(&documents, Pooling::Rows, progress, |text, rows| {
            scores.push(late_interaction(&query, &self.unit_rows(text, rows, TextUse::Document)));
        })?;
        texts.extend(documents);
        Ok((scores, texts))
    }

    /// The vectors of the tokens of texts, of length 1.
    pub(super) fn token_vectors(&self, texts: &[FramedText], text_use: TextUse) -> Result<Vec<Vec<Vec<f32>>>> {
        let mut vectors = Vec::with_capacity(texts.len());
        self.for_each_vector(texts, Pooling::Rows, &mut |_| ControlFlow::Continue(()), |text, rows| {
            vectors.push(self.unit_rows(text, rows, text_use));
        })?;
        Ok(vectors)
    }

    /// The vectors of the tokens of one text, of length 1. Skipped tokens have none.
    fn unit_rows(&self, text: &FramedText, rows: &[f32], text_use: TextUse) -> Vec<Vec<f32>> {
        let is_skipped = |id: u32| text_use == TextUse::Document && self.skipped_ids.contains(&id);
        let rows = rows.chunks_exact(self.network.n_outputs()).zip(&text.ids);
        let unit = |(row, _): (&[f32], &u32)| {
            let mut vector = row.to_vec();
            normalise(&mut vector);
            vector
        };
        rows.filter(|(_, id)| !is_skipped(**id)).map(unit).collect()
    }

    /// The query with each document, for a model with a head for scores.
    fn pairs(&self, query: &str, documents: &[&str], progress: EmbedProgress<'_>) -> Result<Vec<FramedText>> {
        let frame = self.tokenizer.frames().pair.as_ref().ok_or_else(no_question)?;
        let (query, is_cut) = shortened(query, self.facts.max_tokens);
        let query = self.tokenizer.encode_plain(query)?;
        let pair = |document: &&str| {
            report(progress, 0.0)?;
            let framed = self.framer().pair(frame, &query, document)?;
            Ok(FramedText { is_cut: framed.is_cut || is_cut, ..framed })
        };
        documents.iter().map(pair).collect()
    }

    /// The question about a document, for a model that is asked for a label.
    pub(super) fn asked(
        &self,
        template: Option<&str>,
        query: &str,
        document: &str,
        options: &RerankOptions,
    ) -> Result<Vec<Segment>> {
        let query = shortened(query, self.facts.max_tokens).0;
        match (template, &self.renderer) {
            (Some(template), _) => {
                let mut segments = self.control.split(template);
                for segment in &mut segments {
                    if let Segment::Text(text) = segment {
                        *text = filled(text, [query, document]);
                    }
                }
                Ok(segments)
            }
            (None, Some(renderer)) => {
                let instruction = options.instruction.as_deref().unwrap_or(INSTRUCTION);
                let asked = format!("<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}");
                let messages = [ChatMessage::new(Role::System, SYSTEM), ChatMessage::user(asked)];
                Ok(renderer.close_reasoning(renderer.render(&messages, &Frame::shown(&Zoned::now(), true))?))
            }
            (None, None) => Err(no_question()),
        }
    }

    /// The questions about documents. Of those that are too long, the document is cut at its end.
    ///
    /// # Errors
    /// [`ErrorKind::PromptExceedsContext`] if nothing of a document fits.
    pub(super) fn questions(
        &self,
        asked: &dyn Fn(&str) -> Result<Vec<Segment>>,
        documents: &[&str],
        progress: EmbedProgress<'_>,
    ) -> Result<Vec<FramedText>> {
        if documents.is_empty() {
            return Ok(Vec::new());
        }
        let limit = self.facts.max_tokens;
        let place = DocumentPlace::find(&self.tokenizer, asked(PLACE)?, limit)?;
        let question = |document: &&str| {
            report(progress, 0.0)?;
            let (document, is_cut) = shortened(document, limit);
            let segments = asked(document)?;
            let ids = self.tokenizer.encode_with_bos(&segments)?;
            if ids.len() <= limit {
                return Ok(FramedText { ids, types: Vec::new(), n_prompt: 0, is_cut });
            }
            let mut ids = self.tokenizer.encode_with_bos(&place.until_end(segments))?;
            ids.truncate(limit - place.after.len());
            ids.extend(&place.after);
            Ok(FramedText { ids, types: Vec::new(), n_prompt: 0, is_cut: true })
        };
        documents.iter().map(question).collect()
    }
}

/// Where a question has its document.
struct DocumentPlace {
    /// Segments after the one with the document.
    n_segments_after: usize,
    /// The text after the document in its segment.
    text_after: String,
    /// The tokens after the document.
    after: Vec<u32>,
}

impl DocumentPlace {
    /// Finds the place in a question about [`PLACE`].
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedContent`] for a question without a document, [`ErrorKind::PromptExceedsContext`] if it leaves no space
    /// for one.
    fn find(tokenizer: &ModelTokenizer, mut segments: Vec<Segment>, limit: usize) -> Result<Self> {
        let split = |(at, segment): (usize, &Segment)| match segment {
            Segment::Text(text) => {
                text.rsplit_once(PLACE).map(|(before, after)| (at, before.to_owned(), after.to_owned()))
            }
            Segment::Control(_) | Segment::Embedded(_) => None,
        };
        let Some((at, before, text_after)) = segments.iter().enumerate().rev().find_map(split) else {
            let message = "the model's template for questions must print the document, found none in its output";
            return Err(SdkError::new(ErrorKind::UnsupportedContent, message));
        };
        let mut rest = segments.split_off(at);
        segments.push(Segment::Text(before));
        rest[0] = Segment::Text(text_after.clone());
        let n_before = tokenizer.encode_with_bos(&segments)?.len();
        let after = tokenizer.encode(if text_after.is_empty() { &rest[1..] } else { &rest })?;
        let needed = n_before + 1 + after.len(); // one of the document
        if limit < needed {
            let message = format!(
                "the query must leave space for a document: with one token of it, the question takes {needed} tokens, and the context holds {limit}"
            );
            return Err(SdkError::new(ErrorKind::PromptExceedsContext { needed, available: limit }, message));
        }
        Ok(Self { n_segments_after: rest.len() - 1, text_after, after })
    }

    /// A question up to the end of its document.
    fn until_end(&self, mut segments: Vec<Segment>) -> Vec<Segment> {
        segments.truncate(segments.len().saturating_sub(self.n_segments_after));
        if let Some(Segment::Text(text)) = segments.last_mut() {
            let length = text.strip_suffix(&self.text_after).map_or(text.len(), str::len);
            text.truncate(length);
        }
        segments
    }
}

fn no_question() -> SdkError {
    SdkError::new(ErrorKind::Internal, "a model that ranks must have a form of questions")
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
