//! Where models come from, where they go, and what the environment says about it.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use causerie::names::cache_folder;
use causerie::{AccessFault, DownloadFault, ErrorKind, Result, SdkError};

use crate::fault::{access_denied, storage};

/// The endpoint that is used if nothing else is given.
const ENDPOINT: &str = "https://huggingface.co";

/// Options of a [`Hub`](crate::Hub).
///
/// ```
/// use causerie_hub::HubOptions;
/// let options = HubOptions::new("/cache");
/// assert_eq!(options.endpoint, "https://huggingface.co");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HubOptions {
    /// The folder of the cache, which other tools share.
    pub cache: PathBuf,
    /// The address of the hub.
    pub endpoint: String,
    /// What the hub knows the user by.
    pub token: Option<AccessToken>,
    /// Whether requests are switched off.
    pub is_offline: bool,
    /// How long a transfer may be without a byte before it is tried again.
    pub idle_timeout: Duration,
    /// The pause before a request is tried again, which doubles with each failure in a row.
    pub first_pause: Duration,
    /// Whether a download is refused if the disk has too little space. Quotas and network disks report wrong values.
    pub checks_space: bool,
}

impl HubOptions {
    /// Options with this cache and nothing from the environment.
    ///
    /// ```
    /// assert!(!causerie_hub::HubOptions::new("/cache").is_offline);
    /// ```
    pub fn new(cache: impl Into<PathBuf>) -> Self {
        Self {
            cache: cache.into(),
            endpoint: ENDPOINT.to_owned(),
            token: None,
            is_offline: false,
            idle_timeout: Duration::from_secs(30),
            first_pause: Duration::from_secs(1),
            checks_space: true,
        }
    }

    /// Options of the environment, whose variables are those of Hugging Face's tools: the cache's, `HF_ENDPOINT`,
    /// `HF_TOKEN` or the file of the token, `HF_HUB_OFFLINE`.
    ///
    /// ```
    /// let options = causerie_hub::HubOptions::from_environment()?;
    /// println!("models go to {}", options.cache.display());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// There is no folder for the cache, or the token has characters that no token has.
    pub fn from_environment() -> Result<Self> {
        let no_folder = || storage("HF_HUB_CACHE, HF_HOME or the home folder must be set, found none of them", None);
        Self::from_environment_with_cache(cache_folder().ok_or_else(no_folder)?)
    }

    /// Options of the environment, with a cache that the app chooses.
    ///
    /// ```
    /// let options = causerie_hub::HubOptions::from_environment_with_cache("/app/models")?;
    /// assert_eq!(options.cache, std::path::Path::new("/app/models"));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// The token has characters that no token has.
    pub fn from_environment_with_cache(cache: impl Into<PathBuf>) -> Result<Self> {
        Self::from_variables(cache.into(), &|name| env::var_os(name))
    }

    fn from_variables(cache: PathBuf, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Self> {
        let text =
            |name: &str| variable(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty());
        let is_on = |name: &str| {
            text(name).is_some_and(|value| ["1", "true", "yes", "on"].contains(&value.to_ascii_lowercase().as_str()))
        };
        let endpoint = text("HF_ENDPOINT").map(|endpoint| endpoint.trim_end_matches('/').to_owned());
        Ok(Self {
            endpoint: endpoint.unwrap_or_else(|| ENDPOINT.to_owned()),
            token: token(&text, is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN"))?,
            is_offline: is_on("HF_HUB_OFFLINE") || is_on("TRANSFORMERS_OFFLINE"),
            ..Self::new(cache)
        })
    }
}

/// The token of the environment, or else of the file that other tools store it in.
fn token(text: &dyn Fn(&str) -> Option<String>, is_disabled: bool) -> Result<Option<AccessToken>> {
    if is_disabled {
        return Ok(None);
    }
    if let Some(token) = text("HF_TOKEN") {
        return AccessToken::new(&token, "HF_TOKEN").map(Some);
    }
    let home = || {
        let home = text("HF_HOME").map(PathBuf::from);
        let cache = || Some(PathBuf::from(text("XDG_CACHE_HOME")?).join("huggingface"));
        home.or_else(cache)
            .or_else(|| Some(PathBuf::from(text("HOME").or_else(|| text("USERPROFILE"))?).join(".cache/huggingface")))
    };
    let path = text("HF_TOKEN_PATH").map(PathBuf::from).or_else(|| Some(home()?.join("token")));
    match path.and_then(|path| Some((fs::read_to_string(&path).ok()?, path))) {
        Some((token, path)) if !token.trim().is_empty() => {
            AccessToken::new(&token, &format!("the file {}", path.display())).map(Some)
        }
        _ => Ok(None),
    }
}

/// What a hub knows a user by. It is never printed.
///
/// ```
/// let token = causerie_hub::AccessToken::new(" hf_abc\n", "HF_TOKEN")?;
/// assert_eq!(format!("{token:?}"), "AccessToken(from HF_TOKEN)");
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken {
    text: String,
    source: String,
}

impl AccessToken {
    /// A token, without the white space around it. `source` says in messages where it comes from.
    ///
    /// ```
    /// assert!(causerie_hub::AccessToken::new("two words", "the settings").is_err());
    /// ```
    ///
    /// # Errors
    /// It has characters that no token has.
    pub fn new(text: &str, source: &str) -> Result<Self> {
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!("the token from {source} must be one word of ASCII characters");
            return Err(SdkError::new(access_denied(AccessFault::Token), message));
        }
        Ok(Self { text: text.to_owned(), source: source.to_owned() })
    }

    pub(crate) fn header(&self) -> String {
        format!("Bearer {}", self.text)
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccessToken(from {})", self.source)
    }
}

/// The error of a name that the cache does not have, if requests are switched off.
pub(crate) fn offline(name: &str) -> SdkError {
    let message =
        format!("{name} is not in the local cache, and requests are switched off (--offline, HF_HUB_OFFLINE)");
    SdkError::new(ErrorKind::Download(DownloadFault::Offline), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(variables: &[(&str, &str)]) -> Result<HubOptions> {
        let find = |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| OsString::from(value));
        HubOptions::from_variables(PathBuf::from("/cache"), &find)
    }

    #[test]
    fn the_environment_has_the_variables_of_other_tools() {
        let options =
            options(&[("HF_ENDPOINT", "https://mirror.example/"), ("HF_TOKEN", "hf_a\n"), ("HF_HUB_OFFLINE", "Yes")])
                .unwrap();
        assert_eq!(options.endpoint, "https://mirror.example");
        assert_eq!(options.token.unwrap().header(), "Bearer hf_a");
        assert!(options.is_offline);
    }

    #[test]
    fn a_token_is_read_from_its_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("token"), "hf_file\n").unwrap();
        let home = folder.path().to_str().unwrap();
        let token = |variables: &[(&str, &str)]| options(variables).unwrap().token.map(|token| token.header());
        assert_eq!(token(&[("HF_HOME", home)]).as_deref(), Some("Bearer hf_file"));
        assert_eq!(token(&[("HF_HOME", home), ("HF_TOKEN", "hf_variable")]).as_deref(), Some("Bearer hf_variable"));
        assert_eq!(token(&[("HF_HOME", home), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")]), None);
        assert_eq!(token(&[("HF_TOKEN_PATH", "/no/such/file"), ("HF_HOME", home)]), None);
    }

    #[test]
    fn a_token_with_other_characters_is_refused_without_being_shown() {
        let err = options(&[("HF_TOKEN", "hf_secret\nX-Header: 1")]).unwrap_err();
        assert_eq!(err.kind(), access_denied(AccessFault::Token));
        assert!(err.message().contains("HF_TOKEN") && !err.to_string().contains("secret"), "{err}");
    }
}
