//! The network on the CPU, with the kernels of `causerie-backend`.
//!
//! The rows of all sequences lie one below the other, so that each product reads its weights once for all of them. Values
//! between two operations live in `buffers` that are reused for every token.

mod attention;
mod backend;
mod buffers;
mod cache_type;
mod decoder;
mod delta_net;
mod dense;
mod experts;
mod linear;
mod memory;
mod per_layer;
mod short_convolution;
mod state;
mod storage;
mod tower;
mod tower_layer;
mod tower_weights;

pub(super) use backend::Native;
pub(crate) use memory::vision_bytes;
pub(super) use memory::{key_value_bytes, weight_bytes};
pub(crate) use tower::{TowerPass, VisionTower};
