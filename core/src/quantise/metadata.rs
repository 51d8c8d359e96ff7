//! The metadata of the file to be written.

use crate::error::Result;
use crate::model::{Architecture, embedding_shape, exported_architecture, exported_metadata};
use crate::prompt::TemplateSources;
use crate::quantise::gguf_type::GgufType;
use crate::tokenizer;
use crate::weights::{Folder, GgufFile, MetadataValue, Weights};

/// The version of the block formats.
const QUANTISATION_VERSION: u32 = 2;

type Metadata = Vec<(String, MetadataValue)>;

pub(super) fn of(weights: &Weights, architecture: &Architecture, gguf_type: GgufType) -> Result<Metadata> {
    let mut metadata = match weights {
        Weights::Gguf(file) => of_file(file),
        Weights::Folder(folder) => of_folder(weights, folder, architecture)?,
    };
    metadata.push(("general.quantization_version".to_owned(), MetadataValue::Count(QUANTISATION_VERSION)));
    metadata.push(("general.file_type".to_owned(), MetadataValue::Count(gguf_type.number())));
    Ok(metadata)
}

/// All metadata of a file, without what is about its types and its parts.
fn of_file(file: &GgufFile) -> Metadata {
    let is_kept = |key: &str| {
        !["general.quantization_version", "general.file_type", "general.alignment"].contains(&key)
            && !key.starts_with("split.")
    };
    let entries = file.metadata().into_iter().filter(|(key, _)| is_kept(key));
    entries.map(|(key, value)| (key.to_owned(), value)).collect()
}

fn of_folder(weights: &Weights, folder: &Folder, architecture: &Architecture) -> Result<Metadata> {
    let family = exported_architecture(architecture.family);
    let mut metadata: Metadata = Vec::new();
    let mut add = |key: &str, value: MetadataValue| metadata.push((key.to_owned(), value));
    add("general.architecture", family.into());
    add("general.type", "model".into());
    if let Some(name) = folder.name() {
        add("general.name", name.into());
    }
    let sampling = weights.sampling_defaults()?;
    for (key, value) in [
        ("temp", sampling.temperature),
        ("top_p", sampling.top_p),
        ("min_p", sampling.min_p),
        ("penalty_repeat", sampling.repetition_penalty),
    ] {
        if let Some(value) = value {
            add(&format!("general.sampling.{key}"), value.into());
        }
    }
    if let Some(top_k) = sampling.top_k {
        add("general.sampling.top_k", top_k.into());
    }
    metadata.extend(exported_metadata(weights, architecture)?);
    let (n_rows, _) = embedding_shape(weights)?;
    metadata.extend(tokenizer::export_metadata(folder, n_rows, family)?);
    if let Some(TemplateSources { chat, tool_use }) = TemplateSources::read(weights)? {
        metadata.push(("tokenizer.chat_template".to_owned(), MetadataValue::Text(chat)));
        metadata.extend(
            tool_use.map(|source| ("tokenizer.chat_template.tool_use".to_owned(), MetadataValue::Text(source))),
        );
    }
    Ok(metadata)
}
