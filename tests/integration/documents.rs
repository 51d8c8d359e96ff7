//! The pages for readers: links between them, and their indexes.

use std::fs;
use std::path::{Path, PathBuf};

fn pages() -> Vec<PathBuf> {
    let root = Path::new(&super::repository("")).to_path_buf();
    ["", "docs", "docs/adr", "swift", "kotlin", "python", "models"]
        .iter()
        .flat_map(|folder| fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// The targets of links within the repository.
fn links(page: &str) -> impl Iterator<Item = &str> {
    page.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()).filter(|link| !link.contains(':'))
}

/// The anchors of headings, as GitHub makes them.
fn anchors(page: &str) -> impl Iterator<Item = String> {
    page.lines().filter(|line| line.starts_with('#')).map(|line| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>().replace(' ', "-")
    })
}

#[test]
fn links_lead_to_files_and_headings() {
    for path in pages() {
        let page = text(&path);
        for link in links(&page) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: {link}", path.display());
            let is_known = anchor.is_empty() || anchors(&text(&target)).any(|known| known == anchor);
            assert!(is_known, "{}: {link}", path.display());
        }
    }
}

#[test]
fn indexes_have_every_page() {
    for index in ["docs/README.md", "docs/adr/README.md"].map(|index| PathBuf::from(super::repository(index))) {
        let linked = text(&index);
        for page in pages().iter().filter(|page| page.parent() == index.parent() && **page != index) {
            let name = page.file_name().unwrap().to_str().unwrap();
            assert!(links(&linked).any(|link| link == name), "{} must link to {name}", index.display());
        }
    }
}

#[test]
fn the_status_of_a_decision_is_that_of_its_page() {
    let index = text(Path::new(&super::repository("docs/adr/README.md")));
    for page in pages().iter().filter(|page| page.parent().unwrap().ends_with("adr") && !page.ends_with("README.md")) {
        let name = page.file_name().unwrap().to_str().unwrap();
        let row = index.lines().find(|line| links(line).next() == Some(name)).unwrap();
        let page = text(page);
        let status = page.lines().find_map(|line| line.strip_prefix("*Status: ")).unwrap_or("accepted");
        let cell = row.trim_end_matches([' ', '|']).rsplit(" | ").next().unwrap();
        assert!(status.starts_with(cell), "{name}: {row}");
    }
}

#[test]
fn the_readme_is_short() {
    assert!(text(Path::new(&super::repository("README.md"))).lines().count() <= 80);
}

#[test]
fn the_example_of_rust_is_compiled() {
    let page = text(Path::new(&super::repository("docs/rust.md")));
    let example = page.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(text(Path::new(&super::repository("core/examples/note.rs"))).ends_with(example));
}
