//! The public data classes, enums and exceptions of Kotlin, and the builders of options, from the façade's records and enums.

use std::fmt::Write;

use anyhow::Result;
use uniffi_bindgen::ComponentInterface;
use uniffi_bindgen::interface::{AsType, Enum, Field, Record, Type, Variant};

use crate::kotlin::{
    ANNOTATIONS, BUILDERS, COMPANIONS, HEADER, HIDDEN, MEMBERS, WITHOUT_OVERLOADS, class_name, constant, default,
    documentation, entry, member, type_name, write_body,
};

pub(crate) fn types(interface: &ComponentInterface) -> Result<String> {
    let mut text = format!("{HEADER}\npackage org.causerie\n\nimport kotlin.time.Duration\n");
    text.push_str("import kotlin.time.Duration.Companion.milliseconds\nimport kotlin.time.toKotlinDuration\n");
    for record in interface.record_definitions() {
        write_record(&mut text, record)?;
        if BUILDERS.contains(&record.name()) {
            write_builder(&mut text, record)?;
        }
    }
    for one in interface.enum_definitions() {
        if interface.is_name_used_as_error(one.name()) {
            write_exception(&mut text, &class_name(interface, one.name()), one)?;
        } else if one.is_flat() {
            write_flat(&mut text, one)?;
        } else {
            write_sealed(&mut text, one)?;
        }
    }
    Ok(text)
}

fn write_record(text: &mut String, record: &Record) -> Result<()> {
    let name = record.name();
    let annotation = entry(&ANNOTATIONS, name).map(|one| format!("{one}\n")).unwrap_or_default();
    write!(text, "\n{}{annotation}public data class {name}", documentation(record.docstring(), ""))?;
    write_constructor(text, name, record.fields(), "")?;
    let mut members = members(name, record.fields());
    members.extend(entry(&MEMBERS, name).map(str::to_owned));
    let checks = checks(record);
    if !checks.is_empty() {
        members.insert(0, format!("init {{\n{checks}}}"));
    }
    if let Some(companion) = entry(&COMPANIONS, name) {
        members.push(format!("public companion object : {companion}"));
    }
    write_body(text, &members, "")
}

fn write_constructor(text: &mut String, name: &str, fields: &[Field], indent: &str) -> Result<()> {
    // Java can leave out the last arguments.
    if !WITHOUT_OVERLOADS.contains(&name) && fields.iter().any(|field| default(field).is_some()) {
        text.push_str(" @JvmOverloads constructor");
    }
    text.push_str("(\n");
    let inner = format!("{indent}    ");
    for field in fields {
        let default = default(field).map(|value| format!(" = {value}")).unwrap_or_default();
        let docs = documentation(field.docstring(), &inner);
        writeln!(text, "{docs}{inner}val {}: {}{default},", member(field.name()), type_name(&field.as_type()))?;
    }
    write!(text, "{indent})")?;
    Ok(())
}

/// Members of a class beside its fields. Classes with bytes are equal if their bytes are, and print the number of them.
fn members(name: &str, fields: &[Field]) -> Vec<String> {
    let mut members = Vec::new();
    if fields.iter().any(|field| field.as_type() == Type::Bytes) {
        let (mut parts, mut printed) = (Vec::new(), Vec::new());
        for field in fields {
            let member = member(field.name());
            let is_bytes = field.as_type() == Type::Bytes;
            parts.push(if is_bytes { format!("{member}.asList()") } else { member.clone() });
            printed.push(match (is_bytes, fields.len()) {
                (true, 1) => format!("${{{member}.size}} bytes"),
                (true, _) => format!("{member}=${{{member}.size}} bytes"),
                (false, _) => format!("{member}=${member}"),
            });
        }
        members.push(format!("private val parts get() = listOf({})", parts.join(", ")));
        members.push(format!("override fun equals(other: Any?): Boolean = other is {name} && parts == other.parts"));
        members.push("override fun hashCode(): Int = parts.hashCode()".into());
        members.push(format!("override fun toString(): String = \"{name}({})\"", printed.join(", ")));
    }
    members
}

/// Checks of the counts of options. The engine takes unsigned ones: a negative count would become a very large one, and so no
/// limit at all. Seeds may be negative.
fn checks(record: &Record) -> String {
    if !record.name().ends_with("Options") && record.name() != "SamplingDefaults" {
        return String::new();
    }
    let is_count = |field: &&Field| is_number(&field.as_type()) && !field.name().ends_with("seed");
    let counts = record.fields().iter().filter(is_count).map(|field| member(field.name()));
    counts.map(|name| format!("    refuseNegative(\"{name}\", {name})\n")).collect()
}

fn is_number(type_: &Type) -> bool {
    match type_ {
        Type::Optional { inner_type } => is_number(inner_type),
        Type::Custom { name, .. } => name == "SdkCount" || name == "SdkLong",
        _ => false,
    }
}

fn write_builder(text: &mut String, record: &Record) -> Result<()> {
    let name = record.name();
    let builder = format!("{name}Builder");
    let (mut properties, mut setters, mut arguments) = (String::new(), String::new(), String::new());
    for field in record.fields() {
        let (own, kind) = (member(field.name()), type_name(&field.as_type()));
        let value = default(field).unwrap_or_else(|| "null".into());
        writeln!(properties, "{}    public var {own}: {kind} = {value}\n", documentation(field.docstring(), "    "))?;
        // Java calls `offline(true)` where Kotlin sets `isOffline`.
        let setter = field.name().strip_prefix("is_").map_or(own.clone(), member);
        writeln!(setters, "    /** Sets [{own}], for Java. */")?;
        writeln!(setters, "    public fun {setter}(value: {kind}): {builder} = apply {{ {own} = value }}\n")?;
        writeln!(arguments, "        {own} = {own},")?;
        if let Some(time) = field.name().strip_suffix("_milliseconds").map(member) {
            writeln!(properties, "    /** [{own}] as a duration. */\n    public var {time}: Duration?")?;
            writeln!(properties, "        @JvmSynthetic get() = {own}?.milliseconds\n")?;
            writeln!(properties, "        @JvmSynthetic set(value) {{")?;
            writeln!(properties, "            {own} = value?.wholeMilliseconds\n        }}\n")?;
            writeln!(setters, "    /** Sets [{time}], for Java. */")?;
            writeln!(setters, "    public fun {time}(value: java.time.Duration?): {builder} = apply {{")?;
            writeln!(setters, "        {time} = value?.toKotlinDuration()\n    }}\n")?;
        }
    }
    write!(
        text,
        "\n/**\n * A builder of [{name}]. Options that stay null take their defaults. For a negative count, [build] throws\n \
         * [SdkException.InvalidOption].\n */\npublic class {builder} {{\n{properties}{setters}    \
         /** Returns the current options. */\n    public fun build(): {name} = {name}(\n{arguments}    )\n}}\n"
    )?;
    Ok(())
}

fn write_flat(text: &mut String, one: &Enum) -> Result<()> {
    write!(text, "\n{}public enum class {} {{\n", documentation(one.docstring(), ""), one.name())?;
    for variant in one.variants() {
        writeln!(text, "{}    {},", documentation(variant.docstring(), "    "), constant(variant.name()))?;
    }
    text.push_str("}\n");
    Ok(())
}

fn write_sealed(text: &mut String, one: &Enum) -> Result<()> {
    write!(text, "\n{}public sealed class {} {{", documentation(one.docstring(), ""), one.name())?;
    for variant in one.variants() {
        write!(text, "\n{}", documentation(variant.docstring(), "    "))?;
        if variant.fields().is_empty() {
            writeln!(text, "    public object {} : {}()", variant.name(), one.name())?;
            continue;
        }
        write!(text, "    public data class {}", variant.name())?;
        write_constructor(text, variant.name(), variant.fields(), "    ")?;
        write!(text, " : {}()", one.name())?;
        let mut members = members(variant.name(), variant.fields());
        members.extend(entry(&MEMBERS, &format!("{}.{}", one.name(), variant.name())).map(str::to_owned));
        write_body(text, &members, "    ")?;
    }
    text.push_str("}\n");
    Ok(())
}

/// The message of an exception is its reason.
fn write_exception(text: &mut String, name: &str, one: &Enum) -> Result<()> {
    write!(text, "\n{}public sealed class {name} : Exception() {{\n", documentation(one.docstring(), ""))?;
    for variant in one.variants() {
        write_cause(text, name, variant)?;
    }
    writeln!(
        text,
        "    internal companion object ErrorHandler : {HIDDEN}.UniffiRustCallStatusErrorHandler<{name}> {{"
    )?;
    writeln!(text, "        override fun lift(error_buf: {HIDDEN}.RustBuffer.ByValue): {name} =")?;
    writeln!(text, "            {HIDDEN}.FfiConverterType{}.lift(error_buf)\n    }}\n}}", one.name())?;
    Ok(())
}

fn write_cause(text: &mut String, name: &str, variant: &Variant) -> Result<()> {
    write!(text, "{}    public class {}", documentation(variant.docstring(), "    "), variant.name())?;
    write_constructor(text, variant.name(), variant.fields(), "    ")?;
    writeln!(text, " : {name}() {{\n        override val message: String get() = reason\n    }}\n")?;
    Ok(())
}
