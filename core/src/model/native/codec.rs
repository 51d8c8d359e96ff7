//! The operations of codecs on the CPU.

use crate::error::Result;
use crate::model::native::backend::Native;
use crate::model::native::rows::FloatRows;
use crate::model::speech::CodecOperations;

impl CodecOperations for Native {
    fn elu(&self, rows: &FloatRows, to: &mut FloatRows) -> Result<()> {
        to.reshape(rows.n_rows(), rows.width);
        // NaN is not below 0, and stays what it is.
        let elu = |x: f32| if x < 0.0 { x.exp_m1() } else { x };
        self.cpu.for_rows(&mut to.values, rows.width, |row, to| {
            to.iter_mut().zip(rows.row(row)).for_each(|(to, x)| *to = elu(*x));
        });
        Ok(())
    }

    fn add_scaled(&self, rows: &FloatRows, factors: &Vec<f32>, stream: &mut FloatRows) -> Result<()> {
        self.cpu.for_rows(&mut stream.values, stream.width, |row, stream| {
            let values = rows.row(row).iter().zip(factors);
            stream.iter_mut().zip(values).for_each(|(sum, (value, factor))| *sum += value * factor);
        });
        Ok(())
    }

    fn split_rows(&self, rows: &mut FloatRows, n_parts: usize) -> Result<()> {
        rows.width /= n_parts;
        Ok(())
    }
}
