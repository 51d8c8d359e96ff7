//! The table of families in `docs/models.md`, compared with the code.

use std::collections::BTreeSet;

use super::tests_folder;
use crate::checkpoint::FAMILIES;

#[test]
fn the_documented_names_of_families_are_those_of_the_code() {
    let page = std::fs::read_to_string(tests_folder().join("../docs/models.md")).unwrap();
    let rows = page.lines().skip_while(|line| !line.starts_with("| family |")).skip(2);
    let rows: Vec<Vec<_>> = rows.take_while(|row| row.starts_with('|')).map(|row| row.split('|').collect()).collect();
    let named = |column: usize| -> BTreeSet<&str> { rows.iter().flat_map(|row| names(row[column])).collect() };
    assert_eq!(named(2), FAMILIES.iter().map(|family| family.gguf).collect());
    assert_eq!(named(3), FAMILIES.iter().map(|family| family.model_type).collect());
}

/// The names between backticks, up to the remark that configurations may wrap another one: "and `gemma3` with a `text_config`".
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split(", and").next().unwrap_or_default().split('`').skip(1).step_by(2)
}
