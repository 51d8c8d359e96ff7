//! Decision models: language models that answer questions with probabilities instead of text.

use serde_json::Value as Json;

use crate::checkpoint::invalid::invalid;
use crate::error::Result;
use crate::weights::{GgufFile, Weights};

/// The types that are supported, by their names in files.
const TYPES: [(&str, &str, DecisionType); 3] = [
    ("lfm2", "lfm2-d1", DecisionType::Logits),
    ("lfm2", "lfm2-d1-omni", DecisionType::Options),
    ("lfm3", "lfm3-d1", DecisionType::WholeLogits),
];
/// How the class of such models ends in folders that bring their own code.
const FOLDER_CLASSES: [(&str, &str); 2] = [("D1Model", "lfm2-d1"), ("D1OmniModel", "lfm2-d1-omni")];
/// The kinds of questions, by their names in files.
pub(crate) const QUESTION_TYPES: [&str; 3] = ["choice", "score", "noul"];
/// The numbers of options that have temperatures of their own, by the names in files: up to two, up to five, up to ten, and more.
const BUCKETS: [(&str, usize); 4] = [("2", 2), ("3_5", 5), ("6_10", 10), ("11", usize::MAX)];

/// How a decision model is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecisionType {
    /// By the logits after a prompt.
    Logits,
    /// By the logits after a prompt that is computed as a whole: some layers attend to both sides.
    WholeLogits,
    /// By a score for each option, whose row a network that reads in both directions gives.
    Options,
}

/// The part of a decision model that gives scores of options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ScorerPlan {
    /// The number of its first layer in the files.
    pub(crate) first_layer: usize,
    pub(crate) n_layers: usize,
    pub(crate) norm_eps: f32,
}

/// The divisors of scores before they become probabilities.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OptionTemperatures(Vec<(String, f64)>);

/// The token whose row is scored, if the files name one.
///
/// # Errors
/// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for one that is not an id.
pub(crate) fn mask_token(files: &Weights) -> Result<Option<usize>> {
    match files {
        Weights::Gguf(file) => file.count("tokenizer.ggml.mask_token_id"),
        Weights::Folder(_) => Ok(None),
    }
}

/// The type of a decision model; `None` for other models.
///
/// # Errors
/// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for a type that is not supported.
pub(crate) fn decision_type(files: &Weights) -> Result<Option<DecisionType>> {
    match files {
        Weights::Gguf(file) => type_of(file),
        Weights::Folder(folder) => type_of_class(folder.config()),
    }
}

/// The type of a folder whose class of its own is a decision model's.
fn type_of_class(config: &Json) -> Result<Option<DecisionType>> {
    let class = config.pointer("/auto_map/AutoModel").and_then(Json::as_str).and_then(|class| class.rsplit('.').next());
    let found = FOLDER_CLASSES.iter().find(|(known, _)| Some(*known) == class);
    let is_omni = config.get("model_type").is_some_and(|name| name == "d1_omni");
    match found.map(|(_, name)| *name) {
        Some("lfm2-d1") => Ok(Some(DecisionType::Logits)),
        name if is_omni || name.is_some() => {
            let name = name.unwrap_or("lfm2-d1-omni");
            Err(invalid(format!("a decision model of type {name} must be a GGUF file, found a folder")))
        }
        _ => Ok(None),
    }
}

/// As [`decision_type`], of a GGUF file.
pub(super) fn type_of(file: &GgufFile) -> Result<Option<DecisionType>> {
    let Some(architecture) = file.text("general.architecture")? else { return Ok(None) };
    let key = format!("{architecture}.decision.type");
    let Some(name) = file.text(&key)? else { return Ok(None) };
    match TYPES.iter().find(|(of, known, _)| *of == architecture && *known == name) {
        Some((.., decision_type)) => Ok(Some(*decision_type)),
        None => {
            let names = TYPES.iter().filter(|(of, ..)| *of == architecture).map(|(_, name, _)| format!("{name:?}"));
            let rule = match names.collect::<Vec<_>>().join(" or ") {
                names if names.is_empty() => "is not supported with this architecture".to_owned(),
                names => format!("must be {names}"),
            };
            Err(invalid(format!("metadata {key} {rule}, found {name:?}")))
        }
    }
}

/// The layers of the part that gives scores, which come after the other layers and count as layers in the files.
pub(super) fn n_scorer_layers(file: &GgufFile, n_blocks: usize) -> Result<usize> {
    if type_of(file)? != Some(DecisionType::Options) {
        return Ok(0);
    }
    let key = "lfm2.decision.block_count";
    let n_layers = file.count(key)?.ok_or_else(|| invalid(format!("metadata {key} is missing")))?;
    if file.boolean("lfm2.attention.causal")? != Some(false) {
        return Err(invalid("metadata lfm2.attention.causal must be false in a decision model of this type"));
    }
    match (1..n_blocks).contains(&n_layers) {
        true => Ok(n_layers),
        false => Err(invalid(format!("metadata {key} must be from 1 to less than {n_blocks}, found {n_layers}"))),
    }
}

pub(super) fn scorer_plan(file: &GgufFile, first_layer: usize, n_layers: usize) -> Result<ScorerPlan> {
    let key = "lfm2.attention.layer_norm_epsilon";
    let norm_eps = file.float(key)?.ok_or_else(|| invalid(format!("metadata {key} is missing")))?;
    if !(0.0 < norm_eps && norm_eps <= 0.1) {
        return Err(invalid(format!("metadata {key} must be above 0 and at most 0.1, found {norm_eps}")));
    }
    Ok(ScorerPlan { first_layer, n_layers, norm_eps })
}

impl OptionTemperatures {
    /// The temperatures in the metadata.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for one that is not positive.
    pub(crate) fn read(files: &Weights) -> Result<Self> {
        let Weights::Gguf(file) = files else { return Ok(Self::default()) };
        let mut temperatures = Vec::new();
        for question_type in QUESTION_TYPES {
            let buckets = BUCKETS.iter().map(|(bucket, _)| format!("{question_type}.{bucket}"));
            for name in buckets.chain([question_type.to_owned()]) {
                let key = format!("lfm2.decision.temperature.{name}");
                match file.float(&key)?.map(f64::from) {
                    None => {}
                    Some(temperature) if (1e-3..=1e3).contains(&temperature) => temperatures.push((name, temperature)),
                    Some(temperature) => {
                        return Err(invalid(format!(
                            "metadata {key} must be between 0.001 and 1000, found {temperature}"
                        )));
                    }
                }
            }
        }
        Ok(Self(temperatures))
    }

    /// The temperature of a question with this number of options.
    pub(crate) fn of(&self, question_type: &str, n_options: usize) -> f64 {
        let bucket = BUCKETS.iter().find(|(_, most)| n_options <= *most).map_or("", |(bucket, _)| bucket);
        let names = [format!("{question_type}.{bucket}"), question_type.to_owned()];
        let found = names.iter().find_map(|name| self.0.iter().find(|(known, _)| known == name));
        found.map_or(1.0, |(_, temperature)| *temperature)
    }
}
