//! The text of a block, with the control tokens inside of it.

/// The body of a block.
#[derive(Clone, Copy)]
pub(crate) struct BlockText<'a> {
    pub(crate) text: &'a str,
    /// Where the spellings of control tokens start, in ascending order. The same spelling elsewhere is text.
    pub(crate) controls: &'a [usize],
}

impl<'a> BlockText<'a> {
    /// Whether a control token starts at a position.
    pub(crate) fn has_control(&self, at: usize) -> bool {
        self.controls.binary_search(&at).is_ok()
    }

    /// The first control token at or after a position.
    pub(crate) fn next_control(&self, from: usize) -> Option<usize> {
        self.controls.get(self.controls.partition_point(|at| *at < from)).copied()
    }

    /// The text up to a position.
    pub(crate) fn until(self, end: usize) -> BlockText<'a> {
        BlockText { text: &self.text[..end], controls: &self.controls[..self.controls.partition_point(|at| *at < end)] }
    }
}
