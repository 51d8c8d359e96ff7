//! Pictures for tests.

use std::io::Cursor;

use image::{DynamicImage, ImageBuffer, ImageFormat, Rgb};

use crate::media::Picture;

/// The picture of this size that the golden files were made with.
pub(crate) fn picture(width: usize, height: usize, seed: usize) -> Picture {
    let value = |x: usize, y: usize, c: usize| {
        let fine = (x * (3 + c) + y * (5 - c) + x * y / 16 + 37 * seed) % 256;
        let coarse = ((x / 24 + y / 40 + c + seed) % 3) * 80;
        ((fine + 3 * coarse + (x + y) / 8 % 64) / 4 % 256) as u8
    };
    let pixels = (0..height).flat_map(|y| (0..width).flat_map(move |x| (0..3).map(move |c| value(x, y, c)))).collect();
    Picture { width, height, pixels }
}

/// A file of this format.
pub(crate) fn file(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    image.into().write_to(&mut file, format).unwrap();
    file.into_inner()
}

/// A PNG file of a picture.
pub(crate) fn png(picture: &Picture) -> Vec<u8> {
    let [width, height] = [picture.width, picture.height].map(|side| side as u32);
    file(ImageBuffer::<Rgb<u8>, _>::from_raw(width, height, picture.pixels.clone()).unwrap(), ImageFormat::Png)
}
