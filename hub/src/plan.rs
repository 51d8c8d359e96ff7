//! What a download fetches: a plan, which is also the entry of a lock file.

use std::path::Path;

use causerie::names::{ModelName, is_plain_path};
use causerie::{ErrorKind, Result, SdkError};
use serde::{Deserialize, Serialize};

use crate::address::{WebAddress, at_endpoint, percent_encoded};
use crate::digest::FileDigest;
use crate::fault::file_error;

/// The `format` of a lock file.
const FORMAT: &str = "causerie/lock";
const FORMAT_VERSION: u32 = 1;

/// The files of one model at one commit. As JSON it survives a restart of the app, and is the entry of a [`ModelLock`].
///
/// ```no_run
/// let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::from_environment()?);
/// let plan = hub.plan("LiquidAI/LFM2-350M-GGUF:Q4_K_M")?;
/// println!("{} bytes, licence {:?}", plan.size(), plan.license);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DownloadPlan {
    /// The name of the model: `NAMESPACE/NAME[@REVISION][:TAG]`, or an address.
    pub name: String,
    /// The repository, `NAMESPACE/NAME`, as the hub spells it; for an address, the name of its folder in the cache.
    pub repository: String,
    /// The commit, by which all files are fetched; for an address, digits that stand for its content.
    pub commit: String,
    /// The licence that the repository states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// Whether an account must accept the repository's conditions first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_gated: bool,
    /// The files, small ones first. Loading takes the first GGUF file, or else the folder.
    pub files: Vec<PlannedFile>,
}

/// A file of a plan.
///
/// ```
/// let json = format!(r#"{{"path": "a.gguf", "size": 3, "sha256": "{}"}}"#, "0".repeat(64));
/// let file: causerie_hub::PlannedFile = serde_json::from_str(&json).unwrap();
/// assert_eq!(file.size, 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlannedFile {
    /// The path in the repository.
    pub path: String,
    /// The size in bytes.
    pub size: u64,
    /// The digest, which the content must have.
    #[serde(flatten)]
    pub digest: FileDigest,
    /// The address, if the file is not one of a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The content of a file that is part of the plan: a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

impl PlannedFile {
    pub(crate) fn new(path: &str, size: u64, digest: FileDigest) -> Self {
        Self { path: path.to_owned(), size, digest, url: None, content: None }
    }

    /// Whether what comes from a file is a plain path, a digest, and an address that can be one.
    fn is_valid(&self) -> bool {
        let is_content = |content: &String| FileDigest::from_content(content.as_bytes()) == self.digest;
        is_plain_path(&self.path)
            && self.digest.is_valid()
            && self.url.as_deref().is_none_or(|url| WebAddress::parse(url).is_some())
            && self.content.as_ref().is_none_or(is_content)
    }
}

impl DownloadPlan {
    /// The size of all files in bytes.
    ///
    /// ```
    /// let lock = causerie_hub::ModelLock::default();
    /// assert_eq!(lock.models.iter().map(|plan| plan.size()).sum::<u64>(), 0);
    /// ```
    pub fn size(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.size))
    }

    /// Parses the JSON of a plan.
    ///
    /// ```
    /// let err = causerie_hub::DownloadPlan::from_json("[]").unwrap_err();
    /// assert_eq!(err.message(), "a plan must be a JSON object with name, repository, commit and files");
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Serialization`].
    pub fn from_json(json: &str) -> Result<Self> {
        let invalid = "a plan must be a JSON object with name, repository, commit and files";
        let plan: Self = serde_json::from_str(json)
            .map_err(|err| SdkError::new(ErrorKind::Serialization, invalid).caused_by(err))?;
        plan.check()?;
        Ok(plan)
    }

    /// The JSON of the plan, for an app that fetches the files in another process.
    ///
    /// ```no_run
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::from_environment()?);
    /// let plan = hub.plan("ns/name")?;
    /// assert_eq!(causerie_hub::DownloadPlan::from_json(&plan.to_json())?, plan);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn to_json(&self) -> String {
        // Strings and integers always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The address of a file at a hub, whose answer redirects to the place where the file is stored.
    ///
    /// ```no_run
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::from_environment()?);
    /// let plan = hub.plan("ns/name")?;
    /// println!("{}", plan.url("https://huggingface.co", &plan.files[0]));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn url(&self, endpoint: &str, file: &PlannedFile) -> String {
        if let Some(url) = &file.url {
            return at_endpoint(url, endpoint);
        }
        let path: Vec<String> = file.path.split('/').map(percent_encoded).collect();
        format!("{}/{}/resolve/{}/{}", endpoint.trim_end_matches('/'), self.repository, self.commit, path.join("/"))
    }

    /// Checks a plan that comes from a file: it must not lead out of the cache.
    pub(crate) fn check(&self) -> Result<()> {
        let invalid =
            |rule: String| SdkError::new(ErrorKind::Serialization, format!("the plan of {}: {rule}", self.name));
        let name = ModelName::parse(&self.name)
            .ok_or_else(|| invalid("name must be NAMESPACE/NAME[@REVISION][:TAG]".to_owned()))?;
        if !name.repository().eq_ignore_ascii_case(&self.repository) {
            return Err(invalid(format!("repository must be {}, found {}", name.repository(), self.repository)));
        }
        if !matches!(FileDigest::parse(&self.commit), Some(FileDigest::GitBlob(commit)) if commit == self.commit) {
            return Err(invalid(format!("commit must have 40 hexadecimal digits, found {}", self.commit)));
        }
        if self.files.is_empty() {
            return Err(invalid("files must not be empty".to_owned()));
        }
        match self.files.iter().find(|file| !file.is_valid()) {
            Some(file) => Err(invalid(format!("{:?} must be a relative path with a digest", file.path))),
            None => Ok(()),
        }
    }

    /// The name, parsed.
    pub(crate) fn model_name(&self) -> Result<ModelName> {
        let invalid = || {
            SdkError::new(ErrorKind::ModelNotFound, format!("{} must be NAMESPACE/NAME[@REVISION][:TAG]", self.name))
        };
        ModelName::parse(&self.name).ok_or_else(invalid)
    }
}

/// A lock file: models at fixed commits, with the digests of all their files. What it describes is planned without a
/// request, and is the same bytes on every machine.
///
/// ```
/// use causerie_hub::ModelLock;
/// let err = ModelLock::from_json("{}").unwrap_err();
/// assert_eq!(err.message(), "a lock file must be JSON with the format \"causerie/lock\"");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelLock {
    format: String,
    format_version: u32,
    /// The models, in the order they were given.
    pub models: Vec<DownloadPlan>,
}

impl Default for ModelLock {
    fn default() -> Self {
        Self { format: FORMAT.to_owned(), format_version: FORMAT_VERSION, models: Vec::new() }
    }
}

impl ModelLock {
    /// A lock file of these models.
    ///
    /// ```
    /// assert_eq!(causerie_hub::ModelLock::new(Vec::new()), causerie_hub::ModelLock::default());
    /// ```
    pub fn new(models: Vec<DownloadPlan>) -> Self {
        Self { models, ..Self::default() }
    }

    /// Parses the JSON of a lock file.
    ///
    /// ```
    /// # use causerie_hub::ModelLock;
    /// let json = ModelLock::default().to_json();
    /// assert_eq!(ModelLock::from_json(&json)?, ModelLock::default());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Serialization`].
    pub fn from_json(json: &str) -> Result<Self> {
        let invalid =
            || SdkError::new(ErrorKind::Serialization, format!("a lock file must be JSON with the format {FORMAT:?}"));
        let value: serde_json::Value = serde_json::from_str(json).map_err(|err| invalid().caused_by(err))?;
        if value.get("format").and_then(serde_json::Value::as_str) != Some(FORMAT) {
            return Err(invalid());
        }
        let lock: Self = serde_json::from_value(value).map_err(|err| invalid().caused_by(err))?;
        if lock.format_version != FORMAT_VERSION {
            let message =
                format!("format_version of a lock file must be {FORMAT_VERSION}, found {}", lock.format_version);
            return Err(SdkError::new(ErrorKind::Serialization, message));
        }
        lock.models.iter().try_for_each(DownloadPlan::check)?;
        Ok(lock)
    }

    /// The JSON of the lock file, which is the same for the same models.
    ///
    /// ```
    /// assert!(causerie_hub::ModelLock::default().to_json().contains("causerie/lock"));
    /// ```
    pub fn to_json(&self) -> String {
        // Strings and integers always serialize.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Reads a lock file.
    ///
    /// ```
    /// assert!(causerie_hub::ModelLock::read("/no/such/models.lock".as_ref()).is_err());
    /// ```
    ///
    /// # Errors
    /// The file cannot be read, or is not a lock file.
    pub fn read(path: &Path) -> Result<Self> {
        let json = std::fs::read_to_string(path).map_err(|err| file_error("read", path, err))?;
        Self::from_json(&json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(change: impl FnOnce(&mut DownloadPlan)) -> String {
        let file = PlannedFile::new("a.gguf", 3, FileDigest::Sha256("0".repeat(64)));
        let mut plan = DownloadPlan {
            name: "ns/name@main:Q4_0".to_owned(),
            repository: "NS/name".to_owned(),
            commit: "a".repeat(40),
            license: None,
            is_gated: false,
            files: vec![file],
        };
        change(&mut plan);
        ModelLock::new(vec![plan]).to_json()
    }

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let plan = ModelLock::from_json(&plan(|_| ())).unwrap().models.remove(0);
        assert_eq!(DownloadPlan::from_json(&plan.to_json()).unwrap(), plan);
        let changed = plan.to_json().replace("a.gguf", "../a.gguf");
        assert_eq!(DownloadPlan::from_json(&changed).unwrap_err().kind(), ErrorKind::Serialization);
    }

    #[test]
    fn a_lock_file_is_read_as_it_was_written() {
        let json = plan(|plan| plan.license = Some("apache-2.0".to_owned()));
        assert_eq!(ModelLock::from_json(&json).unwrap().to_json(), json);
        assert!(json.contains(&format!(r#""sha256": "{}""#, "0".repeat(64))), "{json}");
    }

    #[test]
    fn a_lock_file_cannot_lead_out_of_the_cache() {
        for json in [
            plan(|plan| plan.files[0].path = "../a".to_owned()),
            plan(|plan| plan.files[0].digest = FileDigest::Sha256("../a".to_owned())),
            plan(|plan| plan.files[0].digest = FileDigest::GitBlob("0".repeat(64))),
            plan(|plan| plan.commit = "..".to_owned()),
            plan(|plan| plan.commit = "A".repeat(40)),
            plan(|plan| plan.repository = "../x".to_owned()),
            plan(|plan| plan.name = "/etc".to_owned()),
            plan(|plan| plan.files.clear()),
            plan(|plan| plan.files[0].url = Some("file:///etc/passwd".to_owned())),
            plan(|plan| plan.files[0].content = Some("of another digest".to_owned())),
            plan(|_| ()).replace("\"format_version\": 1", "\"format_version\": 2"),
            plan(|_| ()).replace("sha256", "md5"),
        ] {
            assert_eq!(ModelLock::from_json(&json).unwrap_err().kind(), ErrorKind::Serialization, "{json}");
        }
    }

    #[test]
    fn addresses_are_encoded_by_segment() {
        let json = plan(|plan| plan.files[0].path = "sub/notes #1.gguf".to_owned());
        let lock = ModelLock::from_json(&json).unwrap();
        let url = lock.models[0].url("https://hub/", &lock.models[0].files[0]);
        assert_eq!(url, format!("https://hub/NS/name/resolve/{}/sub/notes%20%231.gguf", "a".repeat(40)));
    }
}
