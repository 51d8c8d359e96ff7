//! Measures what templates take. Run it from the root of the repository, on Linux, with the compiler's optimisations:
//!
//! ```text
//! cargo run --release -p causerie-jinja --example needs
//! ```
//!
//! For each template in `tests/fixtures/templates`, it prints the fuel and the processor time of a conversation of 4,000 messages
//! with 1,000 characters each. For each row of `hostile.jsonl` there, it prints the time until the fuel is used up, or until the
//! template is refused; the slowest come first. The limits in `core/src/prompt/mod.rs` follow from these numbers (docs/adr/0024).

use std::fs;
use std::path::{Path, PathBuf};

use causerie_jinja::{ChatTemplate, Fuel, STACK, Value, context};

/// The fuel for each hostile template.
const FUEL: u64 = 6_000_000;

fn main() {
    let folder = Path::new("tests/fixtures/templates");
    let run = || {
        print_needs(folder);
        print_hostile(&folder.join("hostile.jsonl"));
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread starts");
    thread.join().expect("no measurement panics");
}

fn print_needs(folder: &Path) {
    let files = fs::read_dir(folder).expect("the folder of templates is read");
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("an entry is read").path()).collect();
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "jinja")) {
        let source = fs::read_to_string(file).expect("a template is read");
        let template = ChatTemplate::compile(&source).expect("a known template compiles");
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let attempts = [false, true].map(|as_parts| measured(&template, conversation(as_parts), u64::MAX >> 8));
        let printed = attempts.iter().filter(|attempt| attempt.n_bytes.is_ok_and(|n_bytes| 4_000_000 <= n_bytes));
        match printed.max_by_key(|attempt| attempt.fuel) {
            Some(Measured { fuel, seconds, .. }) => println!("{name}: {fuel} fuel, {seconds:.2} s"),
            None => println!("{name}: not rendered"),
        }
    }
}

/// Questions and answers, with text in the form of a string or of parts.
fn conversation(as_parts: bool) -> Value {
    let text = "Snow fell on the hills, and nobody was there to see it. ".repeat(18)[..1000].to_owned();
    let content =
        if as_parts { Value::from(vec![context! { type => "text", text }]) } else { Value::from(text.as_str()) };
    let message = |i: usize| context! { role => ["user", "assistant"][i % 2], content => content.clone() };
    let messages: Vec<Value> = (0..4000).map(message).collect();
    context! { messages, add_generation_prompt => true, bos_token => "<s>", eos_token => "</s>" }
}

fn print_hostile(file: &Path) {
    let rows = fs::read_to_string(file).expect("the hostile templates are read");
    let mut all = Vec::new();
    for row in rows.lines() {
        let row: serde_json::Value = serde_json::from_str(row).expect("a row is JSON");
        let source = row["template"].as_str().unwrap_or_default();
        if let Ok(template) = ChatTemplate::compile(source) {
            all.push((measured(&template, context! { x => vec![1, 2], flag => true }, FUEL), source.to_owned()));
        }
    }
    all.sort_by(|(a, _), (b, _)| b.seconds.total_cmp(&a.seconds));
    for (Measured { seconds, fuel, n_bytes }, source) in all {
        let end = if n_bytes.is_ok() { "rendered" } else { "refused" };
        println!("{seconds:.2} s, {fuel} fuel, {end}: {}", source.chars().take(300).collect::<String>());
    }
}

struct Measured {
    fuel: u64,
    seconds: f64,
    /// The size of the prompt.
    n_bytes: Result<usize, ()>,
}

fn measured(template: &ChatTemplate, variables: Value, limit: u64) -> Measured {
    let (fuel, start) = (Fuel::new(limit), processor_seconds());
    let n_bytes = template.render(variables, &jiff::Zoned::default(), Vec::new(), &fuel);
    let n_bytes = n_bytes.map(|text| text.len()).map_err(drop);
    Measured { fuel: limit - fuel.left(), seconds: processor_seconds() - start, n_bytes }
}

/// The processor time of this thread so far.
fn processor_seconds() -> f64 {
    let schedule = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    schedule.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()).unwrap_or_default() / 1e9
}
