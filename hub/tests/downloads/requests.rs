//! What is asked for, by whom, and what never leaves this machine.

use std::fs;
use std::ops::ControlFlow;

use causerie::{DownloadFault, ErrorKind};
use causerie_hub::{AccessToken, Hub};

use super::{Setting, demo, pull};
use crate::fake::{Act, EXPIRED, TOKEN};

/// The requests since the last look, without commits and digests.
fn asked(setting: &Setting) -> Vec<String> {
    let without_query = |line: String| line.split('?').next().unwrap().to_owned();
    setting.fake.journal().iter().map(|request| without_query(request.line())).collect()
}

#[test]
fn a_download_takes_two_questions_and_two_requests_for_each_file() {
    let setting = Setting::demo();
    setting.fake.set_page(1000);
    setting.pull("ns/demo:Q4_0").unwrap();
    let asked = asked(&setting);
    let commit = "a".repeat(40);
    assert_eq!(
        asked[..2],
        ["hub GET /api/models/ns/demo/revision/main".to_owned(), format!("hub GET /api/models/ns/demo/tree/{commit}")]
    );
    assert_eq!(asked[2], format!("hub GET /ns/demo/resolve/{commit}/demo-Q4_0.gguf"));
    assert!(asked[3].starts_with("store GET /ns/demo/"));
    assert_eq!(asked.len(), 4);
}

#[test]
fn a_cached_model_is_found_and_loaded_without_a_request() {
    let setting = Setting::demo();
    let path = setting.pull("ns/demo:Q4_0").unwrap();
    setting.fake.journal();
    assert_eq!(setting.hub().find("ns/demo:Q4_0").unwrap(), path);
    assert_eq!(setting.fake.journal().len(), 0);
    // Another pull asks which files the name means now, and downloads none.
    setting.pull("ns/demo:Q4_0").unwrap();
    assert!(asked(&setting).iter().all(|line| line.contains("/api/models/")));
}

#[test]
fn offline_sends_no_request() {
    let setting = Setting::demo();
    let mut options = setting.options();
    options.is_offline = true;
    let offline = Hub::new(options);
    assert_eq!(pull(&offline, "ns/demo:Q4_0").unwrap_err().kind(), ErrorKind::Download(DownloadFault::Offline));
    assert_eq!(offline.plan("ns/demo").unwrap_err().kind(), ErrorKind::Download(DownloadFault::Offline));
    let path = setting.pull("ns/demo:Q4_0").unwrap();
    setting.fake.journal();
    assert_eq!(pull(&offline, "ns/demo:Q4_0").unwrap(), path);
    assert_eq!(setting.fake.journal().len(), 0);
}

#[test]
fn text_that_is_not_a_name_never_leads_to_a_request() {
    let setting = Setting::demo();
    for text in ["../ns/demo", "/etc/passwd", "http://127.0.0.1/x", "ns/demo/../x", "model.gguf", "ns", ""] {
        assert_eq!(setting.pull(text).unwrap_err().kind(), ErrorKind::ModelNotFound, "{text}");
    }
    assert_eq!(setting.fake.journal().len(), 0);
}

#[test]
fn the_token_goes_to_the_hub_only() {
    let setting = Setting::new([("ns/demo", demo().gated())]);
    let mut options = setting.options();
    options.token = Some(AccessToken::new(TOKEN, "the test").unwrap());
    let hub = Hub::new(options);
    pull(&hub, "ns/demo").unwrap();
    let journal = setting.fake.journal();
    assert!(journal.iter().any(|request| !request.is_hub));
    for request in journal {
        assert_eq!(request.header("authorization").is_some(), request.is_hub, "{}", request.line());
        assert_eq!(request.header("accept-encoding"), Some("identity"), "{}", request.line());
    }
}

#[test]
fn errors_never_show_tokens_or_signatures() {
    let setting = Setting::new([("ns/demo", demo().gated())]);
    for (matches, act) in [
        ("/api/", Act::Answer(403, Vec::new(), "")),
        ("/resolve/", Act::Answer(500, Vec::new(), "")),
        ("store", Act::Answer(500, Vec::new(), "")),
        ("store", Act::Flip(3)),
        ("store", Act::Cut(0)),
    ] {
        setting.fake.heal();
        setting.fake.fault(matches, 100, act);
        let mut options = setting.options();
        options.token = Some(AccessToken::new(TOKEN, "the test").unwrap());
        let err = pull(&Hub::new(options), "ns/demo:Q4_0").unwrap_err();
        let texts = format!("{err} {err:?}");
        assert!(!texts.contains(TOKEN) && !texts.contains("Signature"), "{texts}");
    }
}

#[test]
fn a_bad_token_is_named_although_the_files_are_public() {
    let setting = Setting::demo();
    let mut options = setting.options();
    options.token = Some(AccessToken::new(EXPIRED, "HF_TOKEN").unwrap());
    let err = pull(&Hub::new(options), "ns/demo").unwrap_err();
    assert_eq!(
        err.to_string(),
        "access to ns/demo@main is denied (401): the token from HF_TOKEN is not valid; create a new one, or remove it"
    );
}

#[test]
fn an_unreachable_hub_leaves_the_cached_model() {
    let setting = Setting::demo();
    let path = setting.pull("ns/demo:Q4_0").unwrap();
    setting.fake.fault("/api/", 1, Act::Answer(503, Vec::new(), ""));
    setting.fake.journal();
    assert_eq!(setting.pull("ns/demo:Q4_0").unwrap(), path);
    assert_eq!(setting.fake.journal().len(), 1, "it was tried once");
    // Nobody listens there.
    let mut options = setting.options();
    options.endpoint = "http://127.0.0.1:9".to_owned();
    assert_eq!(pull(&Hub::new(options.clone()), "ns/demo:Q4_0").unwrap(), path);
    let err = pull(&Hub::new(options), "ns/other").unwrap_err();
    assert!(err.is_retryable() && err.to_string().starts_with("cannot reach 127.0.0.1:9"), "{err}");
}

#[test]
fn a_cancelled_download_keeps_its_bytes() {
    let setting = Setting::demo();
    setting.fake.fault("store", 1, Act::Stall(100_000));
    let cancelled = setting.hub().pull("ns/demo:Q4_0", |progress| match progress.done {
        100_000 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Download(DownloadFault::Cancelled));
    assert_eq!(setting.hub().parts()[0].size, 100_000);
    assert!(setting.hub().find("ns/demo:Q4_0").is_err());
    setting.fake.journal();
    let mut resumed_from = 0;
    let pulled = setting.hub().pull("ns/demo:Q4_0", |progress| {
        resumed_from = progress.resumed_from;
        ControlFlow::Continue(())
    });
    assert_eq!(fs::read(pulled.unwrap()).unwrap().len(), 150_000);
    assert_eq!(resumed_from, 100_000);
    let journal = setting.fake.journal();
    assert_eq!(journal.last().unwrap().header("range"), Some("bytes=100000-"));
}
