//! What the public Kotlin classes have beside the façade's metadata, and how names, types and documentation read in Kotlin.

use std::fmt::Write;

use anyhow::Result;
use heck::{ToLowerCamelCase, ToShoutySnakeCase};
use uniffi_bindgen::ComponentInterface;
use uniffi_bindgen::interface::{AsType, DefaultValue, Field, Literal, Type};

use crate::tables::{in_camel_case, is_on};

/// The package of the generated declarations that apps do not see.
pub(crate) const HIDDEN: &str = "org.causerie.ffi";

/// Interfaces in the hand-written sources whose members the companions of these classes have, so that apps need no imports.
pub(crate) const COMPANIONS: [(&str, &str); 7] = [
    ("ChatMessage", "MessageRoles"),
    ("DecisionQuestion", "DecisionQuestionKinds"),
    ("EmbeddingModel", "EmbeddingModelLoading"),
    ("GenerationOptions", "GenerationOptionsBuilding"),
    ("Hub", ""),
    ("ModelRunner", "ModelLoading"),
    ("Transcriber", "TranscriberLoading"),
];

/// Records that apps write in a block.
pub(crate) const BUILDERS: [&str; 3] = ["GenerationOptions", "HubOptions", "LoadOptions"];

/// Classes with so many defaults that Java takes their builders instead of leaving out the last arguments.
pub(crate) const WITHOUT_OVERLOADS: [&str; 2] = ["GenerationOptions", "LoadOptions"];

/// Annotations of classes.
pub(crate) const ANNOTATIONS: [(&str, &str); 1] =
    [("ChatMessage", "@kotlinx.serialization.Serializable(with = ChatMessageSerializer::class)")];

/// Defaults that the metadata cannot express.
pub(crate) const DEFAULTS: [(&str, &str); 1] = [("function_call_parser", "FunctionCallParser.MODEL")];

/// Further members of classes.
pub(crate) const MEMBERS: [(&str, &str); 5] = [
    (
        "MessageResponse.AudioSample",
        "override fun toString(): String = \"AudioSample(${samples.size} samples, sampleRate=$sampleRate)\"",
    ),
    (
        "Conversation",
        "private val runner = lazy { ModelRunner(raw.modelRunner()).also { it.model = model } }\n\n\
         internal var handlers: FunctionHandlers? = null\n\n\
         /** The identity of the model. */\ninternal var model: Any = Any()",
    ),
    (
        "MessageResponse.FunctionResult",
        "/** The exception of the function; null if it threw none, did not run, or took too long. Not compared. */\n\
         var error: Throwable? = null\n    internal set",
    ),
    ("MessageResponse.Complete", "/** The text of the reply. */\nval text: String get() = fullMessage.text"),
    (
        "ModelRunner",
        "/** The identity of the model: runners of one model are equal. */\ninternal var model: Any = Any()\n\n\
         override fun equals(other: Any?): Boolean = other is ModelRunner && model === other.model\n\n\
         override fun hashCode(): Int = model.hashCode()",
    ),
];

/// Declarations of the generated file that the package has of its own: public ones, and strings, in which half of a surrogate
/// pair is replaced instead of refused.
pub(crate) fn own_declarations(interface: &ComponentInterface) -> Vec<String> {
    let records = interface.record_definitions().iter().map(|record| record.name().to_owned());
    let enums = interface.enum_definitions().iter().map(|one| class_name(interface, one.name()));
    records.chain(enums).chain(["FfiConverterString".to_owned()]).collect()
}

pub(crate) fn entry<'a>(table: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    table.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
}

pub(crate) fn class_name(interface: &ComponentInterface, name: &str) -> String {
    match name.strip_suffix("Error") {
        Some(stem) if interface.is_name_used_as_error(name) => format!("{stem}Exception"),
        _ => name.to_owned(),
    }
}

pub(crate) fn member(name: &str) -> String {
    name.to_lower_camel_case()
}

pub(crate) fn constant(name: &str) -> String {
    name.to_shouty_snake_case()
}

pub(crate) fn type_name(type_: &Type) -> String {
    match type_ {
        Type::UInt8 => "UByte".into(),
        Type::Int8 => "Byte".into(),
        Type::UInt16 => "UShort".into(),
        Type::Int16 => "Short".into(),
        Type::UInt32 => "UInt".into(),
        Type::Int32 => "Int".into(),
        Type::UInt64 => "ULong".into(),
        Type::Int64 => "Long".into(),
        Type::Float32 => "Float".into(),
        Type::Float64 => "Double".into(),
        Type::Boolean => "Boolean".into(),
        Type::String => "String".into(),
        Type::Bytes => "ByteArray".into(),
        Type::Timestamp => "java.time.Instant".into(),
        Type::Duration => "java.time.Duration".into(),
        Type::Box { inner_type } => type_name(inner_type),
        Type::Optional { inner_type } => format!("{}?", type_name(inner_type)),
        Type::Sequence { inner_type } => format!("List<{}>", type_name(inner_type)),
        Type::Set { inner_type } => format!("Set<{}>", type_name(inner_type)),
        Type::Map { key_type, value_type } => format!("Map<{}, {}>", type_name(key_type), type_name(value_type)),
        Type::Custom { name, .. } => match name.as_str() {
            "OptionText" => "String".into(),
            "SdkCount" => "Int".into(),
            "SdkLong" => "Long".into(),
            "JsonObject" => "Map<String, Any?>".into(),
            _ => name.clone(),
        },
        Type::Object { name, .. }
        | Type::Record { name, .. }
        | Type::Enum { name, .. }
        | Type::CallbackInterface { name, .. } => name.clone(),
    }
}

/// The default of a field, if it has one.
pub(crate) fn default(field: &Field) -> Option<String> {
    entry(&DEFAULTS, field.name()).map(str::to_owned).or_else(|| match field.default_value()? {
        DefaultValue::Default if is_on(field.name()) => Some("true".into()),
        DefaultValue::Default => Some(natural_default(&field.as_type())),
        DefaultValue::Literal(literal) => Some(match literal {
            Literal::Boolean(value) => value.to_string(),
            Literal::String(text) => format!("{text:?}"),
            Literal::UInt(value, ..) => value.to_string(),
            Literal::Int(value, ..) => value.to_string(),
            Literal::Float(text, Type::Float32) => format!("{text}f"),
            Literal::Float(text, _) => text.clone(),
            Literal::Enum(variant, type_) => format!("{}.{}", type_name(type_), constant(variant)),
            Literal::Some { .. } | Literal::None => "null".into(),
            Literal::EmptySequence => "listOf()".into(),
            Literal::EmptyMap => "mapOf()".into(),
            Literal::EmptySet => "setOf()".into(),
        }),
    })
}

fn natural_default(type_: &Type) -> String {
    match type_ {
        Type::Optional { .. } => "null",
        Type::Sequence { .. } => "listOf()",
        Type::Map { .. } => "mapOf()",
        Type::Boolean => "false",
        Type::String => "\"\"",
        Type::Float32 => "0f",
        Type::Float64 => "0.0",
        _ => "0",
    }
    .into()
}

/// Documentation, indented; empty if there is none.
pub(crate) fn documentation(text: Option<&str>, indent: &str) -> String {
    let Some(text) = text else { return String::new() };
    // The examples of the core are in Rust.
    let text = text.split("```").step_by(2).collect::<Vec<_>>().concat();
    let text = in_camel_case(&text);
    let lines: Vec<&str> = text.trim().lines().map(str::trim_end).collect();
    if let [line] = lines[..] {
        return format!("{indent}/** {} */\n", line.trim());
    }
    let body: String =
        lines.iter().map(|line| format!("{indent} * {}", line.trim_start()).trim_end().to_owned() + "\n").collect();
    format!("{indent}/**\n{body}{indent} */\n")
}

/// Writes the members of a class in braces; nothing if there are none.
pub(crate) fn write_body(text: &mut String, members: &[String], indent: &str) -> Result<()> {
    if members.is_empty() {
        text.push('\n');
        return Ok(());
    }
    text.push_str(" {\n");
    for (at, member) in members.iter().enumerate() {
        if 0 < at {
            text.push('\n');
        }
        for line in member.lines() {
            writeln!(text, "{}", format!("{indent}    {line}").trim_end())?;
        }
    }
    writeln!(text, "{indent}}}")?;
    Ok(())
}

pub(crate) const HEADER: &str =
    "// Written by scripts/bindgen from the façade in bindings/src.\n@file:Suppress(\"warnings\")\n";
