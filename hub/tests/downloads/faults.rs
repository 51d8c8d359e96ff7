//! Every fault of a hub and of its store, at every moment of a download. Whatever happens, the result is a model or a typed
//! error, nothing wrong is left, and the next download without faults gives the right files.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use causerie::Result;
use causerie_hub::{AccessToken, Hub};

use super::encrypted::Encrypted;
use super::fault_rows::{
    LIMITED, NETWORK, REDIRECT, REVISION, Row, STORE, STUBBORN, TREE, of_api, of_commits, of_hub, of_listings,
    of_redirects, of_stores, redirect, status,
};
use super::{Setting, check_cache, content, kind, kind_of, pull};
use crate::fake::{Act, FakeHub, Repository, TOKEN};

const NAME: &str = "ns/demo:Q8_0";
/// The commit of a branch that has moved.
const MOVED: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// More often than two files are tried, and than a listing may have pages.
const OFTEN: usize = 100;

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
        ("imatrix-demo.gguf", content(5, 1_000)),
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
            // The downloaded model is loaded while the hub cannot be asked.
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
                options.idle_timeout = Duration::from_secs(5);
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
