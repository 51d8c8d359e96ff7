//! Plans for addresses outside of repositories: of one file, or of a manifest that names files by their addresses.

use causerie::Result;
use causerie::names::manifest::{
    AUDIO_DECODER, AUDIO_PROJECTOR, AUDIO_TOKENIZER, FILE_NAME, FILES, MAX_BYTES, MODEL, PROJECTOR,
};
use causerie::names::{ModelName, file_name_of_address};
use serde_json::{Map, Value as Json};

use crate::address::{WebAddress, at_endpoint};
use crate::digest::FileDigest;
use crate::fault::{Trouble, corrupt, network};
use crate::plan::{DownloadPlan, PlannedFile};
use crate::requests::{Requests, ServerAnswer, check_encoding, is_web_page, read_all};
use crate::store::RepositoryStore;

/// Asks the server at an address for the size and the version of a file. The file itself is not read.
pub(crate) fn plan(
    requests: &Requests<'_>,
    store: &RepositoryStore,
    name: &ModelName,
    address: &str,
) -> Result<DownloadPlan, Trouble> {
    let path = file_name_of_address(address);
    let is_file = [".gguf", ".bundle"].iter().any(|end| path.to_ascii_lowercase().ends_with(end));
    let files = if is_file { vec![ask(requests, address, path)?] } else { manifest(requests, address)? };
    let commit = commit(&files);
    let mut noted = store.noted(&commit);
    let with_digest = |found: FoundFile| {
        let known = noted.remove(&found.file.path).filter(|_| matches!(found.file.digest, FileDigest::Unknown(_)));
        match known {
            Some(known) => PlannedFile { digest: known.digest, ..found.file },
            None => found.file,
        }
    };
    Ok(DownloadPlan {
        name: name.to_string(),
        repository: name.repository(),
        license: None,
        is_gated: false,
        files: files.into_iter().map(with_digest).collect(),
        commit,
    })
}

/// Digits that stand for the files as they are now.
fn commit(files: &[FoundFile]) -> String {
    let marks: Vec<String> = files.iter().map(|found| format!("{} {}", found.file.path, found.mark)).collect();
    FileDigest::from_content(marks.join("\n").as_bytes()).hex()[..40].to_owned()
}

struct FoundFile {
    file: PlannedFile,
    /// Changes with the content: the digest, or what the server says of the file.
    mark: String,
}

/// Asks for the size of a file, and for its digest if the address has none.
fn ask(requests: &Requests<'_>, address: &str, path: String) -> Result<FoundFile, Trouble> {
    let url = at_endpoint(address, &requests.endpoint.url());
    let ServerAnswer { response, from, linked } = requests.get(&url, 0, &path)?;
    check_encoding(&response, &from)?;
    let header = |name: &str| response.header(name).unwrap_or_default().trim().to_owned();
    if is_web_page(&response) {
        return Err(corrupt(format!("{} sends a web page for {path}", from.authority())).into());
    }
    let no_size = || network(false, format!("{} must say the size of {path}", from.authority()));
    let size: u64 = header("content-length").parse().map_err(|_| no_size())?;
    let pinned = address.split_once("#sha256=").map(|(_, hex)| FileDigest::Sha256(hex.to_owned()));
    let marks = [address, &size.to_string(), &header("etag"), &header("last-modified")].join("\n");
    let unknown = || FileDigest::Unknown(FileDigest::from_content(marks.as_bytes()).hex().to_owned());
    let digest = pinned.or(linked).unwrap_or_else(unknown);
    let mark = digest.hex().to_owned();
    Ok(FoundFile { file: PlannedFile { url: Some(address.to_owned()), ..PlannedFile::new(&path, size, digest) }, mark })
}

/// Reads a manifest, and asks for its files. In the cache, it names them by their paths.
fn manifest(requests: &Requests<'_>, address: &str) -> Result<Vec<FoundFile>, Trouble> {
    let base = WebAddress::parse(address).ok_or_else(|| network(false, "a manifest must have an address"))?;
    // The address itself may contain secrets.
    let invalid = |rule: String| Trouble::Final(network(false, format!("a manifest of {}: {rule}", base.authority())));
    let url = at_endpoint(address, &requests.endpoint.url());
    let ServerAnswer { response, from, .. } = requests.get(&url, 0, "the manifest")?;
    let body = read_all(response, MAX_BYTES as u64, &from, "the manifest")?;
    let mut manifest: Map<String, Json> =
        serde_json::from_slice(&body).map_err(|_| invalid("it must be a JSON object".to_owned()))?;
    let parameters = manifest.get_mut(FILES).and_then(Json::as_object_mut);
    let parameters = parameters.ok_or_else(|| invalid(format!("{FILES} must be an object")))?;
    let mut files: Vec<FoundFile> = Vec::new();
    for key in [MODEL, PROJECTOR, AUDIO_PROJECTOR, AUDIO_DECODER, AUDIO_TOKENIZER] {
        let location = match parameters.get(key) {
            Some(Json::String(location)) => location.clone(),
            None | Some(Json::Null) if key != MODEL => continue,
            _ => return Err(invalid(format!("{FILES}.{key} must be a string"))),
        };
        let there = base.join(location.strip_prefix("./").unwrap_or(&location));
        let there = there
            .filter(|there| !base.is_weakened_by(there))
            .ok_or_else(|| invalid(format!("{FILES}.{key} must be a safe address, found {location:?}")))?;
        let path = file_name_of_address(&there.url());
        // The first audio models came with a tokenizer in safetensors.
        let is_tensors = key == AUDIO_TOKENIZER && path.to_ascii_lowercase().ends_with(".safetensors");
        let is_known = is_tensors || path.to_ascii_lowercase().ends_with(".gguf");
        if !is_known || files.iter().any(|found| found.file.path == path) {
            return Err(invalid(format!("{FILES}.{key} must be a GGUF file of its own, found {path:?}")));
        }
        parameters.insert(key.to_owned(), format!("./{path}").into());
        files.push(ask(requests, &there.url(), path)?);
    }
    manifest.insert("original_url".to_owned(), address.into());
    let content = format!("{:#}\n", Json::from(manifest));
    let digest = FileDigest::from_content(content.as_bytes());
    let mark = digest.hex().to_owned();
    let file =
        PlannedFile { content: Some(content.clone()), ..PlannedFile::new(FILE_NAME, content.len() as u64, digest) };
    files.insert(0, FoundFile { file, mark });
    Ok(files)
}
