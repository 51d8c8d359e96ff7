//! The directory of a bundle: a ZIP archive whose entries are stored as they are. Nothing of it is trusted.

use std::collections::HashSet;
use std::ops::Range;

use causerie_backend::ModelFile;

use crate::error::{ErrorKind, Result, SdkError};
use crate::names::is_plain_path;

/// Entries begin at multiples of this: a page of any of the supported systems.
pub(crate) const ALIGNMENT: usize = 16 << 10;

/// The signatures of the parts of an archive.
pub(crate) const LOCAL: u32 = 0x0403_4b50;
pub(crate) const CENTRAL: u32 = 0x0201_4b50;
pub(crate) const END: u32 = 0x0605_4b50;
pub(crate) const END_64: u32 = 0x0606_4b50;
pub(crate) const LOCATOR_64: u32 = 0x0706_4b50;

/// The lengths of those parts, without names and extra fields.
pub(crate) const LOCAL_LENGTH: usize = 30;
const END_LENGTH: usize = 22;
pub(crate) const END_64_LENGTH: usize = 56;
const LOCATOR_64_LENGTH: usize = 20;

/// The id of the extra field with sizes and offsets of 64 bits.
pub(crate) const WIDE: u16 = 1;

/// Bytes of a directory at most; real ones have a few hundred.
const MAX_DIRECTORY: usize = 4 << 20;

/// A file of an archive.
pub(super) struct BundleEntry {
    pub(super) path: String,
    /// Where its header begins.
    pub(super) start: usize,
    /// The place of its content.
    pub(super) bytes: Range<usize>,
}

/// The error of an archive that breaks a rule.
pub(super) fn broken(rule: impl std::fmt::Display) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, format!("not a valid bundle: {rule}"))
}

/// Numbers of a part of an archive, which must have them.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, n_bytes: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n_bytes).ok_or_else(|| broken("its directory ends early"))?;
        self.0 = rest;
        Ok(taken)
    }

    /// An unsigned integer of `n_bytes` bytes.
    fn number(&mut self, n_bytes: usize) -> Result<u64> {
        Ok(self.take(n_bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn numbers<const N: usize>(&mut self, widths: [usize; N]) -> Result<[u64; N]> {
        let mut numbers = [0; N];
        for (number, width) in numbers.iter_mut().zip(widths) {
            *number = self.number(width)?;
        }
        Ok(numbers)
    }
}

/// The name of the file that an archive begins with, which is not empty; `None` if the file is not an archive.
pub(super) fn first_name(file: &ModelFile) -> Option<Vec<u8>> {
    let head = file.read(0..LOCAL_LENGTH).ok()?;
    let [signature, _, length, _] = Fields(&head).numbers([4, 22, 2, 2]).ok()?;
    let end = LOCAL_LENGTH + usize::try_from(length).ok()?;
    (signature == u64::from(LOCAL)).then(|| file.read(LOCAL_LENGTH..end).unwrap_or_default())
}

/// Reads the directory of an archive. Its entries come in the order of their places.
pub(super) fn read(file: &ModelFile) -> Result<Vec<BundleEntry>> {
    let (place, n_entries) = find(file)?;
    if MAX_DIRECTORY < place.len() {
        return Err(broken(format!("its directory must have at most {MAX_DIRECTORY} bytes")));
    }
    let bytes = part(file, place.clone())?;
    let mut fields = Fields(&bytes);
    let mut entries = Vec::new();
    while !fields.0.is_empty() {
        entries.push(entry(file, &mut fields, place.start)?);
    }
    if n_entries != entries.len() as u64 {
        return Err(broken(format!("its directory must have {n_entries} entries, found {}", entries.len())));
    }
    check(&mut entries)?;
    Ok(entries)
}

/// Refuses entries with the same path, also on systems without case, and entries that overlap.
fn check(entries: &mut [BundleEntry]) -> Result<()> {
    let mut paths = HashSet::new();
    if let Some(entry) = entries.iter().find(|entry| !paths.insert(entry.path.to_lowercase())) {
        return Err(broken(format!("{} must be there once", entry.path)));
    }
    entries.sort_by_key(|entry| (entry.start, entry.bytes.end));
    match entries.windows(2).find(|pair| pair[1].start < pair[0].bytes.end) {
        Some(pair) => Err(broken(format!("{} and {} must not overlap", pair[0].path, pair[1].path))),
        None => Ok(()),
    }
}

/// The place of the directory, and the number of its entries, from the end of the archive.
fn find(file: &ModelFile) -> Result<(Range<usize>, u64)> {
    let start = file.n_bytes().checked_sub(END_LENGTH).ok_or_else(|| broken("it ends early"))?;
    let end = part(file, start..file.n_bytes())?;
    let [signature, disk, first_disk, _, n_entries, length, offset, comment] =
        Fields(&end).numbers([4, 2, 2, 2, 2, 4, 4, 2])?;
    if signature != u64::from(END) || comment != 0 {
        return Err(broken("it must end with the end of a directory, without a comment"));
    }
    if disk != 0 || first_disk != 0 {
        return Err(broken("it must be one file"));
    }
    let (end, n_entries, length, offset) = match start.checked_sub(LOCATOR_64_LENGTH) {
        Some(locator) if offset == u64::from(u32::MAX) || n_entries == u64::from(u16::MAX) => {
            let bytes = part(file, locator..start)?;
            let [signature, _, place, _] = Fields(&bytes).numbers([4, 4, 8, 4])?;
            let place = number(place)?;
            let after = place.checked_add(END_64_LENGTH).filter(|after| *after <= locator);
            let after = after.filter(|_| signature == u64::from(LOCATOR_64));
            let bytes = part(file, place..after.ok_or_else(|| broken("the end of its directory must be found"))?)?;
            let [signature, _, _, _, _, _, _, n_entries, length, offset] =
                Fields(&bytes).numbers([4, 8, 2, 2, 4, 4, 8, 8, 8, 8])?;
            if signature != u64::from(END_64) {
                return Err(broken("the end of its directory must be found"));
            }
            (place, n_entries, length, offset)
        }
        _ => (start, n_entries, length, offset),
    };
    let (start, length) = (number(offset)?, number(length)?);
    let after = start.checked_add(length).filter(|after| *after == end);
    Ok((start..after.ok_or_else(|| broken("its directory must be before its end"))?, n_entries))
}

/// Reads one entry of a directory that begins at `limit`.
fn entry(file: &ModelFile, fields: &mut Fields<'_>, limit: usize) -> Result<BundleEntry> {
    let [signature, _, flags, method, _, _, packed, size, path, extra, comment, disk, _, offset] =
        fields.numbers([4, 4, 2, 2, 4, 4, 4, 4, 2, 2, 2, 2, 6, 4])?;
    let path = fields.take(number(path)?)?;
    let extra = fields.take(number(extra)?)?;
    fields.take(number(comment)?)?;
    let path = std::str::from_utf8(path).ok().filter(|path| is_plain_path(path));
    let path = path.ok_or_else(|| broken("its files must have relative paths"))?.to_owned();
    let refused = |rule: &str| broken(format!("{path} {rule}"));
    if signature != u64::from(CENTRAL) || disk != 0 {
        return Err(refused("must be listed in the directory"));
    }
    if method != 0 || flags & 0b1001 != 0 {
        return Err(refused("must be stored without compression and encryption"));
    }
    let [size, packed, offset] = widened(extra, [size, packed, offset])?;
    if size != packed {
        return Err(refused("must have one size"));
    }
    let header = number(offset)?;
    let start = data_start(file, header, &path)?;
    let end = start.checked_add(number(size)?).filter(|end| *end <= limit);
    let end = end.ok_or_else(|| refused("must be before the directory"))?;
    if !start.is_multiple_of(ALIGNMENT) {
        return Err(refused(&format!("must begin at a multiple of {ALIGNMENT} bytes, found {start}")));
    }
    Ok(BundleEntry { path, start: header, bytes: start..end })
}

/// Where the content of an entry begins, from its own header, which must name the same file.
fn data_start(file: &ModelFile, offset: usize, path: &str) -> Result<usize> {
    let refused = || broken(format!("{path} must begin with a header that names it"));
    let after = offset.checked_add(LOCAL_LENGTH + path.len()).ok_or_else(refused)?;
    let bytes = part(file, offset..after)?;
    let mut fields = Fields(&bytes);
    let [signature, _, _, _, length, extra] = fields.numbers([4, 4, 2, 16, 2, 2])?;
    if signature != u64::from(LOCAL) || length != path.len() as u64 || fields.0 != path.as_bytes() {
        return Err(refused());
    }
    after.checked_add(number(extra)?).ok_or_else(refused)
}

/// Sizes and offsets. The ones that need 64 bits come from the ZIP64 extra field, which lists only them.
fn widened(extra: &[u8], mut numbers: [u64; 3]) -> Result<[u64; 3]> {
    let mut fields = Fields(extra);
    while !fields.0.is_empty() {
        let [id, length] = fields.numbers([2, 2])?;
        let mut wide = Fields(fields.take(number(length)?)?);
        if id == u64::from(WIDE) {
            for number in numbers.iter_mut().filter(|number| **number == u64::from(u32::MAX)) {
                *number = wide.number(8)?;
            }
        }
    }
    Ok(numbers)
}

fn part(file: &ModelFile, place: Range<usize>) -> Result<Vec<u8>> {
    file.read(place).map_err(|err| broken("it ends early").caused_by(err))
}

fn number(number: u64) -> Result<usize> {
    usize::try_from(number).map_err(|_| broken("it must fit the address space"))
}
