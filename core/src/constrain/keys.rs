//! Detects repeated names in objects, which a context-free grammar cannot exclude.

/// Scans a block of calls, or a reply in JSON, and stores the names in each open object. Names are compared after JSON's
/// escapes are decoded; a name with an escape of Python only is compared as written.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectNames {
    open: Vec<Bracket>,
    string: Option<OpenString>,
}

#[derive(Clone, Debug)]
enum Bracket {
    Object { names: Vec<Vec<u8>>, wants_name: bool },
    Other,
}

#[derive(Clone, Debug)]
struct OpenString {
    quote: u8,
    is_escaped: bool,
    written: Vec<u8>,
}

impl ObjectNames {
    /// Scans the next bytes. Returns false if an object has a name twice.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        bytes.iter().all(|byte| self.read(*byte))
    }

    fn read(&mut self, byte: u8) -> bool {
        if let Some(string) = &mut self.string {
            if string.is_escaped || byte != string.quote {
                string.is_escaped = byte == b'\\' && !string.is_escaped;
                string.written.push(byte);
                return true;
            }
            let name = std::mem::take(&mut string.written);
            self.string = None;
            return self.name(name);
        }
        match byte {
            b'"' | b'\'' => self.string = Some(OpenString { quote: byte, is_escaped: false, written: Vec::new() }),
            b'{' => self.open.push(Bracket::Object { names: Vec::new(), wants_name: true }),
            b'[' | b'(' => self.open.push(Bracket::Other),
            b'}' | b']' | b')' => drop(self.open.pop()),
            b':' => self.want_name(false),
            b',' => self.want_name(true),
            _ => {}
        }
        true
    }

    fn want_name(&mut self, wanted: bool) {
        if let Some(Bracket::Object { wants_name, .. }) = self.open.last_mut() {
            *wants_name = wanted;
        }
    }

    /// Handles the content of a string, which may be a name. Returns false for a repeated name.
    fn name(&mut self, name: Vec<u8>) -> bool {
        let Some(Bracket::Object { names, wants_name: true }) = self.open.last_mut() else { return true };
        let name = if name.contains(&b'\\') { unescaped(name) } else { name };
        let is_new = !names.contains(&name);
        names.push(name);
        is_new
    }
}

/// The content of a JSON string with escapes.
fn unescaped(written: Vec<u8>) -> Vec<u8> {
    match serde_json::from_slice::<String>(&[b"\"", &written[..], b"\""].concat()) {
        Ok(text) => text.into_bytes(),
        Err(_) => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: bool) {
        let mut whole = ObjectNames::default();
        assert_eq!(whole.push(text.as_bytes()), expect, "{text}");
        let mut pieces = ObjectNames::default();
        assert_eq!(text.as_bytes().chunks(1).all(|byte| pieces.push(byte)), expect, "{text}, by byte");
    }

    #[test]
    fn a_name_occurs_once_in_an_object() {
        check(r#"[f(a={"x": 1, "y": 2})]"#, true);
        check(r#"[f(a={"x": 1, "x": 2})]"#, false);
        check(r#"[f(a={"x": 1, 'x': 2})]"#, false);
        check(r#"[f(a={"": 1, "": 2})]"#, false);
        check(r#"{"x": 1, "\u0078": 2}"#, false);
        check(r#"{"a\"b": 1, "a\u0022b": 2}"#, false);
        check(r#"{"a\"b": 1, "a\\b": 2}"#, true);
    }

    #[test]
    fn names_of_different_objects_are_independent() {
        check(r#"[f(a={"x": {"x": 1}, "y": [{"x": 1}]}, b={"x": 1}), f(a={"x": 1})]"#, true);
        check(r#"[f(a={"x": {"y": 1}, "z": {"w": 1}, "x": 1})]"#, false);
    }

    #[test]
    fn other_strings_are_not_names() {
        check(r#"[f(a={"x": "y", "y": "x, \"x\": ", "z": ["x", "x"]})]"#, true);
        check(r#"[f(a={"x": ", 'y': ", "y": 1})]"#, true);
    }
}
