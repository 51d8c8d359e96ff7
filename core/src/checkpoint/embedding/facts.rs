//! What a model's files say of everything that is not the network.

/// How the rows of a text become its vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pooling {
    Mean,
    /// The row of the first token.
    First,
    /// The row of the last token.
    Last,
    /// Every row is a vector (late interaction, as in ColBERT).
    Rows,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapActivation {
    Identity,
    Tanh,
}

/// A linear map after pooling.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MapPlan {
    pub(crate) source: MapSource,
    pub(crate) activation: MapActivation,
}

/// Where the rows of a map come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MapSource {
    /// A tensor of this name with `.weight`, and a bias if there is one.
    Tensor(String),
    /// The rows of these tokens in the matrix that gives the logits.
    LogitRows(Vec<u32>),
}

/// What the outputs of the maps say of a pair of texts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scoring {
    /// One output, whose sigmoid is the score, or which is the score itself.
    Head { is_sigmoid: bool },
    /// The logits of two labels, of which one means that the document is relevant.
    Labels {
        /// The place of that one.
        yes_at: usize,
        /// The text of the prompt, with marks for the query and the document; `None` for what the chat template makes of it.
        template: Option<String>,
    },
}

/// The texts that are put before texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct EmbeddingPrompts {
    /// Names and texts, in the order of the file.
    pub(crate) named: Vec<(String, String)>,
    /// The name of the one that is used if none is asked for.
    pub(crate) default: Option<String>,
    /// Whether the rows of a prompt are left out of the mean.
    pub(crate) are_left_out: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EmbeddingFacts {
    /// `None` if the files do not say: then texts are not embedded.
    pub(crate) pooling: Option<Pooling>,
    /// Whether vectors are brought to the length 1.
    pub(crate) is_normalised: bool,
    pub(crate) maps: Vec<MapPlan>,
    pub(crate) scoring: Option<Scoring>,
    pub(crate) prompts: EmbeddingPrompts,
    /// Tokens of a query and of a document at most, with the tokens around them.
    pub(crate) max_query_tokens: usize,
    pub(crate) max_tokens: usize,
    /// Words whose tokens give no vector of a document, in models with a vector for each token.
    pub(crate) skipped_words: Vec<String>,
}

impl MapPlan {
    pub(crate) fn tensor(name: &str, activation: MapActivation) -> Self {
        Self { source: MapSource::Tensor(name.to_owned()), activation }
    }
}

impl EmbeddingFacts {
    /// Nothing but a length.
    pub(crate) fn unpooled(max_tokens: usize) -> Self {
        Self {
            pooling: None,
            is_normalised: false,
            maps: Vec::new(),
            scoring: None,
            prompts: EmbeddingPrompts::default(),
            max_query_tokens: max_tokens,
            max_tokens,
            skipped_words: Vec::new(),
        }
    }
}

impl EmbeddingPrompts {
    /// The text of the first of these names that the files have.
    pub(crate) fn find(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.named.iter().find(|(known, _)| known == name)).map(|(_, text)| text.as_str())
    }
}
