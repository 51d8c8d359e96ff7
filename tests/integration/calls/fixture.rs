//! The fixture files of `fixtures/calls`; the README beside them describes their format.

use std::fs;
use std::path::Path;

use causerie::{
    FunctionCallParser, Parsed, RejectedCall, ReplyEnd, ReplyParser, SdkFunction, SdkFunctionCall, Strictness, Value,
};
use serde_json::{Value as Json, json};

pub(super) struct Case {
    pub(super) file: String,
    pub(super) name: String,
    pub(super) pieces: Vec<Piece>,
    parser: Option<FunctionCallParser>,
    strictness: Strictness,
    in_reasoning: bool,
    offered: Vec<SdkFunction>,
    end: ReplyEnd,
    expect: Vec<Json>,
}

#[derive(Clone, Debug)]
pub(super) enum Piece {
    Text(String),
    Control(String),
}

/// All cases of all files.
pub(super) fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/calls");
    let folders = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut files: Vec<_> =
        folders.flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |file: &Path| {
        let cases: Vec<Json> = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let file = file.file_stem().unwrap().to_string_lossy().into_owned();
        cases.into_iter().map(move |case| Case::new(&file, &case)).collect::<Vec<_>>()
    };
    files.iter().flat_map(|file| read(file)).collect()
}

impl Case {
    fn new(file: &str, case: &Json) -> Self {
        let known = ["name", "format", "strictness", "in_reasoning", "offered", "pieces", "end", "expect"];
        assert!(
            case.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())),
            "{file}: unknown key in {case}"
        );
        Self {
            file: file.to_owned(),
            name: case["name"].as_str().unwrap().to_owned(),
            pieces: case["pieces"].as_array().unwrap().iter().map(Piece::new).collect(),
            parser: case["format"].as_str().map(|name| match FunctionCallParser::named(name) {
                Some(parser) => parser,
                None => panic!("{file}: format must be a notation, found {name}"),
            }),
            strictness: match case["strictness"].as_str() {
                None | Some("recover") => Strictness::Recover,
                Some("strict") => Strictness::Strict,
                Some(other) => panic!("{file}: strictness must be recover or strict, found {other}"),
            },
            in_reasoning: case["in_reasoning"].as_bool().unwrap_or(false),
            offered: case["offered"].as_array().into_iter().flatten().map(function).collect(),
            end: match case["end"].as_str() {
                None | Some("ended") => ReplyEnd::Ended,
                Some("interrupted") => ReplyEnd::Interrupted,
                Some(other) => panic!("{file}: end must be ended or interrupted, found {other}"),
            },
            expect: case["expect"].as_array().unwrap().clone(),
        }
    }

    /// Creates the parser of this case.
    pub(super) fn parser(&self) -> ReplyParser {
        let parser = ReplyParser::new(self.parser).strictness(self.strictness).offering(&self.offered);
        if self.in_reasoning { parser.starting_in_reasoning() } else { parser }
    }
}

impl Piece {
    fn new(piece: &Json) -> Self {
        match piece["control"].as_str() {
            Some(spelling) => Self::Control(spelling.to_owned()),
            None => Self::Text(text(&piece["text"])),
        }
    }

    pub(super) fn characters(&self) -> Vec<Self> {
        match self {
            Self::Text(text) => text.chars().map(|character| Self::Text(character.into())).collect(),
            Self::Control(_) => vec![self.clone()],
        }
    }

    /// The pieces with adjacent texts joined.
    pub(super) fn joined(pieces: &[Self]) -> Vec<Self> {
        let mut joined: Vec<Self> = Vec::new();
        for piece in pieces {
            match (joined.last_mut(), piece) {
                (Some(Self::Text(text)), Self::Text(more)) => text.push_str(more),
                _ => joined.push(piece.clone()),
            }
        }
        joined
    }

    /// Where to cut a text: everywhere if it is short, else at a few places.
    pub(super) fn cuts(&self, short: usize) -> Vec<usize> {
        let Self::Text(text) = self else { return Vec::new() };
        let cuts: Vec<_> = text.char_indices().map(|(at, _)| at).skip(1).collect();
        let n_steps = (cuts.len() / short).max(1) * 20;
        if cuts.len() < short { cuts } else { cuts.into_iter().step_by(n_steps).collect() }
    }

    pub(super) fn cut(&self, at: usize) -> (Self, Self) {
        match self {
            Self::Text(text) => (Self::Text(text[..at].to_owned()), Self::Text(text[at..].to_owned())),
            Self::Control(_) => unreachable!("a control token is one piece"),
        }
    }
}

/// An offered function, by its name or as JSON.
fn function(function: &Json) -> SdkFunction {
    match function.as_str() {
        Some(name) => SdkFunction::new(name, "", vec![]),
        None => causerie::functions_from_json(&json!([function]).to_string()).unwrap().remove(0),
    }
}

/// A string, or the parts of one.
fn text(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        Json::Array(parts) => parts.iter().map(text).collect(),
        part => part["repeat"].as_str().unwrap().repeat(part["times"].as_u64().unwrap() as usize),
    }
}

/// The events that the parser emits for the pieces, in the format of fixtures, with adjacent texts joined.
pub(super) fn events(case: &Case, pieces: &[Piece]) -> Vec<Json> {
    joined(run(case.parser(), pieces, case.end)).iter().map(event).collect()
}

pub(super) fn run(mut parser: ReplyParser, pieces: &[Piece], end: ReplyEnd) -> Vec<Parsed> {
    let mut found = Vec::new();
    let mut emit = |parsed| found.push(parsed);
    for piece in pieces {
        match piece {
            Piece::Text(text) => parser.push(causerie::Piece::Text(text), &mut emit),
            Piece::Control(spelling) => parser.push(causerie::Piece::Control(spelling), &mut emit),
        }
    }
    parser.finish(end, &mut emit);
    found
}

pub(super) fn joined(events: Vec<Parsed>) -> Vec<Parsed> {
    let mut joined: Vec<Parsed> = Vec::new();
    for event in events {
        match (joined.last_mut(), event) {
            (Some(Parsed::Text(text)), Parsed::Text(more)) => text.push_str(&more),
            (Some(Parsed::Reasoning(text)), Parsed::Reasoning(more)) => text.push_str(&more),
            (_, event) => joined.push(event),
        }
    }
    joined
}

fn event(parsed: &Parsed) -> Json {
    match parsed {
        Parsed::Text(text) => json!({ "text": text }),
        Parsed::Reasoning(text) => json!({ "reasoning": text }),
        Parsed::Calls(calls) => json!({ "calls": calls.iter().map(call).collect::<Vec<_>>() }),
        Parsed::Rejected(rejected) => json!({ "rejected": rejected.iter().map(rejection).collect::<Vec<_>>() }),
        Parsed::Note(note) => json!({ "note": note.code() }),
    }
}

fn call(call: &SdkFunctionCall) -> Json {
    json!({
        "name": call.name,
        "arguments": Value::Object(call.arguments.clone()).to_string(),
        "repairs": call.repairs.iter().map(|repair| repair.code()).collect::<Vec<_>>(),
        "id": call.call_id,
        "raw_text": call.raw_text,
    })
}

fn rejection(rejected: &RejectedCall) -> Json {
    assert!(rejected.message.chars().filter(|character| *character == '\n').count() == 0, "a message is one line");
    json!({
        "reason": rejected.reason.code(),
        "name": rejected.name,
        "candidate": rejected.candidate.as_ref().map(call),
        "raw_text": rejected.raw_text,
        "byte_offset": rejected.byte_offset,
    })
}

/// The events that a case expects, with defaults filled in and arguments as JSON text.
pub(super) fn expected(case: &Case) -> Vec<Json> {
    case.expect.iter().map(expected_event).collect()
}

fn expected_event(event: &Json) -> Json {
    let (kind, content) = event.as_object().unwrap().iter().next().unwrap();
    let list = |fill: fn(&Json) -> Json| content.as_array().unwrap().iter().map(fill).collect::<Vec<_>>();
    match kind.as_str() {
        "text" | "reasoning" => json!({ kind: text(content) }),
        "calls" => json!({ kind: list(expected_call) }),
        "rejected" => json!({ kind: list(expected_rejection) }),
        _ => event.clone(),
    }
}

fn expected_call(call: &Json) -> Json {
    let mut call = call.clone();
    call["arguments"] = value(&call["arguments"]).to_string().into();
    if call["repairs"].is_null() {
        call["repairs"] = json!([]);
    }
    call
}

fn expected_rejection(rejected: &Json) -> Json {
    let mut rejected = rejected.clone();
    rejected["name"] = rejected["name"].clone(); // null when absent
    rejected["candidate"] = match &rejected["candidate"] {
        Json::Null => Json::Null,
        candidate => expected_call(candidate),
    };
    rejected
}

/// An argument, which may use the spellings that JSON lacks.
fn value(json: &Json) -> Value {
    match json {
        Json::Array(items) => Value::Array(items.iter().map(value).collect()),
        Json::Object(entries) => match entries.iter().next() {
            Some((key, digits)) if key == "$integer" => causerie::read_json(digits.as_str().unwrap()).unwrap(),
            Some((key, number)) if key == "$float" => Value::Number(number.as_str().unwrap().parse().unwrap()),
            Some((key, parts)) if key == "$text" => Value::String(text(parts)),
            _ => Value::Object(entries.iter().map(|(key, entry)| (key.clone(), value(entry))).collect()),
        },
        plain => Value::from(plain.clone()),
    }
}
