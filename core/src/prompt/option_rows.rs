//! The tokens that a decision model reads which scores options: the state, the question and each option between delimiters, and a
//! token in each option whose row is scored. Texts are cut to a budget.

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::{ModelTokenizer, TokenText};

/// The spellings of the delimiters, in the order of [`OptionTokens`].
const DELIMITERS: [&str; 5] =
    ["<|reserved_7|>", "<|reserved_8|>", "<|reserved_9|>", "<|reserved_10|>", "<|reserved_11|>"];

/// The tokens between texts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionTokens {
    pub(crate) begin: u32,
    /// The token whose row is scored.
    pub(crate) mask: u32,
    /// Before the state, before the question, before and after an option, and at the end.
    pub(crate) delimiters: [u32; 5],
}

/// What a sequence is made of: texts as [`OptionEncoder`] encodes them.
pub(crate) struct OptionTexts<'a> {
    pub(crate) state: &'a [u32],
    pub(crate) question: &'a [u32],
    pub(crate) options: &'a [&'a [u32]],
}

/// Encodes texts of sequences.
pub(crate) struct OptionEncoder<'a> {
    encode: &'a dyn Fn(&str) -> Result<Vec<u32>>,
    max_bytes: usize,
}

/// The tokens of a question with its state.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OptionSequence {
    pub(crate) ids: Vec<u32>,
    /// The places of the tokens whose rows are scored, one for each option.
    pub(crate) marks: Vec<usize>,
}

impl OptionTokens {
    /// Finds the tokens in a vocabulary, of which the files name the one that is scored.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`] if one is missing.
    pub(crate) fn find(tokenizer: &ModelTokenizer, mask: Option<usize>) -> Result<Self> {
        let missing = |what: &str| {
            let message = format!("the vocabulary of a decision model must have {what}, found no such token");
            SdkError::new(ErrorKind::ModelLoad, message)
        };
        let id = |spelling: &str| tokenizer.control_ids(spelling).first().copied().ok_or_else(|| missing(spelling));
        let mask = mask.and_then(|id| u32::try_from(id).ok());
        // Text is never encoded to a control token, so that no text can bring a row that is scored.
        let mask = mask.filter(|id| matches!(tokenizer.text(*id), Some(TokenText::Control(_))));
        let mut delimiters = [0; DELIMITERS.len()];
        for (found, spelling) in delimiters.iter_mut().zip(DELIMITERS) {
            *found = id(spelling)?;
        }
        let begin = match tokenizer.begin_spelling() {
            "" => return Err(missing("a token that begins prompts")),
            spelling => id(spelling)?,
        };
        let mask = mask.filter(|id| *id != begin && !delimiters.contains(id));
        let mask = mask.ok_or_else(|| missing("a control token of its own as tokenizer.ggml.mask_token_id"))?;
        Ok(Self { begin, mask, delimiters })
    }

    /// The sequence of a question, in `context_size` tokens at most. Long options and questions are cut at their ends to a share of it,
    /// and the state to what they leave.
    ///
    /// # Errors
    /// [`ErrorKind::PromptExceedsContext`] if there are more options than fit.
    pub(crate) fn sequence(&self, texts: &OptionTexts<'_>, context_size: usize) -> Result<OptionSequence> {
        let n_options = texts.options.len();
        let budget = (24 * n_options + 32).min(context_size / 2).max(96);
        let of_option = (budget.saturating_sub(3 * n_options) / n_options.max(1)).max(2);
        let [before_state, before_question, before_option, after_option, end] = self.delimiters;
        let mut question = vec![before_question];
        question.extend(beginning(texts.question, budget - 1));
        let mut marks = Vec::new();
        for option in texts.options {
            question.push(before_option);
            marks.push(question.len());
            question.push(self.mask);
            question.extend(beginning(option, of_option));
            question.push(after_option);
        }
        question.push(end);
        let needed = 2 + question.len();
        if context_size < needed {
            let message = format!("the options take {needed} tokens, and the context holds {context_size}");
            return Err(SdkError::new(ErrorKind::PromptExceedsContext { needed, available: context_size }, message));
        }
        let mut ids = vec![self.begin, before_state];
        ids.extend(beginning(texts.state, context_size - needed));
        marks.iter_mut().for_each(|mark| *mark += ids.len());
        ids.extend(question);
        Ok(OptionSequence { ids, marks })
    }
}

fn beginning(ids: &[u32], most: usize) -> &[u32] {
    &ids[..most.min(ids.len())]
}

impl<'a> OptionEncoder<'a> {
    /// An encoder that takes the first `max_bytes` bytes of a text: as many as the tokens of a sequence can have.
    pub(crate) fn new(encode: &'a dyn Fn(&str) -> Result<Vec<u32>>, max_bytes: usize) -> Self {
        Self { encode, max_bytes }
    }

    /// The tokens of a state or a question.
    ///
    /// # Errors
    /// Errors of the tokenizer.
    pub(crate) fn text(&self, text: &str) -> Result<Vec<u32>> {
        (self.encode)(&escaped(&text[..text.floor_char_boundary(self.max_bytes)]))
    }

    /// The tokens of an option.
    ///
    /// # Errors
    /// Errors of the tokenizer.
    pub(crate) fn option(&self, text: &str) -> Result<Vec<u32>> {
        self.text(&format!(" {text}"))
    }
}

/// The text with its spellings of control tokens, `<|word|>`, changed as the models were trained.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<|") {
        let (before, after) = (&rest[..start], &rest[start + 2..]);
        escaped.push_str(before);
        // The word alone is looked at: the next "|>" can be far away.
        let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
        match after[end..].strip_prefix("|>").filter(|_| 0 < end) {
            Some(following) => {
                escaped.push_str(&format!("<\u{a6}{}\u{a6}>", &after[..end]));
                rest = following;
            }
            None => {
                escaped.push_str("<|");
                rest = after;
            }
        }
    }
    escaped.push_str(rest);
    escaped
}
