//! The tags of XML calls, and where a value between them ends.

use crate::function::{Repair, SdkFunction};
use crate::notation::offered::OfferedFunctions;
use crate::notation::repairs::Repairs;

pub(crate) const FUNCTION: &str = "<function=";
pub(super) const FUNCTION_END: &str = "</function>";
pub(super) const PARAMETER: &str = "<parameter=";
/// The same tags with the name in an attribute, as some models write them inside of a block.
const FUNCTION_NAMED: &str = "<function name=";
const PARAMETER_NAMED: &str = "<parameter name=";
pub(super) const PARAMETER_END: &str = "</parameter>";
pub(super) const BLOCK_END: &str = "</tool_call>";

/// Bytes of a name that are searched for its end.
const MAX_NAME: usize = 256;

/// How the tag of a function at the start of a text begins.
pub(super) fn function_opening(text: &str) -> Option<&'static str> {
    [FUNCTION, FUNCTION_NAMED].into_iter().find(|opening| text.starts_with(opening))
}

/// How the tag of a parameter at the start of a text begins.
pub(super) fn parameter_opening(text: &str) -> Option<&'static str> {
    [PARAMETER, PARAMETER_NAMED].into_iter().find(|opening| text.starts_with(opening))
}

/// Whether a tag that begins so has its name in an attribute.
pub(super) fn is_attribute(opening: &str) -> bool {
    opening.ends_with(" name=")
}

/// A name in an opening tag.
pub(super) struct TagName<'a> {
    /// Without the quotes that some models write around it.
    pub(super) name: &'a str,
    /// Bytes of the name and what ends it: `>`, the end of the line, or an equals sign.
    pub(super) length: usize,
    /// Whether a value may begin on the next line, as after a `>`.
    pub(super) is_closed: bool,
    pub(super) is_quoted: bool,
    /// Whether the value begins in the tag, after an equals sign in place of the `>`.
    pub(super) has_value: bool,
}

impl<'a> TagName<'a> {
    /// Reads the name at the start of a text, which follows `<function=` or `<parameter=`.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let near = near(text);
        let end = near.find(['>', '\n'])?;
        let written = near[..end].trim();
        let name = unquoted(written);
        (!name.contains('<')).then_some(Self {
            name,
            length: end + 1,
            is_closed: near[end..].starts_with('>'),
            is_quoted: name.len() < written.len(),
            has_value: false,
        })
    }

    /// Reads the name of a parameter like [`read`](Self::read). In `<parameter=city=Oslo</parameter>`, where this makes a
    /// declared name of it or a tag that would have no end, an equals sign ends the tag.
    pub(super) fn of_parameter(text: &'a str, parameters: Parameters<'_>) -> Option<Self> {
        let tag = Self::read(text);
        if tag.as_ref().is_some_and(|tag| parameters.contain(tag.name)) {
            return tag;
        }
        // A declared name may have quotes of its own.
        let written = near(text).split(['>', '\n']).next().unwrap_or_default().trim();
        match (tag, Self::before_value(text)) {
            (Some(tag), _) if parameters.contain(written) => Some(Self { name: written, is_quoted: false, ..tag }),
            (tag, Some(split)) if tag.is_none() || parameters.contain(split.name) => Some(split),
            (tag, _) => tag,
        }
    }

    /// Reads the name before an equals sign in a tag.
    fn before_value(text: &'a str) -> Option<Self> {
        let near = near(text);
        let end = near.find(['=', '>', '\n', '<']).filter(|end| near[*end..].starts_with('='))?;
        let written = near[..end].trim();
        let name = unquoted(written);
        let is_quoted = name.len() < written.len();
        (!name.is_empty()).then_some(Self { name, length: end + 1, is_closed: true, is_quoted, has_value: true })
    }

    /// Adds the repairs that the tag needs.
    pub(super) fn add_repairs(&self, repairs: &mut Repairs) {
        if self.is_quoted {
            repairs.add(Repair::StringDelimiters);
        }
        if self.has_value {
            repairs.add(Repair::MissingTag);
        }
    }
}

/// The text in which a name ends.
fn near(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_NAME)]
}

/// A name without the quotes around it.
fn unquoted(name: &str) -> &str {
    let inside = |quote: char| name.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(name)
}

/// The name at the start of a text that follows `<function=`; `None` if its end is not there, or too far.
pub(crate) fn tag_name(text: &str) -> Option<&str> {
    TagName::read(text).map(|tag| tag.name)
}

/// The parameters that a function may have: all names, if it is not declared.
#[derive(Clone, Copy)]
pub(super) struct Parameters<'a>(pub(super) Option<&'a SdkFunction>);

impl<'a> Parameters<'a> {
    pub(super) fn new(offered: &'a OfferedFunctions, name: &str) -> Self {
        Self(offered.named(name))
    }

    pub(super) fn contain(self, name: &str) -> bool {
        self.0.is_none_or(|function| function.parameters.iter().any(|parameter| parameter.name == name))
    }
}

/// What a scan for the end of a value found.
pub(super) struct ValueScan {
    /// Where the closing tag starts.
    pub(super) end: Option<usize>,
    /// Where the first closing tag starts that an undeclared parameter or another function follows.
    pub(super) doubtful: Option<usize>,
    /// Tags inside of the value that are open at the end of the text.
    pub(super) level: usize,
}

/// Searches the closing tag of a value, from a position in it on. Values may contain code with the same tags: one at the start
/// of a line opens a level, and a closing tag outside of levels counts only if a declared parameter or the end of the call
/// follows it. Tags count in the form of the value's own, `opening`. `ends` is whether the end of the text is also the end of the
/// call, perhaps within a tag.
pub(super) fn scan_value(
    (text, from): (&str, usize),
    opening: &str,
    level: usize,
    parameters: Parameters<'_>,
    ends: bool,
) -> ValueScan {
    let mut scan = ValueScan { end: None, doubtful: None, level };
    let mut at = from;
    while let Some(found) = text[at..].find('<') {
        crate::notation::work::count(found + 1);
        at += found;
        let rest = &text[at..];
        if let Some(after) = rest.strip_prefix(PARAMETER_END) {
            match Following::new(after, opening, parameters, ends) {
                _ if 0 < scan.level => scan.level -= 1,
                Following::Declared => {
                    scan.end = Some(at);
                    return scan;
                }
                Following::Undeclared => scan.doubtful = scan.doubtful.or(Some(at)),
                Following::Other => {}
            }
            at += PARAMETER_END.len();
        } else if rest.starts_with(opening) && is_line_start(text, at) {
            scan.level += 1;
            at += opening.len();
        } else {
            at += 1;
        }
    }
    scan
}

/// What follows a closing tag.
enum Following {
    /// A declared parameter, or the end of the call.
    Declared,
    /// An undeclared parameter, or another function.
    Undeclared,
    Other,
}

impl Following {
    fn new(after: &str, opening: &str, parameters: Parameters<'_>, ends: bool) -> Self {
        let after = after.trim_start();
        let is_cut = || {
            let is_name_cut = after.strip_prefix(opening).is_some_and(|name| !name.contains(['>', '\n', '<']));
            is_name_cut || [FUNCTION_END, opening, BLOCK_END].iter().any(|tag| tag.starts_with(after))
        };
        if [FUNCTION_END, BLOCK_END].iter().any(|end| after.starts_with(end)) || ends && is_cut() {
            return Self::Declared;
        }
        if function_opening(after).and_then(|opening| TagName::read(&after[opening.len()..])).is_some() {
            return Self::Undeclared;
        }
        match after.strip_prefix(opening).and_then(|name| TagName::of_parameter(name, parameters)) {
            Some(tag) if parameters.contain(tag.name) => Self::Declared,
            Some(_) => Self::Undeclared,
            None => Self::Other,
        }
    }
}

/// Whether a position is the first of a line.
pub(super) fn is_line_start(text: &str, at: usize) -> bool {
    at == 0 || text.as_bytes()[at - 1] == b'\n'
}
