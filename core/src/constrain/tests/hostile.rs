//! Functions and schemas that are made to take long.

use super::*;
use crate::error::ErrorKind;

fn properties(n: usize, schema: &str) -> String {
    (0..n).map(|i| format!(r#""p{i}": {schema}"#)).collect::<Vec<_>>().join(", ")
}

fn function(parameters: &str) -> String {
    format!(r#"{{"name": "f", "parameters": {{"properties": {{{parameters}}}}}}}"#)
}

#[test]
fn hostile_functions_are_enforced_or_refused() {
    let nested = r#"{"type": "array", "items": "#.repeat(31) + r#"{"type": "null"}"# + &"}".repeat(31);
    let wide = format!(r#"{{"type": "object", "properties": {{{}}}}}"#, properties(64, r#"{"type": "object"}"#));
    let words: Vec<String> = (0..5000).map(|i| format!("\"word {i}\"")).collect();
    let of_words = format!(r#"{{"type": "string", "enum": [{}]}}"#, words.join(", "));
    let functions = (0..300).map(|i| function(r#""a": {"type": "string"}"#).replace("\"f\"", &format!("\"f{i}\"")));
    let many = functions.collect::<Vec<_>>().join(", ");
    let long = "x".repeat(2_000_000);
    for (functions, call) in [
        (function(&format!(r#""a": {nested}"#)), Some("[f(a=[[]])]")),
        (function(&properties(60, &wide)), Some("[f(p3={'p5': {}})]")),
        (function(&format!(r#""a": {of_words}"#)), Some("[f(a='word 4999')]")),
        (function(&properties(900, r#"{"type": "integer"}"#)), Some("[f(p3=1, p800=2)]")),
        (many, Some("[f3(a='x'), f299()]")),
        (
            function(
                r#""a": {"enum": []}, "b": {"anyOf": []}, "c": {"type": []}, "d": {"type": "integer", "enum": ["x"]}"#,
            ),
            Some("[f(a=1, b=[], c={}, d=3)]"),
        ),
        (
            function(&format!(r#""a": {}{{}}{}"#, r#"{"anyOf": [{"type": "null"}, "#.repeat(30), "]}".repeat(30))),
            Some("[f(a=None)]"),
        ),
        (function(&format!(r#""{long}": {{"type": "null"}}"#)), None),
    ] {
        let functions = functions_from_json(&format!("[{functions}]")).unwrap();
        let grammar = CallGrammar::new(DefaultFunctionCallParser, &functions, true);
        match (grammar, call) {
            (Ok(grammar), Some(call)) => assert_eq!(grammar.check(call), Ok(())),
            (Ok(_), None) => panic!("{:.100} must be refused", format!("{functions:?}")),
            (Err(err), _) => assert_eq!(err.kind(), ErrorKind::InvalidFunction, "{call:?}: {err}"),
        }
    }
}

/// Definitions that are each an array of the next.
fn definitions(n: usize) -> String {
    let definition =
        |i: usize| format!(r##""d{i}": {{"type": "array", "items": {{"$ref": "#/$defs/d{}"}}}}"##, (i + 1).min(n - 1));
    (0..n).map(definition).collect::<Vec<_>>().join(", ")
}

/// Any schema is either compiled or refused in finite time, and so is each mask.
#[test]
fn hostile_schemas_end_in_time() {
    let constrainer = Constrainer::new(Arc::new(ByteVocabulary));
    for schema in [
        r##"{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"], "additionalProperties": false}"##,
        r##"{"$ref": "#"}"##,
        r#"{"$ref": "https://example.org/schema"}"#,
        r#"{"type": "string", "pattern": "^(a?){500}a{500}$"}"#,
        r#"{"type": "string", "pattern": "((a|b)*c(a|b){200}){50}"}"#,
        r#"{"type": "string", "minLength": 100000000}"#,
        r#"{"type": "array", "minItems": 100000000, "items": {"type": "null"}}"#,
        r#"{"type": "integer", "minimum": 5, "maximum": 4}"#,
        r#"{"type": "number", "multipleOf": 1e-300}"#,
        r#"{"enum": []}"#,
        &format!(r##"{{"$defs": {{{}}}, "$ref": "#/$defs/d0"}}"##, definitions(5000)),
        "false",
        &format!("{}{}", r#"{"type": "array", "items": "#.repeat(100), "true".to_owned() + &"}".repeat(100)),
        &format!(r#"{{"type": "object", "properties": {{{}}}}}"#, properties(3000, "{\"type\": \"integer\"}")),
        &format!(
            r#"{{"anyOf": [{}]}}"#,
            vec![r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#; 500].join(", ")
        ),
    ] {
        let constraint = Grammar::of_schema(schema).and_then(|grammar| constrainer.constraint(grammar));
        let Ok(mut constraint) = constraint else { continue };
        for _ in 0..50 {
            let mut logits = vec![0.0; 259];
            if constraint.is_over() || constraint.mask(&mut logits).is_err() {
                break;
            }
            let forced = constraint.forced();
            let first = logits.iter().position(|logit| *logit == 0.0).unwrap();
            let next = forced.first().copied().unwrap_or(u32::try_from(first).unwrap());
            if !constraint.take(next) {
                break; // a limit was met
            }
        }
    }
}
