//! Repositories, and the answers of the hub and of its store.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::http::{Answer, Request, percent_decoded};
use super::{EXPIRED, TOKEN};

/// The files of one commit. Large ones are known by SHA-256 and served by the store.
#[derive(Clone)]
pub struct Repository {
    pub files: BTreeMap<String, Vec<u8>>,
    pub large: BTreeSet<String>,
    pub commit: String,
    pub is_gated: bool,
    /// Entries that are added to the listing as they are.
    pub listed: Vec<Json>,
}

impl Repository {
    /// Files with their content; files of weights are large.
    pub fn new(files: &[(&str, Vec<u8>)]) -> Self {
        let is_large = |path: &&str| path.ends_with(".gguf") || path.ends_with(".safetensors");
        Self {
            files: files.iter().map(|(path, content)| ((*path).to_owned(), content.clone())).collect(),
            large: files.iter().map(|(path, _)| *path).filter(is_large).map(str::to_owned).collect(),
            commit: "a".repeat(40),
            is_gated: false,
            listed: Vec::new(),
        }
    }

    pub fn gated(mut self) -> Self {
        self.is_gated = true;
        self
    }

    /// The branch now has another commit, whose files have other contents.
    pub fn move_to(&mut self, commit: &str) {
        commit.clone_into(&mut self.commit);
        self.files.values_mut().for_each(|content| content.push(b'!'));
    }

    pub fn digest(&self, path: &str) -> String {
        match self.large.contains(path) {
            true => format!("{:x}", Sha256::digest(&self.files[path])),
            false => git_blob(&self.files[path]),
        }
    }

    /// A file as the description of a commit lists it, with what `blobs=true` adds.
    fn sibling(&self, (path, content): (&String, &Vec<u8>)) -> Json {
        let mut sibling = json!({"rfilename": path, "size": content.len(), "blobId": git_blob(content)});
        if self.large.contains(path) {
            sibling["lfs"] = json!({"sha256": self.digest(path), "size": content.len(), "pointerSize": 135});
        }
        sibling
    }

    fn tree(&self) -> Vec<Json> {
        let entry = |(path, content): (&String, &Vec<u8>)| {
            let mut entry = json!({"type": "file", "oid": git_blob(content), "size": content.len(), "path": path});
            if self.large.contains(path) {
                entry["lfs"] = json!({"oid": self.digest(path), "size": content.len(), "pointerSize": 135});
            }
            entry
        };
        let folders = [json!({"type": "directory", "oid": "0".repeat(40), "size": 0, "path": "sub"})];
        self.listed.iter().cloned().chain(folders).chain(self.files.iter().map(entry)).collect()
    }
}

fn git_blob(content: &[u8]) -> String {
    let mut hasher = Sha1::new_with_prefix(format!("blob {}\0", content.len()));
    hasher.update(content);
    format!("{:x}", hasher.finalize())
}

fn refused(status: u16, code: &str, text: &str) -> Answer {
    Answer::new(status, &[("X-Error-Code", code.to_owned()), ("X-Error-Message", text.to_owned())], text)
}

fn reply(value: &Json, headers: &[(&str, String)]) -> Answer {
    let mut answer = Answer::new(200, headers, value.to_string());
    answer.headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    answer
}

/// Splits `/ns/name/rest`.
fn split_repository(path: &str) -> Option<(String, &str)> {
    let mut parts = path.strip_prefix('/')?.splitn(3, '/');
    let name = format!("{}/{}", parts.next()?, parts.next()?);
    Some((name, parts.next().unwrap_or_default()))
}

pub(super) fn answer_hub(
    request: &Request,
    (hub, store): &(String, String),
    repositories: &BTreeMap<String, Repository>,
    page: usize,
) -> Answer {
    let target = percent_decoded(&request.target);
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let is_api = path.starts_with("/api/models/");
    let cached = path.strip_prefix("/api/resolve-cache/models");
    let rest = cached.or_else(|| path.strip_prefix("/api/models")).unwrap_or(path);
    let found = split_repository(rest).and_then(|(name, rest)| Some((repositories.get(&name)?, name, rest)));
    let token = request.header("authorization");
    let Some((repository, name, rest)) = found else {
        return refused(if token.is_some() { 404 } else { 401 }, "RepoNotFound", "Repository not found");
    };
    if token == Some(&format!("Bearer {EXPIRED}")) {
        return refused(401, "", "Invalid credentials in Authorization header");
    }
    if is_api {
        return api(repository, &name, rest, query, hub, page);
    }
    if repository.is_gated && token != Some(&format!("Bearer {TOKEN}")) {
        return refused(if token.is_some() { 403 } else { 401 }, "GatedRepo", "Access to this model is restricted");
    }
    let rest = if cached.is_some() { rest } else { rest.strip_prefix("resolve/").unwrap_or_default() };
    let (revision, file) = rest.split_once('/').unwrap_or((rest, ""));
    if !["main", &repository.commit].contains(&revision) {
        return refused(404, "RevisionNotFound", "Invalid rev id");
    }
    let Some(content) = repository.files.get(file) else { return refused(404, "EntryNotFound", "Entry not found") };
    let digest = repository.digest(file);
    let known = ("X-Repo-Commit", repository.commit.clone());
    if cached.is_some() {
        return ranged(request, content, &digest, known);
    }
    let segments: Vec<String> =
        file.split('/').map(|segment| segment.replace(' ', "%20").replace('#', "%23")).collect();
    if !repository.large.contains(file) {
        let there = format!(
            "/api/resolve-cache/models/{name}/{}/{}?etag=%22{digest}%22",
            repository.commit,
            segments.join("/")
        );
        return Answer::new(307, &[("Location", there), known, ("ETag", format!("\"{digest}\""))], "moved");
    }
    let there = format!("{store}/{name}/{digest}?Expires=1&Signature=s");
    let linked = [("X-Linked-Etag", format!("\"{digest}\"")), ("X-Linked-Size", content.len().to_string())];
    Answer::new(302, &[&[("Location", there), known][..], &linked].concat(), "Found. Redirecting")
}

fn api(repository: &Repository, name: &str, rest: &str, query: &str, hub: &str, page: usize) -> Answer {
    let (kind, revision) = rest.split_once('/').unwrap_or((rest, ""));
    if ["revision", "tree"].contains(&kind) && !["main", "refs/pr/1", &repository.commit].contains(&revision) {
        return refused(404, "RevisionNotFound", "Invalid rev id");
    }
    match kind {
        "revision" | "" => {
            let gated = if repository.is_gated { json!("auto") } else { json!(false) };
            let siblings: Vec<Json> = repository.files.iter().map(|file| repository.sibling(file)).collect();
            let card = json!({"license": "apache-2.0"});
            let info = json!({"id": name, "modelId": name, "sha": repository.commit, "gated": gated, "siblings": siblings,
                              "cardData": card, "private": false, "tags": [], "downloads": 0, "likes": 0});
            reply(&info, &[])
        }
        "tree" => {
            let entries = repository.tree();
            let cursor = query.split('&').find_map(|part| part.strip_prefix("cursor="));
            let start = cursor.map_or(0, |cursor| cursor.parse().unwrap());
            let end = entries.len().min(start + page);
            let next = format!("<{hub}/api/models/{name}/tree/{revision}?recursive=true&cursor={end}>; rel=\"next\"");
            let link = [("Link", next)];
            reply(&Json::from(&entries[start..end]), if end < entries.len() { &link } else { &[] })
        }
        "refs" => {
            let branch = json!({"name": "main", "ref": "refs/heads/main", "targetCommit": repository.commit});
            reply(&json!({"tags": [], "branches": [branch]}), &[])
        }
        _ => refused(404, "", "Not found"),
    }
}

pub(super) fn answer_store(request: &Request, repositories: &BTreeMap<String, Repository>) -> Answer {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    // Signed addresses are refused with another authorization.
    if request.header("authorization").is_some() {
        return Answer::new(400, &[], "<Error/>");
    }
    // A plain server of files, which does not know digests. Its ETag changes with the content.
    if let Some(file) = path.strip_prefix("/web/") {
        let content = repositories.values().find_map(|repository| repository.files.get(file));
        let Some(content) = content else { return Answer::new(404, &[], "no such page") };
        let etag = git_blob(content)[..8].to_owned();
        return ranged(request, content, &etag, ("X-Cache", "Hit".to_owned()));
    }
    if !query.contains("Signature=s") {
        return Answer::new(403, &[], "<Error/>");
    }
    let digest = path.rsplit('/').next().unwrap();
    let all = repositories.values().flat_map(|repository| repository.large.iter().map(move |path| (repository, path)));
    match all.into_iter().find(|(repository, path)| repository.digest(path) == digest) {
        // The store's own ETag is not a digest of the content.
        Some((repository, path)) => ranged(request, &repository.files[path], "store", ("X-Cache", "Hit".to_owned())),
        None => Answer::new(404, &[], "<Error/>"),
    }
}

fn ranged(request: &Request, content: &[u8], etag: &str, extra: (&str, String)) -> Answer {
    let mut headers = vec![("ETag", format!("\"{etag}\"")), ("Accept-Ranges", "bytes".to_owned()), extra];
    match request.first_byte() {
        Some(first) if first < content.len() => {
            headers.push(("Content-Range", format!("bytes {first}-{}/{}", content.len() - 1, content.len())));
            Answer::new(206, &headers, &content[first..])
        }
        Some(_) => Answer::new(416, &[("Content-Range", format!("bytes */{}", content.len()))], ""),
        None => Answer::new(200, &headers, content),
    }
}
