//! `causerie embed` and `rerank`: vectors of texts, and documents ordered by how well they fit a query.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use causerie::embedding::{EmbedOptions, EmbeddingModel, EmbeddingModelOptions, RerankOptions, TextUse};
use serde_json::json;

use crate::arguments::{EmbedArguments, RerankArguments, TextUseName};
use crate::failure::Failure;
use crate::model::LocalModel;
use crate::output::{print_line, remark};

/// The name of standard input.
const STANDARD: &str = "-";
/// Bytes of standard input at most.
const MAX_BYTES: u64 = 1 << 30;

/// Prints a JSON object for each text: its vector, or the vectors of its tokens.
pub(crate) fn embed(arguments: &EmbedArguments, model: &LocalModel) -> Result<(), Failure> {
    let texts = texts(&arguments.texts, arguments.lines.as_deref())?;
    let model = load(&arguments.model, model, arguments.threads)?;
    let options = EmbedOptions {
        text_use: match arguments.text_use {
            None => TextUse::Unspecified,
            Some(TextUseName::Query) => TextUse::Query,
            Some(TextUseName::Document) => TextUse::Document,
        },
        prompt: arguments.prompt.clone(),
        dimensions: arguments.dimensions,
        ..EmbedOptions::default()
    };
    // Written one by one: a file may have many lines.
    for (at, text) in texts.into_iter().enumerate() {
        let (line, truncated) = match model.info().embeds_tokens {
            true => {
                let embedded = model.embed_tokens([text], options.clone())?;
                (json!({ "embeddings": embedded.texts[0] }), embedded.truncated)
            }
            false => {
                let embedded = model.embed([text], options.clone())?;
                (json!({ "embedding": embedded.vectors[0] }), embedded.truncated)
            }
        };
        print_line(line)?;
        if !truncated.is_empty() {
            remark(format_args!("text {} was too long for the model, and its end was cut", at + 1));
        }
    }
    Ok(())
}

/// Prints a line for each document, the best first: its relevance, its number from 1, and its text.
pub(crate) fn rerank(arguments: &RerankArguments, model: &LocalModel) -> Result<(), Failure> {
    let documents = texts(&arguments.documents, arguments.lines.as_deref())?;
    let model = load(&arguments.model, model, arguments.threads)?;
    let options = RerankOptions { top_n: arguments.top, instruction: arguments.instruction.clone() };
    let ranking = model.rerank(&arguments.query, &documents, options)?;
    for at in &ranking.truncated {
        remark(format_args!(
            "document {} and the query were too long together for the model, and an end was cut",
            at + 1
        ));
    }
    for result in ranking.results {
        let (number, document) = (result.index + 1, documents[result.index].replace('\n', " "));
        print_line(format_args!("{:.6}\t{number}\t{document}", result.relevance))?;
    }
    Ok(())
}

fn load(name: &str, model: &LocalModel, threads: Option<usize>) -> Result<EmbeddingModel, Failure> {
    let options = EmbeddingModelOptions { threads, ..EmbeddingModelOptions::default() };
    Ok(EmbeddingModel::load_with(model.to_load().unwrap_or(name), options)?)
}

/// The texts of the arguments, and the lines of a file that are not empty.
fn texts(given: &[String], file: Option<&Path>) -> Result<Vec<String>, Failure> {
    let mut texts = given.to_vec();
    if let Some(file) = file {
        let lines = match file == Path::new(STANDARD) {
            true => {
                let mut lines = String::new();
                io::stdin().take(MAX_BYTES).read_to_string(&mut lines).map(|_| lines)
            }
            false => fs::read_to_string(file),
        };
        let lines = lines.map_err(|err| Failure(format!("cannot read {}: {err}", file.display())))?;
        texts.extend(lines.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned));
    }
    match texts.is_empty() {
        true => Err(Failure("a text must be given, or a file of lines".to_owned())),
        false => Ok(texts),
    }
}
