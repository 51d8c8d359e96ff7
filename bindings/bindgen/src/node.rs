//! The types of options and of facts in TypeScript, from the core's tables.

use std::fmt::Write;

use anyhow::{Result, bail};
use heck::ToLowerCamelCase;

use crate::tables::{self, Row, in_camel_case, paragraphs, wrapped};

const HEADER: &str = "/** Options of loading and of replies, and facts about models. Written by scripts/bindgen from the tables in core/src/tables. */\n\n\
                      import type { Json } from \"./index.js\";\n\
                      import type { FunctionCallParser } from \"./lib/notations.js\";\n";

/// Options whose values are further types in JavaScript.
const SPECIAL: [(&str, &str); 3] = [
    ("json_schema_constraint", "string | object | null"),
    ("context_policy", "\"error\" | \"slide\" | \"shrink\""),
    // Seeds have 64 bits, more than a number of JavaScript.
    ("seed", "number | bigint | null"),
];

/// The source of `options.d.ts`.
pub(crate) fn options() -> Result<String> {
    let mut text = HEADER.to_owned();
    let loading = "Options of loading.";
    write_interface(&mut text, "LoadOptions", loading, &tables::loading(), "")?;
    let sampling = "Sampling values that replace the ones that the files of a model recommend.";
    write_interface(&mut text, "SamplingDefaults", sampling, &tables::sampling(), "")?;
    let reply = "Options of a reply. What is left out has the default of the model or of causerie.";
    let signal = "  /** Cancels the reply. */\n  signal?: AbortSignal;\n";
    write_interface(&mut text, "GenerationOptions", reply, &tables::generation(), signal)?;
    let rounds = "Limits on the functions that a reply runs.";
    write_interface(&mut text, "RoundOptions", rounds, &tables::rounds(), "")?;
    write_facts(&mut text)?;
    Ok(text)
}

fn write_facts(text: &mut String) -> Result<()> {
    text.push_str("\n/** Facts about a model. */\nexport interface ModelInfo {\n");
    for fact in tables::facts() {
        let kind = match fact.kind.as_str() {
            "bool" => "boolean",
            "u64" | "usize" => "number",
            "String" => "string",
            "FunctionCallParser" => "FunctionCallParser",
            "Option<String>" => "string | null",
            "Vec<String>" => "string[]",
            other => bail!("{}: TypeScript must have a type for {other}", fact.name),
        };
        let (name, documentation) =
            (fact.name.to_lower_camel_case(), in_camel_case(&paragraphs(fact.documentation).join(" ")));
        if name == "contextSize" {
            text.push_str("  /** The size of the context that it was or would be loaded with, in tokens. */\n  contextSize: number;\n");
            writeln!(text, "  /** {documentation} */\n  trainedContextSize: number;")?;
        } else {
            writeln!(text, "  /** {documentation} */\n  {name}: {kind};")?;
        }
    }
    text.push_str("}\n");
    Ok(())
}

fn write_interface(text: &mut String, name: &str, documentation: &str, rows: &[Row], others: &str) -> Result<()> {
    write!(text, "\n/** {documentation} */\nexport interface {name} {{\n")?;
    for row in rows {
        let seconds = if row.kind.contains("Duration") { " In seconds." } else { "" };
        let documentation = in_camel_case(&paragraphs(row.documentation).join(" ")) + seconds;
        let lines = wrapped(&documentation, "   * ", 130);
        match &lines[..] {
            [line] if line.len() < 120 => writeln!(text, "  /** {} */", line.trim_start_matches([' ', '*']))?,
            lines => write!(text, "  /**\n{}\n   */\n", lines.join("\n"))?,
        }
        writeln!(text, "  {}?: {};", row.name.to_lower_camel_case(), kind(row)?)?;
    }
    write!(text, "{others}}}\n")?;
    Ok(())
}

/// The type of an option. One that may be absent in Rust may be null.
fn kind(row: &Row) -> Result<String> {
    if let Some((_, kind)) = SPECIAL.iter().find(|(name, _)| *name == row.name) {
        return Ok((*kind).to_owned());
    }
    Ok(match row.kind.as_str() {
        "bool" => "boolean".into(),
        "usize" | "u64" => "number".into(),
        "Option<bool>" => "boolean | null".into(),
        "Option<f32>" | "Option<usize>" | "Option<u64>" | "Option<Duration>" => "number | null".into(),
        "Option<String>" | "Option<PathBuf>" => "string | null".into(),
        "Option<FunctionCallParser>" => "FunctionCallParser | null".into(),
        "Vec<String>" => "string | string[]".into(),
        "Option<Vec<String>>" => "string[] | null".into(),
        "Arguments" => "{ [name: string]: Json }".into(),
        "BTreeMap<u32,f32>" => "Record<string, number>".into(),
        "ToolChoice" => "\"auto\" | \"none\" | \"required\" | { function: string }".into(),
        "SamplingDefaults" => "SamplingDefaults".into(),
        name => match tables::choices().into_iter().find(|choice| choice.name == name) {
            Some(choice) => {
                choice.variants.iter().map(|variant| format!("{:?}", variant.word)).collect::<Vec<_>>().join(" | ")
            }
            None => bail!("{}: TypeScript must have a type for {name}", row.name),
        },
    })
}
