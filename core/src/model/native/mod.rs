//! The operations on the CPU, with the kernels of `causerie-backend`.

mod backend;
mod buffers;
mod codec;
mod kernel_names;
mod linear;
mod memories;
mod memory;
mod operations;
mod packer;
mod rows;
mod scratch;
mod sound;
mod speech;
mod storage;
mod tower;

pub(super) use backend::Native;
pub(super) use memory::key_value_bytes;
pub(crate) use memory::{hearing_bytes, speech_bytes, vision_bytes, weight_bytes};
pub(super) use packer::MatrixPacker;
