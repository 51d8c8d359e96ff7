//! The sound of one reply: frames of codes that the model reads again, and the samples that they become.

use std::mem;
use std::sync::Arc;

use crate::engine::frame_sampler::FrameSampler;
use crate::engine::marked_modality::{MarkedModality, MarkedTokens};
use crate::engine::modality::{Modality, SpeechTokens};
use crate::error::Result;
use crate::media::sound::{SoundOpening, SpokenFrames, SpokenSound};
use crate::model::speech::{MIXED_START, SOUND_START, TEXT_END};
use crate::model::{SpokenStream, Voice};
use crate::options::{SpeechMode, SpeechSampling};
use crate::position::Position;
use crate::tokenizer::ModelTokenizer;

/// What a reply speaks with.
pub(super) struct Speech {
    voice: Voice,
    order: SpeechOrder,
    tokens: SpeechTokens,
    /// The token that has begun the present stretch of sound, until its first frame.
    opening: SoundOpening,
    sampler: FrameSampler,
    stream: Box<dyn SpokenStream>,
    /// The vector of the last step, from which the next frame follows.
    pub(super) hidden: Vec<f32>,
}

/// The order of text and sound.
enum SpeechOrder {
    /// LFM2-Audio's, by counts.
    Counted(Modality),
    /// LFM3-Audio's, by control tokens.
    Marked(MarkedModality),
}

/// How a reply of a model that speaks begins.
#[derive(Default)]
pub(super) struct SpeechBeginning {
    /// `None` for text alone.
    pub(super) speech: Option<Speech>,
    /// A token that the prompt must end in.
    pub(super) opening: Option<u32>,
    /// Tokens that the reply must not have, because they would begin sound.
    pub(super) banned: Vec<u32>,
}

/// A frame that was spoken.
pub(crate) struct SpokenFrame {
    pub(super) position: Position,
    /// The token before it, if that began a stretch of sound.
    pub(super) opening: SoundOpening,
    /// The row that the model reads for it.
    pub(super) row: Arc<[f32]>,
    pub(super) codes: Vec<u32>,
    /// The samples that are complete with it; none for a frame without sound, such as the last.
    pub(super) samples: Vec<f32>,
}

/// What the sound of a message says about its voice.
pub(crate) struct ReplyVoice {
    name: [u8; 16],
    sample_rate: u32,
    end_code: u16,
}

impl ReplyVoice {
    /// A sound of this voice, which has no frames yet.
    pub(super) fn sound(&self, opening: SoundOpening) -> SpokenSound {
        let spoken = SpokenFrames { voice: self.name, opening, end_code: self.end_code, frames: Vec::new() };
        SpokenSound { spoken, sample_rate: self.sample_rate, samples: Vec::new() }
    }
}

impl Speech {
    /// Begins a reply; of text alone with a vocabulary without the tokens of speech.
    pub(super) fn begin(
        voice: &Voice,
        tokenizer: &ModelTokenizer,
        mode: SpeechMode,
        sampling: SpeechSampling,
        seed: u64,
    ) -> Result<SpeechBeginning> {
        let token = |spelling: &str| tokenizer.control_ids(spelling).first().copied();
        let (Some(sound_start), Some(text_end)) = (token(SOUND_START), token(TEXT_END)) else {
            return Ok(SpeechBeginning::default());
        };
        let tokens = SpeechTokens { sound_start, text_end, mixed_start: token(MIXED_START) };
        let (mut opening, mut banned) = (None, Vec::new());
        let order = match (voice.marks_speech, tokens.mixed_start) {
            (true, Some(mixed_start)) => {
                let tokens = MarkedTokens { sound_start, mixed_start, text_end };
                opening = MarkedModality::opening(mode, tokens);
                if mode == SpeechMode::Off {
                    banned = vec![sound_start, mixed_start];
                }
                MarkedModality::new(mode, tokens).map(SpeechOrder::Marked)
            }
            _ => Modality::new(mode, tokens).map(SpeechOrder::Counted),
        };
        let speech = match order {
            None => None,
            Some(order) => Some(Self {
                stream: voice.codec.begin()?,
                order,
                tokens,
                opening: opening.map_or(SoundOpening::None, |token| tokens.opening(token)),
                sampler: FrameSampler::new(sampling.frames(mode, voice.sampling), seed),
                hidden: Vec::new(),
                voice: voice.clone(),
            }),
        };
        Ok(SpeechBeginning { speech, opening, banned })
    }

    /// Whether a frame comes next.
    pub(super) fn is_sound(&self) -> bool {
        match &self.order {
            SpeechOrder::Counted(order) => order.is_sound(),
            SpeechOrder::Marked(order) => order.is_sound(),
        }
    }

    /// Whether this token, as the next one, ends the reply.
    pub(super) fn ends_reply(&self, token: u32) -> bool {
        matches!(&self.order, SpeechOrder::Marked(order) if order.ends_reply(token))
    }

    /// The voice, as the sound of a message names it.
    pub(super) fn voice(&self) -> ReplyVoice {
        ReplyVoice {
            name: self.voice.digest.bytes(),
            sample_rate: self.voice.codec.sample_rate(),
            end_code: u16::try_from(self.voice.frames.end_code()).unwrap_or(u16::MAX), // codebooks are far smaller
        }
    }

    /// Follows a token of the reply's text.
    pub(super) fn follow_token(&mut self, token: u32) {
        match &mut self.order {
            SpeechOrder::Counted(order) => order.follow_token(token),
            SpeechOrder::Marked(order) => order.follow_token(token),
        }
        let opening = self.tokens.opening(token);
        if self.is_sound() || opening == SoundOpening::MixedStart {
            self.opening = opening;
        }
    }

    /// The token that has begun a part of the reply in which text comes before sound; `None` if it was taken.
    pub(super) fn take_mixed_opening(&mut self) -> bool {
        let is_mixed = self.opening == SoundOpening::MixedStart;
        if is_mixed {
            self.opening = SoundOpening::None;
        }
        is_mixed
    }

    /// Speaks the frame that follows from the last step.
    ///
    /// # Errors
    /// Logits that are not finite, and a device that fails.
    pub(super) fn frame(&mut self) -> Result<SpokenFrame> {
        let Self { voice, sampler, hidden, .. } = self;
        let mut codes = voice.frames.frame(hidden, sampler)?;
        let end = voice.frames.end_code();
        let ends_sound = voice.frames.ends_sound(&codes);
        if ends_sound {
            codes.fill(end);
        } else {
            sampler.remember(&codes);
        }
        let (position, row) = (voice.position(&codes), voice.frames.row(&codes)?.into());
        let samples = match &mut self.order {
            SpeechOrder::Counted(order) => {
                order.follow_frame(ends_sound);
                // The codec has no sound for the code that ends it, which may also be drawn in a later codebook.
                if codes.contains(&end) { Vec::new() } else { self.stream.push(&codes)? }
            }
            SpeechOrder::Marked(order) => {
                order.follow_frame(ends_sound);
                match ends_sound {
                    false => self.stream.push(&codes)?,
                    // Each sound ends by itself, and the next one begins anew.
                    true => mem::replace(&mut self.stream, self.voice.codec.begin()?).finish(),
                }
            }
        };
        Ok(SpokenFrame { position, opening: mem::take(&mut self.opening), row, codes, samples })
    }

    /// The samples that are left at the end of the reply.
    pub(super) fn finish(&mut self) -> Vec<f32> {
        self.stream.finish()
    }
}

impl SpeechTokens {
    /// What a token begins.
    fn opening(self, token: u32) -> SoundOpening {
        match token {
            token if token == self.sound_start => SoundOpening::SoundStart,
            token if token == self.text_end => SoundOpening::TextEnd,
            token if Some(token) == self.mixed_start => SoundOpening::MixedStart,
            _ => SoundOpening::None,
        }
    }
}
