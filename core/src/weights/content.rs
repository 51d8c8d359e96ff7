//! The bytes that tensors are read from.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::path::Path;

use causerie_backend::ModelFile;

use crate::error::{ErrorKind, SdkError};
use crate::weights::identity::FileIdentity;

/// A file, or the content of one.
pub(super) enum Content {
    OnDisk(ModelFile),
    InMemory(Cow<'static, [u8]>),
    /// A file that is not here: only its header was read.
    Elsewhere,
}

impl Content {
    /// A range of the content, which the header has placed inside of it.
    pub(super) fn read(&self, range: Range<usize>) -> io::Result<Cow<'_, [u8]>> {
        match self {
            Self::OnDisk(file) => file.read(range).map(Cow::Owned),
            Self::InMemory(bytes) => Ok(Cow::Borrowed(&bytes[range])),
            Self::Elsewhere => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// As [`read`](Self::read). Bytes on disk are read into a buffer that is reused.
    pub(super) fn read_with<'a>(&'a self, range: Range<usize>, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        match self {
            Self::OnDisk(file) => {
                buffer.clear();
                buffer.try_reserve(range.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
                buffer.resize(range.len(), 0);
                file.read_into(range.start, buffer)?;
                Ok(buffer)
            }
            Self::InMemory(bytes) => Ok(&bytes[range]),
            Self::Elsewhere => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The length in bytes; 0 for a file that is not here.
    pub(super) fn n_bytes(&self) -> usize {
        match self {
            Self::OnDisk(file) => file.n_bytes(),
            Self::InMemory(bytes) => bytes.len(),
            Self::Elsewhere => 0,
        }
    }

    /// Adds what the file is recognised by; returns false for content that is not on disk.
    pub(super) fn identify(&self, identity: &mut FileIdentity) -> bool {
        match self {
            Self::OnDisk(file) => identity.add_file(file).is_ok(),
            Self::InMemory(_) | Self::Elsewhere => false,
        }
    }

    /// Whether no other program has written to it since it was opened.
    pub(super) fn is_unchanged(&self) -> bool {
        match self {
            Self::OnDisk(file) => file.is_unchanged(),
            Self::InMemory(_) | Self::Elsewhere => true,
        }
    }
}

/// The error for a file that cannot be read.
pub(super) fn unreadable(path: &Path) -> impl Fn(io::Error) -> SdkError + '_ {
    |err| SdkError::new(ErrorKind::ModelLoad, format!("cannot read {}", path.display())).caused_by(err)
}
