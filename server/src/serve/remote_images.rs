//! Images that a request names by their addresses. They are fetched before the request is read, and only from hosts that the
//! operator allows; then the request contains them, as if the client had sent them.
//!
//! An allowed name could still lead into the operator's network. So names are resolved first, every address must be public,
//! and the connection goes to an address that was checked. Redirects are followed here, with the same checks.

use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use tokio::sync::Semaphore;
use ureq::Agent;
use ureq::config::Config;
use ureq::http::{StatusCode, Uri};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

use crate::serve::error::HttpError;
use crate::serve::request::fields::RequestFields;
use crate::serve::request::images::address_of;

/// Time for all images of a request.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Requests whose images are fetched at the same time.
const N_FETCHING: usize = 4;
const MAX_REDIRECTS: usize = 3;

/// Fetches images from the hosts that are allowed.
pub(super) struct ImageFetcher {
    /// Names in lower case, some with a port.
    hosts: Vec<String>,
    agent: Agent,
    /// Bytes of all images of a request.
    max_bytes: usize,
    pub(super) permits: Semaphore,
}

impl ImageFetcher {
    pub(super) fn new(hosts: &[String], max_bytes: usize) -> Self {
        Self::with_rule(hosts, max_bytes, is_public)
    }

    fn with_rule(hosts: &[String], max_bytes: usize, is_allowed: fn(IpAddr) -> bool) -> Self {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let config = Agent::config_builder()
            .tls_config(tls.build())
            .user_agent(concat!("causerie/", env!("CARGO_PKG_VERSION")))
            // A proxy would resolve the name itself.
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .build();
        let resolver = CheckedResolver { resolver: DefaultResolver::default(), is_allowed };
        Self {
            hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            agent: Agent::with_parts(config, DefaultConnector::default(), resolver),
            max_bytes,
            permits: Semaphore::new(N_FETCHING),
        }
    }

    /// Replaces the addresses of images in a request by the images. Blocks the calling thread.
    ///
    /// # Errors
    /// For an address of another host or in a private network, and for an image that cannot be fetched within the limits.
    pub(super) fn fetch_all(&self, fields: &mut RequestFields) -> Result<(), HttpError> {
        let mut limits = FetchLimits { deadline: Instant::now() + TIME_LIMIT, n_bytes: self.max_bytes };
        let images = std::mem::take(&mut fields.images);
        for image in images.with_addresses() {
            if let Some(part) = fields.part_mut(image) {
                self.replace(&image.place(), part, &mut limits)?;
            }
        }
        fields.images = images;
        Ok(())
    }

    fn replace(&self, place: &str, part: &mut Json, limits: &mut FetchLimits) -> Result<(), HttpError> {
        let Some((inner, address)) = address_of(part) else { return Ok(()) };
        let place = format!("{place}.{inner}");
        let file = self.fetch(address, limits).map_err(|rule| HttpError::value(&place, format!("{place} {rule}")))?;
        let data = STANDARD.encode(file);
        let image = match part["type"].as_str() {
            Some("image") => ("source", json!({ "type": "base64", "media_type": "image/*", "data": data })),
            Some("image_url") => ("image_url", json!({ "url": data_url(&data) })),
            _ => ("image_url", data_url(&data).into()),
        };
        part[image.0] = image.1;
        Ok(())
    }

    /// The file at an address, or a rule that is broken.
    fn fetch(&self, address: &str, limits: &mut FetchLimits) -> Result<Vec<u8>, String> {
        let mut uri: Uri = address.parse().map_err(|_| "must be a valid address".to_owned())?;
        for _ in 0..=MAX_REDIRECTS {
            self.check_host(&uri)?;
            let left = limits.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(late());
            }
            let request = self.agent.get(uri.clone()).config().timeout_global(Some(left)).build();
            let response = request.header("accept", "image/*").call().map_err(|err| readable(&err))?;
            let status = response.status();
            if status.is_redirection() {
                let location = response.headers().get("location").and_then(|value| value.to_str().ok());
                uri = redirected(&uri, location.unwrap_or_default())?;
                continue;
            }
            if status != StatusCode::OK {
                return Err(format!("must be the address of an image, which answered with status {}", status.as_u16()));
            }
            let mut file = Vec::new();
            let most = limits.n_bytes as u64 + 1; // usize has at most 64 bits
            response.into_body().into_reader().take(most).read_to_end(&mut file).map_err(|err| interrupted(&err))?;
            let too_large = || format!("must be an image within the {} bytes that a request may have", self.max_bytes);
            limits.n_bytes = limits.n_bytes.checked_sub(file.len()).ok_or_else(too_large)?;
            return Ok(file);
        }
        Err(format!("must lead to an image after at most {MAX_REDIRECTS} redirects"))
    }

    fn check_host(&self, uri: &Uri) -> Result<(), String> {
        let (scheme, authority) = (uri.scheme_str().unwrap_or_default(), uri.authority());
        let Some(authority) = authority.filter(|it| ["http", "https"].contains(&scheme) && !it.as_str().contains('@'))
        else {
            return Err("must be an address of http or https, without a user's name".to_owned());
        };
        let host = authority.host().trim_end_matches('.').to_ascii_lowercase();
        let usual = if scheme == "http" { 80 } else { 443 };
        let allowed = match authority.port_u16().filter(|port| *port != usual) {
            Some(port) => format!("{host}:{port}"),
            None => host,
        };
        if self.hosts.contains(&allowed) {
            return Ok(());
        }
        let shown: String = allowed.chars().take(80).collect();
        Err(format!("must be an image or the address of one on a host that --allow-image-urls names, found {shown:?}"))
    }
}

/// What the images of a request may still take.
struct FetchLimits {
    deadline: Instant,
    n_bytes: usize,
}

/// Resolves names to addresses, all of which must be allowed.
#[derive(Debug)]
struct CheckedResolver {
    resolver: DefaultResolver,
    is_allowed: fn(IpAddr) -> bool,
}

impl Resolver for CheckedResolver {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.resolver.resolve(uri, config, timeout)?;
        match found.iter().all(|address| (self.is_allowed)(address.ip())) {
            true => Ok(found),
            false => Err(io::Error::from(io::ErrorKind::PermissionDenied).into()),
        }
    }
}

/// Whether an address is one of the public internet, and nothing that leads elsewhere.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    // Besides the named ones: this network, shared addresses of providers, protocol assignments, benchmarks, reserved ones.
    let is_special = a == 0 || (a == 100 && b & 0xC0 == 64) || (a, b, c) == (192, 0, 0) || (a == 198 && b & 0xFE == 18);
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || is_special
        || 224 <= a)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_global = first & 0xE000 == 0x2000;
    // Assignments for protocols, among them Teredo; documentation; 6to4, which contains an address of the fourth version.
    let is_special =
        first == 0x2001 && (second < 0x200 || second == 0xDB8) || first == 0x2002 || first & 0xFFF0 == 0x3FF0;
    is_global && !is_special
}

fn data_url(data: &str) -> String {
    format!("data:image/*;base64,{data}")
}

/// Where a redirect leads: to a whole address, or to a path of the same host.
fn redirected(from: &Uri, location: &str) -> Result<Uri, String> {
    let unreadable = || "must be the address of an image, not of a redirect without a valid location".to_owned();
    let to: Uri = location.parse().map_err(|_| unreadable())?;
    if to.scheme().is_some() {
        return Ok(to);
    }
    let path = to.into_parts().path_and_query.filter(|_| location.starts_with('/') && !location.starts_with("//"));
    let mut parts = from.clone().into_parts();
    parts.path_and_query = Some(path.ok_or_else(unreadable)?);
    Uri::from_parts(parts).map_err(|_| unreadable())
}

fn readable(err: &ureq::Error) -> String {
    match err {
        ureq::Error::Io(err) => interrupted(err),
        ureq::Error::Timeout(_) => late(),
        ureq::Error::HostNotFound => "must be on a host that exists".to_owned(),
        err => format!("must be an image that can be fetched: {err}"),
    }
}

fn interrupted(err: &io::Error) -> String {
    match err.kind() {
        io::ErrorKind::PermissionDenied => "must be on a public host, found one in a private network".to_owned(),
        io::ErrorKind::TimedOut => late(),
        _ => format!("must be an image that can be fetched: {err}"),
    }
}

fn late() -> String {
    format!("must be an image that arrives within {} seconds", TIME_LIMIT.as_secs())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::serve::dialect::Dialect;

    /// A server that answers each path with one response, until it is dropped with the process. Returns its address.
    fn server(answer: fn(&str) -> String) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let first = lines.next().unwrap_or_default();
                lines.take_while(|line| !line.is_empty()).for_each(drop);
                let path = first.split(' ').nth(1).unwrap_or_default();
                let _ = stream.write_all(answer(path).as_bytes()); // a client that was refused is gone
            }
        });
        address
    }

    fn answer(path: &str) -> String {
        let ok = |body: &str| {
            format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
        };
        let to = |location: &str| {
            format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        };
        match path {
            "/picture" => ok("picture"),
            "/large" => ok(&"x".repeat(200)),
            "/near" => to("/picture"),
            "/round" => to("/round"),
            "/away" => to("http://other.example/picture"),
            "/file" => to("file:///etc/passwd"),
            _ => "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned(),
        }
    }

    fn fields(parts: &Json) -> RequestFields {
        let body = json!({ "messages": [{ "role": "user", "content": parts }] });
        let mut fields = RequestFields::parse(body.to_string().as_bytes()).unwrap();
        crate::serve::request::images::find(&mut fields, None).unwrap();
        fields
    }

    /// The parts after their images are fetched, or the message of the error.
    fn fetched(fetcher: &ImageFetcher, parts: &Json) -> Result<Json, String> {
        let mut fields = fields(parts);
        assert!(fields.images.have_addresses());
        let message = |err: HttpError| err.json(Dialect::Chat, None)["error"]["message"].as_str().unwrap().to_owned();
        fetcher.fetch_all(&mut fields).map_err(message)?;
        Ok(fields.peek("messages").unwrap()[0]["content"].clone())
    }

    #[test]
    fn addresses_of_every_dialect_become_the_images() {
        let host = server(answer);
        let fetcher = ImageFetcher::with_rule(&[host.to_uppercase()], 100, |_| true);
        let url = format!("http://{host}/near");
        let parts = json!([
            { "type": "text", "text": url },
            { "type": "image_url", "image_url": { "url": url, "detail": "low" } },
            { "type": "image_url", "image_url": url },
            { "type": "input_image", "image_url": url },
            { "type": "tool_result", "content": [{ "type": "image", "source": { "type": "url", "url": url } }] },
        ]);
        let data = "data:image/*;base64,cGljdHVyZQ==";
        let found = fetched(&fetcher, &parts).unwrap();
        assert_eq!(found[0], parts[0]);
        assert_eq!(found[1]["image_url"]["url"], data);
        assert_eq!(found[2]["image_url"]["url"], data);
        assert_eq!(found[3]["image_url"], data);
        assert_eq!(found[4]["content"][0]["source"]["data"], "cGljdHVyZQ==");
        assert!(!fields(&json!([{ "type": "image_url", "image_url": { "url": data } }])).images.have_addresses());
    }

    #[test]
    fn what_is_not_allowed_is_refused_by_name() {
        let host = server(answer);
        let fetcher = ImageFetcher::with_rule(std::slice::from_ref(&host), 100, |_| true);
        let refusal = |fetcher: &ImageFetcher, url: &str| {
            fetched(fetcher, &json!([{ "type": "input_image", "image_url": url }])).unwrap_err()
        };
        for (path, expect) in [
            ("large", "within the 100 bytes"),
            ("round", "after at most 3 redirects"),
            ("away", "found \"other.example\""),
            ("file", "a valid location"),
            ("nothing", "answered with status 404"),
        ] {
            let message = refusal(&fetcher, &format!("http://{host}/{path}"));
            assert!(message.starts_with("messages[0].content[0].image_url must "), "{message}");
            assert!(message.contains(expect), "{message}");
        }
        for url in ["http://localhost/picture", "https://user@127.0.0.1/", "http:///x", "http://127.0.0.1/picture"] {
            refusal(&fetcher, url);
        }
        // Allowed by name, but in a private network.
        let message = refusal(&ImageFetcher::new(std::slice::from_ref(&host), 100), &format!("http://{host}/picture"));
        assert!(message.contains("found one in a private network"), "{message}");
    }

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for address in ["93.184.216.34", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "192.0.0.8",
            "198.18.0.1",
            "203.0.113.5",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
            "ff02::1",
            "::7f00:1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }
}
