//! Digests of files, by which a hub knows them.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// The digest of a file, which is also the name of its blob in the cache: lower-case hexadecimal.
///
/// ```
/// use causerie_hub::FileDigest;
/// assert!(FileDigest::parse(&"AB".repeat(32)).is_some());
/// assert!(FileDigest::parse("../../etc/passwd").is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileDigest {
    /// SHA-256 of the content.
    Sha256(String),
    /// The id that git gives to the content: SHA-1 with a header.
    GitBlob(String),
    /// The digest is not known before the download. The digits stand for the address and what its server says of the file.
    Unknown(String),
}

impl FileDigest {
    /// Reads a digest: 64 hexadecimal digits for SHA-256, 40 for an id of git. Anything else is refused, because a digest
    /// becomes the name of a file.
    ///
    /// ```
    /// # use causerie_hub::FileDigest;
    /// let digest = FileDigest::parse("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
    /// assert!(matches!(digest, Some(FileDigest::GitBlob(_))));
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.to_ascii_lowercase();
        match (hex.len(), hex.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            (64, true) => Some(Self::Sha256(hex)),
            (40, true) => Some(Self::GitBlob(hex)),
            _ => None,
        }
    }

    /// The hexadecimal digits.
    ///
    /// ```
    /// # use causerie_hub::FileDigest;
    /// assert_eq!(FileDigest::parse(&"A".repeat(64)).unwrap().hex(), "a".repeat(64));
    /// ```
    pub fn hex(&self) -> &str {
        match self {
            Self::Sha256(hex) | Self::GitBlob(hex) | Self::Unknown(hex) => hex,
        }
    }

    /// The SHA-256 of a content.
    pub(crate) fn from_content(content: &[u8]) -> Self {
        Self::Sha256(format!("{:x}", Sha256::digest(content)))
    }

    /// Whether `found` is the expected digest.
    pub(crate) fn is_of(&self, found: &Self) -> bool {
        matches!((self, found), (Self::Unknown(_), Self::Sha256(_))) || self == found
    }

    /// Whether the digits have the right form, which a deserialized digest may lack.
    pub(crate) fn is_valid(&self) -> bool {
        match (self, Self::parse(self.hex())) {
            (Self::Unknown(hex), Some(Self::Sha256(parsed))) => *hex == parsed,
            (_, parsed) => parsed.as_ref() == Some(self),
        }
    }

    /// Begins to hash a file of this size.
    pub(crate) fn hasher(&self, size: u64) -> ContentHasher {
        match self {
            Self::Sha256(_) | Self::Unknown(_) => ContentHasher::Sha256(Sha256::new()),
            Self::GitBlob(_) => ContentHasher::GitBlob(Sha1::new_with_prefix(format!("blob {size}\0"))),
        }
    }
}

impl fmt::Display for FileDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.hex())
    }
}

/// Hashes a file that arrives in pieces.
pub(crate) enum ContentHasher {
    Sha256(Sha256),
    GitBlob(Sha1),
}

impl ContentHasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::GitBlob(hasher) => hasher.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> FileDigest {
        match self {
            Self::Sha256(hasher) => FileDigest::Sha256(format!("{:x}", hasher.finalize())),
            Self::GitBlob(hasher) => FileDigest::GitBlob(format!("{:x}", hasher.finalize())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are from `sha256sum` and `git hash-object`.
    #[test]
    fn digests_are_those_of_other_tools() {
        for (text, expect) in [
            ("hello\n", "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"),
            ("hello\n", "ce013625030ba8dba906f756967f9e9ca394464a"),
            ("", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
        ] {
            let digest = FileDigest::parse(expect).unwrap();
            let mut hasher = digest.hasher(text.len() as u64);
            text.bytes().for_each(|byte| hasher.update(&[byte]));
            assert_eq!(hasher.finish(), digest);
        }
    }

    #[test]
    fn only_hexadecimal_digits_are_digests() {
        for text in
            ["", "abc", "../x", &"g".repeat(40), &"a".repeat(41), &format!("W/\"{}\"", "a".repeat(40)), &"é".repeat(20)]
        {
            assert_eq!(FileDigest::parse(text), None, "{text}");
        }
        assert!(!FileDigest::Sha256("../x".to_owned()).is_valid());
    }
}
