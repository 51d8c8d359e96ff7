//! The weights of candle's network.

use candle_core::quantized::QMatMul;
use candle_core::{Device, Tensor};

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::backend::Backend;
use crate::model::candle::matrix::matrix;
use crate::weights::{MatrixPlace, Tensors};

pub(crate) struct Candle {
    pub(crate) device: Device,
}

impl Backend for Candle {
    type Matrix = QMatMul;
    type Vector = Tensor;

    fn matrix(&self, tensors: &Tensors, place: &MatrixPlace<'_>) -> Result<QMatMul> {
        matrix(tensors, place, &self.device)
    }

    fn vector(&self, values: Vec<f32>) -> Result<Tensor> {
        let n = values.len();
        Tensor::from_vec(values, n, &self.device)
            .map_err(|err| SdkError::new(ErrorKind::ModelLoad, "cannot load a vector").caused_by(err))
    }
}
