//! The chat templates in a model's files.

use serde_json::Value as Json;

use crate::error::Result;
use crate::weights::files::Weights;
use crate::weights::folder::Folder;
use crate::weights::gguf::GgufFile;

/// The sources of a model's chat templates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TemplateSources {
    pub(crate) chat: String,
    /// The template for conversations with functions, if the model has a separate one.
    pub(crate) tool_use: Option<String>,
}

impl From<String> for TemplateSources {
    fn from(chat: String) -> Self {
        Self { chat, tool_use: None }
    }
}

impl TemplateSources {
    /// Reads the chat templates of a model, or that of its manifest; `None` if there are none.
    pub(crate) fn read(weights: &Weights) -> Result<Option<Self>> {
        if let Some(template) = weights.origin().manifest().and_then(|manifest| manifest.chat_template.clone()) {
            return Ok(Some(Self::from(template)));
        }
        match weights {
            Weights::Gguf(file) => from_gguf(file),
            Weights::Folder(folder) => from_folder(folder),
        }
    }
}

/// The template for the questions of a decision model, if the files have one.
pub(crate) fn decision_template(weights: &Weights) -> Result<Option<String>> {
    match weights {
        Weights::Gguf(file) => Ok(file.text("tokenizer.chat_template.systemone")?.map(str::to_owned)),
        Weights::Folder(folder) => {
            if let Some(template) = folder.text("additional_chat_templates/systemone.jinja")? {
                return Ok(Some(template));
            }
            let settings = folder.json("tokenizer_config.json")?.unwrap_or_default();
            Ok(settings.get("chat_template").and_then(|json| template(json, "systemone")).map(str::to_owned))
        }
    }
}

fn from_gguf(file: &GgufFile) -> Result<Option<TemplateSources>> {
    let Some(chat) = file.text("tokenizer.chat_template")? else { return Ok(None) };
    let tool_use = file.text("tokenizer.chat_template.tool_use")?.map(str::to_owned);
    Ok(Some(TemplateSources { chat: chat.to_owned(), tool_use }))
}

/// A file of its own takes precedence over tokenizer_config.json.
fn from_folder(folder: &Folder) -> Result<Option<TemplateSources>> {
    if let Some(chat) = folder.text("chat_template.jinja")? {
        let tool_use = folder.text("additional_chat_templates/tool_use.jinja")?;
        return Ok(Some(TemplateSources { chat, tool_use }));
    }
    let settings = folder.json("tokenizer_config.json")?.unwrap_or_default();
    let named = |name: &str| settings.get("chat_template").and_then(|json| template(json, name)).map(str::to_owned);
    Ok(named("default").map(|chat| TemplateSources { chat, tool_use: named("tool_use") }))
}

/// The template of a name. The JSON value is one template, which counts as `default`, or an array of named templates.
fn template<'a>(json: &'a Json, name: &str) -> Option<&'a str> {
    match json {
        Json::String(template) => (name == "default").then_some(template),
        _ => json
            .as_array()?
            .iter()
            .find(|entry| entry.get("name").is_some_and(|found| found == name))?
            .get("template")?
            .as_str(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn chat_templates_are_read_from_both_file_formats() {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/models");
        for model in ["lfm2-f32.gguf", "lfm2-hf", "lfm2-hf-sharded"] {
            let weights = Weights::open(models.join(model).to_str().unwrap()).unwrap();
            let sources = TemplateSources::read(&weights).unwrap();
            assert!(sources.unwrap().chat.contains("im_start"), "{model}");
        }
    }
}
