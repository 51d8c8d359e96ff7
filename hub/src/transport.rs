//! How requests reach the web. Apps may bring a transport of their own.

use std::io::{self, Read};

/// A GET request.
///
/// ```
/// use causerie_hub::HttpRequest;
/// let request = HttpRequest { url: "https://hub.example/api".to_owned(), headers: vec![("range", "bytes=10-".to_owned())] };
/// assert_eq!(request.headers.len(), 1);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The whole address.
    pub url: String,
    /// Names in lower case, with their values. They may contain a token.
    pub headers: Vec<(&'static str, String)>,
}

/// The answer to a request.
///
/// ```
/// use causerie_hub::HttpResponse;
/// let headers = vec![("Content-Length".to_owned(), "2".to_owned())];
/// let response = HttpResponse { status: 200, headers, body: Box::new(&b"{}"[..]) };
/// assert_eq!(response.header("content-length"), Some("2"));
/// ```
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// All headers.
    pub headers: Vec<(String, String)>,
    /// The body. An error says that the connection broke.
    pub body: Box<dyn Read + Send>,
}

impl HttpResponse {
    /// The value of a header, whose name is found in any case.
    ///
    /// ```
    /// # use causerie_hub::HttpResponse;
    /// let response = HttpResponse { status: 204, headers: Vec::new(), body: Box::new(&b""[..]) };
    /// assert_eq!(response.header("link"), None);
    /// ```
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// Sends GET requests.
///
/// Redirects are not followed: the hub follows them itself, because a token must not go to another server. Content is not
/// decompressed. A request that is idle for long ends with an error.
///
/// ```
/// use causerie_hub::{HttpRequest, HttpResponse, Transport};
///
/// struct Nothing;
///
/// impl Transport for Nothing {
///     fn get(&self, _: &HttpRequest) -> std::io::Result<HttpResponse> {
///         Ok(HttpResponse { status: 404, headers: Vec::new(), body: Box::new(std::io::empty()) })
///     }
/// }
/// ```
pub trait Transport: Send + Sync {
    /// Sends a request and waits for the head of the answer.
    ///
    /// # Errors
    /// The server cannot be reached. [`io::ErrorKind::InvalidData`] says that trying again is of no use, for example if the
    /// server's certificate is not trusted.
    fn get(&self, request: &HttpRequest) -> io::Result<HttpResponse>;

    /// Ends all requests under way with errors, so that a cancelled download does not wait for its server. Requests that are
    /// sent afterwards are not concerned.
    fn interrupt(&self) {}
}
