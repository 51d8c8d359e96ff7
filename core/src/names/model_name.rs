//! The name of a model in a repository of a hub.

use std::borrow::Cow;
use std::fmt;

use percent_encoding::percent_decode_str;

use crate::names::address::{self, AddressName};

/// The longest revision or tag in bytes.
const MAX_PART: usize = 250;

/// The name of a model on a hub: `NAMESPACE/NAME[@REVISION][:TAG]`. The tag is a quantisation, or a file's whole name. The address
/// of a GGUF file, a bundle or a manifest on the web is a name, too.
///
/// ```
/// use causerie::names::ModelName;
///
/// let name = ModelName::parse("https://huggingface.co/ns/name/blob/main/name-Q8_0.gguf").unwrap();
/// assert_eq!(name.to_string(), "ns/name@main:name-Q8_0.gguf");
/// assert_eq!(ModelName::parse("../etc/passwd"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelName {
    /// The owner of the repository.
    pub namespace: String,
    /// The repository's name within its namespace.
    pub name: String,
    /// A branch, a tag of the repository, or a commit; `None` for `main`.
    pub revision: Option<String>,
    /// The quantisation or file; `None` or `latest` for the preferred one.
    pub tag: Option<String>,
    /// The address of a file or a manifest, with `#sha256=` if its digest is given. Namespace and name are made from it, for its
    /// folder in the cache.
    pub address: Option<String>,
}

impl ModelName {
    /// Parses a name; `None` for text that is not a name, so that it never leads to a request or out of the cache.
    ///
    /// ```
    /// # use causerie::names::ModelName;
    /// assert!(ModelName::parse("hf://ns/name@v1:Q4_0").is_some());
    /// assert!(ModelName::parse("models/demo.gguf").is_none());
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(AddressName { namespace, name, address }) = address::parse(text) {
            return Some(Self { namespace, name, revision: None, tag: None, address: Some(address) });
        }
        match Head::strip(text) {
            (Head::None, rest) => Self::parse_plain(rest),
            (Head::Uri, rest) => Self::parse_uri(rest),
            (Head::Web, rest) => Self::parse_web(rest),
        }
    }

    /// `ns/name[@revision][:tag]`
    fn parse_plain(text: &str) -> Option<Self> {
        let (text, tag) = split_tag(text);
        let (repository, revision) = split_revision(text);
        let (namespace, name) = repository.split_once('/')?;
        // The path of a file that does not exist is reported as such, and not looked up in the cache.
        if revision.is_none() && tag.is_none() && name.to_ascii_lowercase().ends_with(".gguf") {
            return None;
        }
        Self::of_parts(namespace, name, revision, tag)
    }

    /// `ns/name[@revision][/path][:tag]`, where a revision has one segment or begins with `refs/`.
    fn parse_uri(text: &str) -> Option<Self> {
        let text = text.strip_prefix("models/").unwrap_or(text);
        let (text, tag) = split_tag(text);
        let (namespace, rest) = text.split_once('/')?;
        let (name, after) = rest.find(['@', '/']).map_or((rest, ""), |at| rest.split_at(at));
        let (revision, path) = match after.strip_prefix('@') {
            Some(after) => {
                let n_segments = if after.starts_with("refs/") { 3 } else { 1 };
                let end = after.match_indices('/').nth(n_segments - 1).map_or(after.len(), |(at, _)| at);
                (Some(&after[..end]), &after[end..])
            }
            None => (None, after),
        };
        match (path.strip_prefix('/').filter(|path| !path.is_empty()), tag) {
            (Some(_), Some(_)) => None,
            (Some(path), None) => Self::of_parts(namespace, name, revision, Some(path)),
            (None, tag) => Self::of_parts(namespace, name, revision, tag),
        }
    }

    /// `ns/name[/(blob|resolve|raw|tree)/revision[/path]]`, as a browser shows it.
    fn parse_web(text: &str) -> Option<Self> {
        let text = text.split(['?', '#']).next()?.trim_end_matches('/');
        let mut segments = text.splitn(5, '/');
        let (namespace, name) = (segments.next()?, segments.next()?);
        match (segments.next(), segments.next(), segments.next()) {
            (None, ..) => {
                let (name, tag) = split_tag(name);
                let (name, revision) = split_revision(name);
                Self::of_parts(namespace, name, revision, tag)
            }
            (Some("blob" | "resolve" | "raw" | "tree"), Some(revision), path) => {
                let (revision, path) = (percent_decoded(revision)?, path.map(percent_decoded));
                let path = match path {
                    Some(decoded) => Some(decoded?),
                    None => None,
                };
                Self::of_parts(namespace, name, Some(&revision), path.as_deref())
            }
            _ => None,
        }
    }

    fn of_parts(namespace: &str, name: &str, revision: Option<&str>, tag: Option<&str>) -> Option<Self> {
        let is_fine = is_plain(namespace)
            && is_plain(name)
            && revision.is_none_or(is_revision)
            && tag.is_none_or(|tag| tag.len() <= MAX_PART && is_plain_path(tag));
        is_fine.then(|| Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            revision: revision.map(str::to_owned),
            tag: tag.map(str::to_owned),
            address: None,
        })
    }

    /// The repository: `NAMESPACE/NAME`.
    ///
    /// ```
    /// # use causerie::names::ModelName;
    /// assert_eq!(ModelName::parse("ns/name:Q4_0").unwrap().repository(), "ns/name");
    /// ```
    pub fn repository(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// The revision, which is `main` if none is given.
    ///
    /// ```
    /// # use causerie::names::ModelName;
    /// assert_eq!(ModelName::parse("ns/name").unwrap().revision(), "main");
    /// ```
    pub fn revision(&self) -> &str {
        self.revision.as_deref().unwrap_or("main")
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(address) = &self.address {
            return f.write_str(address);
        }
        write!(f, "{}/{}", self.namespace, self.name)?;
        self.revision.iter().try_for_each(|revision| write!(f, "@{revision}"))?;
        self.tag.iter().try_for_each(|tag| write!(f, ":{tag}"))
    }
}

/// What a name begins with.
enum Head {
    None,
    Uri,
    Web,
}

impl Head {
    fn strip(text: &str) -> (Self, &str) {
        let strip = |head: &str| {
            let (start, rest) = text.split_at_checked(head.len())?;
            start.eq_ignore_ascii_case(head).then_some(rest)
        };
        let first = |heads: &[&str]| heads.iter().find_map(|head| strip(head));
        if let Some(rest) = first(&["https://huggingface.co/", "https://hf.co/"]) {
            (Self::Web, rest)
        } else if let Some(rest) = first(&["hf://", "hf:", "huggingface:"]) {
            (Self::Uri, rest)
        } else {
            (Self::None, first(&["huggingface.co/", "hf.co/"]).unwrap_or(text))
        }
    }
}

fn split_tag(text: &str) -> (&str, Option<&str>) {
    text.split_once(':').map_or((text, None), |(text, tag)| (text, Some(tag)))
}

fn split_revision(text: &str) -> (&str, Option<&str>) {
    text.split_once('@').map_or((text, None), |(text, revision)| (text, Some(revision)))
}

/// Whether a namespace or name has only the bytes that hubs allow, and cannot lead out of a folder.
fn is_plain(part: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=96).contains(&part.len()) && part.bytes().all(is_fine) && !part.starts_with('.') && !part.ends_with('.')
}

fn is_revision(revision: &str) -> bool {
    let segments = || revision.split('/').all(|part| is_plain(part) && !part.ends_with(".lock"));
    revision.len() <= MAX_PART && segments()
}

/// Whether a path is relative and stays in its folder, by the rules of POSIX and of Windows.
///
/// ```
/// use causerie::names::is_plain_path;
/// assert!(is_plain_path("sub/model.gguf") && !is_plain_path("../model.gguf") && !is_plain_path("C:model.gguf"));
/// ```
pub fn is_plain_path(path: &str) -> bool {
    const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];
    let is_device = |part: &str| {
        let stem = part.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
        DEVICES.contains(&stem.trim_end_matches(|c: char| c.is_ascii_digit())) && stem.len() <= 4
    };
    let is_fine = |part: &str| {
        (1..=255).contains(&part.len())
            && !part.contains(|c: char| c.is_control() || "\\:*?\"<>|".contains(c))
            && !part.ends_with(['.', ' '])
            && !part.starts_with(' ')
            && !is_device(part)
    };
    path.len() <= 1024 && path.split('/').all(is_fine)
}

/// Decodes `%20` and the like; `None` for a `%` without two digits, and for text that is not UTF-8 afterwards.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let is_escape = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    let text = text.split('%').skip(1).all(is_escape).then(|| percent_decode_str(text))?;
    text.decode_utf8().ok().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_escapes_are_decoded() {
        assert_eq!(percent_decoded("a%20b%2fc%C3%BC").as_deref(), Some("a b/c\u{fc}"));
        for text in ["100%", "%4", "%zz", "%%41", "%+1", "%c3%", "%ff"] {
            assert_eq!(percent_decoded(text), None, "{text}");
        }
    }

    #[test]
    fn names_have_many_spellings() {
        for (text, expect) in [
            ("LiquidAI/LFM2-350M", "LiquidAI/LFM2-350M"),
            ("ns/name:q4_k_m", "ns/name:q4_k_m"),
            ("hf.co/ns/name:latest", "ns/name:latest"),
            ("ns/name@v1.0:Q8_0", "ns/name@v1.0:Q8_0"),
            ("ns/name@refs/pr/3", "ns/name@refs/pr/3"),
            ("hf.co/ns/name:Q8_0", "ns/name:Q8_0"),
            ("HuggingFace.co/ns/name", "ns/name"),
            ("hf://ns/name", "ns/name"),
            ("hf://models/ns/name@main/sub/a.gguf", "ns/name@main:sub/a.gguf"),
            ("hf://ns/name@refs/pr/3/a.gguf", "ns/name@refs/pr/3:a.gguf"),
            ("hf:ns/name/a.gguf", "ns/name:a.gguf"),
            ("huggingface:ns/name:Q4_0", "ns/name:Q4_0"),
            ("https://huggingface.co/ns/name/", "ns/name"),
            ("https://huggingface.co/ns/name/tree/main", "ns/name@main"),
            (
                "https://huggingface.co/ns/name/resolve/refs%2Fpr%2F1/a%20b.gguf?download=true",
                "ns/name@refs/pr/1:a b.gguf",
            ),
            ("ns/name:a-Q4_0.gguf", "ns/name:a-Q4_0.gguf"),
        ] {
            let name = ModelName::parse(text);
            assert_eq!(name.as_ref().map(ToString::to_string).as_deref(), Some(expect), "{text}");
            assert_eq!(ModelName::parse(expect), name, "{expect} is read as it is printed");
        }
    }

    #[test]
    fn everything_else_is_not_a_name() {
        let long = format!("a/{}", "b".repeat(97));
        for text in [
            "../etc",
            "a/b/c",
            "a/..",
            "%2e/b",
            "C:\\x",
            "C:/x/y",
            "a/b.",
            "a",
            "/a",
            "a/",
            "a/b\0",
            "x/y.gguf",
            &long,
            "a/b:",
            "a/b@",
            "a/b@..",
            "a/b@x/../y",
            "a/b@/x",
            "a/b:../c",
            "a/b:c\\d",
            "a/b:/c",
            "hf://a",
            "hf://a/b/..",
            "hf://",
            "https://huggingface.co/a/b/discussions/1",
            "https://huggingface.co/a/b/blob/main/%2e%2e/x",
            "https://example.org/a/b",
            "http://huggingface.co/a/b",
            "s3://a/b",
            "~/a",
            "./a",
            "a/b:nul",
            "a/b:x/CON.txt",
            "",
        ] {
            assert_eq!(ModelName::parse(text), None, "{text}");
        }
    }

    #[test]
    fn paths_stay_in_their_folder_on_every_system() {
        for path in ["a", "a/b.gguf", "sub/notes #1.txt", ".gitattributes", "contrast.json", "console", "a..b"] {
            assert!(is_plain_path(path), "{path}");
        }
        for path in [
            "", "/a", "a/", "a//b", "..", "a/../b", ".", "a/.", "C:x", "a\\b", "con", "NUL.txt", "com1", "a\0", "a ",
            "b.",
        ] {
            assert!(!is_plain_path(path), "{path:?}");
        }
        assert!(!is_plain_path(&"a/".repeat(600)));
    }
}
