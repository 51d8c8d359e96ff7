//! What the metadata of a GGUF file says of pooling and of the maps after it.

use crate::checkpoint::embedding::facts::{EmbeddingFacts, MapActivation, MapPlan, Pooling, Scoring};
use crate::checkpoint::invalid::invalid;
use crate::error::Result;
use crate::weights::{GgufFile, Tensors};

/// Values of `pooling_type`.
const NONE: usize = 0;
const MEAN: usize = 1;
const FIRST: usize = 2;
const LAST: usize = 3;
const RANK: usize = 4;

/// The maps after pooling, if the file has them.
const MAPS: [&str; 2] = ["dense_2", "dense_3"];

pub(crate) fn facts(file: &GgufFile, tensors: &Tensors, context_size: usize) -> Result<EmbeddingFacts> {
    let architecture = file.text("general.architecture")?.unwrap_or_default();
    let key = |name: &str| format!("{architecture}.{name}");
    if let Some(kind) = file.text(&key("decision.type"))? {
        return Err(invalid(format!("a decision model ({kind:?}) embeds no texts")));
    }
    let has = |name: &str| tensors.shape(&format!("{name}.weight")).is_some();
    let maps: Vec<_> = MAPS.into_iter().filter(|name| has(name)).collect();
    let maps = maps.into_iter().map(|name| MapPlan::tensor(name, MapActivation::Identity)).collect();
    let max_tokens = context_size.min(file.count(&key("context_length"))?.unwrap_or(usize::MAX));
    let pooled = |pooling: Option<Pooling>, maps: Vec<MapPlan>| EmbeddingFacts {
        pooling,
        is_normalised: true, // as llama.cpp's programs do
        maps,
        ..EmbeddingFacts::unpooled(max_tokens)
    };
    match file.count(&key("pooling_type"))?.unwrap_or(NONE) {
        // A map after no pooling is that of a model with a vector for each token.
        NONE if has(MAPS[0]) => Ok(pooled(Some(Pooling::Rows), maps)),
        NONE => Ok(pooled(None, Vec::new())),
        MEAN => Ok(pooled(Some(Pooling::Mean), maps)),
        FIRST => Ok(pooled(Some(Pooling::First), maps)),
        LAST => Ok(pooled(Some(Pooling::Last), maps)),
        RANK => {
            let is_causal = file.boolean(&key("attention.causal"))?.unwrap_or(architecture != "bert");
            let (maps, scoring) = ranking(file, tensors, &key)?;
            let pooling = Some(if is_causal { Pooling::Last } else { Pooling::First });
            Ok(EmbeddingFacts { pooling, maps, scoring: Some(scoring), ..EmbeddingFacts::unpooled(max_tokens) })
        }
        other => {
            let key = key("pooling_type");
            Err(invalid(format!("metadata {key} must be from {NONE} to {RANK}, found {other}")))
        }
    }
}

/// The maps and the scoring of a model that ranks.
fn ranking(file: &GgufFile, tensors: &Tensors, key: &dyn Fn(&str) -> String) -> Result<(Vec<MapPlan>, Scoring)> {
    let has = |name: &str| tensors.shape(&format!("{name}.weight")).is_some();
    if has("cls.norm") {
        return Err(invalid("tensor cls.norm.weight is not supported"));
    }
    if let Some(found) = file.text(&key("classifier.activation"))?.filter(|found| *found != "tanh") {
        return Err(invalid(format!("metadata {} must be tanh, found {found:?}", key("classifier.activation"))));
    }
    let Some(&[n_outputs, _]) = tensors.shape("cls.output.weight") else {
        return Err(invalid("tensor cls.output.weight is missing: without it, a model that ranks has no scores"));
    };
    let dense = has("cls").then(|| MapPlan::tensor("cls", MapActivation::Tanh));
    let output = MapPlan::tensor("cls.output", MapActivation::Identity);
    let maps = dense.into_iter().chain([output]).collect();
    let name = key("classifier.output_labels");
    let labels = file.byte_strings(&name)?.unwrap_or_default();
    let place = |label: &[u8]| labels.iter().position(|found| *found == label);
    match (n_outputs, place(b"yes"), place(b"no")) {
        (1, ..) => Ok((maps, Scoring::Head { is_sigmoid: true })),
        (2, Some(yes_at @ 0..=1), Some(0..=1)) => {
            let template = file.text("tokenizer.chat_template.rerank")?.map(str::to_owned);
            Ok((maps, Scoring::Labels { yes_at, template }))
        }
        _ => Err(invalid(format!(
            "tensor cls.output.weight must have one row, or the rows of the labels yes and no in {name}, found {n_outputs}"
        ))),
    }
}
