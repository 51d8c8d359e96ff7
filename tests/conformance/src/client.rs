//! A client of the server being checked. Each request has a connection of its own, so that none waits for another.

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

/// Time limit per reply; slow machines need less for a short one.
const REPLY_TIMEOUT: Duration = Duration::from_secs(120);

pub(super) struct CheckClient {
    runtime: Runtime,
    host: String,
    port: u16,
    path: String,
    authorization: Option<String>,
    pub(super) model: String,
}

/// A whole reply of the server.
pub(super) struct HttpReply {
    pub(super) status: u16,
    /// The content type; empty without one.
    pub(super) content_type: String,
    pub(super) text: String,
}

impl CheckClient {
    pub(super) fn new(base_url: &str, authorization: Option<String>) -> Result<Self, String> {
        let uri: Uri = base_url.parse().map_err(|err| {
            format!("--base-url must be an address of the form http://host:port/v1, found {base_url:?}: {err}")
        })?;
        let (Some("http"), Some(host)) = (uri.scheme_str(), uri.host()) else {
            return Err(format!("--base-url must be an address of the form http://host:port/v1, found {base_url:?}"));
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|err| err.to_string())?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let (port, path) = (uri.port_u16().unwrap_or(80), uri.path().trim_end_matches('/').to_owned());
        Ok(Self { runtime, host, port, path, authorization, model: String::new() })
    }

    pub(super) fn first_model(&self) -> Result<String, String> {
        let models = self.get("/models")?.json()?;
        models["data"][0]["id"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| format!("data[0].id must be a string in {models}"))
    }

    pub(super) fn get(&self, path: &str) -> Result<HttpReply, String> {
        self.send(Method::GET, path, "application/json", String::new())
    }

    pub(super) fn post(&self, path: &str, content_type: &str, body: &str) -> Result<HttpReply, String> {
        self.send(Method::POST, path, content_type, body.to_owned())
    }

    /// Sends a short deterministic chat with some fields changed.
    pub(super) fn chat(&self, fields: Json) -> Result<HttpReply, String> {
        self.post("/chat/completions", "application/json", &self.body(fields))
    }

    /// Requests a stream, and disconnects after its first event.
    pub(super) fn disconnect(&self) -> Result<(), String> {
        let body = self.body(json!({ "stream": true, "max_tokens": 2000 }));
        self.wait(async {
            let mut response = self.request(Method::POST, "/chat/completions", "application/json", body).await?;
            response.body_mut().frame().await.map_or_else(|| Err("the stream has no event".to_owned()), |_| Ok(()))
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

    fn send(&self, method: Method, path: &str, content_type: &str, body: String) -> Result<HttpReply, String> {
        self.wait(async {
            let response = self.request(method, path, content_type, body).await?;
            let status = response.status().as_u16();
            let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
            let content_type = content_type.unwrap_or_default().to_owned();
            let body = response.into_body().collect().await.map_err(|err| format!("the reply ended early: {err}"))?;
            let text = String::from_utf8(body.to_bytes().into()).map_err(|_| "the reply must be UTF-8".to_owned())?;
            Ok(HttpReply { status, content_type, text })
        })
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: String,
    ) -> Result<Response<Incoming>, String> {
        let socket = TcpStream::connect((self.host.as_str(), self.port)).await;
        let socket = TokioIo::new(socket.map_err(|err| format!("no connection: {err}"))?);
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(socket).await.map_err(|err| err.to_string())?;
        // This task ends with the last part of the reply, or when the reply is dropped.
        tokio::spawn(connection);
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.path))
            .header(HOST, format!("{}:{}", self.host, self.port))
            .header(CONTENT_TYPE, content_type);
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(|err| err.to_string())?;
        sender.send_request(request).await.map_err(|err| format!("no reply: {err}"))
    }

    fn wait<T>(&self, reply: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        let waited = self.runtime.block_on(async { timeout(REPLY_TIMEOUT, reply).await });
        waited.unwrap_or_else(|_| Err("no reply in two minutes".to_owned()))
    }
}

impl HttpReply {
    pub(super) fn json(&self) -> Result<Json, String> {
        serde_json::from_str(&self.text).map_err(|_| format!("the body must be JSON, found {}", shortened(&self.text)))
    }

    /// Returns the JSON of a successful reply.
    pub(super) fn success(&self) -> Result<Json, String> {
        if self.status == 200 { self.json() } else { Err(format!("{}: {}", self.status, shortened(&self.text))) }
    }

    /// Checks that the request was refused, with an error object.
    pub(super) fn refusal(&self) -> Result<(), String> {
        if !(400..500).contains(&self.status) {
            return Err(format!("the status must be 4xx, found {}", self.status));
        }
        let error = &self.json()?["error"];
        if !error["message"].is_string() || !error["type"].is_string() {
            return Err(format!("error must have a message and a type, found {}", shortened(&self.text)));
        }
        Ok(())
    }

    /// Returns the chunks of a stream that ended with [DONE].
    pub(super) fn chunks(&self) -> Result<Vec<Json>, String> {
        if self.status != 200 || !self.content_type.starts_with("text/event-stream") {
            return Err(format!(
                "the reply must be an event stream, found {} of type {:?}",
                self.status, self.content_type
            ));
        }
        let data: Vec<&str> = self.text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        let Some((&"[DONE]", chunks)) = data.split_last() else {
            return Err("the stream must end with [DONE]".to_owned());
        };
        let read = |chunk: &&str| {
            serde_json::from_str(chunk).map_err(|_| format!("a chunk must be JSON, found {}", shortened(chunk)))
        };
        chunks.iter().map(read).collect()
    }
}

/// Returns the beginning of a long text, for messages.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(120).collect()
}
