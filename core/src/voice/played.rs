//! Spoken replies that were interrupted: they are cut to what was played.

use std::time::Duration;

use crate::media::sound::SpokenSound;
use crate::message::{ChatMessage, ChatMessageContent, Role};

const NANOSECONDS: u128 = 1_000_000_000;

/// The sound of replies that was played, counted from the first of them on.
///
/// A reply keeps its parts up to the last frame of which something was played. So the model reads the same positions again up to
/// there, and what the listener has not heard is not in the conversation.
pub(crate) struct PlayedSound {
    left: Duration,
}

impl PlayedSound {
    pub(crate) fn new(played_until: Duration) -> Self {
        Self { left: played_until }
    }

    /// Cuts the replies of a history from message `start` on. A reply of which nothing is left is removed.
    pub(crate) fn cut_from(&mut self, history: &mut Vec<ChatMessage>, start: usize) {
        let mut at = start;
        while let Some(message) = history.get_mut(at) {
            let is_removed = message.role == Role::Assistant && self.cut(message) && is_empty(message);
            if is_removed {
                history.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Cuts one reply, whose sound comes after that of the replies before. Returns whether it was cut. Calls stay, because they
    /// were made; a reply without sound stays whole.
    pub(crate) fn cut(&mut self, reply: &mut ChatMessage) -> bool {
        let Some(sound) = ReplySound::read(&reply.content) else { return false };
        let played = self.left.as_nanos().saturating_mul(sound.sample_rate.into()) / NANOSECONDS;
        if sound.samples.len() as u128 <= played {
            self.left = self.left.saturating_sub(sound.duration());
            return false;
        }
        self.left = Duration::ZERO;
        let n_frames = (played * sound.n_frames as u128).div_ceil(sound.samples.len() as u128);
        reply.content = sound.cut(n_frames as usize); // fewer than `n_frames` of the sound
        reply.incomplete = true;
        true
    }
}

fn is_empty(message: &ChatMessage) -> bool {
    message.content.is_empty()
        && message.function_calls.is_none()
        && message.rejected_calls.is_empty()
        && message.reasoning_content.is_none()
}

/// The parts of a reply, with all of its samples: a frame may get its samples only with the next stretch.
struct ReplySound {
    parts: Vec<HeardPart>,
    samples: Vec<f32>,
    sample_rate: u32,
    /// Frames that have samples, all of them as many.
    n_frames: usize,
}

enum HeardPart {
    Spoken(SpokenSound),
    Other(ChatMessageContent),
}

impl ReplySound {
    /// `None` for a reply without sound.
    fn read(content: &[ChatMessageContent]) -> Option<Self> {
        let part = |part: &ChatMessageContent| match part {
            ChatMessageContent::Audio(file) => {
                SpokenSound::read(file).map_or_else(|| HeardPart::Other(part.clone()), HeardPart::Spoken)
            }
            _ => HeardPart::Other(part.clone()),
        };
        let parts: Vec<HeardPart> = content.iter().map(part).collect();
        let spoken = || {
            parts.iter().filter_map(|part| match part {
                HeardPart::Spoken(sound) => Some(sound),
                HeardPart::Other(_) => None,
            })
        };
        let sample_rate = spoken().next()?.sample_rate;
        let samples: Vec<f32> = spoken().flat_map(|sound| sound.samples.iter().copied()).collect();
        let n_frames = spoken().map(|sound| sound.n_sounding(sound.spoken.frames.len())).sum();
        (0 < n_frames && !samples.is_empty()).then_some(Self { parts, samples, sample_rate, n_frames })
    }

    fn duration(&self) -> Duration {
        let nanoseconds = self.samples.len() as u128 * NANOSECONDS / u128::from(self.sample_rate.max(1));
        Duration::from_nanos(nanoseconds.try_into().unwrap_or(u64::MAX))
    }

    /// The parts up to the last of the first `n_frames` frames.
    fn cut(self, n_frames: usize) -> Vec<ChatMessageContent> {
        let (mut content, mut n_done) = (Vec::new(), 0);
        // In 64 bits: the product is large for minutes of sound. The quotient is at most the number of samples.
        let end_of = |n_frames: usize| (n_frames as u64 * self.samples.len() as u64 / self.n_frames as u64) as usize;
        for part in self.parts {
            if n_done == n_frames {
                break;
            }
            content.push(match part {
                HeardPart::Other(part) => part,
                HeardPart::Spoken(mut sound) => {
                    sound.keep(n_frames - n_done);
                    let n_kept = sound.n_sounding(sound.spoken.frames.len());
                    sound.samples = self.samples[end_of(n_done)..end_of(n_done + n_kept)].to_vec();
                    n_done += n_kept;
                    ChatMessageContent::Audio(sound.to_wav())
                }
            });
        }
        content
    }
}

impl SpokenSound {
    /// How many of the first frames have samples.
    fn n_sounding(&self, n_frames: usize) -> usize {
        self.spoken.frames[..n_frames].iter().filter(|frame| self.spoken.sounds(frame)).count()
    }

    /// Keeps the frames up to the one that is the `n_frames`th to have samples.
    fn keep(&mut self, n_frames: usize) {
        let (frames, mut n_left) = (&self.spoken.frames, n_frames);
        let is_beyond = |frame: &Vec<u16>| {
            let is_beyond = n_left == 0;
            n_left = n_left.saturating_sub(self.spoken.sounds(frame).into());
            is_beyond
        };
        let end = frames.iter().position(is_beyond).unwrap_or(frames.len());
        self.spoken.frames.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::sound::{SoundOpening, SpokenFrames};

    const END: u16 = 9;

    /// A stretch of sound whose frames have these codes, with as many samples.
    fn spoken(codes: &[u16], n_samples: usize) -> ChatMessageContent {
        let frames = codes.iter().map(|code| vec![*code; 2]).collect();
        let spoken = SpokenFrames { opening: SoundOpening::TextEnd, end_code: END, frames, ..Default::default() };
        let samples = vec![0.25; n_samples];
        ChatMessageContent::Audio(SpokenSound { spoken, samples, sample_rate: 1_000 }.to_wav())
    }

    /// A reply of two stretches, with a lag of 5 samples after the first and an end of sound in the middle. A frame has 20 ms.
    fn reply() -> ChatMessage {
        let content = vec![
            ChatMessageContent::Text("One ".into()),
            spoken(&[1, 2, 3], 55),
            ChatMessageContent::Text("two.".into()),
            spoken(&[4, END, 5], 45),
        ];
        ChatMessage { content, ..ChatMessage::assistant("") }
    }

    /// The text, the first codes and the number of samples of a reply that is cut.
    fn cut(milliseconds: u64) -> (String, Vec<u16>, usize) {
        let mut reply = reply();
        PlayedSound::new(Duration::from_millis(milliseconds)).cut(&mut reply);
        let sounds = reply.content.iter().filter_map(|part| match part {
            ChatMessageContent::Audio(file) => SpokenSound::read(file),
            _ => None,
        });
        let sounds: Vec<_> = sounds.collect();
        let codes = sounds.iter().flat_map(|sound| sound.spoken.frames.iter().map(|frame| frame[0])).collect();
        (reply.text(), codes, sounds.iter().map(|sound| sound.samples.len()).sum())
    }

    #[test]
    fn a_reply_is_cut_after_the_last_frame_that_was_heard() {
        assert_eq!(cut(0), (String::new(), vec![], 0));
        assert_eq!(cut(1), ("One ".into(), vec![1], 20));
        assert_eq!(cut(40), ("One ".into(), vec![1, 2], 40));
        assert_eq!(cut(60), ("One ".into(), vec![1, 2, 3], 60));
        assert_eq!(cut(61), ("One two.".into(), vec![1, 2, 3, 4], 80));
        assert_eq!(cut(81), ("One two.".into(), vec![1, 2, 3, 4, END, 5], 100));
        assert_eq!(cut(100_000), ("One two.".into(), vec![1, 2, 3, 4, END, 5], 100));
    }

    #[test]
    fn a_reply_that_was_heard_or_has_no_sound_stays_as_it_is() {
        for (played, kept) in [(100, reply()), (0, ChatMessage::assistant("Written."))] {
            let mut message = kept.clone();
            assert!(!PlayedSound::new(Duration::from_millis(played)).cut(&mut message));
            assert_eq!(message, kept);
        }
    }

    #[test]
    fn what_was_played_counts_over_several_replies() {
        let question = ChatMessage::user("Why?");
        let mut history = vec![reply(), question.clone(), reply(), ChatMessage::tool("4"), reply(), reply()];
        PlayedSound::new(Duration::from_millis(110)).cut_from(&mut history, 1);
        assert_eq!(history[..4], [reply(), question, reply(), ChatMessage::tool("4")]);
        assert_eq!((history.len(), history[4].text(), history[4].incomplete), (5, "One ".into(), true));
    }
}
