//! What a projector file may have: parts of a model that make rows of its embedding.

use std::path::Path;

use crate::checkpoint::{HearingArchitecture, VisionArchitecture};
use crate::error::Result;
use crate::prompt::{NO_AUDIO, TEXT_ONLY};
use crate::weights::{Manifest, Weights};

/// A kind of parts, by the description of one.
pub(crate) trait ModelPart: Sized {
    /// What the part is called.
    const NAME: &'static str;
    /// What the part reads, as the beginning of a sentence on what it requires.
    const REQUIRES: &'static str;
    /// Why the files of a model that has no such part take none.
    const ABSENT: &'static str;
    /// The part in some files; `None` if they have none.
    fn read(weights: &Weights) -> Result<Option<Self>>;

    /// `general.architecture` in the GGUF files of decoders that the part is for.
    fn decoders(&self) -> &'static [&'static str];

    /// The map whose outputs are rows of the decoder's embedding, and whether its rows are columns in the files.
    fn last_map(&self) -> (String, bool);

    /// The projector file that a manifest names for the part.
    fn in_manifest(manifest: &Manifest) -> Option<&Path>;

    /// Whether a model of this name has such a part, although it was not found.
    fn is_expected(name: &str) -> bool;
}

impl ModelPart for VisionArchitecture {
    const NAME: &'static str = "vision tower";
    const REQUIRES: &'static str = "images require";
    const ABSENT: &'static str = TEXT_ONLY;

    fn read(weights: &Weights) -> Result<Option<Self>> {
        Self::read(weights)
    }

    fn decoders(&self) -> &'static [&'static str] {
        self.family.decoders
    }

    fn last_map(&self) -> (String, bool) {
        let (map, is_transposed) = self.family.last_map();
        (format!("{map}.weight"), is_transposed)
    }

    fn in_manifest(manifest: &Manifest) -> Option<&Path> {
        manifest.projector.as_deref()
    }

    /// The chat template says whether this is a vision model.
    fn is_expected(_: &str) -> bool {
        true
    }
}

impl ModelPart for HearingArchitecture {
    const NAME: &'static str = "sound encoder";
    const REQUIRES: &'static str = "audio requires";
    const ABSENT: &'static str = NO_AUDIO;

    fn read(weights: &Weights) -> Result<Option<Self>> {
        Self::read(weights)
    }

    fn decoders(&self) -> &'static [&'static str] {
        self.family.decoders
    }

    fn last_map(&self) -> (String, bool) {
        (self.family.last_map.to_owned(), false)
    }

    fn in_manifest(manifest: &Manifest) -> Option<&Path> {
        manifest.audio_projector.as_deref().or(manifest.projector.as_deref())
    }

    fn is_expected(name: &str) -> bool {
        name.to_ascii_lowercase().contains("audio")
    }
}
