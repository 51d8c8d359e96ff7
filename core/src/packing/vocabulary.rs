//! The vocabulary of a model, stored with its packed weights.

use std::io::{self, Seek, Write};

use crate::tokenizer::ModelTokenizer;
use crate::weights::{PackedWeights, PackedWriter, SectionBytes, Weights};

/// The name of the section.
const VOCABULARY: &str = "vocabulary";

/// Writes the vocabulary of a model, if it has a form that can be stored. One that cannot be read is an error when the model is loaded.
pub(super) fn write_vocabulary<W: Write + Seek>(weights: &Weights, writer: &mut PackedWriter<W>) -> io::Result<()> {
    match ModelTokenizer::packed_vocabulary(weights) {
        Ok(Some(vocabulary)) => writer.section(VOCABULARY, vocabulary.bytes()),
        Ok(None) | Err(_) => Ok(()),
    }
}

/// The vocabulary that was stored with packed weights.
pub(crate) fn packed_vocabulary(packed: &PackedWeights) -> Option<SectionBytes> {
    packed.section(VOCABULARY)
}
