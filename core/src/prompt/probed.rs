//! The capabilities of templates that this process has probed. Loading a model again, or reading its description before it is
//! loaded, renders no probes.

use std::collections::VecDeque;

use parking_lot::Mutex;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::prompt::capabilities::Capabilities;
use crate::tokenizer::{ControlTokens, SpecialTokens};

/// Templates that are remembered.
const CAPACITY: usize = 16;

static PROBED: Mutex<VecDeque<(TemplateKey, Capabilities)>> = Mutex::new(VecDeque::new());

/// A digest of all that the results of probes depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TemplateKey([u8; 32]);

impl TemplateKey {
    pub(super) fn new(source: &str, control: &ControlTokens, special: &SpecialTokens) -> Self {
        let mut digest = Sha256::new();
        let mut add = |text: &str| {
            digest.update(text.len().to_le_bytes());
            digest.update(text);
        };
        add(source);
        add(&special.iter().count().to_string());
        special.iter().for_each(|(name, spelling)| [name, spelling].into_iter().for_each(&mut add));
        control.sorted_spellings().into_iter().for_each(add);
        Self(digest.finalize().into())
    }
}

impl Serialize for TemplateKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        hex::encode(self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TemplateKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut key = [0; 32];
        hex::decode_to_slice(String::deserialize(deserializer)?, &mut key).map_err(serde::de::Error::custom)?;
        Ok(Self(key))
    }
}

/// The capabilities of a template that was probed before.
pub(super) fn recall(key: TemplateKey) -> Option<Capabilities> {
    let probed = PROBED.lock();
    probed.iter().find(|(known, _)| *known == key).map(|(_, capabilities)| *capabilities)
}

/// Remembers the capabilities of a template, and forgets the oldest one beyond the capacity.
pub(super) fn remember(key: TemplateKey, capabilities: Capabilities) {
    let mut probed = PROBED.lock();
    probed.push_back((key, capabilities));
    if CAPACITY < probed.len() {
        probed.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_remembered_by_all_that_they_depend_on() {
        let key = |source: &str, control: &[&str], bos: &str| {
            let special = [("bos_token", bos)].into_iter().collect();
            TemplateKey::new(source, &ControlTokens::new(control).unwrap(), &special)
        };
        let known = key("a template of this test", &["<a>", "<b>"], "<s>");
        assert!(recall(known).is_none());
        remember(known, Capabilities::NONE);
        assert_eq!(recall(key("a template of this test", &["<b>", "<a>"], "<s>")), Some(Capabilities::NONE));
        for other in [
            key("another template of this test", &["<a>", "<b>"], "<s>"),
            key("a template of this test", &["<a>"], "<s>"),
            key("a template of this test", &["<a>", "<b>"], ""),
        ] {
            assert!(recall(other).is_none());
        }
        (0..CAPACITY).for_each(|i| remember(key(&i.to_string(), &[], ""), Capabilities::NONE));
        assert!(recall(known).is_none(), "it is the oldest");
    }
}
