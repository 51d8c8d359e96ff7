//! The server that is checked: one connection for each request, so that none hangs on another.

use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use serde_json::{Value as Json, json};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// For one reply; slow machines write short ones in less.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) struct Server {
    runtime: Runtime,
    host: String,
    port: u16,
    path: String,
    authorization: Option<String>,
    pub(super) model: String,
}

/// What came back.
pub(super) struct Reply {
    pub(super) status: u16,
    /// Empty where there is none.
    pub(super) kind: String,
    pub(super) text: String,
}

impl Server {
    pub(super) fn new(base_url: &str, authorization: Option<String>) -> Result<Self, String> {
        let uri: Uri = base_url.parse().map_err(|err| format!("{base_url} is no address: {err}"))?;
        let (Some("http"), Some(host)) = (uri.scheme_str(), uri.host()) else {
            return Err(format!("{base_url} is no address of the form http://host:port/v1"));
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|err| err.to_string())?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let (port, path) = (uri.port_u16().unwrap_or(80), uri.path().trim_end_matches('/').to_owned());
        Ok(Self { runtime, host, port, path, authorization, model: String::new() })
    }

    pub(super) fn first_model(&self) -> Result<String, String> {
        let models = self.get("/models")?.json()?;
        models["data"][0]["id"].as_str().map(str::to_owned).ok_or_else(|| format!("there is none in {models}"))
    }

    pub(super) fn get(&self, path: &str) -> Result<Reply, String> {
        self.send(Method::GET, path, "application/json", String::new())
    }

    pub(super) fn post(&self, path: &str, kind: &str, body: &str) -> Result<Reply, String> {
        self.send(Method::POST, path, kind, body.to_owned())
    }

    /// A short deterministic chat, with fields changed.
    pub(super) fn chat(&self, fields: Json) -> Result<Reply, String> {
        self.post("/chat/completions", "application/json", &self.body(fields))
    }

    /// Asks for a stream, and leaves it once it has begun.
    pub(super) fn leave(&self) -> Result<(), String> {
        let body = self.body(json!({ "stream": true, "max_tokens": 2000 }));
        self.wait(async {
            let mut response = self.ask(Method::POST, "/chat/completions", "application/json", body).await?;
            response.body_mut().frame().await.map_or_else(|| Err("no event came".to_owned()), |_| Ok(()))
        })
    }

    fn body(&self, fields: Json) -> String {
        let mut body = json!({
            "model": self.model,
            "messages": [{ "role": "user", "content": "Hello! How are you?" }],
            "temperature": 0,
            "max_tokens": 24,
        });
        for (name, value) in fields.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        body.to_string()
    }

    fn send(&self, method: Method, path: &str, kind: &str, body: String) -> Result<Reply, String> {
        self.wait(async {
            let response = self.ask(method, path, kind, body).await?;
            let status = response.status().as_u16();
            let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
            let kind = kind.unwrap_or_default().to_owned();
            let body = response.into_body().collect().await.map_err(|err| format!("the reply broke off: {err}"))?;
            let text = String::from_utf8(body.to_bytes().into()).map_err(|_| "the reply is no UTF-8".to_owned())?;
            Ok(Reply { status, kind, text })
        })
    }

    async fn ask(&self, method: Method, path: &str, kind: &str, body: String) -> Result<Response<Incoming>, String> {
        let socket = TcpStream::connect((self.host.as_str(), self.port)).await;
        let socket = TokioIo::new(socket.map_err(|err| format!("no connection: {err}"))?);
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(socket).await.map_err(|err| err.to_string())?;
        // It ends with the last part of the reply, or when the reply is dropped.
        tokio::spawn(connection);
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.path))
            .header(HOST, format!("{}:{}", self.host, self.port))
            .header(CONTENT_TYPE, kind);
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(|err| err.to_string())?;
        sender.send_request(request).await.map_err(|err| format!("no reply: {err}"))
    }

    fn wait<T>(&self, asked: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        let waited = self.runtime.block_on(async { timeout(PATIENCE, asked).await });
        waited.unwrap_or_else(|_| Err("no reply in two minutes".to_owned()))
    }
}

impl Reply {
    pub(super) fn json(&self) -> Result<Json, String> {
        serde_json::from_str(&self.text).map_err(|_| format!("no JSON: {}", shortened(&self.text)))
    }

    /// A reply that is no error.
    pub(super) fn good(&self) -> Result<Json, String> {
        if self.status == 200 { self.json() } else { Err(format!("{}: {}", self.status, shortened(&self.text))) }
    }

    /// A refusal of the request, in the form of an error.
    pub(super) fn refusal(&self) -> Result<(), String> {
        if !(400..500).contains(&self.status) {
            return Err(format!("the status is {}, expected 4xx", self.status));
        }
        let error = &self.json()?["error"];
        if !error["message"].is_string() || !error["type"].is_string() {
            return Err(format!("no error with a message and a type: {}", shortened(&self.text)));
        }
        Ok(())
    }

    /// The chunks of a stream that ended as it should.
    pub(super) fn chunks(&self) -> Result<Vec<Json>, String> {
        if self.status != 200 || !self.kind.starts_with("text/event-stream") {
            return Err(format!("{} of type {:?}, expected an event stream", self.status, self.kind));
        }
        let data: Vec<&str> = self.text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        let Some((&"[DONE]", chunks)) = data.split_last() else { return Err("no [DONE] at the end".to_owned()) };
        let read = |chunk: &&str| serde_json::from_str(chunk).map_err(|_| format!("no JSON: {}", shortened(chunk)));
        chunks.iter().map(read).collect()
    }
}

pub(super) fn shortened(text: &str) -> String {
    text.chars().take(120).collect()
}
