//! `causerie inspect`: what the engine sees.

mod calls;
mod constrain;
mod model;

use std::fs;
use std::io::Read;
use std::path::Path;

use causerie::{
    ChatMessage, Role, SdkFunction, Value, function_schema, functions_from_json, functions_to_json, messages_from_json,
};

use crate::arguments::{Inspect, InspectPrompt, InspectSchema, InspectTokens};
use crate::{Failure, model as models};

pub(crate) use model::size;

pub(crate) fn run(what: &Inspect) -> Result<(), Failure> {
    match what {
        Inspect::Calls(calls) => calls::run(calls),
        Inspect::Constrain(grammar) => constrain::check_calls(grammar),
        Inspect::Grammar(grammar) => constrain::show_grammar(grammar),
        Inspect::Model(model) => model::run(model),
        Inspect::Prompt(prompt) => show_prompt(prompt),
        Inspect::Schema(schema) => show_schema(schema),
        Inspect::Tokens(tokens) => show_tokens(tokens),
    }
}

fn show_prompt(arguments: &InspectPrompt) -> Result<(), Failure> {
    let mut messages = messages_from_json(&read(&arguments.messages)?)?;
    if let Some(file) = &arguments.functions {
        if messages.first().is_none_or(|message| message.role != Role::System) {
            messages.insert(0, ChatMessage::with_functions(Vec::new()));
        }
        messages[0].functions = read_functions(file)?;
    }
    let prompt = models::load(arguments.model.name.as_deref(), None)?.render_prompt(&messages, true)?;
    if arguments.json {
        anstream::println!("{}", object([("prompt", prompt.as_str().into())]))
    } else {
        anstream::print!("{prompt}")
    }
    Ok(())
}

fn show_schema(arguments: &InspectSchema) -> Result<(), Failure> {
    let functions = read_functions(&arguments.functions)?;
    if arguments.json {
        anstream::println!("{}", functions_to_json(&functions));
        return Ok(());
    }
    for function in functions {
        anstream::println!("{}", function_schema(&function));
    }
    Ok(())
}

fn show_tokens(arguments: &InspectTokens) -> Result<(), Failure> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let runner = models::load(arguments.model.name.as_deref(), None)?;
    for id in runner.tokenize(&text)? {
        let piece = runner.token_text(id).unwrap_or_default();
        if arguments.json {
            anstream::println!("{}", object([("id", Value::Integer(id.into())), ("piece", piece.as_str().into())]));
        } else {
            anstream::println!("{id:>6} {piece:?}");
        }
    }
    Ok(())
}

pub(crate) fn read_functions(file: &Path) -> Result<Vec<SdkFunction>, Failure> {
    functions_from_json(&read(file)?).map_err(|err| Failure(format!("{}: {err}", file.display())))
}

fn read(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|err| Failure(format!("cannot read {}: {err}", file.display())))
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}
