//! The functions that a reply may call, and which of them a written name means.

use crate::function::{PythonNames, Repair, SdkFunction, SdkFunctionCall};

/// The functions that were offered to the model.
#[derive(Debug, Default)]
pub(crate) struct OfferedFunctions {
    functions: Vec<SdkFunction>,
    identifiers: PythonNames,
    /// Whether the prompt has identifiers for all names, because the notation cannot write them.
    has_identifiers: bool,
    /// Whether only the names of the prompt count.
    is_strict: bool,
}

impl OfferedFunctions {
    /// `has_identifiers` says whether the prompt has identifiers for names, and `is_strict` whether no other spelling counts.
    pub(crate) fn new(functions: &[SdkFunction], has_identifiers: bool, is_strict: bool) -> Self {
        Self {
            functions: functions.to_vec(),
            identifiers: PythonNames::new(functions.iter().map(|function| function.name.as_str())),
            has_identifiers,
            is_strict,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The function that a written name means: its name, or in Python the identifier for it. Unless parsing is strict, an
    /// underscore may stand for a hyphen, if that leaves one function.
    pub(crate) fn named(&self, written: &str) -> Option<&SdkFunction> {
        let is_named = |function: &&SdkFunction| function.name == written;
        let is_identifier = |function: &&SdkFunction| self.identifiers.written(&function.name) == written;
        let found = self.functions.iter().find(is_named);
        let found = found.or_else(|| self.functions.iter().find(is_identifier).filter(|_| self.has_identifiers));
        if found.is_some() || self.is_strict {
            return found;
        }
        let mut similar = self.functions.iter().filter(|function| is_spelling(written, &function.name));
        match (similar.next(), similar.next()) {
            (None, _) => self.functions.iter().find(is_identifier),
            (only, None) => only,
            _ => None,
        }
    }

    /// Whether more characters may make the name of a function of this beginning.
    pub(crate) fn may_begin(&self, beginning: &str) -> bool {
        self.functions.iter().any(|function| {
            let written = self.identifiers.written(&function.name);
            let is_longer = |name: &str| beginning.len() < name.len();
            is_longer(written) && written.starts_with(beginning)
                || is_longer(&function.name) && begins_spelling(beginning, &function.name)
        })
    }

    /// Whether a written name may begin with a byte.
    pub(crate) fn has_initial(&self, byte: u8) -> bool {
        let begins = |name: &str| name.bytes().next() == Some(byte);
        let mut names = self.functions.iter().map(|function| function.name.as_str());
        names.any(|name| begins(name) || begins(self.identifiers.written(name)))
    }

    /// Gives a call the name of its function.
    pub(crate) fn name_call(&self, call: &mut SdkFunctionCall) {
        let Some(function) = self.named(&call.name) else { return };
        if function.name == call.name {
            return;
        }
        let is_expected = self.has_identifiers && self.identifiers.written(&function.name) == call.name;
        call.repairs.extend((!is_expected).then_some(Repair::NameSpelling));
        call.name.clone_from(&function.name);
    }

    /// The name of the function that a written name means, or else the written name.
    pub(crate) fn name_of(&self, written: String) -> String {
        self.named(&written).map_or(written, |function| function.name.clone())
    }
}

/// Whether a text is a name, perhaps with underscores for hyphens.
fn is_spelling(written: &str, name: &str) -> bool {
    written.len() == name.len() && begins_spelling(written, name)
}

/// Whether a name begins with a text, perhaps with underscores for hyphens.
fn begins_spelling(written: &str, name: &str) -> bool {
    let mut pairs = written.bytes().zip(name.bytes());
    written.len() <= name.len() && pairs.all(|(written, byte)| written == byte || (written, byte) == (b'_', b'-'))
}
