//! Choosing among many functions before a reply.

use crate::decide::answer::DecisionOutcome;
use crate::decide::question::{DecisionLabel, DecisionQuestion};
use crate::error::Result;
use crate::function::SdkFunction;
use crate::runner::ModelRunner;

/// What is asked of a message.
const QUESTION: &str = "Which function does the message ask for?";

impl ModelRunner {
    /// Chooses the functions that a message most probably asks for, by a decision of the model: their names, the most probable first.
    /// As [`allowed_tools`](crate::GenerationOptions::allowed_tools) with a constraint, they keep a model from calling others: the
    /// prompt still lists all functions, so that it is the same for every message, and stays in the prefix cache. A small model makes
    /// more right calls if they alone are in its prompt (docs/constrained-calls.md).
    ///
    /// The model must be good at decisions; [`EmbeddingModel`](crate::embedding::EmbeddingModel::choose_functions) does the same by
    /// vectors. With no more functions than wanted, all are chosen, and nothing is computed.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// use causerie::{ModelRunner, functions_from_json};
    ///
    /// let runner = ModelRunner::load(model)?;
    /// let functions = functions_from_json(
    ///     r#"[{"type": "function", "function": {"name": "set_timer", "description": "Start a timer."}},
    ///         {"type": "function", "function": {"name": "send_mail", "description": "Send a mail."}}]"#,
    /// )?;
    /// let names = runner.choose_functions("Ten minutes for the pasta, please.", &functions, 1)?;
    /// assert_eq!(names.len(), 1);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`decide`](Self::decide): for more than 255 functions, too.
    pub fn choose_functions(&self, message: &str, functions: &[SdkFunction], n_chosen: usize) -> Result<Vec<String>> {
        if functions.len() <= n_chosen {
            return Ok(functions.iter().map(|function| function.name.clone()).collect());
        }
        let label = |function: &SdkFunction| DecisionLabel::new(&function.name).described(&function.description);
        let question = DecisionQuestion::choice(QUESTION, functions.iter().map(label));
        let decisions = self.decide(message, &[question])?;
        let outcome = decisions.answers.into_iter().next().map(|answer| answer.outcome);
        let Some(DecisionOutcome::Choice { mut probabilities, .. }) = outcome else { return Ok(Vec::new()) };
        probabilities.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        Ok(probabilities.into_iter().take(n_chosen).map(|label| label.label).collect())
    }
}
