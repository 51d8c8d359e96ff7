//! Finds a model: a file, a folder, or a name in the local cache.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{ErrorKind, Result, SdkError};
use crate::names::{ListedFile, ModelName, cache_folder, choose_gguf, find_by_name_or_path, manifest, percent_decoded};
use crate::weights::bundle::Manifest;

/// The GGUF file or the folder that `model` names.
pub(crate) fn locate(model: &Path) -> Result<PathBuf> {
    // Names and URLs are Unicode; a path need not be.
    match model.to_str() {
        Some(model) => locate_in(model, cache_folder().as_deref()),
        None if model.is_dir() => in_folder(model),
        None if model.exists() => Ok(model.to_owned()),
        None => Err(SdkError::new(ErrorKind::ModelNotFound, format!("no model at {}", model.display()))),
    }
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
    let not_found = |message: String| Err(SdkError::new(ErrorKind::ModelNotFound, message));
    match (ModelName::parse(model), cache) {
        (Some(name), Some(cache)) => find_by_name_or_path(&name, cache),
        (Some(name), None) => not_found(format!(
            "model {name} is not a path, and there is no default cache to look it up in: it is loaded by the path that the hub's \
             find returns"
        )),
        (None, _) => not_found(format!("no model at {model}")),
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
    let path = percent_decoded(path).filter(|path| !path.contains('\0'))?;
    // A drive of Windows follows a slash.
    let drive = path.strip_prefix('/').filter(|path| cfg!(windows) && path.as_bytes().get(1) == Some(&b':'));
    Some(drive.unwrap_or(&path).to_owned())
}

/// A folder of safetensors is a model. Otherwise its manifest is, or its GGUF file, even beside a config.json, or the preferred
/// one of several.
fn in_folder(folder: &Path) -> Result<PathBuf> {
    let holds = |name: &str| folder.join(name).exists();
    if holds("model.safetensors") || holds("model.safetensors.index.json") {
        return Ok(folder.to_owned());
    }
    let manifest = folder.join(manifest::FILE_NAME);
    if Manifest::is_at(&manifest) {
        return Ok(manifest);
    }
    let listed = |entry: fs::DirEntry| {
        let metadata = fs::metadata(entry.path()).ok().filter(fs::Metadata::is_file)?;
        Some(ListedFile { path: entry.file_name().into_string().ok()?, size: metadata.len() })
    };
    let files: Vec<ListedFile> = fs::read_dir(folder).into_iter().flatten().flatten().filter_map(listed).collect();
    let chosen = choose_gguf(&format!("the folder {}", folder.display()), &files, None)?;
    Ok(chosen.first().map_or_else(|| folder.to_owned(), |file| folder.join(file)))
}

#[cfg(test)]
mod tests {
    use std::env;

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
    fn a_name_is_looked_up_in_the_cache() {
        let repository = "models--ns--name";
        let files = ["snapshots/abc/m.gguf", "snapshots/def/m.gguf", "refs/main"].map(|f| format!("{repository}/{f}"));
        let cache = cache_with(&files.each_ref().map(String::as_str), "main");
        assert_eq!(locate_in("ns/name", Some(&cache)).unwrap(), cache.join(&files[0]));
        let message = |cache| locate_in("ns/other", cache).unwrap_err().to_string();
        let looked = format!("model ns/other is neither a path nor in the cache at {}: ", cache.display());
        let way_out = "; from another cache, it is loaded by the path that the hub's find returns";
        let found = message(Some(&*cache));
        assert!(found.starts_with(&looked) && found.ends_with(way_out), "{found}");
        assert!(message(None).contains("no default cache to look it up in"), "{}", message(None));
        fs::remove_dir_all(cache).unwrap();
    }

    #[test]
    fn the_preferred_gguf_file_of_a_folder_is_found() {
        let cache = cache_with(&["a-Q4_0.gguf", "a-Q8_0.gguf", "mmproj-a-F16.gguf"], "preferred");
        assert_eq!(locate_in(cache.to_str().unwrap(), None).unwrap(), cache.join("a-Q8_0.gguf"));
        fs::remove_dir_all(cache).unwrap();
    }

    #[test]
    fn a_folder_with_several_equal_gguf_files_is_refused() {
        let cache = cache_with(&["a.gguf", "b.gguf"], "several");
        let err = locate_in(cache.to_str().unwrap(), None).unwrap_err();
        assert!(err.message().ends_with("must mean one model, found a.gguf, b.gguf: name one of them"), "{err}");
        fs::remove_dir_all(cache).unwrap();
    }
}
