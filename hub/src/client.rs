//! The transport that comes with this crate: ureq, with TLS by rustls and the certificates of the system.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

use crate::transport::{HttpRequest, HttpResponse, Transport};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// An HTTP client. Proxies and certificates come from the environment: `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`,
/// `SSL_CERT_FILE`, `SSL_CERT_DIR`, and by default from the system.
pub(crate) struct HttpClient {
    idle_timeout: Duration,
    agent: Mutex<Agent>,
}

impl HttpClient {
    pub(crate) fn new(idle_timeout: Duration) -> Self {
        Self { idle_timeout, agent: Mutex::new(agent(idle_timeout)) }
    }
}

fn agent(idle_timeout: Duration) -> Agent {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
    Agent::config_builder()
        .tls_config(tls.build())
        .user_agent(concat!("causerie/", env!("CARGO_PKG_VERSION")))
        // The hub follows redirects itself.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_per_read(Some(idle_timeout))
        .timeout_per_write(Some(idle_timeout))
        .build()
        .new_agent()
}

impl Transport for HttpClient {
    fn get(&self, request: &HttpRequest) -> io::Result<HttpResponse> {
        let agent = self.agent.lock().clone();
        let mut call = agent.get(&request.url).header("accept-encoding", "identity");
        for (name, value) in &request.headers {
            call = call.header(*name, value);
        }
        let (head, body) = call.call().map_err(readable)?.into_parts();
        let text = |value: &ureq::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
        Ok(HttpResponse { status: head.status.as_u16(), headers, body: Box::new(ClientBody(body.into_reader())) })
    }

    fn interrupt(&self) {
        let mut agent = self.agent.lock();
        // An agent that was shut down stays so.
        std::mem::replace(&mut *agent, self::agent(self.idle_timeout)).shutdown();
    }
}

struct ClientBody(ureq::BodyReader<'static>);

impl Read for ClientBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

/// An error in words that help; of kind `InvalidData` if the same request would fail again.
fn readable(err: ureq::Error) -> io::Error {
    match err {
        ureq::Error::Io(err) if err.kind() != io::ErrorKind::InvalidData => err,
        ureq::Error::HostNotFound => {
            io::Error::new(io::ErrorKind::NotFound, "no such host, or no connection to the network")
        }
        ureq::Error::Timeout(timeout) => {
            io::Error::new(io::ErrorKind::TimedOut, format!("no answer in time ({timeout})"))
        }
        ureq::Error::ConnectionFailed => io::Error::new(io::ErrorKind::ConnectionRefused, "no connection"),
        err if err.to_string().contains("UnknownIssuer") => io::Error::new(
            io::ErrorKind::InvalidData,
            "this system does not know who issued the server's certificate: install the system's root certificates \
             (package ca-certificates), or name your own in SSL_CERT_FILE",
        ),
        err @ ureq::Error::Protocol(_) => io::Error::other(err.to_string()),
        err => io::Error::new(io::ErrorKind::InvalidData, err.to_string()),
    }
}
