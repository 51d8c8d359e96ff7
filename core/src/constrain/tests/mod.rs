//! Tests what grammars accept, and that the parser and validation agree.

mod answer_schema;
mod definitions;
mod hostile;
mod libraries;
mod limits;
mod untagged;
mod notations;

use std::sync::Arc;

use super::check::{ByteVocabulary, END, START, body_tokens, edges};
use super::*;
use crate::function::{PythonNames, SdkFunction, SdkFunctionCall};
use crate::notation::FunctionCallParser::{
    self, DefaultFunctionCallParser, JsonStyleFunctionCallParser, LlamaFunctionCallParser, XmlFunctionCallParser,
};
use crate::parse::{Parsed, Piece, ReplyEnd, ReplyParser};
use crate::schema::functions_from_json;
use crate::validate::validate_among;

/// The markers of a notation in the vocabulary of bytes.
fn leaked_edges(parser: FunctionCallParser) -> &'static BlockEdges {
    Box::leak(Box::new(edges(parser.notation())))
}

fn rules(notation: FunctionCallParser, functions: &[SdkFunction]) -> CallRules<'_> {
    let identifiers = PythonNames::new(functions.iter().map(|function| function.name.as_str()));
    CallRules {
        notation: notation.notation(),
        functions,
        identifiers: Box::leak(Box::new(identifiers)),
        is_single: false,
        edges: leaked_edges(notation),
        part: BlockPart::AfterStart,
    }
}

/// The body of a block, cut after each control token inside of it.
fn pieces(notation: FunctionCallParser, body: &str) -> Vec<(&str, Option<&'static str>)> {
    let (mut pieces, mut copied) = (Vec::new(), 0);
    for at in 0..body.len() {
        let rest = &body.as_bytes()[at..];
        let control =
            body_tokens(notation.notation()).into_iter().find(|(spelling, _)| rest.starts_with(spelling.as_bytes()));
        if let Some((spelling, _)) = control {
            pieces.push((&body[copied..at], Some(spelling)));
            copied = at + spelling.len();
        }
    }
    pieces.push((&body[copied..], None));
    pieces
}

/// The calls that the parser finds, if they need no repairs and have no diagnostics.
fn clean_calls(notation: FunctionCallParser, functions: &[SdkFunction], body: &str) -> Option<Vec<SdkFunctionCall>> {
    let (start, end) = notation.markers();
    let (mut calls, mut is_clean) = (Vec::new(), true);
    let mut emit = |parsed| match parsed {
        Parsed::Calls(found) => calls.extend(found),
        _ => is_clean = false,
    };
    let mut parser = ReplyParser::new(Some(notation)).offering(functions);
    let marker = if notation.notation().is_in_text { Piece::Text } else { Piece::Control };
    parser.push(marker(start), &mut emit);
    for (text, control) in pieces(notation, body) {
        parser.push(Piece::Text(text), &mut emit);
        control.into_iter().for_each(|spelling| parser.push(Piece::Control(spelling), &mut emit));
    }
    parser.push(marker(end), &mut emit);
    parser.finish(ReplyEnd::Ended, &mut emit);
    let is_fine =
        |call: &SdkFunctionCall| call.repairs.is_empty() && validate_among(call, functions).diagnostics.is_empty();
    (is_clean && !calls.is_empty() && calls.iter().all(is_fine)).then_some(calls)
}

/// Checks bodies of blocks. The accepted ones must also parse without repairs and diagnostics.
#[track_caller]
fn check(notation: FunctionCallParser, functions: &str, accepted: &[&str], refused: &[&str]) {
    let functions = functions_from_json(functions).unwrap();
    let grammar = CallGrammar::new(notation, &functions, true).unwrap();
    for body in accepted {
        assert_eq!(grammar.check(body), Ok(()), "{body}");
        assert!(clean_calls(notation, &functions, body).is_some(), "{body} is not read as it stands");
    }
    for body in refused {
        assert!(grammar.check(body).is_err(), "{body} is accepted");
    }
}

const WEATHER: &str = r#"[{"name": "get_weather", "description": "", "parameters": {"type": "object", "properties": {
    "city": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius", "it's \"K\""]},
    "days": {"type": "integer"}, "detailed": {"type": "boolean"}}, "required": ["city"]}},
    {"name": "ping", "description": ""}]"#;

#[test]
fn arguments_come_in_any_order_once_and_the_required_ones_always() {
    check(
        DefaultFunctionCallParser,
        WEATHER,
        &[
            r#"[get_weather(city="Oslo")]"#,
            r#"[get_weather(city='Oslo', unit='celsius', days=3)]"#,
            r#"[get_weather(days=-3,unit="celsius", city="Oslo", detailed=True)]"#,
            r#"[ping()]"#,
            r#"[ping(), get_weather(city="a"), ping()]"#,
            r#"[get_weather(city="a", unit="it's \"K\"")]"#,
            r#"[get_weather(city="a", unit='it\'s "K"')]"#,
        ],
        &[
            r#"[get_weather()]"#,
            r#"[get_weather(days=3)]"#,
            r#"[get_weather(city="a", city="b")]"#,
            r#"[get_weather(city="a", unit="kelvin")]"#,
            r#"[get_weather(city="a", days=3.5)]"#,
            r#"[get_weather(city="a", days="3")]"#,
            r#"[get_weather(city="a", days=None)]"#,
            r#"[get_weather(city="a", month=3)]"#,
            r#"[get_weather("a")]"#,
            r#"[get_weathers(city="a")]"#,
            r#"[ping(), ]"#,
            r#"ping()"#,
            r#"[]"#,
        ],
    );
}

#[test]
fn tags_hold_json() {
    check(
        JsonStyleFunctionCallParser,
        WEATHER,
        &[
            r#"{"name": "get_weather", "arguments": {"city": "Oslo"}}"#,
            "\n{\"name\":\"get_weather\",\"arguments\":{\"days\":3,\"city\":\"</tool_call>\"}}\n",
            r#"{"name": "ping", "arguments": {}}"#,
            r#"{"name": "get_weather", "arguments": {"city": "a\/\u00e9\ud83d\ude00", "unit": "it's \"K\""}}"#,
        ],
        &[
            r#"{"name": "get_weather", "arguments": {}}"#,
            r#"{"name": "ping"}"#,
            r#"{"name": "ping", "parameters": {}}"#,
            r#"{"name": "ping", "arguments": {"a": 1}}"#,
            r#"{"name": "get_weather", "arguments": {"city": 'Oslo'}}"#,
            r#"{"name": "get_weather", "arguments": {"city": "\ud83d"}}"#,
            r#"{"name": "get_weather", "arguments": {"city": "a", "detailed": True}}"#,
            r#"[{"name": "ping", "arguments": {}}]"#,
        ],
    );
}

const SHAPES: &str = r#"[{"name": "draw", "description": "", "parameters": {"type": "object", "properties": {
    "points": {"type": "array", "items": {"type": "object", "properties": {
        "x": {"type": "number"}, "y": {"type": "number"}, "tag": {"type": "string"}}, "required": ["x", "y"]}},
    "style": {"type": "object"}, "width": {"type": "number", "enum": [1, 2.5]}, "level": {"type": "integer", "enum": [1, -2]},
    "nothing": {"type": "null"}, "from": {"type": "array", "items": {"type": "boolean"}}}}}]"#;

#[test]
fn arrays_and_objects_nest() {
    check(
        DefaultFunctionCallParser,
        SHAPES,
        &[
            r#"[draw()]"#,
            r#"[draw(points=[])]"#,
            r#"[draw(points=[{"x": 1, "y": -2.5e3}, {'tag': 'a', 'y': 0, "x": 1.0}], width=2.5)]"#,
            r#"[draw(width=1, level=-2, nothing=None, from=[True, false])]"#,
            r#"[draw(width=1.0, nothing=null)]"#,
            r#"[draw(style={})]"#,
            r#"[draw(style={"a": [1, {"b": None}, []], "c": {"a": 'x'}})]"#,
        ],
        &[
            r#"[draw(points=[{"x": 1}])]"#,
            r#"[draw(points=[{"x": 1, "y": 2, "x": 3}])]"#,
            r#"[draw(points=[{"x": 1, "y": 2, "z": 3}])]"#,
            r#"[draw(points=[{"x": 1, "y": 2},])]"#,
            r#"[draw(width=3)]"#,
            r#"[draw(level=1.0)]"#,
            r#"[draw(style={"a": 1, "a": 2})]"#,
            r#"[draw(style={"a": 1, 'a': 2})]"#,
            r#"[draw(style={1: 2})]"#,
            r#"[draw(style=None)]"#,
        ],
    );
}

#[test]
fn numbers_and_strings_need_no_repair() {
    let functions = r#"[{"name": "f", "parameters": {"properties": {"n": {"type": "number"}, "i": {"type": "integer"},
        "s": {"type": "string"}}}}]"#;
    check(
        DefaultFunctionCallParser,
        functions,
        &[
            "[f(n=-0, i=999999999999999999)]",
            "[f(i=1764028957000000000, n=-99999999999999999999999999999999999999)]",
            "[f(i=99999999999999999999999999999999999999)]",
            "[f(n=99999999999999999999999999999999999999e99)]",
            "[f(n=1E-99)]",
            "[f(s='')]",
            "[f(s=\"a\nb\tc\")]",
            r#"[f(s='it\'s \\ \x41 \u00e9 \ud83d\ude00')]"#,
            r#"[f(s='"]), g(')]"#,
        ],
        &[
            "[f(n=1e999)]",
            "[f(i=07)]",
            "[f(i=1_000)]",
            "[f(i=999999999999999999999999999999999999999)]",
            "[f(n=.5)]",
            "[f(n=nan)]",
            "[f(s='a' 'b')]",
            r#"[f(s='\ud83d')]"#,
            r#"[f(s='\d')]"#,
            "[f(s=f'a')]",
            "[f(s='''a''')]",
            "[f(s=(1, 2))]",
        ],
    );
}

#[test]
fn members_that_cannot_be_tracked_together_come_in_groups() {
    let names: Vec<String> = (0..70).map(|i| format!("p{i}")).collect();
    let properties: Vec<String> = names.iter().map(|name| format!(r#""{name}": {{"type": "integer"}}"#)).collect();
    let functions = format!(
        r#"[{{"name": "f", "parameters": {{"properties": {{{}}}, "required": ["p3"]}}}}]"#,
        properties.join(", ")
    );
    let accepted = ["[f(p3=1)]", "[f(p5=1, p3=1, p69=2, p66=2)]"];
    let refused =
        ["[f()]", "[f(p69=1)]", "[f(p69=1, p3=1)]", "[f(p3=1, p3=1)]", "[f(p3=1, p69=1, p69=1)]", "[f(,p3=1)]"];
    check(DefaultFunctionCallParser, &functions, &accepted, &refused);
}

#[test]
fn a_name_that_is_not_valid_in_python_is_left_out_or_refused() {
    check(
        DefaultFunctionCallParser,
        r#"[{"name": "f", "parameters": {"required": ["max-n", "a.b"], "properties": {"max-n": {"type": "integer"}, "a.b": {}}}}]"#,
        &[r#"[f(max-n=1, a.b="x")]"#, "[f(a.b=None, max-n=1)]"],
        &["[f()]", "[f(max-n=1)]", "[f(max_n=1, a.b=1)]"],
    );
    let functions = r#"[{"name": "f", "parameters": {"properties": {"a b": {"type": "integer"}}}}]"#;
    check(DefaultFunctionCallParser, functions, &["[f()]"], &["[f(a b=1)]"]);
    check(JsonStyleFunctionCallParser, functions, &[r#"{"name": "f", "arguments": {"a b": 1}}"#], &[]);
    let required = functions.replace("\"properties\"", "\"required\": [\"a b\"], \"properties\"");
    let functions = functions_from_json(&required).unwrap();
    let fault = rules(DefaultFunctionCallParser, &functions).grammar().unwrap_err();
    assert_eq!(fault.message(), r#"parameter "a b" of f must have a name that is valid in Python"#);
    let beside = required.replacen('[', r#"[{"name": "g"}, "#, 1);
    check(DefaultFunctionCallParser, &beside, &["[g()]"], &["[f()]", "[h()]"]);
}

#[test]
fn types_of_unsupported_schemas_are_enforced() {
    let functions = r#"[{"name": "f", "parameters": {"properties": {"unit": {"type": "string", "enum": ["a", "b\u007f"],
        "examples": ["a"]}, "n": {"type": "integer", "minimum": 1}, "l": {"type": "array", "minItems": 1, "items": {}},
        "o": {"type": "object", "minProperties": 1}, "any": {"pattern": "a"}, "p": {"type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "anyOf": [{"required": ["x"]}, {"required": ["y"]}]}}}}]"#;
    check(
        DefaultFunctionCallParser,
        functions,
        &[r#"[f(unit="a", n=2, l=["x", 1], o={"k": [1]}, any=None, p={"y": 1})]"#, "[f(unit=\"b\u{7f}\")]"],
        &[
            r#"[f(unit="c")]"#,
            r#"[f(n="x")]"#,
            "[f(l={})]",
            "[f(o=[])]",
            "[f(o={})]",
            "[f(p=1)]",
            "[f(p={})]",
            r#"[f(p={"x": "a"})]"#,
        ],
    );
}

/// As pydantic and zod write `Optional`, `Literal`, unions and dictionaries.
const OPTIONALS: &str = r#"[{"name": "f", "parameters": {"properties": {
    "name": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "title": "Name"},
    "n": {"type": ["integer", "null"]}, "kind": {"enum": ["a", 2, null, true, ["x"], 0.5]}, "one": {"const": "only"},
    "big": {"type": "integer", "enum": [1, "a", 20, 30.0, 1e16], "minimum": 5}, "who": {"allOf": [{"type": "boolean"}], "title": "Who"},
    "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
    "scores": {"type": "object", "required": ["a"], "additionalProperties": {"type": "integer"}},
    "at": {"oneOf": [{"type": "object", "properties": {"x": {"type": ["number", "null"]}}, "required": ["x", "y"]},
                     {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}}]}}}}]"#;

#[test]
fn combinations_of_schemas_are_enforced() {
    check(
        DefaultFunctionCallParser,
        OPTIONALS,
        &[
            r#"[f(name="Ana", n=None)]"#,
            "[f(name=None, n=3, one='only', who=True)]",
            r#"[f(kind=2), f(kind=None), f(kind=True), f(kind="a"), f(kind=["x"]), f(kind=0.5)]"#,
            r#"[f(big=20, counts={"a": 1, "b": 2}), f(counts={}, scores={"a": 1})]"#,
            "[f(big=30), f(big=1e+16)]",
            r#"[f(at={"x": None, "y": "anything"}), f(at={"y": [1], "x": 1.5}), f(at=[1, True])]"#,
        ],
        &[
            "[f(name=3)]",
            r#"[f(name=["Ana"])]"#,
            "[f(n=3.5)]",
            "[f(n='3')]",
            "[f(kind='b')]",
            "[f(kind=False)]",
            "[f(one='other')]",
            "[f(big=1)]",
            "[f(big=30.0)]",
            "[f(who=None)]",
            r#"[f(counts={"a": "b"})]"#,
            r#"[f(counts={"a": 1, "a": 2})]"#,
            r#"[f(scores={"a": "x"})]"#,
            "[f(scores={})]",
            r#"[f(at={"x": 1})]"#,
            r#"[f(at={"x": "1", "y": 1})]"#,
            "[f(at=[1.5])]",
        ],
    );
    check(
        JsonStyleFunctionCallParser,
        OPTIONALS,
        &[r#"{"name": "f", "arguments": {"name": null, "kind": true, "at": [1, false]}}"#],
        &[r#"{"name": "f", "arguments": {"name": 3}}"#, r#"{"name": "f", "arguments": {"kind": "True"}}"#],
    );
}

#[test]
fn a_block_can_be_limited_to_one_call() {
    let grammar = CallGrammar::new(DefaultFunctionCallParser, &functions_from_json(WEATHER).unwrap(), false).unwrap();
    assert_eq!(grammar.check("[ping()]"), Ok(()));
    let refusal = grammar.check("[ping(), ping()]").unwrap_err();
    assert_eq!(refusal, CallRefusal { at: 7, expected: "]".to_owned(), can_end: false });
    let refusal = grammar.check("[ping()] ").unwrap_err();
    assert_eq!(refusal, CallRefusal { at: 8, expected: String::new(), can_end: true });
}

#[test]
fn a_block_allows_as_many_calls_as_the_parser() {
    let calls = |n: usize| format!("[{}]", vec!["ping()"; n].join(", "));
    check(DefaultFunctionCallParser, WEATHER, &[&calls(128)], &[&calls(129)]);
}

#[test]
fn tokens_without_an_alternative_are_forced() {
    let functions = functions_from_json(WEATHER).unwrap();
    let grammar =
        CallRules { part: BlockPart::Whole, ..rules(DefaultFunctionCallParser, &functions[..1]) }.grammar().unwrap();
    let mut constraint = Constrainer::new(Arc::new(ByteVocabulary)).constraint(grammar).unwrap();
    let mut forced = constraint.forced();
    assert_eq!(forced.remove(0), START);
    let text: Vec<u8> = forced.iter().map(|id| u8::try_from(*id).unwrap()).collect();
    assert_eq!(text, b"[get_weather(");
}

#[test]
fn a_reply_can_be_constrained_to_a_schema() {
    let schema = r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}"#;
    let constrainer = Constrainer::new(Arc::new(ByteVocabulary));
    let constraint = constrainer.constraint(Grammar::of_schema(schema).unwrap()).unwrap();
    let follows = |text: &str| {
        let mut constraint = constraint.clone();
        text.bytes().all(|byte| constraint.take(u32::from(byte))) && constraint.is_over()
    };
    assert!(follows(r#"{"a": 1}"#) && follows("{\n  \"a\":1\n}"));
    assert!(!follows(r#"{"a": "1"}"#) && !follows("{}") && !follows(&format!("{{{}\"a\": 1}}", " ".repeat(99))));
    for (schema, expect) in [
        ("{", "the schema must be valid JSON: EOF while parsing an object at line 1 column 1"),
        ("3", "the schema must be an object"),
        (
            r#"{"type": "array", "uniqueItems": true}"#,
            "schema has the keyword \"uniqueItems\", which cannot be enforced",
        ),
    ] {
        let fault = Grammar::of_schema(schema).and_then(|grammar| constrainer.constraint(grammar)).err().unwrap();
        assert!(fault.message().contains(expect), "{fault:?}");
    }
}

#[test]
fn a_reply_names_a_property_once() {
    let constrainer = Constrainer::new(Arc::new(ByteVocabulary));
    let functions = functions_from_json(WEATHER).unwrap();
    let rules = CallRules { part: BlockPart::Whole, ..rules(DefaultFunctionCallParser, &functions) };
    for schema in
        ["{}", r#"{"type": "object", "minProperties": 2}"#, r#"{"type": "array", "items": {"type": "object"}}"#]
    {
        let with_calls = rules.grammar().unwrap().or_schema(schema).unwrap();
        for grammar in [Grammar::of_schema(schema).unwrap(), with_calls] {
            let constraint = constrainer.constraint(grammar).unwrap();
            let follows = |object: &str| {
                let text = if schema.contains("array") { format!("[{object}]") } else { object.to_owned() };
                let mut constraint = constraint.clone();
                text.bytes().all(|byte| constraint.take(u32::from(byte)))
            };
            assert!(follows(r#"{"a": 1, "b": {"a": 2}}"#), "{schema}");
            assert!(!follows(r#"{"a": 1, "a": 2}"#), "{schema}");
        }
    }
}

#[test]
fn a_schema_still_allows_calls() {
    let functions = functions_from_json(WEATHER).unwrap();
    let rules = CallRules { part: BlockPart::Whole, ..rules(DefaultFunctionCallParser, &functions) };
    let grammar = rules.grammar().unwrap().or_schema(r#"{"type": "array", "items": {"type": "null"}}"#).unwrap();
    let constraint = Constrainer::new(Arc::new(ByteVocabulary)).constraint(grammar).unwrap();
    let mut calls = constraint.clone();
    assert!(calls.take(START) && "[ping()]".bytes().all(|byte| calls.take(byte.into())) && calls.take(END));
    assert!(calls.is_over());
    let mut answer = constraint;
    assert!("[null]".bytes().all(|byte| answer.take(byte.into())) && answer.is_over());
}
