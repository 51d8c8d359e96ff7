//! `GET /`: a page to talk with the model, of one piece. What it may do is written into its policy: run its own script,
//! show its own style, and ask this server.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Those of the command, to begin with.
const FUNCTIONS: &str = include_str!("../../chat/functions.json");

/// The page, and its content security policy.
pub(super) struct Page {
    pub(super) html: String,
    pub(super) policy: String,
}

pub(super) static PAGE: LazyLock<Page> = LazyLock::new(|| Page {
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

/// What stands in a policy for a text that is part of the page.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}
