//! The weights of the CPU network.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use causerie_backend::{Cpu, MappedTiles, Matrix};
use parking_lot::Mutex;

use crate::error::Result;
use crate::memory;
use crate::model::backend::{Backend, CopyOutcome};
use crate::model::native::storage;
use crate::options::CacheType;
use crate::weights::{MatrixPlace, Tensors};

pub(crate) struct Native {
    pub(super) cpu: Arc<Cpu>,
    pub(super) cache_type: CacheType,
    /// Mapped matrices that are copied while nothing is computed.
    to_copy: Mutex<VecDeque<Arc<MappedTiles>>>,
}

impl Native {
    pub(crate) fn new(cpu: Arc<Cpu>, cache_type: CacheType) -> Self {
        Self { cpu, cache_type, to_copy: Mutex::default() }
    }
}

impl Backend for Native {
    type Matrix = Matrix;
    type Vector = Vec<f32>;

    fn matrix(&self, tensors: &Tensors, place: &MatrixPlace<'_>) -> Result<Matrix> {
        let matrix = storage::matrix(&self.cpu, tensors, place)?;
        if let Some(tiles) = matrix.mapped_tiles().filter(|_| tensors.copies_packed()) {
            self.to_copy.lock().push_back(Arc::clone(tiles));
        }
        Ok(matrix)
    }

    fn vector(&self, values: Vec<f32>) -> Result<Vec<f32>> {
        Ok(values)
    }

    fn copy_mapped(&self, deadline: Instant) -> CopyOutcome {
        let mut to_copy = self.to_copy.lock();
        let n_left = to_copy.iter().map(|tiles| tiles.n_bytes() as u64).sum();
        let mut problem = (!memory::has_twice(n_left)).then(|| "memory is short".to_owned());
        while let (Some(next), None) = (to_copy.front(), &problem) {
            match self.cpu.copy_piece(next) {
                Ok(true) => drop(to_copy.pop_front()),
                Ok(false) => {}
                Err(err) => problem = Some(err.to_string()),
            }
            if deadline <= Instant::now() {
                break;
            }
        }
        if let Some(problem) = problem {
            log::info!("{n_left} bytes of packed weights stay mapped: {problem}");
            to_copy.drain(..).for_each(|tiles| tiles.stop_copying());
            return CopyOutcome::Stopped;
        }
        if to_copy.is_empty() { CopyOutcome::Complete } else { CopyOutcome::Unfinished }
    }
}
