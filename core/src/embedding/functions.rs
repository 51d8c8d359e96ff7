//! Choosing among many functions before a reply.

use crate::embedding::model::EmbeddingModel;
use crate::embedding::options::{EmbedOptions, RerankOptions, TextUse};
use crate::error::Result;
use crate::function::{SdkFunction, check_chosen};

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
        let for_use = |text_use| EmbedOptions { text_use, ..EmbedOptions::default() };
        let query = self.embed([message], for_use(TextUse::Query))?;
        let texts = self.embed(texts.iter().map(String::as_str), for_use(TextUse::Document))?;
        let similarity = |at: usize| Ok((query.similarity(0, &texts, at)?, at));
        let mut similarities = (0..functions.len()).map(similarity).collect::<Result<Vec<_>>>()?;
        similarities.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(similarities.into_iter().take(n_chosen).map(|(_, at)| named(at)).collect())
    }
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
}
