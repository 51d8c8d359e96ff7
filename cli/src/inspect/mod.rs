//! `causerie inspect`: shows what the engine works with.

mod json;

mod calls;
mod constrain;
mod devices;
mod model;

use std::fs;
use std::io::Read;

use causerie::{ChatMessage, Role, Value, function_schema, functions_to_json, messages_from_json};

use crate::arguments::{InspectCommand, InspectPrompt, InspectSchema, InspectTokens};
use crate::failure::Failure;
use crate::functions::read_definitions;
use crate::model::LocalModel;
use crate::output::{print, print_line};
use json::object;

pub(crate) fn run(command: &InspectCommand, model: &LocalModel) -> Result<(), Failure> {
    match command {
        InspectCommand::Calls(calls) => calls::run(calls),
        InspectCommand::Constrain(grammar) => constrain::check_calls(grammar),
        InspectCommand::Devices(arguments) => devices::run(arguments),
        InspectCommand::Grammar(grammar) => constrain::show_grammar(grammar),
        InspectCommand::Model(arguments) => model::run(arguments, model),
        InspectCommand::Prompt(prompt) => show_prompt(prompt, model),
        InspectCommand::Schema(schema) => show_schema(schema),
        InspectCommand::Tokens(tokens) => show_tokens(tokens, model),
    }
}

fn show_prompt(arguments: &InspectPrompt, model: &LocalModel) -> Result<(), Failure> {
    let file = &arguments.messages;
    let text = fs::read_to_string(file).map_err(|err| Failure(format!("cannot read {}: {err}", file.display())))?;
    let mut messages = messages_from_json(&text)?;
    if let Some(file) = &arguments.functions {
        if messages.first().is_none_or(|message| message.role != Role::System) {
            messages.insert(0, ChatMessage::with_functions(Vec::new()));
        }
        messages[0].functions = read_definitions(file)?;
    }
    let prompt = model.text()?.render_prompt(&messages, true)?;
    match arguments.json {
        true => print_line(object([("prompt", prompt.as_str().into())]))?,
        false => print(prompt)?,
    }
    Ok(())
}

fn show_schema(arguments: &InspectSchema) -> Result<(), Failure> {
    let functions = read_definitions(&arguments.functions)?;
    if arguments.json {
        return Ok(print_line(functions_to_json(&functions))?);
    }
    Ok(functions.iter().try_for_each(|function| print_line(function_schema(function)))?)
}

fn show_tokens(arguments: &InspectTokens, model: &LocalModel) -> Result<(), Failure> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let model = model.text()?;
    for id in model.tokenize(&text)? {
        let piece = model.token_text(id).unwrap_or_default();
        if arguments.json {
            print_line(object([("id", Value::Integer(id.into())), ("piece", piece.as_str().into())]))?;
        } else {
            print_line(format_args!("{id:>6} {piece:?}"))?;
        }
    }
    Ok(())
}
