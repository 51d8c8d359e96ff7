//! Which host names the server answers to, and which pages may use it.
//!
//! A server on a loopback address is for programs of this machine. Pages of the web reach it too, through the browser:
//! either directly, and then the browser sends their origin, or by DNS rebinding, and then `Host` has a foreign name. Where
//! a key is required, which pages of the web don't have, any host name is accepted: a gateway may have its own.

use std::net::IpAddr;

use hyper::header::{HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::http::uri::{Authority, Uri};
use hyper::{Request, StatusCode};

use crate::access::Auth;
use crate::serve::error::HttpError;
use crate::serve::settings::Settings;

pub(super) struct Guard {
    checks_host: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Guard {
    pub(super) fn new(is_loopback: bool, settings: &Settings) -> Self {
        Self {
            checks_host: is_loopback && !needs_key(settings),
            hosts: settings.allowed_hosts.clone(),
            origins: settings.allowed_origins.iter().filter(|origin| check_origin(origin).is_ok()).cloned().collect(),
        }
    }

    /// Checks host and origin. Returns the origin that may read the response, if a page asks.
    pub(super) fn admit<T>(&self, request: &Request<T>) -> Result<Option<HeaderValue>, HttpError> {
        let host = one(request.headers(), HOST)?;
        let authority = request.uri().authority().cloned();
        let named = host.map(|host| authority_of(host).ok_or_else(|| malformed("host"))).transpose()?;
        if named.is_none() && authority.is_none() {
            return Err(malformed("host"));
        }
        if self.checks_host && ![authority, named].iter().flatten().all(|name| self.is_ours(name)) {
            return Err(HttpError::new(
                StatusCode::FORBIDDEN,
                "host_not_allowed",
                "the host must be localhost; --allow-host adds a name",
            ));
        }
        match one(request.headers(), ORIGIN)? {
            Some(origin) if !self.is_allowed_origin(origin, host) => Err(HttpError::new(
                StatusCode::FORBIDDEN,
                "origin_not_allowed",
                "the origin must be one that may use this server; --allow-origin adds one",
            )),
            origin => Ok(origin.cloned()),
        }
    }

    fn is_ours(&self, name: &Authority) -> bool {
        is_loopback(name.host()) || self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name.host()))
    }

    fn is_allowed_origin(&self, origin: &HeaderValue, host: Option<&HeaderValue>) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        let is_named = |allowed: &String| match allowed.strip_suffix('*') {
            Some(scheme) => origin.starts_with(scheme),
            None => allowed == origin,
        };
        if self.origins.iter().any(is_named) {
            return true;
        }
        let Some(name) = authority_of_origin(origin) else { return false };
        // The server's own page on another machine. Anyone can point a name here, but not an address.
        let is_own =
            || address(name.host()).is_some() && host.is_some_and(|host| host.as_bytes() == name.as_str().as_bytes());
        is_loopback(name.host()) || is_own()
    }
}

/// Whether requests need a key.
fn needs_key(settings: &Settings) -> bool {
    settings.local_keys.is_some() || settings.hosted.as_ref().is_some_and(|hosted| hosted.auth != Auth::Public)
}

/// The value of a header that must not be repeated.
fn one(headers: &HeaderMap, name: hyper::header::HeaderName) -> Result<Option<&HeaderValue>, HttpError> {
    let mut values = headers.get_all(&name).iter();
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(malformed(name.as_str())),
        (value, None) => Ok(value),
    }
}

fn malformed(header: &str) -> HttpError {
    HttpError::new(
        StatusCode::BAD_REQUEST,
        "invalid_header",
        format!("the header {header} must be given once and well-formed"),
    )
}

fn authority_of(value: &HeaderValue) -> Option<Authority> {
    value.to_str().ok()?.parse().ok().filter(|authority: &Authority| !authority.as_str().contains('@'))
}

/// The authority of `http://name:port`, with nothing after it.
fn authority_of_origin(origin: &str) -> Option<Authority> {
    let uri: Uri = origin.parse().ok()?;
    let authority = uri.authority()?;
    let spelled = format!("{}://{authority}", uri.scheme_str()?);
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    (is_web && spelled == origin && !authority.as_str().contains('@')).then(|| authority.clone())
}

fn is_loopback(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost") || address(&host).is_some_and(|address| address.is_loopback())
}

fn address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Checks an origin of the settings: one that a browser sends, or `<scheme>://*` for all origins of a scheme that apps have
/// and pages of the web do not.
///
/// # Errors
/// When the origin would match nothing, or the whole web.
pub fn check_origin(origin: &str) -> Result<(), String> {
    let is_good = origin == "null"
        || origin.split_once("://").is_some_and(|(scheme, name)| match name {
            "*" => !matches!(scheme, "" | "http" | "https"),
            _ => !scheme.is_empty() && !name.is_empty() && !name.contains(['/', '*']),
        });
    let rule = "must be an origin, as https://example.org, or app://* for all of a scheme other than http and https";
    if is_good { Ok(()) } else { Err(rule.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(is_loopback: bool, host: &str, origin: Option<&str>, expect: Result<bool, &str>) {
        let settings = Settings {
            allowed_hosts: vec!["box.lan".into()],
            allowed_origins: ["https://example.org", "app://*", "*", "https://*"].map(str::to_owned).to_vec(),
            ..Settings::default()
        };
        let mut request = Request::builder().uri("/").header(HOST, host);
        if let Some(origin) = origin {
            request = request.header(ORIGIN, origin);
        }
        let admitted = Guard::new(is_loopback, &settings).admit(&request.body(()).unwrap());
        assert_eq!(admitted.map(|origin| origin.is_some()).map_err(|error| error.code()), expect, "{host} {origin:?}");
    }

    #[test]
    fn a_loopback_server_is_reached_under_its_own_names() {
        for host in
            ["localhost", "LOCALHOST:8080", "a.localhost:1", "127.0.0.1:8080", "127.9.9.9", "[::1]:80", "box.lan"]
        {
            check(true, host, None, Ok(false));
        }
        for host in ["evil.com", "localhost.evil.com", "evillocalhost", "192.168.0.1", "localhost.", "0.0.0.0"] {
            check(true, host, None, Err("host_not_allowed"));
            check(false, host, None, Ok(false));
        }
        for host in ["", "local host", "user@localhost"] {
            check(true, host, None, Err("invalid_header"));
        }
    }

    #[test]
    fn pages_of_foreign_origins_are_refused() {
        let allowed = [
            "http://localhost:3000",
            "https://127.0.0.1",
            "http://[::1]:9",
            "https://example.org",
            "app://obsidian.md",
        ];
        for origin in allowed {
            check(true, "localhost", Some(origin), Ok(true));
        }
        for origin in [
            "null",
            "",
            "http://localhost.evil.com",
            "https://evil.com",
            "http://example.org",
            "http://user@localhost",
            "http://localhost/path",
            "file://localhost",
            "https://app://",
            "app:",
        ] {
            check(true, "localhost", Some(origin), Err("origin_not_allowed"));
        }
    }

    #[test]
    fn an_origin_that_would_match_nothing_is_refused() {
        for origin in ["https://example.org", "http://box.lan:3000", "app://obsidian.md", "app://*", "null"] {
            assert_eq!(check_origin(origin), Ok(()));
        }
        for origin in
            ["*", "", "://*", "https://*", "http://*", "https://*.example.org", "https://example.org/", "example.org"]
        {
            assert!(check_origin(origin).is_err(), "{origin}");
        }
    }

    #[test]
    fn a_page_of_the_server_itself_is_allowed_by_address_only() {
        check(false, "192.168.0.7:8080", Some("http://192.168.0.7:8080"), Ok(true));
        check(false, "192.168.0.7:8080", Some("http://192.168.0.8:8080"), Err("origin_not_allowed"));
        check(false, "evil.com:8080", Some("http://evil.com:8080"), Err("origin_not_allowed"));
    }
}
