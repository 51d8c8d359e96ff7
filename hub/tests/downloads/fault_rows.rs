//! The faults of a hub and of its store, with the result that a download must have.

use crate::fake::Act;

/// The requests of a download, in their order.
pub(super) const REVISION: &str = "/revision/";
pub(super) const TREE: &str = "/tree/";
pub(super) const REDIRECT: &str = "/resolve/";
pub(super) const STORE: &str = "store GET";

/// Results of a download.
pub(super) const NETWORK: &str = "Download(Network { is_retryable: true })";
pub(super) const STUBBORN: &str = "Download(Network { is_retryable: false })";
pub(super) const CORRUPT: &str = "Download(Corrupt)";
pub(super) const LIMITED: &str = "Download(RateLimited { seconds: 0 })";
pub(super) const SIGN_IN: &str = "Download(AccessDenied(SignIn))";
pub(super) const CONDITIONS: &str = "Download(AccessDenied(Conditions))";
pub(super) const FORBIDDEN: &str = "Download(AccessDenied(Forbidden))";
pub(super) const MISSING: &str = "ModelNotFound";

/// A fault, and the result of a download for one occurrence of it and for one that never ends.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) question: &'static str,
    pub(super) act: Act,
    pub(super) once: &'static str,
    pub(super) always: &'static str,
}

pub(super) fn status(status: u16) -> Act {
    Act::Answer(status, Vec::new(), "<Error/>")
}

fn headers(name: &'static str, value: &str) -> Act {
    Act::Headers(vec![(name, value.to_owned())])
}

fn page() -> Act {
    Act::Answer(200, vec![("Content-Type", "text/html".to_owned())], "<html>Sign in</html>")
}

fn refusal(status: u16, code: &str, message: &str) -> Act {
    let headers = vec![("X-Error-Code", code.to_owned()), ("X-Error-Message", message.to_owned())];
    Act::Answer(status, headers, "")
}

pub(super) fn redirect(location: &str) -> Act {
    Act::Answer(302, vec![("Location", location.to_owned())], "")
}

/// Faults of all requests to a hub.
pub(super) fn of_hub(question: &'static str) -> Vec<Row> {
    let is_listing = question == TREE;
    // A listing is asked for once more if its commit is gone.
    let gone = if is_listing { "ok" } else { MISSING };
    let rows = [
        ("401: missing or private", refusal(401, "RepoNotFound", "Repository not found"), SIGN_IN, SIGN_IN),
        ("401: conditions", refusal(401, "GatedRepo", "Access is restricted"), CONDITIONS, CONDITIONS),
        ("401: the token", refusal(401, "", "Invalid credentials in Authorization header"), SIGN_IN, SIGN_IN),
        ("403: conditions", refusal(403, "GatedRepo", "Access is restricted"), CONDITIONS, CONDITIONS),
        ("403", refusal(403, "", ""), FORBIDDEN, FORBIDDEN),
        ("404: the revision", refusal(404, "RevisionNotFound", "Invalid rev id"), gone, MISSING),
        ("404: the file", refusal(404, "EntryNotFound", "Entry not found"), gone, MISSING),
        ("404: the repository", refusal(404, "RepoNotFound", "Repository not found"), gone, MISSING),
        ("418", status(418), STUBBORN, STUBBORN),
        ("429 with its wait", Act::Answer(429, vec![("RateLimit", "\"api\";r=0;t=0".to_owned())], ""), "ok", LIMITED),
        ("429", Act::Answer(429, vec![("Retry-After", "0".to_owned())], ""), "ok", LIMITED),
        ("a local file", redirect("file:///etc/passwd"), STUBBORN, STUBBORN),
        ("a port without a server", redirect("http://127.0.0.1:9/x"), "ok", NETWORK),
        ("a redirect without an address", Act::Answer(302, Vec::new(), ""), STUBBORN, STUBBORN),
        ("a loop", redirect("?again"), "ok", STUBBORN),
    ];
    let passing = [408, 425, 500, 502, 503, 504].map(|code| ("a passing error", status(code), "ok", NETWORK));
    let row = |(name, act, once, always)| Row { name, question, act, once, always };
    rows.into_iter().chain(passing).map(row).collect()
}

/// Faults of the answers that are JSON.
pub(super) fn of_api(question: &'static str) -> Vec<Row> {
    let rows = [
        ("416", status(416), STUBBORN, STUBBORN),
        ("a web page", page(), STUBBORN, STUBBORN),
        ("no content", Act::Answer(204, Vec::new(), ""), STUBBORN, STUBBORN),
        ("another object", Act::Answer(200, Vec::new(), "{}"), STUBBORN, STUBBORN),
        ("another array", Act::Answer(200, Vec::new(), "[1]"), STUBBORN, STUBBORN),
        ("cut before the first byte", Act::Cut(0), "ok", NETWORK),
        ("cut after the first byte", Act::Cut(1), "ok", NETWORK),
        ("cut in the middle", Act::Cut(80), "ok", NETWORK),
        ("the first byte is another one", Act::Flip(0), STUBBORN, STUBBORN),
        ("longer", Act::Longer(1), STUBBORN, STUBBORN),
        ("much longer", Act::Longer(17 << 20), STUBBORN, STUBBORN),
        ("shorter", Act::Shorter(1), STUBBORN, STUBBORN),
        ("byte by byte", Act::Trickle(100), "ok", "ok"),
        ("compressed", headers("Content-Encoding", "br"), STUBBORN, STUBBORN),
    ];
    rows.map(|(name, act, once, always)| Row { name, question, act, once, always }).into()
}

/// Faults of a commit.
pub(super) fn of_commits() -> Vec<Row> {
    let rows = [
        (
            "39 digits",
            Act::Answer(200, Vec::new(), r#"{"id": "ns/demo", "sha": "abcdefabcdefabcdefabcdefabcdefabcdefabc"}"#),
        ),
        (
            "41 digits",
            Act::Answer(200, Vec::new(), r#"{"id": "ns/demo", "sha": "abcdefabcdefabcdefabcdefabcdefabcdefabcde"}"#),
        ),
        ("64 digits", Act::Replaced("\"sha\":\"", "\"sha\":\"aaaaaaaaaaaaaaaaaaaaaaaa")),
        (
            "no digits",
            Act::Answer(200, Vec::new(), r#"{"id": "ns/demo", "sha": "../../../../../../../../../../../../../x"}"#),
        ),
        ("a number", Act::Replaced("\"sha\":\"", "\"sha\":1,\"\":\"")),
    ];
    let refused = |(name, act)| Row { name, question: REVISION, act, once: STUBBORN, always: STUBBORN };
    let mut rows: Vec<Row> = rows.map(refused).into();
    // Another repository's name must not choose the folder.
    let renamed = Act::Replaced("\"id\":\"ns/demo\"", "\"id\":\"../../x\"");
    rows.push(Row { name: "another name", question: REVISION, act: renamed, once: "ok", always: "ok" });
    let upper = Act::Replaced("\"sha\":\"aaaaaaaa", "\"sha\":\"AAAAAAAA");
    rows.push(Row { name: "upper case", question: REVISION, act: upper, once: "ok", always: "ok" });
    rows
}

/// Faults of a listing.
pub(super) fn of_listings() -> Vec<Row> {
    const PATH: &str = "\"path\":\"demo-Q8_0-00001";
    // Without one of its parts, a model is not there.
    let left_out = [
        ("a path above", Act::Replaced(PATH, "\"path\":\"../../demo-Q8_0-00001")),
        ("a path from the root", Act::Replaced(PATH, "\"path\":\"/demo-Q8_0-00001")),
        ("a path of Windows", Act::Replaced(PATH, "\"path\":\"C:\\\\demo-Q8_0-00001")),
        ("a device of Windows", Act::Replaced(PATH, "\"path\":\"con/demo-Q8_0-00001")),
        ("a zero byte", Act::Replaced(PATH, "\"path\":\"\\u0000demo-Q8_0-00001")),
        ("a folder", Act::Replaced("\"type\":\"file\"", "\"type\":\"directory\"")),
        ("a hostile digest", Act::Replaced("\"lfs\":{\"oid\":\"", "\"lfs\":{\"oid\":\"../../../../x")),
        ("a short digest", Act::Replaced("\"lfs\":{\"oid\":\"", "\"lfs\":{\"oid\":\"a\",\"\":\"")),
        ("no files", Act::Answer(200, Vec::new(), "[]")),
    ];
    let nonsense = [
        ("a path that is a number", Act::Replaced(PATH, "\"path\":7,\"\":\"")),
        ("a negative size", Act::Replaced("\"size\":", "\"size\":-")),
        ("a huge size", Act::Replaced("\"size\":", "\"size\":9999999999999999")),
        ("a local file as its next page", headers("Link", "<file:///etc/passwd>; rel=\"next\"")),
    ];
    let wrong = [
        ("a smaller size", Act::Replaced("\"size\":3", "\"size\":2")),
        ("a larger size", Act::Replaced("\"size\":3", "\"size\":4")),
        (
            "another digest",
            Act::Replaced(
                "\"lfs\":{\"oid\":\"",
                "\"lfs\":{\"oid\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"\":\"",
            ),
        ),
    ];
    let row = |result: &'static str| move |(name, act)| Row { name, question: TREE, act, once: result, always: result };
    let rows = left_out.map(row(MISSING)).into_iter().chain(nonsense.map(row(STUBBORN)));
    let mut rows: Vec<Row> = rows.chain(wrong.map(row(CORRUPT))).collect();
    let elsewhere = headers("Link", "<http://127.0.0.1:9/api>; rel=\"next\"");
    rows.push(Row {
        name: "a next page without a server",
        question: TREE,
        act: elsewhere,
        once: "ok",
        always: NETWORK,
    });
    let itself = headers("Link", "<?recursive=true>; rel=\"next\"");
    rows.push(Row { name: "pages without an end", question: TREE, act: itself, once: "ok", always: STUBBORN });
    rows
}

/// Faults of the hub's redirects to the store.
pub(super) fn of_redirects() -> Vec<Row> {
    let rows = [
        ("416", status(416), "ok", STUBBORN),
        ("a web page", page(), "ok", CORRUPT),
        ("a hostile etag", headers("X-Linked-Etag", "\"../../../../x\""), "ok", "ok"),
        ("a weak etag", headers("X-Linked-Etag", "W/\"abc\""), "ok", "ok"),
        ("an etag in upper case", headers("X-Linked-Etag", &"A".repeat(64)), "ok", "ok"),
        ("a hostile commit", headers("X-Repo-Commit", "../../../x"), "ok", "ok"),
        ("a short commit", headers("X-Repo-Commit", "abc"), "ok", "ok"),
        ("another size", headers("X-Linked-Size", "1"), "ok", "ok"),
        ("no length", headers("Content-Length", "0"), "ok", "ok"),
    ];
    rows.map(|(name, act, once, always)| Row { name, question: REDIRECT, act, once, always }).into()
}

/// Faults of the store.
pub(super) fn of_stores() -> Vec<Row> {
    let rows = [
        ("401 of the store", status(401), "ok", NETWORK),
        ("403: the address has expired", status(403), "ok", NETWORK),
        ("404 of the store", status(404), MISSING, MISSING),
        ("416", status(416), "ok", STUBBORN),
        ("429", Act::Answer(429, vec![("Retry-After", "0".to_owned())], ""), "ok", LIMITED),
        ("a web page", page(), "ok", CORRUPT),
        ("an empty answer", Act::Answer(200, Vec::new(), ""), "ok", CORRUPT),
        ("no content", Act::Answer(204, Vec::new(), ""), "ok", CORRUPT),
        ("cut before the first byte", Act::Cut(0), "ok", NETWORK),
        ("cut after the first byte", Act::Cut(1), "ok", "ok"),
        ("cut in the middle", Act::Cut(7_000), "ok", "ok"),
        ("cut before the last byte", Act::Cut(14_999), "ok", "ok"),
        ("the first byte is another one", Act::Flip(0), "ok", CORRUPT),
        ("a byte in the middle is another one", Act::Flip(3_000), "ok", CORRUPT),
        ("longer", Act::Longer(1), "ok", CORRUPT),
        ("shorter", Act::Shorter(1), "ok", CORRUPT),
        ("compressed", headers("Content-Encoding", "gzip"), STUBBORN, STUBBORN),
        ("the range is ignored", Act::Whole, "ok", "ok"),
        ("another range", Act::Shifted, "ok", CORRUPT),
        ("a range without its place", headers("Content-Range", "bytes"), "ok", "ok"),
        ("a range of another file", headers("Content-Range", "bytes 0-9/10"), "ok", "ok"),
        ("a hostile etag", headers("ETag", "\"../../../x\""), "ok", "ok"),
        ("a weak etag", headers("ETag", "W/\"abc\""), "ok", "ok"),
        ("byte by byte", Act::Trickle(2000), "ok", "ok"),
        ("a redirect to a local file", redirect("file:///etc/passwd"), STUBBORN, STUBBORN),
    ];
    let passing = [408, 425, 500, 502, 503, 504].map(|code| ("a passing error", status(code), "ok", NETWORK));
    let row = |(name, act, once, always)| Row { name, question: STORE, act, once, always };
    rows.into_iter().chain(passing).map(row).collect()
}
