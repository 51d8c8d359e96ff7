//! Types as tight as their schemas: values of Rust's types fit the schema and the grammar, and what the grammar accepts is read.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU8;

use causerie::typed::{TypedFunction, decode_reply, reply_schema};
use causerie::{CallGrammar, FunctionCallParser, SdkFunctionCall, Value};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::json;

#[derive(causerie::SdkFunction, Serialize, Clone, Debug, PartialEq)]
struct Numbers {
    i8: i8,
    i16: i16,
    i32: i32,
    i64: i64,
    u8: u8,
    u16: u16,
    u32: u32,
    u64: u64,
    usize: usize,
    positive: NonZeroU8,
    letter: char,
    flag: bool,
    nothing: (),
}

#[derive(causerie::SdkFunction, Serialize, Clone, Debug, PartialEq)]
struct Collections {
    pair: (u8, bool),
    three: [i16; 3],
    map: BTreeMap<String, u8>,
    set: BTreeSet<i8>,
    maybe: Option<u8>,
    maybes: Vec<Option<bool>>,
    boxed: Box<Celsius>,
    address: Ipv4Addr,
}

/// Degrees.
#[derive(causerie::SdkFunctionParameterType, Serialize, Clone, Debug, PartialEq)]
struct Celsius(i16);

#[derive(causerie::SdkFunction, Serialize, Clone, Debug, PartialEq)]
struct Forms {
    /// One form.
    external: External,
    internal: Internal,
    adjacent: Adjacent,
    untagged: Untagged,
    tree: Tree,
    generic: Pair<u8>,
}

#[derive(causerie::SdkFunctionParameterType, Serialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "snake_case")]
enum External {
    Nothing,
    AlsoNothing,
    One(u8),
    Two(u8, bool),
    Named { size: u8, note: Option<bool> },
}

#[derive(causerie::SdkFunctionParameterType, Serialize, Clone, Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[sdk(tag = "kind")]
enum Internal {
    Nothing,
    Named {
        size: u8,
    },
    /// The members of another type.
    Other(Tree),
}

#[derive(causerie::SdkFunctionParameterType, Serialize, Clone, Debug, PartialEq)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
#[sdk(tag = "kind", content = "value")]
enum Adjacent {
    Nothing,
    One(u8),
    Two(u8, bool),
    Named { size: u8 },
}

#[derive(causerie::SdkFunctionParameterType, Serialize, Clone, Debug, PartialEq)]
#[serde(untagged)]
#[sdk(untagged)]
enum Untagged {
    Number(i16),
    Pair(bool, bool),
    Named { size: u8 },
    Nothing,
}

/// A tree.
#[derive(causerie::SdkFunctionParameterType, Serialize, Clone, Debug, PartialEq)]
struct Tree {
    size: u8,
    left: Option<Box<Tree>>,
    #[serde(rename = "more")]
    #[sdk(name = "more")]
    others: Vec<Tree>,
}

#[derive(causerie::SdkFunctionParameterType, Serialize, Clone, Debug, PartialEq)]
struct Pair<T> {
    first: T,
    second: Option<T>,
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = any::<u8>().prop_map(|size| Tree { size, left: None, others: Vec::new() });
    leaf.prop_recursive(3, 8, 2, |inner| {
        (any::<u8>(), proptest::option::of(inner.clone()), proptest::collection::vec(inner, 0..3))
            .prop_map(|(size, left, others)| Tree { size, left: left.map(Box::new), others })
    })
}

prop_compose! {
    fn numbers()(
        signed in any::<(i8, i16, i32, i64)>(), unsigned in any::<(u8, u16, u32, u64, usize)>(),
        positive in 1..=u8::MAX, letter in any::<char>(), flag in any::<bool>(),
    ) -> Numbers {
        let (i8, i16, i32, i64) = signed;
        let (u8, u16, u32, u64, usize) = unsigned;
        let positive = NonZeroU8::new(positive).unwrap();
        Numbers { i8, i16, i32, i64, u8, u16, u32, u64, usize, positive, letter, flag, nothing: () }
    }
}

prop_compose! {
    fn collections()(
        pair in any::<(u8, bool)>(), three in any::<[i16; 3]>(),
        map in proptest::collection::btree_map("[a-zé]{0,4}", any::<u8>(), 0..4),
        set in proptest::collection::btree_set(any::<i8>(), 0..4), maybe in any::<Option<u8>>(),
        maybes in proptest::collection::vec(any::<Option<bool>>(), 0..4), degrees in any::<i16>(), address in any::<[u8; 4]>(),
    ) -> Collections {
        Collections {
            pair, three, map, set, maybe, maybes, boxed: Box::new(Celsius(degrees)), address: Ipv4Addr::from(address),
        }
    }
}

fn forms() -> impl Strategy<Value = Forms> {
    let external = prop_oneof![
        Just(External::Nothing),
        Just(External::AlsoNothing),
        any::<u8>().prop_map(External::One),
        any::<(u8, bool)>().prop_map(|(a, b)| External::Two(a, b)),
        any::<(u8, Option<bool>)>().prop_map(|(size, note)| External::Named { size, note }),
    ];
    let internal = prop_oneof![
        Just(Internal::Nothing),
        any::<u8>().prop_map(|size| Internal::Named { size }),
        tree().prop_map(Internal::Other),
    ];
    let adjacent = prop_oneof![
        Just(Adjacent::Nothing),
        any::<u8>().prop_map(Adjacent::One),
        any::<(u8, bool)>().prop_map(|(a, b)| Adjacent::Two(a, b)),
        any::<u8>().prop_map(|size| Adjacent::Named { size }),
    ];
    let untagged = prop_oneof![
        any::<i16>().prop_map(Untagged::Number),
        any::<(bool, bool)>().prop_map(|(a, b)| Untagged::Pair(a, b)),
        any::<u8>().prop_map(|size| Untagged::Named { size }),
        Just(Untagged::Nothing),
    ];
    let pair = any::<(u8, Option<u8>)>().prop_map(|(first, second)| Pair { first, second });
    (external, internal, adjacent, untagged, tree(), pair).prop_map(
        |(external, internal, adjacent, untagged, tree, generic)| Forms {
            external,
            internal,
            adjacent,
            untagged,
            tree,
            generic,
        },
    )
}

fn decoded<T: TypedFunction>(arguments: serde_json::Value) -> causerie::Result<T> {
    let Value::Object(arguments) = Value::from(arguments) else { panic!("arguments must be an object") };
    T::decode(&SdkFunctionCall { arguments, ..Default::default() })
}

/// The value without absent members, which a grammar does not let be null.
fn without_nulls(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(members) => members
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(n, value)| (n, without_nulls(value)))
            .collect(),
        serde_json::Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

fn check_value<T: TypedFunction + Serialize + PartialEq + std::fmt::Debug>(value: &T, grammar: Option<&CallGrammar>) {
    let written = serde_json::to_value(value).unwrap();
    let read: T = decoded(written.clone()).unwrap_or_else(|err| panic!("{err}: {written}"));
    assert_eq!(&read, value, "{written}");
    if let Some(grammar) = grammar {
        let arguments = Value::from(without_nulls(written)).to_string();
        let call = format!("\n{{\"name\": \"{}\", \"arguments\": {arguments}}}\n", T::function().name);
        assert_eq!(grammar.check(&call), Ok(()), "{call}\n{}", grammar.text());
    }
}

fn grammar<T: TypedFunction>() -> CallGrammar {
    CallGrammar::new(FunctionCallParser::JsonStyleFunctionCallParser, &[T::function()], false).unwrap()
}

#[test]
fn values_of_types_fit_their_schemas() {
    let (of_collections, of_forms) = (grammar::<Collections>(), grammar::<Forms>());
    let config = ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() };
    proptest!(config, |(numbers in numbers(), collections in collections(), forms in forms())| {
        // Half of the unsigned numbers of 64 bits, and control characters, are beyond the grammar.
        check_value(&numbers, None);
        check_value(&collections, Some(&of_collections));
        // Null as a variant is a value, but `without_nulls` takes it for an absent member.
        check_value(&forms, Some(&of_forms).filter(|_| forms.untagged != Untagged::Nothing));
    });
}

/// Writes calls that the grammar accepts, each character drawn at random, and decodes them.
fn check_sampled<T: TypedFunction>(n_expected: usize) {
    let grammar = grammar::<T>();
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut n_complete = 0;
    for _ in 0..8 {
        let mut text = String::new();
        for _ in 0..400 {
            let Err(refusal) = grammar.check(&text) else { break };
            assert_eq!(refusal.at, text.len(), "{text}");
            let expected = refusal.expected.as_bytes();
            // What ends a value is drawn more often.
            let ends: Vec<u8> = expected.iter().copied().filter(|byte| b"\"]},\n".contains(byte)).collect();
            let from = if !ends.is_empty() && random(3) < 2 { &ends[..] } else { expected };
            match from.len() {
                0 => text.push('\n'),
                n => text.push(char::from(from[random(n)])),
            }
        }
        if grammar.check(&text).is_ok() {
            n_complete += 1;
            let call: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|err| panic!("{err}: {text}"));
            decoded::<T>(call["arguments"].clone()).map(drop).unwrap_or_else(|err| panic!("{err}: {text}"));
        }
    }
    assert!(n_expected <= n_complete, "{n_complete} of 8 were complete");
}

#[test]
fn what_a_grammar_accepts_is_read() {
    check_sampled::<Numbers>(2);
    check_sampled::<Collections>(2);
    check_sampled::<Forms>(2);
}

#[test]
fn schemas_are_as_tight_as_types() {
    let schema = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
    assert_eq!(
        schema(reply_schema::<BTreeMap<String, u64>>()),
        json!({"type": "object", "additionalProperties": {"type": "integer", "minimum": 0, "maximum": u64::MAX}})
    );
    assert_eq!(
        schema(reply_schema::<(i8, Option<char>)>()),
        json!({"type": "array", "prefixItems": [
            {"type": "integer", "minimum": -128, "maximum": 127},
            {"anyOf": [{"type": "string", "minLength": 1, "maxLength": 1}, {"type": "null"}]},
        ], "minItems": 2, "maxItems": 2})
    );
    assert_eq!(
        schema(reply_schema::<IpAddr>()),
        json!({"anyOf": [{"type": "string", "format": "ipv4"}, {"type": "string", "format": "ipv6"}]})
    );
    let size = json!({"type": "integer", "minimum": 0, "maximum": 255});
    let tree = json!({"type": "object", "description": "A tree.", "properties": {
        "size": size, "left": {"$ref": "#/$defs/Tree"}, "more": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
    }, "required": ["size", "more"]});
    assert_eq!(schema(reply_schema::<Tree>()), json!({"$ref": "#/$defs/Tree", "$defs": {"Tree": tree}}));
    let external = schema(reply_schema::<External>());
    assert_eq!(external["anyOf"][0], json!({"type": "string", "enum": ["nothing", "also_nothing"]}));
    assert_eq!(
        external["anyOf"][1],
        json!({"type": "object", "properties": {"one": size}, "required": ["one"], "additionalProperties": false})
    );
    assert_eq!(schema(reply_schema::<Celsius>())["minimum"], json!(-32768));
}

#[test]
fn errors_name_the_place_in_a_tree_and_a_variant() {
    let text = |inner: &str| format!(r#"{{"size": 1, "more": [{{"size": 2, "more": [{inner}]}}]}}"#);
    assert_eq!(decode_reply::<Tree>(&text(r#"{"size": 3, "more": []}"#)).unwrap().others[0].others[0].size, 3);
    let err = decode_reply::<Tree>(&text(r#"{"size": 300, "more": []}"#)).unwrap_err();
    assert_eq!(err.to_string(), "reply.more[0].more[0].size must be an integer from 0 to 255, found 300");
    for wrong in [r#"{"one": 256}"#, r#"{"two": [1]}"#, r#""one""#, r#"{"one": 1, "two": [1, true]}"#, "null", "7"] {
        assert!(decode_reply::<External>(wrong).is_err(), "{wrong}");
    }
}
