//! Downloads over TLS and through proxies, on loopback: whom the command trusts, and what it tells others.

use std::io::{BufRead, BufReader, Read, Write, copy};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

use crate::fake::{FakeHub, Repository, content};
use crate::{causerie, check_failure, fixture, text};

struct Setting {
    folder: TempDir,
    fake: FakeHub,
    hub: SocketAddr,
}

impl Setting {
    /// A hub and its store behind TLS, with this certificate.
    fn new(certificate: &str) -> Self {
        let fake = FakeHub::start([("ns/tiny", Repository::new(&[("tiny-Q4_0.gguf", content(1, 50_000))]))]);
        let config = config(certificate);
        let (hub, store) = (encrypted(&config, fake.ports.0), encrypted(&config, fake.ports.1));
        fake.stand_behind(format!("https://localhost:{}", hub.port()), format!("https://localhost:{}", store.port()));
        Self { folder: tempfile::tempdir().unwrap(), fake, hub }
    }

    /// `causerie pull` with the authority of the tests, unless a variable says otherwise.
    fn pull(&self, variables: &[(&str, String)]) -> Command {
        let mut command = causerie("encrypted");
        for variable in
            ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "HF_TOKEN", "HF_HUB_CACHE", "SSL_CERT_DIR"]
        {
            command.env_remove(variable).env_remove(variable.to_ascii_lowercase());
        }
        command.env("HF_HUB_OFFLINE", "0").env("HF_HOME", self.folder.path()).env("HF_ENDPOINT", self.fake.url());
        command.env("SSL_CERT_FILE", fixture("certificates/authority.pem"));
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.args(["pull", "ns/tiny"]);
        command
    }

    #[track_caller]
    fn check_pulls(&self, variables: &[(&str, String)]) {
        let output = self.pull(variables).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(std::fs::read(text(&output.stdout).trim()).unwrap(), content(1, 50_000));
    }
}

fn config(certificate: &str) -> Arc<ServerConfig> {
    let folder = fixture("certificates");
    let chain = vec![CertificateDer::from_pem_file(folder.join(certificate)).unwrap()];
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_no_client_auth().with_single_cert(chain, key).unwrap())
}

/// Accepts connections on a new port, each on a thread of its own.
fn listen(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Passes one request on to a server without TLS, and its answer back.
fn encrypted(config: &Arc<ServerConfig>, to: SocketAddr) -> SocketAddr {
    let config = config.clone();
    listen(move |stream| {
        let mut client = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            match client.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return, // a client that does not trust this server
            }
        }
        let mut server = TcpStream::connect(to).unwrap();
        server.write_all(&head).unwrap();
        let _ = copy(&mut server, &mut client);
        client.conn.send_close_notify();
        let _ = client.flush();
    })
}

/// A proxy that connects its clients with the servers that they name, or answers with a refusal. It notes the names.
fn proxy(refusal: Option<&'static str>) -> (String, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let names = asked.clone();
    let address = listen(move |stream| {
        let mut client = BufReader::new(stream);
        let mut line = String::new();
        client.read_line(&mut line).unwrap();
        names.lock().unwrap().push(line.split(' ').take(2).collect::<Vec<_>>().join(" "));
        let mut rest = String::new();
        while rest != "\r\n" {
            rest.clear();
            client.read_line(&mut rest).unwrap();
        }
        let mut client = client.into_inner();
        if let Some(refusal) = refusal {
            return client.write_all(format!("HTTP/1.1 {refusal}\r\nContent-Length: 0\r\n\r\n").as_bytes()).unwrap();
        }
        let server = TcpStream::connect(line.split(' ').nth(1).unwrap()).unwrap();
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
        let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || copy(&mut from_client, &mut to_server));
        let _ = copy(&mut &server, &mut client);
    });
    (format!("http://{address}"), asked)
}

#[test]
fn a_server_with_a_known_authority_is_trusted() {
    Setting::new("server.pem").check_pulls(&[]);
}

#[test]
fn servers_that_are_not_trusted_get_no_request() {
    let others = fixture("certificates/server.pem").display().to_string();
    for (certificate, authority, expect) in [
        ("server.pem", Some(others), "name your own in SSL_CERT_FILE"),
        ("expired.pem", None, "xpired"),
        ("other-host.pem", None, "not valid for name"),
    ] {
        let setting = Setting::new(certificate);
        let variables = authority.map(|file| ("SSL_CERT_FILE", file));
        check_failure(&mut setting.pull(&Vec::from_iter(variables)), 1, expect);
        assert!(setting.fake.journal().is_empty(), "{certificate}");
    }
}

#[test]
fn a_proxy_gets_names_but_no_content() {
    let setting = Setting::new("server.pem");
    let (address, asked) = proxy(None);
    setting.check_pulls(&[("HTTPS_PROXY", address)]);
    let asked = asked.lock().unwrap();
    assert!(asked.len() >= 3 && asked.iter().all(|line| line.starts_with("CONNECT localhost:")), "{asked:?}");
    assert_eq!(asked[0], format!("CONNECT localhost:{}", setting.hub.port()));
}

#[test]
fn hosts_can_be_kept_from_the_proxy() {
    let setting = Setting::new("server.pem");
    let (address, asked) = proxy(None);
    setting.check_pulls(&[("HTTPS_PROXY", address), ("NO_PROXY", "localhost".to_owned())]);
    assert!(asked.lock().unwrap().is_empty());
}

#[test]
fn a_proxy_that_refuses_is_an_error() {
    let setting = Setting::new("server.pem");
    let (address, _) = proxy(Some("407 Proxy Authentication Required"));
    check_failure(&mut setting.pull(&[("HTTPS_PROXY", address)]), 1, "cannot reach localhost");
    assert!(setting.fake.journal().is_empty());
}
