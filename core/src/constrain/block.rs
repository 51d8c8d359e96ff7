//! A block of calls: the markers around it, and what it may contain.

use crate::function::{PythonNames, SdkFunction};
use crate::notation::Notation;
use crate::notation::grammar::{BlockPart, literal};

/// The markers before and after a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockEdges {
    pub(crate) start: Edge,
    /// Empty text, if a block lasts until the next one or the end of the reply.
    pub(crate) end: Edge,
    /// Control tokens inside of blocks, as far as the vocabulary has them.
    pub(crate) inner: Vec<(&'static str, Edge)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// A control token, by its ids: some vocabularies have it several times.
    Control(Vec<u32>),
    Text(&'static str),
}

impl Edge {
    pub(super) fn symbol(&self) -> String {
        match self {
            Self::Control(ids) => {
                let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
                format!("<[{}]>", ids.join(","))
            }
            Self::Text(text) => literal(text),
        }
    }
}

/// What a block of calls may contain.
#[derive(Clone, Copy)]
pub(crate) struct CallRules<'a> {
    pub(crate) notation: &'static Notation,
    pub(crate) functions: &'a [SdkFunction],
    /// How Python writes the names of these functions among all that are offered.
    pub(crate) identifiers: &'a PythonNames,
    /// Whether the block contains exactly one call.
    pub(crate) is_single: bool,
    pub(crate) edges: &'a BlockEdges,
    pub(crate) part: BlockPart,
}
