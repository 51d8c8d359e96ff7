//! A hub on this machine, for tests: the routes that clients of Hugging Face use, a second address that plays the store
//! behind it, a journal of every request, and faults on demand.

mod http;
mod repository;

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use parking_lot::Mutex;
use serde_json::Value as Json;

pub use http::Request;
pub use repository::Repository;

/// The token that gated repositories accept.
pub const TOKEN: &str = "hf_accepted";
/// A token that is refused everywhere.
pub const EXPIRED: &str = "hf_expired";

/// What goes wrong.
#[derive(Clone, Debug)]
pub enum Act {
    /// Another answer.
    Answer(u16, Vec<(&'static str, String)>, &'static str),
    /// The connection ends after these bytes of the body.
    Cut(usize),
    /// Nothing follows these bytes of the body, until the client leaves.
    Stall(usize),
    /// Nothing is sent at all, until the client leaves.
    Silent,
    /// Each of the first bytes of the body is sent by itself.
    Trickle(usize),
    /// A byte of the body is another one.
    Flip(usize),
    /// The body and its length have these bytes more.
    Longer(usize),
    /// The body and its length have these bytes fewer.
    Shorter(usize),
    /// This text in the body is another one.
    Replaced(&'static str, &'static str),
    /// These headers replace others.
    Headers(Vec<(&'static str, String)>),
    /// The range is ignored.
    Whole,
    /// The range begins one byte later than asked for.
    Shifted,
    /// The branch has moved: from now on, the repository has the files of another one.
    Moved(&'static str),
    /// Nothing goes wrong, but the test gets a chance to act while the request waits.
    Call(fn()),
}

impl Act {
    /// Reads an act of a scenario, such as `{"cut": 1000}`.
    fn from_json(fault: &Json) -> Self {
        let number = |key: &str| Some(usize::try_from(fault.get(key)?.as_u64()?).unwrap());
        let acts = [
            number("cut").map(Self::Cut),
            number("stall").map(Self::Stall),
            number("flip").map(Self::Flip),
            number("answer").map(|status| Self::Answer(u16::try_from(status).unwrap(), Vec::new(), "")),
        ];
        acts.into_iter().flatten().next().unwrap()
    }
}

/// A fault of the requests whose line, `hub GET /path` or `store GET /path`, contains a text.
struct Fault {
    matches: String,
    /// Requests that still go well.
    skip: usize,
    times: usize,
    act: Act,
}

struct State {
    repositories: BTreeMap<String, Repository>,
    faults: Vec<Fault>,
    journal: Vec<Request>,
    /// Entries in a page of a listing.
    page: usize,
    /// The addresses of the hub and of its store, as answers have them.
    addresses: (String, String),
}

/// The bytes of a file of weights: it begins with `GGUF`.
pub fn content(seed: u8, length: usize) -> Vec<u8> {
    let mut state = u32::from(seed) + 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    b"GGUF".iter().copied().chain(std::iter::repeat_with(&mut next)).take(length).collect()
}

/// A repository with a model in two parts, another quantisation, helpers and small files.
pub fn demo() -> Repository {
    Repository::new(&[
        (".gitattributes", b"*.gguf filter=lfs\n".to_vec()),
        ("README.md", b"# Demo\n".to_vec()),
        ("demo-Q8_0-00001-of-00002.gguf", content(8, 300_000)),
        ("demo-Q8_0-00002-of-00002.gguf", content(9, 200_000)),
        ("demo-Q4_0.gguf", content(4, 150_000)),
        ("imatrix-demo.gguf", content(5, 1000)),
        ("sub/notes #1.txt", b"notes".to_vec()),
    ])
}

/// A repository with a model that can be loaded.
pub fn loadable() -> Repository {
    let model = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/qwen3-q4_0.gguf"));
    Repository::new(&[("tiny-Q4_0.gguf", model.unwrap())])
}

/// A repository of a folder with safetensors.
pub fn folder() -> Repository {
    Repository::new(&[
        ("config.json", b"{}".to_vec()),
        ("tokenizer.json", content(1, 40_000)),
        ("model.safetensors", content(2, 50_000)),
    ])
}

/// The hub and its store, each on a port of loopback.
pub struct FakeHub {
    /// The ports of the hub and of its store.
    pub ports: (SocketAddr, SocketAddr),
    state: Arc<Mutex<State>>,
    is_closed: Arc<AtomicBool>,
}

impl Drop for FakeHub {
    /// Closes both listeners: a test may start hundreds of hubs.
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Relaxed);
        for port in [self.ports.0, self.ports.1] {
            drop(TcpStream::connect(port)); // wakes the listener
        }
    }
}

impl FakeHub {
    /// Starts both with these repositories, by name.
    pub fn start(repositories: impl IntoIterator<Item = (&'static str, Repository)>) -> Self {
        let repositories = repositories.into_iter().map(|(name, repository)| (name.to_owned(), repository)).collect();
        let listen = || TcpListener::bind("127.0.0.1:0").unwrap();
        let (hub, store) = (listen(), listen());
        let ports = (hub.local_addr().unwrap(), store.local_addr().unwrap());
        let addresses = (format!("http://{}", ports.0), format!("http://{}", ports.1));
        let state = State { repositories, faults: Vec::new(), journal: Vec::new(), page: 3, addresses };
        let (state, is_closed) = (Arc::new(Mutex::new(state)), Arc::new(AtomicBool::new(false)));
        for (listener, is_hub) in [(hub, true), (store, false)] {
            let (state, is_closed) = (state.clone(), is_closed.clone());
            thread::spawn(move || {
                for stream in listener.incoming().flatten().take_while(|_| !is_closed.load(Ordering::Relaxed)) {
                    let state = state.clone();
                    thread::spawn(move || serve(stream, is_hub, &state));
                }
            });
        }
        Self { ports, state, is_closed }
    }

    pub fn url(&self) -> String {
        self.state.lock().addresses.0.clone()
    }

    /// The address of a file of the repositories at a server that knows no hub.
    pub fn web(&self, file: &str) -> String {
        format!("{}/web/{file}", self.state.lock().addresses.1)
    }

    /// The next `times` matching requests go wrong.
    pub fn fault(&self, matches: &str, times: usize, act: Act) {
        self.fault_after(0, matches, times, act);
    }

    /// The same, after a number of matching requests that go well.
    pub fn fault_after(&self, skip: usize, matches: &str, times: usize, act: Act) {
        self.state.lock().faults.push(Fault { matches: matches.to_owned(), skip, times, act });
    }

    /// Plays a step of a scenario: a fault, or the end of all faults.
    pub fn play(&self, step: &Json) {
        match step.get("fault") {
            Some(fault) => {
                let times = usize::try_from(fault["times"].as_u64().unwrap()).unwrap();
                self.fault(fault["matches"].as_str().unwrap(), times, Act::from_json(fault));
            }
            None => self.heal(),
        }
    }

    /// Everything goes well again.
    pub fn heal(&self) {
        self.state.lock().faults.clear();
    }

    /// The requests since the last call.
    pub fn journal(&self) -> Vec<Request> {
        std::mem::take(&mut self.state.lock().journal)
    }

    /// The same, without forgetting them.
    pub fn seen(&self) -> Vec<Request> {
        self.state.lock().journal.clone()
    }

    /// Answers with other addresses of the hub and of its store, where something passes requests on to them.
    pub fn stand_behind(&self, hub: String, store: String) {
        self.state.lock().addresses = (hub, store);
    }

    /// Sets the number of entries in a page of a listing.
    pub fn set_page(&self, page: usize) {
        self.state.lock().page = page;
    }

    /// Changes a repository.
    pub fn change(&self, name: &str, change: impl FnOnce(&mut Repository)) {
        change(self.state.lock().repositories.get_mut(name).unwrap());
    }
}

/// Answers one request; the connection is closed after it.
fn serve(mut stream: TcpStream, is_hub: bool, state: &Mutex<State>) {
    let Some(request) = Request::read(&mut stream, is_hub) else { return };
    let (act, answer) = {
        let mut state = state.lock();
        state.journal.push(request.clone());
        let line = request.line();
        let fault = state.faults.iter_mut().find(|fault| 0 < fault.times && line.contains(&fault.matches));
        let act = fault.and_then(|fault| match fault.skip {
            0 => {
                fault.times -= 1;
                Some(fault.act.clone())
            }
            _ => {
                fault.skip -= 1;
                None
            }
        });
        if let Some(Act::Moved(commit)) = act {
            state.repositories.values_mut().for_each(|repository| repository.move_to(commit));
        }
        let asked = match act {
            Some(Act::Whole) => request.without("range"),
            Some(Act::Shifted) => request.shifted(),
            _ => request.clone(),
        };
        let answer = if is_hub {
            repository::answer_hub(&asked, &state.addresses, &state.repositories, state.page)
        } else {
            repository::answer_store(&asked, &state.repositories)
        };
        (act, answer)
    };
    if let Some(Act::Call(act)) = act {
        act();
    }
    answer.changed(act.as_ref()).send(&mut stream, request.method == "HEAD", act.as_ref());
}
