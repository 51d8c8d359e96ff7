//! Keys of a server on a local network: any of them opens every route.

use std::collections::HashSet;

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::access::requirement::{AccessError, Requirement};

/// The keys that a server on a local network accepts, as hashes. Clients send one as `Authorization: Bearer` or `Key`, or
/// in `x-api-key`, whichever they know.
#[derive(Clone, Debug)]
pub struct LocalKeys {
    hashes: Vec<[u8; 32]>,
}

impl LocalKeys {
    /// Accepts these keys.
    ///
    /// # Errors
    /// When there is no key, or one that a header cannot carry.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let keys: HashSet<&str> = keys.into_iter().collect();
        if keys.is_empty() {
            return Err("at least one API key is required".to_owned());
        }
        if !keys.iter().all(|key| is_sendable(key)) {
            return Err("an API key must be one or more visible ASCII characters without spaces".to_owned());
        }
        Ok(Self { hashes: keys.into_iter().map(hash).collect() })
    }

    /// Checks the key of a request.
    pub(crate) fn check(&self, requirement: Requirement, headers: &HeaderMap) -> Result<(), AccessError> {
        match requirement {
            Requirement::Nothing => Ok(()),
            Requirement::Key | Requirement::MetricsKey if self.caller(headers).is_some() => Ok(()),
            _ if sent(headers).next().is_none() => Err(AccessError::MissingLocalKey),
            _ => Err(AccessError::InvalidLocalKey),
        }
    }

    /// What distinguishes the caller's key from the others: the beginning of its hash.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Option<String> {
        let hashes = sent(headers).flatten().map(hash);
        let known = hashes.filter(|sent| self.hashes.iter().any(|known| known.ct_eq(sent).into()));
        known.map(|hash| hex::encode(&hash[..8])).next()
    }
}

fn is_sendable(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic())
}

fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key).into()
}

/// The keys that a request sends; `None` for a header that holds none.
fn sent(headers: &HeaderMap) -> impl Iterator<Item = Option<&str>> {
    let authorization = headers.get_all(AUTHORIZATION).iter().map(|value| {
        let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
        let is_known = scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("key");
        is_known.then(|| key.trim())
    });
    authorization.chain(headers.get_all("x-api-key").iter().map(|value: &HeaderValue| value.to_str().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(keys: &LocalKeys, requirement: Requirement, sent: &[(&'static str, &str)]) -> Result<(), AccessError> {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.append(*name, value.parse().unwrap());
        }
        keys.check(requirement, &headers)
    }

    #[test]
    fn a_key_is_accepted_in_each_header_that_clients_know() {
        let keys = LocalKeys::new(["sesame", "other"]).unwrap();
        for (name, value) in [
            ("authorization", "Bearer sesame"),
            ("authorization", "bearer other"),
            ("authorization", "Key sesame"),
            ("x-api-key", "sesame"),
        ] {
            assert_eq!(ask(&keys, Requirement::Key, &[(name, value)]), Ok(()), "{value}");
        }
        // Clients of Anthropic send a key of their settings as well.
        assert_eq!(ask(&keys, Requirement::Key, &[("x-api-key", "x"), ("authorization", "Bearer sesame")]), Ok(()));
        for (name, value) in [
            ("authorization", "Bearer sesam"),
            ("authorization", "Bearer "),
            ("authorization", "Basic sesame"),
            ("authorization", "sesame"),
            ("x-api-key", "Bearer sesame"),
            ("x-api-key", ""),
        ] {
            let wrong = ask(&keys, Requirement::MetricsKey, &[(name, value)]);
            assert_eq!(wrong, Err(AccessError::InvalidLocalKey), "{value}");
        }
        assert_eq!(ask(&keys, Requirement::Key, &[]), Err(AccessError::MissingLocalKey));
        assert_eq!(ask(&keys, Requirement::Nothing, &[]), Ok(()));
    }

    #[test]
    fn keys_that_no_header_can_carry_are_refused() {
        for keys in [&[][..], &[""], &["a b"], &["a\n"], &["é"], &["good", ""]] {
            assert!(LocalKeys::new(keys.iter().copied()).is_err(), "{keys:?}");
        }
        let shown = format!("{:?}", LocalKeys::new(["sesame"]).unwrap());
        assert!(!shown.contains("sesame"));
    }
}
