//! Whether a file is whole, where decoders do not say it: they show as grey what is missing of a JPEG file.

use image::ImageFormat;

/// The marker of the end of a JPEG file.
const END: u8 = 0xD9;

/// Whether a file is shorter than it says. Pillow refuses the same files, except for some JPEG files of which only the two bytes of
/// the end marker are missing.
pub(super) fn is_cut_off(file: &[u8], format: ImageFormat) -> bool {
    match format {
        ImageFormat::Jpeg => jpeg_end(file).is_none(),
        ImageFormat::WebP => riff_end(file).is_none_or(|end| file.len() < end),
        // What a decoder needs of these files is all of the picture.
        _ => false,
    }
}

/// The length that a file of chunks has by its header.
fn riff_end(file: &[u8]) -> Option<usize> {
    let (size, _) = file.get(4..)?.split_first_chunk()?;
    usize::try_from(u32::from_le_bytes(*size)).ok()?.checked_add(8)
}

/// The place after the end marker of a JPEG file. Pictures inside of segments, such as thumbnails, have markers of their own.
fn jpeg_end(file: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += file.get(at..)?.iter().position(|byte| *byte == 0xFF)? + 1;
        match file.get(at)? {
            // A byte FF of a scan, markers without a segment, and the start of the file.
            0x00 | 0x01 | 0xD0..=0xD8 => at += 1,
            // Any number of them may stand before a marker.
            0xFF => {}
            &END => return Some(at + 1),
            _ => {
                let (length, _) = file.get(at + 1..)?.split_first_chunk()?;
                at += 1 + usize::from(u16::from_be_bytes(*length));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_after_segments_and_scans() {
        for (file, expect) in [
            (&b"\xff\xd8\xff\xd9"[..], true),
            (b"\xff\xd8\xff\xe1\0\x04\xff\xd9\xff\xd9", true),
            (b"\xff\xd8\xff\xe1\0\x04\xff\xd9", false),
            (b"\xff\xd8\xff\xe1\0\x09\xff\xd9", false),
            (b"\xff\xd8\xff\xda\0\x02ab\xff\0\xff\xd0cd\xff\xff\xd9\0trailing", true),
            (b"\xff\xd8\xff\xda\0\x02ab\xff\0\xd9", false),
            (b"\xff\xd8\xff\xda\0\x02ab\xff", false),
            (b"\xff\xd8\xff\xda", false),
            (b"\xff\xd8", false),
        ] {
            assert_eq!(jpeg_end(file).is_some(), expect, "{file:02x?}");
        }
    }
}
