//! Where models come from, where they go, and what the environment says about it.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use causerie::names::cache_folder;
use causerie::names::environment::HubVariables;
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
    /// The user's access token.
    pub token: Option<AccessToken>,
    /// Whether requests are switched off.
    pub is_offline: bool,
    /// How long a transfer may be without a byte before it is tried again.
    pub idle_timeout: Duration,
    /// The pause before a request is tried again, which doubles with each failure in a row.
    pub first_pause: Duration,
    /// Whether a download is refused if the disk has too little space. Quotas and network disks report wrong values.
    pub checks_space: bool,
    /// Whether the files of a model are links to where their contents are stored, so that versions of a model share files. Without
    /// links, a cache can be on a disk that several systems use. Where links cannot be made, none are.
    pub uses_links: bool,
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
            uses_links: true,
        }
    }

    /// Options of the environment, from the variables of Hugging Face's tools: the cache's, `HF_ENDPOINT`,
    /// `HF_TOKEN` or the file of the token, `HF_HUB_OFFLINE`, `HF_HUB_DISABLE_SYMLINKS`.
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
        Self::from_variables(cache.into(), &HubVariables::of_process())
    }

    fn from_variables(cache: PathBuf, environment: &HubVariables<'_>) -> Result<Self> {
        let text = |name: &str| text(environment, name);
        let is_on = |name: &str| {
            text(name).is_some_and(|value| ["1", "true", "yes", "on"].contains(&value.to_ascii_lowercase().as_str()))
        };
        let endpoint = text("HF_ENDPOINT").map(|endpoint| endpoint.trim_end_matches('/').to_owned());
        let token = if is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN") { None } else { token(environment)? };
        Ok(Self {
            endpoint: endpoint.unwrap_or_else(|| ENDPOINT.to_owned()),
            token,
            is_offline: is_on("HF_HUB_OFFLINE") || is_on("TRANSFORMERS_OFFLINE"),
            uses_links: !is_on("HF_HUB_DISABLE_SYMLINKS"),
            ..Self::new(cache)
        })
    }
}

/// The value of a variable, if it has one.
fn text(environment: &HubVariables<'_>, name: &str) -> Option<String> {
    (environment.variable)(name)?.into_string().ok().filter(|value| !value.trim().is_empty())
}

/// The token of the environment, or else of the file that other tools store it in.
fn token(environment: &HubVariables<'_>) -> Result<Option<AccessToken>> {
    let named = |name: &'static str| Some((text(environment, name)?, name));
    // The second name is an older one, which huggingface_hub reads as well.
    if let Some((token, name)) = named("HF_TOKEN").or_else(|| named("HUGGING_FACE_HUB_TOKEN")) {
        return AccessToken::new(&token, name).map(Some);
    }
    let path = environment.path("HF_TOKEN_PATH").or_else(|| Some(environment.tools_folder()?.join("token")));
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
    use std::ffi::OsString;

    use super::*;

    fn options(variables: &[(&str, &str)]) -> Result<HubOptions> {
        let find = |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| OsString::from(value));
        let environment = HubVariables { variable: &find, user_folder: Some("/no/user".into()) };
        HubOptions::from_variables(PathBuf::from("/cache"), &environment)
    }

    #[test]
    fn the_environment_has_the_variables_of_other_tools() {
        let options =
            options(&[("HF_ENDPOINT", "https://mirror.example/"), ("HF_TOKEN", "hf_a\n"), ("HF_HUB_OFFLINE", "Yes")])
                .unwrap();
        assert_eq!(options.endpoint, "https://mirror.example");
        assert_eq!(options.token.unwrap().header(), "Bearer hf_a");
        assert!(options.is_offline && options.uses_links);
        for (value, expect) in [("1", false), ("ON", false), ("true", false), ("0", true), ("", true)] {
            assert_eq!(self::options(&[("HF_HUB_DISABLE_SYMLINKS", value)]).unwrap().uses_links, expect, "{value:?}");
        }
    }

    /// As `huggingface_hub.get_token` decides.
    #[test]
    fn the_older_name_of_the_token_comes_after_the_new_one_and_before_the_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("token"), "hf_file\n").unwrap();
        let home = ("HF_HOME", folder.path().to_str().unwrap());
        let (new, old) = (("HF_TOKEN", "hf_new"), ("HUGGING_FACE_HUB_TOKEN", "hf_old"));
        for (variables, expect) in [
            (&[home, old, new][..], "AccessToken(from HF_TOKEN)"),
            (&[home, old, ("HF_TOKEN", "")], "AccessToken(from HUGGING_FACE_HUB_TOKEN)"),
            (&[home, old], "AccessToken(from HUGGING_FACE_HUB_TOKEN)"),
            (&[home, ("HUGGING_FACE_HUB_TOKEN", " \n")], &format!("AccessToken(from the file {}/token)", home.1)),
        ] {
            assert_eq!(format!("{:?}", options(variables).unwrap().token.unwrap()), expect);
        }
        let disabled = options(&[old, ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")]).unwrap();
        assert_eq!(disabled.token, None);
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
        let parent = folder.path().parent().unwrap().to_str().unwrap();
        let name = folder.path().file_name().unwrap().to_str().unwrap();
        for (variable, value) in [("HF_HOME", "$PARENT/${NAME}"), ("HF_TOKEN_PATH", "${PARENT}/$NAME/token")] {
            let found = token(&[(variable, value), ("PARENT", parent), ("NAME", name)]);
            assert_eq!(found.as_deref(), Some("Bearer hf_file"), "{variable}");
        }
    }

    #[test]
    fn a_token_with_other_characters_is_refused_without_being_shown() {
        let err = options(&[("HF_TOKEN", "hf_secret\nX-Header: 1")]).unwrap_err();
        assert_eq!(err.kind(), access_denied(AccessFault::Token));
        assert!(err.message().contains("HF_TOKEN") && !err.to_string().contains("secret"), "{err}");
    }
}
