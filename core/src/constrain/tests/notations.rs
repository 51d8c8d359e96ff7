//! Tests of the notations that are neither Python nor JSON in tags.

use super::*;
use crate::notation::FunctionCallParser::{
    CodeFunctionCallParser, FunctoolsFunctionCallParser, GemmaFunctionCallParser, LlamaFunctionCallParser,
    MistralFunctionCallParser, PhiFunctionCallParser, XmlFunctionCallParser,
};

const TASK: &str = r#"[{"name": "add", "parameters": {"type": "object", "properties": {
    "title": {"type": "string"}, "unit": {"type": "string", "enum": ["day", "it's \"K\""]}, "days": {"type": "integer"},
    "done": {"type": "boolean"}, "tags": {"type": "array", "items": {"type": "string"}},
    "at": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
    "note": {"type": ["string", "null"]}, "code": {"type": "string", "minLength": 2, "maxLength": 3},
    "level": {"enum": [1, "high", null]}}, "required": ["title"]}}, {"name": "ping"}]"#;

/// A parameter of a call in XML.
fn tagged(name: &str, value: &str) -> String {
    format!("<parameter={name}>\n{value}\n</parameter>\n")
}

/// The body of a block in XML.
fn xml(name: &str, parameters: &[(&str, &str)]) -> String {
    let parameters: String = parameters.iter().map(|(name, value)| tagged(name, value)).collect();
    format!("\n<function={name}>\n{parameters}</function>\n")
}

#[test]
fn xml_has_raw_strings_and_json() {
    let accepted = [
        xml("add", &[("title", "Oslo")]),
        xml("add", &[("days", "-3"), ("title", ""), ("done", "true")]),
        xml("add", &[("title", "it's <b> \"so\" \\ </function>\n</tool_call> & <parameter=x>\n{")]),
        xml("add", &[("title", "42"), ("unit", "it's \"K\""), ("tags", r#"["a", "it's"]"#), ("at", r#"{"x": 1.5}"#)]),
        xml("add", &[("note", "None"), ("title", "null")]),
        xml("add", &[("title", "a"), ("code", "abc"), ("level", "\"high\"")]),
        xml("add", &[("title", "a"), ("level", "null")]),
        xml("ping", &[]),
    ];
    let refused = [
        xml("add", &[]),
        xml("add", &[("title", "a"), ("title", "b")]),
        xml("add", &[("title", "a"), ("days", "three")]),
        xml("add", &[("title", "a"), ("unit", "week")]),
        xml("add", &[("title", "a"), ("tags", "a")]),
        xml("add", &[("title", "a"), ("at", "{}")]),
        xml("add", &[("title", "a"), ("z", "7")]),
        xml("add", &[("title", "a"), ("code", "abcd")]),
        xml("add", &[("title", "a </parameter> b")]),
        xml("add", &[("title", "a"), ("tags", r#"["</parameter></function>"]"#)]),
        xml("add", &[("title", "a\n<parameter=days>\n3")]),
        xml("add", &[("title", "<parameter=days>\n3")]),
        xml("pong", &[]),
        "{\"name\": \"ping\", \"arguments\": {}}".to_owned(),
    ];
    let [accepted, refused] =
        [&accepted[..], &refused[..]].map(|bodies| bodies.iter().map(String::as_str).collect::<Vec<_>>());
    check(XmlFunctionCallParser, TASK, &accepted, &refused);
}

#[test]
fn gemma_has_strings_between_control_tokens() {
    check(
        GemmaFunctionCallParser,
        TASK,
        &[
            "call:add{title:<escape>Oslo<escape>}",
            "call:add{days:-3,title:<escape><escape>,done:true}",
            "call:add{title:<escape>a, b}: {\"c\" 'd' \\n\n<escape>,unit:<escape>it's \"K\"<escape>}",
            "call:add{title:<escape>a<escape>,tags:[<escape>p<escape>,<escape>q<escape>],at:{x:1.5}}",
            "call:add{title:<escape>a<escape>,note:null,level:<escape>high<escape>}",
            "call:add{title:<escape>a<escape>,level:1,code:<escape>ab<escape>}",
            "call:ping{}",
        ],
        &[
            "call:add{}",
            "call:add{title:Oslo}",
            "call:add{title:\"Oslo\"}",
            "call:add{title:<escape>a<escape>,title:<escape>b<escape>}",
            "call:add{title:<escape>a<escape>,days:<escape>3<escape>}",
            "call:add{title:<escape>a<escape>,unit:<escape>week<escape>}",
            "call:add{title:<escape>a<escape>,code:<escape>abcd<escape>}",
            "call:add{title:<escape>a<escape>,at:{}}",
            "call:add{title:<escape>a<escape>,level:2}",
            "call:pong{}",
            "ping{}",
        ],
    );
}

#[test]
fn mistral_has_a_token_before_arguments() {
    check(
        MistralFunctionCallParser,
        TASK,
        &[r#"add[ARGS]{"title": "Oslo"}"#, r#"add[CALL_ID]D681PevKs[ARGS]{"days": 3, "title": "a"}"#, "ping[ARGS]{}"],
        &[r#"add{"title": "Oslo"}"#, "add[ARGS]{}", "pong[ARGS]{}", "add[CALL_ID]x[ARGS]{}", r#"[{"name": "ping"}]"#],
    );
}

#[test]
fn mistral_without_this_token_has_a_list() {
    let functions = functions_from_json(TASK).unwrap();
    let edges = BlockEdges { inner: Vec::new(), ..edges(MistralFunctionCallParser.notation()) };
    let rules = CallRules { edges: &edges, ..rules(MistralFunctionCallParser, &functions) };
    let constraint = Constrainer::new(Arc::new(ByteVocabulary)).constraint(rules.grammar().unwrap()).unwrap();
    let follows = |body: &str| {
        let mut constraint = constraint.clone();
        body.bytes().all(|byte| constraint.take(byte.into())) && constraint.is_over()
    };
    let body = r#" [{"name": "add", "arguments": {"title": "a"}}, {"name": "ping", "arguments": {}}]"#;
    assert!(follows(body) && clean_calls(MistralFunctionCallParser, &functions, body).is_some());
    assert!(!follows("ping[ARGS]{}") && !follows(r#"[{"name": "pong", "arguments": {}}]"#));
}

#[test]
fn llama_has_parameters_and_phi_has_lists() {
    let call = r#"{"name": "add", "parameters": {"title": "Oslo"}}"#;
    check(
        LlamaFunctionCallParser,
        TASK,
        &[call, &format!("{call}; {call}"), r#"{"name": "ping", "parameters": {}}"#],
        &[r#"{"name": "ping", "arguments": {}}"#, r#"{"name": "add", "parameters": {}}"#, "ping()"],
    );
    check(
        FunctoolsFunctionCallParser,
        TASK,
        &[
            r#"[{"name": "add", "arguments": {"title": "Oslo"}}]"#,
            r#"[{"name": "ping", "arguments": {}}, {"name": "ping", "arguments": {}}]"#,
        ],
        &[r#"{"name": "ping", "arguments": {}}"#, "[]", r#"[{"name": "add", "arguments": {}}]"#],
    );
    check(
        PhiFunctionCallParser,
        TASK,
        &[
            r#"[{"name": "add", "arguments": {"title": "Oslo"}}]"#,
            r#"[{"name": "ping", "arguments": {}}, {"name": "ping", "arguments": {}}]"#,
        ],
        &[r#"{"name": "ping", "arguments": {}}"#, "[]", r#"[{"name": "add", "arguments": {}}]"#],
    );
}

#[test]
fn llama_also_writes_a_list_in_python() {
    check(
        LlamaFunctionCallParser,
        TASK,
        &["[ping()]", r#"[add(title="Oslo"), ping()]"#, "[add(title='a')]"],
        &[
            "[]",
            "ping()",
            "[add()]",
            "[add(title=3)]",
            "[pong()]",
            "[ping(), ",
            r#"[{"name": "ping", "parameters": {}}]"#,
        ],
    );
    const NAMES: &str = r#"[{"name": "a", "parameters": {"properties": {"b c": {"type": "integer"}}, "required": ["b c"]}},
        {"name": "d-e"}]"#;
    let object = r#"{"name": "a", "parameters": {"b c": 1}}"#;
    check(LlamaFunctionCallParser, NAMES, &[object, "[d-e()]"], &["[a()]", "[a(b=1)]"]);
}

#[test]
fn code_has_a_call_in_each_line() {
    check(
        CodeFunctionCallParser,
        TASK,
        &["ping()", "\nping()\n", "\nadd(title=\"</code>\")\nping()\n"],
        &[
            "",
            "ping() ping()",
            "ping(), ping()",
            "[ping()]",
            "add()",
            "x = ping()",
            "print(ping())",
            "ping()\n\n\nping()",
        ],
    );
}

/// Chooses among all allowed tokens, as a model that knows nothing would.
#[test]
fn whatever_a_grammar_allows_is_read() {
    let functions = functions_from_json(TASK).unwrap();
    for notation in [
        XmlFunctionCallParser,
        GemmaFunctionCallParser,
        MistralFunctionCallParser,
        LlamaFunctionCallParser,
        PhiFunctionCallParser,
        CodeFunctionCallParser,
        FunctoolsFunctionCallParser,
    ] {
        let grammar = rules(notation, &functions).grammar().unwrap();
        let constraint = Constrainer::new(Arc::new(ByteVocabulary)).constraint(grammar).unwrap();
        let mut seed = 1_u64;
        let mut n_complete = 0;
        for _ in 0..200 {
            let Some(body) = random_body(&constraint, &mut seed) else { continue };
            n_complete += 1;
            assert!(clean_calls(notation, &functions, &body).is_some(), "{notation:?}: {body:?}");
        }
        assert!(20 < n_complete, "{notation:?}: {n_complete} complete blocks");
    }
}

/// A block of random tokens; `None` if it became too long, or if its bytes are not text.
fn random_body(constraint: &Constraint, seed: &mut u64) -> Option<String> {
    let mut constraint = constraint.clone();
    let mut body = Vec::new();
    for _ in 0..600 {
        if constraint.is_over() {
            break;
        }
        let mut logits = vec![0.0; 263];
        constraint.mask(&mut logits).unwrap();
        let allowed: Vec<usize> = (0..logits.len()).filter(|id| logits[*id] == 0.0).collect();
        // Punctuation ends strings and lists, so that blocks do not grow without an end.
        let preferred: Vec<usize> =
            allowed.iter().copied().filter(|id| *id > 255 || b"\"'<>}],/\n".contains(&(*id as u8))).collect();
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = (*seed >> 33) as usize;
        let choices = if !preferred.is_empty() && !random.is_multiple_of(3) { &preferred } else { &allowed };
        let id = choices[random / 3 % choices.len()];
        assert!(constraint.take(u32::try_from(id).unwrap()));
        match id {
            0..=255 => body.push(id as u8),
            END_ID | 258 => break,
            id => body.extend(
                ["<escape>", "<|\"|>", "[CALL_ID]", "[ARGS]"]
                    .get(id.wrapping_sub(259))
                    .unwrap_or(&"[TOOL_CALLS]")
                    .bytes(),
            ),
        }
    }
    constraint
        .is_over()
        .then(|| String::from_utf8(body).ok())
        .flatten()
        .map(|body| body.replace("</tool_call>", "").replace("</code>", ""))
}

const END_ID: usize = END as usize;

/// How a notation writes a call of a function.
type Spelling<'a> = dyn Fn(&str) -> String + 'a;

/// Python gets identifiers for the names that it cannot write; all other notations write the names.
#[test]
fn every_notation_writes_every_name() {
    const NAMES: &str = r#"[{"name": "21st--open"}, {"name": "a-b"}, {"name": "a_b"}]"#;
    let object = |name: &str| format!(r#"{{"name": "{name}", "arguments": {{}}}}"#);
    let llama = |name: &str| format!(r#"{{"name": "{name}", "parameters": {{}}}}"#);
    let names = ["21st--open", "a-b", "a_b"];
    let identifiers = ["21st__open", "_21st__open", "a_b_2", "a--b"];
    let written: [(_, &Spelling); 6] = [
        (JsonStyleFunctionCallParser, &object),
        (XmlFunctionCallParser, &|name| xml(name, &[])),
        (GemmaFunctionCallParser, &|name| format!("call:{name}{{}}")),
        (MistralFunctionCallParser, &|name| format!("{name}[ARGS]{{}}")),
        (LlamaFunctionCallParser, &llama),
        (PhiFunctionCallParser, &|name| format!("[{}]", object(name))),
    ];
    for (notation, call) in written {
        for name in names {
            check(notation, NAMES, &[&call(name)], &[]);
        }
        for identifier in identifiers {
            check(notation, NAMES, &[], &[&call(identifier)]);
        }
    }
    let refused = ["[21st--open()]", "[a-b()]", "[a__b()]"];
    check(DefaultFunctionCallParser, NAMES, &["[_21st__open(), a_b_2(), a_b()]"], &refused);
}
