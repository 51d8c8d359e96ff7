//! Every fault of a server, at the first request, at a later file, and after a resumed download. Whatever happens, nothing
//! wrong is left, and the next download without faults gives the right files.

use super::{Setting, check_cache, content, kind};
use crate::fake::Act;

/// When a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    FirstFile,
    SecondFile,
    AfterResume,
}

/// A fault of the store or of the hub's redirects to it, and the result of the download for one occurrence and for one that
/// never ends.
struct Row {
    name: &'static str,
    /// What the requests that go wrong contain.
    matches: &'static str,
    act: Act,
    once: &'static str,
    always: &'static str,
}

/// More often than two files are tried.
const OFTEN: usize = 30;
const NETWORK: &str = "Download(Network { is_retryable: true })";
const STUBBORN: &str = "Download(Network { is_retryable: false })";
const CORRUPT: &str = "Download(Corrupt)";
const SIGN_IN: &str = "Download(AccessDenied(SignIn))";
const CONDITIONS: &str = "Download(AccessDenied(Conditions))";

fn row(name: &'static str, act: Act, once: &'static str, always: &'static str) -> Row {
    Row { name, matches: "store GET", act, once, always }
}

/// A refusal of the hub, with a code and a message.
fn refusal(name: &'static str, status: u16, code: &str, message: &str, result: &'static str) -> Row {
    let headers = vec![("X-Error-Code", code.to_owned()), ("X-Error-Message", message.to_owned())];
    of_hub(name, Act::Answer(status, headers, ""), result, result)
}

/// A redirect of the hub to somewhere else.
fn redirect(name: &'static str, location: &str, once: &'static str, always: &'static str) -> Row {
    of_hub(name, Act::Answer(302, vec![("Location", location.to_owned())], ""), once, always)
}

fn of_hub(name: &'static str, act: Act, once: &'static str, always: &'static str) -> Row {
    Row { name, matches: "/resolve/", act, once, always }
}

fn status(status: u16) -> Act {
    Act::Answer(status, Vec::new(), "<Error/>")
}

fn headers(name: &'static str, value: &str) -> Act {
    Act::Headers(vec![(name, value.to_owned())])
}

fn rows() -> Vec<Row> {
    let page = || Act::Answer(200, vec![("Content-Type", "text/html".to_owned())], "<html>Sign in</html>");
    let mut rows = vec![
        row("401 of the store", status(401), "ok", NETWORK),
        row("403: the address has expired", status(403), "ok", NETWORK),
        row("404 of the store", status(404), "ModelNotFound", "ModelNotFound"),
        row("416", status(416), "ok", STUBBORN),
        row(
            "429",
            Act::Answer(429, vec![("Retry-After", "0".to_owned())], ""),
            "ok",
            "Download(RateLimited { seconds: 0 })",
        ),
        row("a web page", page(), "ok", CORRUPT),
        row("an empty answer", Act::Answer(200, Vec::new(), ""), "ok", CORRUPT),
        row("no content", Act::Answer(204, Vec::new(), ""), "ok", CORRUPT),
        row("cut before the first byte", Act::Cut(0), "ok", NETWORK),
        row("cut after the first byte", Act::Cut(1), "ok", "any"),
        row("cut in the middle", Act::Cut(70_000), "ok", "any"),
        row("cut before the last byte", Act::Cut(149_999), "ok", "any"),
        row("the first byte is another one", Act::Flip(0), "ok", CORRUPT),
        row("a byte in the middle is another one", Act::Flip(30_000), "ok", "any"),
        row("longer", Act::Longer(1), "ok", CORRUPT),
        row("shorter", Act::Shorter(1), "ok", CORRUPT),
        row("compressed", headers("Content-Encoding", "gzip"), STUBBORN, STUBBORN),
        row("the range is ignored", Act::Whole, "ok", "ok"),
        row("another range", Act::Shifted, "ok", "any"),
        row("a range without its place", headers("Content-Range", "bytes"), "ok", "any"),
        row("a range of another file", headers("Content-Range", "bytes 0-9/10"), "ok", "any"),
        row("a hostile etag", headers("ETag", "\"../../../x\""), "ok", "ok"),
        row("a weak etag", headers("ETag", "W/\"abc\""), "ok", "ok"),
        row("byte by byte", Act::Trickle(2000), "ok", "ok"),
        refusal("401: missing or private", 401, "RepoNotFound", "Repository not found", SIGN_IN),
        refusal("401: conditions", 401, "GatedRepo", "Access is restricted", CONDITIONS),
        refusal("401: the token", 401, "", "Invalid credentials in Authorization header", SIGN_IN),
        refusal("403: conditions", 403, "GatedRepo", "Access is restricted", CONDITIONS),
        refusal("403", 403, "", "", "Download(AccessDenied(Forbidden))"),
        refusal("404: the revision", 404, "RevisionNotFound", "Invalid rev id", "ModelNotFound"),
        refusal("404: the file", 404, "EntryNotFound", "Entry not found", "ModelNotFound"),
        refusal("404: the repository", 404, "RepoNotFound", "Repository not found", "ModelNotFound"),
        of_hub(
            "429 with its wait",
            Act::Answer(429, vec![("RateLimit", "\"resolvers\";r=0;t=0".to_owned())], ""),
            "ok",
            "Download(RateLimited { seconds: 0 })",
        ),
        of_hub("503 of the hub", status(503), "ok", NETWORK),
        of_hub("a web page of the hub", page(), "ok", CORRUPT),
        redirect("a loop", "?again", "any", STUBBORN),
        redirect("a local file", "file:///etc/passwd", STUBBORN, STUBBORN),
        redirect("a port without a server", "http://127.0.0.1:9/x", "ok", NETWORK),
        of_hub("a redirect without an address", Act::Answer(302, Vec::new(), ""), STUBBORN, STUBBORN),
        of_hub("an etag in upper case", headers("X-Linked-Etag", &"A".repeat(64)), "ok", "ok"),
    ];
    rows.extend([408, 425, 500, 502, 503, 504].map(|code| row("a passing error", status(code), "ok", NETWORK)));
    rows
}

/// Makes the fault strike, and leaves half of the file there if the moment is after a resume.
fn arrange(setting: &Setting, moment: Moment, times: usize, matches: &str, act: &Act) {
    match moment {
        Moment::FirstFile => setting.fake.fault(matches, times, act.clone()),
        Moment::SecondFile => setting.fake.fault_after(1, matches, times, act.clone()),
        Moment::AfterResume => {
            setting.fake.fault("store GET", 1, Act::Cut(60_000));
            setting.fake.fault("store GET", 1, status(500));
            // Both files have been asked for once.
            let n_before = if matches == "store GET" { 0 } else { 2 };
            setting.fake.fault_after(n_before, matches, times, act.clone());
        }
    }
}

#[test]
fn no_fault_of_a_store_leaves_a_wrong_file() {
    for Row { name, matches, act, once, always } in rows() {
        for moment in [Moment::FirstFile, Moment::SecondFile, Moment::AfterResume] {
            for (times, expect) in [(1, once), (OFTEN, always)] {
                let setting = Setting::demo();
                arrange(&setting, moment, times, matches, &act);
                let pulled = setting.pull("ns/demo");
                let label = format!("{name} {act:?}, {moment:?}, {times} times: {pulled:?}");
                let is_special = moment != Moment::FirstFile && times == OFTEN;
                assert!(expect == "any" || is_special || kind(&pulled) == expect, "{label}");
                check_cache(&setting.cache());
                assert_eq!(setting.hub().find("ns/demo").is_ok(), pulled.is_ok(), "{label}");
                setting.check_recovers("ns/demo", &[&content(8, 300_000), &content(9, 200_000)]);
            }
        }
    }
}

#[test]
fn a_server_that_falls_silent_is_asked_again() {
    for moment in [Moment::FirstFile, Moment::SecondFile, Moment::AfterResume] {
        let setting = Setting::demo();
        arrange(&setting, moment, 1, "store GET", &Act::Stall(1000));
        let mut options = setting.options();
        options.idle_timeout = std::time::Duration::from_millis(500);
        super::pull(&causerie_hub::Hub::new(options), "ns/demo").unwrap();
        setting.check_recovers("ns/demo", &[&content(8, 300_000), &content(9, 200_000)]);
    }
}

#[test]
fn no_fault_of_the_api_leaves_anything() {
    for (act, once) in [
        (status(500), "ok"),
        (status(503), "ok"),
        (status(403), "Download(AccessDenied(Forbidden))"),
        (status(404), "ModelNotFound"),
        (Act::Cut(0), "ok"),
        (Act::Cut(10), "ok"),
        (Act::Flip(0), STUBBORN),
        (Act::Shorter(1), STUBBORN),
        (headers("Content-Encoding", "br"), STUBBORN),
        (headers("Link", "<http://127.0.0.1:9/api>; rel=\"next\""), "any"),
    ] {
        for question in ["/revision/", "/tree/"] {
            let setting = Setting::demo();
            setting.fake.fault(question, 1, act.clone());
            let pulled = setting.pull("ns/demo");
            // The listing is asked for anew if its commit is gone.
            let is_special = question == "/tree/" && once == "ModelNotFound";
            assert!(once == "any" || is_special || kind(&pulled) == once, "{act:?} {question}: {pulled:?}");
            assert!(pulled.is_ok() || !setting.cache().exists(), "{act:?} {question}");
            setting.check_recovers("ns/demo", &[&content(8, 300_000), &content(9, 200_000)]);
        }
    }
}

#[test]
fn hostile_headers_of_the_hub_lead_nowhere() {
    for (name, value) in [
        ("X-Linked-Etag", "\"../../../../x\""),
        ("X-Linked-Etag", "W/\"abc\""),
        ("X-Repo-Commit", "../../../x"),
        ("X-Repo-Commit", "abc"),
        ("X-Linked-Size", "1"),
        ("Content-Length", "0"),
    ] {
        let setting = Setting::demo();
        setting.fake.fault("/resolve/", 1000, headers(name, value));
        setting.pull("ns/demo").unwrap();
        check_cache(&setting.cache());
        let names: Vec<_> =
            std::fs::read_dir(setting.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["hub"], "nothing was written beside the cache");
    }
}

#[test]
fn a_branch_that_moves_does_not_mix_two_commits() {
    const MOVED: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    for question in ["/revision/", "/tree/", "/resolve/", "store GET"] {
        let setting = Setting::demo();
        setting.fake.fault(question, 1, Act::Moved(MOVED));
        let pulled = setting.pull("ns/demo");
        check_cache(&setting.cache());
        assert_eq!(setting.hub().find("ns/demo").is_ok(), pulled.is_ok(), "{question}");
        let mut moved = [content(8, 300_000), content(9, 200_000)];
        moved.iter_mut().for_each(|content| content.push(b'!'));
        if question != "store GET" && question != "/resolve/" {
            let path = pulled.unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), moved[0], "{question}: the commit that is there now");
        }
        setting.fake.heal();
        let path = setting.pull("ns/demo").unwrap();
        assert!(path.to_str().unwrap().contains(MOVED));
        assert_eq!(std::fs::read(path).unwrap(), moved[0]);
        check_cache(&setting.cache());
    }
}
