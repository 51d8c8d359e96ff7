//! Writes what is said in a sound file: `cargo run --release --example transcribe -- MODEL FILE [LANGUAGE]`.

use causerie::transcribe::{TranscribeOptions, Transcriber, TranscriptEvent};
use causerie::{Result, Sound};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, file, language @ ..] = &arguments[..] else {
        eprintln!("usage: transcribe MODEL FILE [LANGUAGE]");
        std::process::exit(2);
    };
    let file = std::fs::read(file).unwrap_or_else(|err| {
        eprintln!("cannot read {file}: {err}");
        std::process::exit(1);
    });
    let options = TranscribeOptions { language: language.first().cloned(), ..Default::default() };
    let sound = Sound::read(&file)?;
    for event in Transcriber::load(model)?.stream(&sound, options)? {
        match event? {
            TranscriptEvent::Language { code, probability } => eprintln!("language {code} ({probability:.2})"),
            TranscriptEvent::Segment(segment) => {
                let [start, end] = [segment.start, segment.end].map(|time| time.as_secs_f64());
                println!("{start:8.2} {end:8.2} {}", segment.text);
            }
            _ => {}
        }
    }
    Ok(())
}
