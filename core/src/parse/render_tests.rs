//! Calls that are written read back as they were.

use proptest::prelude::*;

use crate::function::{Arguments, SdkFunction, SdkFunctionCall, SdkFunctionParameter, SdkFunctionParameterType, Value};
use crate::notation::FunctionCallParser::{
    self, CodeFunctionCallParser, FunctoolsFunctionCallParser, GemmaFunctionCallParser, JsonStyleFunctionCallParser,
    LlamaFunctionCallParser, MistralFunctionCallParser, PhiFunctionCallParser, XmlFunctionCallParser,
};
use crate::notation::written::Written;
use crate::parse::{Parsed, Piece, ReplyEnd, ReplyParser, render};

fn value() -> impl Strategy<Value = Value> {
    use prop::num::f64::{NEGATIVE, NORMAL, POSITIVE, ZERO};
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Integer),
        (POSITIVE | NEGATIVE | NORMAL | ZERO).prop_map(Value::Number),
        text().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 30, 5, |inner| {
        let entries = prop::collection::vec((text(), inner.clone()), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(Value::Array),
            entries.prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    let syntax = [
        "<",
        ">",
        "\"",
        "'",
        "\\",
        "\n",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "null",
        "42",
        "<escape>",
        "<|\"|>",
        "</tool_call>",
        "</code>",
        "#",
        "<tool_call>",
        "</parameter>",
        "\n<parameter=a>\n",
        "</function>",
        "[ARGS]",
        "[TOOL_CALLS]",
        "; ",
        " ",
    ];
    prop_oneof![
        any::<String>(),
        prop::collection::vec(prop::sample::select(syntax.to_vec()), 0..6).prop_map(|parts| parts.concat()),
    ]
}

fn calls() -> impl Strategy<Value = Vec<SdkFunctionCall>> {
    let arguments = prop::collection::vec(("[a-zA-Z_][a-zA-Z0-9_]{0,6}", value()), 0..4);
    let call = arguments.prop_map(|arguments| SdkFunctionCall {
        arguments: Arguments::from_iter(arguments),
        ..SdkFunctionCall::default()
    });
    prop::collection::vec(call, 1..4).prop_map(|mut calls| {
        calls.iter_mut().zip(0..).for_each(|(call, i): (_, i32)| call.name = format!("f{i}"));
        calls
    })
}

/// A function that declares the arguments of a call with the types that they have.
fn function(call: &SdkFunctionCall) -> SdkFunction {
    let parameters = call.arguments.iter().map(|(name, value)| {
        let name_of_type = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Integer(_) | Value::BigInteger(_) => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let schema = Value::Object(Arguments::from([("type".to_owned(), name_of_type.into())]));
        let parameter = SdkFunctionParameter::new(name.clone(), SdkFunctionParameterType::string(), "");
        SdkFunctionParameter { schema: Some(schema), ..parameter }
    });
    SdkFunction::new(call.name.clone(), "", parameters.collect())
}

/// Name and arguments of calls, as strings, which distinguish 1 from 1.0, and the number of repairs.
fn plain(calls: &[SdkFunctionCall], sorts: bool) -> Vec<(String, String, usize)> {
    let arguments = |call: &SdkFunctionCall| Value::Object(call.arguments.clone());
    let written = |call: &SdkFunctionCall| if sorts { sorted(arguments(call)) } else { arguments(call) }.to_string();
    calls.iter().map(|call| (call.name.clone(), written(call), call.repairs.len())).collect()
}

/// A value with sorted keys.
fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(entries.into_iter().collect())
        }
        other => other,
    }
}

/// The calls that a parser finds in what was written.
fn read(parser: FunctionCallParser, written: &[Written], functions: &[SdkFunction]) -> Vec<SdkFunctionCall> {
    let mut found = Vec::new();
    let mut reply = ReplyParser::new(Some(parser)).offering(functions);
    let mut emit = |parsed| {
        if let Parsed::Calls(calls) = parsed {
            found.extend(calls);
        }
    };
    for part in written {
        match part {
            Written::Text(text) => reply.push(Piece::Text(text), &mut emit),
            Written::Marker(tag) if parser.notation().is_in_text => reply.push(Piece::Text(tag), &mut emit),
            Written::Marker(spelling) => reply.push(Piece::Control(spelling), &mut emit),
        }
    }
    reply.finish(ReplyEnd::Ended, &mut emit);
    found
}

proptest! {
    // A failure here becomes a fixture, not a stored seed.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_calls_read_back(calls in calls()) {
        let functions: Vec<SdkFunction> = calls.iter().map(function).collect();
        let vocabularies: [(FunctionCallParser, &[&str]); 10] = [
            (JsonStyleFunctionCallParser, &[]),
            (XmlFunctionCallParser, &[]),
            (GemmaFunctionCallParser, &["<start_function_call>"]),
            (GemmaFunctionCallParser, &["<|tool_call>"]),
            (MistralFunctionCallParser, &["[TOOL_CALLS]", "[ARGS]"]),
            (MistralFunctionCallParser, &["[TOOL_CALLS]"]),
            (LlamaFunctionCallParser, &[]),
            (PhiFunctionCallParser, &[]),
            (CodeFunctionCallParser, &[]),
            (FunctoolsFunctionCallParser, &[]),
        ];
        for (parser, control) in vocabularies {
            let Some(written) = render(parser.notation(), &calls, |spelling| control.contains(&spelling)) else {
                prop_assert_eq!(parser, XmlFunctionCallParser, "only XML has strings that cannot be written");
                continue;
            };
            let sorts = parser == GemmaFunctionCallParser;
            let found = read(parser, &written, &functions);
            prop_assert_eq!(plain(&found, sorts), plain(&calls, sorts), "{:?}: {:?}", parser, written);
        }
    }
}

#[test]
fn a_string_that_would_end_its_value_is_refused() {
    let call = |text: &str| SdkFunctionCall {
        name: "f".to_owned(),
        arguments: Arguments::from([("a".to_owned(), Value::from(text))]),
        ..SdkFunctionCall::default()
    };
    let is_written = |text: &str| render(XmlFunctionCallParser.notation(), &[call(text)], |_| false).is_some();
    assert!(is_written("a </parameter> b") && is_written("a <parameter=a> in a line"));
    assert!(!is_written("a\n</parameter>\n<parameter=b>\nc"));
    assert!(!is_written("a\n</parameter>\n</function>"));
    assert!(!is_written("</parameter><</tool_call>") && !is_written("</parameter>\n</func</tool_call>"));
    assert!(!is_written("a\n<parameter=b>\nc") && !is_written("<parameter=b> at the start"));
}
