//! Positions: what a sequence of the model consists of. Most are tokens; an image, for example, takes the place of many.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::error::Result;

/// One position of a sequence. Equal positions after equal ones have equal states, so prompts are compared, cached and saved
/// by their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Position {
    Token(u32),
    /// One row of the embedding of some content.
    Embedded {
        digest: ContentDigest,
        row: u32,
    },
}

/// Names content by the first 16 bytes of its SHA-256. They keep a position small, and suffice: nobody can make content with
/// the digest of another's.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ContentDigest([u8; 16]);

/// Content that takes the place of tokens, such as an image.
pub(crate) trait EmbeddingSource: Send + Sync {
    /// Names the content, with all that its rows depend on.
    fn digest(&self) -> ContentDigest;

    /// Number of rows, known without computing them; at least one.
    fn n_rows(&self) -> u32;

    /// What kind of content it is.
    fn kind(&self) -> EmbeddedKind {
        EmbeddedKind::Image
    }

    /// How its rows lie in a sequence.
    fn layout(&self) -> EmbeddedLayout {
        EmbeddedLayout::default()
    }

    /// Whether the content has one row, and the first piece of its job already has it, as a row of a table has. Several such contents
    /// are computed in one step.
    fn has_known_row(&self) -> bool {
        false
    }

    /// Prepares the computation of the rows, on a thread of the preparation pool: decodes an image, for example. It is called
    /// only for rows that no cached state covers.
    fn begin(&self) -> Result<Box<dyn EmbeddingJob>>;
}

/// The computation of a content's rows. The engine thread computes piece by piece, between the steps of replies, and drops the
/// job if the reply is cancelled.
pub(crate) trait EmbeddingJob: Send {
    /// Computes the next piece, which must not take longer than a chunk of a prompt. Returns the rows, `(n_rows, hidden)`, after
    /// the last one.
    fn advance(&mut self) -> Result<Option<Arc<[f32]>>>;
}

/// A kind of embedded content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmbeddedKind {
    Image,
    Sound,
}

/// How the rows of content lie in a sequence, in models for which they are not like tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EmbeddedLayout {
    /// Rows and columns of the grid by which the positions of an image are counted.
    pub(crate) grid: Option<(usize, usize)>,
    /// Whether the rows attend to the rows after them, too. They are then computed in one step.
    pub(crate) mutual: MutualAttention,
}

/// The layers in which rows of one content attend to each other in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MutualAttention {
    #[default]
    Nowhere,
    /// Layers with a window.
    InWindows,
    Everywhere,
}

/// Embedded content of a prompt.
#[derive(Clone)]
pub(crate) struct Embedded(pub(crate) Arc<dyn EmbeddingSource>);

impl Position {
    /// The token, unless content is embedded here.
    pub(crate) fn token(self) -> Option<u32> {
        match self {
            Self::Token(token) => Some(token),
            Self::Embedded { .. } => None,
        }
    }

    /// Whether `next` is the following row of the same content.
    fn is_continued_by(self, next: Self) -> bool {
        match (self, next) {
            (Self::Embedded { digest, row }, Self::Embedded { digest: next_digest, row: next_row }) => {
                digest == next_digest && row.checked_add(1) == Some(next_row)
            }
            _ => false,
        }
    }
}

/// Whether the sequence can be cut before `end`: not inside of embedded content, which is only computed whole.
pub(crate) fn can_be_cut_at(positions: &[Position], end: usize) -> bool {
    let (Some(last), Some(next)) = (end.checked_sub(1).and_then(|last| positions.get(last)), positions.get(end)) else {
        return true;
    };
    !last.is_continued_by(*next)
}

/// The longest prefix of at most `end` positions at which the sequence can be cut.
pub(crate) fn last_cut(positions: &[Position], end: usize) -> usize {
    (0..=end).rev().find(|end| can_be_cut_at(positions, *end)).unwrap_or(0)
}

/// The end of the positions from `start` on that the model can compute in one step: tokens, or rows of one content.
pub(crate) fn uniform_end(positions: &[Position], start: usize) -> usize {
    let are_uniform = |pair: &[Position]| match pair {
        [Position::Token(_), Position::Token(_)] => true,
        [this, next] => this.is_continued_by(*next),
        _ => false,
    };
    let n_following = positions[start..].windows(2).take_while(|pair| are_uniform(pair)).count();
    positions.len().min(start + 1 + n_following)
}

/// The tokens among the positions.
pub(crate) fn tokens(positions: &[Position]) -> impl Iterator<Item = u32> {
    positions.iter().filter_map(|position| position.token())
}

impl ContentDigest {
    pub(crate) fn bytes(self) -> [u8; 16] {
        self.0
    }

    /// The digest of content that consists of these parts.
    pub(crate) fn from_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes()); // so that parts cannot be shifted
            hasher.update(part);
        }
        let mut digest = [0; 16];
        digest.iter_mut().zip(hasher.finalize()).for_each(|(kept, byte)| *kept = byte);
        Self(digest)
    }
}

/// In hexadecimal.
impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Embedded {
    pub(crate) fn positions(&self) -> impl Iterator<Item = Position> + use<> {
        let digest = self.0.digest();
        (0..self.0.n_rows()).map(move |row| Position::Embedded { digest, row })
    }
}

/// The rows of all contents of one kind.
pub(crate) fn n_rows_of(contents: &[Embedded], kind: EmbeddedKind) -> usize {
    contents.iter().filter(|content| content.0.kind() == kind).map(|content| content.0.n_rows() as usize).sum()
}

impl PartialEq for Embedded {
    fn eq(&self, other: &Self) -> bool {
        self.0.digest() == other.0.digest()
    }
}

impl Eq for Embedded {}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Embedded({}, {} rows)", self.0.digest(), self.0.n_rows())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens, then two contents of three and two rows next to each other, then a token.
    fn mixed() -> Vec<Position> {
        let [first, second] = [b"first", b"other"].map(|content| ContentDigest::from_parts(&[content]));
        let rows = |digest, n_rows| (0..n_rows).map(move |row| Position::Embedded { digest, row });
        let tokens = [Position::Token(1), Position::Token(2)];
        tokens.into_iter().chain(rows(first, 3)).chain(rows(second, 2)).chain([Position::Token(3)]).collect()
    }

    #[test]
    fn a_sequence_is_cut_between_contents_and_never_inside_of_one() {
        let cuts: Vec<usize> = (0..=8).filter(|end| can_be_cut_at(&mixed(), *end)).collect();
        assert_eq!(cuts, [0, 1, 2, 5, 7, 8]);
        assert_eq!([1, 3, 4, 5, 6, 8].map(|end| last_cut(&mixed(), end)), [1, 2, 2, 5, 5, 8]);
    }

    #[test]
    fn a_step_holds_tokens_or_rows_of_one_content() {
        assert_eq!([0, 1, 2, 4, 5, 7].map(|start| uniform_end(&mixed(), start)), [2, 2, 5, 5, 7, 8]);
        assert_eq!(tokens(&mixed()).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn the_same_content_twice_in_a_row_can_be_cut_in_between() {
        let digest = ContentDigest::from_parts(&[b"a"]);
        let twice: Vec<Position> = [0, 1, 0, 1].map(|row| Position::Embedded { digest, row }).into();
        assert!(can_be_cut_at(&twice, 2) && !can_be_cut_at(&twice, 3));
        assert_eq!(uniform_end(&twice, 0), 2);
    }

    #[test]
    fn digests_differ_with_content_and_with_how_it_is_divided() {
        let [a, b] = [ContentDigest::from_parts(&[b"ab", b"c"]), ContentDigest::from_parts(&[b"a", b"bc"])];
        assert!(a != b && a == ContentDigest::from_parts(&[b"ab", b"c"]));
        assert_eq!(a.to_string().len(), 32);
    }
}
