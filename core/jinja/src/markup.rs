//! Filters of Jinja2 for markup: `forceescape`, `xmlattr` and `striptags`.

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use crate::fuel;
use crate::python;

/// Characters with their escapes. The last ones are only read.
const ESCAPES: [(char, &str); 5] = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&#34;"), ('\'', "&#39;")];
const NAMED: [(&str, &str); 6] =
    [("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'"), ("nbsp", "\u{a0}")];

/// Size limit of the name of an entity in bytes. A `;` is not searched beyond it.
const MAX_ENTITY: usize = 32;

pub(super) fn escape(state: &mut State<'_, '_>, text: &Value) -> Result<String, Error> {
    let text = python::text(state, text)?;
    fuel::characters(state, text.len())?;
    let escaped = |character: char| ESCAPES.iter().find(|(from, _)| *from == character).map_or(1, |(_, to)| to.len());
    fuel::bytes(state, text.chars().map(escaped).sum())?;
    Ok(ESCAPES.iter().fold(text.into_owned(), |text, (from, to)| text.replace(*from, to)))
}

/// The filter `escape`; it is idempotent.
pub(super) fn escape_once(state: &mut State<'_, '_>, text: &Value) -> Result<Value, Error> {
    if text.is_safe() { Ok(text.clone()) } else { escape(state, text).map(Value::from_safe_string) }
}

/// The entries of a dictionary as attributes of a tag, with a space before them.
pub(super) fn attributes(
    state: &mut State<'_, '_>,
    value: &Value,
    has_space: Option<bool>,
    options: Kwargs,
) -> Result<String, Error> {
    let has_space = has_space.or(options.get("autospace")?).unwrap_or(true);
    options.assert_all_used()?;
    if value.kind() != ValueKind::Map {
        return Err(Error::new(ErrorKind::InvalidOperation, "xmlattr takes a dictionary"));
    }
    let mut attributes = Vec::new();
    for key in value.try_iter()? {
        let entry = value.get_item(&key)?;
        if entry.is_none() || entry.is_undefined() {
            continue;
        }
        if python::text(state, &key)?.contains(|c: char| python::is_space(c) || "/>=".contains(c)) {
            return Err(Error::new(ErrorKind::InvalidOperation, "xmlattr takes names without spaces, /, > and ="));
        }
        attributes.push(format!("{}=\"{}\"", escape(state, &key)?, escape(state, &entry)?));
    }
    let text = attributes.join(" ");
    Ok(if has_space && !text.is_empty() { format!(" {text}") } else { text })
}

/// Removes tags and comments, joins white space, and reads the entities of XML, numbers and `&nbsp;`.
pub(super) fn without_tags(state: &mut State<'_, '_>, text: &Value) -> Result<String, Error> {
    let text = python::text(state, text)?;
    fuel::characters(state, text.len())?;
    let mut kept = String::new();
    let mut rest = &*text;
    while let Some(start) = rest.find('<') {
        let (opening, closing) = if rest[start..].starts_with("<!--") { ("<!--", "-->") } else { ("<", ">") };
        let Some(end) = rest[start + opening.len()..].find(closing) else { break };
        kept.push_str(&rest[..start]);
        rest = &rest[start + opening.len() + end + closing.len()..];
    }
    kept.push_str(rest);
    Ok(unescaped(&kept.split(python::is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")))
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let end = after.bytes().take(MAX_ENTITY).position(|byte| byte == b';');
        let entity = end.and_then(|end| Some((entity(&after[..end])?, &after[end + 1..])));
        match entity {
            Some((text, after)) => {
                out.push_str(&text);
                rest = after;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out + rest
}

fn entity(name: &str) -> Option<String> {
    let named = NAMED.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
    let number = || match name.strip_prefix('#')?.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => name.strip_prefix('#')?.parse().ok(),
    };
    named.or_else(|| number().and_then(char::from_u32).map(String::from))
}
