//! Decision models: language models that answer questions with probabilities instead of text.

use serde_json::Value as Json;

use crate::checkpoint::config;
use crate::checkpoint::config_object::Config;
use crate::checkpoint::folder_tensors::{FolderTensors, RowChange};
use crate::checkpoint::invalid::invalid;
use crate::error::Result;
use crate::weights::{Folder, GgufFile, Weights};

/// The types that are supported, by their names in files.
const TYPES: [(&str, &str, DecisionType); 3] = [
    ("lfm2", "lfm2-d1", DecisionType::Logits),
    ("lfm2", "lfm2-d1-omni", DecisionType::Options),
    ("lfm3", "lfm3-d1", DecisionType::WholeLogits),
];
/// The class of models that are read by logits, in folders that bring their own code.
const FOLDER_CLASS: &str = "D1Model";
/// The class of folders whose model scores options.
const OPTIONS_CLASS: &str = "D1OmniModel";
/// Layers that score options, at most: more than any model has.
const MAX_SCORER_LAYERS: usize = 64;
/// The epsilon of the norms that score options, in folders: PyTorch's own.
const FOLDER_NORM_EPS: f32 = 1e-5;
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

/// The token whose row is scored, if a GGUF file names one. Folders name it among their special tokens.
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

/// The type of a folder whose class, or whose kind, is a decision model's.
fn type_of_class(config: &Json) -> Result<Option<DecisionType>> {
    if config::scores_options(config) {
        return Ok(Some(DecisionType::Options));
    }
    let class = config.pointer("/auto_map/AutoModel").and_then(Json::as_str).and_then(|class| class.rsplit('.').next());
    if class == Some(OPTIONS_CLASS) {
        return Err(invalid(format!("config.json has the class {OPTIONS_CLASS}, whose model_type must be d1_omni")));
    }
    if class != Some(FOLDER_CLASS) {
        return Ok(None);
    }
    match config::decoder(Config(config))?.text("model_type")? {
        Some("lfm2") => Ok(Some(DecisionType::Logits)),
        Some(other) => Err(invalid(format!(
            "a decision model of architecture {other:?} must be a GGUF file: which tensors a folder has is not known"
        ))),
        None => Err(invalid("config.json must have a model_type")),
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

/// The part of a folder that scores options, with its tensors under their names in GGUF files.
pub(super) fn folder_scorer(folder: &Folder, first_layer: usize) -> Result<(ScorerPlan, FolderTensors<'_>)> {
    let mut found = FolderTensors::new(folder);
    let mut add = |name: String, in_folder: String| found.add(name, &[in_folder], RowChange::default());
    add("token_types.weight".to_owned(), "head.type_emb.weight".to_owned())?;
    for (name, at) in [("cls.norm", 0), ("cls", 1), ("cls.output", 3)] {
        for kind in ["weight", "bias"] {
            add(format!("{name}.{kind}"), format!("head.scorer.{at}.{kind}"))?;
        }
    }
    let in_layer = |layer: usize, part: &str| format!("head.head.layers.{layer}.{part}");
    let has_layer = |layer: &usize| folder.shape(&in_layer(*layer, "norm1.weight")).is_some();
    let n_layers = (0..MAX_SCORER_LAYERS).take_while(has_layer).count();
    if n_layers == 0 {
        return Err(invalid(format!("tensor {} is missing", in_layer(0, "norm1.weight"))));
    }
    for layer in 0..n_layers {
        for (name, part) in [
            ("attn_norm", "norm1."),
            ("attn_qkv", "self_attn.in_proj_"),
            ("attn_output", "self_attn.out_proj."),
            ("ffn_norm", "norm2."),
            ("ffn_up", "linear1."),
            ("ffn_down", "linear2."),
        ] {
            for kind in ["weight", "bias"] {
                add(format!("blk.{}.{name}.{kind}", first_layer + layer), in_layer(layer, &format!("{part}{kind}")))?;
            }
        }
    }
    Ok((ScorerPlan { first_layer, n_layers, norm_eps: FOLDER_NORM_EPS }, found))
}

impl OptionTemperatures {
    /// The temperatures in the metadata of a GGUF file, or in the config.json of a folder.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for one that is not positive.
    pub(crate) fn read(files: &Weights) -> Result<Self> {
        let mut temperatures = Vec::new();
        for question_type in QUESTION_TYPES {
            let buckets = BUCKETS.iter().map(|(bucket, _)| format!("{question_type}.{bucket}"));
            for name in buckets.chain([question_type.to_owned()]) {
                let (place, temperature) = match files {
                    Weights::Gguf(file) => {
                        let key = format!("lfm2.decision.temperature.{name}");
                        let temperature = file.float(&key)?.map(f64::from);
                        (format!("metadata {key}"), temperature)
                    }
                    Weights::Folder(folder) => {
                        let key = folder_name(&name);
                        (format!("the temperature {key} in config.json"), folder_temperature(folder.config(), &key))
                    }
                };
                match temperature {
                    None => {}
                    Some(temperature) if (1e-3..=1e3).contains(&temperature) => temperatures.push((name, temperature)),
                    Some(temperature) => {
                        return Err(invalid(format!("{place} must be between 0.001 and 1000, found {temperature}")));
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

/// The name of a temperature in folders: `choice:3-5`, `choice:11+`.
fn folder_name(name: &str) -> String {
    match name.split_once('.') {
        Some((question_type, "11")) => format!("{question_type}:11+"),
        Some((question_type, bucket)) => format!("{question_type}:{}", bucket.replace('_', "-")),
        None => name.to_owned(),
    }
}

/// A temperature in config.json: in the object whose members are temperatures, whatever it is called. Some are for a number of options,
/// unlike in an object that numbers the types.
fn folder_temperature(config: &Json, name: &str) -> Option<f64> {
    let is_temperature = |(key, value): (&String, &Json)| {
        let question_type = key.split(':').next().unwrap_or_default();
        QUESTION_TYPES.contains(&question_type) && value.is_number()
    };
    let objects = config.as_object()?.values().filter_map(Json::as_object);
    let has_sizes = |object: &&serde_json::Map<String, Json>| object.keys().any(|key| key.contains(':'));
    let mut temperatures = objects.filter(has_sizes).filter(|object| object.iter().all(is_temperature));
    temperatures.find_map(|object| object.get(name)?.as_f64())
}
