//! Addresses of the web, as far as a download needs them.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// An `http` or `https` address without user and fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebAddress {
    is_secure: bool,
    /// The host, and the port if one is given, in lower case.
    authority: String,
    /// The path and the query, from the first `/`.
    path: String,
}

impl WebAddress {
    /// Reads an absolute address. One with a user, or with characters that need quotes, is refused.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let is_secure = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let rest = rest.split('#').next()?;
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let is_fine = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        let is_host = !authority.is_empty() && !authority.contains(['@', '\\']);
        (is_host && is_fine(authority) && is_fine(&path)).then(|| Self {
            is_secure,
            authority: authority.to_ascii_lowercase(),
            path,
        })
    }

    /// The address that a `Location` header at this address means.
    pub(crate) fn join(&self, location: &str) -> Option<Self> {
        let scheme = if self.is_secure { "https" } else { "http" };
        if location.contains("://") && !location.starts_with('/') {
            Self::parse(location)
        } else if location.starts_with("//") {
            Self::parse(&format!("{scheme}:{location}"))
        } else if location.starts_with('/') {
            Self::parse(&format!("{scheme}://{}{location}", self.authority))
        } else if location.starts_with('?') {
            Self::parse(&format!("{scheme}://{}{}{location}", self.authority, self.path.split('?').next()?))
        } else {
            let folder = self.path.split('?').next()?.rsplit_once('/')?.0;
            Self::parse(&format!("{scheme}://{}{folder}/{location}", self.authority))
        }
    }

    /// Whether requests to both addresses go to the same server.
    pub(crate) fn has_origin_of(&self, other: &Self) -> bool {
        let authority = |address: &Self| {
            let default = if address.is_secure { ":443" } else { ":80" };
            address.authority.strip_suffix(default).unwrap_or(&address.authority).to_owned()
        };
        self.is_secure == other.is_secure && authority(self) == authority(other)
    }

    /// Whether a redirect from this address to another one gives up encryption.
    pub(crate) fn is_weakened_by(&self, other: &Self) -> bool {
        self.is_secure && !other.is_secure
    }

    /// The host with its port, for messages: paths and queries may contain secrets.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    pub(crate) fn url(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority, self.path)
    }
}

/// An address of the public hub, at the hub that is used instead of it.
pub(crate) fn at_endpoint(url: &str, endpoint: &str) -> String {
    match url.strip_prefix("https://huggingface.co/") {
        Some(path) => format!("{}/{path}", endpoint.trim_end_matches('/')),
        None => url.to_owned(),
    }
}

/// A segment of a path with all but plain characters as `%20`.
pub(crate) fn percent_encoded(segment: &str) -> String {
    const OTHERS: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    utf8_percent_encode(segment, &OTHERS).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_relative_to_the_address() {
        let base = WebAddress::parse("https://Hub.example:8443/ns/name/resolve/main/a.gguf?x=1").unwrap();
        for (location, expect) in [
            ("https://store.example/a?Signature=s%3D#f", "https://store.example/a?Signature=s%3D"),
            ("//store.example/a", "https://store.example/a"),
            ("/api/x?etag=%22a%22", "https://hub.example:8443/api/x?etag=%22a%22"),
            ("?x=2", "https://hub.example:8443/ns/name/resolve/main/a.gguf?x=2"),
            ("b.gguf", "https://hub.example:8443/ns/name/resolve/main/b.gguf"),
            ("http://other", "http://other/"),
        ] {
            assert_eq!(base.join(location).map(|address| address.url()).as_deref(), Some(expect), "{location}");
        }
        for location in
            ["file:///etc/passwd", "ftp://x/y", "https://user:secret@x/", "https://", "https://a b/", "/a b", "/ü"]
        {
            assert_eq!(base.join(location), None, "{location}");
        }
    }

    #[test]
    fn origins_differ_by_scheme_host_and_port() {
        let address = |text| WebAddress::parse(text).unwrap();
        let hub = address("https://hub.example/a");
        assert!(hub.has_origin_of(&address("https://HUB.example:443/b")));
        for other in
            ["http://hub.example/", "https://hub.example:444/", "https://hub.example.org/", "https://evil/hub.example"]
        {
            assert!(!hub.has_origin_of(&address(other)), "{other}");
        }
        assert!(hub.is_weakened_by(&address("http://hub.example/")));
    }

    #[test]
    fn segments_are_encoded() {
        assert_eq!(percent_encoded("refs/pr 1#ü"), "refs%2Fpr%201%23%C3%BC");
    }
}
