//! The functions of a request, and which of them are to be called.

use std::collections::HashSet;

use causerie::{FunctionNames, GenerationOptions, SdkFunction, ToolCallConstraint, ToolChoice, functions_from_json};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::serve::error::HttpError;
use crate::serve::request::content::kind_of;
use crate::serve::request::fields::{RequestFields, read_value};
use crate::serve::request::namespaces::{NamespacedName, Namespaces, joined, joined_name};
use crate::serve::request::reader::must_be;

const MAX_FUNCTIONS: usize = 512;

/// What a request says about functions.
#[derive(Debug, Default)]
pub(in crate::serve) struct FunctionTools {
    pub(in crate::serve) functions: Vec<OfferedFunction>,
    pub(in crate::serve) choice: FunctionChoice,
    pub(in crate::serve) parallel: Option<bool>,
}

/// A function with its place in the request.
#[derive(Debug)]
pub(in crate::serve) struct OfferedFunction {
    place: String,
    function: PlainFunction,
    /// The function as an entry of chat completions, with all that the request says there.
    entry: Json,
    /// Set if the function is in a namespace; the model calls it by the joined name.
    namespaced: Option<NamespacedName>,
}

/// Which functions are to be called.
#[derive(Debug, Default)]
pub(in crate::serve) struct FunctionChoice {
    pub(in crate::serve) mode: ToolChoice,
    /// The functions that may be called; `None` allows all.
    pub(in crate::serve) allowed: Option<Vec<String>>,
}

impl From<ToolChoice> for FunctionChoice {
    fn from(mode: ToolChoice) -> Self {
        Self { mode, allowed: None }
    }
}

impl FunctionTools {
    /// Offers further functions, which items of the conversation declare. Those that are offered already are passed over.
    pub(in crate::serve) fn extend(&mut self, more: Vec<OfferedFunction>, fields: &RequestFields) {
        for offered in more {
            let is_same = |other: &OfferedFunction| other.function.name == offered.function.name;
            match self.functions.iter().any(is_same) {
                true => fields.ignore(offered.place),
                false => self.functions.push(offered),
            }
        }
    }

    /// The functions that are in namespaces.
    pub(in crate::serve) fn namespaces(&self) -> Namespaces {
        Namespaces::new(self.functions.iter().filter_map(|offered| offered.namespaced.clone()))
    }

    /// Sets the options of the engine. Calls are constrained where nothing else guarantees what the request demands.
    pub(in crate::serve) fn apply(self, options: &mut GenerationOptions) -> Result<Vec<SdkFunction>, HttpError> {
        let functions = read_functions(&self.functions)?;
        let is_strict = self.functions.iter().any(|offered| offered.function.strict == Some(true));
        let is_required = !matches!(self.choice.mode, ToolChoice::Auto | ToolChoice::None);
        if functions.is_empty() && (is_required || self.choice.allowed.is_some()) {
            let message = "tool_choice must be auto or none, since tools offers no function";
            return Err(HttpError::value("tool_choice", message));
        }
        if is_strict || self.choice.allowed.is_some() || self.parallel == Some(false) {
            options.tool_call_constraint = ToolCallConstraint::Typed;
        }
        options.tool_choice = self.choice.mode;
        options.allowed_tools = self.choice.allowed;
        options.parallel_tool_calls = self.parallel.unwrap_or(options.parallel_tool_calls);
        Ok(functions)
    }
}

fn read_functions(offered: &[OfferedFunction]) -> Result<Vec<SdkFunction>, HttpError> {
    if MAX_FUNCTIONS < offered.len() {
        let message = format!("tools must hold at most {MAX_FUNCTIONS} functions, found {}", offered.len());
        return Err(HttpError::value("tools", message));
    }
    let mut functions = Vec::new();
    for OfferedFunction { place, entry, .. } in offered {
        let read = functions_from_json(&json!([entry]).to_string());
        // The engine counts the functions that it is given.
        let placed = |message: &str| message.replacen("functions[0]", place, 1);
        functions.extend(read.map_err(|err| HttpError::value("tools", placed(err.message())))?);
    }
    let mut names = HashSet::new();
    match functions.iter().find(|function| !names.insert(&function.name)) {
        Some(twice) => {
            let message = format!("tools must have functions of different names, found {} twice", twice.name);
            Err(HttpError::value("tools", message))
        }
        None => Ok(functions),
    }
}

/// A function, without the object that chat completions wrap it in.
#[derive(Debug, Deserialize, Serialize)]
struct PlainFunction {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(alias = "input_schema", skip_serializing_if = "Option::is_none")]
    parameters: Option<Json>,
    #[serde(skip_serializing)]
    strict: Option<bool>,
}

impl OfferedFunction {
    fn check_name(&self) -> Result<(), HttpError> {
        let function = SdkFunction::new(self.function.name.as_str(), "", Vec::new());
        let refused = |err: causerie::SdkError| HttpError::value("tools", format!("{}: {}", self.place, err.message()));
        function.check_with(FunctionNames::Dotted).map_err(refused)
    }
}

/// The functions among tools, in the form of any dialect, and in namespaces. Other tools are ignored: a provider would run them,
/// their input is not JSON, or they are not known. So is a function with a bad name, if that leaves another one.
pub(in crate::serve) fn read_tools(
    fields: &RequestFields,
    place: &str,
    tools: Option<Vec<Json>>,
) -> Result<Vec<OfferedFunction>, HttpError> {
    let (mut functions, mut bad_name) = (Vec::new(), None);
    for offered in read_namespace(fields, place, tools.unwrap_or_default(), None)? {
        match offered.check_name() {
            Ok(()) => functions.push(offered),
            Err(error) => {
                fields.ignore(offered.place);
                bad_name.get_or_insert(error);
            }
        }
    }
    match bad_name {
        Some(error) if functions.is_empty() => Err(error),
        _ => Ok(functions),
    }
}

/// The functions of one namespace, or of those that are in none.
fn read_namespace(
    fields: &RequestFields,
    place: &str,
    tools: Vec<Json>,
    namespace: Option<&str>,
) -> Result<Vec<OfferedFunction>, HttpError> {
    let mut functions = Vec::new();
    for (i, mut tool) in tools.into_iter().enumerate() {
        let place = format!("{place}[{i}]");
        if is_function(&tool) {
            functions.push(read_function(place, tool, namespace)?);
            continue;
        }
        let is_namespace = kind_of(&place, &tool)? == "namespace" && namespace.is_none();
        match (tool["tools"].take(), tool["name"].as_str()) {
            (Json::Array(tools), Some(name)) if is_namespace => {
                functions.extend(read_namespace(fields, &format!("{place}.tools"), tools, Some(name))?);
            }
            _ => fields.ignore(place),
        }
    }
    Ok(functions)
}

fn read_function(place: String, tool: Json, namespace: Option<&str>) -> Result<OfferedFunction, HttpError> {
    // Some clients write it beside the function.
    let strict = tool.get("strict").and_then(Json::as_bool);
    let mut function: PlainFunction = match tool.get("function") {
        Some(function) => read_value(&format!("{place}.function"), function.clone())?,
        None => read_value(&place, tool.clone())?,
    };
    function.strict = function.strict.or(strict);
    let name = std::mem::take(&mut function.name);
    function.name = joined(namespace, &name);
    let is_of_chat = namespace.is_none() && tool.pointer("/function/parameters").is_some();
    let entry = if is_of_chat { tool } else { json!({ "type": "function", "function": function }) };
    let namespaced = namespace.map(|namespace| NamespacedName { namespace: namespace.to_owned(), name });
    Ok(OfferedFunction { place, function, entry, namespaced })
}

/// Whether a tool is a function. Anthropic's clients call a function `custom`, or leave out the type; OpenAI's call a tool
/// `custom` whose input is text.
fn is_function(tool: &Json) -> bool {
    match tool.get("type") {
        None | Some(Json::Null) => tool.is_object(),
        Some(Json::String(kind)) => kind == "function" || kind == "custom" && tool.get("input_schema").is_some(),
        Some(_) => false,
    }
}

/// A tool choice as chat completions write it.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Json")]
pub(in crate::serve) struct ChatToolChoice(pub(in crate::serve) FunctionChoice);

impl TryFrom<Json> for ChatToolChoice {
    type Error = String;

    fn try_from(choice: Json) -> Result<Self, String> {
        let name = |tool: &Json| joined_name(tool.get("function")?);
        let allowed = &choice["allowed_tools"];
        let read = read_choice(&choice, name, &allowed["mode"], &allowed["tools"]);
        let expected = "auto, none, required, a function or allowed_tools";
        read.map(Self).ok_or_else(|| must_be(expected, &choice))
    }
}

/// Reads a choice of a function, of a mode, or of a mode among allowed functions. The dialects differ in where they have
/// the name of a function, and the mode and the tools of `allowed_tools`.
pub(in crate::serve) fn read_choice(
    choice: &Json,
    name: impl Fn(&Json) -> Option<String>,
    allowed_mode: &Json,
    allowed_tools: &Json,
) -> Option<FunctionChoice> {
    match choice.get("type").and_then(Json::as_str) {
        None => Some(read_mode(choice)?.into()),
        Some("function") => Some(ToolChoice::Function(name(choice)?).into()),
        Some("allowed_tools") => {
            let allowed = allowed_tools.as_array()?.iter().map(name).collect::<Option<_>>()?;
            Some(FunctionChoice { mode: read_mode(allowed_mode)?, allowed: Some(allowed) })
        }
        Some(_) => None,
    }
}

fn read_mode(mode: &Json) -> Option<ToolChoice> {
    match mode.as_str()? {
        "auto" => Some(ToolChoice::Auto),
        "none" => Some(ToolChoice::None),
        "required" => Some(ToolChoice::Required),
        _ => None,
    }
}
