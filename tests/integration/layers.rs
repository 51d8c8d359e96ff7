//! The structure of the sources: which module uses which, and that a type name stands for one thing.
//!
//! The `mod` lines in the root of `core` are the order of dependence. Inside a crate, the files have no cycles, and children do
//! not use their `mod.rs`. The tests read the sources as text, without macros and without `#[cfg(test)]`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The only files of `core` that may name candle.
const CANDLE: [&str; 3] = ["model/candle/", "model/compute.rs", "model/mod.rs"];

/// The only files of `core` that may name `causerie_backend`: the network on the CPU and where it is chosen, the memory that is
/// left, the readers of model files and of packed weights, and the generator of random numbers.
const BACKEND: [&str; 13] = [
    "memory.rs",
    "sample.rs",
    "model/native/",
    "model/compute.rs",
    "model/moving.rs",
    "model/mod.rs",
    "model/stored.rs",
    "weights/bundle/",
    "weights/content.rs",
    "weights/folder.rs",
    "weights/identity.rs",
    "weights/origin.rs",
    "weights/packed/",
];

/// The only files of `core` that may name `causerie_gpu`: the network on a GPU, where it is chosen, and the list of devices.
const GPU: [&str; 4] = ["model/gpu/", "model/compute.rs", "model/moving.rs", "devices.rs"];

/// The only files of `core` that may name `causerie_jinja`: prompts, and how numbers and strings print.
const JINJA: [&str; 2] = ["function/", "prompt/"];

/// The only files of `core` that may ask which form a model's files have: the others ask `Weights` or a `Checkpoint` what they
/// need.
const FORMS: [&str; 3] = ["checkpoint/", "tokenizer/gguf.rs", "weights/"];

/// The sources of the crates whose files have no cycles.
const CRATES: [&str; 9] = [
    "core/src",
    "core/backend/src",
    "core/gpu/src",
    "core/jinja/src",
    "hub/src",
    "server/src",
    "cli/src",
    "bindings/c/src",
    "bindings/plain/src",
];

/// Types that one crate mirrors, so that its public interface does not name the other crate.
const MIRRORS: [&str; 1] = ["CacheType"];

/// The sources of the workspace whose type names must be unique.
const SOURCES: [&str; 11] = [
    "core/src",
    "core/backend/src",
    "core/gpu/src",
    "core/derive/src",
    "core/jinja/src",
    "hub/src",
    "server/src",
    "cli/src",
    "bindings/c/src",
    "bindings/plain/src",
    "node/src",
];

/// Where unsafe code may be. Macros of UniFFI and napi write their own in `bindings/src` and `node/src`.
const UNSAFE: [&str; 3] = ["core/backend/src/", "core/gpu/src/device.rs", "bindings/c/src/border.rs"];

/// Folders in which a name may appear once for each instruction set.
const TWIN_FOLDERS: [&str; 2] = ["core/backend/src/kernels/", "core/backend/src/simd/"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A source file without comments and tests.
struct Source {
    /// Relative to the folder that was read, with `/`.
    path: String,
    code: String,
}

impl Source {
    /// The names of the module: `["model", "native", "state"]`, and for a `mod.rs` the names of its folder.
    fn module(&self) -> Vec<&str> {
        let path = self.path.strip_suffix(".rs").unwrap();
        path.strip_suffix("/mod").unwrap_or(path).split('/').collect()
    }
}

/// All source files below a folder of the repository, except tests.
fn sources(folder: &str) -> Vec<Source> {
    let root = repository().join(folder);
    let (mut files, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|extension| extension == "rs") => files.push(path),
                false => {}
            }
        }
    }
    let (mut sources, mut tests) = (Vec::new(), Vec::new());
    for file in files {
        let path = file.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        let text = fs::read_to_string(&file).unwrap();
        let source = Source { path, code: code(&text) };
        let module = source.module();
        let parent = if ["lib", "main"].contains(&module[0]) { String::new() } else { module.join("/") + "/" };
        tests.extend(test_modules(&text).into_iter().map(|name| format!("{parent}{name}")));
        sources.push(source);
    }
    let is_test = |source: &Source| {
        let path = &source.path;
        tests.iter().any(|test| *path == format!("{test}.rs") || path.starts_with(&format!("{test}/")))
    };
    sources.retain(|source| !is_test(source));
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

/// The names of the modules that a file declares for tests only.
fn test_modules(text: &str) -> Vec<&str> {
    let name = |(at, attribute): (usize, &str)| {
        let declaration = text[at + attribute.len()..].trim_start().lines().next()?;
        declaration.strip_suffix(';')?.rsplit_once("mod ").map(|(_, name)| name)
    };
    text.match_indices("#[cfg(test)]").filter_map(name).collect()
}

/// The code of a file: without comments, whose examples may name anything, and without its test module, which comes last.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The `mod` lines of core's root, top to bottom.
fn layers() -> Vec<String> {
    let root = fs::read_to_string(repository().join("core/src/lib.rs")).unwrap();
    let name = |line: &str| {
        Some(line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    };
    root.lines().filter_map(name).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// All paths that begin with `crate::` or `super::`, except in visibilities, with the braces of `use` lines expanded.
fn paths(code: &str) -> Vec<Vec<&str>> {
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = &code[..at];
            if !before.ends_with(|c: char| is_word(c) || c == '$' || c == ':') && !before.ends_with("pub(in ") {
                expand(&code[at..], &mut Vec::new(), &mut found);
            }
        }
    }
    found
}

/// Adds the paths at the beginning of a text, each after `prefix`; returns the text after them.
fn expand<'a>(mut text: &'a str, prefix: &mut Vec<&'a str>, found: &mut Vec<Vec<&'a str>>) -> &'a str {
    let n_before = prefix.len();
    loop {
        text = text.trim_start();
        if let Some(mut group) = text.strip_prefix('{') {
            while !group.trim_start().starts_with('}') && !group.trim().is_empty() {
                group = expand(group, prefix, found);
                group = group.trim_start().trim_start_matches(|c| c != ',' && c != '}');
                group = group.strip_prefix(',').unwrap_or(group);
            }
            prefix.truncate(n_before);
            return group.trim_start().strip_prefix('}').unwrap_or(group);
        }
        let word = &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())];
        prefix.push(word);
        text = &text[word.len()..];
        match text.strip_prefix("::") {
            Some(rest) if !word.is_empty() => text = rest,
            _ => break,
        }
    }
    found.push(prefix.clone());
    prefix.truncate(n_before);
    text
}

/// The file that a path of another file leads to, as an index; `None` if it leads out of the folder.
fn target(sources: &[Source], from: &Source, path: &[&str]) -> Option<usize> {
    let mut names: Vec<&str> = if path[0] == "super" { from.module() } else { Vec::new() };
    let rest = path.iter().skip_while(|name| ["crate", "super", "self"].contains(name));
    let n_up = path.iter().take_while(|name| **name == "super").count();
    names.truncate(names.len().saturating_sub(n_up));
    names.extend(rest);
    (1..=names.len()).rev().find_map(|n| sources.iter().position(|source| source.module() == names[..n]))
}

/// The files of a crate that are part of a cycle.
fn files_in_cycles(sources: &[Source]) -> BTreeSet<&str> {
    let edges: Vec<BTreeSet<usize>> = sources
        .iter()
        .map(|source| {
            let declares = |name: &str| source.code.contains(&format!("mod {name};"));
            let children = sources.iter().enumerate().filter(|(_, other)| {
                let (module, other) = (source.module(), other.module());
                other.len() == module.len() + 1 && other.starts_with(&module) && declares(other[module.len()])
            });
            let used = paths(&source.code).into_iter().filter_map(|path| target(sources, source, &path));
            // A parent needs its children, whether it names them or not.
            used.chain(children.map(|(at, _)| at)).filter(|at| !std::ptr::eq(&sources[*at], source)).collect()
        })
        .collect();
    let reaches = |from: usize| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(at) = open.pop() {
            open.extend(edges[at].iter().copied().filter(|next| seen.insert(*next)));
        }
        seen
    };
    (0..sources.len()).filter(|at| reaches(*at).contains(at)).map(|at| sources[at].path.as_str()).collect()
}

#[test]
fn paths_are_found_with_their_groups() {
    let found = paths("use crate::a::{b, c::{D, self}};\npub(in crate::a) fn f() { super::e(crate::f::G) }");
    let found: Vec<String> = found.iter().map(|path| path.join("::")).collect();
    let expect = ["crate::a::b", "crate::a::c::D", "crate::a::c::self", "crate::f::G", "super::e"];
    assert_eq!(found, expect);
}

#[test]
fn a_module_uses_only_the_modules_above_it() {
    let layers = layers();
    assert!(5 <= layers.len(), "the root has its mod lines");
    let sources = sources("core/src");
    for (at, module) in layers.iter().enumerate() {
        assert!(sources.iter().any(|source| source.module()[0] == module), "{module} has a file");
        for source in sources.iter().filter(|source| source.module()[0] == module) {
            for path in paths(&source.code).into_iter().filter(|path| path[0] == "crate") {
                let is_above = layers[..=at].iter().any(|above| above == path[1]);
                assert!(is_above, "{} uses crate::{}, which is not above {module}", source.path, path[1]);
            }
        }
    }
}

#[test]
fn only_the_listed_files_name_candle_and_the_crates_below() {
    for source in sources("core/src") {
        let crates = [
            ("candle", &CANDLE[..]),
            ("causerie_backend", &BACKEND),
            ("causerie_gpu", &GPU),
            ("causerie_jinja", &JINJA),
        ];
        for (name, files) in crates {
            let is_listed = files.iter().any(|file| source.path.starts_with(file));
            assert!(is_listed || !source.code.contains(name), "{} names {name}", source.path);
        }
    }
}

#[test]
fn only_the_listed_files_ask_for_the_form_of_model_files() {
    let words = ["Weights::Gguf", "Weights::Folder", "GgufFile", "weights::Folder"];
    for source in sources("core/src").iter().filter(|source| !FORMS.iter().any(|file| source.path.starts_with(file))) {
        let named = words.iter().find(|word| source.code.contains(*word));
        assert!(named.is_none(), "{} names {named:?}", source.path);
        let imported = paths(&source.code).into_iter().find(|path| path[..] == ["crate", "weights", "Folder"]);
        assert!(imported.is_none(), "{} uses {imported:?}", source.path);
    }
}

#[test]
fn files_of_a_folder_have_no_cycles() {
    let mut cycles = BTreeSet::new();
    for folder in CRATES {
        let sources = sources(folder);
        cycles.extend(files_in_cycles(&sources).into_iter().map(|file| format!("{folder}/{file}")));
    }
    assert!(cycles.is_empty(), "files in cycles: {cycles:#?}");
}

#[test]
fn only_the_listed_places_have_unsafe_code() {
    for folder in SOURCES.into_iter().chain(["bindings/src", "models/src", "models/projector/src"]) {
        for source in sources(folder) {
            let path = format!("{folder}/{}", source.path);
            let is_listed = UNSAFE.iter().any(|place| path.starts_with(place));
            let has_unsafe = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "unsafe(", "allow(unsafe_code)"];
            let found = has_unsafe.into_iter().find(|word| source.code.contains(word));
            assert!(is_listed || found.is_none(), "{path} has {found:?}");
        }
    }
}

#[test]
fn a_type_name_stands_for_one_thing() {
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for folder in SOURCES {
        for source in sources(folder) {
            for name in type_names(&source.code) {
                let path = format!("{folder}/{}", source.path);
                let place = TWIN_FOLDERS.iter().find(|folder| path.starts_with(*folder));
                let place = place.map_or(path.clone(), |folder| (*folder).to_owned());
                places.entry(name.to_owned()).or_default().insert(place);
            }
        }
    }
    let twins: BTreeMap<_, _> =
        places.iter().filter(|(name, places)| 1 < places.len() && !MIRRORS.contains(&name.as_str())).collect();
    assert!(twins.is_empty(), "names of several types: {twins:#?}");
}

/// The names of the types that a file declares, without associated types.
fn type_names(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter_map(|line| {
        let (indent, line) = (line.len() - line.trim_start().len(), line.trim_start());
        let line = line.strip_prefix("pub").unwrap_or(line);
        let line = line.strip_prefix('(').map_or(line, |rest| rest.split_once(')').map_or(rest, |(_, rest)| rest));
        let (keyword, rest) = line.trim_start().split_once(' ')?;
        let is_type = ["struct", "enum", "trait", "union"].contains(&keyword) || keyword == "type" && indent == 0;
        let name = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        (is_type && name.starts_with(char::is_uppercase)).then_some(name)
    })
}
