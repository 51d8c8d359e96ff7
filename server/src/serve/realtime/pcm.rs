//! Samples as events have them: 16 bits each, the low byte first, in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::serve::error::HttpError;

/// Reads the samples of a field.
pub(super) fn decode(place: &str, text: &str) -> Result<Vec<i16>, HttpError> {
    let bytes = STANDARD
        .decode(text.trim_ascii())
        .map_err(|_| HttpError::value(place, format!("{place} must be valid base64")).at_exactly(place))?;
    if !bytes.len().is_multiple_of(2) {
        let rule = format!("{place} must have whole samples of 16 bits, found {} bytes", bytes.len());
        return Err(HttpError::value(place, rule).at_exactly(place));
    }
    Ok(bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect())
}

/// Writes samples, which are usually between -1 and 1. What is beyond is limited, and NaN becomes 0.
pub(super) fn encode(samples: &[f32]) -> String {
    let sample = |sample: &f32| ((sample * 32_768.0).round() as i16).to_le_bytes();
    STANDARD.encode(samples.iter().flat_map(sample).collect::<Vec<u8>>())
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
        assert_eq!(decode("audio", &encode(&floats(&samples))).unwrap(), samples);
        assert_eq!(decode("audio", &encode(&[2.0, -2.0, f32::NAN])).unwrap(), [i16::MAX, i16::MIN, 0]);
    }

    #[test]
    fn other_text_is_refused() {
        for (text, rule) in
            [("?", "audio must be valid base64"), ("AAAA", "audio must have whole samples of 16 bits, found 3 bytes")]
        {
            let error = decode("audio", text).unwrap_err().json(Dialect::Chat, None);
            assert_eq!((&error["error"]["message"], &error["error"]["param"]), (&rule.into(), &"audio".into()));
        }
    }
}
