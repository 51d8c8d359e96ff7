//! The shape of calls in JSON, byte by byte: enough to find out early that a text is something else.

use crate::notation::offered::OfferedFunctions;
use crate::notation::quoted::QuoteState;

/// Follows the brackets, keys and names of an object or a list of objects.
#[derive(Debug, Default)]
pub(super) struct CallScan {
    quotes: QuoteState,
    /// Whether a backslash outside of strings came last, which may begin an escape for white space.
    has_backslash: bool,
    /// Where the current string, or the last one, was opened.
    string_start: usize,
    /// Brackets that are open.
    depth: usize,
    /// Brackets around each call: 1 in a list.
    n_outer: usize,
    /// Whether a call has begun.
    has_calls: bool,
    /// Whether the next string is a key, if this is an object whose keys are known.
    expects_key: bool,
    /// The last key of the call, and of its `function`.
    keys: [CallKey; 2],
    /// Where the name that was read first was opened.
    first_name: Option<usize>,
    /// Whether arguments came before the first name, or the name is part of a `function`.
    is_unusual: bool,
}

/// A key of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CallKey {
    Name,
    Function,
    Arguments,
    /// A key without meaning for us.
    #[default]
    Other,
}

/// What a byte means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scanned {
    Continues,
    /// The byte ends the object or the list.
    Ends,
    /// The byte cannot follow.
    Refused,
}

impl CallScan {
    /// Whether the name of an offered function was read.
    pub(super) fn is_named(&self) -> bool {
        self.first_name.is_some()
    }

    /// Where the first name was opened, if the call's arguments come after it.
    pub(super) fn first_name(&self) -> Option<usize> {
        self.first_name.filter(|_| !self.is_unusual)
    }

    /// Whether the calls are a list.
    pub(super) fn is_list(&self) -> bool {
        self.n_outer == 1
    }

    /// Whether the calls are only the opening bracket of a list so far.
    pub(super) fn is_open_list(&self) -> bool {
        self.is_list() && !self.has_calls
    }

    /// Follows a byte. The text before it is `before`, in two parts.
    pub(super) fn next(&mut self, byte: u8, before: [&str; 2], offered: &OfferedFunctions) -> Scanned {
        if self.quotes != QuoteState::Outside {
            self.quotes = self.quotes.after(byte);
            let is_allowed = self.quotes != QuoteState::Outside || self.string(before, offered);
            return if is_allowed { Scanned::Continues } else { Scanned::Refused };
        }
        let level = self.depth.saturating_sub(self.n_outer);
        let is_allowed = match byte {
            byte if std::mem::take(&mut self.has_backslash) => b"nrt".contains(&byte),
            b'\\' => {
                self.has_backslash = true;
                0 < self.depth
            }
            b'"' | b'\'' => {
                self.quotes = self.quotes.after(byte);
                self.string_start = before[0].len() + before[1].len();
                0 < level
            }
            b'{' | b'[' => self.open(byte, level),
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.expects_key = false;
                if self.depth == 0 {
                    return Scanned::Ends;
                }
                true
            }
            b',' => {
                self.expects_key = self.has_known_keys(level);
                true
            }
            b':' => {
                self.expects_key = false;
                0 < level
            }
            byte if byte.is_ascii_whitespace() => true,
            byte => self.may_be_literal(byte, level),
        };
        if is_allowed { Scanned::Continues } else { Scanned::Refused }
    }

    fn open(&mut self, byte: u8, level: usize) -> bool {
        self.depth += 1;
        self.expects_key = byte == b'{' && self.has_known_keys(level + 1);
        match (self.depth, byte) {
            (1, b'[') => {
                self.n_outer = 1;
                true
            }
            // A call is an object, and so is its `function`; keys are no brackets, and a name is neither.
            _ if level == 0 || level == 1 && self.keys[0] == CallKey::Function => {
                self.keys[level] = CallKey::Other;
                self.has_calls = true;
                byte == b'{'
            }
            _ => !self.is_at_name(level),
        }
    }

    /// Whether keys of this level belong to a call or its `function`.
    fn has_known_keys(&self, level: usize) -> bool {
        level == 1 || level == 2 && self.keys[0] == CallKey::Function
    }

    /// Whether a value that starts at this level is the name of a call.
    fn is_at_name(&self, level: usize) -> bool {
        self.has_known_keys(level) && self.keys[level - 1] == CallKey::Name
    }

    fn may_be_literal(&self, byte: u8, level: usize) -> bool {
        let is_literal = byte.is_ascii_alphanumeric() || b"+-._".contains(&byte);
        0 < level && is_literal && !self.expects_key && !self.is_at_name(level)
    }

    /// Follows the end of a string; returns whether a call may have it there.
    fn string(&mut self, before: [&str; 2], offered: &OfferedFunctions) -> bool {
        let level = self.depth.saturating_sub(self.n_outer);
        if !self.has_known_keys(level) {
            return true;
        }
        let text = content(before, self.string_start + 1);
        if self.expects_key {
            let Some(key) = key(&text, level) else { return false };
            self.is_unusual |= self.first_name.is_none() && matches!(key, CallKey::Arguments | CallKey::Function);
            self.keys[level - 1] = key;
            return true;
        }
        let is_offered = offered.named(&text).is_some();
        if self.is_at_name(level) && is_offered {
            self.first_name.get_or_insert(self.string_start);
        }
        !self.is_at_name(level) || is_offered
    }
}

fn key(text: &str, level: usize) -> Option<CallKey> {
    match text {
        "name" => Some(CallKey::Name),
        "arguments" | "parameters" => Some(CallKey::Arguments),
        "function" if level == 1 => Some(CallKey::Function),
        "type" | "id" if level == 1 => Some(CallKey::Other),
        _ => None,
    }
}

/// The text from a position on, of two parts.
pub(super) fn content([first, second]: [&str; 2], from: usize) -> String {
    match from.checked_sub(first.len()) {
        Some(from) => second[from..].to_owned(),
        None => first[from..].to_owned() + second,
    }
}
