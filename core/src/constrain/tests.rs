//! What grammars accept, and that the parser and validation agree.

use std::sync::{Arc, LazyLock};

use super::*;
use crate::function::{SdkFunction, SdkFunctionCall};
use crate::options::FunctionCallParser::{self, DefaultFunctionCallParser, JsonStyleFunctionCallParser};
use crate::parse::{Parsed, Piece, ReplyEnd, ReplyParser};
use crate::schema::functions_from_json;
use crate::validate::validate_among;

/// Every byte is a token; behind them the control tokens around calls, and the end.
struct Bytes;

const ALL: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut at = 0;
    while at < 256 {
        bytes[at] = at as u8;
        at += 1;
    }
    bytes
};
const START: u32 = 256;
const END: u32 = 257;

impl Vocabulary for Bytes {
    fn words(&self) -> Vec<Word<'_>> {
        let bytes = ALL.chunks(1).map(Word::Text);
        let control = ["<|tool_call_start|>", "<|tool_call_end|>", "<|im_end|>"];
        bytes.chain(control.into_iter().map(Word::Control)).collect()
    }

    fn ends(&self) -> &[u32] {
        &[258]
    }

    fn encode(&self, text: &str) -> Option<Vec<u32>> {
        Some(text.bytes().map(u32::from).collect())
    }
}

fn edges(notation: FunctionCallParser) -> &'static BlockEdges {
    static EDGES: LazyLock<[BlockEdges; 2]> = LazyLock::new(|| {
        let (start, end) = JsonStyleFunctionCallParser.markers();
        let control = BlockEdges { start: Edge::Control(vec![START]), end: Edge::Control(vec![END]) };
        [control, BlockEdges { start: Edge::Text(start), end: Edge::Text(end) }]
    });
    &EDGES[usize::from(notation == JsonStyleFunctionCallParser)]
}

fn rules(notation: FunctionCallParser, functions: &[SdkFunction]) -> CallRules<'_> {
    CallRules { notation, functions, is_single: false, edges: edges(notation), with_start: false }
}

/// Whether a block's body is accepted as a whole.
fn accepts(constraint: &Constraint, notation: FunctionCallParser, body: &str) -> bool {
    let mut constraint = constraint.clone();
    let end: Vec<u32> = match &edges(notation).end {
        Edge::Control(ids) => ids.clone(),
        Edge::Text(text) => text.bytes().map(u32::from).collect(),
    };
    let ids = body.bytes().map(u32::from).chain(end);
    ids.into_iter().all(|id| constraint.take(id)) && constraint.is_over()
}

/// The calls that the parser finds, if there is nothing to remark about them.
fn clean_calls(notation: FunctionCallParser, functions: &[SdkFunction], body: &str) -> Option<Vec<SdkFunctionCall>> {
    let (start, end) = notation.markers();
    let (mut calls, mut is_clean) = (Vec::new(), true);
    let mut emit = |parsed| match parsed {
        Parsed::Calls(found) => calls.extend(found),
        _ => is_clean = false,
    };
    let mut parser = ReplyParser::new(Some(notation));
    parser.push(Piece::Control(start), &mut emit);
    parser.push(Piece::Text(body), &mut emit);
    parser.push(Piece::Control(end), &mut emit);
    parser.finish(ReplyEnd::Ended, &mut emit);
    let is_fine =
        |call: &SdkFunctionCall| call.repairs.is_empty() && validate_among(call, functions).diagnostics.is_empty();
    (is_clean && !calls.is_empty() && calls.iter().all(is_fine)).then_some(calls)
}

/// Checks bodies of blocks: the accepted ones are also read, and neither mended nor remarked upon.
#[track_caller]
fn check(notation: FunctionCallParser, functions: &str, accepted: &[&str], refused: &[&str]) {
    let functions = functions_from_json(functions).unwrap();
    let grammar = rules(notation, &functions).grammar().unwrap();
    let constraint = Constrainer::new(Arc::new(Bytes)).constraint(grammar.clone());
    let constraint = constraint.unwrap_or_else(|fault| panic!("{fault:?} in\n{}", grammar.text));
    for body in accepted {
        assert!(accepts(&constraint, notation, body), "{body} is refused");
        assert!(clean_calls(notation, &functions, body).is_some(), "{body} is not read as it stands");
    }
    for body in refused {
        assert!(!accepts(&constraint, notation, body), "{body} is accepted");
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
fn lists_and_maps_nest() {
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
fn numbers_and_texts_are_such_as_need_no_repair() {
    let functions = r#"[{"name": "f", "parameters": {"properties": {"n": {"type": "number"}, "i": {"type": "integer"},
        "s": {"type": "string"}}}}]"#;
    check(
        DefaultFunctionCallParser,
        functions,
        &[
            "[f(n=-0, i=999999999999999999)]",
            "[f(n=999999999999999999e99)]",
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
            "[f(i=9999999999999999999)]",
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
fn more_members_than_can_be_counted_come_in_order() {
    let names: Vec<String> = (0..70).map(|i| format!("p{i}")).collect();
    let properties: Vec<String> = names.iter().map(|name| format!(r#""{name}": {{"type": "integer"}}"#)).collect();
    let functions = format!(
        r#"[{{"name": "f", "parameters": {{"properties": {{{}}}, "required": ["p3"]}}}}]"#,
        properties.join(", ")
    );
    let accepted = ["[f(p3=1)]", "[f(p0=1, p3=1, p69=2)]"];
    check(DefaultFunctionCallParser, &functions, &accepted, &["[f()]", "[f(p69=1, p3=1)]", "[f(p3=1, p3=1)]"]);
}

#[test]
fn a_name_that_python_cannot_spell_is_left_out_or_refused() {
    let functions = r#"[{"name": "f", "parameters": {"properties": {"a-b": {"type": "integer"}}}}]"#;
    check(DefaultFunctionCallParser, functions, &["[f()]"], &["[f(a-b=1)]"]);
    check(JsonStyleFunctionCallParser, functions, &[r#"{"name": "f", "arguments": {"a-b": 1}}"#], &[]);
    let required = functions.replace("\"properties\"", "\"required\": [\"a-b\"], \"properties\"");
    let functions = functions_from_json(&required).unwrap();
    let fault = rules(DefaultFunctionCallParser, &functions).grammar().unwrap_err();
    assert_eq!(fault.message(), r#"parameter "a-b" of f cannot be spelled in a Python call"#);
}

#[test]
fn one_call_can_be_all() {
    let functions = functions_from_json(WEATHER).unwrap();
    let grammar = CallRules { is_single: true, ..rules(DefaultFunctionCallParser, &functions) }.grammar().unwrap();
    let constraint = Constrainer::new(Arc::new(Bytes)).constraint(grammar).unwrap();
    assert!(accepts(&constraint, DefaultFunctionCallParser, "[ping()]"));
    assert!(!accepts(&constraint, DefaultFunctionCallParser, "[ping(), ping()]"));
}

#[test]
fn a_block_holds_as_many_calls_as_the_parser_reads() {
    let calls = |n: usize| format!("[{}]", vec!["ping()"; n].join(", "));
    check(DefaultFunctionCallParser, WEATHER, &[&calls(128)], &[&calls(129)]);
}

#[test]
fn what_follows_from_the_grammar_is_forced() {
    let functions = functions_from_json(WEATHER).unwrap();
    let grammar =
        CallRules { with_start: true, ..rules(DefaultFunctionCallParser, &functions[..1]) }.grammar().unwrap();
    let mut constraint = Constrainer::new(Arc::new(Bytes)).constraint(grammar).unwrap();
    let mut forced = constraint.forced();
    assert_eq!(forced.remove(0), START);
    let text: Vec<u8> = forced.iter().map(|id| u8::try_from(*id).unwrap()).collect();
    assert_eq!(text, b"[get_weather(");
}

#[test]
fn a_reply_can_be_held_to_a_schema() {
    let schema = r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}"#;
    let constrainer = Constrainer::new(Arc::new(Bytes));
    let constraint = constrainer.constraint(Grammar::of_schema(schema).unwrap()).unwrap();
    let follows = |text: &str| {
        let mut constraint = constraint.clone();
        text.bytes().all(|byte| constraint.take(u32::from(byte))) && constraint.is_over()
    };
    assert!(follows(r#"{"a": 1}"#) && follows("{\n  \"a\":1\n}"));
    assert!(!follows(r#"{"a": "1"}"#) && !follows("{}") && !follows(&format!("{{{}\"a\": 1}}", " ".repeat(99))));
    for (schema, expect) in [
        ("{", "the schema is no valid JSON: EOF while parsing an object at line 1 column 1"),
        ("3", "the schema is no object"),
        (r#"{"type": "array", "uniqueItems": true}"#, "Unimplemented keys: [\"uniqueItems\"]"),
    ] {
        let fault = Grammar::of_schema(schema).and_then(|grammar| constrainer.constraint(grammar)).err().unwrap();
        assert!(fault.message().contains(expect), "{fault:?}");
    }
}

#[test]
fn a_schema_leaves_calls_possible() {
    let functions = functions_from_json(WEATHER).unwrap();
    let rules = CallRules { with_start: true, ..rules(DefaultFunctionCallParser, &functions) };
    let grammar = rules.grammar().unwrap().or_schema(r#"{"type": "array", "items": {"type": "null"}}"#).unwrap();
    let constraint = Constrainer::new(Arc::new(Bytes)).constraint(grammar).unwrap();
    let mut calls = constraint.clone();
    assert!(calls.take(START) && "[ping()]".bytes().all(|byte| calls.take(byte.into())) && calls.take(END));
    assert!(calls.is_over());
    let mut answer = constraint;
    assert!("[null]".bytes().all(|byte| answer.take(byte.into())) && answer.is_over());
}
