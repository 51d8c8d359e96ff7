//! Lists of calls: brackets, commas and what stands around them, for any notation of a single call.
//!
//! A call that cannot be read is skipped, and the others are still read, as long as the brackets match.

use std::ops::Range;

use crate::function::{RejectionReason, Repair, SdkFunctionCall};
use crate::notation::brackets::{Skipped, skip_group, skip_item};
use crate::notation::cursor::Cursor;
use crate::notation::fault::CallFault;
use crate::notation::limits::{MAX_CALLS, MAX_DEPTH};

/// How single calls are written.
pub(crate) trait CallNotation<'a> {
    fn cursor(&mut self) -> &mut Cursor<'a>;
    fn skip_space(&mut self) {
        self.cursor().skip_space();
    }
    /// Whether white space around the calls was written as escapes.
    fn has_escaped_space(&self) -> bool {
        false
    }
    /// Whether a call starts where `cursor` is.
    fn starts_call(&self, cursor: Cursor<'a>) -> bool;
    /// The position of the opening bracket whose partner ends the call that starts at `cursor`.
    fn group_of(&self, cursor: Cursor<'a>) -> usize;
    /// Reads the call that starts here.
    fn call(&mut self) -> Result<SdkFunctionCall, CallFault>;
    /// The name in the text of a call that could not be read.
    fn name_of(&self, raw_text: &str) -> Option<String>;
    /// Whether a character separates calls.
    fn separates(&self, next: char) -> bool {
        next == ','
    }
    /// Whether a character after a call turns it into an expression, which cannot be delivered.
    fn makes_expression(&self, next: char) -> bool;
    /// Whether reading stops at the first fault.
    fn stops_at_fault(&self) -> bool;
    /// Whether brackets that nothing opened may follow the call that was read last.
    fn may_have_surplus(&self) -> bool {
        false
    }
}

/// The content of a list.
#[derive(Debug, Default)]
pub(crate) struct List {
    pub(crate) items: Vec<ListItem>,
    /// Whether every bracket and every string was closed.
    pub(crate) is_balanced: bool,
    pub(crate) has_brackets: bool,
    /// Whether a comma was missing between two calls.
    pub(crate) lacks_separator: bool,
    /// Whether another list followed the first.
    pub(crate) has_neighbour: bool,
    /// Whether brackets followed that nothing had opened.
    pub(crate) has_surplus: bool,
    /// Whether white space around the calls was written as escapes.
    pub(crate) has_escaped_space: bool,
    /// Where the text after the calls starts.
    pub(crate) trailing: Option<usize>,
    /// What was repaired around the calls.
    pub(crate) repairs: Vec<Repair>,
}

/// A call, or other text in its place.
#[derive(Debug)]
pub(crate) struct ListItem {
    pub(crate) span: Range<usize>,
    pub(crate) name: Option<String>,
    pub(crate) call: Result<SdkFunctionCall, CallFault>,
}

impl List {
    /// The list with the repairs that were needed.
    pub(crate) fn repaired(mut self, candidates: &[(bool, Repair)]) -> Self {
        self.repairs.extend(candidates.iter().filter(|(is_needed, _)| *is_needed).map(|(_, repair)| *repair));
        self
    }

    /// The list of a notation whose blocks have one call.
    pub(crate) fn with_several(self) -> Self {
        let has_several = self.has_brackets || self.items.len() > 1;
        self.repaired(&[(has_several, Repair::SeveralObjects)])
    }

    /// Whether everything could be read.
    pub(crate) fn is_sound(&self) -> bool {
        self.is_balanced && self.items.iter().all(|item| item.call.is_ok())
    }
}

/// Reads one or more lists, to the end of the text.
pub(crate) fn read<'a>(notation: &mut impl CallNotation<'a>) -> List {
    let mut list = List { is_balanced: true, ..List::default() };
    notation.skip_space();
    list.has_brackets = notation.cursor().eat("[");
    read_items(notation, &mut list);
    while list.goes_on(notation) {
        let after_items = notation.cursor().at;
        notation.skip_space();
        match notation.cursor().peek() {
            None => break,
            Some(_) if eat_surplus(notation, &mut list) => break,
            Some(')' | ']' | '}') => list.is_balanced = false,
            Some(_) if list.has_brackets && eat_neighbour(notation) => {
                list.has_neighbour = true;
                read_items(notation, &mut list);
            }
            Some(_) => {
                list.trailing = Some(after_items);
                break;
            }
        }
    }
    list.has_escaped_space = notation.has_escaped_space();
    list
}

impl List {
    fn goes_on<'a>(&self, notation: &impl CallNotation<'a>) -> bool {
        let is_bad = notation.stops_at_fault() && self.items.last().is_some_and(|item| item.call.is_err());
        self.is_balanced && self.items.len() <= MAX_CALLS && !is_bad
    }
}

/// Takes closing brackets after the last call that nothing opened, if nothing else follows.
fn eat_surplus<'a>(notation: &mut impl CallNotation<'a>, list: &mut List) -> bool {
    let rest = notation.cursor().rest();
    list.has_surplus = notation.may_have_surplus() && list.is_sound() && only_closes(rest);
    if list.has_surplus {
        notation.cursor().at += rest.len();
    }
    list.has_surplus
}

/// Whether a text is nothing but closing brackets of JSON, and white space.
pub(crate) fn only_closes(text: &str) -> bool {
    let is_close = |character| matches!(character, '}' | ']');
    text.contains(is_close) && text.chars().all(|character| is_close(character) || character.is_whitespace())
}

/// Takes the opening bracket of another list, and a comma before it.
fn eat_neighbour<'a>(notation: &mut impl CallNotation<'a>) -> bool {
    let mut cursor = *notation.cursor();
    if cursor.eat(",") {
        cursor.skip_space();
    }
    if !cursor.eat("[") {
        return false;
    }
    let inside = cursor;
    cursor.skip_space();
    let is_list = cursor.peek() == Some(']') || notation.starts_call(cursor);
    if is_list {
        *notation.cursor() = inside;
    }
    is_list
}

/// Reads calls up to the closing bracket, or without brackets as long as calls follow.
fn read_items<'a>(notation: &mut impl CallNotation<'a>, list: &mut List) {
    while list.goes_on(notation) {
        notation.skip_space();
        match notation.cursor().peek() {
            None => {
                list.is_balanced = !list.has_brackets;
                return;
            }
            Some(']') if list.has_brackets => {
                notation.cursor().eat("]");
                return;
            }
            Some(_) => read_item(notation, list),
        }
        if !list.goes_on(notation) {
            return;
        }
        let after_item = notation.cursor().at;
        notation.skip_space();
        let here = *notation.cursor();
        match here.peek() {
            None | Some(']') if list.has_brackets => {}
            None => return,
            Some(next) if notation.separates(next) => notation.cursor().at += next.len_utf8(),
            Some(_) if notation.starts_call(here) => list.lacks_separator = true,
            Some(next) if !list.has_brackets => {
                list.is_balanced = !notation.makes_expression(next);
                notation.cursor().at = after_item;
                return;
            }
            // In a list, surplus braces stand before its closing bracket. A list with a fault has no surplus.
            Some('}') if list.is_sound() && here.rest().contains(']') && eat_surplus(notation, list) => return,
            Some(next) => reject_last(notation, list, next),
        }
    }
}

fn read_item<'a>(notation: &mut impl CallNotation<'a>, list: &mut List) {
    let start = *notation.cursor();
    if !notation.starts_call(start) {
        return skip_other(notation, list);
    }
    let call = notation.call();
    if call.is_err() && !notation.stops_at_fault() {
        let Skipped { end, is_balanced, .. } = skip_group(start.text, notation.group_of(start));
        list.is_balanced = is_balanced;
        notation.cursor().at = if is_balanced { end } else { start.text.len() };
    }
    let span = start.at..notation.cursor().at;
    let raw_text = &start.text[span.clone()];
    let (name, call) = match call {
        Ok(call) => (Some(call.name.clone()), Ok(SdkFunctionCall { raw_text: raw_text.to_owned(), ..call })),
        Err(fault) => (notation.name_of(raw_text), Err(fault)),
    };
    list.items.push(ListItem { span, name, call });
}

/// Skips text that is not a call.
fn skip_other<'a>(notation: &mut impl CallNotation<'a>, list: &mut List) {
    let start = *notation.cursor();
    let Skipped { end, is_balanced, depth } = skip_item(start.text, start.at);
    let reason = match start.peek() {
        _ if depth > MAX_DEPTH => RejectionReason::NestingTooDeep,
        Some('(') => RejectionReason::MissingName,
        _ => RejectionReason::MalformedSyntax,
    };
    notation.cursor().at = end;
    list.is_balanced = is_balanced;
    list.items.push(ListItem { span: start.at..end, name: None, call: Err(CallFault::new(reason, start.at)) });
}

/// Rejects the last call together with the text after it, which starts with `next`, up to the next comma.
fn reject_last<'a>(notation: &mut impl CallNotation<'a>, list: &mut List, next: char) {
    let here = *notation.cursor();
    let Skipped { end, is_balanced, .. } = skip_item(here.text, here.at);
    let goes_on = here.text[end..].starts_with([',', ']']);
    if !is_balanced || !goes_on {
        list.is_balanced = false;
        return;
    }
    notation.cursor().at = end;
    notation.cursor().eat(",");
    let reason = if notation.makes_expression(next) {
        RejectionReason::UnsupportedExpression
    } else {
        RejectionReason::MalformedSyntax
    };
    if let Some(item) = list.items.last_mut() {
        item.span.end = end;
        item.call = Err(CallFault::new(reason, here.at));
    }
}
