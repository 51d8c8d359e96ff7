//! The operations of models of speech on the CPU.

use std::ops::Range;

use causerie_backend::Activations;

use crate::error::Result;
use crate::model::linear::Linear;
use crate::model::native::backend::Native;
use crate::model::native::rows::FloatRows;
use crate::model::whisper::{RowWindows, SpeechOperations};

impl SpeechOperations for Native {
    fn windows(
        &self,
        rows: &FloatRows,
        RowWindows { size, stride, padding }: RowWindows,
        windows: Range<usize>,
        next: &Linear<Self>,
        inputs: &mut Activations,
    ) -> Result<()> {
        let (n_rows, width) = (rows.n_rows(), rows.width);
        let write = |window: usize, to: &mut [f32]| {
            let first = (windows.start + window) * stride;
            for (at, to) in (first..).zip(to.chunks_exact_mut(width)) {
                match at.checked_sub(padding).filter(|row| *row < n_rows) {
                    Some(row) => to.copy_from_slice(rows.row(row)),
                    None => to.fill(0.0),
                }
            }
        };
        self.cpu.inputs(inputs, (windows.len(), size * width), next.is_quantised(), write);
        Ok(())
    }

    fn add_rows(&self, rows: &FloatRows, stream: &mut FloatRows) -> Result<()> {
        self.cpu.for_rows(&mut stream.values, stream.width, |row, stream| {
            stream.iter_mut().zip(rows.row(row)).for_each(|(sum, value)| *sum += value);
        });
        Ok(())
    }
}
