//! The metadata of the file to be written.

use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::model::embedding_shape;
use crate::quantise::description;
use crate::quantise::gguf_type::GgufType;
use crate::tokenizer::{ExportRules, export_metadata};
use crate::weights::{MetadataValue, TemplateSources, TokenizerSource, Weights};

/// The version of the block formats.
const QUANTISATION_VERSION: u32 = 2;

type Metadata = Vec<(String, MetadataValue)>;

pub(super) fn of(files: &Weights, checkpoint: &Checkpoint, gguf_type: GgufType) -> Result<Metadata> {
    let mut metadata = match files.metadata() {
        Some(entries) => kept(entries),
        None => described(files, checkpoint)?,
    };
    metadata.push(("general.quantization_version".to_owned(), MetadataValue::Count(QUANTISATION_VERSION)));
    metadata.push(("general.file_type".to_owned(), MetadataValue::Count(gguf_type.number())));
    Ok(metadata)
}

/// All metadata of a file, without what is about its types and its parts.
fn kept(entries: Vec<(&str, MetadataValue)>) -> Metadata {
    let is_kept = |key: &str| {
        !["general.quantization_version", "general.file_type", "general.alignment"].contains(&key)
            && !key.starts_with("split.")
    };
    entries.into_iter().filter(|(key, _)| is_kept(key)).map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The description of a model that has no metadata.
fn described(files: &Weights, checkpoint: &Checkpoint) -> Result<Metadata> {
    let family = checkpoint.architecture.family;
    let mut metadata: Metadata = Vec::new();
    let mut add = |key: &str, value: MetadataValue| metadata.push((key.to_owned(), value));
    add("general.architecture", family.exported_name().into());
    add("general.type", "model".into());
    if let Some(name) = files.folder_name() {
        add("general.name", name.into());
    }
    let sampling = files.sampling_defaults()?;
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
    metadata.extend(description::metadata(files, checkpoint)?);
    let (n_rows, _) = embedding_shape(&checkpoint.tensors)?;
    let rules = ExportRules { word_rule: family.word_rule(), has_spelled_merges: family.has_spelled_merges };
    if let TokenizerSource::Files(tokenizer) = TokenizerSource::from_weights(files)? {
        metadata.extend(export_metadata(&tokenizer, n_rows, rules)?);
    }
    if let Some(TemplateSources { chat, tool_use }) = TemplateSources::read(files)? {
        metadata.push(("tokenizer.chat_template".to_owned(), MetadataValue::Text(chat)));
        metadata.extend(
            tool_use.map(|source| ("tokenizer.chat_template.tool_use".to_owned(), MetadataValue::Text(source))),
        );
    }
    Ok(metadata)
}
