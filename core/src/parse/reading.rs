//! Reads the body of a block: which calls are delivered, which are refused and why, and what is text after all.

use std::ops::Range;

use crate::function::{RejectedCall, RejectionReason, Repair, SdkFunction, SdkFunctionCall};
use crate::options::{FunctionCallParser, Strictness};
use crate::parse::cursor::Cursor;
use crate::parse::fault::Fault;
use crate::parse::list::{Item, List};
use crate::parse::{MOST_CALLS, json, python};

/// Characters of the model's text that a message quotes at most.
const LONGEST_QUOTE: usize = 60;

/// How a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// By its end marker.
    Closed,
    /// The model stopped, or met a limit, without writing the end marker.
    Stopped,
    /// By a cancel, by an error, or by the start of another block.
    Cut,
}

/// What a block holds. The calls have no ids yet, unless the model gave them.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) calls: Vec<SdkFunctionCall>,
    pub(super) rejected: Vec<RejectedCall>,
    /// Where text begins that follows the calls.
    pub(super) trailing: Option<usize>,
    /// Whether the brackets did not match, or there was no list at all.
    pub(super) is_broken: bool,
}

/// Reads the body of a block.
pub(super) fn read(
    parser: FunctionCallParser,
    strictness: Strictness,
    functions: &[SdkFunction],
    body: &str,
    ending: Ending,
) -> Reading {
    let (inside, is_fenced) = fenced(body).map_or((0..body.len(), false), |inside| (inside, true));
    let text = &body[..inside.end];
    if text[inside.start..].trim().is_empty() {
        return Reading::default();
    }
    let notation = Notation::of(parser, &text[inside.start..]);
    let mut list = match notation {
        Notation::Python => python::read(text, inside.start, functions),
        Notation::Json | Notation::JsonInTags => json::read(text, inside.start),
    };
    if list.items.iter().any(|item| item.call.as_ref().is_err_and(|fault| fault.is_about_quotes)) {
        // The end of a block that was cut off may be missing just where it would decide.
        let recovered = (ending == Ending::Closed).then(|| python::recover(text, inside.start)).flatten();
        match recovered {
            Some(recovered) => list = recovered,
            None => doubt_quotes(&mut list, ending),
        }
    }
    let mut repairs = notation.repairs(&list);
    repairs.extend(is_fenced.then_some(Repair::CodeFence));
    repairs.extend((ending == Ending::Stopped && list.is_balanced).then_some(Repair::UnclosedBlock));
    for call in list.items.iter_mut().filter_map(|item| item.call.as_mut().ok()) {
        call.repairs.extend(&repairs);
        call.repairs.sort_unstable();
    }
    Judge { body, ending, strictness, is_broken: !list.is_balanced || ending == Ending::Cut }.judge(list, inside)
}

/// The rejection of a block that outgrew the cap.
pub(super) fn too_large(parser: FunctionCallParser, body: &str) -> RejectedCall {
    let start = body.trim_start_matches(|character: char| character == '[' || character.is_whitespace());
    let name = match Notation::of(parser, body) {
        Notation::Python => python::name_of(start),
        Notation::Json | Notation::JsonInTags => json::name_of(body),
    };
    reject(body, 0..body.len(), name, Fault::new(RejectionReason::TooLarge, 0), None)
}

/// How the calls of one block are written.
#[derive(Clone, Copy)]
enum Notation {
    Python,
    /// JSON where Python was expected.
    Json,
    JsonInTags,
}

impl Notation {
    fn of(parser: FunctionCallParser, inside: &str) -> Self {
        let mut cursor = Cursor { text: inside, at: 0 };
        cursor.skip_space();
        if cursor.eat("[") {
            cursor.skip_space();
        }
        match parser {
            FunctionCallParser::JsonStyleFunctionCallParser => Self::JsonInTags,
            FunctionCallParser::DefaultFunctionCallParser if cursor.peek() == Some('{') => Self::Json,
            FunctionCallParser::DefaultFunctionCallParser => Self::Python,
        }
    }

    /// What was mended around the calls.
    fn repairs(self, list: &List) -> Vec<Repair> {
        let mended = match self {
            Self::Python => vec![
                (!list.has_brackets, Repair::MissingBrackets),
                (list.lacks_separator, Repair::MissingSeparator),
                (list.has_neighbour, Repair::AdjacentLists),
            ],
            Self::Json => vec![(true, Repair::JsonBody)],
            Self::JsonInTags => vec![(list.has_brackets || list.items.len() > 1, Repair::SeveralObjects)],
        };
        mended.into_iter().filter(|(is_mended, _)| *is_mended).map(|(_, repair)| repair).collect()
    }
}

/// What stands in a Markdown code fence, if the whole body does.
fn fenced(body: &str) -> Option<Range<usize>> {
    const FENCE: &str = "```";
    let start = body.len() - body.trim_start().len() + FENCE.len();
    let inside = body.trim().strip_prefix(FENCE)?.strip_suffix(FENCE)?;
    let end = start + inside.len();
    let mut cursor = Cursor { text: inside, at: 0 };
    let language = cursor.eat_while(|character| character.is_ascii_alphanumeric() || "_+-".contains(character));
    let has_language = cursor.peek().is_some_and(char::is_whitespace);
    Some(if has_language { start + language.len()..end } else { start..end })
}

/// No reading of the quotes is the only one: no call can be trusted.
fn doubt_quotes(list: &mut List, ending: Ending) {
    list.is_balanced = ending == Ending::Closed;
    for item in &mut list.items {
        let at = item.call.as_ref().err().map_or(item.span.start, |fault| fault.at);
        item.call = Err(Fault::new(RejectionReason::AmbiguousQuotes, at));
    }
}

/// Sorts what was found into calls and rejections.
struct Judge<'a> {
    body: &'a str,
    ending: Ending,
    strictness: Strictness,
    /// Whether nothing of the block may be delivered.
    is_broken: bool,
}

impl Judge<'_> {
    fn judge(&self, list: List, inside: Range<usize>) -> Reading {
        let mut reading = Reading { is_broken: self.is_broken, ..Reading::default() };
        if let Some(fault) = self.fault_of_whole(&list, inside.start) {
            let span = trimmed(self.body, inside);
            reading.rejected.push(reject(self.body, span, None, self.adjusted(fault), None));
            reading.is_broken = true;
            return reading;
        }
        reading.trailing = list.trailing.filter(|_| !self.is_broken);
        for Item { span, name, call } in list.items {
            let (fault, candidate) = match call {
                Err(fault) => (self.adjusted(fault), None),
                Ok(call) => match self.refusal(&call) {
                    None => {
                        reading.calls.push(call);
                        continue;
                    }
                    Some(reason) => (Fault::new(reason, span.start), Some(call)),
                },
            };
            reading.rejected.push(reject(self.body, span, name, fault, candidate));
        }
        reading
    }

    /// Why the whole block is refused at once: it has too many calls, or none that could be recognised.
    fn fault_of_whole(&self, list: &List, start: usize) -> Option<Fault> {
        if list.items.len() > MOST_CALLS {
            return Some(Fault::new(RejectionReason::TooManyCalls, start));
        }
        let is_nameless = list.items.iter().all(|item| item.name.is_none());
        let is_refused = self.is_broken || !list.items.is_empty();
        let first = list.items.first().and_then(|item| item.call.as_ref().err().copied());
        (is_nameless && is_refused).then(|| first.unwrap_or(Fault::new(RejectionReason::MalformedSyntax, start)))
    }

    /// Why a call that could be read is refused all the same.
    fn refusal(&self, call: &SdkFunctionCall) -> Option<RejectionReason> {
        let is_strict = self.strictness == Strictness::Strict;
        if self.is_broken {
            Some(if self.is_cut_off() { RejectionReason::IncompleteBlock } else { RejectionReason::MalformedSyntax })
        } else if !is_strict || call.repairs.is_empty() {
            None
        } else if call.repairs.contains(&Repair::UnclosedBlock) {
            Some(RejectionReason::IncompleteBlock)
        } else if call.repairs.contains(&Repair::InnerQuotes) {
            Some(RejectionReason::AmbiguousQuotes)
        } else {
            Some(RejectionReason::MalformedSyntax)
        }
    }

    /// In a block that was cut off every fault may come from the cut.
    fn adjusted(&self, fault: Fault) -> Fault {
        if self.is_cut_off() { Fault { reason: RejectionReason::IncompleteBlock, ..fault } } else { fault }
    }

    fn is_cut_off(&self) -> bool {
        self.is_broken && self.ending != Ending::Closed
    }
}

/// A span without the space around it.
fn trimmed(body: &str, span: Range<usize>) -> Range<usize> {
    let text = &body[span.clone()];
    let start = span.start + text.len() - text.trim_start().len();
    start..start + text.trim().len()
}

fn reject(
    body: &str,
    span: Range<usize>,
    name: Option<String>,
    fault: Fault,
    candidate: Option<SdkFunctionCall>,
) -> RejectedCall {
    let what = fault.reason.code().replace('_', " ");
    let whose =
        name.as_ref().map_or_else(|| "a block of calls".to_owned(), |name| format!("the call of {}", quote(name)));
    let where_at = body.get(fault.at..).unwrap_or("");
    RejectedCall {
        reason: fault.reason,
        name,
        raw_text: body[span.clone()].to_owned(),
        byte_offset: span.start,
        candidate,
        message: format!("{what} in {whose}, at byte {} of its block: {}", fault.at, quote(where_at)),
    }
}

/// The start of a text, on one line.
fn quote(text: &str) -> String {
    format!("{:?}", text.chars().take(LONGEST_QUOTE).collect::<String>())
}
