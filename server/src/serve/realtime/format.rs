//! The form of samples in events, which are in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use causerie::{SoundFileWriter, SoundFormat, TelephoneLaw};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::serve::error::HttpError;
use crate::serve::request::fields::read_value;

/// Samples per second of sound in events, unless the client asks for others.
pub(super) const RATE: u32 = 24_000;
const RATES: std::ops::RangeInclusive<u32> = 8_000..=48_000;

/// The form of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventSound {
    /// 16 bits each, the lower byte first.
    Pcm { rate: u32 },
    /// 8 bits each.
    Telephone(TelephoneLaw),
}

#[derive(Debug, Deserialize)]
struct FormatFields {
    r#type: String,
    rate: Option<u32>,
}

impl EventSound {
    pub(super) const USUAL: Self = Self::Pcm { rate: RATE };

    /// Reads a format: an object, or the name that older clients send.
    pub(super) fn read(place: &str, format: &Json) -> Result<Self, HttpError> {
        let (name, rate) = match format {
            Json::Null => return Ok(Self::USUAL),
            Json::String(name) => (name.clone(), None),
            _ => {
                let format: FormatFields = read_value(place, format.clone())?;
                (format.r#type, format.rate)
            }
        };
        let (found, rates) = match name.as_str() {
            "audio/pcm" | "pcm16" => (Self::Pcm { rate: rate.unwrap_or(RATE) }, RATES),
            "audio/pcmu" | "g711_ulaw" => (Self::Telephone(TelephoneLaw::Mu), TelephoneLaw::RATE..=TelephoneLaw::RATE),
            "audio/pcma" | "g711_alaw" => (Self::Telephone(TelephoneLaw::A), TelephoneLaw::RATE..=TelephoneLaw::RATE),
            _ => {
                let rule = format!("{place}.type must be audio/pcm, audio/pcmu or audio/pcma, found {name:?}");
                return Err(HttpError::unsupported(place, rule).at_exactly(place));
            }
        };
        match rate {
            Some(rate) if !rates.contains(&rate) => {
                let range = match (rates.start(), rates.end()) {
                    (min, max) if min == max => format!("{min}"),
                    (min, max) => format!("between {min} and {max}"),
                };
                Err(HttpError::value(place, format!("{place}.rate must be {range}, found {rate}")).at_exactly(place))
            }
            _ => Ok(found),
        }
    }

    /// The format as sessions and responses show it.
    pub(super) fn json(self) -> Json {
        match self {
            Self::Pcm { rate } => json!({ "type": "audio/pcm", "rate": rate }),
            Self::Telephone(TelephoneLaw::Mu) => json!({ "type": "audio/pcmu" }),
            Self::Telephone(TelephoneLaw::A) => json!({ "type": "audio/pcma" }),
        }
    }

    /// Samples per second.
    pub(super) fn rate(self) -> u32 {
        match self {
            Self::Pcm { rate } => rate,
            Self::Telephone(_) => TelephoneLaw::RATE,
        }
    }

    /// Reads the samples of a field.
    pub(super) fn decode(self, place: &str, text: &str) -> Result<Vec<i16>, HttpError> {
        let bytes = STANDARD
            .decode(text.trim_ascii())
            .map_err(|_| HttpError::value(place, format!("{place} must be valid base64")).at_exactly(place))?;
        match self {
            Self::Pcm { .. } if !bytes.len().is_multiple_of(2) => {
                let rule = format!("{place} must have whole samples of 16 bits, found {} bytes", bytes.len());
                Err(HttpError::value(place, rule).at_exactly(place))
            }
            Self::Pcm { .. } => Ok(bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect()),
            // The scales have whole numbers of 16 bits.
            Self::Telephone(law) => Ok(bytes.iter().map(|code| (law.sample(*code) * 32_768.0) as i16).collect()),
        }
    }
}

/// Writes the samples of a reply, which come in pieces.
pub(super) struct EventSoundWriter(SoundFileWriter);

impl EventSoundWriter {
    /// Writes samples of [`RATE`]. Samples of 16 bits stay as they are.
    pub(super) fn new(sound: EventSound) -> Self {
        Self(match sound {
            EventSound::Pcm { .. } => SoundFileWriter::new(SoundFormat::Pcm, RATE),
            EventSound::Telephone(law) => SoundFileWriter::new(SoundFormat::Telephone(law), RATE),
        })
    }

    /// The text of a piece.
    pub(super) fn push(&mut self, samples: &[f32]) -> String {
        STANDARD.encode(self.0.push(samples))
    }

    /// The text of what was held back, if there is any.
    pub(super) fn finish(self) -> Option<String> {
        let rest = self.0.finish();
        (!rest.is_empty()).then(|| STANDARD.encode(rest))
    }
}

/// The samples as the engine takes them.
pub(super) fn floats(samples: &[i16]) -> Vec<f32> {
    samples.iter().map(|sample| f32::from(*sample) / 32_768.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::dialect::Dialect;

    #[test]
    fn samples_survive_both_ways() {
        let samples = [0, 1, -1, i16::MAX, i16::MIN];
        let encoded = |samples: &[f32]| EventSoundWriter::new(EventSound::USUAL).push(samples);
        let decoded = |text: &str| EventSound::USUAL.decode("audio", text).unwrap();
        assert_eq!(decoded(&encoded(&floats(&samples))), samples);
        assert_eq!(decoded(&encoded(&[2.0, -2.0, f32::NAN])), [i16::MAX, i16::MIN, 0]);
    }

    #[test]
    fn a_telephone_reads_and_writes_8_bits() {
        for law in [TelephoneLaw::Mu, TelephoneLaw::A] {
            let sound = EventSound::Telephone(law);
            let mut writer = EventSoundWriter::new(sound);
            let mut texts: Vec<String> = (0..10).map(|_| writer.push(&[0.5; 240])).collect();
            texts.extend(writer.finish());
            let samples: Vec<i16> = texts.iter().flat_map(|text| sound.decode("audio", text).unwrap()).collect();
            assert_eq!((samples.len(), sound.rate()), (800, 8_000));
            assert!(samples[100..700].iter().all(|sample| (16_384 - sample).abs() <= 512), "{law:?}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for (text, rule) in
            [("?", "audio must be valid base64"), ("AAAA", "audio must have whole samples of 16 bits, found 3 bytes")]
        {
            let error = EventSound::USUAL.decode("audio", text).unwrap_err().json(Dialect::Chat, None);
            assert_eq!((&error["error"]["message"], &error["error"]["param"]), (&rule.into(), &"audio".into()));
        }
    }
}
