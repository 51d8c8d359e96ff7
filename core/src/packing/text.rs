//! What loading finds out of a model's text, stored with its packed weights: the vocabulary, and what probing its templates has found.

use std::io::{self, Seek, Write};

use crate::error::Result;
use crate::prompt::{PromptRenderer, TemplateFacts};
use crate::tokenizer::{ModelTokenizer, StoredVocabulary};
use crate::weights::{PackedWeights, PackedWriter, TemplateSources, Weights};

/// The name of the section of facts about templates.
const TEMPLATES: &str = "templates";

/// Writes what can be stored. Text that cannot be read is an error when the model is loaded.
pub(super) fn write_text<W: Write + Seek>(weights: &Weights, writer: &mut PackedWriter<W>) -> io::Result<()> {
    let Ok((tokenizer, sections)) = ModelTokenizer::load_to_store(weights) else { return Ok(()) };
    for (name, bytes) in sections {
        writer.section(name, &bytes)?;
    }
    match facts(weights, &tokenizer) {
        Ok(facts) if !facts.is_empty() => writer.section(TEMPLATES, &facts.to_bytes()),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn facts(weights: &Weights, tokenizer: &ModelTokenizer) -> Result<TemplateFacts> {
    let Some(sources) = TemplateSources::read(weights)? else { return Ok(TemplateFacts::default()) };
    let (_, facts) = PromptRenderer::from_facts(&sources, tokenizer, &TemplateFacts::default())?;
    Ok(facts)
}

/// The vocabulary that was stored with packed weights.
pub(crate) fn packed_vocabulary(packed: &PackedWeights) -> Option<StoredVocabulary> {
    StoredVocabulary::find(|name, is_of_any_release| match is_of_any_release {
        true => packed.section(name),
        false => packed.section_of_release(name),
    })
}

/// What is known of templates; nothing if it was not stored by this release.
pub(crate) fn packed_facts(packed: &PackedWeights) -> TemplateFacts {
    packed.section_of_release(TEMPLATES).map_or_else(TemplateFacts::default, |facts| TemplateFacts::read(facts.bytes()))
}
