//! The hosted form: under which path a server is reached, and with whose key.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderMap};

use crate::serve::fault::Fault;
use crate::serve::keys::KeyRing;

/// What makes a server a hosted one.
#[derive(Clone, Debug)]
pub struct Hosted {
    /// What stands before `/v1`. Paths without it are answered as well.
    pub base_path: BasePath,
    /// Who may ask.
    pub auth: Auth,
    /// The keys that are known.
    pub keys: Arc<KeyRing>,
    /// Whether `/metrics` is answered without a key.
    pub open_metrics: bool,
}

/// Who may use a hosted server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// Who has a key of the organization in the base path.
    Private,
    /// Who has a key of any organization.
    Shared,
    /// Everyone.
    Public,
}

impl Auth {
    /// How it is written.
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

    /// The path behind this one; one without it stays as it is.
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
            _ => Err("expected /<org_id>/<app_id>, of letters, digits, -, _, . and ~".to_owned()),
        }
    }
}

impl fmt::Display for BasePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.path)
    }
}

/// Whether a route is for everyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// Also for those without a key: probes have none, and the page asks for one.
    Open,
    /// For everyone only if the settings say so.
    Metrics,
    Keyed,
}

/// The part of a path that says what is asked for.
pub(super) fn strip<'a>(hosted: Option<&Hosted>, path: &'a str) -> &'a str {
    hosted.map_or(path, |hosted| hosted.base_path.strip(path))
}

/// Lets a request pass, or says which key it lacks. A local server looks at none.
pub(super) fn admit(hosted: Option<&Hosted>, door: Door, headers: &HeaderMap) -> Result<(), Fault> {
    let Some(hosted) = hosted else { return Ok(()) };
    if hosted.auth == Auth::Public || door == Door::Open || (door == Door::Metrics && hosted.open_metrics) {
        return Ok(());
    }
    let owner = key(headers)?.and_then(|key| hosted.keys.owner(key));
    let owner =
        owner.ok_or_else(|| unauthorized("invalid_key", "the key is not known: expected Authorization: Key …"))?;
    if hosted.auth == Auth::Private && owner != hosted.base_path.org() {
        let message = "the key belongs to another organization";
        return Err(Fault::new(StatusCode::FORBIDDEN, "key_not_allowed", message));
    }
    Ok(())
}

/// Whose request this is, where keys are asked for: what stands before the colon of the key.
pub(super) fn caller(hosted: Option<&Hosted>, headers: &HeaderMap) -> Option<String> {
    hosted.filter(|hosted| hosted.auth != Auth::Public)?;
    let (id, _) = key(headers).ok()??.split_once(':')?;
    Some(id.to_owned())
}

/// What stands behind `Key`, if the one header is as it should be.
fn key(headers: &HeaderMap) -> Result<Option<&str>, Fault> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    match (values.next(), values.next()) {
        (None, _) => Err(unauthorized("missing_key", "this server asks for the header Authorization: Key …")),
        (Some(value), None) => Ok(value.to_str().ok().and_then(|value| value.strip_prefix("Key "))),
        (Some(_), Some(_)) => Ok(None),
    }
}

fn unauthorized(code: &'static str, message: &str) -> Fault {
    Fault::new(StatusCode::UNAUTHORIZED, code, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::keys::Key;
    use hyper::header::HeaderValue;

    fn hosted(auth: Auth) -> (Hosted, String, String) {
        let ((ours, key), (theirs, foreign)) = (Key::create("acme").unwrap(), Key::create("other").unwrap());
        let keys = Arc::new(KeyRing::fixed(vec![ours, theirs]));
        (Hosted { base_path: "/acme/notes".parse().unwrap(), auth, keys, open_metrics: false }, key, foreign)
    }

    fn ask(hosted: &Hosted, door: Door, values: &[&[u8]]) -> Result<(), &'static str> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
        }
        admit(Some(hosted), door, &headers).map_err(|fault| fault.code())
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
    fn a_private_server_wants_a_key_of_its_organization() {
        let (hosted, key, foreign) = hosted(Auth::Private);
        let good = format!("Key {key}");
        assert_eq!(ask(&hosted, Door::Keyed, &[good.as_bytes()]), Ok(()));
        let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_str(&good).unwrap())]);
        assert_eq!(caller(Some(&hosted), &headers).as_deref(), key.split_once(':').map(|(id, _)| id));
        assert_eq!(ask(&hosted, Door::Keyed, &[]), Err("missing_key"));
        assert_eq!(ask(&hosted, Door::Keyed, &[format!("Key {foreign}").as_bytes()]), Err("key_not_allowed"));
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
            assert_eq!(ask(&hosted, Door::Keyed, &[wrong.as_bytes()]), Err("invalid_key"), "{wrong}");
        }
        assert_eq!(ask(&hosted, Door::Keyed, &[good.as_bytes(), good.as_bytes()]), Err("invalid_key"));
        assert_eq!(ask(&hosted, Door::Open, &[]), Ok(()));
        assert_eq!(ask(&hosted, Door::Metrics, &[]), Err("missing_key"));
        assert_eq!(ask(&Hosted { open_metrics: true, ..hosted }, Door::Metrics, &[]), Ok(()));
    }

    #[test]
    fn a_shared_server_takes_any_key_and_a_public_one_none() {
        let (hosted, _, foreign) = hosted(Auth::Shared);
        assert_eq!(ask(&hosted, Door::Keyed, &[format!("Key {foreign}").as_bytes()]), Ok(()));
        assert_eq!(ask(&hosted, Door::Keyed, &[]), Err("missing_key"));
        let public = Hosted { auth: Auth::Public, ..hosted };
        assert_eq!(ask(&public, Door::Keyed, &[]), Ok(()));
        assert_eq!(ask(&public, Door::Keyed, &[b"Key nonsense"]), Ok(()));
        let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("Key a:b"))]);
        assert_eq!(caller(Some(&public), &headers), None, "a key that is not looked at tells nobody apart");
    }
}
