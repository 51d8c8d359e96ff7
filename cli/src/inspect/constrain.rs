//! `causerie inspect grammar` prints the grammar that constrains calls; `causerie inspect constrain` checks calls with it.

use std::io::BufRead;

use causerie::{CallGrammar, FunctionCallParser, Value};
use serde::Deserialize;

use crate::arguments::InspectGrammar;
use crate::failure::Failure;
use crate::functions::read_definitions;
use crate::inspect::json::object;
use crate::output::{print, print_line};

/// Calls as a model writes them, with or without the markers around them.
#[derive(Deserialize)]
struct RawCalls {
    text: String,
}

pub(super) fn show_grammar(arguments: &InspectGrammar) -> Result<(), Failure> {
    Ok(print(grammar(arguments)?.text())?)
}

pub(super) fn check_calls(arguments: &InspectGrammar) -> Result<(), Failure> {
    let grammar = grammar(arguments)?;
    for (i, line) in std::io::stdin().lock().lines().enumerate() {
        let calls: RawCalls = serde_json::from_str(&line?)
            .map_err(|err| Failure(format!("line {} must be {{\"text\": …}}: {err}", i + 1)))?;
        let block = block(arguments.format, &calls.text);
        let result = match grammar.check(block) {
            Ok(()) => object([("accepted", true.into())]),
            Err(refusal) => {
                let at = i64::try_from(refusal.at).unwrap_or(i64::MAX);
                object([
                    ("accepted", false.into()),
                    ("at", Value::Integer(at)),
                    ("rest", block[refusal.at..].into()),
                    ("expected", refusal.expected.as_str().into()),
                    ("can_end", refusal.can_end.into()),
                ])
            }
        };
        print_line(result)?;
    }
    Ok(())
}

fn grammar(arguments: &InspectGrammar) -> Result<CallGrammar, Failure> {
    let functions = read_definitions(&arguments.functions)?;
    Ok(CallGrammar::new(arguments.format, &functions, !arguments.single)?)
}

/// Returns the text between the markers.
fn block(format: FunctionCallParser, text: &str) -> &str {
    let (start, end) = format.markers();
    let text = text.strip_prefix(start).unwrap_or(text);
    text.strip_suffix(end).unwrap_or(text)
}
