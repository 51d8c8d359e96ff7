//! What a hub's API says about a repository.

use std::collections::BTreeMap;

use causerie::Result;
use causerie::names::{ListedFile, ModelName, is_plain_path};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::address::percent_encoded;
use crate::digest::FileDigest;
use crate::fault::{Trouble, network};
use crate::requests::Requests;

/// Pages of a listing that are read.
const MAX_PAGES: usize = 50;

/// A commit of a repository.
#[derive(Debug)]
pub(crate) struct RepositoryInfo {
    /// The repository as the hub spells it.
    pub(crate) id: String,
    pub(crate) commit: String,
    pub(crate) license: Option<String>,
    pub(crate) is_gated: bool,
}

/// The size and digest of a file in a repository.
#[derive(Clone, Debug)]
pub(crate) struct RepositoryFile {
    pub(crate) size: u64,
    pub(crate) digest: FileDigest,
}

#[derive(Deserialize)]
struct InfoAnswer {
    #[serde(default)]
    id: String,
    sha: String,
    #[serde(default)]
    gated: Json,
    #[serde(default, rename = "cardData")]
    card: Json,
    #[serde(default)]
    tags: Vec<String>,
}

/// Asks for the commit that a revision means now.
pub(crate) fn info(requests: &Requests<'_>, name: &ModelName) -> Result<RepositoryInfo, Trouble> {
    let repository = name.repository();
    let url = format!("{}/revision/{}", api(requests, &repository), percent_encoded(name.revision()));
    let what = format!("{repository}@{}", name.revision());
    let (body, _) = requests.json(&url, &what)?;
    let invalid = |rule: &str| {
        network(
            false,
            format!("{} answers for {what} with an invalid description: {rule}", requests.endpoint.authority()),
        )
    };
    let answer: InfoAnswer =
        serde_json::from_slice(&body).map_err(|err| invalid("not the JSON of a repository").caused_by(err))?;
    let Some(FileDigest::GitBlob(commit)) = FileDigest::parse(&answer.sha) else {
        return Err(invalid("its commit must have 40 hexadecimal digits").into());
    };
    let tagged = || answer.tags.iter().find_map(|tag| tag.strip_prefix("license:"));
    let license = answer.card.get("license").and_then(Json::as_str).or_else(tagged);
    // A renamed repository stays where the user will look for it.
    let id = if answer.id.eq_ignore_ascii_case(&repository) { answer.id.clone() } else { repository };
    Ok(RepositoryInfo {
        id,
        commit,
        license: license.map(str::to_owned),
        is_gated: !matches!(answer.gated, Json::Null | Json::Bool(false)),
    })
}

#[derive(Deserialize)]
struct TreeEntry {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    #[serde(default)]
    oid: String,
    #[serde(default)]
    size: u64,
    lfs: Option<LargeFile>,
}

#[derive(Deserialize)]
struct LargeFile {
    oid: String,
    size: u64,
}

/// The files of a commit. Those with a path that leads out of a folder, or with a digest that is not one, are left out.
pub(crate) fn files(
    requests: &Requests<'_>,
    id: &str,
    commit: &str,
) -> Result<BTreeMap<String, RepositoryFile>, Trouble> {
    let what = format!("the listing of {id}");
    let mut files = BTreeMap::new();
    let mut next = Some(format!("{}/tree/{commit}?recursive=true", api(requests, id)));
    for _ in 0..MAX_PAGES {
        let Some(url) = next else { return Ok(files) };
        let (body, following) = requests.json(&url, &what)?;
        let invalid = |err| network(false, format!("{what} must be a JSON array of files")).caused_by(err);
        let entries: Vec<TreeEntry> = serde_json::from_slice(&body).map_err(invalid)?;
        files.extend(entries.into_iter().filter_map(file));
        next = following;
    }
    Err(Trouble::Final(network(false, format!("{what} has more than {MAX_PAGES} pages"))))
}

fn file(entry: TreeEntry) -> Option<(String, RepositoryFile)> {
    let (size, digest) = match &entry.lfs {
        Some(large) => {
            (large.size, FileDigest::parse(&large.oid).filter(|digest| matches!(digest, FileDigest::Sha256(_)))?)
        }
        None => (entry.size, FileDigest::parse(&entry.oid).filter(|digest| matches!(digest, FileDigest::GitBlob(_)))?),
    };
    (entry.kind == "file" && is_plain_path(&entry.path)).then_some((entry.path, RepositoryFile { size, digest }))
}

/// The listing in the form that the choice of files takes.
pub(crate) fn listed(files: &BTreeMap<String, RepositoryFile>) -> Vec<ListedFile> {
    files.iter().map(|(path, file)| ListedFile { path: path.clone(), size: file.size }).collect()
}

fn api(requests: &Requests<'_>, repository: &str) -> String {
    let endpoint = requests.endpoint.url();
    format!("{}/api/models/{repository}", endpoint.trim_end_matches('/'))
}
