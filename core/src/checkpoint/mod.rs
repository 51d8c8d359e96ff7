//! Checkpoints: what a model's files hold, in one language for all forms of files.
//!
//! The language is that of GGUF files: their names of tensors, their order of rows, and an [`Architecture`] of facts. `metadata` reads
//! the facts of a GGUF file, `config` the facts of a folder, whose tensors `folder_map` finds and reorders; `families` holds what both
//! leave out. `vision` is the same for vision towers, and `sound` for encoders of sound. Nothing here computes.

mod architecture;
mod config;
mod config_object;
mod config_rope;
mod decision;
mod embedding;
mod families;
mod folder_delta_net;
mod folder_map;
mod folder_tensors;
mod invalid;
mod metadata;
mod rope;
mod sound;
mod speech;
mod stated;
mod vision;
mod whisper;

use std::collections::HashMap;

use crate::error::Result;
use crate::weights::{Folder, Tensors, Weights};

use folder_map::FolderMap;
use folder_tensors::FolderTensors;

pub(crate) use architecture::{Architecture, Mixture, Scales};
#[cfg(test)]
pub(crate) use config::read as read_config;
pub(crate) use decision::{DecisionType, OptionTemperatures, QUESTION_TYPES, ScorerPlan, decision_type, mask_token};
pub(crate) use embedding::{BertArchitecture, EmbeddingFacts, MapActivation, MapPlan, MapSource, Pooling, Scoring};
#[cfg(test)]
pub(crate) use families::FAMILIES;
pub(crate) use families::{Activation, Family, OUTPUT_NORMS};
pub(crate) use invalid::{embeds, invalid, mamba};
pub(crate) use metadata::SIGMOID;
#[cfg(test)]
pub(crate) use rope::{QueryGrowth, RopeSettings};
pub(crate) use rope::{
    Rope, RopePairing, RopeScaling, RotaryPlaces, Yarn, divisors as rope_divisors, yarn_attention_factor,
};
#[cfg(test)]
pub(crate) use sound::LFM3_AUDIO;
pub(crate) use sound::{CausalEncoderCheckpoint, EncoderKind, HearingArchitecture, HearingFamily, is_sound_encoder};
pub(crate) use speech::{
    CodeRows, CodecCheckpoint, DepthformerCheckpoint, DetokenizerCheckpoint, FrameCheckpoint, MaskedCheckpoint,
    MimiCheckpoint, is_speech,
};
pub(crate) use stated::StatedSize;
pub(crate) use vision::{ImageTokens, PatchPlaces, RowRoles, VisionArchitecture, is_vision};
pub(crate) use whisper::{WhisperArchitecture, WhisperCheckpoint, WhisperTokens};

/// How many pairs rotate by time, by height, by width and by nothing else, which GGUF files of some families must say. The
/// positions of text are the same in all of them.
pub(crate) fn rope_sections(files: &Weights) -> Result<Vec<i32>> {
    match files {
        Weights::Gguf(_) => Ok(config_rope::DEFAULT_SECTIONS.to_vec()), // copied with the other metadata
        Weights::Folder(folder) => config_rope::rope_sections(folder.config()),
    }
}

/// The tensors and the facts of a language model's decoder.
pub(crate) struct Checkpoint {
    pub(crate) architecture: Architecture,
    pub(crate) tensors: Tensors,
    /// The tensors of the files that may belong to the decoder, each with its name in GGUF files if it has one.
    in_files: HashMap<String, Option<String>>,
    /// How the names of tensors in layers begin in the files.
    layer_prefix: String,
}

impl Checkpoint {
    /// Reads the description in a model's files, and finds its tensors.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for a description that is not supported, or impossible.
    pub(crate) fn read(files: &Weights) -> Result<Self> {
        match files {
            Weights::Gguf(file) => {
                let tensors: Tensors = file.named_tensors().collect();
                let in_files = file.tensors().map(|tensor| (tensor.name.to_owned(), Some(tensor.name.to_owned())));
                let in_files = in_files.collect();
                let architecture = metadata::read(file, &tensors)?;
                architecture.check()?;
                Ok(Self { architecture, tensors, in_files, layer_prefix: "blk.".to_owned() })
            }
            Weights::Folder(folder) => Self::of_folder(folder),
        }
    }

    fn of_folder(folder: &Folder) -> Result<Self> {
        let architecture = config::read(folder.config())?;
        architecture.check()?;
        let map = FolderMap::read(folder, &architecture)?;
        let (prefix, FolderTensors { tensors, used, .. }) = (map.prefix, map.found);
        let mut in_files: HashMap<String, Option<String>> =
            folder.tensors().map(|tensor| (tensor.name.to_owned(), None)).collect();
        in_files.extend(used.into_iter().map(|(in_folder, name)| (in_folder, Some(name))));
        let layer_prefix = format!("{prefix}layers.");
        Ok(Self { architecture, tensors, in_files, layer_prefix })
    }

    /// Refuses a model that reads whole texts, and writes none.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad).
    pub(crate) fn check_writes(&self) -> Result<()> {
        match self.architecture.is_bidirectional {
            true => Err(embeds(self.architecture.name)),
            false => Ok(()),
        }
    }

    /// The names in the files of tensors that have not been read, in order.
    pub(crate) fn unread(&self) -> Vec<&str> {
        let is_unread = |name: &Option<String>| name.as_ref().is_none_or(|name| !self.tensors.is_read(name));
        let unread = self.in_files.iter().filter(|(_, name)| is_unread(name));
        let mut unread: Vec<&str> = unread.map(|(in_files, _)| in_files.as_str()).collect();
        unread.sort_unstable();
        unread
    }

    /// Refuses tensors that nothing has read although they belong to a layer after those that the description counts.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad).
    pub(crate) fn check_layers(&self) -> Result<()> {
        let n_layers = self.architecture.layers.len();
        let n_known = n_layers.saturating_add(self.architecture.n_further_layers);
        let layer = |name: &str| name.strip_prefix(&self.layer_prefix)?.split('.').next()?.parse::<usize>().ok();
        match self.unread().into_iter().find(|name| layer(name).is_some_and(|layer| n_known <= layer)) {
            None => Ok(()),
            Some(name) => Err(invalid(format!(
                "the number of layers must count all layers that have tensors, found {n_layers} and tensor {name}"
            ))),
        }
    }
}

/// The network, the tensors and the facts of a model that reads whole texts.
pub(crate) struct EmbeddingCheckpoint {
    pub(crate) network: EmbeddingNetwork,
    pub(crate) facts: EmbeddingFacts,
    /// The tensors of the maps after pooling, and of the part that scores options.
    pub(crate) map_tensors: Tensors,
    /// The part that scores options, in a decision model.
    pub(crate) scorer: Option<ScorerPlan>,
}

/// What turns tokens into rows.
pub(crate) enum EmbeddingNetwork {
    Bert(BertArchitecture, Tensors),
    /// A decoder without its logits. It may read in both directions.
    Decoder(Box<Checkpoint>),
}

/// The tensor whose rows give the logits.
pub(crate) struct LogitRows<'a> {
    pub(crate) tensors: &'a Tensors,
    pub(crate) name: &'static str,
    pub(crate) n_rows: usize,
}

impl EmbeddingCheckpoint {
    /// Reads the description in a model's files, and finds its tensors.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for a description that is not supported, or impossible.
    pub(crate) fn read(files: &Weights) -> Result<Self> {
        match files {
            Weights::Gguf(file) => {
                let network = match file.text("general.architecture")? {
                    Some(embedding::BERT) => {
                        EmbeddingNetwork::Bert(embedding::bert_of_gguf(file)?, file.named_tensors().collect())
                    }
                    _ => EmbeddingNetwork::Decoder(Box::new(Checkpoint::read(files)?)),
                };
                let map_tensors: Tensors = file.named_tensors().collect();
                let facts = embedding::gguf_facts(file, &map_tensors, network.context_size())?;
                Ok(Self { network, facts, map_tensors, scorer: None })
            }
            Weights::Folder(folder) => {
                if decision_type(files)?.is_some() {
                    return Err(invalid("a decision model embeds no texts"));
                }
                let network = match embedding::is_bert(folder.config()) {
                    true => EmbeddingNetwork::Bert(
                        embedding::bert_of_config(folder.config())?,
                        embedding::bert_tensors(folder)?,
                    ),
                    false => EmbeddingNetwork::Decoder(Box::new(Checkpoint::read(files)?)),
                };
                let (facts, map_tensors) = embedding::folder_facts(folder, network.context_size())?;
                Ok(Self { network, facts, map_tensors, scorer: None })
            }
        }
    }

    /// As [`read`](Self::read), for a decision model that scores options.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(crate) fn read_scorer(files: &Weights) -> Result<Self> {
        let checkpoint = Checkpoint::read(files)?;
        let Architecture { layers, n_further_layers, context_size, .. } = &checkpoint.architecture;
        let (scorer, map_tensors) = match files {
            Weights::Gguf(file) => {
                (decision::scorer_plan(file, layers.len(), *n_further_layers)?, file.named_tensors().collect())
            }
            Weights::Folder(folder) => {
                let (scorer, found) = decision::folder_scorer(folder, layers.len())?;
                (scorer, found.tensors)
            }
        };
        let facts = EmbeddingFacts::unpooled(*context_size);
        let network = EmbeddingNetwork::Decoder(Box::new(checkpoint));
        Ok(Self { network, facts, map_tensors, scorer: Some(scorer) })
    }
}

impl EmbeddingNetwork {
    /// The family's name in the files.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Bert(..) => embedding::BERT,
            Self::Decoder(checkpoint) => checkpoint.architecture.name,
        }
    }

    /// Tokens that a text may have.
    pub(crate) fn context_size(&self) -> usize {
        match self {
            // Below this number, the table of positions decides.
            Self::Bert(..) => usize::MAX,
            Self::Decoder(checkpoint) => checkpoint.architecture.context_size,
        }
    }

    /// Limits the tokens of a text.
    pub(crate) fn limit_context(&mut self, context_size: usize) {
        if let Self::Decoder(checkpoint) = self {
            checkpoint.architecture.limit_context(context_size);
        }
    }

    /// Whether tokens attend to the tokens after them.
    pub(crate) fn is_bidirectional(&self) -> bool {
        match self {
            Self::Bert(..) => true,
            Self::Decoder(checkpoint) => checkpoint.architecture.is_bidirectional,
        }
    }

    /// The tensor whose rows give the logits; `None` for a network without logits.
    ///
    /// # Errors
    /// A tensor that is missing, or not a matrix.
    pub(crate) fn logit_rows(&self) -> Result<Option<LogitRows<'_>>> {
        let Self::Decoder(checkpoint) = self else { return Ok(None) };
        let tensors = &checkpoint.tensors;
        let name = ["output.weight", "token_embd.weight"].into_iter().find(|name| tensors.shape(name).is_some());
        match name.and_then(|name| Some((name, tensors.shape(name)?))) {
            Some((name, &[n_rows, _])) => Ok(Some(LogitRows { tensors, name, n_rows })),
            _ => Err(invalid("the matrix of logits must have rows and columns")),
        }
    }
}
