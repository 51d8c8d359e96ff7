//! What the files say of an encoder of sound. Sizes come from the tensors.

use serde_json::Value as Json;

use crate::checkpoint::architecture::check_layers;
use crate::checkpoint::config_object::Config;
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::sound::family::{EncoderFacts, EncoderKind, HearingFamily};
use crate::checkpoint::sound::gemma4::{self, GEMMA4};
use crate::checkpoint::sound::lfm2_audio::{self, LFM2_AUDIO};
use crate::checkpoint::sound::lfm3_audio::{LFM3_AUDIO, LFM3_OMNI};
use crate::checkpoint::sound::names::{is_sound, is_sound_encoder};
use crate::error::Result;
use crate::weights::{GgufFile, Weights};

/// The kinds of encoders. A vision tower beside one of LFM3-Audio makes it one of LFM3-Omni.
static FAMILIES: [&HearingFamily; 3] = [&LFM2_AUDIO, &LFM3_AUDIO, &GEMMA4];

/// Features of a frame at most: more than any model has.
const MAX_BINS: usize = 1024;

/// An encoder and its adapter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HearingArchitecture {
    pub(crate) family: &'static HearingFamily,
    pub(crate) n_layers: usize,
    pub(crate) n_heads: usize,
    pub(crate) norm_eps: f32,
    /// Features of a frame.
    pub(crate) n_bins: usize,
}

impl HearingArchitecture {
    /// Reads the description in the files of a model, or in a projector file. `None` if they have no encoder of sound.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for an encoder of another kind.
    pub(crate) fn read(weights: &Weights) -> Result<Option<Self>> {
        let (family, EncoderFacts { n_layers, n_heads, norm_eps, n_bins }) = match weights {
            Weights::Gguf(file) => {
                let says_so = file.boolean("clip.has_audio_encoder")? == Some(true);
                if !says_so && !weights.tensors().any(|tensor| is_sound_encoder(tensor.name)) {
                    return Ok(None);
                }
                of_gguf(file)?
            }
            Weights::Folder(folder) => match of_folder(folder.config())? {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        check_layers(n_layers)?;
        if !(1..=MAX_BINS).contains(&n_bins) {
            return Err(invalid(format!(
                "frames of sound must have between 1 and {MAX_BINS} features, found {n_bins}"
            )));
        }
        Ok(Some(Self { family, n_layers, n_heads, norm_eps, n_bins }))
    }

    /// The names of the tensors for sound in a projector file that the encoder does not read, which belong to speech parts.
    pub(crate) fn unread(&self, weights: &Weights) -> Vec<String> {
        let Weights::Gguf(_) = weights else { return Vec::new() };
        let unread = weights.tensors().filter(|tensor| is_sound(tensor.name) && !self.reads(tensor.name));
        unread.map(|tensor| tensor.name.to_owned()).collect()
    }

    /// Whether the encoder reads a tensor of its file.
    pub(super) fn reads(&self, name: &str) -> bool {
        let layer = name.strip_prefix("a.blk.").and_then(|rest| rest.split('.').next()?.parse::<usize>().ok());
        is_sound_encoder(name) && layer.is_none_or(|layer| layer < self.n_layers)
    }
}

fn of_gguf(file: &GgufFile) -> Result<(&'static HearingFamily, EncoderFacts)> {
    let kind = match file.text("clip.projector_type")? {
        None => file.text("clip.audio.projector_type")?,
        kind => kind,
    };
    let kind = kind.unwrap_or("unknown");
    let family = FAMILIES.into_iter().find(|family| family.projector_type == kind);
    let family = family.ok_or_else(|| invalid(format!("the sound encoder of {kind:?} is not supported")))?;
    // The Omni model also has a vision tower.
    let is_omni = *family == LFM3_AUDIO && file.boolean("clip.has_vision_encoder")? == Some(true);
    let family = if is_omni { &LFM3_OMNI } else { family };
    let count = |key: &str| {
        let key = format!("clip.audio.{key}");
        file.count(&key)?.ok_or_else(|| invalid(format!("metadata {key} is missing")))
    };
    let stated_eps = file.float("clip.audio.attention.layer_norm_epsilon")?.filter(|_| !family.misstates_eps);
    let facts = EncoderFacts {
        n_layers: count("block_count")?,
        n_heads: count("attention.head_count")?,
        norm_eps: stated_eps.unwrap_or(family.norm_eps),
        n_bins: file.count("clip.audio.num_mel_bins")?.unwrap_or(family.rules.bins),
    };
    Ok((family, facts))
}

fn of_folder(config: &Json) -> Result<Option<(&'static HearingFamily, EncoderFacts)>> {
    let whole = Config(config);
    let classes = whole.list("architectures")?.into_iter().flatten().filter_map(Json::as_str);
    let classes: Vec<&str> = classes.collect();
    let is_of = |family: &&'static HearingFamily| classes.contains(&family.class);
    let Some(family) = FAMILIES.into_iter().find(is_of) else { return Ok(None) };
    let facts = match family.kind {
        EncoderKind::FastConformer => Some(lfm2_audio::facts(whole)?),
        EncoderKind::LocalConformer => gemma4::facts(whole)?,
        EncoderKind::Causal => None, // no folder with one is known
    };
    Ok(facts.map(|facts| (family, facts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::{MetadataValue, ModelOrigin, gguf_header};

    #[test]
    fn a_vision_tower_beside_the_encoder_of_lfm3_puts_tokens_around_its_rows() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm3a-speech/mmproj-lfm3a-speech-f16.gguf");
        let Weights::Gguf(file) = Weights::open(path).unwrap() else { panic!("it is a GGUF file") };
        let with_tower = |has_tower: bool| {
            let mut metadata: Vec<_> =
                file.metadata().into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
            metadata.push(("clip.has_vision_encoder".to_owned(), MetadataValue::Flag(has_tower)));
            let file = GgufFile::from_bytes(gguf_header(&metadata, &[]).into(), ModelOrigin::Disk).unwrap();
            of_gguf(&file).unwrap().0.around
        };
        assert_eq!(of_gguf(&file).unwrap().0.around, None);
        assert_eq!(with_tower(false), None);
        assert_eq!(with_tower(true), Some(("<|vision_start|>", "<|vision_end|>")));
    }
}
