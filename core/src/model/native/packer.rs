//! Packs the matrices of a decoder for a file.

use std::cell::RefCell;
use std::io::{self, Seek, Write};

use causerie_backend::Cpu;

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::backend::Backend;
use crate::model::native::storage;
use crate::weights::{MatrixPlace, PackedWriter, Tensors};

/// A backend that writes matrices to a file instead of keeping them.
pub(crate) struct MatrixPacker<'a, W: Write + Seek> {
    pub(crate) cpu: Cpu,
    pub(crate) writer: RefCell<&'a mut PackedWriter<W>>,
}

impl<W: Write + Seek> Backend for MatrixPacker<'_, W> {
    type Matrix = ();
    type Vector = ();

    fn matrix(&self, tensors: &Tensors, place: &MatrixPlace<'_>) -> Result<()> {
        let mut writer = self.writer.borrow_mut();
        let matrix = (place.name, place.first_row());
        if writer.has_matrix(matrix.0, matrix.1) {
            return Ok(());
        }
        let format = storage::stored_format(tensors, place)?;
        let mut file = writer.begin(matrix, format, place.shape).map_err(unwritable)?;
        storage::pack_in_bands(&self.cpu, tensors, place, |tiles| file.put(tiles).map_err(unwritable))?;
        file.finish();
        Ok(())
    }

    fn vector(&self, _values: Vec<f32>) -> Result<()> {
        Ok(())
    }
}

fn unwritable(err: io::Error) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, "packed weights cannot be written").caused_by(err)
}
