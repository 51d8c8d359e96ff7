//! The special tokens that a model's files name. Chat templates read them by these names.

use indexmap::IndexMap;
use serde_json::{Map, Value as Json};

/// Names of special tokens, with the keys of GGUF files that have their ids; the ends of a text are not among them. The
/// spelling of the second key is llama.cpp's.
pub(super) const NAMED_IDS: [(&str, &str); 5] = [
    ("unk_token", "unknown_token_id"),
    ("sep_token", "seperator_token_id"),
    ("pad_token", "padding_token_id"),
    ("cls_token", "cls_token_id"),
    ("mask_token", "mask_token_id"),
];

/// Names of special tokens, such as `bos_token` and `image_token`, with their spellings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpecialTokens(IndexMap<String, String>);

impl<'a> FromIterator<(&'a str, &'a str)> for SpecialTokens {
    fn from_iter<T: IntoIterator<Item = (&'a str, &'a str)>>(tokens: T) -> Self {
        let mut special = Self::default();
        tokens.into_iter().for_each(|(name, spelling)| special.insert(name, spelling));
        special
    }
}

impl SpecialTokens {
    /// Reads the names that tokenizer_config.json gives to tokens: those in `model_specific_special_tokens`, where transformers 5
    /// writes them, all that end with `_token`, and those in `extra_special_tokens`. Later ones take precedence.
    pub(super) fn read(settings: &Json) -> Self {
        let none = Map::new();
        let tokens = |json: Option<&Json>, is_name: fn(&str) -> bool| {
            let entries = json.and_then(Json::as_object).unwrap_or(&none).iter();
            let tokens = entries.filter(move |(name, _)| is_name(name));
            let tokens = tokens.filter_map(|(name, json)| Some((name.clone(), token_text(json)?.to_owned())));
            tokens.collect::<Vec<_>>()
        };
        let kept = tokens(settings.get("model_specific_special_tokens"), |_| true);
        let named = tokens(Some(settings), |name| name.ends_with("_token"));
        let extra = tokens(settings.get("extra_special_tokens"), |_| true);
        Self(kept.into_iter().chain(named).chain(extra).collect())
    }

    /// Names a token, in place of an earlier one of this name.
    pub(super) fn insert(&mut self, name: &str, spelling: &str) {
        self.0.insert(name.to_owned(), spelling.to_owned());
    }

    /// The spelling of a token.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, spelling)| (name.as_str(), spelling.as_str()))
    }
}

/// A token is given as a string, or as an object with the string.
pub(super) fn token_text(json: &Json) -> Option<&str> {
    json.as_str().or_else(|| json.get("content")?.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_that_transformers_saved_by_name_are_named() {
        let settings = json!({
            "pad_token": "<pad>",
            "model_specific_special_tokens": { "image_token": "<image>", "audio_token": { "content": "<audio>" }, "eoi": "<end>" },
            "audio_token": "<sound>",
            "extra_special_tokens": { "image_token": "<picture>" },
        });
        let special = SpecialTokens::read(&settings);
        let expect =
            [("audio_token", "<sound>"), ("eoi", "<end>"), ("image_token", "<picture>"), ("pad_token", "<pad>")];
        for (name, spelling) in expect {
            assert_eq!(special.get(name), Some(spelling), "{name}");
        }
        assert_eq!(special.iter().count(), expect.len());
    }
}
