//! Properties that hold for every reply, not only for those in the fixtures.

use causerie::{
    Arguments, FunctionCallParser, Parsed, ReplyEnd, ReplyParser, SdkFunction, SdkFunctionCall, Value, render_calls,
    render_json_calls,
};
use proptest::prelude::*;

use crate::calls::fixture::{Piece, joined, run};

const PYTHON: FunctionCallParser = FunctionCallParser::DefaultFunctionCallParser;
const JSON: FunctionCallParser = FunctionCallParser::JsonStyleFunctionCallParser;
const XML: FunctionCallParser = FunctionCallParser::XmlFunctionCallParser;
const START: &str = "<|tool_call_start|>";
const END: &str = "<|tool_call_end|>";

/// Snippets that replies consist of, complete and broken ones.
const SNIPPETS: [&str; 60] = [
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ",",
    ":",
    "=",
    "'",
    "\"",
    "'''",
    "\\",
    " ",
    "\n",
    "f(",
    "f()",
    "a=",
    "b='x'",
    "a=\"it's\"",
    "1",
    "-0.5",
    "07",
    "1e999",
    "True",
    "null",
    "**{",
    "[f(a=1)]",
    "[f(a='x'), g()]",
    "[f(a='it's')]",
    "f'{x}'",
    "é🙂",
    "```",
    "<",
    "<thi",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "</tool_",
    "<|tool_call_start|>",
    "{\"name\": \"f\"",
    ", \"arguments\": {\"a\": 1}}",
    "{\"name\": \"g\", \"arguments\": {}}",
    "{'name': 'g'}",
    "\"id\": \"call_0\"",
    "[f(a=[1",
    " done",
    "<function=f>",
    "<function=g>\n",
    "</function>",
    "<parameter=a>",
    "\n<parameter=b>\n",
    "</parameter>",
    "\n</parameter>\n",
    "call:f{",
    "a:",
    "call:g{a:1}",
    "f{\"a\": 1}",
    "thought\n",
];
const CONTROLS: [&str; 22] = [
    START,
    END,
    START,
    END,
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "<|im_end|>",
    "<start_function_call>",
    "<end_function_call>",
    "<start_function_response>",
    "<escape>",
    "<|tool_call>",
    "<tool_call|>",
    "<|\"|>",
    "<|channel>",
    "<channel|>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "<|python_tag|>",
    "<|tool_call|>",
    "<|/tool_call|>",
];

/// The functions that replies may call.
fn offered() -> Vec<SdkFunction> {
    let functions = r#"[{"name": "f", "parameters": {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}},
        {"name": "g", "parameters": {"properties": {"a": {"type": "array"}}}}]"#;
    causerie::functions_from_json(functions).unwrap()
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        6 => prop::sample::select(&SNIPPETS[..]).prop_map(|text| Piece::Text(text.to_owned())),
        2 => prop::sample::select(&CONTROLS[..]).prop_map(|spelling| Piece::Control(spelling.to_owned())),
        1 => any::<String>().prop_map(Piece::Text),
    ]
}

fn reply() -> impl Strategy<Value = Vec<Piece>> {
    prop::collection::vec(piece(), 0..40)
}

fn parser() -> impl Strategy<Value = Option<FunctionCallParser>> {
    // XML twice: it has the most states.
    let parsers = FunctionCallParser::ALL.iter().copied().chain([XML]);
    prop::sample::select([None].into_iter().chain(parsers.map(Some)).collect::<Vec<_>>())
}

fn end() -> impl Strategy<Value = ReplyEnd> {
    prop::sample::select(vec![ReplyEnd::Ended, ReplyEnd::Interrupted])
}

fn value() -> impl Strategy<Value = Value> {
    use prop::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Integer),
        "-?[1-9][0-9]{18,40}".prop_map(|digits| causerie::read_json(&digits).unwrap()),
        (POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO).prop_map(Value::Number),
        text().prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((text(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Text of all kinds, including text that looks like syntax.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        prop::collection::vec(prop::sample::select(&SNIPPETS[..]), 0..5).prop_map(|snippets| snippets.concat()),
        "[\\x00-\\x7f]{0,8}",
    ]
}

fn calls() -> impl Strategy<Value = Vec<SdkFunctionCall>> {
    let arguments = prop::collection::vec(("[a-zA-Z_é][a-zA-Z0-9_é]{0,6}", value()), 0..4);
    let call = ("[a-z_][a-z0-9_]{0,6}(\\.[a-z]{1,3}){0,2}", arguments).prop_map(|(name, arguments)| SdkFunctionCall {
        name,
        arguments: Arguments::from_iter(arguments),
        ..SdkFunctionCall::default()
    });
    prop::collection::vec(call, 1..5)
}

/// Calls without what parsing adds, as text that distinguishes 1 from 1.0 and 0.0 from -0.0.
fn plain(calls: &[SdkFunctionCall]) -> Vec<(String, String, usize)> {
    let plain = |call: &SdkFunctionCall| {
        (call.name.clone(), Value::Object(call.arguments.clone()).to_string(), call.repairs.len())
    };
    calls.iter().map(plain).collect()
}

fn delivered(events: Vec<Parsed>) -> Vec<SdkFunctionCall> {
    let calls = |event| {
        if let Parsed::Calls(calls) = event { calls } else { Vec::new() }
    };
    events.into_iter().flat_map(calls).collect()
}

proptest! {
    // An input that fails here becomes a fixture, not a seed.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cuts_change_nothing(
        parser in parser(),
        end in end(),
        reply in reply(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let functions = offered();
        let fresh = || ReplyParser::new(parser).offering(&functions);
        let mut pieces = Piece::joined(&reply);
        let whole = joined(run(fresh(), &pieces, end));
        for cut in cuts {
            let Some(at) = (!pieces.is_empty()).then(|| cut.index(pieces.len())) else { break };
            let places = pieces[at].cuts(usize::MAX);
            if !places.is_empty() {
                let (left, right) = pieces[at].cut(places[cut.index(places.len())]);
                pieces.splice(at..=at, [left, right]);
            }
        }
        prop_assert_eq!(&joined(run(fresh(), &pieces, end)), &whole);
        let characters: Vec<_> = reply.iter().flat_map(Piece::characters).collect();
        prop_assert_eq!(joined(run(fresh(), &characters, end)), whole);
    }

    #[test]
    fn a_call_waits_for_the_end_of_its_block(parser in prop::sample::select(vec![PYTHON, JSON]), reply in reply()) {
        let mut n_ends = 0;
        let mut reply_parser = ReplyParser::new(Some(parser));
        let mut written = String::new();
        for piece in reply {
            let mut n_calls = 0;
            let mut emit = |event| n_calls += usize::from(matches!(event, Parsed::Calls(_)));
            match &piece {
                Piece::Text(text) => {
                    written.push_str(text);
                    reply_parser.push(causerie::Piece::Text(text), &mut emit);
                }
                Piece::Control(spelling) => {
                    n_ends += usize::from(spelling == END || spelling == "</tool_call>");
                    reply_parser.push(causerie::Piece::Control(spelling), &mut emit);
                }
            }
            let n_spelled = written.matches("</tool_call>").count();
            prop_assert!(n_calls <= n_ends + n_spelled);
            n_ends -= n_calls.min(n_ends);
        }
    }

    /// Checks text without `<` and quotes, where a `<` in the output could only come from a marker. A marker that belongs to
    /// no call is text, and shown whole.
    #[test]
    fn no_part_of_a_marker_is_shown(parser in prop::sample::select(vec![PYTHON, JSON]), reply in reply()) {
        let markers = ["<tool_call>", "</tool_call>"];
        let is_fit = |piece: &Piece| match piece {
            Piece::Text(text) if parser == JSON && markers.contains(&text.as_str()) => true,
            Piece::Text(text) => !text.contains(['<', '\'', '"']),
            Piece::Control(spelling) => spelling != "<think>",
        };
        let mut reply_parser = ReplyParser::new(Some(parser));
        for piece in reply.iter().filter(|piece| is_fit(piece)).flat_map(Piece::characters) {
            let mut shown = Vec::new();
            let mut emit = |event| if let Parsed::Text(text) = event { shown.push(text) };
            match &piece {
                Piece::Text(text) => reply_parser.push(causerie::Piece::Text(text), &mut emit),
                Piece::Control(spelling) => reply_parser.push(causerie::Piece::Control(spelling), &mut emit),
            }
            let unmarked = markers.iter().fold(shown.concat(), |text, marker| text.replace(marker, ""));
            prop_assert!(!unmarked.contains('<'), "{shown:?}");
        }
    }

    #[test]
    fn rendered_python_calls_read_back(calls in calls()) {
        let pieces = [Piece::Control(START.into()), Piece::Text(render_calls(&calls)), Piece::Control(END.into())];
        let found = delivered(run(ReplyParser::new(Some(PYTHON)), &pieces, ReplyEnd::Ended));
        prop_assert_eq!(plain(&found), plain(&calls));
    }

    #[test]
    fn rendered_json_calls_read_back(calls in calls()) {
        let pieces = [Piece::Text(render_json_calls(&calls))];
        let found = delivered(run(ReplyParser::new(Some(JSON)), &pieces, ReplyEnd::Ended));
        prop_assert_eq!(plain(&found), plain(&calls));
    }

    #[test]
    fn printed_json_reads_back(value in value()) {
        let text = value.to_string();
        prop_assert_eq!(causerie::read_json(&text).map(|value| value.to_string()), Some(text));
    }

    /// serde_json merges duplicate keys and rejects half a surrogate pair; otherwise both readers agree.
    #[test]
    fn what_is_json_is_agreed_upon(value in value(), at in any::<prop::sample::Index>(), change in text()) {
        let mut text = value.to_string();
        let cuts: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
        text.insert_str(cuts[at.index(cuts.len())], &change);
        let (ours, theirs) = (causerie::read_json(&text), serde_json::from_str::<serde_json::Value>(&text));
        if !text.contains("\\u") {
            prop_assert!(ours.is_none() || theirs.is_ok(), "{text}");
            prop_assert!(ours.is_some() || theirs.is_err() || text.contains(':'), "{text}");
        }
    }
}
