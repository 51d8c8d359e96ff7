//! Generated Kotlin without its public interface: every declaration of the file becomes internal, and those that the package has
//! of its own are left out. What is inside of a declaration stays as it is.

use anyhow::{Result, bail, ensure};

const MODIFIERS: [&str; 11] =
    ["public", "private", "internal", "open", "data", "sealed", "abstract", "enum", "inline", "const", "suspend"];
const KEYWORDS: [&str; 7] = ["class", "interface", "object", "fun", "val", "var", "typealias"];

/// Hides a file. Fails if a declaration of `own` is not found exactly once, or if the file cannot be divided into declarations.
pub(crate) fn hide(source: &str, own: &[String]) -> Result<String> {
    let mut hidden = String::with_capacity(source.len());
    let mut found = vec![0; own.len()];
    let mut declarations = 0;
    for part in parts(source)? {
        let Some(declaration) = Declaration::read(part) else {
            hidden.push_str(part);
            continue;
        };
        declarations += 1;
        if let Some(at) = own.iter().position(|name| *name == declaration.name) {
            found[at] += 1;
        } else if declaration.modifiers.contains(&"private") || declaration.modifiers.contains(&"internal") {
            hidden.push_str(part);
        } else {
            let (before, rest) = part.split_at(declaration.at);
            hidden.push_str(before);
            hidden.push_str("internal ");
            hidden.push_str(rest.strip_prefix("public ").unwrap_or(rest));
        }
    }
    for (name, count) in own.iter().zip(found) {
        ensure!(count == 1, "the generated source must declare {name} once, found {count} declarations");
    }
    ensure!(
        declarations > 100,
        "the generated source must have its declarations at the top level, found {declarations}"
    );
    Ok(hidden)
}

struct Declaration<'a> {
    /// Where its modifiers begin: after its documentation and annotations.
    at: usize,
    modifiers: Vec<&'a str>,
    name: &'a str,
}

impl<'a> Declaration<'a> {
    /// Reads the beginning of a part; none if it declares nothing, as imports do.
    fn read(part: &'a str) -> Option<Self> {
        let mut at = beginning(part);
        while part[at..].starts_with('@') && !part[at..].starts_with("@file") {
            at += annotation(&part[at..]);
            at += beginning(&part[at..]);
        }
        let mut words = part[at..].split_whitespace();
        let mut modifiers = Vec::new();
        let keyword = words.by_ref().find(|word| {
            let is_modifier = MODIFIERS.contains(word);
            modifiers.extend(is_modifier.then_some(*word));
            !is_modifier
        })?;
        if !KEYWORDS.contains(&keyword.split('<').next()?) {
            return None;
        }
        let name =
            words.next()?.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '`').next()?;
        Some(Self { at, modifiers, name: name.trim_matches('`') })
    }
}

/// The bytes of blank space and comments at the beginning.
fn beginning(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        at += match rest.chars().next() {
            Some(letter) if letter.is_whitespace() => letter.len_utf8(),
            _ => match comment(rest) {
                0 => return at,
                length => length,
            },
        };
    }
}

/// The bytes of an annotation, with its arguments.
fn annotation(text: &str) -> usize {
    let name = text.find(|letter: char| letter.is_whitespace() || letter == '(').unwrap_or(text.len());
    match text[name..].strip_prefix('(').and_then(|rest| rest.find(')')) {
        Some(end) => name + end + 2,
        None => name,
    }
}

/// The bytes of the comment that the text begins with; 0 if there is none.
fn comment(text: &str) -> usize {
    match text.get(..2) {
        Some("//") => text.find('\n').unwrap_or(text.len()),
        Some("/*") => text.find("*/").map_or(text.len(), |end| end + 2),
        _ => 0,
    }
}

/// The bytes of the string or character that the text begins with; 0 if there is none.
fn literal(text: &str) -> usize {
    let Some(quote) = text.chars().next().filter(|letter| matches!(letter, '"' | '\'')) else { return 0 };
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return at,
            _ if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Divides a source before each declaration at the top level, and the documentation and annotations of it.
fn parts(source: &str) -> Result<Vec<&str>> {
    let mut parts = Vec::new();
    let (mut begin, mut at, mut depth) = (0, 0, 0_usize);
    while let Some(letter) = source[at..].chars().next() {
        let rest = &source[at..];
        let skipped = comment(rest).max(literal(rest));
        at += if skipped == 0 { letter.len_utf8() } else { skipped };
        match letter {
            _ if skipped != 0 => {}
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => bail!("the generated source has a bracket too many, after {:?}", source[begin..at].trim()),
            },
            '\n' if depth == 0 && Declaration::read(&source[at..]).is_some() => {
                // The lines of a comment before a declaration belong to it.
                if !source[begin..at].trim().is_empty() {
                    parts.push(&source[begin..at]);
                    begin = at;
                }
                at += Declaration::read(&source[at..]).map_or(0, |declaration| declaration.at);
            }
            _ => {}
        }
    }
    ensure!(depth == 0, "the generated source has a bracket too few");
    parts.push(&source[begin..]);
    Ok(parts)
}
