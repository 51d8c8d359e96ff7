//! Whether a reply goes on with a token of text or with a frame of sound: the rules of LFM3-Audio, whose control tokens say so.

use crate::options::SpeechMode;

/// Tokens of text, and frames of sound, that alternate in a mixed part of a reply.
const N_TEXT: usize = 6;
const N_SOUND: usize = 12;

/// The tokens that change what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MarkedTokens {
    pub(super) sound_start: u32,
    pub(super) mixed_start: u32,
    /// Ends a reply of text, and the text of a mixed part.
    pub(super) text_end: u32,
}

/// Follows a reply, and says what comes next.
#[derive(Clone, Debug)]
pub(super) struct MarkedModality {
    tokens: MarkedTokens,
    part: ReplyPart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyPart {
    Text,
    Sound,
    Mixed {
        is_sound: bool,
        /// Tokens or frames until the other kind comes; `None` once the text has ended.
        n_left: Option<usize>,
    },
}

impl ReplyPart {
    const MIXED: Self = Self::Mixed { is_sound: false, n_left: Some(N_TEXT) };
}

impl MarkedModality {
    /// A reply of this mode begins after a prompt that ends in [`opening`](Self::opening). `None` for a reply of text alone.
    pub(super) fn new(mode: SpeechMode, tokens: MarkedTokens) -> Option<Self> {
        let part = match mode {
            SpeechMode::Off => return None,
            SpeechMode::Auto => ReplyPart::Text,
            SpeechMode::Sequential => ReplyPart::Sound,
            SpeechMode::Interleaved => ReplyPart::MIXED,
        };
        Some(Self { tokens, part })
    }

    /// The token that the prompt must end in; `None` if the model decides itself.
    pub(super) fn opening(mode: SpeechMode, tokens: MarkedTokens) -> Option<u32> {
        match mode {
            SpeechMode::Off | SpeechMode::Auto => None,
            SpeechMode::Sequential => Some(tokens.sound_start),
            SpeechMode::Interleaved => Some(tokens.mixed_start),
        }
    }

    /// Whether a frame of sound comes next.
    pub(super) fn is_sound(&self) -> bool {
        matches!(self.part, ReplyPart::Sound | ReplyPart::Mixed { is_sound: true, .. })
    }

    /// Whether this token, as the next one, ends the reply.
    pub(super) fn ends_reply(&self, token: u32) -> bool {
        self.part == ReplyPart::Text && token == self.tokens.text_end
    }

    /// Follows a token of text.
    pub(super) fn follow_token(&mut self, token: u32) {
        self.part = match self.part {
            ReplyPart::Text if token == self.tokens.sound_start => ReplyPart::Sound,
            ReplyPart::Text if token == self.tokens.mixed_start => ReplyPart::MIXED,
            ReplyPart::Mixed { .. } if token == self.tokens.text_end => {
                ReplyPart::Mixed { is_sound: true, n_left: None }
            }
            part => part.counted(),
        };
    }

    /// Follows a frame of sound. After one that ends the sound, text comes next.
    pub(super) fn follow_frame(&mut self, ends_sound: bool) {
        self.part = if ends_sound { ReplyPart::Text } else { self.part.counted() };
    }
}

impl ReplyPart {
    /// The part after one more token or frame.
    fn counted(self) -> Self {
        match self {
            Self::Mixed { is_sound, n_left: Some(n_left) } if n_left <= 1 => {
                Self::Mixed { is_sound: !is_sound, n_left: Some(if is_sound { N_TEXT } else { N_SOUND }) }
            }
            Self::Mixed { is_sound, n_left: Some(n_left) } => Self::Mixed { is_sound, n_left: Some(n_left - 1) },
            part => part,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;

    const TOKENS: MarkedTokens = MarkedTokens { sound_start: 3, mixed_start: 4, text_end: 5 };
    const REPLY_END: u32 = 7;

    /// The steps of a reply of llama.cpp 0.8.0 as they follow from its tokens, and from which of its frames end the sound.
    fn steps(mode: SpeechMode, script: &[u64], recorded: &[Json]) -> Vec<Json> {
        let mut modality = MarkedModality::new(mode, TOKENS).unwrap();
        let mut script = script.iter().copied().chain(std::iter::repeat(REPLY_END.into()));
        let mut frames = recorded.iter().filter(|step| step.is_string());
        let mut steps = Vec::new();
        while steps.len() < recorded.len() {
            if modality.is_sound() {
                let Some(frame) = frames.next() else { break };
                modality.follow_frame(frame == "E");
                steps.push(frame.clone());
                continue;
            }
            let token = script.next().unwrap();
            steps.push(token.into());
            let token = u32::try_from(token).unwrap();
            if token == REPLY_END || modality.ends_reply(token) {
                break;
            }
            modality.follow_token(token);
        }
        steps
    }

    #[test]
    fn replies_change_between_text_and_sound_as_in_llama_cpp() {
        let recorded = include_str!("../../../tests/golden/speech/lfm3-audio.json");
        let recorded: serde_json::Map<String, Json> = serde_json::from_str(recorded).unwrap();
        let replies = recorded.iter().filter(|(name, _)| name.starts_with("reply_") && *name != "reply_text");
        let mut n_replies = 0;
        for (name, reply) in replies {
            let mode = match reply["mode"].as_str().unwrap() {
                "auto" => SpeechMode::Auto,
                "audio" => SpeechMode::Sequential,
                _ => SpeechMode::Interleaved,
            };
            let script: Vec<u64> = reply["script"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
            let recorded = reply["steps"].as_array().unwrap();
            assert_eq!(steps(mode, &script, recorded), *recorded, "{name}");
            n_replies += 1;
        }
        assert_eq!(n_replies, 9);
    }

    #[test]
    fn a_reply_of_text_alone_has_no_modality_and_no_opening() {
        assert!(MarkedModality::new(SpeechMode::Off, TOKENS).is_none());
        assert_eq!(MarkedModality::opening(SpeechMode::Off, TOKENS), None);
        assert_eq!(MarkedModality::opening(SpeechMode::Interleaved, TOKENS), Some(4));
    }
}
