//! Hosting: deployment to clusters, containers, temporary servers and their keys. Serving itself (`service` and the
//! library) knows nothing of this module.

mod announcement;
mod tool;

mod manifests;

mod image;

pub(crate) mod apps;
pub(crate) mod cluster;
pub(crate) mod container;
pub(crate) mod keys;
pub(crate) mod temporary;
