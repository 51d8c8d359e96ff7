//! The tokens that a decision model reads which scores options: the state, the question and each option between delimiters, and a
//! token in each option whose row is scored. Texts are cut to a budget.

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::ModelTokenizer;

/// Tokens of a sequence at most.
const MAX_TOKENS: usize = 16_384;
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

/// What a sequence is made of.
pub(crate) struct OptionTexts<'a> {
    pub(crate) state: &'a str,
    pub(crate) question: &'a str,
    pub(crate) options: &'a [String],
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
        let mask = mask.and_then(|id| u32::try_from(id).ok()).filter(|id| tokenizer.text(*id).is_some());
        let mut delimiters = [0; DELIMITERS.len()];
        for (found, spelling) in delimiters.iter_mut().zip(DELIMITERS) {
            *found = id(spelling)?;
        }
        let begin = match tokenizer.begin_spelling() {
            "" => return Err(missing("a token that begins prompts")),
            spelling => id(spelling)?,
        };
        Ok(Self { begin, mask: mask.ok_or_else(|| missing("the token of tokenizer.ggml.mask_token_id"))?, delimiters })
    }

    /// The sequence of a question, in `context_size` tokens at most. Long options and questions are cut at their ends to a share of it,
    /// and the state to what they leave.
    ///
    /// # Errors
    /// [`ErrorKind::PromptExceedsContext`] if there are more options than fit, and errors of `encode`.
    pub(crate) fn sequence(
        &self,
        encode: &dyn Fn(&str) -> Result<Vec<u32>>,
        texts: &OptionTexts<'_>,
        context_size: usize,
    ) -> Result<OptionSequence> {
        let most = context_size.min(MAX_TOKENS);
        let n_options = texts.options.len();
        let budget = (24 * n_options + 32).min(most / 2).max(96);
        let of_option = (budget.saturating_sub(3 * n_options) / n_options.max(1)).max(2);
        let encoded = |text: &str, most: usize| {
            let mut ids = encode(&escaped(text))?;
            ids.truncate(most);
            Ok::<_, SdkError>(ids)
        };
        let [before_state, before_question, before_option, after_option, end] = self.delimiters;
        let mut question = vec![before_question];
        question.extend(encoded(texts.question, budget - 1)?);
        for option in texts.options {
            question.extend([before_option, self.mask]);
            question.extend(encoded(&format!(" {option}"), of_option)?);
            question.push(after_option);
        }
        question.push(end);
        let needed = 2 + question.len();
        if most < needed {
            let message = format!("the options take {needed} tokens, and the context holds {most}");
            return Err(SdkError::new(ErrorKind::PromptExceedsContext { needed, available: most }, message));
        }
        let mut ids = vec![self.begin, before_state];
        ids.extend(encoded(texts.state, most - needed)?);
        let n_before = ids.len();
        // A text has no such token: those that it spells are text.
        let marks = question.iter().enumerate().filter(|(_, id)| **id == self.mask).map(|(at, _)| n_before + at);
        let marks = marks.collect();
        ids.extend(question);
        Ok(OptionSequence { ids, marks })
    }
}

/// The text with its spellings of control tokens, `<|word|>`, changed as the models were trained.
fn escaped(text: &str) -> String {
    let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<|") {
        let (before, after) = (&rest[..start], &rest[start + 2..]);
        escaped.push_str(before);
        match after.find("|>").filter(|end| is_word(&after[..*end])) {
            Some(end) => {
                escaped.push_str(&format!("<\u{a6}{}\u{a6}>", &after[..end]));
                rest = &after[end + 2..];
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
