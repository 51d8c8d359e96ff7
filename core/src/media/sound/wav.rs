//! WAV files as programs really write them: chunks in any order after the format, sizes of streams, cut ends.

use crate::error::Result;
use crate::media::sound::laws::TelephoneLaw;
use crate::media::sound::recording::{Recording, unsupported};

/// Codes of the formats that are read.
const PCM: u16 = 1;
const FLOAT: u16 = 3;
const A_LAW: u16 = 6;
const MU_LAW: u16 = 7;
/// The code stands further on, as the start of an identifier that ends like this.
const EXTENSIBLE: u16 = 0xFFFE;
const IDENTIFIER_END: &[u8] = b"\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71";
/// Samples that are converted at a time.
const CHUNK: usize = 1 << 14;

/// Whether a file begins as one of the kinds that are read.
pub(super) fn is_wav(file: &[u8]) -> bool {
    [b"RIFF", b"RF64", b"BW64"].iter().any(|id| file.starts_with(*id)) && file.get(8..12) == Some(b"WAVE")
}

/// What the `fmt ` chunk says.
struct WavFormat {
    sample_rate: u32,
    n_channels: u16,
    /// Bytes of a sample of all channels.
    frame: usize,
    sample: WavSample,
}

/// How one sample is stored.
#[derive(Clone, Copy)]
enum WavSample {
    Unsigned8,
    Signed16,
    Signed24,
    Signed32,
    Float32,
    Float64,
    ALaw,
    MuLaw,
}

/// Reads a WAV file. What is left of a cut one counts; the last samples are dropped if channels are missing.
pub(super) fn read_wav(file: &[u8], recording: &mut Recording) -> Result<()> {
    let mut rest = file.get(12..).unwrap_or_default();
    let (mut format, mut long_size) = (None, None);
    loop {
        let Some((id, size, body)) = chunk(rest) else {
            return Err(unsupported("the WAV file must have a data chunk, found none"));
        };
        let end = body.len().min(size);
        match id {
            b"ds64" => {
                long_size = body.get(8..16).and_then(|size| size.first_chunk()).map(|size| u64::from_le_bytes(*size))
            }
            b"fmt " => format = Some(WavFormat::read(&body[..end])?),
            b"data" => {
                let Some(format) = format else {
                    return Err(unsupported("the WAV file must have its format before its data, found data first"));
                };
                return format.push_samples(data(body, size, long_size), recording);
            }
            _ => {}
        }
        // A chunk of an odd length is followed by one byte.
        rest = body.get(end + size % 2..).unwrap_or_default();
    }
}

/// The next chunk: its id, the size that it states, and everything after its header.
fn chunk(rest: &[u8]) -> Option<(&[u8; 4], usize, &[u8])> {
    let (id, rest) = rest.split_first_chunk()?;
    let (size, body) = rest.split_first_chunk()?;
    Some((id, u32::from_le_bytes(*size) as usize, body)) // at least 32 bits
}

/// The samples of a data chunk. Programs that write to a pipe don't know its size: they state the largest one, or 0.
fn data(body: &[u8], size: usize, long_size: Option<u64>) -> &[u8] {
    let size = match (size, long_size) {
        (0xFFFF_FFFF, Some(size)) => usize::try_from(size).unwrap_or(usize::MAX),
        (0, _) if !are_chunks(body) => usize::MAX,
        _ => size,
    };
    &body[..body.len().min(size)]
}

/// Whether the rest of a file is chunks, or nothing.
fn are_chunks(mut rest: &[u8]) -> bool {
    while !rest.is_empty() {
        let Some((id, size, body)) = chunk(rest) else { return false };
        if body.len() < size || !id.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') {
            return false;
        }
        rest = body.get(size + size % 2..).unwrap_or_default();
    }
    true
}

impl WavFormat {
    fn read(chunk: &[u8]) -> Result<Self> {
        let number =
            |at: usize| chunk.get(at..at + 2).and_then(|it| it.first_chunk()).map(|it| u16::from_le_bytes(*it));
        let long = |at: usize| chunk.get(at..at + 4).and_then(|it| it.first_chunk()).map(|it| u32::from_le_bytes(*it));
        let (Some(code), Some(n_channels), Some(sample_rate), Some(frame), Some(bits)) =
            (number(0), number(2), long(4), number(12), number(14))
        else {
            let found = chunk.len();
            return Err(unsupported(format!("the format of the WAV file must have at least 16 bytes, found {found}")));
        };
        let code = match code {
            EXTENSIBLE if chunk.get(26..40) == Some(IDENTIFIER_END) => number(24).unwrap_or(code),
            _ => code,
        };
        let sample = match (code, bits) {
            (PCM, 8) => WavSample::Unsigned8,
            (PCM, 16) => WavSample::Signed16,
            (PCM, 24) => WavSample::Signed24,
            (PCM, 32) => WavSample::Signed32,
            (FLOAT, 32) => WavSample::Float32,
            (FLOAT, 64) => WavSample::Float64,
            (A_LAW, 8) => WavSample::ALaw,
            (MU_LAW, 8) => WavSample::MuLaw,
            (PCM | FLOAT | A_LAW | MU_LAW, _) => {
                let widths = match code {
                    PCM => "8, 16, 24 or 32",
                    FLOAT => "32 or 64",
                    _ => "8",
                };
                return Err(unsupported(format!("samples of the WAV file must have {widths} bits, found {bits}")));
            }
            _ => {
                return Err(unsupported(format!(
                    "the WAV file must have PCM, float, A-law or mu-law samples, found {}",
                    name_of_format(code)
                )));
            }
        };
        if n_channels == 0 || u32::from(frame) != u32::from(n_channels) * u32::from(bits) / 8 {
            return Err(unsupported(format!(
                "the WAV file must have as many bytes for each time as its channels need, found {frame} for {n_channels} of {bits} bits"
            )));
        }
        Ok(Self { sample_rate, n_channels, frame: frame.into(), sample })
    }

    fn push_samples(&self, data: &[u8], recording: &mut Recording) -> Result<()> {
        let n_frames = data.len() / self.frame; // not 0: a sample has bytes, and there are channels
        recording.start(self.sample_rate, self.n_channels.into(), Some(n_frames as u64))?;
        let whole = &data[..n_frames * self.frame];
        let mut samples = Vec::new();
        let chunk = (CHUNK / usize::from(self.n_channels)).max(1) * self.frame;
        for chunk in whole.chunks(chunk) {
            samples.clear();
            self.sample.convert(chunk, &mut samples);
            recording.push(&samples)?;
        }
        Ok(())
    }
}

impl WavSample {
    /// Appends the values of stored samples.
    fn convert(self, stored: &[u8], samples: &mut Vec<f32>) {
        match self {
            Self::Unsigned8 => samples.extend(stored.iter().map(|byte| (f32::from(*byte) - 128.0) / 128.0)),
            Self::ALaw => samples.extend(stored.iter().map(|code| TelephoneLaw::A.sample(*code))),
            Self::MuLaw => samples.extend(stored.iter().map(|code| TelephoneLaw::Mu.sample(*code))),
            Self::Signed16 => extend(samples, stored, |bytes| f32::from(i16::from_le_bytes(bytes)) / 32_768.0),
            // The lowest byte is 0, so the values have 24 bits.
            Self::Signed24 => extend(samples, stored, |[a, b, c]| of_32_bits(i32::from_le_bytes([0, a, b, c]))),
            Self::Signed32 => extend(samples, stored, |bytes| of_32_bits(i32::from_le_bytes(bytes))),
            Self::Float32 => extend(samples, stored, f32::from_le_bytes),
            Self::Float64 => extend(samples, stored, |bytes| f64::from_le_bytes(bytes) as f32), // rounded
        }
    }
}

fn of_32_bits(value: i32) -> f32 {
    (f64::from(value) / 2_147_483_648.0) as f32 // rounded
}

fn extend<const N: usize>(samples: &mut Vec<f32>, stored: &[u8], value: impl Fn([u8; N]) -> f32) {
    samples.extend(stored.as_chunks().0.iter().map(|bytes| value(*bytes)));
}

fn name_of_format(code: u16) -> String {
    let name = match code {
        0x02 => "Microsoft ADPCM",
        0x11 => "IMA ADPCM",
        0x31 => "GSM 6.10",
        0x40..=0x45 => "G.721 or G.726 ADPCM",
        0x50 => "MPEG layer 1 or 2",
        0x55 => "MP3",
        0xFF | 0x1600..=0x1610 => "AAC",
        0x160..=0x163 => "Windows Media",
        _ => return format!("format {code:#06x}"),
    };
    format!("{name} (format {code:#06x})")
}
