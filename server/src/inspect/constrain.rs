//! `causerie inspect grammar` and `causerie inspect constrain`: what calls are held to, and which would pass.

use std::io::BufRead;

use causerie::{CallGrammar, Value};
use serde::Deserialize;

use super::{object, read_functions};
use crate::Failure;
use crate::arguments::{CallFormat, InspectGrammar};

/// Text of calls, with the markers around them or without.
#[derive(Deserialize)]
struct Candidate {
    text: String,
}

pub(super) fn show_grammar(arguments: &InspectGrammar) -> Result<(), Failure> {
    anstream::print!("{}", grammar(arguments)?.text());
    Ok(())
}

pub(super) fn check_calls(arguments: &InspectGrammar) -> Result<(), Failure> {
    let grammar = grammar(arguments)?;
    for (i, line) in std::io::stdin().lock().lines().enumerate() {
        let candidate: Candidate = serde_json::from_str(&line?)
            .map_err(|err| Failure(format!("line {}: expected {{\"text\": …}}: {err}", i + 1)))?;
        let block = block(arguments.format, &candidate.text);
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
        anstream::println!("{result}");
    }
    Ok(())
}

fn grammar(arguments: &InspectGrammar) -> Result<CallGrammar, Failure> {
    let functions = read_functions(&arguments.functions)?;
    Ok(CallGrammar::new(arguments.format.parser(), &functions, !arguments.single)?)
}

/// What stands between the markers.
fn block(format: CallFormat, text: &str) -> &str {
    let (start, end) = format.parser().markers();
    let behind = text.strip_prefix(start).unwrap_or(text);
    behind.strip_suffix(end).unwrap_or(behind)
}
