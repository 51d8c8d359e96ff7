//! The forms in which calls without markers are read.

use crate::notation::Notation;
use crate::notation::definition::{RegularPlace, UntaggedForms};
use crate::options::Strictness;

/// Whether calls without markers are read in a notation.
pub(crate) fn reads_untagged(notation: &Notation, strictness: Strictness) -> bool {
    let is_read = |forms: &UntaggedForms| forms.regular != RegularPlace::Nowhere || strictness == Strictness::Recover;
    notation.untagged.as_ref().is_some_and(is_read)
}

/// A notation whose calls without markers are read, and their forms.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchedForms {
    pub(super) notation: &'static Notation,
    pub(super) forms: &'static UntaggedForms,
    pub(super) strictness: Strictness,
}
