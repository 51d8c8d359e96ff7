//! Decodes picture files, which are not trusted: sizes are checked before anything is decoded.

use std::io::Cursor;
use std::panic::catch_unwind;

use image::error::ImageError;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageReader, Limits, Rgb, RgbImage, Rgba, RgbaImage};

use crate::error::{ErrorKind, Result, SdkError};
use crate::media::whole::is_cut_off;

/// Bytes of a file at most. Photographs of phones have some 10 MB.
const MAX_FILE: usize = 64 << 20;
/// Pixels of a picture at most.
const MAX_PIXELS: u64 = 64 << 20;
/// Bytes of a decoded picture at most: of the most pixels in RGBA.
const MAX_DECODED: u64 = 4 * MAX_PIXELS;
/// The longer side of a picture at most, in lengths of the shorter one.
const MAX_RATIO: u64 = 200;

/// What stands for transparent pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transparency {
    /// White, and colours as they look on it.
    OnWhite,
    /// The hidden colours that the file has there. References drop the transparency alone.
    Ignored,
}

/// A decoded picture.
pub(crate) struct Picture {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// `(height, width, 3)`: red, green and blue.
    pub(crate) pixels: Vec<u8>,
}

/// Decodes a picture. An animation gives its first frame.
///
/// # Errors
/// [`ErrorKind::UnsupportedContent`] for a file of another format, one that is damaged or cut off, and one beyond a limit.
pub(crate) fn decode(file: &[u8], transparency: Transparency) -> Result<Picture> {
    // A panic of a decoder is a file that it cannot read.
    let decoded = catch_unwind(|| {
        let mut decoder = open(file)?;
        // Damaged metadata turn nothing.
        let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
        let late = || Orientation::from_exif_chunk(exif_of_png(file)?);
        let orientation = Some(orientation).filter(|it| *it != Orientation::NoTransforms).or_else(late);
        let mut image = DynamicImage::from_decoder(decoder).map_err(unreadable)?;
        image.apply_orientation(orientation.unwrap_or(Orientation::NoTransforms));
        let image = match transparency {
            Transparency::OnWhite if image.color().has_alpha() => on_white(&image.into_rgba8()),
            _ => image.into_rgb8(),
        };
        Ok(Picture { width: image.width() as usize, height: image.height() as usize, pixels: image.into_raw() })
    });
    decoded.unwrap_or_else(|_| Err(unsupported("the image cannot be decoded")))
}

/// A picture on a white ground. Pixels that are not transparent keep their colours.
fn on_white(image: &RgbaImage) -> RgbImage {
    let mut pixels = RgbImage::new(image.width(), image.height());
    for (shown, Rgba([r, g, b, alpha])) in pixels.pixels_mut().zip(image.pixels()) {
        let alpha = u16::from(*alpha);
        // Rounded to the nearest level.
        let over = |color: &u8| ((u16::from(*color) * alpha + 255 * (255 - alpha) + 127) / 255) as u8; // at most 255
        *shown = Rgb([r, g, b].map(over));
    }
    pixels
}

/// The EXIF data of a PNG file. They may stand after the pixels, where the decoder does not look.
fn exif_of_png(file: &[u8]) -> Option<&[u8]> {
    let mut chunks = file.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    loop {
        let (length, rest) = chunks.split_first_chunk()?;
        let (kind, rest) = rest.split_first_chunk()?;
        let (data, rest) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
        if kind == b"eXIf" {
            // Some programs write the prefix that JPEG files need.
            return Some(data.strip_prefix(b"Exif\0\0").unwrap_or(data));
        }
        chunks = rest.get(4..)?; // the checksum
    }
}

/// The decoder of a file whose sizes are within the limits.
fn open(file: &[u8]) -> Result<impl ImageDecoder + '_> {
    if file.is_empty() {
        return Err(unsupported("the image has no data"));
    }
    if MAX_FILE < file.len() {
        return Err(unsupported(format!("an image file must have at most {MAX_FILE} bytes, found {}", file.len())));
    }
    let mut reader = ImageReader::new(Cursor::new(file)).with_guessed_format().map_err(|err| unreadable(err.into()))?;
    if reader.format().is_none_or(|format| !format.reading_enabled()) {
        return Err(unsupported("the image must be a JPEG, PNG, WebP or GIF file"));
    }
    if reader.format().is_some_and(|format| is_cut_off(file, format)) {
        return Err(unsupported("the image cannot be decoded: the file is cut off"));
    }
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(MAX_DECODED);
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(unreadable)?;
    let (width, height) = decoder.dimensions();
    check_size(width.into(), height.into())?;
    if MAX_DECODED < decoder.total_bytes() {
        let found = decoder.total_bytes();
        return Err(unsupported(format!("an image must take at most {MAX_DECODED} bytes when decoded, found {found}")));
    }
    Ok(decoder)
}

fn check_size(width: u64, height: u64) -> Result<()> {
    let (shorter, longer) = (width.min(height), width.max(height));
    if shorter == 0 || MAX_PIXELS < width * height {
        return Err(unsupported(format!(
            "an image must have between 1 and {MAX_PIXELS} pixels, found {width} x {height}"
        )));
    }
    if MAX_RATIO * shorter < longer {
        return Err(unsupported(format!(
            "an image must be at most {MAX_RATIO} times as long as wide, found {width} x {height}"
        )));
    }
    Ok(())
}

fn unreadable(err: ImageError) -> SdkError {
    unsupported("the image cannot be decoded").caused_by(err)
}

fn unsupported(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::UnsupportedContent, message)
}
