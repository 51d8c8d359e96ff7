//! `causerie speak`, with a tiny random model, whose sound means nothing.

use std::path::Path;

use causerie::Sound;

use crate::{causerie, check_failure, fixture, text, typed};

const TEXT: &str = "Dinner is ready.";

fn model() -> String {
    fixture("models/lfm2a-speech/lfm2a-speech-f16.gguf").to_str().unwrap().to_owned()
}

/// Puts a model into a folder that begins every reply to a text with sound: the rows of the token that it would write first and of the
/// one that begins sound have changed places. Returns its file.
fn reading(folder: &Path) -> String {
    for file in std::fs::read_dir(fixture("models/lfm2a-speech")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    let place = folder.join("lfm2a-speech-f16.gguf");
    let mut file = std::fs::read(&place).unwrap();
    let row = |token: usize| 14_816 + 64 * token..14_816 + 64 * (token + 1);
    let (sound_start, first) = (file[row(3)].to_vec(), file[row(419)].to_vec());
    file[row(3)].copy_from_slice(&first);
    file[row(419)].copy_from_slice(&sound_start);
    std::fs::write(&place, file).unwrap();
    place.to_str().unwrap().to_owned()
}

#[test]
fn a_text_is_read_aloud_into_files_of_every_format_and_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let model = reading(folder.path());
    let speak = |output: &str, words: &str, input: &str| {
        let mut command = causerie("speak");
        command.args(["speak", words, "--model", &model, "--seed", "7", "--context", "120", "-o", output]);
        let done = typed(command.current_dir(&folder), input);
        assert!(done.status.success(), "{}", text(&done.stderr));
        done
    };
    let written = speak("a.wav", TEXT, "");
    let wav = Sound::read(&std::fs::read(folder.path().join("a.wav")).unwrap()).unwrap();
    assert!(wav.sample_rate() == 24_000 && !wav.samples().is_empty());
    // This model speaks until the context is full.
    let ended = format!("a.wav: {:.2} s\n", wav.duration().as_secs_f64());
    assert_eq!(text(&written.stderr), format!("the context is full: the end of the text was not read\n{ended}"));
    speak("a.flac", "-", &format!("{TEXT}\n"));
    let flac = std::fs::read(folder.path().join("a.flac")).unwrap();
    assert!(flac.starts_with(b"fLaC") && Sound::read(&flac).unwrap() == wav);
    speak("a.pcm", TEXT, "");
    let pcm = std::fs::read(folder.path().join("a.pcm")).unwrap();
    let expect: Vec<u8> = wav.samples().iter().flat_map(|sample| ((sample * 32_768.0) as i16).to_le_bytes()).collect();
    assert!(pcm == expect);
    assert!(Sound::read(&speak("-", TEXT, "").stdout).unwrap() == wav);
}

#[test]
fn what_cannot_be_spoken_is_refused() {
    let speak = |model: &str, more: &[&str]| {
        let mut command = causerie("mute");
        command.args(["speak", "Hi", "--model", model, "-o", "/nowhere/a.wav"]).args(more);
        command
    };
    let mute = fixture("models/lfm2-f32.gguf");
    let mute = mute.to_str().unwrap();
    check_failure(&mut speak(mute, &[]), 1, &format!("{mute} does not speak"));
    let voices = "the voice must be one of us_male, us_female, uk_male, uk_female";
    let writes = &["--context", "120"];
    check_failure(&mut speak(&model(), writes), 1, "the model wrote text instead of speaking");
    check_failure(&mut speak(&model(), &["--voice", "alloy"]), 2, voices);
}
