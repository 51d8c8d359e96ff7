//! `causerie decide`: answers questions about a text with probabilities.

mod fit;
mod questions;
mod shown;

use std::fs;
use std::io::{self, Read};

use causerie::{DecisionLabel, DecisionOptions, DecisionQuestion, DecisionState, DecisionTemperatures};

use crate::arguments::DecideArguments;
use crate::failure::Failure;
use crate::model::{LocalModel, load_options};
use crate::output::{print, print_line, remark};

/// The name of standard input.
const STANDARD: &str = "-";
/// Bytes of standard input at most: more than a context holds.
const MAX_STATE: u64 = 1 << 24;

pub(crate) fn run(arguments: &DecideArguments, model: &LocalModel) -> Result<(), Failure> {
    let temperature = arguments.temperature.map_or_else(DecisionTemperatures::default, |temperature| {
        DecisionTemperatures { predicate: temperature, choice: temperature, score: temperature }
    });
    let options = DecisionOptions {
        temperature,
        rotations: arguments.rotations,
        min_label_probability: arguments.min_label_probability,
    };
    options.check()?;
    if let Some(file) = &arguments.fit {
        let examples = fit::read(file)?;
        let runner = model.load(load_options(arguments.context.size))?;
        return fit::run(&runner, &examples, options, arguments.json);
    }
    let (state, questions) = (state(arguments)?, asked(arguments)?);
    let runner = model.load(load_options(arguments.context.size))?;
    let decisions = runner.decide_with(state, &questions, options)?;
    if arguments.json {
        print_line(shown::json(&decisions))?;
    } else {
        print(shown::bars(&questions, &decisions))?;
        let usage = decisions.usage;
        remark(format_args!("{} tokens", usage.input_tokens));
    }
    Ok(())
}

/// The text of the argument or of standard input, and the pictures.
fn state(arguments: &DecideArguments) -> Result<DecisionState, Failure> {
    let mut text = arguments.state.clone().unwrap_or_default();
    if text == STANDARD {
        text.clear();
        let read = io::stdin().take(MAX_STATE).read_to_string(&mut text);
        read.map_err(|err| Failure(format!("cannot read the text of standard input: {err}")))?;
    }
    let mut state = DecisionState::from(text);
    for file in &arguments.image {
        let image = fs::read(file).map_err(|err| Failure(format!("cannot read {}: {err}", file.display())))?;
        state = state.with_image(image);
    }
    Ok(state)
}

fn asked(arguments: &DecideArguments) -> Result<Vec<DecisionQuestion>, Failure> {
    if let Some(file) = &arguments.questions {
        return questions::read(file);
    }
    let question = arguments.question.clone().unwrap_or_default();
    let labels = |labels: &[String]| labels.iter().map(DecisionLabel::new).collect::<Vec<_>>();
    Ok(vec![match (&*arguments.choice, &*arguments.level) {
        ([], []) => DecisionQuestion::predicate(question),
        ([], levels) => DecisionQuestion::score(question, labels(levels)),
        (choices, _) => DecisionQuestion::choice(question, labels(choices)),
    }])
}
