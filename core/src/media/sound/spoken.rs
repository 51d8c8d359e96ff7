//! The sound of a reply as a WAV file that also holds the model's own codes, which the model reads when the conversation goes on:
//! samples cannot be turned back into codes. Other programs pass over the chunk.

use crate::media::sound::samples::Sound;
use crate::media::sound::write::WavSamples;

/// The chunk of codes: the 16 bytes that name the voice, then numbers of 16 bits: what began the stretch, the number of codes in a
/// frame, the code that ends sound, and the codes, one frame after the other.
const FRAMES: &[u8; 4] = b"cfrm";
/// Bytes that name a voice.
const VOICE: usize = 16;

/// The control token, if any, with which the model began a stretch of sound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SoundOpening {
    #[default]
    None,
    /// `<|audio_start|>`
    SoundStart,
    /// `<|text_end|>`
    TextEnd,
    /// `<|mixed_start|>`, which begins a part of text and sound in turn. It stands before the part's text, and has no frames.
    MixedStart,
}

/// The codes of a stretch of sound.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SpokenFrames {
    /// Names the voice whose codes these are.
    pub(crate) voice: [u8; VOICE],
    pub(crate) opening: SoundOpening,
    /// The code that ends sound. A frame that contains it has no samples.
    pub(crate) end_code: u16,
    pub(crate) frames: Vec<Vec<u16>>,
}

/// A stretch of sound of a reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SpokenSound {
    pub(crate) spoken: SpokenFrames,
    pub(crate) samples: Vec<f32>,
    pub(crate) sample_rate: u32,
}

impl SpokenFrames {
    /// Whether a frame has samples.
    pub(crate) fn sounds(&self, frame: &[u16]) -> bool {
        !frame.contains(&self.end_code)
    }
}

impl SpokenSound {
    /// A WAV file with samples of 16 bits. Samples beyond -1 and 1 are clipped.
    pub(crate) fn to_wav(&self) -> Vec<u8> {
        let SpokenFrames { voice, opening, end_code, frames } = &self.spoken;
        let n_codes = frames.first().map_or(0, Vec::len) as u16; // a frame has as many codes as there are codebooks
        let numbers = [*opening as u16, n_codes, *end_code].into_iter().chain(frames.iter().flatten().copied());
        let codes: Vec<u8> = voice.iter().copied().chain(numbers.flat_map(u16::to_le_bytes)).collect();
        let samples = WavSamples::Int16;
        let mut file = samples.header(self.sample_rate, Some(2 * self.samples.len()));
        samples.extend(&mut file, &self.samples);
        file.extend(FRAMES);
        file.extend((codes.len() as u32).to_le_bytes()); // a context has far fewer frames
        file.extend(codes);
        file.resize(file.len().next_multiple_of(2), 0);
        // The header counts all chunks after its first eight bytes.
        let size = u32::try_from(file.len() - 8).unwrap_or(u32::MAX);
        file[4..8].copy_from_slice(&size.to_le_bytes());
        file
    }

    /// The sound and the codes of a file that [`to_wav`](Self::to_wav) has made; `None` for any other file.
    pub(crate) fn read(file: &[u8]) -> Option<Self> {
        let (spoken, sound) = (Self::frames_of(file)?, Sound::read(file).ok()?);
        Some(Self { spoken, sample_rate: sound.sample_rate(), samples: sound.samples().to_vec() })
    }

    /// The codes of a file that [`to_wav`](Self::to_wav) has made; `None` for any other file.
    pub(crate) fn frames_of(file: &[u8]) -> Option<SpokenFrames> {
        let mut chunks = file.strip_prefix(b"RIFF")?.get(4..)?.strip_prefix(b"WAVE")?;
        while let Some((header, rest)) = chunks.split_at_checked(8) {
            let (id, size) = header.split_at(4);
            let size = u32::from_le_bytes(size.try_into().ok()?) as usize;
            let chunk = rest.get(..size)?;
            if id == FRAMES {
                let (voice, codes) = chunk.split_at_checked(VOICE)?;
                let mut numbers = codes.chunks_exact(2).map(|code| u16::from_le_bytes([code[0], code[1]]));
                let opening = match numbers.next()? {
                    1 => SoundOpening::SoundStart,
                    2 => SoundOpening::TextEnd,
                    3 => SoundOpening::MixedStart,
                    _ => SoundOpening::None,
                };
                let n_codes = usize::from(numbers.next()?);
                let end_code = numbers.next()?;
                let codes: Vec<u16> = numbers.collect();
                let frames = codes.chunks_exact(n_codes.max(1)).map(<[u16]>::to_vec).collect();
                return Some(SpokenFrames { voice: voice.try_into().ok()?, opening, end_code, frames });
            }
            chunks = rest.get(size.checked_next_multiple_of(2)?..)?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spoken() -> SpokenSound {
        SpokenSound {
            spoken: SpokenFrames {
                voice: *b"a voice of tests",
                opening: SoundOpening::TextEnd,
                end_code: 2048,
                frames: vec![vec![1, 2, 2048], vec![2048; 3]],
            },
            samples: vec![0.0, 0.5, -2.0],
            sample_rate: 24_000,
        }
    }

    #[test]
    fn the_codes_of_a_reply_are_in_its_file() {
        let spoken = spoken();
        assert_eq!(SpokenSound::frames_of(&spoken.to_wav()), Some(spoken.spoken));
    }

    #[test]
    fn a_file_that_is_cut_anywhere_has_no_codes_or_all_of_them() {
        let file = spoken().to_wav();
        for end in 0..file.len() {
            let found = SpokenSound::frames_of(&file[..end]);
            assert!(found.is_none() || found == Some(spoken().spoken), "{end}");
        }
    }
}
