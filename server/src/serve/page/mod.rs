//! `GET /`: a page to talk with the model, in one file. Its content security policy allows its own scripts, its own style and
//! requests to this server; markup comes only from the sanitiser. `blob:` admits the page's own code of its recorder, which
//! browsers load by an address; a page that requires trusted types gives no script element such an address.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Response;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use sha2::{Digest, Sha256};

use crate::chat::{FUNCTIONS, SYSTEM_PROMPT};
use crate::serve::http::{ResponseBody, text_response};

const STYLE: &str = include_str!("page.css");
/// A renderer of Markdown and a sanitiser of HTML; see `vendor/README.md`.
const LIBRARIES: &str = concat!(include_str!("vendor/marked.umd.js"), include_str!("vendor/purify.min.js"));
/// The page's own script. Each part uses those above it.
const SCRIPT: &str = concat!(
    include_str!("elements.js"),
    include_str!("storage.js"),
    include_str!("functions.js"),
    include_str!("sound.js"),
    include_str!("server.js"),
    include_str!("settings.js"),
    include_str!("markdown.js"),
    include_str!("messages.js"),
    include_str!("pictures.js"),
    include_str!("decide.js"),
    include_str!("page.js"),
);

struct WebPage {
    html: String,
    /// The content security policy.
    policy: String,
}

static PAGE: LazyLock<WebPage> = LazyLock::new(|| WebPage {
    html: include_str!("page.html")
        .replace("{style}", STYLE)
        .replace("{system}", &escaped(SYSTEM_PROMPT))
        .replace("{functions}", &escaped(FUNCTIONS))
        .replace("{script}", SCRIPT)
        .replace("{libraries}", LIBRARIES),
    policy: format!(
        "default-src 'none'; script-src '{}' '{}' blob:; style-src '{}'; connect-src 'self'; img-src data:; \
         media-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types dompurify",
        hash(LIBRARIES),
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

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// The hash by which a policy allows a part of the page.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}
