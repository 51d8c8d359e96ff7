//! What the tiny random Whisper of `tests/golden/whisper.py` writes, compared with transformers; and events.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::*;
use crate::checkpoint::WhisperCheckpoint;
use crate::error::ErrorKind;
use crate::media::sound::Sound;
use crate::model::{Compute, HeardWindow, WhisperModel};
use crate::options::CacheType;
use crate::quantise::GgufType;
use crate::tokenizer::ModelTokenizer;
use crate::transcribe::text::WindowText;
use crate::transcribe::vocabulary::SpeechVocabulary;
use crate::transcribe::window::{WindowPrompt, WindowStep, WindowWriter};
use crate::weights::SpeechFiles;

#[derive(Deserialize)]
struct Golden {
    tokens: Vec<u32>,
    /// The logits after the first and after the last token.
    first: Vec<f32>,
    last: Vec<f32>,
    greedy: Vec<u32>,
    language: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests")
}

fn fixture(name: &str) -> String {
    folder().join("fixtures/models").join(name).to_str().unwrap().to_owned()
}

fn golden() -> Golden {
    serde_json::from_slice(&std::fs::read(folder().join("golden/whisper.json")).unwrap()).unwrap()
}

fn files(name: &str) -> SpeechFiles {
    SpeechFiles::open(fixture(name).as_ref()).unwrap()
}

fn model(name: &str, n_threads: usize) -> WhisperModel {
    let checkpoint = WhisperCheckpoint::read(&files(name)).unwrap();
    Compute::native(n_threads, CacheType::F32).load_whisper(&checkpoint).unwrap()
}

fn vocabulary(name: &str) -> SpeechVocabulary {
    let files = files(name);
    let tokenizer = match &files {
        SpeechFiles::Ggml(file) => ModelTokenizer::of_ranks(&file.tokens),
        SpeechFiles::Other(weights) => ModelTokenizer::load(weights),
    };
    SpeechVocabulary::new(tokenizer.unwrap(), WhisperCheckpoint::read(&files).unwrap().tokens).unwrap()
}

/// The window that the golden file was made with, encoded.
fn window(model: &WhisperModel) -> HeardWindow {
    let (n_frames, n_bins) = (model.architecture().n_frames(), model.architecture().n_bins);
    let value = |at: usize, bin: usize| ((at * 7919 + bin * 104_729 + at * bin * 31) % 2003) as f32 / 1001.0 - 1.0;
    let frames: Vec<f32> = (0..n_frames * n_bins).map(|at| value(at / n_bins, at % n_bins)).collect();
    let mut window = model.begin(&frames).unwrap();
    while !window.advance().unwrap() {}
    window
}

/// A sound of two seconds, and so three windows.
fn sound() -> Sound {
    let samples: Vec<f32> = (0..32_000).map(|at| (at as f32 * 0.05).sin() * (at as f32 * 0.0007).cos() * 0.3).collect();
    Sound::from_samples(samples, 16_000).unwrap()
}

/// The largest difference relative to the largest value.
fn difference(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    found.iter().zip(expected).fold(0f32, |most, (a, b)| most.max((a - b).abs())) / largest
}

fn logits(model: &WhisperModel, tokens: &[u32]) -> Vec<f32> {
    window(model).write(tokens, &[0..1, tokens.len() - 1..tokens.len()]).unwrap()
}

#[test]
fn logits_of_a_folder_and_of_a_ggml_file_are_those_of_transformers() {
    let golden = golden();
    let expected = [golden.first.clone(), golden.last.clone()].concat();
    for (name, tolerance) in [("whisper", 1e-4), ("ggml-whisper-f16.bin", 1e-4), ("ggml-whisper-q5_1.bin", 0.1)] {
        let found = logits(&model(name, 1), &golden.tokens);
        let found = difference(&found, &expected);
        assert!(found <= tolerance, "{name}: {found}");
    }
}

#[test]
fn logits_are_the_same_bits_with_any_threads_and_in_steps() {
    let tokens = golden().tokens;
    let (model, threaded) = (model("whisper", 1), model("whisper", 3));
    let whole = logits(&model, &tokens);
    assert_eq!(whole, logits(&threaded, &tokens));
    let mut window = window(&model);
    window.write(&tokens[..4], std::slice::from_ref(&(0..1))).unwrap();
    window.rewind(2).unwrap();
    let mut last = Vec::new();
    for token in &tokens[2..] {
        last = window.write(&[*token], std::slice::from_ref(&(0..1))).unwrap();
    }
    assert_eq!(whole[whole.len() / 2..], last);
}

fn write(name: &str, options: &TranscribeOptions) -> WindowText {
    let (model, vocabulary, golden) = (model(name, 1), vocabulary(name), golden());
    let prompt = WindowPrompt { tokens: golden.tokens[..3].to_vec(), start: 0 };
    let mut writer =
        WindowWriter::new(window(&model), prompt, model.architecture().n_text_positions, options, options.seed);
    loop {
        if let WindowStep::Complete(text) = writer.step(&vocabulary, options).unwrap() {
            return text;
        }
    }
}

/// No text is tried again.
fn once() -> TranscribeOptions {
    TranscribeOptions { temperatures: vec![0.0], ..Default::default() }
}

#[test]
fn greedy_text_with_times_is_that_of_transformers() {
    let (found, mut expected) = (write("whisper", &once()), golden().greedy);
    if expected.last() == Some(&280) {
        expected.pop(); // the end
    }
    assert_eq!(found.tokens, expected);
    assert!(found.avg_logprob < 0.0 && (0.0..=1.0).contains(&found.no_speech_prob));
}

#[test]
fn a_bad_text_is_tried_again_at_higher_temperatures_always_with_the_same_result() {
    let options = TranscribeOptions {
        temperatures: vec![0.0, 5.0],
        logprob_threshold: Some(0.0),
        no_speech_threshold: None,
        seed: 7,
        ..Default::default()
    };
    let text = write("whisper", &options);
    assert_eq!(text.temperature, 5.0);
    assert_eq!(text, write("whisper", &options));
    assert_ne!(text.tokens, write("whisper", &TranscribeOptions { seed: 8, ..options }).tokens);
}

#[test]
fn a_ggml_file_gives_the_same_tokens_as_the_folder() {
    let (folder, ggml) = (vocabulary("whisper"), vocabulary("ggml-whisper-f16.bin"));
    for text in ["What is the weather in Lisbon?", " Größe 12 \n\n 今天", "the timer's  set", ""] {
        assert_eq!(folder.encode(text).unwrap(), ggml.encode(text).unwrap(), "{text:?}");
        assert_eq!(ggml.decode(&ggml.encode(text).unwrap()), text);
    }
    let [a, b] = [&folder, &ggml].map(|vocabulary| {
        let tokens = vocabulary.tokens.clone();
        (
            tokens.end,
            tokens.start,
            tokens.translate,
            tokens.transcribe,
            tokens.previous,
            tokens.no_times,
            tokens.languages,
        )
    });
    assert_eq!(a, b);
}

fn transcriber(quantize: Option<GgufType>) -> Transcriber {
    let options = TranscriberOptions { threads: Some(1), quantize, ..Default::default() };
    Transcriber::load_with(fixture("whisper"), options).unwrap()
}

#[test]
fn a_recording_gives_its_language_its_segments_in_order_and_one_transcript_at_the_end() {
    let transcriber = transcriber(None);
    let events: Vec<_> = transcriber.stream(&sound(), once()).unwrap().map(Result::unwrap).collect();
    let languages = events.iter().filter(|event| matches!(event, TranscriptEvent::Language { .. })).count();
    let completes = events.iter().filter(|event| matches!(event, TranscriptEvent::Complete(_))).count();
    assert_eq!((languages, completes), (1, 1));
    let Some(TranscriptEvent::Complete(transcript)) = events.last() else { panic!("{events:?}") };
    assert_eq!(transcript.duration.as_secs_f64(), 2.0);
    assert!(transcriber.languages().contains(&transcript.language.as_str()));
    assert!(transcript.segments.windows(2).all(|pair| pair[0].end <= pair[1].start), "{:?}", transcript.segments);
    assert!(
        transcript.segments.iter().all(|segment| segment.start < segment.end && segment.end <= transcript.duration)
    );
    assert_eq!(transcript, &transcriber.transcribe(&sound(), once()).unwrap());
}

#[test]
fn the_language_is_that_of_transformers() {
    let (model, vocabulary) = (model("whisper", 1), vocabulary("whisper"));
    let logits = window(&model).write(&[vocabulary.tokens.start], std::slice::from_ref(&(0..1))).unwrap();
    let best = vocabulary.tokens.languages.iter().max_by(|a, b| logits[a.1 as usize].total_cmp(&logits[b.1 as usize]));
    assert_eq!(best.unwrap().0, golden().language);
}

#[test]
fn silence_gives_no_text() {
    let silence = Sound::from_samples(vec![0.0001; 40_000], 16_000).unwrap();
    let transcript = transcriber(None).transcribe(&silence, Default::default()).unwrap();
    assert_eq!((transcript.text.as_str(), transcript.segments.len()), ("", 0));
    assert_eq!(transcript.duration.as_secs_f64(), 2.5);
    let nothing = Sound::from_samples([], 16_000).unwrap();
    assert_eq!(transcriber(None).transcribe(&nothing, Default::default()).unwrap().text, "");
}

#[test]
fn a_cancelled_transcription_ends_with_what_it_has() {
    let mut stream = transcriber(None).stream(&sound(), once()).unwrap();
    assert!(stream.next().is_some());
    stream.cancel_handle().cancel();
    let Some(Ok(TranscriptEvent::Complete(transcript))) = stream.next() else { panic!("it ends") };
    assert!(transcript.was_cancelled);
    assert!(stream.next().is_none());
}

#[test]
fn pushed_samples_give_partial_texts_and_the_same_duration() {
    let transcriber = transcriber(None);
    let mut live = transcriber.live(16_000, once()).unwrap();
    let mut events = Vec::new();
    for samples in sound().samples().chunks(1000) {
        live.push(samples).unwrap();
        while let Some(event) = live.next_event().unwrap() {
            events.push(event);
        }
    }
    live.end();
    while let Some(event) = live.next_event().unwrap() {
        events.push(event);
    }
    let Some(TranscriptEvent::Complete(transcript)) = events.last() else { panic!("{events:?}") };
    assert_eq!(transcript.duration.as_secs_f64(), 2.0);
    assert!(events.iter().any(|event| matches!(event, TranscriptEvent::Partial(_))));
    assert!(live.push(&[0.0]).is_ok() && live.next_event().unwrap().is_none());
    assert_eq!(
        transcriber.live(16_000, once()).unwrap().push(&[f32::NAN]).unwrap_err().kind(),
        ErrorKind::UnsupportedContent
    );
}

#[test]
fn a_quantised_model_is_near_the_original() {
    let mut checkpoint = WhisperCheckpoint::read(&files("whisper")).unwrap();
    quantised::quantise(&mut checkpoint, GgufType::Q8_0).unwrap();
    let model = Compute::native(1, CacheType::F16).load_whisper(&checkpoint).unwrap();
    let golden = golden();
    let found = logits(&model, &golden.tokens);
    let found = difference(&found, &[golden.first, golden.last].concat());
    assert!(0.0 < found && found < 0.03, "{found}");
    let kind = TranscriberOptions { quantize: Some(GgufType::Q4KM), ..Default::default() };
    let err = Transcriber::load_with(fixture("whisper"), kind).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidOption("quantize"));
}

#[test]
fn options_that_the_model_cannot_follow_are_refused_by_name() {
    let transcriber = transcriber(None);
    let cases = [
        (TranscribeOptions { language: Some("xx".to_owned()), ..once() }, "language"),
        (TranscribeOptions { has_word_times: true, ..once() }, "has_word_times"),
        (TranscribeOptions { temperatures: Vec::new(), ..once() }, "temperatures"),
        (TranscribeOptions { no_speech_threshold: Some(f32::NAN), ..once() }, "no_speech_threshold"),
    ];
    for (options, name) in cases {
        let err = transcriber.transcribe(&sound(), options).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::InvalidOption(name), "{err}");
    }
}

#[test]
fn files_that_are_no_whisper_models_are_refused() {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/demo.gguf");
    for (model, expected) in [
        (demo.to_str().unwrap().to_owned(), "a Whisper model must be a folder or a file of ggml, found a GGUF file"),
        (fixture("lfm2-hf"), "model_type in config.json must be whisper, found \"lfm2\""),
    ] {
        let err = Transcriber::load(model).unwrap_err();
        assert_eq!((err.kind(), err.to_string().as_str()), (ErrorKind::ModelLoad, expected));
    }
}

#[test]
fn every_beginning_of_a_ggml_file_is_refused() {
    let whole = std::fs::read(fixture("ggml-whisper-q5_1.bin")).unwrap();
    let path = std::env::temp_dir().join(format!("causerie-ggml-{}.bin", std::process::id()));
    for length in [4, 20, 48, 60, 5_000, 14_000, 20_000, 40_000, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let err = Transcriber::load(path.to_str().unwrap()).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::ModelLoad, "{length}: {err}");
    }
    std::fs::remove_file(&path).unwrap();
}
