//! Compares validation with the JSON Schema Test Suite (docs/adr/0018). The suite is not part of this repository:
//! `JSON_SCHEMA_SUITE` names the folder of one draft, such as `tests/draft2020-12`. Without it, nothing is compared.

use std::fs;
use std::path::Path;

use crate::function::Value;
use crate::notation::read_json;
use crate::validate::fits_schema;

/// Results of the tests of one keyword.
#[derive(Default)]
struct Counts {
    n_tests: usize,
    /// Valid values that were rejected, by description.
    rejected: Vec<String>,
    /// Invalid values that were accepted.
    n_accepted: usize,
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn array(value: &Value) -> &[Value] {
    match value {
        Value::Array(elements) => elements,
        _ => panic!("must be an array, found {value}"),
    }
}

fn run(file: &Path) -> Counts {
    let cases = read_json(&fs::read_to_string(file).unwrap()).unwrap();
    let mut counts = Counts::default();
    for case in array(&cases) {
        let schema = case.get("schema").unwrap();
        for test in array(case.get("tests").unwrap()) {
            let fits = fits_schema(test.get("data").unwrap(), schema);
            counts.n_tests += 1;
            match (fits, test.get("valid") == Some(&Value::Bool(true))) {
                (false, true) => {
                    let what = format!("{}: {}", text(case, "description"), text(test, "description"));
                    counts.rejected.push(what);
                }
                (true, false) => counts.n_accepted += 1,
                _ => {}
            }
        }
    }
    counts
}

#[test]
fn a_value_that_the_test_suite_calls_valid_fits() {
    let Ok(folder) = std::env::var("JSON_SCHEMA_SUITE") else { return };
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let mut rejected = Vec::new();
    // One schema in it declares that its keywords do not assert anything.
    let exempt = "vocabulary";
    println!("| keyword | tests | agree | valid, rejected | invalid, accepted |\n|---|---:|---:|---:|---:|");
    for file in files {
        let keyword = file.file_stem().unwrap().to_string_lossy().into_owned();
        let Counts { n_tests, rejected: wrong, n_accepted } = run(&file);
        let n_agreed = n_tests - wrong.len() - n_accepted;
        println!("| {keyword} | {n_tests} | {n_agreed} | {} | {n_accepted} |", wrong.len());
        let wrong = wrong.into_iter().filter(|_| keyword != exempt);
        rejected.extend(wrong.map(|what| format!("{keyword}, {what}")));
    }
    assert!(rejected.is_empty(), "valid values were rejected:\n{}", rejected.join("\n"));
}
