//! The sound that a client sends until it is a turn: committed by the client, or found by its energy.

use crate::serve::error::HttpError;
use crate::serve::realtime::settings::TurnSettings;
use crate::serve::realtime::turns::{TurnChange, TurnDetector};

/// Sound that may wait to be committed: ten minutes.
const MAX_SECONDS: usize = 600;
/// Sound before the beginning of a turn that is kept besides its padding, because the beginning is found late.
const LOOK_BACK_MS: u64 = 200;

/// The sound that waits.
pub(super) struct InputBuffer {
    sample_rate: u32,
    samples: Vec<i16>,
    /// The number of the first of these samples in the session.
    start: u64,
    detection: Option<Detection>,
}

/// A detector, which counts samples from the first that it has heard.
struct Detection {
    settings: TurnSettings,
    detector: TurnDetector,
    /// The number of that sample in the session.
    start: u64,
}

/// What was found in sound that arrived. Times count from the beginning of the session.
#[derive(Debug, PartialEq)]
pub(super) enum InputChange {
    Began {
        ms: u64,
    },
    /// A turn with its samples.
    Ended {
        ms: u64,
        samples: Vec<i16>,
    },
}

impl InputBuffer {
    pub(super) fn new(sample_rate: u32, turns: Option<&TurnSettings>) -> Self {
        let detection = turns.map(|turns| Detection::new(sample_rate, turns, 0));
        Self { sample_rate, samples: Vec::new(), start: 0, detection }
    }

    /// Follows new settings. What waits stays, unless the rate changes.
    pub(super) fn set(&mut self, sample_rate: u32, turns: Option<&TurnSettings>) {
        if sample_rate != self.sample_rate {
            *self = Self::new(sample_rate, turns);
        } else if self.detection.as_ref().map(|detection| &detection.settings) != turns {
            let end = self.start + self.samples.len() as u64;
            self.detection = turns.map(|turns| Detection::new(sample_rate, turns, end));
        }
    }

    /// Adds samples.
    ///
    /// # Errors
    /// When too much waits; nothing is added then.
    pub(super) fn push(&mut self, samples: &[i16]) -> Result<Vec<InputChange>, HttpError> {
        if MAX_SECONDS * (self.sample_rate as usize) < self.samples.len() + samples.len() {
            let rule = format!("the input audio buffer must have at most {MAX_SECONDS} seconds: commit or clear it");
            return Err(HttpError::new(hyper::StatusCode::BAD_REQUEST, "input_audio_buffer_full", rule));
        }
        self.samples.extend_from_slice(samples);
        let Some(Detection { settings, detector, start }) = &mut self.detection else { return Ok(Vec::new()) };
        let (mut changes, padding) = (Vec::new(), settings.prefix_ms);
        detector.push(samples, |change| changes.push(change.after(*start)));
        let found = changes.into_iter().map(|change| self.take(change, padding)).collect();
        if self.detection.as_ref().is_some_and(|detection| !detection.detector.is_speech()) {
            let n_kept = self.n_samples(u64::from(padding) + LOOK_BACK_MS);
            self.drop_before((self.start + self.samples.len() as u64).saturating_sub(n_kept));
        }
        Ok(found)
    }

    /// Takes all samples, as one turn.
    pub(super) fn commit(&mut self) -> Vec<i16> {
        if let Some(detection) = &mut self.detection {
            detection.detector.end_turn();
        }
        self.start += self.samples.len() as u64;
        std::mem::take(&mut self.samples)
    }

    /// How long the sound that waits lasts.
    pub(super) fn duration_ms(&self) -> u64 {
        self.milliseconds(self.samples.len() as u64)
    }

    fn take(&mut self, change: TurnChange, padding: u32) -> InputChange {
        match change {
            TurnChange::Began { at } => {
                self.drop_before(at.saturating_sub(self.n_samples(padding.into())));
                InputChange::Began { ms: self.milliseconds(self.start) }
            }
            TurnChange::Ended { at } => {
                let n_samples =
                    usize::try_from(at.saturating_sub(self.start)).unwrap_or(usize::MAX).min(self.samples.len());
                let rest = self.samples.split_off(n_samples);
                self.start = at;
                InputChange::Ended { ms: self.milliseconds(at), samples: std::mem::replace(&mut self.samples, rest) }
            }
        }
    }

    /// Drops the samples before one of the session.
    fn drop_before(&mut self, first: u64) {
        let n_dropped = usize::try_from(first.saturating_sub(self.start)).unwrap_or(usize::MAX).min(self.samples.len());
        self.samples.drain(..n_dropped);
        self.start += n_dropped as u64;
    }

    fn n_samples(&self, milliseconds: u64) -> u64 {
        milliseconds * u64::from(self.sample_rate) / 1_000
    }

    fn milliseconds(&self, n_samples: u64) -> u64 {
        n_samples * 1_000 / u64::from(self.sample_rate)
    }
}

impl Detection {
    fn new(sample_rate: u32, turns: &TurnSettings, start: u64) -> Self {
        let detector = TurnDetector::new(sample_rate, turns.threshold, turns.silence_ms);
        Self { settings: turns.clone(), detector, start }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 8_000;

    fn samples(amplitude: i16, milliseconds: usize) -> Vec<i16> {
        (0..8 * milliseconds).map(|at| if at % 2 == 0 { amplitude } else { -amplitude }).collect()
    }

    fn turns() -> TurnSettings {
        TurnSettings { silence_ms: 200, prefix_ms: 100, ..TurnSettings::default() }
    }

    #[test]
    fn a_turn_has_its_padding_however_it_arrives() {
        let sound =
            [samples(0, 1_000), samples(9_000, 300), samples(0, 500), samples(8_000, 100), samples(0, 300)].concat();
        for piece in [80, 333, 100_000] {
            let mut buffer = InputBuffer::new(RATE, Some(&turns()));
            let found: Vec<InputChange> = sound.chunks(piece).flat_map(|piece| buffer.push(piece).unwrap()).collect();
            let expect = [
                InputChange::Began { ms: 900 },
                InputChange::Ended { ms: 1_500, samples: sound[8 * 900..8 * 1_500].to_vec() },
                InputChange::Began { ms: 1_700 },
                InputChange::Ended { ms: 2_100, samples: sound[8 * 1_700..8 * 2_100].to_vec() },
            ];
            assert!(found == expect, "in pieces of {piece}");
        }
    }

    #[test]
    fn a_turn_after_a_change_of_settings_has_its_place_in_the_session() {
        let mut buffer = InputBuffer::new(RATE, None);
        buffer.push(&samples(0, 1_000)).unwrap();
        buffer.commit();
        buffer.set(RATE, Some(&turns()));
        let sound = [samples(0, 500), samples(9_000, 300), samples(0, 300)].concat();
        let expect = [
            InputChange::Began { ms: 1_400 },
            InputChange::Ended { ms: 2_000, samples: sound[8 * 400..8 * 1_000].to_vec() },
        ];
        assert!(buffer.push(&sound).unwrap() == expect);
    }

    #[test]
    fn silence_does_not_pile_up() {
        let mut buffer = InputBuffer::new(RATE, Some(&turns()));
        for _ in 0..100 {
            assert_eq!(buffer.push(&samples(0, 100)).unwrap(), []);
        }
        assert_eq!(buffer.duration_ms(), 300);
    }

    #[test]
    fn without_detection_the_client_commits() {
        let mut buffer = InputBuffer::new(RATE, None);
        let sound = samples(9_000, 700);
        assert_eq!(buffer.push(&sound).unwrap(), []);
        assert_eq!((buffer.duration_ms(), buffer.commit(), buffer.duration_ms()), (700, sound, 0));
    }

    #[test]
    fn too_much_is_refused() {
        let mut buffer = InputBuffer::new(RATE, None);
        buffer.push(&samples(0, 600_000)).unwrap();
        assert_eq!(buffer.push(&[0]).unwrap_err().code(), "input_audio_buffer_full");
        buffer.commit();
        buffer.push(&[0]).unwrap();
    }
}
