//! What the files of a folder say of pooling, maps, prompts and lengths.

use serde_json::Value as Json;

use crate::checkpoint::config_object::Config;
use crate::checkpoint::embedding::bert;
use crate::checkpoint::embedding::facts::{EmbeddingFacts, EmbeddingPrompts, MapActivation, MapPlan, Pooling, Scoring};
use crate::checkpoint::embedding::modules;
use crate::checkpoint::folder_tensors::{FolderTensors, RowChange};
use crate::checkpoint::invalid::invalid;
use crate::error::Result;
use crate::weights::{Folder, Tensors};

/// The facts, and the tensors of the maps after pooling.
pub(crate) fn facts(folder: &Folder, context_size: usize) -> Result<(EmbeddingFacts, Tensors)> {
    let mut facts = EmbeddingFacts::unpooled(max_tokens(folder, context_size)?);
    let mut tensors = Tensors::default();
    if let Some(listed) = folder.json("modules.json")? {
        tensors = modules::read(folder, &listed, &mut facts)?;
    } else if is_classifier(folder.config()) {
        tensors = classifier(folder, &mut facts)?;
    } else if bert::is_bert(folder.config()) {
        facts.pooling = Some(Pooling::Mean); // as sentence-transformers reads such a folder
    }
    if let Some(settings) = folder.json("config_sentence_transformers.json")? {
        read_settings(&settings, &mut facts)?;
    }
    Ok((facts, tensors))
}

/// Tokens of a text at most, with the tokens around it.
fn max_tokens(folder: &Folder, context_size: usize) -> Result<usize> {
    let stated = |name: &str, key: &str| {
        let count = folder.json(name)?.and_then(|json| json.get(key)?.as_u64());
        Ok::<_, crate::error::SdkError>(count.and_then(|count| usize::try_from(count).ok()))
    };
    let known = match stated("sentence_bert_config.json", "max_seq_length")? {
        None => stated("tokenizer_config.json", "model_max_length")?,
        known => known,
    };
    let in_config = Config(folder.config()).count(&["max_position_embeddings"])?;
    Ok([known, in_config].into_iter().flatten().fold(context_size, usize::min))
}

fn is_classifier(config: &Json) -> bool {
    let named = |class: &Json| class.as_str().is_some_and(|class| class.ends_with("ForSequenceClassification"));
    bert::is_bert(config)
        && config.get("architectures").and_then(Json::as_array).is_some_and(|classes| classes.iter().any(named))
}

/// The head of a cross-encoder.
fn classifier(folder: &Folder, facts: &mut EmbeddingFacts) -> Result<Tensors> {
    let mut found = FolderTensors::new(folder);
    for (name, in_folder) in [("cls", "bert.pooler.dense"), ("cls.output", "classifier")] {
        for kind in ["weight", "bias"] {
            found.add(format!("{name}.{kind}"), &[format!("{in_folder}.{kind}")], RowChange::default())?;
        }
    }
    match found.tensors.shape("cls.output.weight") {
        Some([1, _]) => {}
        None => return Err(found.tensors.missing("cls.output.weight")),
        found => {
            return Err(invalid(format!(
                "tensor classifier.weight must have one row, the score, found shape {found:?}"
            )));
        }
    }
    facts.pooling = Some(Pooling::First);
    facts.maps =
        vec![MapPlan::tensor("cls", MapActivation::Tanh), MapPlan::tensor("cls.output", MapActivation::Identity)];
    facts.scoring = Some(Scoring::Head { is_sigmoid: is_sigmoid(folder.config())? });
    Ok(found.tensors)
}

/// Whether the score is the sigmoid of the output, as it is if the files do not say.
fn is_sigmoid(config: &Json) -> Result<bool> {
    let newer = config.pointer("/sentence_transformers/activation_fn");
    let function = newer.or(config.get("sbert_ce_default_activation_function")).and_then(Json::as_str);
    match function.and_then(|name| name.rsplit('.').next()) {
        None | Some("Sigmoid") => Ok(true),
        Some("Identity") => Ok(false),
        Some(other) => Err(invalid(format!("the activation of scores must be Sigmoid or Identity, found {other:?}"))),
    }
}

/// Prompts, and the settings of models with a vector for each token.
fn read_settings(settings: &Json, facts: &mut EmbeddingFacts) -> Result<()> {
    let settings = Config(settings);
    let mut named: Vec<(String, String)> = Vec::new();
    if let Some(prompts) = settings.object("prompts")? {
        let entries = prompts.0.as_object().into_iter().flatten();
        named.extend(entries.filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned()))));
    }
    for (key, name) in [("query_prefix", "query"), ("document_prefix", "document")] {
        if let Some(text) = settings.text(key)?.filter(|_| !named.iter().any(|(known, _)| known == name)) {
            named.push((name.to_owned(), text.to_owned()));
        }
    }
    let default = settings.text("default_prompt_name")?.map(str::to_owned);
    facts.prompts = EmbeddingPrompts { named, default, ..facts.prompts.clone() };
    if facts.pooling == Some(Pooling::Rows) {
        if settings.boolean(&["do_query_expansion"])? == Some(true) {
            return Err(invalid("do_query_expansion in config_sentence_transformers.json is not supported"));
        }
        facts.max_query_tokens = settings.count(&["query_length"])?.unwrap_or(facts.max_tokens).min(facts.max_tokens);
        facts.max_tokens = settings.count(&["document_length"])?.unwrap_or(facts.max_tokens).min(facts.max_tokens);
        let skipped = settings.list("skiplist_words")?.into_iter().flatten();
        facts.skipped_words = skipped.filter_map(Json::as_str).map(str::to_owned).collect();
    }
    Ok(())
}
