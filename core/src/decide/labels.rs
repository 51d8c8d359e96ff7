//! The tokens by which a model answers: found by encoding them where its reply begins, never by a table.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::decide::question::{DecisionKind, DecisionQuestion};
use crate::error::{ErrorKind, Result, SdkError};
use crate::prompt::Segment;
use crate::tokenizer::ModelTokenizer;

/// Bytes of text before a reply that are encoded together with a label, if the prompt has no control token there.
const TAIL: usize = 64;

/// The ways to spell an answer by yes and by no.
const SPELLINGS: [[&str; 3]; 2] = [["yes", "Yes", "YES"], ["no", "No", "NO"]];

/// The place in prompts at which replies begin.
pub(super) struct Slot<'a> {
    tokenizer: &'a ModelTokenizer,
    /// The end of the prompts, which labels follow.
    tail: Vec<Segment>,
    ids: Vec<u32>,
    /// The tokens of texts that were asked for: many questions have the same labels.
    known: RefCell<HashMap<String, Option<Vec<u32>>>>,
}

/// A label as the model would write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label {
    /// How prompts show it.
    pub(super) code: String,
    /// Its spellings, a token or more each. The most probable one counts.
    pub(super) paths: Vec<Vec<u32>>,
}

/// The tokens whose log-probabilities are needed, by the tokens between the prompt and them.
pub(super) type WantedTokens = BTreeMap<Vec<u32>, Vec<u32>>;

impl<'a> Slot<'a> {
    /// The place after this prompt.
    pub(super) fn new(tokenizer: &'a ModelTokenizer, prompt: &[Segment]) -> Result<Self> {
        let is_control = |segment: &Segment| matches!(segment, Segment::Control(_));
        let tail = match prompt.iter().rposition(is_control) {
            Some(at) => prompt[at..].to_vec(),
            None => {
                let text = prompt.last().map_or("", Segment::text);
                let start = (text.len().saturating_sub(TAIL)..=text.len()).find(|at| text.is_char_boundary(*at));
                vec![Segment::Text(text[start.unwrap_or_default()..].to_owned())]
            }
        };
        let ids = tokenizer.encode(&tail)?;
        Ok(Self { tokenizer, tail, ids, known: RefCell::default() })
    }

    /// The tokens of a text at the beginning of a reply; `None` if it merges with what is before it.
    fn path(&self, text: &str) -> Result<Option<Vec<u32>>> {
        if let Some(known) = self.known.borrow().get(text) {
            return Ok(known.clone());
        }
        let mut segments = self.tail.clone();
        match segments.last_mut() {
            Some(Segment::Text(before)) => before.push_str(text),
            _ => segments.push(Segment::Text(text.to_owned())),
        }
        let ids = self.tokenizer.encode(&segments)?;
        let path = ids.strip_prefix(&*self.ids).filter(|path| !path.is_empty()).map(<[u32]>::to_vec);
        self.known.borrow_mut().insert(text.to_owned(), path.clone());
        Ok(path)
    }

    /// The one token of a text; `None` if it has several.
    fn token(&self, text: &str) -> Result<Option<u32>> {
        Ok(self.path(text)?.and_then(|path| if let [id] = path[..] { Some(id) } else { None }))
    }

    /// The labels of a question's answers, in order.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if the vocabulary has too few.
    pub(super) fn labels(&self, question: &DecisionQuestion, is_decision_model: bool) -> Result<Vec<Label>> {
        match &question.kind {
            DecisionKind::Predicate(_) => self.yes_and_no(),
            DecisionKind::Choice(_) if is_decision_model => self.own_codes(&question.labels()),
            DecisionKind::Choice(choices) => self.codes(choices.len(), &mut LabelSet::default(), &[]),
            DecisionKind::Score(levels) => self.numbers(levels.len()),
        }
    }

    fn yes_and_no(&self) -> Result<Vec<Label>> {
        let mut labels = Vec::new();
        for spellings in SPELLINGS {
            let mut paths = Vec::new();
            for spelling in spellings {
                paths.extend(self.token(spelling)?.map(|id| vec![id]));
            }
            if paths.is_empty() {
                paths.extend(self.path(spellings[0])?);
            }
            labels.push(Label { code: spellings[0].to_owned(), paths });
        }
        checked(labels)
    }

    /// Codes as decision models were trained: labels that are one letter each stand for themselves; others are letters, or numbers of
    /// two digits if there are more than 26. A code that is not one token, or is taken, is replaced.
    fn own_codes(&self, labels: &[&str]) -> Result<Vec<Label>> {
        let is_letter = |label: &&str| label.len() == 1 && label.bytes().all(|byte| byte.is_ascii_alphabetic());
        let codes: Vec<String> = match labels {
            labels if labels.iter().all(is_letter) => labels.iter().map(|label| (*label).to_owned()).collect(),
            labels if labels.len() <= 26 => letters(b'A').take(labels.len()).collect(),
            labels => (0..labels.len()).map(|number| format!("{number:02}")).collect(),
        };
        self.codes(labels.len(), &mut LabelSet::default(), &codes)
    }

    /// So many codes of one token: the wanted ones where they are free, then letters and other short texts. If the vocabulary has too few,
    /// numbers of several tokens.
    fn codes(&self, n_codes: usize, set: &mut LabelSet, wanted: &[String]) -> Result<Vec<Label>> {
        let pairs = || letters(b'A').flat_map(|first| letters(b'A').map(move |second| format!("{first}{second}")));
        let two_digits = (0..100).map(|number| format!("{number:02}"));
        let marked = (0..200).map(|number| format!("#{number}"));
        let others: Box<dyn Iterator<Item = String>> = match wanted {
            [] => Box::new(pairs().chain(letters(b'a'))),
            _ => Box::new(two_digits.chain(letters(b'a')).chain(marked).chain(pairs())),
        };
        let mut free = letters(b'A').chain(others);
        for at in 0..n_codes {
            if let Some(code) = wanted.get(at)
                && self.take(code, set)?
            {
                continue;
            }
            loop {
                match free.next() {
                    Some(code) if self.take(&code, set)? => break,
                    Some(_) => {}
                    None => return self.numbers(n_codes),
                }
            }
        }
        let mut labels = std::mem::take(&mut set.labels);
        // A spelling with a space counts as well, unless it is the token of another code.
        for label in &mut labels {
            if let Some(id) = self.token(&format!(" {}", label.code))?
                && set.used.insert(id)
            {
                label.paths.push(vec![id]);
            }
        }
        checked(labels)
    }

    /// Adds a code. Returns false if it is not one token, or is taken.
    fn take(&self, code: &str, set: &mut LabelSet) -> Result<bool> {
        let Some(id) = self.token(code)?.filter(|id| set.used.insert(*id)) else { return Ok(false) };
        set.labels.push(Label { code: code.to_owned(), paths: vec![vec![id]] });
        Ok(true)
    }

    /// The numbers from 0 on, all of as many digits, so that none begins another.
    fn numbers(&self, n_numbers: usize) -> Result<Vec<Label>> {
        let width = n_numbers.saturating_sub(1).to_string().len();
        let mut labels = Vec::new();
        for number in 0..n_numbers {
            let code = format!("{number:0width$}");
            let paths = self.path(&code)?.into_iter().collect();
            labels.push(Label { code, paths });
        }
        checked(labels)
    }
}

#[derive(Default)]
struct LabelSet {
    labels: Vec<Label>,
    used: HashSet<u32>,
}

/// The 26 letters from this one on.
fn letters(first: u8) -> impl Iterator<Item = String> + Clone {
    (first..first + 26).map(|letter| char::from(letter).to_string())
}

/// The labels, if each can be told from the others by its tokens.
fn checked(labels: Vec<Label>) -> Result<Vec<Label>> {
    let mut paths: Vec<&[u32]> = labels.iter().flat_map(|label| &label.paths).map(Vec::as_slice).collect();
    paths.sort_unstable();
    let is_distinct = paths.windows(2).all(|pair| !pair[1].starts_with(pair[0]));
    if is_distinct && labels.iter().all(|label| !label.paths.is_empty()) {
        return Ok(labels);
    }
    let message =
        format!("the model's vocabulary must have a code for each of {} answers, found too few", labels.len());
    Err(SdkError::new(ErrorKind::InvalidArgument, message))
}

/// The tokens that are to be read for these labels.
pub(super) fn wanted(labels: &[Label]) -> WantedTokens {
    let mut wanted = WantedTokens::new();
    for path in labels.iter().flat_map(|label| &label.paths) {
        for (at, id) in path.iter().enumerate() {
            let ids = wanted.entry(path[..at].to_vec()).or_default();
            if !ids.contains(id) {
                ids.push(*id);
            }
        }
    }
    wanted
}

/// The log-probability of each label's best spelling, and the probability of all spellings together. `read` has the log-probabilities of
/// each entry of [`wanted`], in its order.
pub(super) fn scores(labels: &[Label], wanted: &WantedTokens, read: &[Vec<f64>]) -> (Vec<f64>, f64) {
    let read: BTreeMap<(&[u32], u32), f64> = wanted
        .iter()
        .zip(read)
        .flat_map(|((prefix, ids), logprobs)| {
            ids.iter().zip(logprobs).map(|(id, logprob)| ((&**prefix, *id), *logprob))
        })
        .collect();
    let of_path = |path: &Vec<u32>| -> f64 {
        let steps = path.iter().enumerate();
        steps.map(|(at, id)| read.get(&(&path[..at], *id)).copied().unwrap_or(f64::NEG_INFINITY)).sum()
    };
    let mut probability = 0.0;
    let mut best = Vec::new();
    for label in labels {
        let logprobs: Vec<f64> = label.paths.iter().map(of_path).collect();
        probability += logprobs.iter().map(|logprob| logprob.exp()).sum::<f64>();
        best.push(logprobs.into_iter().fold(f64::NEG_INFINITY, f64::max));
    }
    (best, probability.clamp(0.0, 1.0))
}
