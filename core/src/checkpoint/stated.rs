//! Sizes that the files state although the tensors have them, too. They must agree: a file in which they do not is damaged, or
//! another program would compute something else with it.

use crate::checkpoint::invalid::invalid;
use crate::error::Result;

/// A size, and where the files state it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StatedSize {
    /// Such as `hidden_size in config.json`.
    pub(crate) key: String,
    /// One for all layers, or one for each.
    pub(crate) values: Vec<usize>,
}

/// The sizes that a description states.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StatedSizes {
    pub(crate) hidden: Option<StatedSize>,
    /// Rows of the embedding, which may have more for padding.
    pub(crate) vocabulary: Option<StatedSize>,
    pub(crate) query_heads: Option<StatedSize>,
    pub(crate) key_heads: Option<StatedSize>,
    /// The width of feed-forward blocks without experts.
    pub(crate) width: Option<StatedSize>,
    pub(crate) experts: Option<StatedSize>,
    pub(crate) expert_width: Option<StatedSize>,
}

impl StatedSize {
    pub(crate) fn new(key: impl Into<String>, values: Vec<usize>) -> Self {
        Self { key: key.into(), values }
    }

    /// The size that is stated for a layer.
    fn value(&self, layer: usize) -> Option<usize> {
        match self.values[..] {
            [value] => Some(value),
            _ => self.values.get(layer).copied(),
        }
    }

    /// Checks the size of a layer against that of its tensors.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad).
    pub(crate) fn check(stated: Option<&Self>, layer: usize, in_tensors: usize) -> Result<()> {
        match stated.and_then(|stated| Some((&stated.key, stated.value(layer)?))) {
            Some((key, value)) if value != in_tensors => Err(invalid(format!(
                "{key} must be {in_tensors}, as the tensors of layer {layer} have it, found {value}"
            ))),
            _ => Ok(()),
        }
    }
}

impl StatedSizes {
    /// Checks the sizes of the embedding.
    ///
    /// # Errors
    /// As [`StatedSize::check`].
    pub(crate) fn check_embedding(&self, (n_vocabulary, hidden): (usize, usize)) -> Result<()> {
        let wrong = |stated: &Option<StatedSize>, is_wrong: &dyn Fn(usize) -> bool| {
            let stated = stated.as_ref()?;
            stated.values.first().filter(|value| is_wrong(**value)).map(|value| (stated.key.clone(), *value))
        };
        if let Some((key, value)) = wrong(&self.hidden, &|value| value != hidden) {
            return Err(invalid(format!("{key} must be {hidden}, as the embedding has it, found {value}")));
        }
        match wrong(&self.vocabulary, &|value| n_vocabulary < value) {
            Some((key, value)) => {
                Err(invalid(format!("{key} must be at most {n_vocabulary}, the rows of the embedding, found {value}")))
            }
            None => Ok(()),
        }
    }
}
