//! A hub at an https address, without TLS: the transport of this test stands for it.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;

use causerie_hub::{HttpRequest, HttpResponse, Hub, Transport};

use super::Setting;

const HUB: &str = "https://hub.test";
const STORE: &str = "https://store.test";

/// Sends the requests to two addresses to a hub on loopback and to its store. Any other address is a failure of the test.
pub(super) struct Encrypted {
    ports: [String; 2],
}

impl Encrypted {
    /// A hub that reaches the fake one at encrypted addresses.
    pub(super) fn hub(setting: &Setting) -> Hub {
        setting.fake.stand_behind(HUB.to_owned(), STORE.to_owned());
        let mut options = setting.options();
        HUB.clone_into(&mut options.endpoint);
        let ports = [setting.fake.ports.0, setting.fake.ports.1].map(|port| port.to_string());
        Hub::with_transport(options, Arc::new(Self { ports }))
    }
}

impl Transport for Encrypted {
    fn get(&self, request: &HttpRequest) -> io::Result<HttpResponse> {
        let path = |base: &str| request.url.strip_prefix(base);
        let [hub, store] = &self.ports;
        let (port, path) = path(HUB).map(|path| (hub, path)).or_else(|| Some((store, path(STORE)?))).unwrap();
        let mut stream = TcpStream::connect(port)?;
        write!(stream, "GET {path} HTTP/1.1\r\n")?;
        request.headers.iter().try_for_each(|(name, value)| write!(stream, "{name}: {value}\r\n"))?;
        stream.write_all(b"\r\n")?;
        let mut body = BufReader::new(stream);
        let mut line = || {
            let mut line = String::new();
            body.read_line(&mut line).map(|_| line.trim_end().to_owned())
        };
        let status = line()?.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut headers = Vec::new();
        while let Some((name, value)) = line()?.split_once(": ") {
            headers.push((name.to_owned(), value.to_owned()));
        }
        Ok(HttpResponse { status, headers, body: Box::new(body) })
    }
}
