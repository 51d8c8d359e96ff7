//! A linear map, with a bias where the file has one.

use smallvec::SmallVec;

use crate::model::backend::Backend;

pub(crate) struct Linear<B: Backend> {
    pub(crate) weight: B::Matrix,
    /// `(outputs)`
    pub(crate) bias: Option<B::Vector>,
}

/// The maps that read the same inputs.
pub(crate) type Readers<'a, B> = SmallVec<[&'a Linear<B>; 4]>;
