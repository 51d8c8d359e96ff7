//! The weights of the CPU network.

use std::sync::Arc;

use causerie_backend::{Cpu, Matrix};

use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::native::storage;
use crate::options::CacheType;
use crate::weights::{MatrixPlace, Tensors};

pub(crate) struct Native {
    pub(super) cpu: Arc<Cpu>,
    pub(super) cache_type: CacheType,
}

impl Native {
    pub(crate) fn new(cpu: Arc<Cpu>, cache_type: CacheType) -> Self {
        Self { cpu, cache_type }
    }
}

impl Backend for Native {
    type Matrix = Matrix;
    type Vector = Vec<f32>;

    fn matrix(&self, tensors: &Tensors, place: &MatrixPlace<'_>) -> Result<Matrix> {
        storage::matrix(&self.cpu, tensors, place)
    }

    fn vector(&self, values: Vec<f32>) -> Result<Vec<f32>> {
        Ok(values)
    }
}
