//! Every fault of a hub and of its store, at every moment of a download. Whatever happens, the result is a model or a typed
//! error, nothing wrong is left, and the next download without faults gives the right files.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use causerie::Result;
use causerie_hub::{AccessToken, Hub};

use super::encrypted::Encrypted;
use super::{Setting, check_cache, content, kind, kind_of, pull};
use crate::fake::{Act, FakeHub, Repository, TOKEN};

const NAME: &str = "ns/demo:Q8_0";
/// The commit of a branch that has moved.
const MOVED: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// The requests of a download, in their order.
const REVISION: &str = "/revision/";
const TREE: &str = "/tree/";
const REDIRECT: &str = "/resolve/";
const STORE: &str = "store GET";

/// More often than two files are tried, and than a listing may have pages.
const OFTEN: usize = 100;
const NETWORK: &str = "Download(Network { is_retryable: true })";
const STUBBORN: &str = "Download(Network { is_retryable: false })";
const CORRUPT: &str = "Download(Corrupt)";
const LIMITED: &str = "Download(RateLimited { seconds: 0 })";
const SIGN_IN: &str = "Download(AccessDenied(SignIn))";
const CONDITIONS: &str = "Download(AccessDenied(Conditions))";
const FORBIDDEN: &str = "Download(AccessDenied(Forbidden))";
const MISSING: &str = "ModelNotFound";

/// When a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// The first request of this kind, with an empty cache.
    First,
    /// The second one: of another file, or of the next page of a listing.
    Later,
    /// The requests after both files have been begun and their connections broke.
    AfterBreak,
    /// A download that goes on from what an earlier one left.
    AfterRestart,
    /// The download of a new commit, while the cache has the model of the former one.
    Update,
}

impl Moment {
    /// The moments at which such a request is sent.
    fn of(question: &str) -> &'static [Self] {
        match question {
            REVISION => &[Self::First, Self::AfterRestart, Self::Update],
            TREE => &[Self::First, Self::Later, Self::AfterRestart, Self::Update],
            _ => &[Self::First, Self::Later, Self::AfterBreak, Self::AfterRestart, Self::Update],
        }
    }

    /// Brings a cache to this moment, and makes the next requests go wrong.
    fn arrange(self, setting: &Setting, question: &str, times: usize, act: &Act) {
        // Another hub, so that no request from before is still under way.
        let before = FakeHub::start([("ns/demo", repository())]);
        let earlier = || {
            let mut options = setting.options();
            options.endpoint = before.url();
            Hub::new(options)
        };
        let n_before = match self {
            Self::First => 0,
            Self::Later => 1,
            Self::AfterBreak => {
                setting.fake.fault(STORE, 1, Act::Cut(6_000));
                setting.fake.fault(STORE, 1, status(500));
                // Both files have been asked for once.
                if question == STORE { 0 } else { 2 }
            }
            Self::AfterRestart => {
                before.fault(STORE, 1, Act::Cut(6_000));
                before.fault(STORE, 1000, status(500));
                assert_eq!(kind(&pull(&earlier(), NAME)), NETWORK);
                assert!(earlier().parts().iter().any(|part| part.size == 6_000), "a part is left");
                0
            }
            Self::Update => {
                pull(&earlier(), NAME).unwrap();
                setting.fake.change("ns/demo", |repository| repository.move_to(MOVED));
                0
            }
        };
        setting.fake.fault_after(n_before, question, times, act.clone());
    }

    /// Checks what a download at this moment has left.
    #[track_caller]
    fn check(self, setting: &Setting, hub: &Hub, pulled: &Result<PathBuf>, label: &str) {
        check_cache(&setting.cache());
        let names = fs::read_dir(setting.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(names.eq(["hub"].into_iter().take(usize::from(setting.cache().exists()))), "only the cache: {label}");
        let found = hub.find(NAME);
        assert_eq!(found.is_ok(), pulled.is_ok() || self == Self::Update, "{label}");
        if let Ok(path) = found {
            let is_new = path.to_str().unwrap().contains(MOVED);
            let second = path.with_file_name("demo-Q8_0-00002-of-00002.gguf");
            assert_eq!([path, second].map(|path| fs::read(path).unwrap()), parts(is_new), "one commit: {label}");
        }
    }

    /// Checks that the next download goes well.
    #[track_caller]
    fn check_recovers(self, setting: &Setting, hub: &Hub) {
        let [first, second] = parts(self == Self::Update);
        setting.check_recovers_with(hub, NAME, &[&first, &second]);
    }
}

/// A small model in two parts, another one, and files that are not asked for.
fn repository() -> Repository {
    let [first, second] = parts(false);
    Repository::new(&[
        ("README.md", b"# Demo\n".to_vec()),
        ("demo-Q8_0-00001-of-00002.gguf", first),
        ("demo-Q8_0-00002-of-00002.gguf", second),
        ("demo-Q4_0.gguf", content(4, 1_000)),
        ("vocoder-demo-F16.gguf", content(5, 1_000)),
    ])
}

fn setting() -> Setting {
    Setting::new([("ns/demo", repository())])
}

/// The files of the model, at the former or the new commit.
fn parts(is_new: bool) -> [Vec<u8>; 2] {
    [content(8, 30_000), content(9, 20_000)].map(|mut part| {
        part.extend(is_new.then_some(b'!'));
        part
    })
}

/// A fault, and the result of a download for one occurrence of it and for one that never ends.
struct Row {
    name: &'static str,
    question: &'static str,
    act: Act,
    once: &'static str,
    always: &'static str,
}

impl Row {
    fn moments(&self) -> impl Iterator<Item = Moment> {
        // A text that is replaced is on one page.
        let is_on_page = matches!(self.act, Act::Replaced(..));
        Moment::of(self.question).iter().copied().filter(move |moment| !is_on_page || *moment != Moment::Later)
    }

    fn expected(&self, moment: Moment, times: usize) -> &'static str {
        let result = if times == 1 { self.once } else { self.always };
        let is_api = [REVISION, TREE].contains(&self.question);
        match moment {
            // The model that is there is loaded while the hub cannot be asked.
            Moment::Update if is_api && [NETWORK, LIMITED].contains(&result) => "ok",
            _ => result,
        }
    }

    /// Plays the fault at a moment.
    fn play(&self, moment: Moment, times: usize) {
        let setting = setting();
        if matches!(self.act, Act::Replaced(..)) {
            setting.fake.set_page(1000);
        }
        let hub = setting.hub();
        moment.arrange(&setting, self.question, times, &self.act);
        let pulled = pull(&hub, NAME);
        let label = format!("{} {} {:?}, {moment:?}, {times} times: {pulled:?}", self.name, self.question, self.act);
        let expect = self.expected(moment, times);
        assert!(kind(&pulled) == expect, "expected {expect}: {label}");
        moment.check(&setting, &hub, &pulled, &label);
        moment.check_recovers(&setting, &hub);
    }
}

fn status(status: u16) -> Act {
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

fn redirect(location: &str) -> Act {
    Act::Answer(302, vec![("Location", location.to_owned())], "")
}

/// Faults of all requests to a hub.
fn of_hub(question: &'static str) -> Vec<Row> {
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
fn of_api(question: &'static str) -> Vec<Row> {
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
fn of_commits() -> Vec<Row> {
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
fn of_listings() -> Vec<Row> {
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
fn of_redirects() -> Vec<Row> {
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
fn of_stores() -> Vec<Row> {
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

fn play(rows: impl IntoIterator<Item = Vec<Row>>) {
    for row in rows.into_iter().flatten() {
        // What ends a download at once, ends it however often it would happen.
        let is_final = row.once == row.always && row.once != "ok";
        for moment in row.moments() {
            row.play(moment, 1);
            if !is_final {
                row.play(moment, OFTEN);
            }
        }
    }
}

#[test]
fn no_fault_of_a_description_leaves_a_wrong_file() {
    play([of_hub(REVISION), of_api(REVISION), of_commits()]);
}

#[test]
fn no_fault_of_a_listing_leaves_a_wrong_file() {
    play([of_hub(TREE), of_api(TREE), of_listings()]);
}

#[test]
fn no_fault_of_a_redirect_leaves_a_wrong_file() {
    play([of_hub(REDIRECT), of_redirects()]);
}

#[test]
fn no_fault_of_a_store_leaves_a_wrong_file() {
    play([of_stores()]);
}

/// Every kind of request, at every moment.
fn everywhere() -> impl Iterator<Item = (&'static str, Moment)> {
    let questions = [REVISION, TREE, REDIRECT, STORE].into_iter();
    questions.flat_map(|question| Moment::of(question).iter().map(move |moment| (question, *moment)))
}

#[test]
fn a_server_that_falls_silent_is_asked_again() {
    std::thread::scope(|scope| {
        for ((question, moment), act) in
            everywhere().flat_map(|when| [Act::Silent, Act::Stall(100)].map(|act| (when, act)))
        {
            scope.spawn(move || {
                let setting = setting();
                let mut options = setting.options();
                options.idle_timeout = Duration::from_secs(1);
                let hub = Hub::new(options);
                moment.arrange(&setting, question, 1, &act);
                let pulled = pull(&hub, NAME);
                assert!(pulled.is_ok(), "{question} {moment:?}: {pulled:?}");
                moment.check_recovers(&setting, &hub);
            });
        }
    });
}

#[test]
fn encryption_is_never_given_up() {
    for (question, moment) in everywhere() {
        let setting = setting();
        let hub = Encrypted::hub(&setting);
        moment.arrange(&setting, question, 1, &redirect("http://store.test/x"));
        let err = pull(&hub, NAME).unwrap_err();
        assert_eq!(kind_of(&err), STUBBORN, "{question} {moment:?}: {err}");
        assert!(err.to_string().contains("to an address without encryption"), "{question} {moment:?}: {err}");
        moment.check(&setting, &hub, &Err(err), question);
        moment.check_recovers(&setting, &hub);
    }
}

#[test]
fn a_redirect_to_another_port_of_this_machine_gets_no_token() {
    for (question, moment) in everywhere() {
        let (setting, other) = (Setting::new([("ns/demo", repository().gated())]), setting());
        let mut options = setting.options();
        options.token = Some(AccessToken::new(TOKEN, "the test").unwrap());
        let hub = Hub::new(options);
        let elsewhere = redirect(&format!("{}/ns/demo/resolve/main/README.md", other.fake.url()));
        moment.arrange(&setting, question, 1, &elsewhere);
        let pulled = pull(&hub, NAME);
        let asked = other.fake.journal();
        assert!(!asked.is_empty(), "{question} {moment:?}: {pulled:?}");
        for request in asked.iter().chain(&setting.fake.journal()) {
            let is_own =
                request.is_hub && request.header("host") == Some(setting.fake.url().trim_start_matches("http://"));
            assert_eq!(request.header("authorization").is_some(), is_own, "{question} {moment:?}: {}", request.line());
        }
        moment.check(&setting, &hub, &pulled, question);
        moment.check_recovers(&setting, &hub);
    }
}

#[test]
fn a_download_can_be_cancelled_at_every_request() {
    for (question, moment) in everywhere() {
        let setting = setting();
        let hub = setting.hub();
        moment.arrange(&setting, question, 1, &Act::Silent);
        let cancelled = hub.pull(NAME, |_| {
            let is_asked = setting.fake.seen().iter().any(|request| request.line().contains(question));
            if is_asked { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(kind(&cancelled), "Download(Cancelled)", "{question} {moment:?}");
        moment.check(&setting, &hub, &cancelled, question);
        moment.check_recovers(&setting, &hub);
    }
}

#[test]
fn a_branch_that_moves_does_not_mix_two_commits() {
    for (question, moment) in everywhere().filter(|(_, moment)| *moment != Moment::Update) {
        let setting = setting();
        let hub = setting.hub();
        moment.arrange(&setting, question, 1, &Act::Moved(MOVED));
        let pulled = pull(&hub, NAME);
        moment.check(&setting, &hub, &pulled, question);
        setting.fake.heal();
        assert!(pull(&hub, NAME).unwrap().to_str().unwrap().contains(MOVED));
        moment.check(&setting, &hub, &hub.find(NAME), question);
    }
}
