//! The options of Python with their choices, and facts about a model, from the core's tables.

use std::fmt::Write;

use anyhow::{Result, bail};
use heck::ToShoutySnakeCase;

use crate::tables::{self, Choice, Row, paragraphs, wrapped};

const HEADER: &str = r#""""Options for loading a model and for generating a reply, and their choices.

Written by scripts/bindgen from the tables in core/src/tables.
"""

from __future__ import annotations

import os
from dataclasses import InitVar, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, TypedDict

from causerie._border import adopted
from causerie._numbers import Duration, integer, milliseconds, number, seconds
from causerie._option_checks import (
    NOT_GIVEN,
    CheckedOptions,
    biases,
    checked,
    entries,
    flag,
    nested,
    one_of_choices,
    optional_flag,
    path,
    schema,
    string,
    strings,
    tool_choice,
    tool_names,
)
from causerie.choices import ContextPolicy, ToolChoice
from causerie.notations import FunctionCallParser
"#;

/// Options whose values in Python have further types: the name, the type and the check.
const SPECIAL: [(&str, &str, &str); 1] =
    [("json_schema_constraint", "str | dict[str, Any] | type[Any] | None", "schema")];

/// The class of options, and what it is.
const CLASSES: [(&str, &str); 4] = [
    (
        "GenerationOptions",
        "Options for generating a reply. `None` takes the model's default, or else the default given here.",
    ),
    ("RoundOptions", "Options for running functions; see `FunctionHandlers`."),
    ("SamplingDefaults", "Sampling values that replace the ones that a model's files recommend."),
    ("LoadOptions", "Options for loading a model. `None` takes the default."),
];

/// The members of the class whose replies have a timeout: it is set in seconds, and kept in milliseconds.
const TIMEOUT: &str = r#"
    if TYPE_CHECKING:
        timeout: Duration | None = None
    else:
        timeout: InitVar[Duration | None] = NOT_GIVEN

    def __post_init__(self, timeout: Any = NOT_GIVEN) -> None:
        if timeout is not NOT_GIVEN:
            self.timeout = timeout

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "timeout":
            name, value = "timeout_milliseconds", None if value is None else checked(name, milliseconds, value)
        super().__setattr__(name, value)


def _timeout(self: GenerationOptions) -> Duration | None:
    """Seconds, or a `timedelta`, after which the reply is cancelled. It reads as seconds. Default: never."""
    return None if self.timeout_milliseconds is None else self.timeout_milliseconds / 1000


setattr(GenerationOptions, "timeout", property(_timeout))
# Only the constructor takes it beside the milliseconds: `dataclasses.replace` would pass an old one on, which wins over new milliseconds.
del GenerationOptions.__dataclass_fields__["timeout"]
"#;

/// The source of `options.py`.
pub(crate) fn options() -> Result<String> {
    let mut text = HEADER.to_owned();
    for choice in tables::choices() {
        write_choice(&mut text, &choice)?;
    }
    for (name, documentation) in CLASSES {
        let rows = rows(name)?;
        write_class(&mut text, name, documentation, &rows)?;
    }
    write_keywords(&mut text, "GenerationKeywords", "GenerationOptions")?;
    write_keywords(&mut text, "LoadKeywords", "LoadOptions")?;
    Ok(text)
}

const FACTS_HEADER: &str = r#""""Facts about a model.

Written by scripts/bindgen from the table in core/src/tables.
"""

from __future__ import annotations

from dataclasses import dataclass

from causerie.notations import FunctionCallParser


@dataclass(frozen=True)
class ModelFacts:
    """Facts about a model."""

"#;

/// The source of `_facts.py`.
pub(crate) fn facts() -> Result<String> {
    let mut text = FACTS_HEADER.to_owned();
    for fact in tables::facts() {
        let hint = match fact.kind.as_str() {
            "bool" => "bool",
            "u64" | "usize" => "int",
            "String" => "str",
            "Option<String>" => "str | None",
            "Vec<String>" => "list[str]",
            "FunctionCallParser" => "FunctionCallParser",
            other => bail!("{}: Python must have a type for {other}", fact.name),
        };
        write!(text, "    {}: {hint}\n{}", fact.name, docstring(fact.documentation))?;
    }
    Ok(text)
}

fn rows(class: &str) -> Result<Vec<Row>> {
    Ok(match class {
        "GenerationOptions" => tables::generation(),
        "RoundOptions" => tables::rounds(),
        "SamplingDefaults" => tables::sampling(),
        "LoadOptions" => tables::loading(),
        _ => bail!("{class} must have a table"),
    })
}

fn write_choice(text: &mut String, choice: &Choice) -> Result<()> {
    write!(text, "\n\n@adopted\nclass {}(str, Enum):\n{}\n", choice.name, docstring(choice.documentation))?;
    for variant in &choice.variants {
        writeln!(text, "    {} = {:?}", variant.name.to_shouty_snake_case(), variant.word)?;
        text.push_str(&docstring(variant.documentation));
    }
    Ok(())
}

fn write_class(text: &mut String, name: &str, documentation: &str, rows: &[Row]) -> Result<()> {
    write!(text, "\n\n@adopted\n@dataclass\nclass {name}(CheckedOptions):\n{}\n", docstring(documentation))?;
    text.push_str("    _checks = {\n");
    for row in rows {
        writeln!(text, "        \"{}\": {},", row.foreign, PythonType::new(row)?.check)?;
    }
    if name == "GenerationOptions" {
        text.push_str("        \"timeout\": milliseconds,\n");
    }
    text.push_str("    }\n\n");
    for row in rows {
        let PythonType { hint, default, .. } = PythonType::new(row)?;
        writeln!(text, "    {}: {hint} = {default}", row.foreign)?;
        match row.foreign.strip_suffix("_milliseconds") {
            Some(time) => text.push_str(&docstring(&format!("The same as `{time}`, in milliseconds."))),
            None if SPECIAL.iter().any(|(name, ..)| *name == row.name) => {
                text.push_str(&docstring(&format!(
                    "{} A dict, or a type, is taken as well.",
                    row.documentation.trim_end()
                )));
            }
            None => text.push_str(&docstring(row.documentation)),
        }
    }
    if name == "GenerationOptions" {
        text.push_str(TIMEOUT);
    }
    Ok(())
}

fn write_keywords(text: &mut String, name: &str, class: &str) -> Result<()> {
    write!(text, "\n\nclass {name}(TypedDict, total=False):\n")?;
    write!(text, "    \"\"\"The options of `{class}` as keyword arguments.\"\"\"\n\n")?;
    for row in rows(class)? {
        writeln!(text, "    {}: {}", row.foreign, PythonType::new(&row)?.hint)?;
    }
    if class == "GenerationOptions" {
        text.push_str("    timeout: Duration | None\n");
        text.push_str("\n\nclass ReplyKeywords(GenerationKeywords, total=False):\n");
        text.push_str("    \"\"\"The options of a reply as keyword arguments, or as an object under the specification's name.\"\"\"\n\n");
        text.push_str("    generation_options: GenerationOptions | None\n");
    }
    Ok(())
}

/// How an option is declared in Python.
struct PythonType {
    hint: String,
    /// What checks and converts a value.
    check: String,
    default: &'static str,
}

impl PythonType {
    fn new(row: &Row) -> Result<Self> {
        let with = |hint: &str, check: &str, default| Self { hint: hint.into(), check: check.into(), default };
        if let Some((_, hint, check)) = SPECIAL.iter().find(|(name, ..)| *name == row.name) {
            return Ok(with(hint, check, "None"));
        }
        let optional = |hint: &str, check: &str| with(&format!("{hint} | None"), check, "None");
        Ok(match row.kind.as_str() {
            "bool" => with("bool", "flag", if row.default == Some("true") { "True" } else { "False" }),
            "Option<bool>" => optional("bool", "optional_flag"),
            "Option<f32>" => optional("float", "number"),
            "usize" | "Option<usize>" => optional("int", "integer(32)"),
            "u64" | "Option<u64>" => optional("int", "integer(64)"),
            "Option<String>" => optional("str", "string"),
            "Option<PathBuf>" => optional("str | os.PathLike[str]", "path"),
            "Vec<String>" => with("list[str]", "strings", "field(default_factory=list)"),
            "Option<Vec<String>>" => optional("list[str]", "tool_names"),
            "Arguments" => optional("dict[str, Any]", "entries"),
            "BTreeMap<u32,f32>" => optional("dict[int, float]", "biases"),
            "Option<Duration>" if row.foreign.ends_with("_milliseconds") => optional("int", "integer(64)"),
            "Option<Duration>" => optional("Duration", "seconds"),
            "Option<FunctionCallParser>" => Self {
                default: "FunctionCallParser.MODEL",
                ..optional("FunctionCallParser | str", "one_of_choices(FunctionCallParser)")
            },
            "ToolChoice" => optional("ToolChoice | str | dict[str, Any]", "tool_choice"),
            "SamplingDefaults" => optional("SamplingDefaults", "nested(SamplingDefaults)"),
            name if name == "ContextPolicy" || tables::choices().iter().any(|choice| choice.name == name) => {
                optional(&format!("{name} | str"), &format!("one_of_choices({name})"))
            }
            other => bail!("{}: Python must have a type for {other}", row.name),
        })
    }
}

/// A docstring of a member or a class, with its line's end.
fn docstring(documentation: &str) -> String {
    let paragraphs = paragraphs(documentation);
    let mut lines = Vec::new();
    for (at, paragraph) in paragraphs.iter().enumerate() {
        let quoted = if at == 0 { format!("\"\"\"{paragraph}") } else { paragraph.clone() };
        if 0 < at {
            lines.push(String::new());
        }
        lines.extend(wrapped(&quoted, "    ", 122));
    }
    lines.join("\n") + "\"\"\"\n"
}
