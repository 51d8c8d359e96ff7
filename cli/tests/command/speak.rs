//! `causerie speak`, with a tiny random model, whose sound means nothing.

use causerie::Sound;

use crate::{causerie, check_failure, fixture, text, typed};

const TEXT: &str = "TODO";

fn model() -> String {
    fixture("models/lfm2a-speech/lfm2a-speech-f16.gguf").to_str().unwrap().to_owned()
}

#[test]
fn a_text_is_read_aloud_into_files_of_every_format_and_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let speak = |output: &str, words: &str, input: &str| {
        let mut command = causerie("speak");
        command.args(["speak", words, "--model", &model(), "--seed", "7", "--context", "300", "-o", output]);
        let done = typed(command.current_dir(&folder), input);
        assert!(done.status.success(), "{}", text(&done.stderr));
        done
    };
    let written = speak("a.wav", TEXT, "");
    let wav = Sound::read(&std::fs::read(folder.path().join("a.wav")).unwrap()).unwrap();
    assert!(wav.sample_rate() == 24_000 && !wav.samples().is_empty());
    assert_eq!(text(&written.stderr), format!("a.wav: {:.2} s\n", wav.duration().as_secs_f64()));
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
    check_failure(&mut speak(&model(), &["--voice", "alloy"]), 2, voices);
}
