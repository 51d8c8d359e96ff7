//! Reads the body of a block: which calls are delivered, which are rejected and why, and which text follows them.

use std::ops::Range;

use crate::function::{RejectedCall, RejectionReason, Repair, SdkFunctionCall};
use crate::notation::Notation;
use crate::notation::block_text::BlockText;
use crate::notation::cursor::Cursor;
use crate::notation::definition::CallBody;
use crate::notation::fault::CallFault;
use crate::notation::limits::MAX_CALLS;
use crate::notation::list::{List, ListItem};
use crate::notation::offered::OfferedFunctions;
use crate::options::Strictness;
use crate::parse::event::{Emit, Note, Parsed, emit_text};

/// Characters of the model's text that a message may quote.
const MAX_QUOTE: usize = 60;

/// How a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The end marker was written.
    Closed,
    /// The model stopped, or reached a limit, without writing the end marker.
    Stopped,
    /// A cancel, an error or the start of another block cut the block off.
    Cut,
}

/// The content of a block. The calls have no ids yet, unless the model gave them.
#[derive(Debug, Default)]
pub(super) struct BlockContent {
    pub(super) calls: Vec<SdkFunctionCall>,
    pub(super) rejected: Vec<RejectedCall>,
    /// Where the text after the calls starts.
    pub(super) trailing: Option<usize>,
    /// Whether the brackets do not match, or there is no list at all.
    pub(super) is_broken: bool,
    /// Whether the block is text, in a notation whose markers are also written around other text.
    pub(super) is_text: bool,
}

/// The text of a block. The markers are empty if they are not text.
#[derive(Clone, Copy)]
pub(super) struct WrittenBlock<'a> {
    /// Line ends before it that are left out if it has calls.
    pub(super) n_line_ends: usize,
    pub(super) start: &'a str,
    pub(super) body: &'a str,
    pub(super) end: &'a str,
}

impl WrittenBlock<'_> {
    /// All of it, as it was written.
    pub(super) fn text(&self) -> String {
        ["\n".repeat(self.n_line_ends).as_str(), self.start, self.body, self.end].concat()
    }
}

impl BlockContent {
    /// Whether calls are delivered.
    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Whether there is nothing but white space.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.rejected.is_empty()
    }

    /// Emits the calls and rejections of a block. If nothing but rejections remains of it, its text is also text of the reply,
    /// as it was written, so that apps that do not handle rejections lose nothing.
    pub(super) fn emit(self, block: WrittenBlock<'_>, releases_text: bool, emit: Emit<'_>) {
        let Self { calls, rejected, trailing, is_text, .. } = self;
        if is_text {
            return emit_text(&block.text(), emit);
        }
        let (n_calls, n_rejected) = (calls.len(), rejected.len());
        if n_calls > 0 {
            emit(Parsed::Calls(calls));
        }
        if n_rejected > 0 {
            emit(Parsed::Rejected(rejected));
        }
        if n_calls + n_rejected == 0 {
            emit(Parsed::Note(Note::EmptyBlock));
        }
        if n_rejected > 0 && n_calls == 0 {
            if releases_text {
                emit_text(&block.text(), emit);
            }
        } else if let Some(at) = trailing {
            emit(Parsed::Note(Note::TrailingText));
            emit_text(&block.body[at..], emit);
        }
    }
}

/// Reads the body of a block. Calls get the names of the offered functions, and the values of calls in XML their types.
pub(super) fn read(
    notation: &'static Notation,
    strictness: Strictness,
    block: BlockText<'_>,
    offered: &OfferedFunctions,
    ending: Ending,
) -> BlockContent {
    let body = block.text;
    let (inside, is_fenced) = fenced(body).map_or((0..body.len(), false), |inside| (inside, true));
    let text = &body[..inside.end];
    if text[inside.start..].trim().is_empty() {
        return BlockContent { is_text: notation.only_offered, ..BlockContent::default() };
    }
    let is_closed = ending == Ending::Closed;
    let mut list = (notation.read)(CallBody { block: block.until(inside.end), from: inside.start, offered, is_closed });
    if list.items.iter().any(|item| item.call.as_ref().is_err_and(|fault| fault.is_about_quotes)) {
        reject_quotes(&mut list, ending);
    }
    for ListItem { name, call, .. } in &mut list.items {
        *name = name.take().map(|name| offered.name_of(name));
        if let Ok(call) = call {
            offered.name_call(call);
        }
    }
    let is_offered = |item: &ListItem| item.name.as_deref().is_some_and(|name| offered.named(name).is_some());
    if notation.only_offered && !list.items.iter().any(is_offered) {
        return BlockContent { is_broken: !list.is_balanced, is_text: true, ..BlockContent::default() };
    }
    let mut repairs = std::mem::take(&mut list.repairs);
    repairs.extend(is_fenced.then_some(Repair::CodeFence));
    repairs.extend(list.has_surplus.then_some(Repair::SurplusBrackets));
    repairs.extend(list.has_escaped_space.then_some(Repair::EscapedSpace));
    let lacks_end = ending == Ending::Stopped && notation.has_ends();
    repairs.extend((lacks_end && list.is_balanced).then_some(Repair::UnclosedBlock));
    for call in list.items.iter_mut().filter_map(|item| item.call.as_mut().ok()) {
        call.repairs.extend(&repairs);
        call.repairs.sort_unstable();
        call.repairs.dedup();
    }
    let is_broken = !list.is_balanced || ending == Ending::Cut;
    Classifier { body, ending, strictness, is_broken }.classify(list, inside)
}

/// The rejection of a block that exceeds the size limit.
pub(super) fn too_large(notation: &'static Notation, body: &str, offered: &OfferedFunctions) -> RejectedCall {
    let name = (notation.name_of)(body, offered);
    let name = name.map(|name| offered.name_of(name));
    reject(body, 0..body.len(), name, CallFault::new(RejectionReason::TooLarge, 0), None)
}

/// The text inside a Markdown code fence, if the fence surrounds the whole body.
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

/// Rejects every call, because the quotes have no reading, or several.
fn reject_quotes(list: &mut List, ending: Ending) {
    list.is_balanced = ending == Ending::Closed;
    for item in &mut list.items {
        let at = item.call.as_ref().err().map_or(item.span.start, |fault| fault.at);
        item.call = Err(CallFault::new(RejectionReason::AmbiguousQuotes, at));
    }
}

/// Sorts the items of a list into calls and rejections.
struct Classifier<'a> {
    body: &'a str,
    ending: Ending,
    strictness: Strictness,
    /// Whether no call of the block may be delivered.
    is_broken: bool,
}

impl Classifier<'_> {
    fn classify(&self, list: List, inside: Range<usize>) -> BlockContent {
        let mut content = BlockContent { is_broken: self.is_broken, ..BlockContent::default() };
        if let Some(fault) = self.fault_of_whole(&list, inside.start) {
            let span = trimmed(self.body, inside);
            content.rejected.push(reject(self.body, span, None, self.adjusted(fault), None));
            content.is_broken = true;
            return content;
        }
        content.trailing = list.trailing.filter(|_| !self.is_broken);
        for ListItem { span, name, call } in list.items {
            let (fault, candidate) = match call {
                Err(fault) => (self.adjusted(fault), None),
                Ok(call) => match self.refusal(&call) {
                    None => {
                        content.calls.push(call);
                        continue;
                    }
                    Some(reason) => (CallFault::new(reason, span.start), Some(call)),
                },
            };
            content.rejected.push(reject(self.body, span, name, fault, candidate));
        }
        content
    }

    /// Why the block is rejected as a whole: it has too many calls, or none that can be recognised.
    fn fault_of_whole(&self, list: &List, start: usize) -> Option<CallFault> {
        if list.items.len() > MAX_CALLS {
            return Some(CallFault::new(RejectionReason::TooManyCalls, start));
        }
        let is_nameless = list.items.iter().all(|item| item.name.is_none());
        let has_content = self.is_broken || !list.items.is_empty();
        let first = list.items.first().and_then(|item| item.call.as_ref().err().copied());
        (is_nameless && has_content).then(|| first.unwrap_or(CallFault::new(RejectionReason::MalformedSyntax, start)))
    }

    /// Why a call is rejected although it could be read.
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

    /// Adjusts the reason of a fault: in a block that was cut off, the cut may have caused it.
    fn adjusted(&self, fault: CallFault) -> CallFault {
        if self.is_cut_off() { CallFault { reason: RejectionReason::IncompleteBlock, ..fault } } else { fault }
    }

    fn is_cut_off(&self) -> bool {
        self.is_broken && self.ending != Ending::Closed
    }
}

/// A span without the whitespace around it.
fn trimmed(body: &str, span: Range<usize>) -> Range<usize> {
    let text = &body[span.clone()];
    let start = span.start + text.len() - text.trim_start().len();
    start..start + text.trim().len()
}

fn reject(
    body: &str,
    span: Range<usize>,
    name: Option<String>,
    fault: CallFault,
    candidate: Option<SdkFunctionCall>,
) -> RejectedCall {
    let reason = fault.reason.code().replace('_', " ");
    let subject =
        name.as_ref().map_or_else(|| "a block of calls".to_owned(), |name| format!("the call of {}", quote(name)));
    let text = body.get(fault.at..).unwrap_or("");
    RejectedCall {
        reason: fault.reason,
        name,
        raw_text: body[span.clone()].to_owned(),
        byte_offset: span.start,
        candidate,
        message: format!("{reason} in {subject}, at byte {} of its block: {}", fault.at, quote(text)),
    }
}

/// The start of a text in quotes, on one line.
fn quote(text: &str) -> String {
    format!("{:?}", text.chars().take(MAX_QUOTE).collect::<String>())
}
