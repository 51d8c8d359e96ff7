//! Sound as a file that is written while its samples come.

use crate::media::sound::flac_frames::{FRAME_SAMPLES, frame};
use crate::media::sound::laws::TelephoneLaw;
use crate::media::sound::resample::Resampler;
use crate::media::sound::samples::Sound;
use crate::media::sound::write::WavSamples;

/// The form of sound that is sent or stored: one channel, with 16 bits for each sample unless it is for a telephone.
///
/// ```
/// use causerie::SoundFormat;
/// assert_eq!(SoundFormat::named("flac"), Some(SoundFormat::Flac));
/// assert_eq!(SoundFormat::named("mp3"), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SoundFormat {
    /// A WAV file.
    #[default]
    Wav,
    /// A FLAC file: about half as large, without loss.
    Flac,
    /// The samples alone, with the lower byte first.
    Pcm,
    /// The samples alone, as telephones send them: 8,000 per second, to which others are converted, of 8 bits each.
    Telephone(TelephoneLaw),
}

impl SoundFormat {
    /// All formats.
    ///
    /// ```
    /// assert_eq!(causerie::SoundFormat::ALL.map(|format| format.name()), ["wav", "flac", "pcm", "pcmu", "pcma"]);
    /// ```
    pub const ALL: [Self; 5] =
        [Self::Wav, Self::Flac, Self::Pcm, Self::Telephone(TelephoneLaw::Mu), Self::Telephone(TelephoneLaw::A)];

    /// The name: `wav`, `flac`, `pcm`, or `pcmu` and `pcma` for telephones.
    ///
    /// ```
    /// assert_eq!(causerie::SoundFormat::Wav.name(), "wav");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wav => "wav",
            Self::Flac => "flac",
            Self::Pcm => "pcm",
            Self::Telephone(TelephoneLaw::Mu) => "pcmu",
            Self::Telephone(TelephoneLaw::A) => "pcma",
        }
    }

    /// The format of a name.
    ///
    /// ```
    /// assert_eq!(causerie::SoundFormat::named("pcm"), Some(causerie::SoundFormat::Pcm));
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// Writes a sound file piece by piece, as [`AudioSample`](crate::MessageResponse::AudioSample) events come. Samples beyond -1 and 1
/// are limited.
///
/// The header of a WAV file made like this states the largest size, and the header of a FLAC file no number of samples, because the
/// length is not known yet; players read to the end. [`Sound::encode`] writes exact ones.
///
/// ```
/// use causerie::{Sound, SoundFileWriter, SoundFormat};
///
/// let mut writer = SoundFileWriter::new(SoundFormat::Flac, 24_000);
/// let mut file = writer.push(&[0.0, 0.25]);
/// file.extend(writer.push(&[-0.5]));
/// file.extend(writer.finish());
/// assert_eq!(Sound::read(&file)?, Sound::from_samples([0.0, 0.25, -0.5], 24_000)?);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SoundFileWriter {
    format: SoundFormat,
    sample_rate: u32,
    /// The samples of the whole file, if they are known.
    n_samples: Option<usize>,
    has_header: bool,
    /// Samples that do not fill a frame of FLAC yet.
    held: Vec<i16>,
    n_frames: u32,
    /// Converts samples for a telephone.
    resampler: Option<Resampler>,
}

impl SoundFileWriter {
    /// Begins a file with so many samples per second.
    ///
    /// ```
    /// let pcm = causerie::SoundFileWriter::new(causerie::SoundFormat::Pcm, 24_000).push(&[0.5, -1.0]);
    /// assert_eq!(pcm, [0x00, 0x40, 0x00, 0x80]);
    /// ```
    pub fn new(format: SoundFormat, sample_rate: u32) -> Self {
        let resampler = match format {
            SoundFormat::Telephone(_) => Some(Resampler::new(sample_rate.max(1), TelephoneLaw::RATE)),
            SoundFormat::Wav | SoundFormat::Flac | SoundFormat::Pcm => None,
        };
        Self { format, sample_rate, n_samples: None, has_header: false, held: Vec::new(), n_frames: 0, resampler }
    }

    /// Adds samples, and returns the bytes of the file that are complete.
    ///
    /// ```
    /// let wav = causerie::SoundFileWriter::new(causerie::SoundFormat::Wav, 24_000).push(&[0.5]);
    /// assert_eq!(wav.len(), 44 + 2);
    /// ```
    pub fn push(&mut self, samples: &[f32]) -> Vec<u8> {
        let mut bytes = self.header();
        match self.format {
            SoundFormat::Wav | SoundFormat::Pcm => WavSamples::Int16.extend(&mut bytes, samples),
            SoundFormat::Flac => {
                self.held.extend(samples.iter().copied().map(WavSamples::int16));
                let n_whole = self.held.len() / FRAME_SAMPLES * FRAME_SAMPLES;
                let whole: Vec<i16> = self.held.drain(..n_whole).collect();
                whole.chunks(FRAME_SAMPLES).for_each(|samples| bytes.extend(self.frame(samples)));
            }
            SoundFormat::Telephone(law) => {
                let mut resampled = Vec::new();
                self.resampler.iter_mut().for_each(|resampler| resampler.push(samples, &mut resampled));
                bytes.extend(resampled.into_iter().map(|sample| law.code(sample)));
            }
        }
        bytes
    }

    /// Ends the file, and returns its last bytes.
    ///
    /// ```
    /// let writer = causerie::SoundFileWriter::new(causerie::SoundFormat::Pcm, 24_000);
    /// assert!(writer.finish().is_empty());
    /// ```
    pub fn finish(mut self) -> Vec<u8> {
        let mut bytes = self.header();
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            bytes.extend(self.frame(&held));
        }
        if let (SoundFormat::Telephone(law), Some(resampler)) = (self.format, self.resampler.take()) {
            let mut resampled = Vec::new();
            resampler.finish(&mut resampled);
            bytes.extend(resampled.into_iter().map(|sample| law.code(sample)));
        }
        bytes
    }

    fn frame(&mut self, samples: &[i16]) -> Vec<u8> {
        let number = self.n_frames;
        self.n_frames = (number + 1) & 0x7fff_ffff; // years of sound
        frame(number, samples)
    }

    /// The header, once.
    fn header(&mut self) -> Vec<u8> {
        if std::mem::replace(&mut self.has_header, true) {
            return Vec::new();
        }
        match self.format {
            SoundFormat::Wav => WavSamples::Int16.header(self.sample_rate, self.n_samples.map(|n| 2 * n)),
            SoundFormat::Flac => flac_header(self.sample_rate, self.n_samples.unwrap_or_default()),
            SoundFormat::Pcm | SoundFormat::Telephone(_) => Vec::new(),
        }
    }
}

/// The header of a FLAC file of one channel of 16 bits. Zeros stand for what is not known: the sizes of frames, the number of
/// samples, and the digest of the samples.
fn flac_header(sample_rate: u32, n_samples: usize) -> Vec<u8> {
    const LAST_BLOCK: u8 = 0x80;
    const SIZE: u8 = 34;
    let n_samples = Some(n_samples as u64).filter(|n| *n < 1 << 36).unwrap_or_default();
    let rate = u64::from(sample_rate) << 44; // 20 bits; then 3 for the channels less one
    let bits = 15 << 36; // bits of a sample less one
    let size = (FRAME_SAMPLES as u16).to_be_bytes(); // 1152
    let mut header = b"fLaC".to_vec();
    header.extend([LAST_BLOCK, 0, 0, SIZE]);
    header.extend([size, size].as_flattened());
    header.extend([0; 6]);
    header.extend((rate | bits | n_samples).to_be_bytes());
    header.extend([0; 16]);
    header
}

impl Sound {
    /// The sound in a format. Samples beyond -1 and 1 are limited.
    ///
    /// ```
    /// use causerie::{Sound, SoundFormat};
    /// let sound = Sound::from_samples([0.0, 0.25, -0.5], 24_000)?;
    /// assert_eq!(Sound::read(&sound.encode(SoundFormat::Flac))?, sound);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn encode(&self, format: SoundFormat) -> Vec<u8> {
        let mut writer = SoundFileWriter::new(format, self.sample_rate());
        writer.n_samples = Some(self.samples().len());
        let mut file = writer.push(self.samples());
        file.extend(writer.finish());
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of 16 bits from -1 to 1, as sound has them and as no sound has them.
    fn signals() -> Vec<(&'static str, Vec<f32>)> {
        let values = |value: &dyn Fn(usize) -> i32| -> Vec<f32> {
            (0..3_000).map(|at| value(at).clamp(-32_768, 32_767) as f32 / 32_768.0).collect()
        };
        let noise = |at: usize| ((at as u32).wrapping_mul(2_654_435_761) >> 16) as i32 - 32_768;
        vec![
            ("silence", values(&|_| 0)),
            ("constant", values(&|_| -32_768)),
            ("tone", values(&|at| ((at as f32 / 9.0).sin() * 9_000.0) as i32)),
            ("ramp", values(&|at| at as i32 * 7 - 10_000)),
            ("noise", values(&noise)),
            ("quiet noise", values(&|at| noise(at) / 3_000)),
            ("extremes", values(&|at| if at % 2 == 0 { 32_767 } else { -32_768 })),
            ("click", values(&|at| if at == 1_500 { 32_767 } else { 0 })),
        ]
    }

    #[test]
    fn another_decoder_reads_the_same_samples_of_any_signal_and_length() {
        for (name, signal) in signals() {
            for length in [1, 2, 4, 5, FRAME_SAMPLES - 1, FRAME_SAMPLES, FRAME_SAMPLES + 1, 3_000] {
                let sound = Sound::from_samples(&signal[..length], 24_000).unwrap();
                for format in [SoundFormat::Wav, SoundFormat::Flac] {
                    let file = sound.encode(format);
                    assert!(Sound::read(&file).unwrap() == sound, "{name}, {length}, {format:?}");
                    assert!(file.len() < 2 * length + 100, "{name}, {length}, {format:?}: {}", file.len());
                }
            }
        }
    }

    #[test]
    fn a_file_in_pieces_has_the_bytes_of_the_whole_but_for_its_length() {
        let (_, signal) = signals().remove(2);
        let sound = Sound::from_samples(signal.as_slice(), 24_000).unwrap();
        for format in SoundFormat::ALL {
            let whole = sound.encode(format);
            for cut in [1, 7, 1440, 1920, 3_000] {
                let mut writer = SoundFileWriter::new(format, 24_000);
                let mut pieces: Vec<u8> = signal.chunks(cut).flat_map(|samples| writer.push(samples)).collect();
                pieces.extend(writer.finish());
                let is_file = [SoundFormat::Wav, SoundFormat::Flac].contains(&format);
                let header = if is_file { 44 } else { 0 };
                assert!(pieces.len() == whole.len() && pieces[header..] == whole[header..], "{format:?}, {cut}");
                if is_file {
                    assert!(Sound::read(&pieces).unwrap() == sound, "{format:?}, {cut}");
                }
            }
        }
    }

    #[test]
    fn a_telephone_gets_a_third_of_the_samples_without_what_it_cannot_hear() {
        let wave = |hertz: f32| {
            let sample = |at| (at as f32 * hertz * std::f32::consts::TAU / 24_000.0).sin() / 2.0;
            Sound::from_samples((0..2_400).map(sample).collect::<Vec<f32>>(), 24_000).unwrap()
        };
        for law in [TelephoneLaw::Mu, TelephoneLaw::A] {
            let loudest = |sound: &Sound| {
                let codes = sound.encode(SoundFormat::Telephone(law));
                assert_eq!(codes.len(), 800);
                codes[100..700].iter().map(|code| law.sample(*code).abs()).fold(0.0, f32::max)
            };
            assert!((0.48..0.52).contains(&loudest(&wave(1_000.0))), "{law:?}");
            assert!(loudest(&wave(9_000.0)) < 0.01, "{law:?}: would be heard at 1,000");
        }
    }

    #[test]
    fn a_tone_takes_less_room_in_flac() {
        let (_, tone) = signals().remove(2);
        let file = Sound::from_samples(tone, 24_000).unwrap().encode(SoundFormat::Flac);
        assert!(file.len() < 3_000, "{}", file.len()); // of 6,000
    }
}
