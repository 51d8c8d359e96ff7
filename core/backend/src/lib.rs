//! The floor of the machine: the only crate of causerie that may contain `unsafe`.
//!
//! Today it holds mapped files; the native CPU kernels and their thread pool join it.

mod mapped_file;

pub use mapped_file::MappedFile;
