//! Access control: base path and API keys of a hosted server, API keys of a server on a local network.
//!
//! This layer knows headers and keys, nothing of routes or replies. The service asks it three things: the path without
//! the base path, whether a request may pass, and whose request it is.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hyper::header::{AUTHORIZATION, HeaderMap};

use keys::KeyRing;

pub mod keys;
mod local;
mod requirement;

pub use local::LocalKeys;
pub(crate) use requirement::{AccessError, Requirement};

/// Settings of a hosted server.
#[derive(Clone, Debug)]
pub struct Hosted {
    /// The path before `/v1`. Paths without it are answered as well.
    pub base_path: BasePath,
    /// The organizations whose keys are accepted.
    pub auth: Auth,
    /// The known keys.
    pub keys: Arc<KeyRing>,
    /// Whether `/metrics` is answered without a key.
    pub open_metrics: bool,
}

/// The organizations whose keys a hosted server accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// Keys of the organization in the base path.
    Private,
    /// Keys of any organization.
    Shared,
    /// No key is needed.
    Public,
}

impl Auth {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Shared => "shared",
            Self::Public => "public",
        }
    }
}

/// `/<org_id>/<app_id>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasePath {
    path: String,
    org_len: usize,
}

impl BasePath {
    /// The organization.
    pub fn org(&self) -> &str {
        &self.path[1..=self.org_len]
    }

    fn strip<'a>(&self, path: &'a str) -> &'a str {
        path.strip_prefix(&self.path).filter(|rest| rest.starts_with('/')).unwrap_or(path)
    }
}

impl FromStr for BasePath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_plain = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphanumeric())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.~".contains(c))
        };
        match text.strip_prefix('/').and_then(|names| names.split_once('/')) {
            Some((org, app)) if is_plain(org) && is_plain(app) => {
                Ok(Self { path: text.to_owned(), org_len: org.len() })
            }
            _ => Err("must be /<org_id>/<app_id>, of letters, digits, -, _, . and ~".to_owned()),
        }
    }
}

impl fmt::Display for BasePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.path)
    }
}

impl Hosted {
    /// The path without the base path; a path that lacks it stays as it is.
    pub(crate) fn strip<'a>(&self, path: &'a str) -> &'a str {
        self.base_path.strip(path)
    }

    /// Checks the key of a request.
    pub(crate) fn check(&self, requirement: Requirement, headers: &HeaderMap) -> Result<(), AccessError> {
        let is_open = match requirement {
            Requirement::Nothing => true,
            Requirement::MetricsKey => self.open_metrics,
            Requirement::Key => false,
        };
        if is_open || self.auth == Auth::Public {
            return Ok(());
        }
        let owner = key(headers)?.and_then(|key| self.keys.owner(key)).ok_or(AccessError::InvalidKey)?;
        if self.auth == Auth::Private && owner != self.base_path.org() {
            return Err(AccessError::OtherOrganization);
        }
        Ok(())
    }

    /// The id of the caller's key, where keys are asked for: the part before the colon.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Option<String> {
        if self.auth == Auth::Public {
            return None;
        }
        let (id, _) = key(headers).ok()??.split_once(':')?;
        Some(id.to_owned())
    }
}

/// The text after `Key`, if the header stands once and is well-formed.
fn key(headers: &HeaderMap) -> Result<Option<&str>, AccessError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    match (values.next(), values.next()) {
        (None, _) => Err(AccessError::MissingKey),
        (Some(value), None) => Ok(value.to_str().ok().and_then(|value| value.strip_prefix("Key "))),
        (Some(_), Some(_)) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;
    use keys::Key;

    fn hosted(auth: Auth) -> (Hosted, String, String) {
        let ((ours, key), (theirs, foreign)) = (Key::create("acme").unwrap(), Key::create("other").unwrap());
        let keys = Arc::new(KeyRing::fixed(vec![ours, theirs]));
        (Hosted { base_path: "/acme/notes".parse().unwrap(), auth, keys, open_metrics: false }, key, foreign)
    }

    fn ask(hosted: &Hosted, requirement: Requirement, values: &[&[u8]]) -> Result<(), AccessError> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
        }
        hosted.check(requirement, &headers)
    }

    #[test]
    fn a_base_path_names_an_organization_and_an_app() {
        let path: BasePath = "/acme/notes-2".parse().unwrap();
        assert_eq!((path.org(), path.to_string().as_str()), ("acme", "/acme/notes-2"));
        for (asked, expect) in [
            ("/acme/notes-2/v1/models", "/v1/models"),
            ("/acme/notes-2/", "/"),
            ("/v1/models", "/v1/models"),
            ("/acme/notes-22/v1/models", "/acme/notes-22/v1/models"),
            ("/acme/notes-2", "/acme/notes-2"),
        ] {
            assert_eq!(path.strip(asked), expect);
        }
        for wrong in ["", "/", "/a", "a/b", "/a/", "//b", "/a/b/", "/a/b/c", "/../b", "/a/b c", "/a/%2e", "/é/b"] {
            assert!(wrong.parse::<BasePath>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_private_server_accepts_keys_of_its_organization() {
        let (hosted, key, foreign) = hosted(Auth::Private);
        let good = format!("Key {key}");
        assert_eq!(ask(&hosted, Requirement::Key, &[good.as_bytes()]), Ok(()));
        let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_str(&good).unwrap())]);
        assert_eq!(hosted.caller(&headers).as_deref(), key.split_once(':').map(|(id, _)| id));
        assert_eq!(ask(&hosted, Requirement::Key, &[]), Err(AccessError::MissingKey));
        assert_eq!(
            ask(&hosted, Requirement::Key, &[format!("Key {foreign}").as_bytes()]),
            Err(AccessError::OtherOrganization)
        );
        for wrong in [
            format!("Bearer {key}"),
            format!("key {key}"),
            format!("KEY {key}"),
            format!("Key  {key}"),
            format!("Key {key} "),
            "Key".to_owned(),
            "Key ".to_owned(),
            key.clone(),
            good[..good.len() - 1].to_owned(),
            format!("Key {key}é"),
        ] {
            assert_eq!(ask(&hosted, Requirement::Key, &[wrong.as_bytes()]), Err(AccessError::InvalidKey), "{wrong}");
        }
        assert_eq!(ask(&hosted, Requirement::Key, &[good.as_bytes(), good.as_bytes()]), Err(AccessError::InvalidKey));
        assert_eq!(ask(&hosted, Requirement::Nothing, &[]), Ok(()));
        assert_eq!(ask(&hosted, Requirement::MetricsKey, &[]), Err(AccessError::MissingKey));
        assert_eq!(ask(&Hosted { open_metrics: true, ..hosted }, Requirement::MetricsKey, &[]), Ok(()));
    }

    #[test]
    fn a_shared_server_accepts_any_key_and_a_public_one_needs_none() {
        let (hosted, _, foreign) = hosted(Auth::Shared);
        assert_eq!(ask(&hosted, Requirement::Key, &[format!("Key {foreign}").as_bytes()]), Ok(()));
        assert_eq!(ask(&hosted, Requirement::Key, &[]), Err(AccessError::MissingKey));
        let public = Hosted { auth: Auth::Public, ..hosted };
        assert_eq!(ask(&public, Requirement::Key, &[]), Ok(()));
        assert_eq!(ask(&public, Requirement::Key, &[b"Key nonsense"]), Ok(()));
        let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("Key a:b"))]);
        assert_eq!(public.caller(&headers), None, "a key that is not checked identifies nobody");
    }
}
