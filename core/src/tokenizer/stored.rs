//! A vocabulary as it is stored with packed weights: in sections, which are mapped where the weights are.

use serde::{Deserialize, Serialize};
use tokenizers::Tokenizer as Encoder;

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::bytes::TokenText;
use crate::tokenizer::frames::TextFrames;
use crate::tokenizer::growth;
use crate::tokenizer::guarded::guarded;
use crate::tokenizer::pair_table::PairTable;
use crate::tokenizer::text_table;
use crate::weights::SectionBytes;

/// The names of the sections.
const TABLE: &str = "vocabulary";
const TEXTS: &str = "texts";
const STEPS: &str = "tokenizer";

/// Sections to store, each with its name.
pub(crate) type NamedSections = Vec<(&'static str, Vec<u8>)>;

/// The sections of a vocabulary.
pub(crate) struct StoredVocabulary {
    /// The tokens and the merges.
    pub(super) table: SectionBytes,
    /// What each token adds to the text, as this release reads the files.
    texts: Option<SectionBytes>,
    /// What else a tokenizer.json says.
    steps: Option<SectionBytes>,
}

/// What a tokenizer.json says besides its tokens and merges.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredSteps {
    /// A tokenizer.json with the added tokens alone.
    pub(super) encoder: String,
    pub(super) ignores_merges: bool,
    pub(super) falls_back_to_bytes: bool,
    pub(super) frames: TextFrames,
}

impl StoredVocabulary {
    /// Finds the sections. `section` gives one by its name, and by whether another release may have stored it.
    pub(crate) fn find(section: impl Fn(&str, bool) -> Option<SectionBytes>) -> Option<Self> {
        Some(Self { table: section(TABLE, true)?, texts: section(TEXTS, false), steps: section(STEPS, false) })
    }

    /// The sections to store.
    pub(super) fn sections(table: &PairTable, texts: &[TokenText], steps: Option<&StoredSteps>) -> NamedSections {
        let steps = steps.and_then(|steps| serde_json::to_vec(steps).ok());
        let sections = [(TABLE, table.bytes().to_vec()), (TEXTS, text_table::to_bytes(texts))];
        sections.into_iter().chain(steps.map(|steps| (STEPS, steps))).collect()
    }

    /// What each of so many tokens adds to the text, if it is stored.
    pub(super) fn texts(&self, n_tokens: usize) -> Option<Vec<TokenText>> {
        text_table::read(self.texts.as_ref()?.bytes()).filter(|texts| texts.len() == n_tokens)
    }

    /// The tokens and merges, with what each token adds to the text; `None` if one of both cannot be used.
    pub(super) fn into_table(self) -> Option<(PairTable, Vec<TokenText>)> {
        let texts = text_table::read(self.texts.as_ref()?.bytes())?;
        let table = PairTable::read(self.table).ok()?;
        (table.n_tokens() == texts.len()).then_some((table, texts))
    }

    /// What a tokenizer.json says, if it is stored.
    pub(super) fn steps(&self) -> Option<StoredSteps> {
        serde_json::from_slice(self.steps.as_ref()?.bytes()).ok()
    }
}

impl StoredSteps {
    /// The encoder, checked as that of a tokenizer.json.
    pub(super) fn encoder(&self) -> Result<Encoder> {
        encoder(&self.encoder)
    }

    pub(super) fn of_encoder(encoder: &Encoder) -> Result<String> {
        let unwritable = |err| SdkError::new(ErrorKind::ModelLoad, format!("the tokenizer cannot be written: {err}"));
        encoder.to_string(false).map_err(unwritable)
    }
}

/// The encoder of a tokenizer.json, whose steps make no text far too long.
pub(super) fn encoder(json: &str) -> Result<Encoder> {
    growth::check(json)?;
    guarded("tokenizer.json", || Encoder::from_bytes(json.as_bytes()))
}
