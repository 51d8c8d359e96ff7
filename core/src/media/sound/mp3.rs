//! MP3 files, and files of the other two layers of MPEG audio.

use nanomp3::{Options, SliceReader, detect, id3v2_len};

use crate::error::Result;
use crate::media::sound::recording::{Recording, unsupported};

/// Whether frames follow each other at the start of a file, after tags.
pub(super) fn is_mp3(file: &[u8]) -> bool {
    detect(after_tags(file))
}

/// A file after its tags in ID3's form, which can stand before sound of any format.
pub(super) fn after_tags(mut file: &[u8]) -> &[u8] {
    loop {
        match id3v2_len(file) {
            0 => return file,
            length => file = file.get(length..).unwrap_or_default(),
        }
    }
}

/// Reads an MP3 file. What encoders add at the start and the end is dropped if the file says how much it is.
pub(super) fn read_mp3(file: &[u8], recording: &mut Recording) -> Result<()> {
    let mut reader = SliceReader::<f32>::with_options(file, Options::default().skip_scan(true));
    let Some(channels) = reader.channels() else {
        return Err(unsupported("the MP3 file must have sound, found none"));
    };
    recording.start(reader.sample_rate(), channels.num().into(), None)?;
    loop {
        match reader.read_frame() {
            Ok(Some(samples)) => recording.push(samples)?,
            Ok(None) => return Ok(()),
            Err(err) => return Err(unsupported("the MP3 file cannot be decoded").caused_by(err)),
        }
    }
}
