//! Recent spoken replies. A model reads what it has said as it said it, which samples do not show: so the server keeps the
//! words and the sound of a reply, and the next request of its client names them. They are in memory only, within limits.

use std::collections::VecDeque;
use std::sync::Arc;

use causerie::ChatMessageContent;
use parking_lot::Mutex;

const MAX_BYTES: usize = 64 << 20;

/// Replies, the oldest first.
#[derive(Default)]
pub(super) struct StoredSpeech {
    replies: VecDeque<SpokenReply>,
    n_bytes: usize,
}

struct SpokenReply {
    id: String,
    caller: Option<String>,
    /// In seconds since 1970.
    expires_at: u64,
    content: Vec<ChatMessageContent>,
}

impl SpokenReply {
    fn n_bytes(&self) -> usize {
        let sizes = self.content.iter().map(|part| match part {
            ChatMessageContent::Text(text) => text.len(),
            ChatMessageContent::Audio(file) | ChatMessageContent::Image(file) => file.len(),
            _ => 0,
        });
        self.id.len() + sizes.sum::<usize>()
    }
}

/// The replies of one caller. Those to another key are not found.
#[derive(Clone)]
pub(super) struct SpokenReplies {
    speech: Arc<Mutex<StoredSpeech>>,
    caller: Option<String>,
}

impl SpokenReplies {
    /// `caller` is the id of the request's key, where keys are asked for.
    pub(super) fn new(speech: &Arc<Mutex<StoredSpeech>>, caller: Option<&str>) -> Self {
        Self { speech: Arc::clone(speech), caller: caller.map(str::to_owned) }
    }

    /// Keeps the content of a reply, and forgets the oldest ones beyond the limit.
    pub(super) fn add(&self, id: String, expires_at: u64, content: Vec<ChatMessageContent>) {
        let reply = SpokenReply { id, caller: self.caller.clone(), expires_at, content };
        if MAX_BYTES < reply.n_bytes() {
            return;
        }
        let mut speech = self.speech.lock();
        speech.n_bytes += reply.n_bytes();
        speech.replies.push_back(reply);
        while MAX_BYTES < speech.n_bytes {
            speech.n_bytes -= speech.replies.pop_front().map_or(0, |oldest| oldest.n_bytes());
        }
    }

    /// The content of a reply that has not expired at a time.
    pub(super) fn find(&self, id: &str, now: u64) -> Option<Vec<ChatMessageContent>> {
        let speech = self.speech.lock();
        let is_it = |reply: &&SpokenReply| reply.id == id && reply.caller == self.caller && now < reply.expires_at;
        speech.replies.iter().find(is_it).map(|reply| reply.content.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound(n_bytes: usize) -> Vec<ChatMessageContent> {
        vec![ChatMessageContent::Text("Hi".to_owned()), ChatMessageContent::Audio(vec![0; n_bytes])]
    }

    #[test]
    fn replies_are_found_by_their_caller_until_they_expire() {
        let speech = Arc::default();
        let [ours, theirs] = ["a", "b"].map(|key| SpokenReplies::new(&speech, Some(key)));
        ours.add("audio_1".to_owned(), 100, sound(10));
        assert_eq!(ours.find("audio_1", 99), Some(sound(10)));
        assert_eq!(
            (ours.find("audio_1", 100), ours.find("audio_2", 99), theirs.find("audio_1", 99)),
            (None, None, None)
        );
    }

    #[test]
    fn the_oldest_replies_make_room() {
        let replies = SpokenReplies::new(&Arc::default(), None);
        (0..5).for_each(|n| replies.add(n.to_string(), 1, sound(MAX_BYTES / 4)));
        let found: Vec<bool> = (0..5).map(|n| replies.find(&n.to_string(), 0).is_some()).collect();
        assert_eq!(found, [false, false, true, true, true]); // three, as each is a little more than a quarter
        replies.add("long".to_owned(), 1, sound(MAX_BYTES));
        assert!(replies.find("long", 0).is_none() && replies.find("4", 0).is_some());
    }
}
