//! `causerie transcribe`: writes what is said in files of sound.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use causerie::transcribe::{
    SpeechTask, TranscribeOptions, Transcriber, TranscriberOptions, Transcript, TranscriptEvent,
};
use causerie::{Sound, SoundOptions};

use crate::arguments::{TranscribeArguments, TranscriptForm};
use crate::failure::Failure;
use crate::interrupt;
use crate::model::{LocalModel, progress_bar};
use crate::output::{print, remark};

/// The name of standard input.
const STDIN: &str = "-";
/// Bytes of standard input at most: those that a file may have.
const MAX_BYTES: u64 = 1 << 30;
/// What is read at the rate that models hear, so that hours of sound need little memory.
const READING: SoundOptions = SoundOptions { sample_rate: Some(16_000), max_duration: Duration::from_secs(12 * 3_600) };

pub(crate) fn run(arguments: &TranscribeArguments, model: &LocalModel) -> Result<(), Failure> {
    let options = TranscribeOptions {
        language: arguments.language.clone(),
        task: if arguments.translate { SpeechTask::Translate } else { SpeechTask::Transcribe },
        prompt: arguments.prompt.clone(),
        has_word_times: arguments.words,
        ..TranscribeOptions::default()
    };
    options.check()?;
    let place = model.to_load().unwrap_or(&arguments.model);
    let transcriber = Transcriber::load_with(
        place,
        TranscriberOptions { threads: arguments.threads, ..TranscriberOptions::default() },
    )?;
    for file in &arguments.files {
        let sound = read(file)?;
        let Some(transcript) = transcribe(&transcriber, &sound, options.clone(), file)? else { return Ok(()) };
        let text = written(&transcript, arguments.format);
        match &arguments.output {
            Some(folder) => {
                let place = folder.join(result_name(file, arguments.format));
                fs::write(&place, text).map_err(|err| Failure(format!("cannot write {}: {err}", place.display())))?;
            }
            None => print(text)?,
        }
    }
    Ok(())
}

fn read(file: &Path) -> Result<Sound, Failure> {
    let place = file.display();
    let bytes = if file == Path::new(STDIN) {
        let mut bytes = Vec::new();
        io::stdin().take(MAX_BYTES + 1).read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(file)
    };
    let bytes = bytes.map_err(|err| Failure(format!("cannot read {place}: {err}")))?;
    Sound::read_with(&bytes, READING).map_err(|err| Failure(format!("cannot read {place}: {err}")))
}

/// Transcribes with a bar on a terminal; `None` after Ctrl-C.
fn transcribe(
    transcriber: &Transcriber,
    sound: &Sound,
    options: TranscribeOptions,
    file: &Path,
) -> Result<Option<Transcript>, Failure> {
    let stream = transcriber.stream(sound, options)?;
    interrupt::cancel_work(stream.cancel_handle());
    let bar = progress_bar(format!("transcribing {}", file.display()));
    let duration = sound.duration().as_secs_f64();
    let mut whole = None;
    for event in stream {
        match event? {
            TranscriptEvent::Segment(segment) => {
                bar.set_position((segment.end.as_secs_f64() / duration * 100.0) as u64); // from 0 to 1
            }
            TranscriptEvent::Complete(transcript) => whole = Some(transcript),
            _ => {}
        }
    }
    bar.finish_and_clear();
    Ok(whole.filter(|transcript| {
        if transcript.was_cancelled {
            remark("the transcription was cancelled");
        }
        !transcript.was_cancelled
    }))
}

fn written(transcript: &Transcript, form: TranscriptForm) -> String {
    match form {
        TranscriptForm::Txt => format!("{}\n", transcript.text),
        TranscriptForm::Srt => transcript.to_srt(),
        TranscriptForm::Vtt => transcript.to_vtt(),
        TranscriptForm::Json => format!("{}\n", transcript.to_json()),
    }
}

/// The name of a file's transcript.
fn result_name(file: &Path, form: TranscriptForm) -> PathBuf {
    let ending = match form {
        TranscriptForm::Txt => "txt",
        TranscriptForm::Srt => "srt",
        TranscriptForm::Vtt => "vtt",
        TranscriptForm::Json => "json",
    };
    let name = if file == Path::new(STDIN) { Path::new("transcript") } else { file };
    PathBuf::from(name.file_name().unwrap_or(name.as_os_str())).with_extension(ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_has_the_name_of_its_file() {
        for (file, expect) in [("a/b.mp3", "b.vtt"), ("-", "transcript.vtt"), ("b.c.wav", "b.c.vtt")] {
            assert_eq!(result_name(Path::new(file), TranscriptForm::Vtt), Path::new(expect));
        }
    }
}
