//! Models that read whole texts and write none: what their files say of pooling, of the maps after it, of prompts and of lengths; and
//! the description of BERT.

mod bert;
mod facts;
mod folder;
mod gguf;
mod modules;

pub(crate) use bert::of_gguf as bert_of_gguf;
pub(crate) use bert::{BERT, BertArchitecture, folder_tensors as bert_tensors, is_bert, of_config as bert_of_config};
pub(crate) use facts::{EmbeddingFacts, MapActivation, MapPlan, MapSource, Pooling, Scoring};
pub(crate) use folder::facts as folder_facts;
pub(crate) use gguf::facts as gguf_facts;
