//! Decides questions about a state: the entry points of apps.

use std::sync::Arc;

use crate::decide::answer::{DecisionAnswer, DecisionOutcome, DecisionUsage, Decisions};
use crate::decide::beside::beside;
use crate::decide::labels::{Label, Slot, WantedTokens, scores, wanted};
use crate::decide::options::DecisionOptions;
use crate::decide::prompts::PromptMaker;
use crate::decide::question::DecisionQuestion;
use crate::decide::reading::{PromptLogprobs, ReadingJob, read_all, read_whole};
use crate::decide::rotations::{orders, rotations};
use crate::decide::scored;
use crate::decide::state::DecisionState;
use crate::decide::wording::WordedQuestion;
use crate::engine::{LoadedModel, Owner, Prepared, ReplyConstraint, TokenReading};
use crate::error::{ErrorKind, Result, SdkError};
use crate::options::SpeechMode;
use crate::response::PromptReport;
use crate::runner::ModelRunner;

/// Prompts of one question that compute it again, at most. With more of them, the question leaves its state in the prefix cache, where
/// it takes the place of another one.
const MAX_RECOMPUTED: usize = 4;
/// Questions about one state, at most.
const MAX_QUESTIONS: usize = 400;
/// Questions in all their rotations, at most: each is a prompt of its own.
const MAX_FORMS: usize = 1024;

impl ModelRunner {
    /// Answers questions about a state, with probabilities. No text is generated: the answers are read from the logits after each
    /// question. Blocks the thread.
    ///
    /// The state is prefilled once, and stays in the prefix cache for later questions about it. Each answer is the same, bit by bit,
    /// whether its question is asked alone or with others. Decision models of types lfm2-d1-omni and lfm3-d1 share nothing: they compute
    /// the state with each question, one request after the other.
    ///
    /// Any chat model can decide; how well is up to the model (docs/decisions.md). A decision model is asked in the form that it was
    /// trained on.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// use causerie::{DecisionOutcome, DecisionQuestion, ModelRunner};
    ///
    /// let runner = ModelRunner::load(model)?;
    /// let questions = [
    ///     DecisionQuestion::predicate("Does the writer want an answer?"),
    ///     DecisionQuestion::choice("What is it about?", ["an invoice", "a parcel"]),
    /// ];
    /// let decisions = runner.decide("Where is my parcel?", &questions)?;
    /// if let DecisionOutcome::Predicate { probability } = decisions.answers[0].outcome {
    ///     println!("{probability:.2}");
    /// }
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for questions with too few or too many answers, and for more than 400 questions;
    /// [`ErrorKind::PromptExceedsContext`] if the state and a question do not fit, [`ErrorKind::UnsupportedContent`],
    /// [`ErrorKind::InvalidMessage`] for a model without a chat template, [`ErrorKind::Generation`], [`ErrorKind::ModelUnloaded`].
    pub fn decide(&self, state: impl Into<DecisionState>, questions: &[DecisionQuestion]) -> Result<Decisions> {
        self.decide_with(state, questions, DecisionOptions::default())
    }

    /// As [`decide`](Self::decide), with options.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// use causerie::{DecisionOptions, DecisionQuestion, ModelRunner};
    ///
    /// let runner = ModelRunner::load(model)?;
    /// let options = DecisionOptions { rotations: Some(1), ..Default::default() };
    /// let question = DecisionQuestion::choice("What is it about?", ["an invoice", "a parcel"]);
    /// let decisions = runner.decide_with("Where is my parcel?", &[question], options)?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`decide`](Self::decide), and [`ErrorKind::InvalidOption`].
    pub fn decide_with(
        &self,
        state: impl Into<DecisionState>,
        questions: &[DecisionQuestion],
        options: DecisionOptions,
    ) -> Result<Decisions> {
        pollster::block_on(self.decide_async(state, questions.to_vec(), options))
    }

    /// As [`decide_with`](Self::decide_with), without blocking the thread. Nothing is computed before the future is polled. Dropping it
    /// cancels the questions.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// # pollster::block_on(async {
    /// use causerie::{DecisionOptions, DecisionQuestion, ModelRunner};
    ///
    /// let runner = ModelRunner::load(model)?;
    /// let questions = vec![DecisionQuestion::predicate("Is the water hot?")];
    /// let decisions = runner.decide_async("The kettle boils.", questions, DecisionOptions::default()).await?;
    /// # Ok::<(), causerie::SdkError>(())
    /// # })?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`decide_with`](Self::decide_with).
    pub fn decide_async(
        &self,
        state: impl Into<DecisionState>,
        questions: Vec<DecisionQuestion>,
        options: DecisionOptions,
    ) -> impl Future<Output = Result<Decisions>> + Send + 'static {
        let (runner, state) = (self.clone(), state.into());
        async move {
            options.check()?;
            let loaded = runner.loaded()?;
            let is_decision_model = loaded.decisions.is_some() || loaded.decider.is_some();
            check(&questions, options.n_rotations(is_decision_model))?;
            if loaded.decider.is_some() {
                drop(loaded);
                return beside(runner, move |model| scored::decide(model, (&state, &questions), &options)).await;
            }
            let asked = AskedQuestions::new(&loaded, questions, &options)?;
            let is_whole = loaded.whole.is_some();
            drop(loaded); // an unloaded model frees its memory while the questions wait
            let jobs = asked.jobs(state);
            let read = match is_whole {
                true => beside(runner, move |model| read_whole(model, jobs)).await?,
                false => read_all(&runner, jobs).await?,
            };
            Ok(asked.decisions(&read, &options))
        }
    }
}

/// Checks the number of questions, alone and in their rotations, and each question.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`].
fn check(questions: &[DecisionQuestion], n_rotations: usize) -> Result<()> {
    if !(1..=MAX_QUESTIONS).contains(&questions.len()) {
        let message = format!("questions must have 1 to {MAX_QUESTIONS} entries, found {}", questions.len());
        return Err(SdkError::new(ErrorKind::InvalidArgument, message));
    }
    let mut numbered = questions.iter().enumerate();
    numbered.try_for_each(|(at, question)| question.check(&format!("questions[{at}]")))?;
    let n_forms: usize = questions.iter().map(|question| rotations(question, n_rotations)).sum();
    if MAX_FORMS < n_forms {
        let message = format!("questions in all their rotations must be at most {MAX_FORMS}, found {n_forms}");
        return Err(SdkError::new(ErrorKind::InvalidArgument, message));
    }
    Ok(())
}

/// Questions with all that is to be read for them. Their texts are made when their prompts are, since they can be long.
struct AskedQuestions {
    questions: Arc<[DecisionQuestion]>,
    forms: Vec<QuestionForm>,
    is_decision_model: bool,
}

/// One order in which the labels of a question are shown. A question has a form for each rotation.
struct QuestionForm {
    /// The question's place.
    at: usize,
    labels: Arc<Vec<Label>>,
    wanted: Arc<WantedTokens>,
    /// For each label the place of the question's answer that it stands for.
    order: Arc<[usize]>,
}

impl AskedQuestions {
    fn new(loaded: &LoadedModel, questions: Vec<DecisionQuestion>, options: &DecisionOptions) -> Result<Self> {
        let is_decision_model = loaded.decisions.is_some();
        let n_rotations = options.n_rotations(is_decision_model);
        let probe = WordedQuestion::new(&DecisionQuestion::predicate("?"), &[], &[], is_decision_model);
        let segments = PromptMaker::new(DecisionState::default()).segments(loaded, &probe)?;
        let slot = Slot::new(&loaded.tokenizer, &segments)?;
        let mut forms = Vec::new();
        for (at, question) in questions.iter().enumerate() {
            let labels = slot.labels(question, is_decision_model).map_err(|err| err.at(&format!("questions[{at}]")))?;
            let (wanted, labels) = (Arc::new(wanted(&labels)), Arc::new(labels));
            for order in orders(labels.len(), rotations(question, n_rotations)) {
                let (wanted, labels) = (Arc::clone(&wanted), Arc::clone(&labels));
                forms.push(QuestionForm { at, labels, wanted, order });
            }
        }
        Ok(Self { questions: questions.into(), forms, is_decision_model })
    }

    /// The prompts of all forms: for each, one that ends where the reply begins, and one for each beginning of labels of several tokens.
    /// The first prompt leaves the state to all others, and a prompt that many labels of several tokens follow leaves its own to theirs.
    fn jobs(&self, state: DecisionState) -> Vec<ReadingJob> {
        let (maker, is_decision_model) = (Arc::new(PromptMaker::new(state)), self.is_decision_model);
        let mut jobs: Vec<ReadingJob> = Vec::new();
        for form in &self.forms {
            for (begun, ids) in &*form.wanted {
                let (maker, questions) = (Arc::clone(&maker), Arc::clone(&self.questions));
                let (labels, order) = (Arc::clone(&form.labels), Arc::clone(&form.order));
                let (begun, ids, is_first, at) = (begun.clone(), ids.clone(), jobs.is_empty(), form.at);
                let stage = if is_first { 0 } else { 1 + u8::from(!begun.is_empty()) };
                let is_continued = begun.is_empty() && MAX_RECOMPUTED < form.wanted.len();
                let job = move |loaded: &LoadedModel| {
                    let worded = WordedQuestion::new(&questions[at], &labels, &order, is_decision_model);
                    let prepared = prepared(loaded, &maker, &worded, (&begun, ids), (is_first, is_continued));
                    prepared.map_err(|err| if is_first { err } else { err.at(&format!("questions[{at}]")) })
                };
                jobs.push(ReadingJob { stage, job: Box::new(job) });
            }
        }
        jobs
    }

    /// The answers, from what was read after the prompts of [`jobs`](Self::jobs).
    fn decisions(&self, read: &[PromptLogprobs], options: &DecisionOptions) -> Decisions {
        let mut sums: Vec<(Vec<f64>, f64, usize)> =
            self.questions.iter().map(|question| (vec![0.0; question.labels().len()], 0.0, 0)).collect();
        let mut rest = read;
        for form in &self.forms {
            let (own, others) = rest.split_at(form.wanted.len());
            rest = others;
            let logprobs: Vec<Vec<f64>> = own.iter().map(|read| read.logprobs.clone()).collect();
            let (scores, probability) = scores(&form.labels, &form.wanted, &logprobs);
            let (sum, mass, n_forms) = &mut sums[form.at];
            form.order.iter().zip(scores).for_each(|(at, score)| sum[*at] += score);
            *mass += probability;
            *n_forms += 1;
        }
        let least = options.least_probability(self.is_decision_model);
        let answer = |(question, (mut logprobs, mass, n_forms)): (&DecisionQuestion, (Vec<f64>, f64, usize))| {
            logprobs.iter_mut().for_each(|logprob| *logprob /= n_forms as f64);
            let outcome = DecisionOutcome::new(question, &logprobs, options.temperature.of(&question.kind));
            let label_probability = mass / n_forms as f64;
            DecisionAnswer {
                name: question.name.clone(),
                outcome,
                label_probability,
                is_answered: least <= label_probability,
            }
        };
        let computed: usize = read.iter().map(|read| read.n_positions - read.n_cached).sum();
        let cached_tokens = read.first().map_or(0, |first| first.n_cached);
        let usage = DecisionUsage { input_tokens: computed + cached_tokens, cached_tokens };
        Decisions { answers: self.questions.iter().zip(sums).map(answer).collect(), usage }
    }
}

/// A prompt for the engine. The first one leaves the state to others, and one that is continued leaves its own.
fn prepared(
    loaded: &LoadedModel,
    maker: &PromptMaker,
    question: &WordedQuestion,
    (begun, ids): (&[u32], Vec<u32>),
    (is_first, is_continued): (bool, bool),
) -> Result<Prepared> {
    let prompt = maker.positions(loaded, question, begun)?;
    let mut kept = Vec::new();
    if is_first {
        kept.push(maker.n_shared(loaded, question, &prompt.positions)?);
    }
    kept.extend(is_continued.then_some(prompt.positions.len()));
    Ok(Prepared {
        messages: Vec::new(),
        positions: prompt.positions,
        embedded: prompt.embedded,
        in_reasoning: false,
        continues_text: false,
        owner: Owner::default(),
        functions: Vec::new(),
        constraint: ReplyConstraint::default(),
        report: PromptReport::default(),
        speech: SpeechMode::Off,
        reading: Some(TokenReading { ids, kept }),
    })
}
