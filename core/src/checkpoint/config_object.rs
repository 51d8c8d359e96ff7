//! A JSON object of config.json, whose keys have had several names.

use serde_json::Value as Json;

use crate::checkpoint::invalid::invalid;
use crate::error::Result;

/// A JSON object whose values must have the right type; null counts as absent.
#[derive(Clone, Copy)]
pub(crate) struct Config<'a>(pub(crate) &'a Json);

impl<'a> Config<'a> {
    fn value<T>(&self, keys: &[&str], expected: &str, read: impl Fn(&'a Json) -> Option<T>) -> Result<Option<T>> {
        let mut found = keys.iter().filter_map(|key| Some((key, self.0.get(key).filter(|value| !value.is_null())?)));
        let Some((key, value)) = found.next() else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| invalid(format!("{key} in config.json must be {expected}")))
    }

    pub(crate) fn count(&self, keys: &[&str]) -> Result<Option<usize>> {
        self.value(keys, "an integer of 0 or more", |value| usize::try_from(value.as_u64()?).ok())
    }

    pub(crate) fn number(&self, keys: &[&str]) -> Result<Option<f64>> {
        self.value(keys, "a number", Json::as_f64)
    }

    pub(crate) fn boolean(&self, keys: &[&str]) -> Result<Option<bool>> {
        self.value(keys, "a boolean", Json::as_bool)
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<&'a str>> {
        self.value(&[key], "a string", Json::as_str)
    }

    pub(crate) fn object(&self, key: &str) -> Result<Option<Config<'a>>> {
        self.value(&[key], "an object", |value| value.is_object().then_some(Config(value)))
    }

    pub(crate) fn list(&self, key: &str) -> Result<Option<&'a Vec<Json>>> {
        self.value(&[key], "an array", Json::as_array)
    }

    pub(crate) fn needed_count(&self, keys: &[&str]) -> Result<usize> {
        self.count(keys)?.ok_or_else(|| invalid(format!("config.json must have {}", keys[0])))
    }

    pub(crate) fn needed_number(&self, keys: &[&str]) -> Result<f64> {
        self.number(keys)?.ok_or_else(|| invalid(format!("config.json must have {}", keys[0])))
    }
}
