//! The operations on a GPU, by the kernels of `causerie-gpu`.

mod backend;
mod experts;
mod forms;
mod memories;
mod operations;

pub(super) use backend::{Wgsl, gpu_error, gpu_fault};
