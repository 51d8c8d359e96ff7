//! A list of calls that begins a reply without markers around it, as some runtimes leave one: `[f(a=1), g()]`.
//!
//! Nothing else tells it from text, so it must be whole, and its functions known. It is followed by the character, and
//! held only while it can still become such a list.

use crate::options::FunctionCallParser;
use crate::parse::echo::Compared;
use crate::parse::reading::{self, Ending};
use crate::parse::{Emit, LARGEST_BLOCK, ReplyParser, State, work};

impl ReplyParser {
    /// Takes text where a list counts without markers; `None` where none does.
    pub(super) fn step_bare(&mut self, parser: FunctionCallParser, text: &str, emit: Emit<'_>) -> Option<usize> {
        match &mut self.state {
            State::Text if !self.bare_names.is_empty() => {
                let n_spaces = text.len() - text.trim_start().len();
                if 0 < n_spaces {
                    return Some(self.take_plain(&text[..n_spaces], emit));
                }
                let is_list = text.starts_with('[');
                if is_list {
                    let names = std::mem::take(&mut self.bare_names);
                    self.state = State::Bare(BareList::new(names));
                }
                is_list.then_some(0)
            }
            State::Bare(list) => Some(match list.push(text) {
                Compared::Held => text.len(),
                Compared::Completes(length) => {
                    self.close_bare(parser, emit);
                    length
                }
                Compared::Differs(held) => {
                    self.state = State::Text;
                    self.push_text(parser, &held, emit);
                    0
                }
            }),
            _ => None,
        }
    }

    /// Ends a list without markers, which is text unless all of it can be delivered.
    fn close_bare(&mut self, parser: FunctionCallParser, emit: Emit<'_>) {
        let State::Bare(list) = std::mem::replace(&mut self.state, State::Text) else {
            return;
        };
        let reading = reading::read(parser, self.strictness, &self.functions, &list.text, Ending::Closed);
        if reading.rejected.is_empty() && reading.calls.iter().all(|call| list.knows(&call.name)) {
            self.emit_reading(reading, &list.text, true, emit);
        } else {
            self.push_text(parser, &list.text, emit);
        }
    }
}

/// A list, or text that may become one.
#[derive(Debug)]
pub(super) struct BareList {
    names: Vec<String>,
    text: String,
    place: Place,
    /// The name of the call that is being written, as far as it goes.
    name: String,
    has_calls: bool,
    /// The brackets that close those of the arguments.
    partners: Vec<char>,
    string: InString,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the list's bracket.
    Start,
    /// Where a call can start, or in its name.
    Name,
    /// Behind a name.
    Named,
    /// In the brackets of a call.
    Arguments,
    /// Behind a call.
    Called,
}

/// Where in a string the arguments stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InString {
    No,
    /// Behind so many quotes that open one.
    Opened(char, usize),
    /// Inside, between so many quotes, behind so many that may close it.
    Inside {
        quote: char,
        n_quotes: usize,
        n_closing: usize,
    },
    /// Behind a backslash, between so many quotes.
    Escaped(char, usize),
}

/// What a character means to a list.
enum Meaning {
    GoesOn,
    Ends,
    Spoils,
}

impl BareList {
    /// A list of calls of these functions, before its first character.
    fn new(names: Vec<String>) -> Self {
        Self {
            names,
            text: String::new(),
            place: Place::Start,
            name: String::new(),
            has_calls: false,
            partners: Vec::new(),
            string: InString::No,
        }
    }

    /// Takes text. When it completes the list, `text` is all of it.
    fn push(&mut self, text: &str) -> Compared {
        let fitting = text.floor_char_boundary(LARGEST_BLOCK - self.text.len());
        for (at, character) in text[..fitting].char_indices() {
            work::count(1);
            match self.meaning(character) {
                Meaning::GoesOn => {}
                Meaning::Ends => {
                    let length = at + character.len_utf8();
                    self.text.push_str(&text[..length]);
                    return Compared::Completes(length);
                }
                Meaning::Spoils => return Compared::Differs(self.take_held()),
            }
        }
        if fitting < text.len() {
            return Compared::Differs(self.take_held());
        }
        self.text.push_str(text);
        Compared::Held
    }

    /// Bytes that may still be a list.
    pub(super) fn n_held(&self) -> usize {
        self.text.len()
    }

    pub(super) fn take_held(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Whether a function is one of the known ones.
    fn knows(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    fn meaning(&mut self, character: char) -> Meaning {
        let is_space = character.is_whitespace();
        let next = match (self.place, character) {
            (Place::Arguments, _) => return self.argument(character),
            (Place::Name, ']') if self.name.is_empty() && self.has_calls => return Meaning::Ends,
            (Place::Called, ']') => return Meaning::Ends,
            (Place::Start, '[') | (Place::Called, ',') => Place::Name,
            (Place::Name, _) if is_space && self.name.is_empty() => Place::Name,
            (Place::Name, _) if is_space && self.knows(&self.name) => Place::Named,
            (Place::Named, '(') => self.opened(),
            (Place::Name, '(') if self.knows(&self.name) => self.opened(),
            (Place::Name, _) => {
                self.name.push(character);
                if !self.names.iter().any(|known| known.starts_with(&self.name)) {
                    return Meaning::Spoils;
                }
                Place::Name
            }
            (Place::Named | Place::Called, _) if is_space => self.place,
            _ => return Meaning::Spoils,
        };
        self.place = next;
        Meaning::GoesOn
    }

    fn opened(&mut self) -> Place {
        self.has_calls = true;
        self.name.clear();
        self.partners.push(')');
        Place::Arguments
    }

    fn argument(&mut self, character: char) -> Meaning {
        self.string = self.string.behind(character);
        if self.string != InString::No {
            return Meaning::GoesOn;
        }
        match character {
            '(' => self.partners.push(')'),
            '[' => self.partners.push(']'),
            '{' => self.partners.push('}'),
            ')' | ']' | '}' if self.partners.pop() != Some(character) => return Meaning::Spoils,
            _ => {}
        }
        if self.partners.is_empty() {
            self.place = Place::Called;
        }
        Meaning::GoesOn
    }
}

impl InString {
    fn behind(self, character: char) -> Self {
        let is_quote = character == '\'' || character == '"';
        match self {
            Self::No if is_quote => Self::Opened(character, 1),
            Self::No => Self::No,
            Self::Opened(quote, 1) if character == quote => Self::Opened(quote, 2),
            Self::Opened(quote, 2) if character == quote => Self::Inside { quote, n_quotes: 3, n_closing: 0 },
            Self::Opened(_, 2) => Self::No.behind(character), // the string was empty
            Self::Opened(quote, n_quotes) => Self::Inside { quote, n_quotes, n_closing: 0 }.behind(character),
            Self::Inside { quote, n_quotes, .. } if character == '\\' => Self::Escaped(quote, n_quotes),
            Self::Inside { quote, n_quotes, n_closing } if character == quote => match n_closing + 1 {
                n_closing if n_closing == n_quotes => Self::No,
                n_closing => Self::Inside { quote, n_quotes, n_closing },
            },
            Self::Inside { quote, n_quotes, .. } | Self::Escaped(quote, n_quotes) => {
                Self::Inside { quote, n_quotes, n_closing: 0 }
            }
        }
    }
}
