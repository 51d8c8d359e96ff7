//! FLAC files.

use std::io::{Cursor, ErrorKind as IoErrorKind, Read};

use claxon::{Error, FlacReader};

use crate::error::Result;
use crate::media::sound::recording::{Recording, unsupported};

const SIGNATURE: &[u8] = b"fLaC";
/// Set in the kind of the last block of metadata.
const LAST: u8 = 0x80;

pub(super) fn is_flac(file: &[u8]) -> bool {
    file.starts_with(SIGNATURE)
}

/// Reads a FLAC file. What is left of a cut one counts.
pub(super) fn read_flac(file: &[u8], recording: &mut Recording) -> Result<()> {
    let (header, frames) =
        parts(file).ok_or_else(|| unsupported("the FLAC file cannot be decoded: its header is cut off"))?;
    let mut reader = FlacReader::new(Cursor::new(header).chain(frames)).map_err(unreadable)?;
    let info = reader.streaminfo();
    let scale = 1.0 / (1u64 << (info.bits_per_sample.clamp(1, 32) - 1)) as f64;
    let n_channels = info.channels as usize; // at most 8
    recording.start(info.sample_rate, n_channels, info.samples)?;
    let mut blocks = reader.blocks();
    let (mut buffer, mut interleaved) = (Vec::new(), Vec::new());
    loop {
        let block = match blocks.read_next_or_eof(buffer) {
            Ok(Some(block)) => block,
            Ok(None) => return Ok(()),
            Err(Error::IoError(err)) if err.kind() == IoErrorKind::UnexpectedEof => return Ok(()),
            Err(err) => return Err(unreadable(err)),
        };
        if block.channels() != info.channels {
            return Err(unsupported("the FLAC file cannot be decoded: its number of channels changes"));
        }
        let n_frames = block.duration() as usize; // of 16 bits
        interleaved.clear();
        let places = (0..n_frames).flat_map(|at| (0..info.channels).map(move |channel| (channel, at)));
        let value = |(channel, at)| (f64::from(block.channel(channel)[at]) * scale) as f32; // rounded
        interleaved.extend(places.map(value));
        recording.push(&interleaved)?;
        buffer = block.into_buffer();
    }
}

/// What the decoder needs of the metadata, as a header of its own, and the frames of sound. Pictures and comments are skipped
/// here.
fn parts(file: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = file.strip_prefix(SIGNATURE)?;
    let mut header = None;
    loop {
        let ([kind, size @ ..], body) = rest.split_first_chunk::<4>()?;
        let size = u32::from_be_bytes([0, size[0], size[1], size[2]]);
        let (block, after) = body.split_at_checked(size as usize)?; // of 24 bits
        if header.is_none() {
            header = Some([SIGNATURE, &[kind | LAST], size.to_be_bytes().get(1..)?, block].concat());
        }
        if kind & LAST != 0 {
            return Some((header?, after));
        }
        rest = after;
    }
}

fn unreadable(err: Error) -> crate::error::SdkError {
    unsupported("the FLAC file cannot be decoded").caused_by(err)
}
