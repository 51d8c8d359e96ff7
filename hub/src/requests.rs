//! Requests to a hub and to the stores behind it: redirects, the token, refusals.

use std::io::{self, Read};
use std::time::Duration;

use causerie::{AccessFault, DownloadFault, ErrorKind, Result, SdkError};

use crate::address::WebAddress;
use crate::digest::FileDigest;
use crate::fault::{Trouble, access_denied, corrupt, network};
use crate::options::AccessToken;
use crate::transport::{HttpRequest, HttpResponse, Transport};

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 5;
/// The largest answer of an API in bytes.
const MAX_ANSWER: u64 = 16 << 20;
/// The longest wait that a server may ask for.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// Sends requests to one hub.
pub(crate) struct Requests<'a> {
    pub(crate) transport: &'a dyn Transport,
    pub(crate) endpoint: WebAddress,
    pub(crate) token: Option<&'a AccessToken>,
    /// The page of the repository, where a person accepts its conditions.
    pub(crate) page: String,
}

/// An answer with a successful status, and who gave it.
pub(crate) struct ServerAnswer {
    pub(crate) response: HttpResponse,
    pub(crate) from: WebAddress,
    /// What a redirect of a hub said of the file: its SHA-256.
    pub(crate) linked: Option<FileDigest>,
}

impl Requests<'_> {
    /// Gets the content at an address, from a byte of it on; follows redirects. `what` names it in messages.
    pub(crate) fn get(&self, url: &str, first_byte: u64, what: &str) -> Result<ServerAnswer, Trouble> {
        let invalid = || network(false, format!("the address of {what} must be http or https"));
        let mut address = WebAddress::parse(url).ok_or_else(invalid)?;
        let mut linked = None;
        for n_redirects in 0..=MAX_REDIRECTS {
            let response = self.send(&address, first_byte)?;
            match response.status {
                200..=299 => return Ok(ServerAnswer { response, from: address, linked }),
                301 | 302 | 303 | 307 | 308 => {
                    let digest = response.header("x-linked-etag").map(|etag| etag.trim_matches('"'));
                    let digest = digest.and_then(FileDigest::parse);
                    linked = linked.or(digest.filter(|digest| matches!(digest, FileDigest::Sha256(_))));
                    address = self.redirected(&address, &response, what)?;
                }
                _ => return Err(self.refusal(&address, 0 < n_redirects, response, what)),
            }
        }
        Err(Trouble::Final(network(
            false,
            format!("{} redirects {what} more than {MAX_REDIRECTS} times", address.authority()),
        )))
    }

    fn send(&self, address: &WebAddress, first_byte: u64) -> Result<HttpResponse, Trouble> {
        let mut headers = Vec::new();
        if 0 < first_byte {
            headers.push(("range", format!("bytes={first_byte}-")));
        }
        // No other server gets the token, not even one that the hub redirects to.
        let token = self.token.filter(|_| address.has_origin_of(&self.endpoint));
        headers.extend(token.map(|token| ("authorization", token.header())));
        self.transport.get(&HttpRequest { url: address.url(), headers }).map_err(|err| unreachable_server(address, err))
    }

    fn redirected(&self, from: &WebAddress, response: &HttpResponse, what: &str) -> Result<WebAddress, Trouble> {
        let location = response.header("location").and_then(|location| from.join(location));
        match location {
            Some(to) if from.is_weakened_by(&to) => Err(Trouble::Final(network(
                false,
                format!("{} redirects {what} to an address without encryption", from.authority()),
            ))),
            Some(to) => Ok(to),
            None => Err(Trouble::Final(network(
                false,
                format!("{} redirects {what} to an invalid address", from.authority()),
            ))),
        }
    }

    /// Gets an answer of the hub's API, and the address of its next page.
    pub(crate) fn json(&self, url: &str, what: &str) -> Result<(Vec<u8>, Option<String>), Trouble> {
        let ServerAnswer { response, from, .. } = self.get(url, 0, what)?;
        let next = response.header("link").and_then(next_page).map(str::to_owned);
        // Mirrors name pages of the hub that they mirror.
        let next = match next.map(|next| from.join(&next)) {
            Some(Some(next)) if !from.is_weakened_by(&next) => Some(next.url()),
            Some(_) => {
                return Err(Trouble::Final(network(false, format!("{what} must have a next page at a safe address"))));
            }
            None => None,
        };
        let body = read_all(response, MAX_ANSWER, &from, what)?;
        Ok((body, next))
    }

    /// Gets a number of bytes from the beginning of a file, which has as many.
    pub(crate) fn beginning(&self, url: &str, n_bytes: u64, what: &str) -> Result<Vec<u8>, Trouble> {
        let ServerAnswer { response, from, .. } = self.get(url, 0, what)?;
        check_encoding(&response, &from)?;
        if is_web_page(&response) {
            let message = format!("{} sends a web page (text/html) for {what}", from.authority());
            return Err(Trouble::Passing(corrupt(message), None));
        }
        let mut bytes = Vec::new();
        let read = response.body.take(n_bytes).read_to_end(&mut bytes);
        read.map_err(|err| broken_connection(&from, err))?;
        match (bytes.len() as u64) < n_bytes {
            true => Err(broken_connection(&from, io::ErrorKind::UnexpectedEof.into())),
            false => Ok(bytes),
        }
    }

    /// Why a server answers with a status of 400 or more.
    fn refusal(&self, from: &WebAddress, is_redirected: bool, response: HttpResponse, what: &str) -> Trouble {
        let (status, host) = (response.status, from.authority().to_owned());
        let says = response.header("x-error-message").map(|text| format!(": {}", short(text))).unwrap_or_default();
        let message = format!("{host} answers {status} for {what}{says}");
        let is_hub = from.has_origin_of(&self.endpoint);
        match (status, response.header("x-error-code").unwrap_or_default()) {
            (429, _) => rate_limited(&response, &message),
            (408 | 425 | 500.., _) => Trouble::Passing(network(true, message), None),
            // The address of a store is valid for about an hour; the hub gives a new one.
            (401 | 403 | 410, _) if !is_hub && is_redirected => {
                Trouble::Passing(network(true, message), Some(Duration::ZERO))
            }
            (401 | 403, _) if !is_hub => Trouble::Final(SdkError::new(access_denied(AccessFault::Forbidden), message)),
            (401 | 403, code) => Trouble::Final(self.denial(status, code, &says, what)),
            (416, _) => Trouble::OutOfRange(network(false, message)),
            (404, "RevisionNotFound") => not_found(format!("{what}: the repository has no such revision")),
            (404, "EntryNotFound") => not_found(format!("{what}: the repository has no such file")),
            (404, _) if is_hub => not_found(format!("{message}: the repository does not exist")),
            (404 | 410, _) => not_found(message),
            _ => Trouble::Final(network(false, message)),
        }
    }

    /// What a person can do about 401 and 403.
    fn denial(&self, status: u16, code: &str, says: &str, what: &str) -> SdkError {
        let page = &self.page;
        let source = self.token.map(AccessToken::source);
        let (fault, advice) = match (code, status, source) {
            ("GatedRepo", _, None) => (
                AccessFault::Conditions,
                format!(
                    "its conditions must be accepted at {page} by an account, and a token of that account must be in HF_TOKEN"
                ),
            ),
            ("GatedRepo", _, Some(source)) => (
                AccessFault::Conditions,
                format!("the account of the token from {source} must accept its conditions at {page}"),
            ),
            (_, 401, Some(source)) if says.contains("nvalid credentials") || code.is_empty() => {
                (AccessFault::Token, format!("the token from {source} is not valid; create a new one, or remove it"))
            }
            (_, 401, None) => (
                AccessFault::SignIn,
                "the repository does not exist, or it is private and needs a token in HF_TOKEN".to_owned(),
            ),
            (_, _, Some(source)) => (
                AccessFault::Forbidden,
                format!("the repository does not exist, or the token from {source} gives no access to it"),
            ),
            _ => (AccessFault::Forbidden, "the hub does not say why".to_owned()),
        };
        SdkError::new(access_denied(fault), format!("access to {what} is denied ({status}): {advice}"))
    }
}

/// Reads a body to its end, at most a number of bytes.
pub(crate) fn read_all(response: HttpResponse, most: u64, from: &WebAddress, what: &str) -> Result<Vec<u8>, Trouble> {
    let expected = response.header("content-length").and_then(|length| length.parse::<u64>().ok());
    check_encoding(&response, from)?;
    let mut body = Vec::new();
    let read = response.body.take(most + 1).read_to_end(&mut body);
    read.map_err(|err| broken_connection(from, err))?;
    let length = body.len() as u64;
    if most < length {
        return Err(Trouble::Final(network(
            false,
            format!("{} sends more than {most} bytes for {what}", from.authority()),
        )));
    }
    match expected {
        Some(expected) if length < expected => Err(broken_connection(from, io::ErrorKind::UnexpectedEof.into())),
        _ => Ok(body),
    }
}

/// Refuses compressed content, which was not asked for: its ranges and lengths are others.
pub(crate) fn check_encoding(response: &HttpResponse, from: &WebAddress) -> Result<(), Trouble> {
    match response.header("content-encoding") {
        None | Some("identity" | "") => Ok(()),
        Some(other) => {
            let message = format!(
                "{} sends content with the encoding {}, which was not asked for",
                from.authority(),
                short(other)
            );
            Err(Trouble::Final(network(false, message)))
        }
    }
}

/// Whether an answer says that it is a web page, as portals and error pages are; no file of a model is one.
pub(crate) fn is_web_page(response: &HttpResponse) -> bool {
    let kind = response.header("content-type").unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/html")
}

pub(crate) fn broken_connection(from: &WebAddress, err: io::Error) -> Trouble {
    Trouble::Passing(network(true, format!("the connection to {} broke", from.authority())).caused_by(err), None)
}

fn unreachable_server(address: &WebAddress, err: io::Error) -> Trouble {
    let message = format!("cannot reach {}", address.authority());
    match err.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            Trouble::Final(network(false, message).caused_by(err))
        }
        _ => Trouble::Passing(network(true, message).caused_by(err), None),
    }
}

fn not_found(message: String) -> Trouble {
    Trouble::Final(SdkError::new(ErrorKind::ModelNotFound, message))
}

fn rate_limited(response: &HttpResponse, message: &str) -> Trouble {
    let limit = response.header("ratelimit").and_then(|limit| {
        let wait = limit.split(';').find_map(|part| part.trim().strip_prefix("t="))?;
        wait.parse::<u64>().ok()
    });
    let seconds = limit.or_else(|| response.header("retry-after")?.trim().parse().ok());
    let kind = ErrorKind::Download(DownloadFault::RateLimited { seconds: seconds.unwrap_or(MAX_WAIT.as_secs()) });
    let err = SdkError::new(kind, format!("{message}: too many requests, more are accepted later"));
    match seconds.map(Duration::from_secs) {
        Some(wait) if MAX_WAIT < wait => Trouble::Final(err),
        wait => Trouble::Passing(err, wait),
    }
}

/// The address after `rel="next"` in a `Link` header.
fn next_page(link: &str) -> Option<&str> {
    link.split(',').find_map(|entry| {
        let (address, relation) = entry.split_once(';')?;
        relation.contains("rel=\"next\"").then(|| address.trim().strip_prefix('<')?.strip_suffix('>'))?
    })
}

/// The beginning of a text from a server, without control characters.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}
