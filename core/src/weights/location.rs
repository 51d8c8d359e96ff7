//! Finds a model: a file, a folder, or `<namespace>/<name>` in the local cache.
//!
//! The cache is Hugging Face's, so that models fetched by other tools are found:
//! `$HF_HUB_CACHE`, else `$HF_HOME/hub`, else `~/.cache/huggingface/hub`, with
//! `models--<namespace>--<name>/snapshots/<revision>/` inside.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{ErrorKind, Result, SdkError};

/// The GGUF file or the folder that `model` names.
pub(crate) fn locate(model: &str) -> Result<PathBuf> {
    locate_in(model, cache_folder().as_deref())
}

fn locate_in(model: &str, cache: Option<&Path>) -> Result<PathBuf> {
    if let Some(url) = strip_scheme(model) {
        let path = path_of_url(url).ok_or_else(|| {
            SdkError::new(ErrorKind::ModelNotFound, format!("{model} must be a file URL of this device"))
        })?;
        return locate_in(&path, None);
    }
    let path = Path::new(model);
    if path.exists() {
        return if path.is_dir() { in_folder(path) } else { Ok(path.to_owned()) };
    }
    let Some((namespace, name)) = model_id(model) else {
        return Err(SdkError::new(ErrorKind::ModelNotFound, format!("no model at {model}")));
    };
    let repository = cache.map(|cache| cache.join(format!("models--{namespace}--{name}")));
    match repository.filter(|repository| repository.is_dir()) {
        Some(repository) => in_folder(&snapshot(&repository)?),
        None => Err(SdkError::new(
            ErrorKind::ModelNotFound,
            format!("model {model} is neither a path nor in the local cache; nothing is downloaded"),
        )),
    }
}

fn strip_scheme(model: &str) -> Option<&str> {
    let (scheme, rest) = model.split_at_checked("file://".len())?;
    scheme.eq_ignore_ascii_case("file://").then_some(rest)
}

/// The path after `file://`, with an empty host or `localhost`; `None` for another host, a query, or bytes that are not
/// UTF-8.
fn path_of_url(url: &str) -> Option<String> {
    let (host, path) = url.split_at(url.find('/')?);
    if !(host.is_empty() || host.eq_ignore_ascii_case("localhost")) || path.contains(['?', '#']) {
        return None;
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                u8::try_from(16 * digit(rest.next())? + digit(rest.next())?).ok()?
            }
            plain => plain,
        });
    }
    let path = String::from_utf8(bytes).ok().filter(|path| !path.contains('\0'))?;
    // A drive of Windows follows a slash.
    let drive = path.strip_prefix('/').filter(|path| cfg!(windows) && path.as_bytes().get(1) == Some(&b':'));
    Some(drive.unwrap_or(&path).to_owned())
}

/// Splits `<namespace>/<name>`; `None` for anything that could lead out of the cache.
fn model_id(text: &str) -> Option<(&str, &str)> {
    let (namespace, name) = text.split_once('/')?;
    let is_plain = |part: &str| {
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        (1..=96).contains(&part.len()) && part.bytes().all(is_fine) && !part.starts_with('.') && !part.ends_with('.')
    };
    // The path of a file that does not exist is reported as such, and not looked up in the cache.
    (is_plain(namespace) && is_plain(name) && !name.ends_with(".gguf")).then_some((namespace, name))
}

fn cache_folder() -> Option<PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("HF_HUB_CACHE")
        .or_else(|| Some(variable("HF_HOME")?.join("hub")))
        .or_else(|| Some(env::home_dir()?.join(".cache/huggingface/hub")))
}

/// The revision that `main` names, otherwise the only one.
fn snapshot(repository: &Path) -> Result<PathBuf> {
    let snapshots = repository.join("snapshots");
    if let Ok(revision) = fs::read_to_string(repository.join("refs/main")) {
        let folder = snapshots.join(revision.trim());
        if revision.trim().bytes().all(|byte| byte.is_ascii_hexdigit()) && folder.is_dir() {
            return Ok(folder);
        }
    }
    let folders: Vec<PathBuf> =
        fs::read_dir(&snapshots).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    match &folders[..] {
        [folder] => Ok(folder.clone()),
        _ => Err(SdkError::new(ErrorKind::ModelNotFound, format!("no complete model in {}", repository.display()))),
    }
}

/// A folder of safetensors is a model; otherwise its only GGUF file is, even beside a config.json.
fn in_folder(folder: &Path) -> Result<PathBuf> {
    let holds = |name: &str| folder.join(name).exists();
    if holds("model.safetensors") || holds("model.safetensors.index.json") {
        return Ok(folder.to_owned());
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gguf")))
        .collect();
    match (files.pop(), files.is_empty()) {
        (Some(file), true) => Ok(file),
        (Some(_), false) => Err(SdkError::new(
            ErrorKind::ModelNotFound,
            format!("a folder must have one GGUF file, found several in {}: give the path of one", folder.display()),
        )),
        (None, _) => Err(SdkError::new(
            ErrorKind::ModelNotFound,
            format!("neither model.safetensors nor a GGUF file in {}", folder.display()),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache_with(files: &[&str], test: &str) -> PathBuf {
        let cache = env::temp_dir().join(format!("causerie-{test}-{}", std::process::id()));
        for file in files {
            let path = cache.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "abc\n").unwrap();
        }
        cache
    }

    #[test]
    fn a_file_url_gives_its_path() {
        for (url, expect) in [
            ("/a/b.gguf", Some("/a/b.gguf")),
            ("localhost/a%20b/%C3%BC.gguf", Some("/a b/ü.gguf")),
            ("LOCALHOST/a", Some("/a")),
            ("example.org/a", None),
            ("/a?b", None),
            ("/%ff", None),
            ("/%2", None),
            ("/%00", None),
            ("a", None),
        ] {
            assert_eq!(path_of_url(url).as_deref(), expect, "{url}");
        }
        let path = std::env::current_exe().unwrap();
        let url = format!("FILE://localhost{}", path.display());
        assert_eq!(locate_in(&url, None).ok(), cfg!(unix).then_some(path));
        for url in ["file://elsewhere/a", "file:///no/such/file", "file://"] {
            assert_eq!(locate_in(url, None).unwrap_err().kind(), ErrorKind::ModelNotFound, "{url}");
        }
    }

    #[test]
    fn the_revision_of_main_is_taken_from_the_cache() {
        let repository = "models--ns--name";
        let files = ["snapshots/abc/m.gguf", "snapshots/def/m.gguf", "refs/main"].map(|f| format!("{repository}/{f}"));
        let cache = cache_with(&files.each_ref().map(String::as_str), "main");
        assert_eq!(locate_in("ns/name", Some(&cache)).unwrap(), cache.join(&files[0]));
        fs::remove_dir_all(cache).unwrap();
    }

    #[test]
    fn a_folder_with_several_gguf_files_is_refused() {
        let cache = cache_with(&["a.gguf", "b.gguf"], "several");
        let err = locate_in(cache.to_str().unwrap(), None).unwrap_err();
        assert!(err.message().starts_with("a folder must have one GGUF file"), "{err}");
        fs::remove_dir_all(cache).unwrap();
    }

    #[test]
    fn only_plain_names_are_model_ids() {
        assert_eq!(model_id("LiquidAI/LFM2-350M"), Some(("LiquidAI", "LFM2-350M")));
        let long = format!("a/{}", "b".repeat(97));
        for text in ["../etc", "a/b/c", "a/..", "%2e/b", "C:\\x", "a/b.", "a", "/a", "a/", "a/b\0", "x/y.gguf", &long] {
            assert_eq!(model_id(text), None, "{text}");
        }
    }
}
