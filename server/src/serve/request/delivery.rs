//! How a reply is sent.

/// How the reply is sent.
#[derive(Clone, Copy, Debug)]
pub(in crate::serve) struct Delivery {
    /// Choices.
    pub(in crate::serve) n: usize,
    pub(in crate::serve) is_stream: bool,
    pub(in crate::serve) include_usage: bool,
    /// Whether each event of a stream has the counts so far.
    pub(in crate::serve) continuous_usage: bool,
    /// Whether the text of the reply is a JSON string that is sent without its quotes.
    pub(in crate::serve) is_bare_string: bool,
}
