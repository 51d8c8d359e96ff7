//! Whether a reply goes on with a token of text or with a frame of sound: the rules of LFM2-Audio.

use crate::options::SpeechMode;

/// Tokens of text, and frames of sound, that alternate in an interleaved reply. `interleaved_n_text` and `interleaved_n_audio` of
/// published models.
const N_TEXT: usize = 6;
const N_SOUND: usize = 12;

/// The tokens that change what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpeechTokens {
    /// Begins sound in sequential replies.
    pub(super) sound_start: u32,
    /// Ends the text of interleaved replies.
    pub(super) text_end: u32,
    /// Begins a part with text and sound in turn, in models that say so themselves.
    pub(super) mixed_start: Option<u32>,
}

/// Follows a reply, and says what comes next.
#[derive(Clone, Debug)]
pub(super) struct Modality {
    is_interleaved: bool,
    tokens: SpeechTokens,
    is_sound: bool,
    /// Steps of the present stretch that are left, in interleaved replies. It may pass zero: a stretch that an end of sound began has
    /// no length of its own.
    n_left: isize,
    has_text_ended: bool,
}

impl Modality {
    /// `None` for a reply of text alone.
    pub(super) fn new(mode: SpeechMode, tokens: SpeechTokens) -> Option<Self> {
        let is_interleaved = match mode {
            SpeechMode::Off => return None,
            SpeechMode::Auto | SpeechMode::Sequential => false,
            SpeechMode::Interleaved => true,
        };
        Some(Self { is_interleaved, tokens, is_sound: false, n_left: N_TEXT as isize, has_text_ended: false })
    }

    /// Whether a frame of sound comes next.
    pub(super) fn is_sound(&self) -> bool {
        self.is_sound
    }

    /// Follows a token of text.
    pub(super) fn follow_token(&mut self, token: u32) {
        if !self.is_interleaved {
            self.is_sound = token == self.tokens.sound_start;
            return;
        }
        self.n_left -= 1;
        self.has_text_ended |= token == self.tokens.text_end;
        if self.n_left == 0 || self.has_text_ended {
            (self.is_sound, self.n_left) = (true, N_SOUND as isize);
        }
    }

    /// Follows a frame of sound. After one that ends the sound, text comes next.
    pub(super) fn follow_frame(&mut self, ends_sound: bool) {
        if self.is_interleaved {
            self.n_left -= 1;
            if self.n_left == 0 && !self.has_text_ended {
                (self.is_sound, self.n_left) = (false, N_TEXT as isize);
            }
        }
        if ends_sound {
            self.is_sound = false; // the count of an interleaved reply goes on
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// Scripted replies of the reference, liquid-audio 1.3.0: what is sampled, and in which order it is used.
    #[derive(Deserialize)]
    struct Recorded {
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        mode: String,
        text: Vec<u32>,
        frames_code0: Vec<u32>,
        max_new_tokens: usize,
        events: Vec<String>,
    }

    /// The events of a case: `t` and a token, `a` and the codes of a frame, and the end.
    fn events(case: &Case) -> Vec<String> {
        let tokens = SpeechTokens { sound_start: 128, text_end: 130, mixed_start: None };
        let is_interleaved = case.mode == "interleaved";
        let mode = if is_interleaved { SpeechMode::Interleaved } else { SpeechMode::Sequential };
        let mut modality = Modality::new(mode, tokens).unwrap();
        let mut text = case.text.iter().copied().chain(std::iter::repeat(11));
        let mut frames = case.frames_code0.iter().copied().chain(std::iter::repeat(77));
        let mut events = Vec::new();
        for _ in 0..case.max_new_tokens {
            if modality.is_sound() {
                let first = frames.next().unwrap();
                modality.follow_frame(first == 2048);
                let rest = if first == 2048 { 2048 } else { 1 };
                events.push(format!("a{first}{}", format!(",{rest}").repeat(7)));
                continue;
            }
            let token = text.next().unwrap();
            // The reference gives the end out in sequential replies only.
            if token != 7 || !is_interleaved {
                events.push(format!("t{token}"));
            }
            if token == 7 {
                events.push("stop".to_owned());
                return events;
            }
            modality.follow_token(token);
        }
        events.push("limit".to_owned());
        events
    }

    #[test]
    fn replies_change_between_text_and_sound_as_the_reference_does() {
        let recorded = include_str!("../../../tests/golden/speech/switching.json");
        let recorded: Recorded = serde_json::from_str(recorded).unwrap();
        assert_eq!(recorded.cases.len(), 14);
        for case in &recorded.cases {
            assert_eq!(events(case), case.events, "{}, {:?}", case.mode, case.text);
        }
    }
}
