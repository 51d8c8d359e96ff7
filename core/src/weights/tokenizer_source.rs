//! Where a model's files describe its tokenizer.

use serde_json::{Map, Value as Json};

use crate::error::{ErrorKind, Result, SdkError};
use crate::weights::files::Weights;
use crate::weights::folder::{Folder, TOKENIZER};
use crate::weights::gguf::GgufFile;

/// The two ways to describe a tokenizer.
pub(crate) enum TokenizerSource<'a> {
    /// `tokenizer.ggml.*` in the metadata of a file.
    Metadata(&'a GgufFile),
    Files(TokenizerFiles<'a>),
}

/// tokenizer.json, and the files that name its special tokens.
pub(crate) struct TokenizerFiles<'a> {
    folder: &'a Folder,
    /// tokenizer_config.json, with the entries of special_tokens_map.json where it lists no tokens.
    pub(crate) settings: Json,
    /// config.json.
    pub(crate) config: &'a Json,
    /// generation_config.json.
    pub(crate) generation: Json,
}

impl<'a> TokenizerSource<'a> {
    pub(crate) fn from_weights(weights: &'a Weights) -> Result<Self> {
        match weights {
            Weights::Gguf(file) => Ok(Self::Metadata(file)),
            Weights::Folder(folder) => TokenizerFiles::read(folder).map(Self::Files),
        }
    }
}

impl<'a> TokenizerFiles<'a> {
    fn read(folder: &'a Folder) -> Result<Self> {
        Ok(Self {
            folder,
            settings: settings(folder)?,
            config: folder.config(),
            generation: folder.json("generation_config.json")?.unwrap_or_default(),
        })
    }

    /// The content of tokenizer.json, which has some MiB.
    pub(crate) fn json(&self) -> Result<String> {
        let missing = || SdkError::new(ErrorKind::ModelLoad, format!("{TOKENIZER} is missing"));
        self.folder.text(TOKENIZER)?.ok_or_else(missing)
    }
}

/// The settings in tokenizer_config.json. Older folders name the special tokens in a file of their own, which takes precedence
/// unless the settings describe all added tokens.
fn settings(folder: &Folder) -> Result<Json> {
    let mut settings = folder.json("tokenizer_config.json")?.unwrap_or_else(|| Json::Object(Map::new()));
    if let Some(entries) = settings.as_object_mut().filter(|entries| !entries.contains_key("added_tokens_decoder"))
        && let Some(Json::Object(named)) = folder.json("special_tokens_map.json")?
    {
        entries.extend(named);
    }
    Ok(settings)
}
