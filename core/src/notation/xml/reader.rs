//! Reads the calls of a block.

use crate::function::{RejectionReason, Repair, SdkFunctionCall};
use crate::notation::cursor::Cursor;
use crate::notation::fault::CallFault;
use crate::notation::limits::MAX_CALLS;
use crate::notation::list::{List, ListItem};
use crate::notation::offered::OfferedFunctions;
use crate::notation::repairs::Repairs;
use crate::notation::xml::tags::{
    FUNCTION_END, PARAMETER, PARAMETER_END, Parameters, TagName, function_opening, is_attribute, is_line_start,
    parameter_opening, scan_value,
};
use crate::notation::xml::types;

/// How a tag of a function starts, in this notation or in one like it.
const FUNCTION_LIKE: &str = "<function";
/// Scans to the end of the block that may find nothing: enough for every sensible block, and few enough for linear time.
const MAX_FRUITLESS_SCANS: usize = 16;

/// Reads the calls between `from` and the end of `text`. `is_closed` is whether the end marker of the block follows.
pub(crate) fn read(text: &str, from: usize, offered: &OfferedFunctions, is_closed: bool) -> List {
    let cursor = Cursor { text, at: from };
    let list = List { is_balanced: true, ..List::default() };
    let mut reader =
        XmlReader { cursor, offered, is_closed, list, opening: PARAMETER, function_end: None, n_fruitless: 0 };
    reader.read_all();
    reader.list
}

/// The name of the first call in a text.
pub(crate) fn name_of(text: &str) -> Option<String> {
    let text = text.trim_start();
    let name = TagName::read(&text[function_opening(text)?.len()..])?.name;
    (!name.is_empty()).then(|| name.to_owned())
}

struct XmlReader<'a> {
    cursor: Cursor<'a>,
    offered: &'a OfferedFunctions,
    is_closed: bool,
    list: List,
    /// How the tag of the last parameter begins.
    opening: &'static str,
    /// The end of a function that was found last, or the end of the text after a search that found none.
    function_end: Option<usize>,
    n_fruitless: usize,
}

impl<'a> XmlReader<'a> {
    fn read_all(&mut self) {
        while self.list.is_balanced && self.list.items.len() <= MAX_CALLS {
            let after_items = self.cursor.at;
            self.cursor.skip_space();
            match self.cursor.rest() {
                "" => return,
                rest if rest.starts_with(FUNCTION_LIKE) => self.item(),
                _ if self.list.items.is_empty() => {
                    let (start, fault) = (self.cursor.at, self.fault(RejectionReason::MalformedSyntax));
                    self.list.is_balanced = self.is_closed;
                    self.cursor.at = self.cursor.text.len();
                    return self.push(start, None, Err(fault));
                }
                _ => {
                    self.list.trailing = Some(after_items);
                    return;
                }
            }
        }
    }

    fn item(&mut self) {
        let start = self.cursor.at;
        let mut name = None;
        let call = self.call(&mut name);
        if call.is_err() {
            self.skip_function();
        }
        self.push(start, name, call);
    }

    fn push(&mut self, start: usize, name: Option<String>, call: Result<SdkFunctionCall, CallFault>) {
        let span = start..self.cursor.at;
        let raw_text = self.cursor.text[span.clone()].to_owned();
        let call = call.map(|call| SdkFunctionCall { raw_text, ..call });
        self.list.items.push(ListItem { span, name, call });
    }

    fn call(&mut self, name: &mut Option<String>) -> Result<SdkFunctionCall, CallFault> {
        let Some(tag) = self.tag(function_opening, TagName::read)? else { return Ok(SdkFunctionCall::default()) };
        if tag.name.is_empty() {
            return Err(self.fault(RejectionReason::MissingName));
        }
        *name = Some(tag.name.to_owned());
        let parameters = Parameters::new(self.offered, tag.name);
        let mut call = SdkFunctionCall { name: tag.name.to_owned(), ..SdkFunctionCall::default() };
        let mut repairs = Repairs::default();
        tag.add_repairs(&mut repairs);
        while self.has_more(&mut repairs) {
            let start = self.cursor.at;
            let Some(tag) = self.tag(parameter_opening, |name| TagName::of_parameter(name, parameters))? else { break };
            tag.add_repairs(&mut repairs);
            let Some(text) = self.value(&tag, parameters, &call, &mut repairs) else { break };
            if tag.name.is_empty() {
                return Err(CallFault::new(RejectionReason::MalformedSyntax, start));
            }
            let value = types::read(text, parameters, tag.name, &mut repairs);
            if call.arguments.insert(tag.name.to_owned(), value).is_some() {
                return Err(CallFault::new(RejectionReason::DuplicateArgument, start));
            }
        }
        call.repairs = repairs.into_sorted();
        Ok(call)
    }

    /// Whether another parameter, or what should be one, comes before the end of the call. Takes the end.
    fn has_more(&mut self, repairs: &mut Repairs) -> bool {
        self.cursor.skip_space();
        if self.cursor.eat(FUNCTION_END) {
            return false;
        }
        let rest = self.cursor.rest();
        if rest.is_empty() && !self.is_closed {
            self.list.is_balanced = false;
        } else if rest.is_empty() || function_opening(rest).is_some() {
            repairs.add(Repair::MissingTag);
        } else {
            return true;
        }
        false
    }

    /// Takes an opening tag; `None` if the text ends in it.
    fn tag(
        &mut self,
        opening: fn(&str) -> Option<&'static str>,
        read: impl Fn(&'a str) -> Option<TagName<'a>>,
    ) -> Result<Option<TagName<'a>>, CallFault> {
        let rest = self.cursor.rest();
        let tag = opening(rest).and_then(|opening| {
            let tag = read(&rest[opening.len()..])?;
            self.opening = opening;
            Some(TagName {
                length: opening.len() + tag.length,
                is_quoted: tag.is_quoted || is_attribute(opening),
                ..tag
            })
        });
        if let Some(tag) = &tag {
            self.cursor.at += tag.length;
        } else if self.is_closed || rest.contains(['>', '\n']) {
            return Err(self.fault(RejectionReason::MalformedSyntax));
        } else {
            self.cut();
        }
        Ok(tag)
    }

    /// Takes a value and its closing tag; `None` if the text ends in it.
    fn value(
        &mut self,
        tag: &TagName<'a>,
        parameters: Parameters<'_>,
        call: &SdkFunctionCall,
        repairs: &mut Repairs,
    ) -> Option<&'a str> {
        let text = self.cursor.text;
        let from = self.cursor.at;
        let closing = self.closing(from, parameters);
        let end = match closing {
            Some(end) => {
                self.cursor.at = end + PARAMETER_END.len();
                end
            }
            None => {
                let Some(end) = self.unclosed_end(from, parameters, call) else {
                    self.cut();
                    return None;
                };
                repairs.add(Repair::MissingTag);
                self.cursor.at = end;
                end
            }
        };
        let value = match &text[from..end] {
            // The tag ends after the value: `<parameter=city=Oslo></parameter>`.
            value if tag.has_value && value.find(['<', '>']) == value.len().checked_sub(1) => {
                value.trim_end_matches('>')
            }
            value => value,
        };
        if tag.has_value
            && let Some(inside) = unquoted_value(value)
        {
            repairs.add(Repair::StringDelimiters);
            return Some(inside);
        }
        let line_end = if tag.is_closed && value.starts_with("\r\n") { "\r\n" } else { "\n" };
        let value = if tag.is_closed { value.strip_prefix(line_end).unwrap_or(value) } else { value };
        Some(value.strip_suffix(line_end).unwrap_or(value))
    }

    /// Where the closing tag of a value starts.
    fn closing(&mut self, from: usize, parameters: Parameters<'_>) -> Option<usize> {
        if MAX_FRUITLESS_SCANS <= self.n_fruitless {
            return None;
        }
        let scan = scan_value((self.cursor.text, from), self.opening, 0, parameters, true);
        self.n_fruitless += usize::from(scan.end.is_none());
        scan.end.or(scan.doubtful)
    }

    /// Where a value without a closing tag ends: at the next line that starts a declared parameter without a value so far, or
    /// at the end of the function. In a block that is cut off, the value is what was cut.
    fn unclosed_end(&mut self, from: usize, parameters: Parameters<'_>, call: &SdkFunctionCall) -> Option<usize> {
        if !self.is_closed {
            return None;
        }
        let text = self.cursor.text;
        let function_end = self.find_function_end(from);
        let mut at = from;
        while let Some(found) = text[at..function_end].find(self.opening) {
            crate::notation::work::count(found + 1);
            at += found;
            let name = TagName::of_parameter(&text[at + self.opening.len()..], parameters).map(|tag| tag.name);
            let is_next = name.is_some_and(|name| parameters.contain(name) && !call.arguments.contains_key(name));
            if is_next && is_line_start(text, at) {
                return Some(at);
            }
            at += self.opening.len();
        }
        (function_end < text.len()).then_some(function_end)
    }

    /// The first end of a function after a position; the end of the text if there is none.
    fn find_function_end(&mut self, from: usize) -> usize {
        if let Some(known) = self.function_end.filter(|known| from <= *known) {
            return known;
        }
        let text = self.cursor.text;
        let end = text[from..].find(FUNCTION_END).map_or(text.len(), |found| from + found);
        self.function_end = Some(end);
        end
    }

    /// Goes to the end of a function that could not be read.
    fn skip_function(&mut self) {
        let end = self.find_function_end(self.cursor.at);
        let is_missing = end == self.cursor.text.len();
        self.list.is_balanced = self.is_closed || !is_missing;
        self.cursor.at = if is_missing { end } else { end + FUNCTION_END.len() };
    }

    /// Ends reading, because the text ends where it should not.
    fn cut(&mut self) {
        self.list.is_balanced = false;
        self.cursor.at = self.cursor.text.len();
    }

    fn fault(&self, reason: RejectionReason) -> CallFault {
        CallFault::new(reason, self.cursor.at)
    }
}

/// The value of an attribute, without the quotes around it: `<parameter=city="Oslo"></parameter>`.
fn unquoted_value(value: &str) -> Option<&str> {
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote).filter(|inside| !inside.contains(quote));
    inside('"').or_else(|| inside('\''))
}
