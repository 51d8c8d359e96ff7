//! Questions of decisions.

use crate::error::{ErrorKind, Result, SdkError};
use crate::message::ChatMessageContent;

/// Choices of one question, at most.
const MAX_CHOICES: usize = 255;
/// Levels of one score, at most: numbers of two digits.
const MAX_LEVELS: usize = 100;

/// A question about a [`DecisionState`](crate::DecisionState).
///
/// ```
/// use causerie::{DecisionLabel, DecisionQuestion};
///
/// let urgent = DecisionQuestion::predicate("Does the message need an answer today?").named("urgent");
/// let topic = DecisionQuestion::choice(
///     "What is the message about?",
///     [DecisionLabel::new("billing").described("invoices and payments"), "shipping".into(), "other".into()],
/// );
/// let anger = DecisionQuestion::score("How angry is the writer?", ["calm", "annoyed", "furious"]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionQuestion {
    /// Names the question in its answer.
    pub name: Option<String>,
    /// The question itself: text, and images for a model that takes them.
    pub instructions: Vec<ChatMessageContent>,
    /// What can be answered.
    pub kind: DecisionKind,
}

/// The answers that a question allows.
///
/// ```
/// use causerie::{DecisionKind, DecisionQuestion};
/// assert!(matches!(DecisionQuestion::predicate("Is it late?").kind, DecisionKind::Predicate(_)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum DecisionKind {
    /// Yes or no.
    Predicate(DecisionCriteria),
    /// One of 1 to 255 labels.
    Choice(Vec<DecisionLabel>),
    /// A number from 0 on: one of 2 to 100 levels, the lowest first.
    Score(Vec<DecisionLabel>),
}

/// When yes is right, and when no is.
///
/// ```
/// use causerie::{DecisionCriteria, DecisionKind, DecisionQuestion};
/// let criteria = DecisionCriteria { yes: Some("steam rises".into()), no: None };
/// let question = DecisionQuestion { kind: DecisionKind::Predicate(criteria), ..DecisionQuestion::predicate("Is it hot?") };
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionCriteria {
    /// When yes is right.
    pub yes: Option<String>,
    /// When no is right.
    pub no: Option<String>,
}

/// A choice, or a level of a score.
///
/// ```
/// use causerie::DecisionLabel;
/// assert_eq!(DecisionLabel::from("late"), DecisionLabel::new("late"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionLabel {
    /// Its name.
    pub label: String,
    /// What it means.
    pub description: Option<String>,
}

impl DecisionLabel {
    /// Creates a label without a description.
    ///
    /// ```
    /// assert_eq!(causerie::DecisionLabel::new("late").description, None);
    /// ```
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), description: None }
    }

    /// Adds a description.
    ///
    /// ```
    /// let label = causerie::DecisionLabel::new("late").described("after ten in the evening");
    /// assert!(label.description.is_some());
    /// ```
    #[must_use]
    pub fn described(self, description: impl Into<String>) -> Self {
        Self { description: Some(description.into()), ..self }
    }
}

impl From<&str> for DecisionLabel {
    fn from(label: &str) -> Self {
        Self::new(label)
    }
}

impl From<String> for DecisionLabel {
    fn from(label: String) -> Self {
        Self::new(label)
    }
}

impl DecisionQuestion {
    /// Creates a question that is answered by yes or no.
    ///
    /// ```
    /// let question = causerie::DecisionQuestion::predicate("Is the kettle on?");
    /// ```
    pub fn predicate(instructions: impl Into<String>) -> Self {
        Self::new(instructions, DecisionKind::Predicate(DecisionCriteria::default()))
    }

    /// Creates a question that is answered by one of the labels.
    ///
    /// ```
    /// let question = causerie::DecisionQuestion::choice("Which room?", ["kitchen", "hall"]);
    /// ```
    pub fn choice<L: Into<DecisionLabel>>(
        instructions: impl Into<String>,
        choices: impl IntoIterator<Item = L>,
    ) -> Self {
        Self::new(instructions, DecisionKind::Choice(choices.into_iter().map(Into::into).collect()))
    }

    /// Creates a question that is answered by a number: of the levels, the first is 0.
    ///
    /// ```
    /// let question = causerie::DecisionQuestion::score("How urgent is it?", ["calm", "soon", "now"]);
    /// ```
    pub fn score<L: Into<DecisionLabel>>(instructions: impl Into<String>, levels: impl IntoIterator<Item = L>) -> Self {
        Self::new(instructions, DecisionKind::Score(levels.into_iter().map(Into::into).collect()))
    }

    fn new(instructions: impl Into<String>, kind: DecisionKind) -> Self {
        Self { name: None, instructions: vec![ChatMessageContent::Text(instructions.into())], kind }
    }

    /// Names the question.
    ///
    /// ```
    /// let question = causerie::DecisionQuestion::predicate("Is it late?").named("late");
    /// assert_eq!(question.name.as_deref(), Some("late"));
    /// ```
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// The labels of the answers, in order.
    pub(super) fn labels(&self) -> Vec<&str> {
        match &self.kind {
            DecisionKind::Predicate(_) => vec!["yes", "no"],
            DecisionKind::Choice(labels) | DecisionKind::Score(labels) => {
                labels.iter().map(|label| label.label.as_str()).collect()
            }
        }
    }

    /// Refuses numbers of answers that cannot be read. `place` is the question's.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`].
    pub(super) fn check(&self, place: &str) -> Result<()> {
        let (field, found, range) = match &self.kind {
            DecisionKind::Predicate(_) => return Ok(()),
            DecisionKind::Choice(choices) => ("choices", choices.len(), 1..=MAX_CHOICES),
            DecisionKind::Score(levels) => ("levels", levels.len(), 2..=MAX_LEVELS),
        };
        if range.contains(&found) {
            return Ok(());
        }
        let (least, most) = (range.start(), range.end());
        let message = format!("{place}.{field} must have {least} to {most} entries, found {found}");
        Err(SdkError::new(ErrorKind::InvalidArgument, message))
    }
}
