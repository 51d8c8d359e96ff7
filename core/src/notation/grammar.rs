//! How a notation writes its part of a grammar, for the layer that compiles grammars.

use crate::function::Value;

/// The grammar of a notation. Its rules use `SEP`, `COLON`, `GAP`, `LINE` and the terminals of literals.
#[derive(Debug)]
pub(crate) struct GrammarForm {
    pub(crate) literals: LiteralSyntax,
    /// Terminals that only this notation uses.
    pub(crate) terminals: &'static [&'static str],
    /// Whether a call can name a parameter.
    pub(crate) can_name: fn(&str) -> bool,
    /// The symbols for an argument with this name and schema.
    pub(crate) argument: fn(&mut dyn CallWriter, &str, &Value) -> String,
    /// The symbol between arguments.
    pub(crate) separator: &'static str,
    /// The symbols for a call, without what all calls begin with.
    pub(crate) call: fn(&dyn CallWriter, &CallSymbols<'_>) -> String,
    /// The rules for a call, given the symbols for one of all calls: at least that of `call`.
    pub(crate) rules: fn(&dyn CallWriter, &str) -> String,
    /// The symbols for the calls of a block, without its markers.
    pub(crate) body: fn(&mut dyn CallWriter) -> String,
}

/// The parts of a call of one function.
pub(crate) struct CallSymbols<'a> {
    pub(crate) name: &'a str,
    /// How calls may write the name.
    pub(crate) names: &'a [&'a str],
    /// The symbol for the arguments.
    pub(crate) members: &'a str,
    /// Whether the function has no parameters.
    pub(crate) is_empty: bool,
}

/// An argument of a call, or a property of an object.
pub(crate) struct Member {
    /// The symbols for the name and the value.
    pub(crate) symbols: String,
    pub(crate) is_required: bool,
}

/// The part of a block that a grammar describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockPart {
    Whole,
    AfterStart,
    /// Calls in JSON without markers: the bracket that opens them (`{`, or `[` for a list), then what follows from the name
    /// of the first call on. White space between the parts of a call is free, as models indent calls that they write so.
    FromName,
}

/// How values inside of calls are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LiteralSyntax {
    Python,
    Json,
    /// JSON without the tag that ends a value in XML.
    JsonInXml,
    /// Strings between control tokens, keys without quotes.
    Gemma,
}

/// What a notation writes its grammar with.
pub(crate) trait CallWriter {
    fn part(&self) -> BlockPart;
    /// The symbol of the marker that starts a block.
    fn start(&self) -> String;
    /// The symbol of a control token inside of blocks, if the vocabulary has it.
    fn inner(&self, spelling: &str) -> Option<String>;
    /// The symbol for further calls, each after a separator.
    fn more(&mut self, separator: &str) -> String;
    /// The symbols for the key of an object, and the colon after it.
    fn key(&self, name: &str) -> String;
    /// The symbol for values that fit a schema.
    fn value(&mut self, schema: &Value) -> String;
    /// Writes a terminal.
    fn terminal(&mut self, body: &str) -> String;
    /// The terminal for the text of strings within the limits of a schema; `None` if it sets none.
    fn text_limits(&mut self, schema: &Value) -> Option<String>;
    /// The symbol for the same calls as a list in Python; `None` if Python cannot express them.
    fn python_list(&mut self) -> Option<String>;
}

/// The symbol for white space within the brackets of a call in JSON.
pub(crate) fn gap(part: BlockPart) -> &'static str {
    if part == BlockPart::FromName { "GAP?" } else { "" }
}

/// Any name, which is written as a string.
pub(crate) fn any_name(_name: &str) -> bool {
    true
}

/// The symbols for an argument that is a member of an object.
pub(crate) fn member(writer: &mut dyn CallWriter, name: &str, schema: &Value) -> String {
    format!("{} {}", writer.key(name), writer.value(schema))
}

/// The only rule of a notation whose calls have nothing in common.
pub(crate) fn plain_rules(_writer: &dyn CallWriter, calls: &str) -> String {
    format!("call: {calls}")
}

/// Calls in brackets, with commas between them.
pub(crate) fn list(writer: &mut dyn CallWriter) -> String {
    format!("\"[\" call {} \"]\"", writer.more("SEP"))
}

/// A string literal of the grammar: a JSON string, with one more control character escaped.
pub(crate) fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
