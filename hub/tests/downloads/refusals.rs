//! What a person is told when a hub refuses.

use causerie::{AccessFault, DownloadFault, ErrorKind, Result};
use causerie_hub::{AccessToken, Hub};

use super::{Setting, demo, pull};
use crate::fake::{Act, TOKEN};

fn refused(setting: &Setting, name: &str, token: Option<&str>) -> (ErrorKind, String) {
    let mut options = setting.options();
    options.token = token.map(|token| AccessToken::new(token, "HF_TOKEN").unwrap());
    let err = pull(&Hub::new(options), name).unwrap_err();
    (
        err.kind(),
        err.to_string()
            .replace(&setting.fake.url(), "https://hub")
            .replace(setting.fake.url().trim_start_matches("http://"), "hub"),
    )
}

const fn denied(fault: AccessFault) -> ErrorKind {
    ErrorKind::Download(DownloadFault::AccessDenied(fault))
}

#[test]
fn every_refusal_says_what_to_do() {
    let setting = Setting::new([("ns/demo", demo()), ("ns/gated", demo().gated())]);
    for (name, token, kind, expect) in [
        (
            "ns/none",
            None,
            denied(AccessFault::SignIn),
            "access to ns/none@main is denied (401): the repository does not exist, or it is private and needs a token in HF_TOKEN",
        ),
        (
            "ns/none",
            Some(TOKEN),
            ErrorKind::ModelNotFound,
            "hub answers 404 for ns/none@main: Repository not found: the repository does not exist",
        ),
        ("ns/demo@v9", None, ErrorKind::ModelNotFound, "ns/demo@v9: the repository has no such revision"),
        (
            "ns/gated:Q4_0",
            None,
            denied(AccessFault::Conditions),
            "access to demo-Q4_0.gguf of ns/gated is denied (401): its conditions must be accepted at https://hub/ns/gated by an \
          account, and a token of that account must be in HF_TOKEN",
        ),
        (
            "ns/gated:Q4_0",
            Some("hf_other"),
            denied(AccessFault::Conditions),
            "access to demo-Q4_0.gguf of ns/gated is denied (403): the account of the token from HF_TOKEN must accept its \
          conditions at https://hub/ns/gated",
        ),
    ] {
        assert_eq!(refused(&setting, name, token), (kind, expect.to_owned()), "{name}");
    }
}

#[test]
fn limits_are_waited_for_or_reported() -> Result<()> {
    let setting = Setting::demo();
    let answer = |name: &'static str, value: &str| Act::Answer(429, vec![(name, value.to_owned())], "");
    // Zero seconds are short enough to wait.
    setting.fake.fault("/revision/", 1, answer("RateLimit", "\"api\";r=0;t=0"));
    setting.fake.fault("/resolve/", 2, answer("Retry-After", "0"));
    setting.pull("ns/demo:Q4_0")?;
    setting.fake.fault("/revision/", 1, answer("RateLimit", "\"api\";r=0;t=3000"));
    let (kind, message) = refused(&setting, "ns/demo:Q8_0", None);
    assert_eq!(kind, ErrorKind::Download(DownloadFault::RateLimited { seconds: 3000 }));
    assert_eq!(message, "hub answers 429 for ns/demo@main: too many requests, more are accepted later");
    Ok(())
}

#[test]
fn redirects_are_limited() {
    for (location, expect) in [
        ("/ns/demo/resolve/main/demo-Q4_0.gguf", "redirects demo-Q4_0.gguf of ns/demo more than 5 times"),
        ("file:///etc/passwd", "redirects demo-Q4_0.gguf of ns/demo to an invalid address"),
        ("ftp://127.0.0.1/x", "to an invalid address"),
        ("http://user@127.0.0.1/x", "to an invalid address"),
    ] {
        let setting = Setting::demo();
        setting.fake.fault("/resolve/", 100, Act::Answer(302, vec![("Location", location.to_owned())], ""));
        let (kind, message) = refused(&setting, "ns/demo:Q4_0", None);
        assert_eq!(kind, ErrorKind::Download(DownloadFault::Network { is_retryable: false }), "{message}");
        assert!(message.contains(expect), "{message}");
    }
}

#[test]
fn an_answer_of_a_hundred_megabytes_is_not_read() {
    let setting = Setting::demo();
    setting.fake.fault("/revision/", 1, Act::Longer(100 << 20));
    let (_, message) = refused(&setting, "ns/demo", None);
    assert_eq!(message, "hub sends more than 16777216 bytes for ns/demo@main");
}
