//! Embeddings and rankings as JSON.

use causerie::embedding::{
    EmbedOptions, EmbeddingModelInfo, EmbeddingModelOptions, Ranking, RerankOptions, TextEmbeddings, TextUse,
};
use causerie::{Result, Value};

use crate::decisions::{integer, object};
use crate::requests::read_request;

/// Texts to embed, and how.
#[derive(Clone, Debug)]
pub struct EmbedRequest {
    /// The texts, in the order of the vectors.
    pub texts: Vec<String>,
    /// How they are embedded.
    pub options: EmbedOptions,
}

/// Documents to rank for a query, and how.
#[derive(Clone, Debug)]
pub struct RerankRequest {
    /// What the documents are ranked for.
    pub query: String,
    /// The documents.
    pub documents: Vec<String>,
    /// How they are ranked.
    pub options: RerankOptions,
}

#[derive(causerie::SdkFunctionParameterType)]
enum AskedUse {
    Unspecified,
    Query,
    Document,
}

/// A request.
#[derive(causerie::SdkFunctionParameterType)]
struct AskedEmbeddings {
    texts: Vec<String>,
    text_use: Option<AskedUse>,
    prompt: Option<String>,
    dimensions: Option<usize>,
    normalises: Option<bool>,
    truncates: Option<bool>,
}

/// A request.
#[derive(causerie::SdkFunctionParameterType)]
struct AskedRanking {
    query: String,
    documents: Vec<String>,
    top_n: Option<usize>,
    instruction: Option<String>,
}

/// Options.
#[derive(causerie::SdkFunctionParameterType)]
struct AskedLoading {
    threads: Option<usize>,
    context_size: Option<usize>,
}

impl EmbedRequest {
    /// Reads a request: an object with `texts` and, each if it is wanted, `text_use` (`query`, `document` or `unspecified`), `prompt`,
    /// `dimensions`, `normalises` and `truncates`.
    ///
    /// ```
    /// let request = causerie_plain::EmbedRequest::from_json(r#"{"texts": ["Tea"], "text_use": "query"}"#)?;
    /// assert_eq!(request.texts, ["Tea"]);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// `Serialization` for text that is not JSON, `InvalidOption` for an unknown member, and `InvalidArgument` with the place of what
    /// is wrong.
    pub fn from_json(text: &str) -> Result<Self> {
        let asked: AskedEmbeddings = read_request(text, "request")?;
        let defaults = EmbedOptions::default();
        let options = EmbedOptions {
            text_use: match asked.text_use {
                None | Some(AskedUse::Unspecified) => TextUse::Unspecified,
                Some(AskedUse::Query) => TextUse::Query,
                Some(AskedUse::Document) => TextUse::Document,
            },
            prompt: asked.prompt,
            dimensions: asked.dimensions,
            normalises: asked.normalises,
            truncates: asked.truncates.unwrap_or(defaults.truncates),
        };
        Ok(Self { texts: asked.texts, options })
    }
}

impl RerankRequest {
    /// Reads a request: an object with `query`, `documents` and, each if it is wanted, `top_n` and `instruction`.
    ///
    /// ```
    /// let request = causerie_plain::RerankRequest::from_json(r#"{"query": "Tea?", "documents": ["a", "b"], "top_n": 1}"#)?;
    /// assert_eq!(request.options.top_n, Some(1));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// `Serialization` for text that is not JSON, `InvalidOption` for an unknown member, and `InvalidArgument` with the place of what
    /// is wrong.
    pub fn from_json(text: &str) -> Result<Self> {
        let asked: AskedRanking = read_request(text, "request")?;
        let options = RerankOptions { top_n: asked.top_n, instruction: asked.instruction };
        Ok(Self { query: asked.query, documents: asked.documents, options })
    }
}

/// Reads options of loading: an object with `threads` and `context_size`, each if it is wanted.
///
/// ```
/// let options = causerie_plain::embedding_options(r#"{"threads": 2}"#)?;
/// assert_eq!(options.threads, Some(2));
/// # Ok::<(), causerie::SdkError>(())
/// ```
///
/// # Errors
/// `Serialization` for text that is not JSON, `InvalidOption` for an unknown option, and `InvalidArgument` with the place of what is
/// wrong.
pub fn embedding_options(text: &str) -> Result<EmbeddingModelOptions> {
    let asked: AskedLoading = read_request(text, "options")?;
    Ok(EmbeddingModelOptions { threads: asked.threads, context_size: asked.context_size, ..Default::default() })
}

/// Returns a model's description as JSON.
#[must_use]
pub fn embedding_info_json(info: &EmbeddingModelInfo) -> String {
    object([
        ("architecture", info.architecture.as_str().into()),
        ("dimensions", integer(info.dimensions)),
        ("max_tokens", integer(info.max_tokens)),
        ("embeds", info.embeds.into()),
        ("embeds_tokens", info.embeds_tokens.into()),
        ("ranks", info.ranks.into()),
        ("prompts", info.prompts.iter().map(|name| Value::from(name.as_str())).collect()),
    ])
    .to_string()
}

/// Returns what is known beside the vectors as JSON: `token_count` and `truncated`, the texts that were cut, as indices.
#[must_use]
pub fn embeddings_json(found: &TextEmbeddings) -> String {
    object([("token_count", integer(found.n_tokens)), ("truncated", indices(&found.truncated))]).to_string()
}

/// Returns a ranking as JSON: `results`, the best first, each with `index` and `relevance`, and `token_count` and `truncated`.
#[must_use]
pub fn ranking_json(found: &Ranking) -> String {
    let results = found.results.iter().map(|document| {
        object([("index", integer(document.index)), ("relevance", Value::Number(document.relevance.into()))])
    });
    object([
        ("results", results.collect()),
        ("token_count", integer(found.n_tokens)),
        ("truncated", indices(&found.truncated)),
    ])
    .to_string()
}

fn indices(of: &[usize]) -> Value {
    of.iter().copied().map(integer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_are_left_out_have_the_defaults_of_rust() {
        assert_eq!(EmbedRequest::from_json(r#"{"texts": []}"#).unwrap().options, EmbedOptions::default());
        assert_eq!(embedding_options("{}").unwrap(), EmbeddingModelOptions::default());
        let ranking = RerankRequest::from_json(r#"{"query": "a", "documents": ["b"]}"#).unwrap();
        assert_eq!(
            (ranking.query.as_str(), ranking.documents, ranking.options),
            ("a", vec!["b".to_owned()], RerankOptions::default())
        );
    }

    #[test]
    fn every_option_is_read() {
        let text = r#"{"texts": ["a"], "text_use": "document", "prompt": "p", "dimensions": 2, "normalises": false, "truncates": true}"#;
        let options = EmbedOptions {
            text_use: TextUse::Document,
            prompt: Some("p".to_owned()),
            dimensions: Some(2),
            normalises: Some(false),
            truncates: true,
        };
        assert_eq!(EmbedRequest::from_json(text).unwrap().options, options);
    }

    #[test]
    fn a_wrong_request_is_refused_with_its_place() {
        for (text, place) in [("[", "JSON object"), ("{}", "texts"), (r#"{"texts": ["a", 3]}"#, "texts[1]")] {
            let reason = EmbedRequest::from_json(text).unwrap_err().to_string();
            assert!(reason.contains(place), "{reason}");
        }
        assert!(RerankRequest::from_json("{}").unwrap_err().to_string().contains("query"));
    }
}
