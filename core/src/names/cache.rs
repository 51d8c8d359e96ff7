//! The local cache of models. Its layout is Hugging Face's, so that several tools share their downloads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::error::{ErrorKind, Result, SdkError};
use crate::names::choice::{ListedFile, ModelFiles, choose_files};
use crate::names::environment::HubVariables;
use crate::names::manifest;
use crate::names::model_name::ModelName;

/// The largest JSON file that is read from a cache, in bytes.
const MAX_JSON: u64 = 64 << 20;
/// Folders that a snapshot may have inside each other.
const MAX_DEPTH: usize = 4;

/// The folder of the cache, as the environment names it: `$HF_HUB_CACHE`, `$HUGGINGFACE_HUB_CACHE`, `$HF_HOME/hub`,
/// `$XDG_CACHE_HOME/huggingface/hub`, or else `~/.cache/huggingface/hub`. On iOS, where the system may delete what caches
/// contain, it is `~/Library/Application Support/huggingface/hub` instead. The values may begin with `~` and contain variables,
/// such as `$HOME`.
///
/// ```
/// if let Some(folder) = causerie::names::cache_folder() {
///     println!("models are in {}", folder.display());
/// }
/// ```
pub fn cache_folder() -> Option<PathBuf> {
    HubVariables::of_process().cache()
}

/// The folder of one repository in a cache.
///
/// ```
/// use causerie::names::RepositoryFolder;
/// let folder = RepositoryFolder::new("/cache".as_ref(), "ns/name");
/// assert!(folder.path().ends_with("models--ns--name"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryFolder {
    path: PathBuf,
}

impl RepositoryFolder {
    /// The folder of a repository, `NAMESPACE/NAME`. If there is one whose name differs in case only, it is that one.
    ///
    /// ```
    /// # use causerie::names::RepositoryFolder;
    /// assert!(!RepositoryFolder::new("/no/cache".as_ref(), "ns/name").path().exists());
    /// ```
    pub fn new(cache: &Path, repository: &str) -> Self {
        let name = format!("models--{}", repository.replace('/', "--"));
        let path = cache.join(&name);
        if path.is_dir() {
            return Self { path };
        }
        let names = fs::read_dir(cache).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let similar =
            names.into_iter().find(|found| found.to_str().is_some_and(|found| found.eq_ignore_ascii_case(&name)));
        Self { path: similar.map_or(path, |similar| cache.join(similar)) }
    }

    /// The path of the folder.
    ///
    /// ```
    /// # use causerie::names::RepositoryFolder;
    /// assert!(RepositoryFolder::new("/cache".as_ref(), "ns/name").path().starts_with("/cache"));
    /// ```
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the files of one commit.
    ///
    /// ```
    /// # use causerie::names::RepositoryFolder;
    /// let folder = RepositoryFolder::new("/cache".as_ref(), "ns/name");
    /// assert!(folder.snapshot("abc").ends_with("models--ns--name/snapshots/abc"));
    /// ```
    pub fn snapshot(&self, commit: &str) -> PathBuf {
        self.path.join("snapshots").join(commit)
    }

    /// The commit that a revision names, if the cache has its snapshot. Without a revision: that of `main`, or else the only
    /// one.
    ///
    /// ```
    /// # use causerie::names::RepositoryFolder;
    /// assert_eq!(RepositoryFolder::new("/no/cache".as_ref(), "ns/name").commit(None), None);
    /// ```
    pub fn commit(&self, revision: Option<&str>) -> Option<String> {
        let is_there = |commit: &String| self.snapshot(commit).is_dir();
        let named = |revision: &str| {
            let commit = fs::read_to_string(self.path.join("refs").join(revision)).ok()?;
            let commit = commit.trim();
            // A reference is not trusted: it must not lead out of the folder.
            (!commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| commit.to_owned())
        };
        match revision {
            Some(revision) => named(revision)
                .filter(is_there)
                .or_else(|| is_commit(revision).then(|| revision.to_ascii_lowercase()).filter(is_there)),
            None => named("main").filter(is_there).or_else(|| self.only_commit()),
        }
    }

    fn only_commit(&self) -> Option<String> {
        let entries = fs::read_dir(self.path.join("snapshots")).into_iter().flatten().flatten();
        let mut folders =
            entries.filter(|entry| entry.path().is_dir()).filter_map(|entry| entry.file_name().into_string().ok());
        let first = folders.next()?;
        folders.next().is_none().then_some(first)
    }

    /// The files of a commit that are downloaded in full, as far as their sizes are known.
    ///
    /// ```
    /// # use causerie::names::RepositoryFolder;
    /// assert!(RepositoryFolder::new("/no/cache".as_ref(), "ns/name").files("abc").is_empty());
    /// ```
    pub fn files(&self, commit: &str) -> Vec<ListedFile> {
        let known = self.known_sizes(commit);
        let mut files = files_below(&self.snapshot(commit));
        files.retain(|file| known.get(&file.path).map_or(0 < file.size, |size| *size == file.size));
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files
    }

    /// The sizes of a commit's files: from the notes of this project's downloads, and from the listing that
    /// `huggingface_hub` stores.
    fn known_sizes(&self, commit: &str) -> BTreeMap<String, u64> {
        let mut sizes = BTreeMap::new();
        for folder in ["trees", ".causerie"] {
            let listing = read_small(&self.path.join(folder).join(format!("{commit}.json"))).unwrap_or_default();
            let listing: Json = serde_json::from_slice(&listing).unwrap_or_default();
            for (path, entry) in listing.get("files").and_then(Json::as_object).into_iter().flatten() {
                let size = entry.get("lfs_size").and_then(Json::as_u64).or_else(|| entry.get("size")?.as_u64());
                sizes.extend(size.map(|size| (path.clone(), size)));
            }
        }
        sizes
    }

    /// The files that a tag means in a commit, and all of them complete: the one to load first. For a folder, all files.
    ///
    /// ```
    /// # use causerie::names::{ModelName, RepositoryFolder};
    /// let name = ModelName::parse("ns/name").unwrap();
    /// assert!(RepositoryFolder::new("/no/cache".as_ref(), "ns/name").model(&name, "abc").is_err());
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::ModelNotFound`] if there is no such model, several equal ones, or only a part of it.
    pub fn model(&self, name: &ModelName, commit: &str) -> Result<ModelFiles> {
        let listing = self.files(commit);
        if name.address.is_some() {
            return self.all_files(name, commit, &listing);
        }
        let chosen = choose_files(&name.to_string(), &listing, name.tag.as_deref())?;
        let ModelFiles::Folder { mut files, index } = chosen else { return Ok(chosen) };
        let has = |path: &str| listing.iter().any(|file| file.path == path);
        let missing = |file: &str| {
            let message = format!("model {name} must have {file}, which the local cache does not have");
            SdkError::new(ErrorKind::ModelNotFound, message)
        };
        if !has("config.json") {
            return Err(missing("config.json"));
        }
        if let Some(index) = &index {
            let json = read_small(&self.snapshot(commit).join(index)).unwrap_or_default();
            let shards = weights_of_index(&json).ok_or_else(|| missing("a readable index"))?;
            match shards.iter().find(|shard| !has(shard)) {
                Some(shard) => return Err(missing(shard)),
                None => files.extend(shards),
            }
        }
        Ok(ModelFiles::Folder { files, index })
    }
}

impl RepositoryFolder {
    /// All files that an address brought, a manifest before the others.
    fn all_files(&self, name: &ModelName, commit: &str, listing: &[ListedFile]) -> Result<ModelFiles> {
        let has = |path: &String| listing.iter().any(|file| file.path == *path);
        let mut known: Vec<String> = self.known_sizes(commit).into_keys().collect();
        known.sort_by_key(|path| path != manifest::FILE_NAME);
        match known.iter().find(|path| !has(path)) {
            None if !known.is_empty() => Ok(ModelFiles::Gguf(known)),
            _ => Err(SdkError::new(ErrorKind::ModelNotFound, format!("the local cache has only a part of {name}"))),
        }
    }
}

/// The files that the index of a model's weights names, without duplicates; `None` if it is not an index.
///
/// ```
/// let index = br#"{"weight_map": {"a": "model-1.safetensors", "b": "model-1.safetensors"}}"#;
/// assert_eq!(causerie::names::weights_of_index(index).unwrap().len(), 1);
/// ```
pub fn weights_of_index(json: &[u8]) -> Option<BTreeSet<String>> {
    let index: Json = serde_json::from_slice(json).ok()?;
    let names = index.get("weight_map")?.as_object()?.values();
    let names: Option<BTreeSet<String>> = names.map(|name| name.as_str().map(str::to_owned)).collect();
    names.filter(|names| !names.is_empty())
}

/// Whether a revision is the hash of a commit.
fn is_commit(revision: &str) -> bool {
    revision.len() == 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The files below a folder, as a listing has them.
pub(crate) fn files_below(folder: &Path) -> Vec<ListedFile> {
    let mut files = Vec::new();
    walk(folder, "", MAX_DEPTH, &mut files);
    files
}

/// Adds the files below a folder. Links are followed, and those that lead nowhere are left out.
fn walk(folder: &Path, prefix: &str, depth: usize, files: &mut Vec<ListedFile>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Ok(metadata) = fs::metadata(entry.path()) else { continue };
        if metadata.is_file() {
            files.push(ListedFile { path: format!("{prefix}{name}"), size: metadata.len() });
        } else if metadata.is_dir() && 0 < depth {
            walk(&entry.path(), &format!("{prefix}{name}/"), depth - 1, files);
        }
    }
}

fn read_small(path: &Path) -> Option<Vec<u8>> {
    let size = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
    (size <= MAX_JSON).then(|| fs::read(path).ok())?
}

/// The file or folder to load for a name, if the cache has all of the model. This never uses a network.
///
/// ```
/// use causerie::ErrorKind;
/// use causerie::names::{ModelName, find_in_cache};
///
/// let name = ModelName::parse("ns/name:Q4_0").unwrap();
/// let err = find_in_cache(&name, "/no/cache".as_ref()).unwrap_err();
/// assert_eq!(err.kind(), ErrorKind::ModelNotFound);
/// ```
///
/// # Errors
/// [`ErrorKind::ModelNotFound`]; the message says how to download the model.
pub fn find_in_cache(name: &ModelName, cache: &Path) -> Result<PathBuf> {
    find(name, cache, format!("model {name} is not in the cache at {}", cache.display()), "")
}

/// The same for a name that may be a path. The error also says how a model of another cache is loaded.
pub(crate) fn find_by_name_or_path(name: &ModelName, cache: &Path) -> Result<PathBuf> {
    let missing = format!("model {name} is neither a path nor in the cache at {}", cache.display());
    find(name, cache, missing, "; from another cache, it is loaded by the path that the hub's find returns")
}

fn find(name: &ModelName, cache: &Path, missing: String, elsewhere: &str) -> Result<PathBuf> {
    let repository = RepositoryFolder::new(cache, &name.repository());
    let not_found = |what: String| {
        let pull = how_to_pull(name);
        SdkError::new(ErrorKind::ModelNotFound, format!("{what}: {pull}{elsewhere}"))
    };
    let Some(commit) = repository.commit(name.revision.as_deref()) else { return Err(not_found(missing)) };
    let partly = |err: SdkError| {
        let repository = name.repository();
        not_found(format!("the cache at {} has another part of {repository}", cache.display())).caused_by(err)
    };
    let snapshot = repository.snapshot(&commit);
    match repository.model(name, &commit).map_err(partly)? {
        ModelFiles::Gguf(files) => Ok(files.first().map_or(snapshot.clone(), |file| snapshot.join(file))),
        ModelFiles::Folder { .. } => Ok(snapshot),
    }
}

/// How to get a model. Phones do not have the command.
fn how_to_pull(name: &ModelName) -> String {
    match cfg!(any(target_os = "android", target_os = "ios")) {
        true => "a call of pull with this name downloads it".to_owned(),
        false => format!("`causerie pull {name}`, or a call of pull with this name, downloads it"),
    }
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    /// A cache with files of one repository, below its folder. Each has its name as its content.
    fn cache_with(files: &[&str], test: &str) -> PathBuf {
        let cache = env::temp_dir().join(format!("causerie-names-{test}-{}", std::process::id()));
        for file in files {
            add(&cache, file, file);
        }
        cache
    }

    fn add(cache: &Path, file: &str, content: &str) {
        let path = cache.join("models--ns--name").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// What is found, relative to the snapshots, or the message.
    fn found(cache: &Path, name: &str) -> String {
        match find_in_cache(&ModelName::parse(name).unwrap(), cache) {
            Ok(path) => path.strip_prefix(cache.join("models--ns--name/snapshots")).unwrap().display().to_string(),
            Err(err) => err.to_string(),
        }
    }

    #[test]
    fn revisions_and_tags_are_found() {
        let cache =
            cache_with(&["snapshots/abc/m-Q4_0.gguf", "snapshots/abc/m-Q8_0.gguf", "snapshots/def/m.gguf"], "tags");
        add(&cache, "refs/main", "abc\n");
        add(&cache, "refs/pr/1", "def");
        add(&cache, "refs/gone", COMMIT);
        add(&cache, "refs/bad", "../../..");
        add(&cache, &format!("snapshots/{COMMIT}/c.gguf"), "c");
        for (name, expect) in [
            ("ns/name", "abc/m-Q8_0.gguf"),
            ("NS/Name:q4_0", "abc/m-Q4_0.gguf"),
            ("ns/name@pr/1", "def/m.gguf"),
            (&format!("ns/name@{COMMIT}"), &format!("{COMMIT}/c.gguf")),
        ] {
            assert_eq!(found(&cache, name), expect, "{name}");
        }
        for name in ["ns/name@bad", "ns/name@other", "ns/other"] {
            let expect = format!("`causerie pull {name}`, or a call of pull with this name, downloads it");
            assert!(found(&cache, name).ends_with(&expect), "{name}");
        }
        assert!(found(&cache, "ns/name:F16").ends_with("ns/name:F16 has no F16: it has Q4_0, Q8_0"));
        fs::remove_dir_all(cache).unwrap();
    }

    #[test]
    fn a_folder_with_a_missing_part_is_not_found() {
        let folder = "snapshots/abc";
        let files = ["config.json", "model-1.safetensors"].map(|file| format!("{folder}/{file}"));
        let cache = cache_with(&files.each_ref().map(String::as_str), "shards");
        let index = r#"{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}"#;
        add(&cache, &format!("{folder}/model.safetensors.index.json"), index);
        assert!(found(&cache, "ns/name").contains("must have model-2.safetensors"), "{}", found(&cache, "ns/name"));
        add(&cache, &format!("{folder}/model-2.safetensors"), "weights");
        assert_eq!(found(&cache, "ns/name"), "abc");
        add(&cache, "trees/abc.json", r#"{"files": {"model-2.safetensors": {"size": 130, "lfs_size": 9}}}"#);
        assert!(found(&cache, "ns/name").contains("must have model-2.safetensors"), "its size is known");
        fs::remove_dir_all(cache).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_without_its_file_is_not_there() {
        let cache = cache_with(&["snapshots/abc/m-Q4_0.gguf"], "links");
        let link = cache.join("models--ns--name/snapshots/abc/m-Q8_0.gguf");
        std::os::unix::fs::symlink("../../blobs/gone", link).unwrap();
        assert_eq!(found(&cache, "ns/name"), "abc/m-Q4_0.gguf");
        fs::remove_dir_all(cache).unwrap();
    }
}
