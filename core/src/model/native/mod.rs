//! The operations on the CPU, with the kernels of `causerie-backend`, and the vision tower.

mod backend;
mod buffers;
mod kernel_names;
mod linear;
mod memories;
mod memory;
mod operations;
mod rows;
mod scratch;
mod storage;
mod tower;
mod tower_layer;
mod tower_weights;

pub(super) use backend::Native;
pub(crate) use memory::vision_bytes;
pub(super) use memory::{key_value_bytes, weight_bytes};
pub(crate) use tower::{TowerPass, VisionTower};
