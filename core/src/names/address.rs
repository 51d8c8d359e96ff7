//! Addresses of files and manifests on the web, as names of models.

use sha2::{Digest, Sha256};

/// The host of the hub, whose repositories have names of their own.
const HUB: &str = "huggingface.co";
/// The longest address in bytes.
const MAX_ADDRESS: usize = 2000;
/// The longest host with its port in bytes.
const MAX_HOST: usize = 80;
/// The longest part of a file's name in the name of its folder.
const MAX_STEM: usize = 60;

/// The parts of a name that is an address.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AddressName {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) address: String,
}

/// Parses the address of a GGUF file, a bundle or a manifest; `None` for anything else. Addresses without encryption are taken
/// for this device only.
pub(super) fn parse(text: &str) -> Option<AddressName> {
    let (address, fragment) =
        text.split_once('#').map_or((text, None), |(address, fragment)| (address, Some(fragment)));
    let (scheme, rest) = address.split_once("://")?;
    let (host, path) = rest.split_at(rest.find('/')?);
    let host = host.to_ascii_lowercase();
    let is_local = ["localhost", "127.0.0.1", "[::1]"].contains(&without_port(&host));
    let is_safe = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http") && is_local;
    let is_host = (1..=MAX_HOST).contains(&host.len())
        && !host.ends_with('.')
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte));
    let is_path = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let file = file_name(path);
    let is_manifest = is_manifest(&file);
    let is_pinned = match fragment {
        None => true,
        Some(fragment) => !is_manifest && fragment.strip_prefix("sha256=").is_some_and(is_sha256),
    };
    let is_of_hub = [HUB, "hf.co"].contains(&&*host);
    let is_taken = is_manifest || !is_of_hub && is_file(&file);
    if !is_safe || !is_host || !is_path || !is_pinned || !is_taken || MAX_ADDRESS < text.len() {
        return None;
    }
    let (host, path) =
        if is_of_hub { (HUB, path.replacen("/blob/", "/resolve/", 1)) } else { (&*host, path.to_owned()) };
    let fragment = fragment.map(|fragment| format!("#{}", fragment.to_ascii_lowercase())).unwrap_or_default();
    let address = format!("{}://{host}{path}{fragment}", scheme.to_ascii_lowercase());
    let digest = format!("{:x}", Sha256::digest(&address));
    let stem: String = file.chars().take(MAX_STEM).collect();
    let (namespace, name) = (format!("at.{}", plain(host)), format!("{}-{}", stem.trim_matches('.'), &digest[..12]));
    Some(AddressName { namespace, name, address })
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    }
}

/// The name under which the file at an address is stored: the end of its path, with `_` for all but plain characters.
///
/// ```
/// use causerie::names::file_name_of_address;
/// assert_eq!(file_name_of_address("https://example.org/a/my%20model.gguf?x=1"), "my_20model.gguf");
/// ```
pub fn file_name_of_address(address: &str) -> String {
    file_name(address.split('#').next().unwrap_or_default())
}

fn file_name(path: &str) -> String {
    plain(path.split('?').next().unwrap_or_default().rsplit('/').next().unwrap_or_default())
}

fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}

fn has_extension(file: &str, extensions: &[&str]) -> bool {
    let extension = file.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| extensions.contains(&&*extension))
}

fn is_file(file: &str) -> bool {
    has_extension(file, &["gguf", "bundle"])
}

/// Whether an address of this file name is that of a manifest: a JSON file, or the service that answers with them.
fn is_manifest(file: &str) -> bool {
    has_extension(file, &["json"]) || file == "model-manifest"
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::model_name::ModelName;

    #[test]
    fn addresses_of_files_and_manifests_are_names() {
        let pin = format!("sha256={}", "AB".repeat(32));
        for (text, expect) in [
            ("HTTPS://Example.org/a/Model-Q4_0.gguf", "https://example.org/a/Model-Q4_0.gguf"),
            ("https://example.org:8443/m.bundle?key=1", "https://example.org:8443/m.bundle?key=1"),
            (
                &*format!("https://example.org/m.gguf#{pin}"),
                &*format!("https://example.org/m.gguf#{}", pin.to_lowercase()),
            ),
            ("http://127.0.0.1:80/m.gguf", "http://127.0.0.1:80/m.gguf"),
            ("http://[::1]:80/m.gguf", "http://[::1]:80/m.gguf"),
            ("https://hf.co/ns/name/blob/main/x/Q4_0.json", "https://huggingface.co/ns/name/resolve/main/x/Q4_0.json"),
            (
                "https://leap.example/api/model-manifest?model_name=LFM2&quantization_method=Q4_0",
                "https://leap.example/api/model-manifest?model_name=LFM2&quantization_method=Q4_0",
            ),
        ] {
            let name = ModelName::parse(text).unwrap_or_else(|| panic!("{text} is a name"));
            assert_eq!(name.to_string(), expect);
            assert_eq!(ModelName::parse(expect).as_ref(), Some(&name), "{expect} is read as it is printed");
            assert!(ModelName::parse(&name.repository()).is_some(), "{}: it names a folder", name.repository());
        }
        let repository = |text: &str| ModelName::parse(text).unwrap().repository();
        let one = repository("https://example.org/a/m.gguf");
        assert!(one.starts_with("at.example.org/m.gguf-"), "{one}");
        assert_ne!(one, repository("https://example.org/b/m.gguf"), "each address has a folder of its own");
    }

    #[test]
    fn other_addresses_are_not_names() {
        for text in [
            "http://example.org/m.gguf",
            "http://127.0.0.1.example.org/m.gguf",
            "ftp://example.org/m.gguf",
            "https://user@example.org/m.gguf",
            "https:///m.gguf",
            "https://example.org/m.gguf#sha256=ab",
            "https://example.org/m.gguf#other",
            "https://example.org/m.exe",
            "https://example.org/m gguf.gguf",
            "https://example.org/a\\m.gguf",
            "https://example.org/ü.gguf",
            "https://example.org",
            &format!("https://example.org/{}.gguf", "a".repeat(3000)),
            &format!("https://example.org/m.json#sha256={}", "a".repeat(64)),
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
