//! `GET /`: a page to talk with the model, in one file. Its content security policy allows its own script, its own style and
//! requests to this server.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Response;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use sha2::{Digest, Sha256};

use crate::serve::http::{ResponseBody, text_response};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// The functions that the page offers at first: those of the command.
const FUNCTIONS: &str = include_str!("../../chat/functions.json");

struct WebPage {
    html: String,
    /// The content security policy.
    policy: String,
}

static PAGE: LazyLock<WebPage> = LazyLock::new(|| WebPage {
    html: include_str!("page.html")
        .replace("{style}", STYLE)
        .replace("{script}", SCRIPT)
        .replace("{functions}", &FUNCTIONS.replace('&', "&amp;").replace('<', "&lt;")),
    policy: format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; connect-src 'self'; img-src data:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
        hash(SCRIPT),
        hash(STYLE)
    ),
});

pub(super) fn response() -> Response<ResponseBody> {
    let page: &'static WebPage = &PAGE;
    let mut response = text_response("text/html; charset=utf-8", page.html.clone());
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(&page.policy));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// The hash by which a policy allows a part of the page.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}
