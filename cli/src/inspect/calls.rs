//! `causerie inspect calls`: parses replies, one JSON line each.

use std::io::BufRead;

use causerie::{Note, Parsed, Piece, RejectedCall, Repair, ReplyEnd, ReplyParser, SdkFunctionCall, Value};
use serde::Deserialize;

use crate::arguments::InspectCalls;
use crate::failure::Failure;
use crate::functions::read_definitions;
use crate::inspect::json::object;
use crate::output::print_line;

/// A reply as one text, or as the pieces that a model generates.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawReply {
    Text(String),
    Pieces(Vec<RawPiece>),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawPiece {
    Text(String),
    Control(String),
}

pub(super) fn run(arguments: &InspectCalls) -> Result<(), Failure> {
    let functions = arguments.functions.as_deref().map(read_definitions).transpose()?.unwrap_or_default();
    let format = arguments.format;
    let control = format.control_tokens();
    for (i, line) in std::io::stdin().lock().lines().enumerate() {
        let reply: RawReply = serde_json::from_str(&line?).map_err(|err| {
            let forms = r#"{"text": …} or {"pieces": [{"control": …}, {"text": …}]}"#;
            Failure(format!("line {} must be {forms}: {err}", i + 1))
        })?;
        let mut events = Vec::new();
        let mut parser = ReplyParser::new(Some(format)).offering(&functions);
        let mut emit = |parsed| join(&mut events, parsed);
        match &reply {
            RawReply::Text(text) => pieces(text, &control, |piece| parser.push(piece, &mut emit)),
            RawReply::Pieces(given) => given.iter().for_each(|piece| parser.push(piece.borrowed(), &mut emit)),
        }
        parser.finish(ReplyEnd::Ended, &mut emit);
        print_line(Value::Array(events.iter().map(event).collect()))?;
    }
    Ok(())
}

impl RawPiece {
    fn borrowed(&self) -> Piece<'_> {
        match self {
            Self::Text(text) => Piece::Text(text),
            Self::Control(spelling) => Piece::Control(spelling),
        }
    }
}

/// Splits text at what spells a control token.
fn pieces<'a>(mut text: &'a str, control: &[&'a str], mut push: impl FnMut(Piece<'a>)) {
    let next = |text: &str| control.iter().filter_map(|spelling| Some((text.find(spelling)?, *spelling))).min();
    while let Some((at, spelling)) = next(text) {
        push(Piece::Text(&text[..at]));
        push(Piece::Control(spelling));
        text = &text[at + spelling.len()..];
    }
    push(Piece::Text(text));
}

/// Adds an event; consecutive texts are joined.
fn join(events: &mut Vec<Parsed>, parsed: Parsed) {
    match (events.last_mut(), parsed) {
        (Some(Parsed::Text(before)), Parsed::Text(text)) => before.push_str(&text),
        (Some(Parsed::Reasoning(before)), Parsed::Reasoning(text)) => before.push_str(&text),
        (_, parsed) => events.push(parsed),
    }
}

fn event(parsed: &Parsed) -> Value {
    match parsed {
        Parsed::Text(text) => object([("text", text.as_str().into())]),
        Parsed::Reasoning(text) => object([("reasoning", text.as_str().into())]),
        Parsed::Calls(calls) => object([("calls", calls.iter().map(call).collect())]),
        Parsed::Rejected(rejected) => object([("rejected", rejected.iter().map(rejection).collect())]),
        Parsed::Note(note) => object([("note", Note::code(*note).into())]),
    }
}

fn call(call: &SdkFunctionCall) -> Value {
    object([
        ("name", call.name.as_str().into()),
        ("arguments", Value::Object(call.arguments.clone())),
        ("repairs", call.repairs.iter().map(|repair| Value::from(Repair::code(*repair))).collect()),
    ])
}

fn rejection(rejected: &RejectedCall) -> Value {
    object([
        ("reason", rejected.reason.code().into()),
        ("name", rejected.name.as_deref().map_or(Value::Null, Value::from)),
        ("candidate", rejected.candidate.as_ref().map_or(Value::Null, call)),
        ("message", rejected.message.as_str().into()),
    ])
}
