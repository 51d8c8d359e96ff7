//! The floor of the machine: the only crate of causerie that may contain `unsafe`, of which there is none yet.
//!
//! Today it holds files of weights; the native CPU kernels and their thread pool join it.

mod model_file;

pub use model_file::ModelFile;
