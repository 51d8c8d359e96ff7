//! Text that may be calls without their markers, while it is being written.

use crate::function::{Repair, SdkFunctionCall, Value};
use crate::options::{FunctionCallParser, Strictness};
use crate::parse::block_reader::{self, BlockContent, Ending};
use crate::parse::block_text::BlockText;
use crate::parse::call_block::OpenBlock;
use crate::parse::limits::MAX_BLOCK_BYTES;
use crate::parse::notation::TAG_END;
use crate::parse::untagged::python_scan::PythonScan;
use crate::parse::untagged::scan::{CallScan, Scanned};

/// Bytes before the calls, of a fence and the white space around it.
const LONGEST_OPENING: usize = 64;
const FENCE: &str = "```";
const FENCE_LANGUAGE: &str = "json";
/// Repairs with which an object is rather data than a call.
const DOUBTFUL: [Repair; 3] = [Repair::MissingArguments, Repair::ArgumentsBesideName, Repair::ArgumentsDecoded];

/// The text of a block that may hold calls.
#[derive(Debug)]
pub(in crate::parse) struct UntaggedBlock {
    form: CandidateForm,
    text: String,
    stage: CandidateStage,
    scan: CallScan,
    python: PythonScan,
    /// Where the calls start and end in the text.
    calls: (usize, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CandidateForm {
    Bare,
    /// Bare, in Llama's notation.
    Llama,
    /// A list of calls in Python, which models with Llama's notation also write.
    PythonList,
    Fenced,
    InTag {
        end: &'static str,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CandidateStage {
    /// Before the calls.
    Opening,
    Calls,
    /// After a call; another may follow.
    BetweenCalls,
    /// After closing brackets that nothing opened.
    Surplus,
    /// Within the closing, of which this many bytes were written.
    Closing(usize),
}

/// What became of text that follows a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::parse) enum Followed {
    /// All of it may belong to the candidate, and was added.
    Held,
    /// This many bytes completed the candidate.
    Complete(usize),
    /// This many bytes were added before one that cannot follow, so that the candidate is text.
    Refused(usize),
}

impl UntaggedBlock {
    pub(super) fn bare(is_llama: bool) -> Self {
        Self::new(if is_llama { CandidateForm::Llama } else { CandidateForm::Bare }, "")
    }

    pub(super) fn fenced() -> Self {
        Self::new(CandidateForm::Fenced, "")
    }

    pub(super) fn in_tag(tag: &str, end: &'static str) -> Self {
        Self::new(CandidateForm::InTag { end }, tag)
    }

    fn new(form: CandidateForm, text: &str) -> Self {
        Self {
            form,
            text: text.to_owned(),
            stage: CandidateStage::Opening,
            scan: CallScan::default(),
            python: PythonScan::default(),
            calls: (text.len(), text.len()),
        }
    }

    /// Adds text up to the end of the candidate, or up to a byte that cannot follow. `names` are the functions that may be
    /// called.
    pub(in crate::parse) fn follow(&mut self, text: &str, names: &[String]) -> Followed {
        for (at, byte) in text.bytes().enumerate() {
            #[cfg(test)]
            crate::parse::work::count(1);
            let (n_held, stage) = (self.text.len() + at, self.stage);
            let Some(next) =
                self.next(byte, &text[..text.floor_char_boundary(at)], names).filter(|_| n_held < MAX_BLOCK_BYTES)
            else {
                let at = text.floor_char_boundary(at); // at the size limit, it may be within a character of a string
                self.text.push_str(&text[..at]);
                return Followed::Refused(at);
            };
            self.stage = next;
            match next {
                CandidateStage::Calls if stage == CandidateStage::Opening => self.calls.0 = n_held,
                CandidateStage::BetweenCalls if stage == CandidateStage::Calls => self.calls.1 = n_held + 1,
                CandidateStage::Surplus if !byte.is_ascii_whitespace() => self.calls.1 = n_held + 1,
                CandidateStage::Closing(n_written) if n_written == self.closing().len() => {
                    self.text.push_str(&text[..=at]);
                    return Followed::Complete(at + 1);
                }
                _ => {}
            }
        }
        self.text.push_str(text);
        Followed::Held
    }

    /// The stage after a byte that follows the text and `added`; `None` if it cannot follow.
    fn next(&mut self, byte: u8, added: &str, names: &[String]) -> Option<CandidateStage> {
        let is_space = byte.is_ascii_whitespace();
        match self.stage {
            CandidateStage::Opening if matches!(byte, b'{' | b'[') && self.may_begin(added) => {
                self.scan_next(byte, added, names)
            }
            CandidateStage::Opening => self.opening_goes_on(byte, added).then_some(CandidateStage::Opening),
            CandidateStage::Calls => self.scan_next(byte, added, names),
            CandidateStage::BetweenCalls if is_space || self.separates(byte) => Some(CandidateStage::BetweenCalls),
            CandidateStage::BetweenCalls if self.form == CandidateForm::PythonList => None,
            CandidateStage::BetweenCalls if byte == b'{' => self.scan_next(byte, added, names),
            CandidateStage::BetweenCalls | CandidateStage::Surplus if matches!(byte, b'}' | b']') => {
                Some(CandidateStage::Surplus)
            }
            CandidateStage::Surplus if is_space => Some(CandidateStage::Surplus),
            CandidateStage::BetweenCalls | CandidateStage::Surplus => self.closing_goes_on(byte, 0),
            CandidateStage::Closing(n_written) => self.closing_goes_on(byte, n_written),
        }
    }

    fn scan_next(&mut self, byte: u8, added: &str, names: &[String]) -> Option<CandidateStage> {
        if self.form == CandidateForm::Llama && PythonScan::may_begin(byte) && self.scan.is_open_list() {
            self.form = CandidateForm::PythonList;
        }
        let before = [&self.text[..], added];
        let scanned = match self.form {
            CandidateForm::PythonList => self.python.next(byte, before, names),
            _ => self.scan.next(byte, before, names),
        };
        match scanned {
            Scanned::Continues => Some(CandidateStage::Calls),
            Scanned::Ends => Some(CandidateStage::BetweenCalls),
            Scanned::Refused => None,
        }
    }

    fn separates(&self, byte: u8) -> bool {
        byte == b',' && self.form != CandidateForm::PythonList || byte == b';' && self.form == CandidateForm::Llama
    }

    fn closing_goes_on(&self, byte: u8, n_written: usize) -> Option<CandidateStage> {
        let goes_on = self.closing().as_bytes().get(n_written) == Some(&byte);
        goes_on.then_some(CandidateStage::Closing(n_written + 1))
    }

    /// What is written after the calls.
    fn closing(&self) -> &'static str {
        match self.form {
            CandidateForm::Bare | CandidateForm::Llama | CandidateForm::PythonList => TAG_END.0,
            CandidateForm::Fenced => FENCE,
            CandidateForm::InTag { end } => end,
        }
    }

    /// Whether the calls may begin after the opening and `added`.
    fn may_begin(&self, added: &str) -> bool {
        self.form != CandidateForm::Fenced
            || FENCE.len() <= self.text.len() + added.len() && {
                let opening = self.text.clone() + added;
                let language = opening[FENCE.len()..].trim();
                language.is_empty() || language.eq_ignore_ascii_case(FENCE_LANGUAGE)
            }
    }

    fn opening_goes_on(&self, byte: u8, added: &str) -> bool {
        let opening = self.text.clone() + added;
        if LONGEST_OPENING <= opening.len() {
            return false;
        }
        if self.form != CandidateForm::Fenced {
            return byte.is_ascii_whitespace();
        }
        let Some(after) = opening.strip_prefix(FENCE) else { return byte == b'`' };
        if byte.is_ascii_whitespace() {
            let language = after.trim();
            return language.is_empty() || language.eq_ignore_ascii_case(FENCE_LANGUAGE);
        }
        let expected = FENCE_LANGUAGE.as_bytes().get(after.trim_start_matches(' ').len());
        expected.is_some_and(|expected| expected.eq_ignore_ascii_case(&byte))
    }

    /// Whether the calls are complete, and nothing else was begun.
    fn is_whole(&self) -> bool {
        matches!(self.stage, CandidateStage::BetweenCalls | CandidateStage::Surplus)
    }

    /// Whether an end marker without its start may end the candidate.
    pub(in crate::parse) fn ends_at_marker(&self) -> bool {
        self.form == CandidateForm::Bare && self.is_whole()
    }

    /// Whether the name of an offered function was read, so that this is almost certainly a call.
    pub(in crate::parse) fn is_named(&self) -> bool {
        self.scan.is_named() || self.python.first_name().is_some()
    }

    /// The open block for a constraint, if the first name was read and its arguments come after it: the opening bracket, and
    /// the text from the name on.
    pub(in crate::parse) fn open_block(&self) -> Option<OpenBlock> {
        let since = |first_name: usize| self.text.get(first_name..);
        if self.form == CandidateForm::PythonList {
            return Some(OpenBlock::PythonList(format!("[{}", since(self.python.first_name()?)?)));
        }
        let bracket = if self.scan.is_list() { "[" } else { "{" };
        Some(OpenBlock::Untagged(format!("{bracket}{}", since(self.scan.first_name()?)?)))
    }

    pub(in crate::parse) fn text(&self) -> &str {
        &self.text
    }

    pub(in crate::parse) fn into_text(self) -> String {
        self.text
    }

    /// Whether a call is rather the declaration of its function, whose parameters are a schema.
    fn is_declaration(&self, call: &SdkFunctionCall) -> bool {
        let is_schema = |value: &Value| matches!(value, Value::Object(_));
        let has_parameters = self.form == CandidateForm::Llama || call.repairs.contains(&Repair::AliasKey);
        let is_object = call.arguments.get("type") == Some(&Value::from("object"));
        let properties = call.arguments.get("properties");
        let are_schemas = matches!(properties, Some(Value::Object(all)) if all.values().all(is_schema));
        has_parameters && is_object && are_schemas
    }

    /// The calls, if the text is nothing but calls of offered functions.
    pub(in crate::parse) fn read(&self, names: &[String]) -> Option<BlockContent> {
        let is_closed = self.stage == CandidateStage::Closing(self.closing().len());
        if !is_closed && !self.is_whole() {
            return None;
        }
        let body = &self.text[self.calls.0..self.calls.1];
        let parser = match self.form {
            CandidateForm::Llama => FunctionCallParser::LlamaFunctionCallParser,
            CandidateForm::PythonList => FunctionCallParser::DefaultFunctionCallParser,
            CandidateForm::Bare | CandidateForm::Fenced | CandidateForm::InTag { .. } => {
                FunctionCallParser::JsonStyleFunctionCallParser
            }
        };
        let block = BlockText { text: body, controls: &[] };
        let mut content = block_reader::read(parser, Strictness::Recover, block, &[], Ending::Closed);
        let is_call = |call: &SdkFunctionCall| {
            names.contains(&call.name)
                && !call.repairs.iter().any(|repair| DOUBTFUL.contains(repair))
                && !self.is_declaration(call)
        };
        let is_sound = content.rejected.is_empty() && content.trailing.is_none() && !content.calls.is_empty();
        if !is_sound || !content.calls.iter().all(is_call) {
            return None;
        }
        let has_markers = matches!(self.form, CandidateForm::Fenced | CandidateForm::InTag { .. });
        let lacks_end = !is_closed && has_markers;
        let is_regular = matches!(self.form, CandidateForm::Llama | CandidateForm::PythonList);
        for call in &mut content.calls {
            call.repairs.extend((!is_regular).then_some(Repair::MissingMarkers));
            call.repairs.extend(lacks_end.then_some(Repair::UnclosedBlock));
            call.repairs.sort_unstable();
        }
        Some(content)
    }
}
