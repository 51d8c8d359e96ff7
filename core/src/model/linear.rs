//! A linear map, with a bias where the file has one.

use crate::model::backend::Backend;

pub(crate) struct Linear<B: Backend> {
    pub(crate) weight: B::Matrix,
    /// `(outputs)`
    pub(crate) bias: Option<B::Vector>,
}
