//! The sound of a reply as a WAV file that also holds the model's own codes, which the model reads when the conversation goes on:
//! samples cannot be turned back into codes. Other programs pass over the chunk.

/// The chunk of codes: the 16 bytes that name the voice, then the codes of a frame, one frame after the other, as 16 bits. The first
/// two bytes after the name are the number of codes in a frame.
const FRAMES: &[u8; 4] = b"cfrm";
/// Bytes that name a voice.
const VOICE: usize = 16;

/// The frames of a stretch of sound, and its samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SpokenSound {
    /// Names the voice whose codes these are.
    pub(crate) voice: [u8; VOICE],
    pub(crate) frames: Vec<Vec<u16>>,
    pub(crate) samples: Vec<f32>,
    pub(crate) sample_rate: u32,
}

impl SpokenSound {
    /// A WAV file with samples of 16 bits. Samples beyond -1 and 1 are clipped.
    pub(crate) fn to_wav(&self) -> Vec<u8> {
        let mut codes = self.voice.to_vec();
        let n_codes = self.frames.first().map_or(0, Vec::len) as u16; // a frame has as many codes as there are codebooks
        codes.extend(n_codes.to_le_bytes());
        codes.extend(self.frames.iter().flatten().flat_map(|code| code.to_le_bytes()));
        let quantised = |sample: &f32| (sample.clamp(-1.0, 1.0) * f32::from(i16::MAX)).round() as i16; // in range
        let samples: Vec<u8> = self.samples.iter().flat_map(|sample| quantised(sample).to_le_bytes()).collect();
        let mut format = Vec::new();
        format.extend([1u16, 1].into_iter().flat_map(u16::to_le_bytes)); // PCM, one channel
        format.extend([self.sample_rate, 2 * self.sample_rate].into_iter().flat_map(u32::to_le_bytes));
        format.extend([2u16, 16].into_iter().flat_map(u16::to_le_bytes)); // bytes of a frame, bits of a sample
        let mut body = b"WAVE".to_vec();
        for (id, chunk) in [(b"fmt ", format), (FRAMES, codes), (b"data", samples)] {
            body.extend(id);
            body.extend((chunk.len() as u32).to_le_bytes()); // a reply of 4 GiB would take a day to speak
            body.extend(&chunk);
            body.resize(body.len().next_multiple_of(2), 0);
        }
        let mut file = b"RIFF".to_vec();
        file.extend((body.len() as u32).to_le_bytes());
        file.extend(body);
        file
    }

    /// The voice and the frames of a file that [`to_wav`](Self::to_wav) has made; `None` for any other file.
    pub(crate) fn frames_of(file: &[u8]) -> Option<([u8; VOICE], Vec<Vec<u16>>)> {
        let mut chunks = file.strip_prefix(b"RIFF")?.get(4..)?.strip_prefix(b"WAVE")?;
        while let Some((header, rest)) = chunks.split_at_checked(8) {
            let (id, size) = header.split_at(4);
            let size = u32::from_le_bytes(size.try_into().ok()?) as usize;
            let chunk = rest.get(..size)?;
            if id == FRAMES {
                let (voice, codes) = chunk.split_at_checked(VOICE)?;
                let mut codes = codes.chunks_exact(2).map(|code| u16::from_le_bytes([code[0], code[1]]));
                let n_codes = codes.next().filter(|n_codes| 0 < *n_codes)?;
                let codes: Vec<u16> = codes.collect();
                let frames = codes.chunks_exact(n_codes.into()).map(<[u16]>::to_vec).collect();
                return Some((voice.try_into().ok()?, frames));
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
            voice: *b"a voice of tests",
            frames: vec![vec![1, 2, 2048], vec![2048; 3]],
            samples: vec![0.0, 0.5, -2.0],
            sample_rate: 24_000,
        }
    }

    #[test]
    fn the_codes_of_a_reply_are_in_its_file() {
        let spoken = spoken();
        assert_eq!(SpokenSound::frames_of(&spoken.to_wav()), Some((spoken.voice, spoken.frames)));
    }

    #[test]
    fn a_file_that_is_cut_anywhere_has_no_codes_or_all_of_them() {
        let file = spoken().to_wav();
        for end in 0..file.len() {
            let found = SpokenSound::frames_of(&file[..end]);
            assert!(found.is_none() || found == Some((spoken().voice, spoken().frames)), "{end}");
        }
    }
}
