//! Generated sources without their public interface: every declaration of a file becomes internal, and those that a package has of
//! its own are left out. In Kotlin, what is inside of a declaration stays as it is, and the file has a package of its own. In Swift,
//! it shares a module with the public sources, so that what has the name of a public declaration gets another one.

use anyhow::{Result, bail, ensure};

const MODIFIERS: [&str; 14] = [
    "public",
    "private",
    "fileprivate",
    "internal",
    "open",
    "final",
    "data",
    "sealed",
    "abstract",
    "enum",
    "inline",
    "const",
    "suspend",
    "indirect",
];
const KEYWORDS: [&str; 12] = [
    "let",
    "class",
    "interface",
    "object",
    "fun",
    "val",
    "var",
    "typealias",
    "struct",
    "protocol",
    "func",
    "extension",
];

/// Hides a file in Kotlin. Fails if a declaration of `own` is not found exactly once, or if the file cannot be divided into
/// declarations.
pub(crate) fn hide_kotlin(source: &str, own: &[String]) -> Result<String> {
    let mut hidden = String::with_capacity(source.len());
    for part in without(source, own)? {
        match Declaration::read(part) {
            Some(declaration) if !declaration.is_hidden() => {
                let (before, rest) = part.split_at(declaration.at);
                hidden.push_str(before);
                hidden.push_str("internal ");
                hidden.push_str(rest.strip_prefix("public ").unwrap_or(rest));
            }
            _ => hidden.push_str(part),
        }
    }
    Ok(hidden)
}

/// Hides a file in Swift. Fails as for Kotlin. Types of `renamed` get names that begin with `Raw`; functions, with `raw`.
pub(crate) fn hide_swift(source: &str, own: &[String], renamed: &[String]) -> Result<String> {
    let mut hidden = String::with_capacity(source.len());
    // A type must conform to Sendable in its own file.
    let mut source = source.to_owned();
    for name in own {
        source = source.replace(&format!("#if compiler(>=6)\nextension {name}: Sendable {{}}\n#endif\n"), "");
    }
    for part in without(&source, own)? {
        let name = Declaration::read(part).filter(|one| one.is_public_function()).map(|one| one.name);
        for line in part.split_inclusive('\n') {
            let bare = line.trim_start();
            let indent = &line[..line.len() - bare.len()];
            let bare =
                ["required ", "convenience "].iter().fold(bare, |bare, word| bare.strip_prefix(word).unwrap_or(bare));
            let words = line[indent.len()..line.len() - bare.len()].to_owned();
            let bare = bare.strip_prefix("public ").or_else(|| bare.strip_prefix("open ")).unwrap_or(bare);
            let bare = match name.and_then(|name| bare.strip_prefix("func ")?.strip_prefix(name)) {
                Some(rest) if indent.is_empty() => format!("func {}{rest}", raw(name.unwrap_or_default())),
                _ => bare.to_owned(),
            };
            hidden.push_str(indent);
            hidden.push_str(&words);
            hidden.push_str(&with_raw_names(&bare, renamed));
        }
    }
    Ok(hidden)
}

/// `loadModel` as `rawLoadModel`.
fn raw(name: &str) -> String {
    let first = name.chars().next().map(|letter| letter.to_ascii_uppercase());
    "raw".to_owned() + &first.into_iter().chain(name.chars().skip(1)).collect::<String>()
}

/// A line in which these words begin with `Raw`.
fn with_raw_names(line: &str, names: &[String]) -> String {
    let mut text = String::with_capacity(line.len());
    for word in line.split_inclusive(|letter: char| !letter.is_alphanumeric() && letter != '_') {
        let bare = word.trim_end_matches(|letter: char| !letter.is_alphanumeric() && letter != '_');
        text.push_str(if names.iter().any(|name| name == bare) { "Raw" } else { "" });
        text.push_str(word);
    }
    text
}

/// The parts of a source without some declarations.
fn without<'a>(source: &'a str, own: &[String]) -> Result<Vec<&'a str>> {
    let mut found = vec![0; own.len()];
    let mut declarations = 0;
    let mut kept = Vec::new();
    for part in parts(source)? {
        let declaration = Declaration::read(part).filter(|one| !one.is_extension);
        declarations += usize::from(declaration.is_some());
        match declaration.and_then(|one| own.iter().position(|name| *name == one.name)) {
            Some(at) => found[at] += 1,
            None => kept.push(part),
        }
    }
    for (name, count) in own.iter().zip(found) {
        ensure!(count == 1, "the generated source must declare {name} once, found {count} declarations");
    }
    ensure!(
        declarations > 100,
        "the generated source must have its declarations at the top level, found {declarations}"
    );
    Ok(kept)
}

struct Declaration<'a> {
    /// Where its modifiers begin: after its documentation and annotations.
    at: usize,
    modifiers: Vec<&'a str>,
    name: &'a str,
    is_function: bool,
    is_extension: bool,
}

impl<'a> Declaration<'a> {
    fn is_hidden(&self) -> bool {
        ["private", "fileprivate", "internal"].iter().any(|modifier| self.modifiers.contains(modifier))
    }

    fn is_public_function(&self) -> bool {
        let is_support = self.name.starts_with("uniffi") || self.name.starts_with("FfiConverter");
        self.is_function && self.modifiers.contains(&"public") && !is_support
    }

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
        let is_keyword = KEYWORDS.contains(&keyword.split('<').next()?);
        let name = match is_keyword {
            true => words.next()?,
            false if modifiers.contains(&"enum") => keyword,
            false => return None,
        };
        let name = name.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '`').next()?;
        let (is_function, is_extension) = (keyword == "func", keyword == "extension");
        Some(Self { at, modifiers, name: name.trim_matches('`'), is_function, is_extension })
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

/// The bytes of the comment, or of the line for Swift's compiler, that the text begins with; 0 if there is none.
fn comment(text: &str) -> usize {
    match text.get(..2) {
        Some("//" | "#i" | "#e") => text.find('\n').unwrap_or(text.len()),
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
