//! A tensor of a GGUF file that a folder's model becomes, and where its values come from.

/// A tensor of a GGUF file.
pub(crate) struct ExportedTensor {
    pub(crate) name: String,
    /// Outermost first.
    pub(crate) shape: Vec<usize>,
    pub(crate) source: ExportSource,
}

/// Where the values of a tensor come from.
pub(crate) enum ExportSource {
    Folder(FolderRows),
    /// Values that the folder only describes.
    Values(Vec<f32>),
}

/// For each row its place in the folder, if the order differs.
pub(crate) type RowOrder = Option<Vec<usize>>;

/// The rows of tensors of a folder.
pub(crate) struct FolderRows {
    /// Tensors of one shape, one after the other.
    pub(crate) names: Vec<String>,
    pub(crate) order: RowOrder,
    /// For each column its place in the folder, if the order differs.
    pub(crate) columns: Option<Vec<usize>>,
    /// Whether values are one more than in the folder.
    pub(crate) adds_one: bool,
}

impl FolderRows {
    /// The rows of one tensor as they are.
    pub(crate) fn new(name: String) -> Self {
        Self { names: vec![name], order: None, columns: None, adds_one: false }
    }
}
