//! Choosing among many functions before a reply.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::embedding::model::EmbeddingModel;
use crate::embedding::options::{EmbedOptions, RerankOptions, TextUse};
use crate::embedding::vectors::cosine_similarity;
use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{FunctionRanker, SdkFunction, check_chosen};
use crate::runner::ModelRunner;

/// Vectors of functions, and of messages, that are kept. With 384 values each, they take 6 MiB.
const MAX_KNOWN: usize = 4096;

impl ModelRunner {
    /// Sets the model that chooses among the functions of this runner's conversations, for replies with
    /// [`max_offered_functions`](crate::GenerationOptions::max_offered_functions): by the vectors of messages, and of the names and
    /// descriptions of functions, on the threads that prepare prompts. The vectors are kept, so that each text is computed once.
    ///
    /// ```
    /// use causerie::embedding::EmbeddingModel;
    /// use causerie::{GenerationOptions, SdkFunction};
    ///
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/bert");
    /// # let runner = causerie::testing::ScriptedModel::new().reply("Hello!").load()?;
    /// runner.set_function_ranker(&EmbeddingModel::load(model)?)?;
    /// let conversation = runner.create_conversation("");
    /// for name in ["set_timer", "send_mail", "get_weather"] {
    ///     conversation.register_function(SdkFunction::new(name, "", vec![]))?;
    /// }
    /// let options = GenerationOptions { max_offered_functions: Some(2), ..Default::default() };
    /// conversation.respond(causerie::ChatMessage::user("Is it raining?"), options)?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedContent`] for a model that does not give one vector for a text.
    pub fn set_function_ranker(&self, model: &EmbeddingModel) -> Result<()> {
        if !model.info().embeds {
            let message =
                format!("the model {:?} gives no vectors of texts to choose functions by", model.info().architecture);
            return Err(SdkError::new(ErrorKind::UnsupportedContent, message));
        }
        self.put_function_ranker(Arc::new(VectorRanker {
            model: model.clone(),
            messages: Mutex::default(),
            functions: Mutex::default(),
        }));
        Ok(())
    }
}

impl EmbeddingModel {
    /// Chooses the functions whose names and descriptions fit a message best: their names, the best first. As
    /// [`allowed_tools`](crate::GenerationOptions::allowed_tools) with a constraint, they keep a model from calling others: the prompt
    /// still lists all functions, so that it is the same for every message, and stays in the prefix cache. As
    /// [`offered_functions`](crate::GenerationOptions::offered_functions), they alone are in the prompt, and a small model makes more right
    /// calls (docs/constrained-calls.md).
    ///
    /// Models of vectors compare them; other models rank. With no more functions than wanted, all are chosen, and nothing is computed.
    ///
    /// ```
    /// use causerie::embedding::EmbeddingModel;
    /// use causerie::functions_from_json;
    ///
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/bert");
    /// let model = EmbeddingModel::load(model)?;
    /// let functions = functions_from_json(
    ///     r#"[{"type": "function", "function": {"name": "set_timer", "description": "Start a timer."}},
    ///         {"type": "function", "function": {"name": "send_mail", "description": "Send a mail."}}]"#,
    /// )?;
    /// let names = model.choose_functions("Ten minutes for the pasta, please.", &functions, 1)?;
    /// assert_eq!(names.len(), 1);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`embed`](Self::embed), or as [`rerank`](Self::rerank); [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) if
    /// none is to be chosen.
    pub fn choose_functions(&self, message: &str, functions: &[SdkFunction], n_chosen: usize) -> Result<Vec<String>> {
        check_chosen(n_chosen)?;
        let named = |at: usize| functions[at].name.clone();
        if functions.len() <= n_chosen {
            return Ok((0..functions.len()).map(named).collect());
        }
        let texts: Vec<String> = functions.iter().map(text_of).collect();
        if !self.info().embeds {
            let options = RerankOptions { top_n: Some(n_chosen), ..RerankOptions::default() };
            let ranking = self.rerank(message, &texts, options)?;
            return Ok(ranking.results.into_iter().map(|result| named(result.index)).collect());
        }
        let query = vectors(self, [message], TextUse::Query)?;
        let texts = vectors(self, texts.iter().map(String::as_str), TextUse::Document)?;
        Ok(by_similarity(&query[0], texts.iter().map(Vec::as_slice))?.into_iter().take(n_chosen).map(named).collect())
    }
}

/// Ranks functions by the vectors of their texts.
struct VectorRanker {
    model: EmbeddingModel,
    messages: Mutex<VectorsByText>,
    functions: Mutex<VectorsByText>,
}

/// By the digests of texts, which may be long.
type VectorsByText = HashMap<[u8; 32], Arc<[f32]>>;

impl FunctionRanker for VectorRanker {
    fn ranked(&self, message: &str, functions: &[&SdkFunction]) -> Result<Vec<usize>> {
        let texts = functions.iter().map(|function| text_of(function)).collect();
        let messages = self.vectors(vec![message.to_owned()], TextUse::Query, &self.messages)?;
        let functions = self.vectors(texts, TextUse::Document, &self.functions)?;
        by_similarity(&messages[0], functions.iter().map(|vector| &**vector))
    }
}

impl VectorRanker {
    /// The vectors of texts. A vector does not depend on the texts that are computed with it.
    fn vectors(&self, texts: Vec<String>, text_use: TextUse, known: &Mutex<VectorsByText>) -> Result<Vec<Arc<[f32]>>> {
        let found: Vec<Option<Arc<[f32]>>> = {
            let known = known.lock();
            texts.iter().map(|text| known.get(&digest_of(text)).cloned()).collect()
        };
        let missing: Vec<&str> =
            texts.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(text, _)| text.as_str()).collect();
        let mut computed = match missing.is_empty() {
            true => Vec::new(),
            false => vectors(&self.model, missing, text_use)?,
        }
        .into_iter();
        let mut known = known.lock();
        if MAX_KNOWN < known.len() {
            known.clear();
        }
        let mut keep = |text: &str, vector: Vec<f32>| {
            let vector = Arc::<[f32]>::from(vector);
            known.insert(digest_of(text), Arc::clone(&vector));
            vector
        };
        let each = texts.iter().zip(found);
        Ok(each.map(|(text, found)| found.unwrap_or_else(|| keep(text, computed.next().unwrap_or_default()))).collect())
    }
}

fn digest_of(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

fn vectors<'a>(
    model: &EmbeddingModel,
    texts: impl IntoIterator<Item = &'a str>,
    text_use: TextUse,
) -> Result<Vec<Vec<f32>>> {
    Ok(model.embed(texts, EmbedOptions { text_use, ..EmbedOptions::default() })?.vectors)
}

/// The indices of vectors, the most similar first; of equal ones, the first.
fn by_similarity<'a>(query: &[f32], vectors: impl Iterator<Item = &'a [f32]>) -> Result<Vec<usize>> {
    let similarity = |(at, vector)| Ok((cosine_similarity(query, vector)?, at));
    let mut similarities = vectors.enumerate().map(similarity).collect::<Result<Vec<(f32, usize)>>>()?;
    similarities.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(similarities.into_iter().map(|(_, at)| at).collect())
}

/// The name in words, and the description if there is one.
fn text_of(function: &SdkFunction) -> String {
    let name = function.name.replace('_', " ");
    match &*function.description {
        "" => name,
        description => format!("{name}: {description}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_without_a_description_is_its_name() {
        let texts = [("eat_bread", ""), ("fly", "Take off.")]
            .map(|(name, text)| text_of(&SdkFunction::new(name, text, vec![])));
        assert_eq!(texts, ["eat bread", "fly: Take off."]);
    }

    #[test]
    fn a_ranker_chooses_as_the_model_does_and_computes_each_text_once() {
        let model =
            EmbeddingModel::load(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/bert")).unwrap();
        let names = ["eat_bread", "fly", "send_mail", "set_timer"];
        let functions = names.map(|name| SdkFunction::new(name, "Do it.", vec![]));
        let given: Vec<&SdkFunction> = functions.iter().collect();
        let ranker = VectorRanker { model: model.clone(), messages: Mutex::default(), functions: Mutex::default() };
        for message in ["A man eats bread.", "Wake me.", "A man eats bread."] {
            let chosen = model.choose_functions(message, &functions, 3).unwrap();
            let ranked = ranker.ranked(message, &given).unwrap();
            assert_eq!(ranked.iter().take(3).map(|at| names[*at]).collect::<Vec<_>>(), chosen);
        }
        assert_eq!((ranker.messages.lock().len(), ranker.functions.lock().len()), (2, 4));
    }

    #[test]
    fn a_model_without_vectors_of_texts_chooses_no_functions() {
        let ranks = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/bert-rank-f16.gguf");
        let runner = crate::testing::ScriptedModel::new().load().unwrap();
        let err = runner.set_function_ranker(&EmbeddingModel::load(ranks).unwrap()).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::UnsupportedContent);
    }
}
