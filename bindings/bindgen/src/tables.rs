//! The core's tables of options, choices and facts, as data.

#[macro_use]
#[path = "../../../core/src/tables/choices.rs"]
mod choices;
#[macro_use]
#[path = "../../../core/src/tables/facts.rs"]
mod facts_table;
#[macro_use]
#[path = "../../../core/src/tables/options.rs"]
mod options;

use heck::ToLowerCamelCase;

/// An option.
pub(crate) struct Row {
    /// The name in Rust.
    pub(crate) name: &'static str,
    /// The name in Swift, Kotlin and Python.
    pub(crate) foreign: &'static str,
    pub(crate) documentation: &'static str,
    /// The type in Rust, without blanks.
    pub(crate) kind: String,
    /// The default in Rust, if it is not the type's.
    pub(crate) default: Option<&'static str>,
    limits: Option<&'static str>,
}

/// A type of options whose values have names.
pub(crate) struct Choice {
    pub(crate) name: &'static str,
    pub(crate) documentation: &'static str,
    pub(crate) variants: Vec<Variant>,
}

pub(crate) struct Variant {
    pub(crate) name: &'static str,
    pub(crate) word: &'static str,
    pub(crate) documentation: &'static str,
}

macro_rules! rows {
    (
        {$table:ident}
        $($(#[doc = $doc:literal])* $(#[foreign = $foreign:literal])?
        $name:ident: $type:ty $(= $default:expr)? $(, $limits:expr)?;)*
    ) => {
        pub(crate) fn $table() -> Vec<Row> {
            vec![$(Row {
                name: stringify!($name),
                foreign: [$($foreign,)? stringify!($name)][0],
                documentation: concat!($($doc, "\n",)*),
                kind: stringify!($type).replace(' ', ""),
                default: [$(Some(stringify!($default)),)? None][0],
                limits: [$(Some(stringify!($limits)),)? None][0],
            }),*]
        }
    };
}

__generation_options!(rows { generation });
__load_options!(rows { loading });
__sampling_defaults!(rows { sampling });
__round_options!(rows { rounds });

macro_rules! variants {
    (
        {$table:ident}
        $($(#[doc = $doc:literal])* $name:ident {
            $(
                $(#[doc = $text:literal])* $(#[default])? $(#[cfg_attr($($condition:tt)*)])?
                $variant:ident = $word:literal,
            )*
        })*
    ) => {
        fn $table() -> Vec<Choice> {
            vec![$(Choice {
                name: stringify!($name),
                documentation: concat!($($doc, "\n",)*),
                variants: vec![$(Variant {
                    name: stringify!($variant),
                    word: $word,
                    documentation: concat!($($text, "\n",)*),
                }),*],
            }),*]
        }
    };
}

__choices!(variants { of_options });
__function_names!(variants { of_functions });

/// A fact about a model.
pub(crate) struct Fact {
    pub(crate) name: &'static str,
    pub(crate) documentation: &'static str,
    /// The type in Rust, without blanks.
    pub(crate) kind: String,
}

macro_rules! fact_rows {
    (
        |$info:ident, $memory:ident|
        $($(#[doc = $doc:literal])* $name:ident: $type:ty = $value:expr;)*
    ) => {
        pub(crate) fn facts() -> Vec<Fact> {
            vec![$(Fact {
                name: stringify!($name),
                documentation: concat!($($doc, "\n",)*),
                kind: stringify!($type).replace(' ', ""),
            }),*]
        }
    };
}

__model_facts!(fact_rows);

pub(crate) fn choices() -> Vec<Choice> {
    of_options().into_iter().chain(of_functions()).collect()
}

/// Whether an option is on by default.
pub(crate) fn is_on(foreign: &str) -> bool {
    let rows = [generation(), loading(), rounds()];
    rows.iter().flatten().any(|row| row.foreign == foreign && row.default == Some("true"))
}

/// Documentation as paragraphs of words, without examples in Rust.
pub(crate) fn paragraphs(documentation: &str) -> Vec<String> {
    let (mut paragraphs, mut is_code) = (vec![String::new()], false);
    for line in documentation.lines().map(str::trim) {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if line.is_empty() {
            paragraphs.push(String::new());
        } else if let Some(last) = paragraphs.last_mut().filter(|_| !is_code) {
            last.push_str(if last.is_empty() { "" } else { " " });
            last.push_str(line);
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs
}

/// Documentation in which options are spelled as in languages with names in camel case.
pub(crate) fn in_camel_case(documentation: &str) -> String {
    let mut text = documentation.to_owned();
    for row in [generation(), loading(), rounds()].into_iter().flatten() {
        text = text.replace(&format!("`{}`", row.name), &format!("`{}`", row.name.to_lower_camel_case()));
    }
    text
}

/// Words in lines of at most this width, each after an indent.
pub(crate) fn wrapped(text: &str, indent: &str, width: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split(' ') {
        if !line.is_empty() && width < indent.len() + line.len() + 1 + word.len() {
            lines.push(format!("{indent}{line}"));
            line.clear();
        }
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    lines.push(format!("{indent}{line}"));
    lines
}

/// What an option must be, if it has limits: `between 0 and 20`.
pub(crate) fn limits(foreign: &str) -> Option<String> {
    let rows = [generation(), loading(), rounds()];
    let limits = rows.iter().flatten().find(|row| row.foreign == foreign)?.limits?;
    let limits = limits.replace([' ', ')'], "");
    let (kind, bounds) = limits.split_once('(')?;
    Some(match (kind, bounds.split_once(',')) {
        ("Between", Some((least, most))) => format!("between {least} and {most}"),
        ("Above", _) => format!("above {bounds}"),
        _ => format!("{bounds} or more"),
    })
}
