//! The floors of `core`: the `mod` lines of its root are the order of dependence, and only the floor of matter knows
//! candle.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules that may name candle.
const MATTER: [&str; 3] = ["weights", "tokenizer", "model"];

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src")
}

/// The `mod` lines of the root, top to bottom.
fn floors() -> Vec<String> {
    let root = fs::read_to_string(source_folder().join("lib.rs")).unwrap();
    let name = |line: &str| {
        Some(line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    };
    root.lines().filter_map(name).collect()
}

/// All source files of one module.
fn sources(module: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![source_folder().join(module)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.extend(Some(source_folder().join(module).with_extension("rs")).filter(|file| file.exists()));
    found
}

/// The code of a file: without its comments, whose examples may name anything.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_module_uses_only_what_stands_above_it() {
    let floors = floors();
    assert!(5 <= floors.len(), "the root has its mod lines");
    for (at, module) in floors.iter().enumerate() {
        let files = sources(module);
        assert!(!files.is_empty(), "{module} has a file");
        for file in files {
            for path in code(&file).split("crate::").skip(1) {
                let used: String = path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let is_above = floors[..=at].contains(&used);
                assert!(is_above, "{} uses crate::{used}, which does not stand above {module}", file.display());
            }
        }
    }
}

#[test]
fn only_the_floor_of_matter_names_candle() {
    for module in floors().iter().filter(|module| !MATTER.contains(&module.as_str())) {
        for file in sources(module) {
            assert!(!code(&file).contains("candle"), "{} names candle", file.display());
        }
    }
}
