//! The public structs, enums and errors of Swift, from the façade's records and enums.

use std::fmt::Write;

use anyhow::Result;
use heck::ToLowerCamelCase;
use uniffi_bindgen::ComponentInterface;
use uniffi_bindgen::interface::{AsType, Enum, Field, Record, Type, Variant};

use crate::swift::{HEADER, OWN_TYPES, default, documentation, field_name, member, type_name};
use crate::tables;

/// The names of the types that are written here.
pub(crate) fn names(interface: &ComponentInterface) -> Vec<String> {
    let records = interface.record_definitions().iter().map(|record| record.name());
    let enums = interface.enum_definitions().iter().map(|one| one.name());
    records.chain(enums).filter(|name| !OWN_TYPES.contains(name)).map(str::to_owned).collect()
}

pub(crate) fn types(interface: &ComponentInterface) -> Result<String> {
    let mut text = HEADER.to_owned();
    for record in interface.record_definitions().iter().filter(|record| !OWN_TYPES.contains(&record.name())) {
        write_record(&mut text, record)?;
    }
    for one in interface.enum_definitions().iter().filter(|one| !OWN_TYPES.contains(&one.name())) {
        if interface.is_name_used_as_error(one.name()) {
            write_error(&mut text, one)?;
        } else {
            write_enum(&mut text, one, "Equatable, Hashable, Sendable", member)?;
            text.push_str("}\n");
        }
    }
    Ok(text)
}

fn write_record(text: &mut String, record: &Record) -> Result<()> {
    let name = record.name();
    let documented = documentation(record.docstring(), "");
    writeln!(text, "\n{documented}public struct {name}: Equatable, Hashable, Sendable {{")?;
    for field in record.fields() {
        let docs = documentation(field.docstring(), "    ");
        writeln!(text, "{docs}    public var {}: {}", field_name(name, field.name()), type_name(&field.as_type()))?;
    }
    let parameters: Vec<_> = record.fields().iter().map(|field| parameter(name, field, "        ")).collect();
    write!(text, "\n    /// Creates a value of its parts.\n    public init(\n{}\n    ) {{\n", parameters.join(",\n"))?;
    for field in record.fields() {
        let own = field_name(name, field.name());
        writeln!(text, "        self.{} = {own}", own.trim_matches('`'))?;
    }
    text.push_str("    }\n");
    if name.ends_with("Options") || name == "SamplingDefaults" {
        write_options(text, record)?;
    }
    text.push_str("}\n");
    Ok(())
}

fn parameter(of: &str, field: &Field, indent: &str) -> String {
    format!("{indent}{}: {}{}", field_name(of, field.name()), type_name(&field.as_type()), default(field))
}

/// The members of options: a copy with one changed, and a check.
fn write_options(text: &mut String, record: &Record) -> Result<()> {
    let name = record.name();
    let documented = "    /// Returns these options with one changed.\n";
    writeln!(
        text,
        "\n{documented}    public func with<Value>(_ option: WritableKeyPath<Self, Value>, _ value: Value) -> Self {{"
    )?;
    text.push_str(
        "        var options = self\n        options[keyPath: option] = value\n        return options\n    }\n",
    );
    let tabled = ["GenerationOptions", "LoadOptions", "SamplingDefaults"];
    if tabled.contains(&name) {
        write_check(text, record)?;
    }
    Ok(())
}

/// The check of counts. The engine takes unsigned ones.
fn write_check(text: &mut String, record: &Record) -> Result<()> {
    let name = record.name();
    text.push_str(
        "\n    /// Refuses negative counts, which the engine could not be given.\n    func check() throws {\n",
    );
    for field in record.fields() {
        let own = field_name(name, field.name());
        let expected = tables::limits(field.name()).unwrap_or_else(|| "0 or more".into());
        match counted(&field.as_type()) {
            Some(Counted::Itself) => {
                writeln!(text, "        try checkCount({own}, \"{own}\", expected: \"{expected}\")")?
            }
            Some(Counted::Keys) => {
                writeln!(text, "        try checkCount({own}?.keys.min(), \"{own}\", expected: \"token ids\")")?;
            }
            Some(Counted::Nested) => writeln!(text, "        try {own}?.check()")?,
            None => {}
        }
    }
    text.push_str("    }\n");
    Ok(())
}

enum Counted {
    Itself,
    Keys,
    Nested,
}

/// Where an optional option has counts.
fn counted(kind: &Type) -> Option<Counted> {
    let Type::Optional { inner_type } = kind else { return None };
    match &**inner_type {
        Type::Custom { name, .. } if name == "SdkCount" => Some(Counted::Itself),
        Type::Map { key_type, .. } => {
            counted(&Type::Optional { inner_type: key_type.clone() }).and(Some(Counted::Keys))
        }
        Type::Record { name, .. } if name == "SamplingDefaults" => Some(Counted::Nested),
        _ => None,
    }
}

fn write_enum(text: &mut String, one: &Enum, conformances: &str, case: fn(&str) -> String) -> Result<()> {
    let name = one.name();
    let is_recursive = one.variants().iter().flat_map(Variant::fields).any(|field| holds(&field.as_type(), name));
    let indirect = if is_recursive { "indirect " } else { "" };
    let documented = documentation(one.docstring(), "");
    writeln!(text, "\n{documented}public {indirect}enum {name}: {conformances} {{")?;
    for variant in one.variants() {
        text.push_str(&documentation(variant.docstring(), "    "));
        let fields: Vec<_> = variant.fields().iter().map(|field| parameter(variant.name(), field, "")).collect();
        let values = if fields.is_empty() { String::new() } else { format!("({})", fields.join(", ")) };
        writeln!(text, "    case {}{values}", case(variant.name()))?;
    }
    Ok(())
}

/// Whether a type holds values of another.
fn holds(kind: &Type, name: &str) -> bool {
    match kind {
        Type::Enum { name: other, .. } => other == name,
        Type::Box { inner_type } | Type::Optional { inner_type } | Type::Sequence { inner_type } => {
            holds(inner_type, name)
        }
        Type::Map { value_type, .. } => holds(value_type, name),
        _ => false,
    }
}

/// The cases of an error have the names of all languages. Its kinds, and functions that create errors, are in lower camel case.
fn write_error(text: &mut String, one: &Enum) -> Result<()> {
    let name = one.name();
    write_enum(text, one, "Error, Equatable, Hashable, Sendable", str::to_owned)?;
    text.push_str("\n    /// The kind of an error: the name of its case in lower camel case.\n");
    text.push_str("    ///\n    /// ```swift\n    /// do {\n    ///     runner = try await loadModel(path: path)\n");
    text.push_str(
        "    /// } catch SdkError.modelNotFound {\n    ///     askForAModel()\n    /// }\n    /// ```\n    ///\n",
    );
    text.push_str("    /// A `switch` over errors may name kinds as well: `case .busy:`. What an error holds besides, the case itself gives:\n");
    text.push_str("    /// `catch SdkError.OutOfMemory(_, let needed, _)`.\n");
    text.push_str("    public enum Kind: String, CaseIterable, Sendable {\n");
    for variant in one.variants() {
        writeln!(
            text,
            "        /// The kind of ``{}``.\n        case {}",
            case_path(name, variant),
            member(variant.name())
        )?;
    }
    text.push_str("    }\n\n    /// The kind of this error.\n    public var kind: Kind {\n        switch self {\n");
    for variant in one.variants() {
        writeln!(text, "        case .{}: .{}", variant.name(), variant.name().to_lower_camel_case())?;
    }
    text.push_str(
        "        }\n    }\n\n    /// One readable line.\n    public var description: String {\n        switch self {\n",
    );
    for variant in one.variants() {
        let values = vec!["_"; variant.fields().len().saturating_sub(1)];
        let values = ["let reason"].into_iter().chain(values).collect::<Vec<_>>().join(", ");
        writeln!(text, "        case .{}({values}): reason", variant.name())?;
    }
    text.push_str("        }\n    }\n");
    for variant in one.variants() {
        let (case, path) = (member(variant.name()), case_path(name, variant));
        let parameters: Vec<_> = variant.fields().iter().map(|field| parameter(name, field, "")).collect();
        let arguments: Vec<_> = variant.fields().iter().map(|field| member(field.name())).collect();
        let arguments: Vec<_> = arguments.iter().map(|name| format!("{name}: {name}")).collect();
        write!(
            text,
            "\n    /// The kind of ``{path}``, for patterns.\n    public static var {case}: Kind {{ .{case} }}\n"
        )?;
        writeln!(text, "    /// Creates a ``{path}``.")?;
        writeln!(text, "    public static func {case}({}) -> {name} {{", parameters.join(", "))?;
        writeln!(text, "        .{}({})\n    }}", variant.name(), arguments.join(", "))?;
    }
    text.push_str("}\n");
    Ok(())
}

fn case_path(of: &str, variant: &Variant) -> String {
    let labels: String = variant.fields().iter().map(|field| member(field.name()) + ":").collect();
    format!("{of}/{}({labels})", variant.name())
}
