//! Grammars of calls that are written without markers.

use super::*;
use crate::parse::OpenBlock;

/// Calls without markers, from the name of the first on, in the words of the parser: the text that it hands over.
#[test]
fn calls_without_markers_are_constrained_from_their_first_name_on() {
    let functions = functions_from_json(WEATHER).unwrap();
    let start = |text: &str| {
        let part = BlockPart::FromName;
        let grammar = CallRules { part, ..rules(JsonStyleFunctionCallParser, &functions) }.grammar().unwrap();
        let mut constraint = Constrainer::new(Arc::new(ByteVocabulary)).constraint(grammar).unwrap();
        let mut parser = ReplyParser::new(Some(JsonStyleFunctionCallParser)).offering(&functions);
        let name = text.find("name\": \"").unwrap() + "name\": \"".len();
        let named = name + text[name..].find('"').unwrap() + 1;
        parser.push(Piece::Text(&text[..named]), &mut |_| ());
        let Some(OpenBlock::Untagged(open)) = parser.open_block() else { panic!("{text} opens no block") };
        constraint.take_text(&open) && constraint.take_text(&text[named..]) && constraint.is_over()
    };
    let accepted = [
        r#"{"name": "get_weather", "arguments": {"city": "Oslo"}}"#,
        "{\n  \"name\": \"get_weather\",\n  \"arguments\": {\n    \"city\": \"Oslo\",\n    \"days\": 3\n  }\n}",
        r#"[{"name": "ping", "arguments": {}}, {"name": "get_weather", "arguments": {"city": "a"}}]"#,
        "[\n  {\n    \"name\": \"ping\",\n    \"arguments\": {}\n  }\n]",
    ];
    let refused = [
        r#"{"name": "get_weather", "arguments": {}}"#,
        r#"{"name": "get_weather", "arguments": {"city": 3}}"#,
        r#"{"name": "get_weather", "arguments": {"city": "a", "month": 3}}"#,
        r#"[{"name": "ping", "arguments": {}}, {"name": "pong", "arguments": {}}]"#,
        r#"[{"name": "ping", "arguments": {}}}"#,
    ];
    for text in accepted {
        assert!(start(text), "{text} is refused");
        let mut parser = ReplyParser::new(Some(JsonStyleFunctionCallParser)).offering(&functions);
        let mut calls = Vec::new();
        let mut emit = |parsed| {
            if let Parsed::Calls(found) = parsed {
                calls.extend(found)
            }
        };
        parser.push(Piece::Text(text), &mut emit);
        parser.finish(ReplyEnd::Ended, &mut emit);
        assert!(!calls.is_empty(), "{text} is not read");
        assert!(calls.iter().all(|call| validate_among(call, &functions).diagnostics.is_empty()), "{text}");
    }
    for text in refused {
        assert!(!start(text), "{text} is accepted");
    }
}

/// The same for a list in Python, which models with Llama's notation also write.
#[test]
fn a_list_in_python_without_markers_is_constrained_from_its_first_name_on() {
    let functions = functions_from_json(WEATHER).unwrap();
    for notation in [LlamaFunctionCallParser, DefaultFunctionCallParser] {
        for text in ["[get_weather(city=\"Oslo\", days=3)]", "[ ping(), get_weather(city='a')]", "[ping(),\n  ping()]"]
        {
            assert!(accepts_list(notation, &functions, text), "{text} is refused");
        }
        for text in ["[get_weather()]", "[get_weather(city=3)]", "[ping(), pong()]"] {
            assert!(!accepts_list(notation, &functions, text), "{text} is accepted");
        }
    }
}

#[test]
fn a_list_without_markers_has_names_or_identifiers() {
    let functions = functions_from_json(r#"[{"name": "get-weather"}, {"name": "21st"}]"#).unwrap();
    for text in ["[get_weather(), _21st()]", "[get-weather(), 21st()]", "[21st()]"] {
        assert!(accepts_list(LlamaFunctionCallParser, &functions, text), "{text} is refused");
    }
    assert!(!accepts_list(LlamaFunctionCallParser, &functions, "[get-weather(), get()]"));
}

/// Whether the grammar for a list in Python accepts a text from the first name on, in the words of the parser.
fn accepts_list(notation: FunctionCallParser, functions: &[SdkFunction], text: &str) -> bool {
    let part = BlockPart::FromName;
    let grammar = CallRules { part, ..rules(DefaultFunctionCallParser, functions) }.grammar().unwrap();
    let mut constraint = Constrainer::new(Arc::new(ByteVocabulary)).constraint(grammar).unwrap();
    let mut parser = ReplyParser::new(Some(notation)).offering(functions);
    let named = text.find('(').unwrap() + 1;
    parser.push(Piece::Text(&text[..named]), &mut |_| ());
    let Some(OpenBlock::PythonList(open)) = parser.open_block() else { panic!("{text} opens no list") };
    constraint.take_text(&open) && constraint.take_text(&text[named..])
}
