//! Pictures against transformers' image processor, and files that are damaged or hostile.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{DynamicImage, ImageBuffer, ImageFormat, Rgb, Rgba};
use serde_json::Value as Json;

use super::testing::{file, picture, png};
use super::*;
use crate::error::{ErrorKind, SdkError};

fn decode(file: &[u8]) -> Result<Picture, SdkError> {
    super::decode(file, Transparency::OnWhite)
}

/// The rules of LFM2-VL.
fn rules() -> TilingRules {
    TilingRules {
        patch: 16,
        merge: 2,
        min_pixels: 64 * 32 * 32,
        max_pixels: 256 * 32 * 32,
        sizing: ImageSizing::Nearest,
        min_units: 1,
        filter: ResizeFilter::Bilinear,
        tile: 512,
        min_tiles: 2,
        max_tiles: 10,
        splits: true,
        has_thumbnail: true,
        tolerance: 2.0,
    }
}

/// The rules of LFM3-VL, with mean and deviation of 0.5.
fn rules_without_tiles() -> TilingRules {
    TilingRules {
        max_pixels: 16_384 * 32 * 32,
        min_units: 0,
        filter: ResizeFilter::Bicubic,
        splits: false,
        has_thumbnail: false,
        ..rules()
    }
}

/// The rules of Gemma 4, with this many rows.
fn filled_rules(n_rows: usize) -> TilingRules {
    TilingRules {
        merge: 3,
        min_pixels: 48 * 48,
        max_pixels: n_rows * 48 * 48,
        sizing: ImageSizing::Filled,
        ..rules_without_tiles()
    }
}

/// The rules of Gemma 3.
fn square_rules() -> TilingRules {
    TilingRules {
        patch: 14,
        merge: 4,
        min_pixels: 896 * 896,
        max_pixels: 896 * 896,
        sizing: ImageSizing::Square,
        filter: ResizeFilter::Bilinear,
        ..rules_without_tiles()
    }
}

fn golden(file: &str, section: &str) -> Vec<Json> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden").join(file);
    let json: Json = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    json[section].as_array().unwrap().clone()
}

fn bytes(json: &Json) -> Vec<u8> {
    STANDARD.decode(json.as_str().unwrap()).unwrap()
}

fn number(json: &Json) -> usize {
    json.as_u64().unwrap().try_into().unwrap()
}

#[test]
fn sizes_and_counts_are_those_of_transformers() {
    let cases = golden("vision.json", "sizes");
    assert!(30 < cases.len());
    for case in cases {
        let [width, height, rows, columns, whole_width, whole_height, n_tokens] =
            [0, 1, 2, 3, 4, 5, 6].map(|at| number(&case[at]));
        let tiling = rules().tiling(width, height);
        let grid = (1 < rows * columns).then_some(TileGrid { columns, rows });
        assert_eq!((tiling.grid, tiling.whole), (grid, Some((whole_width, whole_height))), "{width} x {height}");
        let found: usize = tiling.sizes().map(|size| rules().n_rows(size)).sum();
        assert_eq!(found, n_tokens, "{width} x {height}");
    }
}

#[test]
fn sizes_without_tiles_are_those_of_transformers() {
    for (file, section, rules) in [
        ("vision_lfm3.json", "sizes", rules_without_tiles()),
        ("vision_qwen35.json", "sizes", rules_without_tiles()),
        ("vision_gemma4.json", "sizes", filled_rules(280)),
        ("vision_gemma4.json", "narrow", filled_rules(70)),
    ] {
        let cases = golden(file, section);
        assert!(30 < cases.len() || section == "narrow");
        for case in cases {
            let [width, height, whole_width, whole_height, n_tokens] = [0, 1, 2, 3, 4].map(|at| number(&case[at]));
            let tiling = rules.tiling(width, height);
            let expect = (None, Some((whole_width, whole_height)));
            assert_eq!((tiling.grid, tiling.whole), expect, "{file}: {width} x {height}");
            assert_eq!(rules.n_rows((whole_width, whole_height)), n_tokens, "{file}: {width} x {height}");
        }
    }
}

#[test]
fn pixels_are_those_of_transformers_within_one_level() {
    let cases = [
        ("vision.json", rules()),
        ("vision_lfm3.json", rules_without_tiles()),
        ("vision_qwen35.json", rules_without_tiles()),
        ("vision_gemma4.json", filled_rules(280)),
        ("vision_gemma3.json", square_rules()),
    ];
    let cases = cases.map(|(file, rules)| golden(file, "pixels").into_iter().map(move |case| (rules.clone(), case)));
    for (rules, case) in cases.into_iter().flatten() {
        let (width, height) = (number(&case["width"]), number(&case["height"]));
        let decoded = decode(&png(&picture(width, height, 0))).unwrap();
        let images = rules.tiling(width, height).images(&decoded);
        let tiles = case["tiles"].as_array().unwrap();
        assert_eq!(images.len(), tiles.len());
        for (image, tile) in images.iter().zip(tiles) {
            assert_eq!((image.width, image.height), (number(&tile["width"]), number(&tile["height"])));
            let samples = tile["samples"].as_array().unwrap();
            let step = (image.pixels.len() / 150).max(1) | 1;
            for (found, expect) in image.pixels.iter().step_by(step).zip(samples) {
                assert!(usize::from(*found).abs_diff(number(expect)) <= 1, "{found}, expected {expect}");
            }
            let sum: usize = image.pixels.iter().map(|value| usize::from(*value)).sum();
            // Levels differ where a mean is near the middle of two: the reference's weights have few bits.
            let tolerance = image.pixels.len() / 20;
            assert!(sum.abs_diff(number(&tile["sum"])) <= tolerance, "{width} x {height}: {sum}, {}", tile["sum"]);
        }
    }
}

#[test]
fn every_kind_of_file_shows_the_same_picture() {
    let shown = picture(40, 30, 1);
    let rgb = ImageBuffer::<Rgb<u8>, _>::from_raw(40, 30, shown.pixels.clone()).unwrap();
    let rgb = DynamicImage::from(rgb);
    for (format, image, tolerance) in [
        (ImageFormat::Png, rgb.clone(), 0),
        (ImageFormat::Png, rgb.to_rgb16().into(), 0),
        (ImageFormat::Png, rgb.to_rgba8().into(), 0),
        (ImageFormat::WebP, rgb.clone(), 0),
    ] {
        let found = decode(&file(image, format)).unwrap();
        assert_eq!((found.width, found.height), (40, 30));
        assert!(found.pixels.iter().zip(&shown.pixels).all(|(a, b)| a.abs_diff(*b) <= tolerance), "{format:?}");
    }
    let grey = decode(&file(rgb.to_luma8(), ImageFormat::Png)).unwrap();
    assert!(grey.pixels.chunks_exact(3).all(|pixel| pixel[0] == pixel[1] && pixel[1] == pixel[2]));
    // A smooth picture, which JPEG changes little.
    let smooth = ImageBuffer::from_fn(64, 48, |x, y| Rgb([x as u8 * 2, y as u8 * 3, 90]));
    let jpeg = decode(&file(smooth.clone(), ImageFormat::Jpeg)).unwrap();
    assert!(jpeg.pixels.iter().zip(smooth.as_raw()).all(|(a, b)| a.abs_diff(*b) < 16));
}

/// A JPEG file with the orientation of a camera that was held upright.
fn turned(file: &[u8]) -> Vec<u8> {
    let exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
    [&file[..2], &[0xFF, 0xE1], &length, exif, &file[2..]].concat()
}

#[test]
fn a_picture_is_turned_as_its_metadata_say() {
    let image = ImageBuffer::from_fn(48, 32, |x, _| Rgb(if x < 24 { [250u8, 0, 0] } else { [0, 0, 250] }));
    let jpeg = turned(&file(image, ImageFormat::Jpeg));
    let found = decode(&jpeg).unwrap();
    assert_eq!((found.width, found.height), (32, 48));
    // Left becomes top.
    let [top, bottom] = [0, 47].map(|row| &found.pixels[row * 32 * 3..][..3]);
    assert!(200 < top[0] && 200 < bottom[2], "{top:?}, {bottom:?}");
}

#[test]
fn a_png_file_is_turned_wherever_its_metadata_stand() {
    let image = ImageBuffer::from_fn(48, 32, |x, _| Rgb(if x < 24 { [250u8, 0, 0] } else { [0, 0, 250] }));
    let png = file(image, ImageFormat::Png);
    let exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let chunk = |prefix: &[u8]| {
        let data = [b"eXIf", prefix, &exif[..]].concat();
        let length = u32::try_from(data.len() - 4).unwrap().to_be_bytes();
        [&length[..], &data, &crc32fast::hash(&data).to_be_bytes()].concat()
    };
    const HEADER: usize = 8 + 12 + 13; // the signature, and the first chunk
    for at in [HEADER, png.len() - 12] {
        for prefix in [&b""[..], b"Exif\0\0"] {
            let found = decode(&[&png[..at], &chunk(prefix), &png[at..]].concat()).unwrap();
            assert_eq!((found.width, found.height), (32, 48), "{at}, {prefix:?}");
        }
    }
    let damaged = [&png[..HEADER], b"\xff\xff\xff\xffeXIf", &png[HEADER..]].concat();
    assert!(decode(&damaged).is_err());
}

/// A JPEG file in CMYK, as printers have them: red beside blue. Pillow wrote it.
const CMYK: &str = concat!(
    "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAFAwQEBAMFBAQEBQUFBgcMCAcHBwcPCwsJDBEPEhIRDxERExYcFxMUGhURERghGBodHR8f",
    "HxMXIiQiHiQcHh8e/8AAFAgAEAAQBEMRAE0RAFkRAEsRAP/EABcAAQEBAQAAAAAAAAAAAAAAAAgJBgf/xAAUEAEAAAAAAAAAAAAA",
    "AAAAAAAA/9oADgRDAE0AWQBLAAA/AGW4UNRVpXkArA0CqA/pPs+leQCsDQP/2Q==",
);

#[test]
fn a_picture_for_printers_shows_its_colors() {
    let found = decode(&STANDARD.decode(CMYK).unwrap()).unwrap();
    assert_eq!((found.width, found.height), (16, 16));
    // What Pillow reads there; decoders round differently.
    for (x, expect) in [(2, [235u8, 51, 32]), (12, [45, 135, 255])] {
        let pixel = &found.pixels[(4 * 16 + x) * 3..][..3];
        assert!(pixel.iter().zip(expect).all(|(a, b)| a.abs_diff(b) <= 4), "{pixel:?}, expected {expect:?}");
    }
}

#[test]
fn an_animation_shows_its_first_frame() {
    let frame = |color| image::Frame::new(ImageBuffer::from_pixel(16, 16, Rgba(color)));
    let mut gif = Vec::new();
    let mut encoder = image::codecs::gif::GifEncoder::new(&mut gif);
    encoder.encode_frames([frame([255, 0, 0, 255]), frame([0, 0, 255, 255])]).unwrap();
    drop(encoder);
    let found = decode(&gif).unwrap();
    assert!(200 < found.pixels[0] && found.pixels[2] < 50, "{:?}", &found.pixels[..3]);
}

#[track_caller]
fn check_refused(file: &[u8], expect: &str) {
    let err = decode(file).err().unwrap();
    assert_eq!(err.kind(), ErrorKind::UnsupportedContent);
    assert!(err.to_string().contains(expect), "{err}");
}

/// The header of a PNG file of this size, without its pixels.
fn png_header(width: u32, height: u32) -> Vec<u8> {
    let mut chunk = b"IHDR".to_vec();
    chunk.extend([width.to_be_bytes(), height.to_be_bytes()].concat());
    chunk.extend([16, 6, 0, 0, 0]);
    let mut crc = !0u32;
    for byte in &chunk {
        crc ^= u32::from(*byte);
        (0..8).for_each(|_| crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 });
    }
    [&b"\x89PNG\r\n\x1a\n\0\0\0\x0d"[..], &chunk, &(!crc).to_be_bytes(), b"\0\0\0\0IDAT\x35\xaf\x06\x1e"].concat()
}

#[test]
fn hostile_files_are_refused_before_they_are_decoded() {
    check_refused(b"", "the image has no data");
    check_refused(b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "must be a JPEG, PNG, WebP or GIF file");
    check_refused(b"II*\0\x08\0\0\0", "must be a JPEG, PNG, WebP or GIF file");
    check_refused(&png_header(65_500, 65_500), "must have between 1 and 67108864 pixels");
    check_refused(&png_header(8000, 8000), "bytes when decoded");
    check_refused(&png_header(20_001, 100), "200 times as long as wide");
    check_refused(&png_header(0, 100), "cannot be decoded");
    check_refused(&vec![0; (64 << 20) + 1], "must have at most 67108864 bytes");
}

#[test]
fn truncated_and_damaged_files_are_errors_or_pictures() {
    let (shown, mut random) = (picture(40, 30, 2), causerie_backend::SplitMix64::new(3));
    let rgb = ImageBuffer::<Rgb<u8>, _>::from_raw(40, 30, shown.pixels).unwrap();
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP, ImageFormat::Gif] {
        let whole = file(rgb.clone(), format);
        let is_typed = |err: &SdkError| err.kind() == ErrorKind::UnsupportedContent;
        for end in (0..whole.len()).step_by(7) {
            assert!(decode(&whole[..end]).err().is_none_or(|err| is_typed(&err)), "{format:?} cut at {end}");
        }
        for _ in 0..200 {
            let mut damaged = whole.clone();
            for _ in 0..3 {
                let at = random.next_u64() as usize % damaged.len();
                damaged[at] = random.next_u64() as u8;
            }
            assert!(decode(&damaged).err().is_none_or(|err| is_typed(&err)));
        }
    }
}

/// Pillow says "image file is truncated" of each beginning that is too short.
#[test]
fn files_that_are_cut_off_are_refused_within_some_bytes_of_where_pillow_refuses_them() {
    let mut wrong = Vec::new();
    let cases = golden("picture_files.json", "cut");
    assert!(15 < cases.len());
    for case in cases {
        let (name, whole) = (case["name"].as_str().unwrap(), bytes(&case["file"]));
        let accepted_from = number(&case["accepted_from"]);
        let found = (0..=whole.len()).rev().take_while(|length| decode(&whole[..*length]).is_ok()).last();
        let is_gap = (0..=whole.len()).any(|length| Some(length) < found && decode(&whole[..length]).is_ok());
        // Pillow needs neither the last chunk of a PNG file nor the end marker of some JPEG files, but the end of a GIF's data.
        let is_close = found.is_some_and(|found| (accepted_from - 1..=accepted_from + 17).contains(&found));
        wrong.extend((!is_close || is_gap).then(|| (name.to_owned(), whole.len(), found, accepted_from, is_gap)));
    }
    assert_eq!(wrong, []);
}

#[test]
fn transparent_pixels_are_put_on_white_as_pillow_does_unless_transparency_is_ignored() {
    let cases = golden("picture_files.json", "transparent");
    assert!(10 < cases.len());
    for case in cases {
        let name = case["name"].as_str().unwrap();
        for (transparency, key) in [(Transparency::OnWhite, "on_white"), (Transparency::Ignored, "ignored")] {
            let found = super::decode(&bytes(&case["file"]), transparency).unwrap().pixels;
            let expect = bytes(&case[key]);
            assert_eq!(found.len(), expect.len(), "{name}");
            // Pillow rounds twice, and takes the upper half of 16 bits.
            let most = found.iter().zip(&expect).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
            assert!(most <= u8::from(name != "opaque.png"), "{name}, {key}: differs by {most}");
        }
    }
}

#[test]
fn weights_of_an_axis_sum_to_one() {
    for filter in [ResizeFilter::Bilinear, ResizeFilter::Bicubic] {
        for (n_inputs, n_outputs) in [(16, 32), (16, 4), (16, 7), (5, 5), (1, 9), (3000, 1)] {
            let weights = filter.weights(n_inputs, n_outputs);
            assert_eq!(weights.len(), n_outputs);
            for AxisWeights { first, weights } in weights {
                assert!(first + weights.len() <= n_inputs && (weights.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            }
        }
    }
}
