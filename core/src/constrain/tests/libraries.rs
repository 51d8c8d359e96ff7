//! Tests of the schemas that libraries make of their types (`tests/golden/schemas.json`).

use std::collections::BTreeSet;

use super::*;

const SCHEMAS: &str = include_str!("../../../../tests/golden/schemas.json");

/// Types whose schemas are refused, and why.
const REFUSED: [(&str, &str); 6] = [
    ("conset", "schema has the keyword \"uniqueItems\", which cannot be enforced"),
    ("emoji", "schema has the keyword \"pattern\", which cannot be enforced"),
    ("frozenset", "schema has the keyword \"uniqueItems\", which cannot be enforced"),
    ("never", "schema allows no value"),
    ("regexlook", "schema has the keyword \"pattern\", which cannot be enforced"),
    ("set", "schema has the keyword \"uniqueItems\", which cannot be enforced"),
];

#[test]
fn schemas_of_libraries_are_enforced_or_refused_for_a_reason() {
    let rows: Vec<serde_json::Value> = serde_json::from_str(SCHEMAS).unwrap();
    let constrainer = Constrainer::new(Arc::new(ByteVocabulary));
    let refusal = |row: &serde_json::Value| {
        let grammar = Grammar::of_schema(&row["schema"].to_string());
        let fault = grammar.and_then(|grammar| constrainer.constraint(grammar)).err()?;
        Some((row["name"].as_str().unwrap().to_owned(), fault.message().to_owned()))
    };
    let refused: BTreeSet<(String, String)> = rows.iter().filter_map(refusal).collect();
    let expected = REFUSED.map(|(name, message)| (name.to_owned(), message.to_owned()));
    assert!(200 < rows.len());
    assert_eq!(refused, BTreeSet::from(expected));
}
