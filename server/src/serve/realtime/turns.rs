//! Where speech begins and ends in samples as they arrive, by their energy.
//!
//! The level of each 10 ms is compared with the lowest level of the last three seconds, which is that of the background. Speech begins
//! above a higher threshold than the one below which it ends. Time is counted in samples; there is no clock.

use std::collections::VecDeque;

/// Levels are in decibels; 0 is a square wave of full scale. Nothing quieter is told apart.
const MIN_LEVEL: f32 = -70.0;
/// Nothing quieter is speech.
const MIN_SPEECH: f32 = -50.0;
/// The background before any was heard.
const FIRST_BACKGROUND: f32 = -60.0;
/// How far above the background speech begins, with the highest threshold of a session.
const MAX_MARGIN: f32 = 24.0;
/// How much lower the threshold is at which speech ends.
const HYSTERESIS: f32 = 6.0;
/// Windows with which speech begins, more than without it: 60 ms, so that a click is none.
const N_TO_BEGIN: u32 = 6;
/// The background is the minimum over this many stretches of [`STRETCH`] windows.
const N_STRETCHES: usize = 12;
const STRETCH: u32 = 25;

/// A change between speech and silence, at a sample counted from the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnChange {
    Began { at: u64 },
    Ended { at: u64 },
}

impl TurnChange {
    /// The same change, counted from a sample that many before.
    pub(super) fn after(self, n_samples: u64) -> Self {
        match self {
            Self::Began { at } => Self::Began { at: at + n_samples },
            Self::Ended { at } => Self::Ended { at: at + n_samples },
        }
    }
}

/// Finds turns.
pub(super) struct TurnDetector {
    window: WindowLevel,
    background: Background,
    margin: f32,
    /// Windows of silence that end a turn.
    n_to_end: u32,
    is_speech: bool,
    /// Before speech, windows that were loud more than those that were not; within it, silent windows one after the other.
    count: u32,
    /// Where the windows that count began.
    began: u64,
}

impl TurnDetector {
    /// `threshold` is between 0, with which everything above the background is speech, and 1. Speech ends after so many milliseconds
    /// of silence.
    pub(super) fn new(sample_rate: u32, threshold: f32, silence_ms: u32) -> Self {
        Self {
            window: WindowLevel::new(sample_rate),
            background: Background::new(),
            margin: MAX_MARGIN * threshold.clamp(0.0, 1.0),
            n_to_end: silence_ms.div_ceil(10).max(1),
            is_speech: false,
            count: 0,
            began: 0,
        }
    }

    /// Whether a turn is under way.
    pub(super) fn is_speech(&self) -> bool {
        self.is_speech
    }

    /// Forgets the turn under way, because its samples were taken or cleared.
    pub(super) fn end_turn(&mut self) {
        (self.is_speech, self.count) = (false, 0);
    }

    /// Follows the next samples. The changes do not depend on how they are cut into pieces.
    pub(super) fn push(&mut self, samples: &[i16], mut emit: impl FnMut(TurnChange)) {
        for sample in samples {
            if let Some(level) = self.window.push(*sample)
                && let Some(change) = self.follow(level)
            {
                emit(change);
            }
        }
    }

    fn follow(&mut self, level: f32) -> Option<TurnChange> {
        self.background.push(level);
        let begins = (self.background.level() + self.margin).max(MIN_SPEECH);
        match self.is_speech {
            false if level < begins => self.count = self.count.saturating_sub(1),
            false => {
                if self.count == 0 {
                    self.began = self.window.begin();
                }
                self.count += 1;
                if self.count == N_TO_BEGIN {
                    (self.is_speech, self.count) = (true, 0);
                    return Some(TurnChange::Began { at: self.began });
                }
            }
            true if level < begins - HYSTERESIS => {
                self.count += 1;
                if self.count == self.n_to_end {
                    self.end_turn();
                    return Some(TurnChange::Ended { at: self.window.n_samples });
                }
            }
            true => self.count = 0,
        }
        None
    }
}

/// The level of one window of 10 ms after the other.
struct WindowLevel {
    size: u64,
    n_samples: u64,
    energy: f64,
}

impl WindowLevel {
    fn new(sample_rate: u32) -> Self {
        Self { size: u64::from(sample_rate / 100).max(1), n_samples: 0, energy: 0.0 }
    }

    /// The level of the window that this sample completes.
    fn push(&mut self, sample: i16) -> Option<f32> {
        self.energy += (f64::from(sample) / 32_768.0).powi(2);
        self.n_samples += 1;
        self.n_samples.is_multiple_of(self.size).then(|| {
            let mean = std::mem::take(&mut self.energy) / self.size as f64;
            (10.0 * mean.log10()).max(MIN_LEVEL.into()) as f32
        })
    }

    /// Where the window that was completed last began.
    fn begin(&self) -> u64 {
        self.n_samples - self.size
    }
}

/// The lowest level of the last seconds.
struct Background {
    minima: VecDeque<f32>,
    /// The lowest level of the stretch under way, and its windows.
    now: f32,
    n_windows: u32,
}

impl Background {
    fn new() -> Self {
        Self { minima: VecDeque::from([FIRST_BACKGROUND; N_STRETCHES]), now: f32::INFINITY, n_windows: 0 }
    }

    fn push(&mut self, level: f32) {
        self.now = self.now.min(level);
        self.n_windows += 1;
        if self.n_windows == STRETCH {
            self.minima.pop_front();
            self.minima.push_back(self.now);
            (self.now, self.n_windows) = (f32::INFINITY, 0);
        }
    }

    fn level(&self) -> f32 {
        self.minima.iter().copied().fold(self.now, f32::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 24_000;

    /// So many milliseconds of noise of about this level, the same in each run.
    fn noise(level: f32, milliseconds: u32) -> Vec<i16> {
        let amplitude = 10f32.powf(level / 20.0) * 32_768.0 * 3f32.sqrt(); // of even noise
        let mut state = 1u32;
        let sample = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (amplitude * (state as f32 / 2f32.powi(31) - 1.0)) as i16
        };
        (0..RATE / 1_000 * milliseconds).map(sample).collect()
    }

    /// The changes in milliseconds: where speech began, and where it ended.
    fn changes(samples: &[i16], piece: usize) -> Vec<(bool, u64)> {
        let (mut detector, mut found) = (TurnDetector::new(RATE, 0.5, 500), Vec::new());
        for piece in samples.chunks(piece) {
            detector.push(piece, |change| {
                found.push(match change {
                    TurnChange::Began { at } => (true, at / 24),
                    TurnChange::Ended { at } => (false, at / 24),
                });
            });
        }
        found
    }

    #[test]
    fn speech_begins_and_ends_however_its_samples_arrive() {
        let samples = [noise(-60.0, 1_000), noise(-20.0, 700), noise(-60.0, 1_000)].concat();
        for piece in [1, 7, 240, 480, 100_000] {
            assert_eq!(changes(&samples, piece), [(true, 1_000), (false, 2_200)], "{piece}");
        }
    }

    #[test]
    fn a_session_may_begin_within_speech() {
        assert_eq!(changes(&[noise(-25.0, 400), noise(-70.0, 600)].concat(), 480), [(true, 0), (false, 900)]);
    }

    #[test]
    fn a_short_pause_does_not_end_a_turn() {
        let word = || noise(-22.0, 300);
        let samples = [word(), noise(-65.0, 400), word(), noise(-65.0, 490), word(), noise(-65.0, 700)].concat();
        assert_eq!(changes(&samples, 480), [(true, 0), (false, 2_290)]);
    }

    #[test]
    fn silence_and_clicks_are_no_speech() {
        let click = || noise(-6.0, 20);
        let silence = || vec![0; 24 * 300];
        assert_eq!(changes(&[silence(), click(), silence(), click(), noise(-55.0, 2_000)].concat(), 480), []);
    }

    #[test]
    fn what_is_steady_becomes_the_background() {
        // A fan begins to run: after three seconds it counts as silence, and speech is found above it.
        let samples = [noise(-60.0, 500), noise(-35.0, 6_000), noise(-12.0, 500), noise(-35.0, 700)].concat();
        let found = changes(&samples, 480);
        assert_eq!(found.iter().map(|(began, _)| *began).collect::<Vec<_>>(), [true, false, true, false]);
        assert!((3_500..4_500).contains(&found[1].1), "{found:?}");
        assert_eq!(found[2..], [(true, 6_500), (false, 7_500)]);
    }

    #[test]
    fn speech_between_two_thresholds_neither_begins_nor_ends() {
        // Three decibels below the threshold at which speech begins, and above the one at which it ends.
        let between = || noise(-49.0, 600);
        assert_eq!(changes(&[noise(-57.5, 3_000), between()].concat(), 480), []);
        let samples = [noise(-57.5, 3_000), noise(-30.0, 300), between(), noise(-57.5, 600)].concat();
        assert_eq!(changes(&samples, 480), [(true, 3_000), (false, 4_400)]);
    }
}
