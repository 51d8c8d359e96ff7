//! Text that may be calls without their markers, while it is being written.

use crate::function::{Repair, SdkFunctionCall, Value};
use crate::notation::block_text::BlockText;
use crate::notation::definition::{PythonPlaces, RegularPlace};
use crate::notation::limits::{MAX_BLOCK_BYTES, MAX_CALLS};
use crate::notation::offered::OfferedFunctions;
use crate::notation::{Notation, python};
use crate::options::Strictness;
use crate::parse::block_reader::{self, BlockContent, Ending};
use crate::parse::call_block::OpenBlock;
use crate::parse::untagged::forms::SearchedForms;
use crate::parse::untagged::named_scan::NamedScan;
use crate::parse::untagged::opening::CandidatePlace;
use crate::parse::untagged::python_scan::PythonScan;
use crate::parse::untagged::scan::{CallScan, Scanned};

/// Repairs which suggest that an object is data, not a call.
const DOUBTFUL: [Repair; 3] = [Repair::MissingArguments, Repair::ArgumentsBesideName, Repair::ArgumentsDecoded];

/// The text of a block that may hold calls.
#[derive(Debug)]
pub(in crate::parse) struct UntaggedBlock {
    /// The forms that the notation of the reply may have.
    searched: SearchedForms,
    place: CandidatePlace,
    form: CandidateForm,
    text: String,
    stage: CandidateStage,
    /// Whether the text ends with a backslash after a call, which may begin an escape for white space.
    has_backslash: bool,
    scan: CallScan,
    python: PythonScan,
    named: NamedScan,
    /// Where the calls start and end in the text.
    calls: (usize, usize),
}

/// How the calls are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CandidateForm {
    /// An object, or a list of objects.
    Json,
    /// A list of calls in Python.
    PythonList,
    /// Names with arguments after them, as Mistral's models write calls.
    Named,
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
    /// Inside the closing tag or fence, after this many bytes of it.
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
    /// A candidate in this place, which begins with `text`.
    pub(super) fn new(searched: SearchedForms, place: CandidatePlace, text: &str) -> Self {
        Self {
            searched,
            place,
            form: CandidateForm::Json,
            text: text.to_owned(),
            stage: CandidateStage::Opening,
            has_backslash: false,
            scan: CallScan::default(),
            python: PythonScan::default(),
            named: NamedScan::default(),
            calls: (text.len(), text.len()),
        }
    }

    /// Adds text up to the end of the candidate, or up to a byte that cannot follow.
    pub(in crate::parse) fn follow(&mut self, text: &str, offered: &OfferedFunctions) -> Followed {
        for (at, byte) in text.bytes().enumerate() {
            crate::notation::work::count(1);
            let (n_held, stage, had_backslash) = (self.text.len() + at, self.stage, self.has_backslash);
            let Some(next) =
                self.next(byte, &text[..text.floor_char_boundary(at)], offered).filter(|_| n_held < MAX_BLOCK_BYTES)
            else {
                let at = text.floor_char_boundary(at); // at the size limit, it may be within a character of a string
                self.text.push_str(&text[..at]);
                return Followed::Refused(at);
            };
            self.stage = next;
            match next {
                CandidateStage::Calls if stage == CandidateStage::Opening => self.calls.0 = n_held,
                CandidateStage::BetweenCalls if stage == CandidateStage::Calls || had_backslash => {
                    self.calls.1 = n_held + 1
                }
                CandidateStage::Surplus if !byte.is_ascii_whitespace() => self.calls.1 = n_held + 1,
                CandidateStage::Closing(n_written) if n_written == self.place.closing().len() => {
                    self.text.push_str(&text[..=at]);
                    return Followed::Complete(at + 1);
                }
                _ => {}
            }
            let is_after_call = matches!(next, CandidateStage::BetweenCalls | CandidateStage::Surplus);
            if self.place == CandidatePlace::AfterWord && is_after_call && byte == b']' {
                self.stage = CandidateStage::Closing(0);
                self.text.push_str(&text[..=at]);
                return Followed::Complete(at + 1);
            }
        }
        self.text.push_str(text);
        Followed::Held
    }

    /// The stage after a byte that follows the text and `added`; `None` if it cannot follow.
    fn next(&mut self, byte: u8, added: &str, offered: &OfferedFunctions) -> Option<CandidateStage> {
        let is_space = byte.is_ascii_whitespace();
        match self.stage {
            CandidateStage::Opening => self.open(byte, added, offered),
            CandidateStage::Calls => self.scan_next(byte, added, offered),
            CandidateStage::BetweenCalls if std::mem::take(&mut self.has_backslash) => {
                b"nrt".contains(&byte).then_some(CandidateStage::BetweenCalls)
            }
            CandidateStage::BetweenCalls if byte == b'\\' && self.form == CandidateForm::Json => {
                self.has_backslash = true;
                Some(CandidateStage::BetweenCalls)
            }
            CandidateStage::BetweenCalls if is_space || self.separates(byte) => Some(CandidateStage::BetweenCalls),
            CandidateStage::BetweenCalls if self.begins_another(byte, offered) => self.scan_next(byte, added, offered),
            CandidateStage::BetweenCalls | CandidateStage::Surplus
                if self.form == CandidateForm::Json && matches!(byte, b'}' | b']') =>
            {
                Some(CandidateStage::Surplus)
            }
            CandidateStage::Surplus if is_space => Some(CandidateStage::Surplus),
            CandidateStage::BetweenCalls | CandidateStage::Surplus => self.closing_goes_on(byte, 0),
            CandidateStage::Closing(n_written) => self.closing_goes_on(byte, n_written),
        }
    }

    fn open(&mut self, byte: u8, added: &str, offered: &OfferedFunctions) -> Option<CandidateStage> {
        let opening = self.text.clone() + added;
        let is_bracket = byte == b'[' || byte == b'{' && self.place != CandidatePlace::AfterWord;
        if is_bracket && self.place.may_begin_after(&opening, self.searched.forms) {
            return self.scan_next(byte, added, offered);
        }
        if self.searched.forms.has_names && self.place == CandidatePlace::Bare {
            self.form = CandidateForm::Named;
            return self.scan_next(byte, added, offered);
        }
        self.place.goes_on(&opening, byte, self.searched.forms).then_some(CandidateStage::Opening)
    }

    fn scan_next(&mut self, byte: u8, added: &str, offered: &OfferedFunctions) -> Option<CandidateStage> {
        if self.form == CandidateForm::Json
            && self.reads_python()
            && self.scan.is_open_list()
            && offered.has_initial(byte)
        {
            self.form = CandidateForm::PythonList;
        }
        let before = [&self.text[..], added];
        let scanned = match self.form {
            CandidateForm::Json => self.scan.next(byte, before, offered),
            CandidateForm::PythonList => self.python.next(byte, before, offered),
            CandidateForm::Named => self.named.next(byte, before, offered),
        };
        match scanned {
            Scanned::Continues => Some(CandidateStage::Calls),
            Scanned::Ends => Some(CandidateStage::BetweenCalls),
            Scanned::Refused => None,
        }
    }

    /// Whether the calls may be a list in Python.
    fn reads_python(&self) -> bool {
        match self.searched.forms.python_lists {
            PythonPlaces::Nowhere => false,
            PythonPlaces::Bare => self.place == CandidatePlace::Bare,
            PythonPlaces::Everywhere => true,
        }
    }

    /// Whether a byte after a call begins another one, or another list.
    fn begins_another(&self, byte: u8, offered: &OfferedFunctions) -> bool {
        match self.form {
            CandidateForm::Json => byte == b'{',
            CandidateForm::PythonList => byte == b'[' && self.searched.forms.python_lists == PythonPlaces::Everywhere,
            CandidateForm::Named => offered.has_initial(byte),
        }
    }

    fn separates(&self, byte: u8) -> bool {
        let is_separator = self.place == CandidatePlace::Bare && self.searched.forms.separator == Some(byte);
        self.form == CandidateForm::Json && (byte == b',' || is_separator)
    }

    fn closing_goes_on(&self, byte: u8, n_written: usize) -> Option<CandidateStage> {
        let goes_on = self.place.closing().as_bytes().get(n_written) == Some(&byte);
        goes_on.then_some(CandidateStage::Closing(n_written + 1))
    }

    /// Whether the calls are complete, and nothing else was begun.
    fn is_whole(&self) -> bool {
        matches!(self.stage, CandidateStage::BetweenCalls | CandidateStage::Surplus) && !self.has_backslash
    }

    /// Whether an end marker without its start may end the candidate.
    pub(in crate::parse) fn ends_at_marker(&self) -> bool {
        self.place == CandidatePlace::Bare && self.is_whole()
    }

    /// Whether a control token that is part of calls may come next.
    pub(in crate::parse) fn expects_tag(&self) -> bool {
        self.form == CandidateForm::Named && self.named.expects_tag()
    }

    /// Whether the name of an offered function was read, so that this is almost certainly a call.
    pub(in crate::parse) fn is_named(&self) -> bool {
        self.scan.is_named() || self.python.first_name().is_some() || self.named.is_named()
    }

    /// The open block for a constraint, if the first name was read and its arguments come after it: the opening bracket, and
    /// the text from the name on.
    pub(in crate::parse) fn open_block(&self) -> Option<OpenBlock> {
        let since = |first_name: usize| self.text.get(first_name..);
        match self.form {
            CandidateForm::Json => {
                let bracket = if self.scan.is_list() { "[" } else { "{" };
                Some(OpenBlock::Untagged(format!("{bracket}{}", since(self.scan.first_name()?)?)))
            }
            CandidateForm::PythonList => Some(OpenBlock::PythonList(format!("[{}", since(self.python.first_name()?)?))),
            CandidateForm::Named => None,
        }
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
        let has_parameters = self.searched.forms.has_parameters || call.repairs.contains(&Repair::AliasKey);
        let is_object = call.arguments.get("type") == Some(&Value::from("object"));
        let properties = call.arguments.get("properties");
        let are_schemas = matches!(properties, Some(Value::Object(all)) if all.values().all(is_schema));
        has_parameters && is_object && are_schemas
    }

    /// The calls, if the text is nothing but calls of offered functions.
    pub(in crate::parse) fn read(&self, offered: &OfferedFunctions) -> Option<BlockContent> {
        let is_closed = self.stage == CandidateStage::Closing(self.place.closing().len());
        if !is_closed && !self.is_whole() {
            return None;
        }
        let mut content = self.content(offered)?;
        let is_call = |call: &SdkFunctionCall| {
            offered.named(&call.name).is_some()
                && !call.repairs.iter().any(|repair| DOUBTFUL.contains(repair))
                && !self.is_declaration(call)
        };
        if content.calls.is_empty() || !content.calls.iter().all(is_call) {
            return None;
        }
        let is_regular = match self.searched.forms.regular {
            RegularPlace::Nowhere => false,
            RegularPlace::Bare => self.place == CandidatePlace::Bare,
            RegularPlace::AfterWord => self.place == CandidatePlace::AfterWord,
        };
        let lacks_end = !is_closed && self.place != CandidatePlace::Bare;
        for call in &mut content.calls {
            call.repairs.extend((!is_regular).then_some(Repair::MissingMarkers));
            call.repairs.extend(lacks_end.then_some(Repair::UnclosedBlock));
            call.repairs.sort_unstable();
        }
        let is_accepted =
            self.searched.strictness == Strictness::Recover || content.calls.iter().all(|call| call.repairs.is_empty());
        is_accepted.then_some(content)
    }

    /// The calls, if all of the text between the opening and the closing can be read.
    fn content(&self, offered: &OfferedFunctions) -> Option<BlockContent> {
        let body = |from: usize, to: usize| BlockText { text: &self.text[from..to], controls: &[] };
        let read = |body: BlockText<'_>| {
            let content = block_reader::read(self.reader(), Strictness::Recover, body, offered, Ending::Closed);
            (content.rejected.is_empty() && content.trailing.is_none()).then_some(content)
        };
        if self.form != CandidateForm::Named {
            return read(body(self.calls.0, self.calls.1));
        }
        let mut whole = BlockContent::default();
        let ends = self.named.starts.iter().skip(1).copied().chain([self.calls.1]);
        for (start, end) in self.named.starts.iter().copied().zip(ends).take(MAX_CALLS + 1) {
            whole.calls.extend(read(body(start, end))?.calls);
        }
        (whole.calls.len() <= MAX_CALLS).then_some(whole)
    }

    /// The notation in which the calls are read.
    fn reader(&self) -> &'static Notation {
        let SearchedForms { notation, forms, .. } = self.searched;
        match (self.form, self.place) {
            (CandidateForm::PythonList, _) => &python::NOTATION,
            (_, CandidatePlace::Bare) => notation,
            _ => forms.elsewhere.unwrap_or(notation),
        }
    }
}
