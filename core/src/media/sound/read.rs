//! Reads files of sound, which are not trusted: the content says the format, limits are checked before and while it is decoded.

use std::panic::catch_unwind;

use crate::error::Result;
use crate::media::sound::flac::{is_flac, read_flac};
use crate::media::sound::mp3::{after_tags, is_mp3, read_mp3};
use crate::media::sound::ogg::is_ogg;
use crate::media::sound::opus::read_opus;
use crate::media::sound::recording::{Recording, unsupported};
use crate::media::sound::samples::{Sound, SoundOptions};
use crate::media::sound::wav::{is_wav, read_wav};

/// Bytes of a file at most.
const MAX_FILE: usize = 1 << 30;

impl Sound {
    /// Reads a WAV, FLAC, MP3 or Ogg Opus file. Several channels are mixed into one. If the end of the file is missing, the
    /// sound ends there.
    ///
    /// # Errors
    /// [`UnsupportedContent`](crate::ErrorKind::UnsupportedContent) for a file of another format, which the message names, for
    /// a damaged one, and for one beyond the limits of [`SoundOptions`].
    ///
    /// ```
    /// use causerie::Sound;
    /// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap();
    /// let sound = Sound::read(&std::fs::read("tests/fixtures/sounds/stereo16.wav")?)?;
    /// assert_eq!((sound.sample_rate(), sound.samples().len()), (16_000, 480));
    /// assert!(Sound::read(&std::fs::read("tests/fixtures/sounds/aac.m4a")?).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(file: &[u8]) -> Result<Self> {
        Self::read_with(file, SoundOptions::default())
    }

    /// Reads a file as [`read`](Self::read) does, with other limits or at another rate.
    ///
    /// ```
    /// use std::time::Duration;
    /// use causerie::{Sound, SoundOptions};
    /// let file = Sound::from_samples(vec![0.5; 160_000], 16_000)?.to_wav();
    /// let options = SoundOptions { max_duration: Duration::from_secs(5), ..Default::default() };
    /// let err = Sound::read_with(&file, options).unwrap_err();
    /// assert_eq!(err.to_string(), "a sound must last at most 5s, found at least 10s");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn read_with(file: &[u8], options: SoundOptions) -> Result<Self> {
        if file.is_empty() {
            return Err(unsupported("the sound has no data"));
        }
        if MAX_FILE < file.len() {
            let found = file.len();
            return Err(unsupported(format!("a file of sound must have at most {MAX_FILE} bytes, found {found}")));
        }
        // A panic of a decoder is a file that it cannot read.
        let read = catch_unwind(|| {
            let mut recording = Recording::new(options);
            decode(file, &mut recording)?;
            let (samples, sample_rate) = recording.finish();
            Ok(Self { samples, sample_rate })
        });
        read.unwrap_or_else(|_| Err(unsupported("the sound cannot be decoded")))
    }
}

fn decode(file: &[u8], recording: &mut Recording) -> Result<()> {
    let content = after_tags(file);
    match content {
        _ if is_wav(content) => read_wav(content, recording),
        _ if is_flac(content) => read_flac(content, recording),
        _ if is_ogg(content) => read_opus(content, recording),
        _ => match name_of_other(content) {
            Some(found) => {
                Err(unsupported(format!("the sound must be a WAV, FLAC, MP3 or Ogg Opus file, found {found}")))
            }
            // The tags say where sound ends, so the decoder gets them, too.
            None if is_mp3(content) => read_mp3(file, recording),
            None => Err(unsupported("the sound must be a WAV, FLAC, MP3 or Ogg Opus file")),
        },
    }
}

/// The name of a format that is not read.
fn name_of_other(file: &[u8]) -> Option<&'static str> {
    let starts = [
        (&b"\x1A\x45\xDF\xA3"[..], "WebM or Matroska"),
        (b"RIFX", "RIFX (WAV with the bytes of numbers in reverse)"),
        (b"RIFF", "a RIFF file that is not WAV"),
        (b"riff\x2E\x91\xCF\x11", "Wave64"),
        (b"FORM", "AIFF"),
        (b".snd", "AU"),
        (b"caff", "CAF"),
        (b"#!AMR", "AMR"),
        (b"ADIF", "AAC"),
        (b"\x30\x26\xB2\x75\x8E\x66\xCF\x11", "Windows Media"),
        (b"wvpk", "WavPack"),
        (b"MAC ", "Monkey's Audio"),
        (b"TTA1", "True Audio"),
        (b"DSD ", "DSD"),
        (b"MThd", "MIDI"),
        (b"\x89PNG", "a PNG picture"),
        (b"\xFF\xD8\xFF", "a JPEG picture"),
        (b"%PDF", "PDF"),
        (b"GGUF", "GGUF"),
    ];
    if file.get(4..8) == Some(b"ftyp") {
        return Some("MP4 or M4A (AAC)");
    }
    // Frames of AAC begin as frames of MP3 do, with a layer of 0.
    if let [0xFF, second, ..] = file
        && second & 0xF6 == 0xF0
    {
        return Some("AAC");
    }
    starts.iter().find(|(start, _)| file.starts_with(start)).map(|(_, name)| *name)
}
