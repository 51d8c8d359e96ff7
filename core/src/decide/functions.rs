//! Choosing among many functions before a reply.

use crate::decide::answer::DecisionOutcome;
use crate::decide::question::{DecisionLabel, DecisionQuestion};
use crate::error::Result;
use crate::function::{SdkFunction, check_chosen};
use crate::runner::ModelRunner;

/// What is asked of a message.
const QUESTION: &str = "Which function does the message ask for?";

impl ModelRunner {
    /// Chooses the functions that a message most probably asks for, by a decision of the model: their names, the most probable first.
    /// As [`allowed_tools`](crate::GenerationOptions::allowed_tools) with a constraint, they keep a model from calling others: the
    /// prompt still lists all functions, so that it is the same for every message, and stays in the prefix cache. As
    /// [`offered_functions`](crate::GenerationOptions::offered_functions), they alone are in the prompt, and a small model makes more right
    /// calls (docs/constrained-calls.md).
    ///
    /// The model must be good at decisions. The order of the functions is taken even if the model
    /// [did not answer](crate::DecisionAnswer::is_answered): it can still be better than chance, and the app can do no more than offer
    /// all functions. [`EmbeddingModel`](crate::embedding::EmbeddingModel::choose_functions) does the same by
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
    /// As [`decide`](Self::decide): [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for more than 255 functions, and
    /// if none is to be chosen.
    pub fn choose_functions(&self, message: &str, functions: &[SdkFunction], n_chosen: usize) -> Result<Vec<String>> {
        check_chosen(n_chosen)?;
        if functions.len() <= n_chosen {
            return Ok(functions.iter().map(|function| function.name.clone()).collect());
        }
        let decisions = self.decide(message, &[question(functions)])?;
        let outcome = decisions.answers.into_iter().next().map(|answer| answer.outcome);
        let Some(DecisionOutcome::Choice { mut probabilities, .. }) = outcome else { return Ok(Vec::new()) };
        probabilities.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        Ok(probabilities.into_iter().take(n_chosen).map(|label| label.label).collect())
    }
}

fn question(functions: &[SdkFunction]) -> DecisionQuestion {
    let label = |function: &SdkFunction| match &*function.description {
        "" => DecisionLabel::new(&function.name),
        description => DecisionLabel::new(&function.name).described(description),
    };
    DecisionQuestion::choice(QUESTION, functions.iter().map(label))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::question::DecisionKind;
    use crate::error::ErrorKind;
    use crate::testing::ScriptedModel;

    #[test]
    fn a_function_without_a_description_is_a_label_without_one() {
        let functions = [SdkFunction::new("sing", "", vec![]), SdkFunction::new("fly", "Take off.", vec![])];
        let DecisionKind::Choice(labels) = question(&functions).kind else { panic!("it is a choice") };
        assert_eq!(labels, [DecisionLabel::new("sing"), DecisionLabel::new("fly").described("Take off.")]);
    }

    #[test]
    fn at_least_one_function_is_chosen() {
        let runner = ScriptedModel::new().load().unwrap();
        for functions in [vec![], vec![SdkFunction::new("sing", "", vec![])]] {
            let err = runner.choose_functions("Sing!", &functions, 0).unwrap_err();
            assert_eq!(
                (err.kind(), err.message()),
                (ErrorKind::InvalidArgument, "n_chosen must be at least 1, found 0")
            );
        }
    }
}
