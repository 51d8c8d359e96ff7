//! `causerie speak`: reads a text aloud.

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use causerie::{FinishReason, GenerationOptions, MessageResponse, ResponseStream, Sound, SoundFileWriter, SoundFormat};

use crate::arguments::SpeakArguments;
use crate::failure::Failure;
use crate::interrupt;
use crate::model::{LocalModel, load_options};
use crate::output::{print_bytes, remark};

/// The name of standard input and output.
const STANDARD: &str = "-";
/// Bytes of standard input at most: more than a context holds.
const MAX_TEXT: u64 = 1 << 20;

pub(crate) fn run(arguments: &SpeakArguments, model: &LocalModel) -> Result<(), Failure> {
    let options = GenerationOptions {
        speech_temperature: arguments.temperature,
        speech_top_k: arguments.top_k,
        seed: arguments.seed,
        ..Default::default()
    };
    options.check()?;
    let text = text(&arguments.text)?;
    let is_piped = arguments.output == Path::new(STANDARD);
    if is_piped && io::stdout().is_terminal() {
        return Err(Failure("standard output must be a file or another program, found a terminal".to_owned()));
    }
    let runner = model.load(load_options(arguments.context.size))?;
    if !runner.info().supports_speech {
        let name = model.name().unwrap_or(&arguments.model);
        return Err(Failure(format!("{name} does not speak: the model must be one that does, with all of its files")));
    }
    let reply = runner.speak(&text, arguments.voice, options)?;
    interrupt::cancel_on_press(&reply);
    if is_piped { pipe(reply) } else { write(reply, &arguments.output) }
}

/// The text of the argument or of standard input.
fn text(argument: &str) -> Result<String, Failure> {
    if argument != STANDARD {
        return Ok(argument.to_owned());
    }
    let mut text = String::new();
    let read = io::stdin().take(MAX_TEXT).read_to_string(&mut text);
    read.map_err(|err| Failure(format!("cannot read the text of standard input: {err}")))?;
    Ok(text.trim().to_owned())
}

/// Writes a file once the reply has ended.
fn write(reply: ResponseStream, file: &Path) -> Result<(), Failure> {
    let (mut samples, mut rate) = (Vec::new(), 0);
    let is_whole = listen(reply, |next, sample_rate| {
        samples.extend_from_slice(next);
        rate = sample_rate;
        Ok(())
    })?;
    if !is_whole {
        return Ok(());
    }
    let sound = Sound::from_samples(samples, rate)?;
    let place = file.display();
    fs::write(file, sound.encode(format_of(file))).map_err(|err| Failure(format!("cannot write {place}: {err}")))?;
    remark(format_args!("{place}: {:.2} s", sound.duration().as_secs_f64()));
    Ok(())
}

/// Writes a WAV file to standard output while the model speaks.
fn pipe(reply: ResponseStream) -> Result<(), Failure> {
    let mut encoder = None;
    listen(reply, |samples, rate| {
        let encoder = encoder.get_or_insert_with(|| SoundFileWriter::new(SoundFormat::Wav, rate));
        Ok(print_bytes(&encoder.push(samples))?)
    })?;
    Ok(())
}

/// Gives the samples of a reply to `take`; returns whether the reply is whole.
fn listen(
    mut reply: ResponseStream,
    mut take: impl FnMut(&[f32], u32) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    let mut has_sound = false;
    while let Some(event) = reply.iter().next() {
        match event? {
            MessageResponse::AudioSample { samples, sample_rate } if !samples.is_empty() => {
                has_sound = true;
                take(&samples, sample_rate)?;
            }
            MessageResponse::Complete(completion) => match completion.finish_reason {
                FinishReason::Interrupted => {
                    remark("the reply was cancelled");
                    return Ok(false);
                }
                FinishReason::ExceedContext => remark("the context is full: the end of the text was not read"),
                _ => {}
            },
            _ => {}
        }
    }
    if has_sound { Ok(true) } else { Err(Failure("the model wrote text instead of speaking".to_owned())) }
}

/// The format that a file's name asks for.
fn format_of(file: &Path) -> SoundFormat {
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    SoundFormat::named(&ending.to_ascii_lowercase()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_says_its_format() {
        for (file, format) in [
            ("a.wav", SoundFormat::Wav),
            ("a.FLAC", SoundFormat::Flac),
            ("b/a.pcm", SoundFormat::Pcm),
            ("a", SoundFormat::Wav),
        ] {
            assert_eq!(format_of(Path::new(file)), format, "{file}");
        }
    }
}
