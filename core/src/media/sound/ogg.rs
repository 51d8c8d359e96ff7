//! Pages of Ogg files (RFC 3533), which contain packets of one or more streams.

use crate::error::Result;
use crate::media::sound::recording::unsupported;

const SIGNATURE: &[u8] = b"OggS";
/// Bytes of a page before the sizes of its segments.
const HEADER: usize = 27;
/// Where the checksum stands.
const CHECKSUM: usize = 22;
/// Bytes of a segment that does not end its packet.
const FULL: u8 = 255;
/// Flags of a page.
const CONTINUES: u8 = 1;
const FIRST: u8 = 2;
const LAST: u8 = 4;

pub(super) fn is_ogg(file: &[u8]) -> bool {
    file.starts_with(SIGNATURE)
}

/// One page.
pub(super) struct Page<'a> {
    flags: u8,
    /// The time of the end of the last packet that ends on the page, in the unit of the stream; `None` if none does.
    pub(super) time: Option<u64>,
    /// The number that names the stream.
    pub(super) stream: u32,
    segments: &'a [u8],
    pub(super) body: &'a [u8],
}

/// The pages of a file. A cut page at the end does not count.
pub(super) struct Pages<'a>(pub(super) &'a [u8]);

impl<'a> Pages<'a> {
    pub(super) fn next(&mut self) -> Result<Option<Page<'a>>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        if !SIGNATURE.starts_with(&self.0[..self.0.len().min(SIGNATURE.len())]) {
            return Err(damaged());
        }
        let Some((page, bytes, rest)) = Page::split(self.0) else { return Ok(None) };
        if checksum(bytes) != bytes[CHECKSUM..CHECKSUM + 4] {
            return Err(damaged());
        }
        self.0 = rest;
        Ok(Some(page))
    }
}

impl<'a> Page<'a> {
    /// The first page, its bytes, and what follows.
    fn split(file: &'a [u8]) -> Option<(Self, &'a [u8], &'a [u8])> {
        let (header, after) = file.split_first_chunk::<HEADER>()?;
        let (segments, after) = after.split_at_checked(header[26].into())?;
        let size = segments.iter().map(|size| usize::from(*size)).sum();
        let (body, rest) = after.split_at_checked(size)?;
        let bytes = &file[..file.len() - rest.len()];
        let time = u64::from_le_bytes(*header[6..].first_chunk()?);
        let stream = u32::from_le_bytes(*header[14..].first_chunk()?);
        let time = Some(time).filter(|time| *time != u64::MAX);
        Some((Self { flags: header[5], time, stream, segments, body }, bytes, rest))
    }

    /// Whether the page begins its stream.
    pub(super) fn is_first(&self) -> bool {
        self.flags & FIRST != 0
    }

    /// Whether the page ends its stream.
    pub(super) fn is_last(&self) -> bool {
        self.flags & LAST != 0
    }

    /// Appends to the packet that is under way in its stream, and visits each packet that ends here.
    pub(super) fn packets(&self, packet: &mut Vec<u8>, mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let continues = self.flags & CONTINUES != 0;
        if !continues {
            packet.clear();
        }
        // A packet whose start is missing does not count.
        let mut is_whole = !continues || !packet.is_empty();
        let mut rest = self.body;
        for size in self.segments {
            let (segment, after) = rest.split_at_checked((*size).into()).ok_or_else(damaged)?;
            packet.extend_from_slice(segment);
            rest = after;
            if *size < FULL {
                if is_whole {
                    visit(packet)?;
                }
                packet.clear();
                is_whole = true;
            }
        }
        Ok(())
    }
}

/// The checksum that a page should have: of its bytes without the checksum.
fn checksum(page: &[u8]) -> [u8; 4] {
    let (before, rest) = page.split_at(CHECKSUM);
    let bytes = before.iter().chain(&[0; 4]).chain(&rest[4..]);
    bytes.fold(0u32, |sum, byte| sum << 8 ^ TABLE[usize::from((sum >> 24) as u8 ^ byte)]).to_le_bytes() // the highest byte
}

/// The remainders of one byte by the polynomial of Ogg, which counts bits from the highest one.
static TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = (byte as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            remainder = remainder << 1 ^ if remainder >> 31 == 1 { 0x04C1_1DB7 } else { 0 };
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
};

fn damaged() -> crate::error::SdkError {
    unsupported("the Ogg file cannot be decoded: a page is damaged")
}
