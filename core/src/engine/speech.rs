//! The sound of one reply: frames of codes that the model reads again, and the samples that they become.

use std::sync::Arc;

use crate::engine::frame_sampler::FrameSampler;
use crate::engine::modality::{Modality, SpeechTokens};
use crate::error::Result;
use crate::media::sound::SoundOpening;
use crate::model::speech::{SOUND_START, TEXT_END};
use crate::model::{SpokenStream, Voice};
use crate::options::{SpeechMode, SpeechOptions};
use crate::position::Position;
use crate::tokenizer::ModelTokenizer;

/// What a reply speaks with.
pub(super) struct Speech {
    voice: Voice,
    modality: Modality,
    tokens: SpeechTokens,
    /// The token that has begun the present stretch of sound, until its first frame.
    opening: SoundOpening,
    sampler: FrameSampler,
    stream: Box<dyn SpokenStream>,
    /// The vector of the last step, from which the next frame follows.
    pub(super) hidden: Vec<f32>,
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
    pub(super) name: [u8; 16],
    pub(super) sample_rate: u32,
    pub(super) end_code: u16,
}

impl Speech {
    /// `None` for a reply of text alone, and for a vocabulary without the tokens of speech.
    pub(super) fn begin(
        voice: &Voice,
        tokenizer: &ModelTokenizer,
        mode: SpeechMode,
        options: &SpeechOptions,
        seed: u64,
    ) -> Result<Option<Self>> {
        let token = |spelling: &str| tokenizer.control_ids(spelling).first().copied();
        let (Some(sound_start), Some(text_end)) = (token(SOUND_START), token(TEXT_END)) else { return Ok(None) };
        let tokens = SpeechTokens { sound_start, text_end };
        let Some(modality) = Modality::new(mode, tokens) else { return Ok(None) };
        let (temperature, top_k) = options.sampling(mode);
        Ok(Some(Self {
            stream: voice.codec.begin()?,
            voice: voice.clone(),
            modality,
            tokens,
            opening: SoundOpening::None,
            sampler: FrameSampler::new(temperature, top_k, seed),
            hidden: Vec::new(),
        }))
    }

    /// Whether a frame comes next.
    pub(super) fn is_sound(&self) -> bool {
        self.modality.is_sound()
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
        self.modality.follow_token(token);
        if self.modality.is_sound() {
            self.opening = match token {
                token if token == self.tokens.sound_start => SoundOpening::SoundStart,
                token if token == self.tokens.text_end => SoundOpening::TextEnd,
                _ => SoundOpening::None,
            };
        }
    }

    /// Speaks the frame that follows from the last step.
    ///
    /// # Errors
    /// Logits that are not finite, and a device that fails.
    pub(super) fn frame(&mut self) -> Result<SpokenFrame> {
        let Self { voice, sampler, hidden, .. } = self;
        let mut codes = voice.frames.frame(hidden, &mut |_, logits| sampler.pick(logits))?;
        let end = voice.frames.end_code();
        let ends_sound = codes.first() == Some(&end);
        if ends_sound {
            codes.fill(end);
        }
        self.modality.follow_frame(ends_sound);
        let (position, row) = (voice.position(&codes), voice.frames.row(&codes)?.into());
        // The codec has no sound for the code that ends it, which may also be drawn in a later codebook.
        let samples = if codes.contains(&end) { Vec::new() } else { self.stream.push(&codes)? };
        Ok(SpokenFrame { position, opening: std::mem::take(&mut self.opening), row, codes, samples })
    }

    /// The samples that are left at the end of the reply.
    pub(super) fn finish(&mut self) -> Vec<f32> {
        self.stream.finish()
    }
}
