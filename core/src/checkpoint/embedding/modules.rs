//! The modules of a sentence-transformers folder, which are run in their order.

use serde_json::Value as Json;

use crate::checkpoint::config_object::Config;
use crate::checkpoint::embedding::facts::{EmbeddingFacts, MapActivation, MapPlan, MapSource, Pooling, Scoring};
use crate::checkpoint::invalid::invalid;
use crate::error::Result;
use crate::weights::{Folder, Tensors};

/// Modules at most; known models have five.
const MAX_MODULES: usize = 32;

/// Reads the modules into the facts, and returns the tensors of the maps.
pub(super) fn read(folder: &Folder, modules: &Json, facts: &mut EmbeddingFacts) -> Result<Tensors> {
    let modules = modules.as_array().filter(|modules| (1..=MAX_MODULES).contains(&modules.len()));
    let modules =
        modules.ok_or_else(|| invalid(format!("modules.json must be an array of 1 to {MAX_MODULES} modules")))?;
    let mut tensors = Tensors::default();
    // Models with a vector for each token have no pooling.
    facts.pooling = Some(Pooling::Rows);
    let mut before = None;
    for (at, module) in modules.iter().enumerate() {
        let text = |key: &str| module.get(key).and_then(Json::as_str);
        let kind = text("type").and_then(|name| name.rsplit('.').next());
        let kind = kind.ok_or_else(|| invalid(format!("module {at} in modules.json must have a type")))?;
        let path = text("path").unwrap_or_default();
        if path.split('/').any(|part| part == "..") || path.starts_with('/') {
            return Err(invalid(format!("module {at} in modules.json must have a path in the folder, found {path:?}")));
        }
        check_order(at, kind, before)?;
        before = Some(kind);
        let module = ModulePlace { folder, path, at };
        match kind {
            "Transformer" if path.is_empty() => {}
            "Pooling" => facts.pooling = Some(module.pooling(facts)?),
            "Dense" => facts.maps.push(module.dense(&mut tensors)?),
            "Normalize" => facts.is_normalised = true,
            "LogitScore" => {
                facts.pooling = Some(Pooling::Last);
                facts.maps.push(module.labels()?);
                facts.scoring = Some(Scoring::Labels { yes_at: 0, template: None });
            }
            other => return Err(invalid(format!("module {at} in modules.json ({other}) is not supported"))),
        }
    }
    Ok(tensors)
}

/// Checks that a module follows another one as it is computed here: all maps after pooling, and the normalisation at last.
fn check_order(at: usize, kind: &str, before: Option<&str>) -> Result<()> {
    match (before, kind) {
        (None, "Transformer")
        | (Some("Transformer"), "Pooling" | "Dense" | "Normalize" | "LogitScore")
        | (Some("Pooling" | "Dense"), "Dense" | "Normalize") => Ok(()),
        (None, _) => {
            Err(invalid(format!("module {at} in modules.json must be a Transformer: {kind} is not supported there")))
        }
        (Some(before), _) => {
            Err(invalid(format!("module {at} in modules.json ({kind}) is not supported after {before}")))
        }
    }
}

/// A module's folder.
struct ModulePlace<'a> {
    folder: &'a Folder,
    path: &'a str,
    at: usize,
}

impl ModulePlace<'_> {
    fn config(&self) -> Result<Json> {
        let name = format!("{}/config.json", self.path);
        self.folder.json(&name)?.ok_or_else(|| invalid(format!("{name} is missing")))
    }

    fn pooling(&self, facts: &mut EmbeddingFacts) -> Result<Pooling> {
        let json = self.config()?;
        let place = || format!("{}/config.json", self.path);
        facts.prompts.are_left_out = json.get("include_prompt") == Some(&Json::Bool(false));
        let modes: Vec<String> = match json.get("pooling_mode") {
            Some(Json::String(mode)) => vec![mode.clone()],
            Some(Json::Array(modes)) => modes.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
            _ => {
                let keys = json.as_object().into_iter().flatten();
                let set = keys.filter(|(_, value)| **value == Json::Bool(true));
                set.filter_map(|(key, _)| key.strip_prefix("pooling_mode_")).map(str::to_owned).collect()
            }
        };
        match modes.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["mean" | "mean_tokens"] => Ok(Pooling::Mean),
            ["cls" | "cls_token"] => Ok(Pooling::First),
            ["lasttoken"] => Ok(Pooling::Last),
            ref modes => {
                let (place, modes) = (place(), modes.join(", "));
                Err(invalid(format!("the pooling in {place} must be mean, cls or lasttoken, found {modes:?}")))
            }
        }
    }

    /// A linear map, whose tensors get a name of their own.
    fn dense(&self, tensors: &mut Tensors) -> Result<MapPlan> {
        let json = self.config()?;
        let place = format!("{}/config.json", self.path);
        if json.get("use_residual") == Some(&Json::Bool(true)) {
            return Err(invalid(format!("use_residual in {place} is not supported")));
        }
        let function = json.get("activation_function").and_then(Json::as_str).unwrap_or("Tanh");
        let activation = match function.rsplit('.').next() {
            Some("Identity") => MapActivation::Identity,
            Some("Tanh") => MapActivation::Tanh,
            _ => {
                let rule = "must be Identity or Tanh";
                return Err(invalid(format!("activation_function in {place} {rule}, found {function:?}")));
            }
        };
        let part = self.folder.part(&format!("{}/model.safetensors", self.path))?;
        let name = format!("dense_{}", self.at);
        for kind in ["weight", "bias"] {
            let in_file = format!("linear.{kind}");
            let full = format!("{name}.{kind}");
            tensors.name_in_files(full.clone(), format!("{in_file} of {}", self.path));
            if let Some(tensor) = part.whole_tensor(&in_file) {
                tensors.insert(full, tensor);
            }
        }
        Ok(MapPlan { source: MapSource::Tensor(name), activation })
    }

    /// The rows of the logits of two tokens, of which the first means yes.
    fn labels(&self) -> Result<MapPlan> {
        let json = self.config()?;
        let id = |key: &str| {
            let id = Config(&json).count(&[key])?.and_then(|id| u32::try_from(id).ok());
            id.ok_or_else(|| invalid(format!("{}/config.json must have {key}", self.path)))
        };
        let source = MapSource::LogitRows(vec![id("true_token_id")?, id("false_token_id")?]);
        Ok(MapPlan { source, activation: MapActivation::Identity })
    }
}
